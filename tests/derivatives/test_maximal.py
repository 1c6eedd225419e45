"""Derivatives of steps and runs of `Maximal` against central differences of whole steps."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import backpropagate, parameter_jacobian, with_parameters
from tests.derivatives.checks import (
    DT,
    assert_columns,
    assert_gradient,
    assert_linearized,
    assert_parameters,
    assert_relative,
)
from tests.derivatives.maps import stepper_map
from tests.oracles.differences import by_vector, central

SHARP = {"tolerance": 1e-13, "self_collision": False}
ZOO = {entry.name: entry for entry in la.robots.catalogue()}


def motion(robot, q, seed=1, size=1.0):
    """(q, p, u): a random motion about q."""
    rng = np.random.default_rng(seed)
    return q, la.dynamics.mass_matrix(robot, q) @ (size * rng.normal(size=robot.nv)), rng.normal(size=robot.nu)


def damped_chain():
    """Joints of all sorts with springs, dampers, inertias of drives, a spring between bodies, a thruster."""
    b = la.MechanismBuilder("damped")
    b.body("cart", mass=2.0)
    b.prismatic("rail", "world", "cart", axis="x", stiffness=3.0, damping=0.5)
    b.body("arm", mass=1.0, com=(0.1, 0.0, -0.5), inertia=(0.2, 0.1, 0.15))
    b.revolute("pivot", "cart", "arm", axis="y", stiffness=2.0, damping=0.3, armature=0.1)
    b.body("bob", mass=0.5, com=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.04))
    b.joint("ball", "spherical", "arm", "bob", position=(0.0, 0.0, -1.0), damping=0.05, armature=(0.03, 0.01, 0.02))
    b.spring("rope", ("world", (1, 0, 0)), ("bob", (0, 0, -0.4)), stiffness=5.0, rest_length=0.5, damping=0.2)
    b.actuator("motor", "pivot", gear=2.0)
    b.thruster("jet", "bob", (0.3, -0.2, 0.1, 1.0, 2.0, 3.0))
    return b.build()


TREES = {
    "pendulum": lambda: la.robots.pendulum(2),
    "spherical pendulum": lambda: la.robots.get("heavy_top"),
    "springs and dampers": damped_chain,
    "A1 in the air": lambda: la.robots.get("unitree_a1"),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("system", TREES)
def test_step_of_a_tree(system, order):
    robot = TREES[system]()
    rng = np.random.default_rng(3)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv))
    if system == "A1 in the air":
        q = ZOO["unitree_a1"].home()
        q[2] += 1.0
    assert_linearized(robot, la.Maximal(order=order, **SHARP), *motion(robot, q, size=0.5), 1e-6, 1e-4)


@pytest.mark.parametrize("order", [4, 6])
def test_composed_steps(order):
    """Higher orders are chains of steps, some of them backwards."""
    robot = la.robots.pendulum(2)
    q = np.array([0.7, -0.4])
    assert_linearized(robot, la.Maximal(order=order, **SHARP), *motion(robot, q), 1e-7, 1e-3)


@pytest.mark.parametrize("order", [1, 2])
def test_step_of_a_closed_loop(order):
    """Along curves of states whose loops are closed; controls in all directions."""
    robot, rng = la.robots.four_bar(), np.random.default_rng(2)
    options = {"dt": DT, "integrator": la.Maximal(order=order, **SHARP), "project": True}
    run = la.simulate(robot, ZOO["four_bar"].home(), rng.normal(size=robot.nv), steps=3, **options)
    q, u = run.q[-1], rng.normal(size=robot.nu)
    p = la.simulate(robot, q, p=run.p[-1], steps=0, **options).p[0]
    step = stepper_map(robot, options["integrator"])
    q1, p1 = step(q, p, u)
    A, B = la.linearize(robot, options["integrator"], q, p, u, DT)
    _, J = la.dynamics.loop_jacobian(robot, q)
    s, V = np.linalg.svd(J)[1:]
    allowed = V[int((s > 1e-8 * s[0]).sum()) :]
    dq, dp = rng.normal(size=len(allowed)) @ allowed, rng.normal(size=robot.nv)

    def both(h):
        x = la.dynamics.close_loops(robot, robot.integrate(q, h * dq), tolerance=1e-14)
        y = la.simulate(robot, x, p=p + h * dp, steps=0, **options).p[0]
        x1, y1 = step(x, y, u)
        return np.concatenate([robot.difference(q, x), y - p, robot.difference(q1, x1), y1 - p1])

    before, after = np.split(central(both), 2)
    assert_columns((A @ before)[:, None], after[:, None], 1e-7)

    def change(u):
        q2, p2 = step(q, p, u)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    assert_columns(B, by_vector(change, u, 1e-2), 1e-7)


def on_the_ground(speed):
    """A cube just above the ground, tilting a little and sliding."""
    robot = la.robots.cube()
    q = robot.neutral()
    q[2] = 0.252
    v = np.array([0.1, 0.0, 0.2, speed, 0.0, -0.1])
    return robot, q, la.dynamics.mass_matrix(robot, q) @ v, np.zeros(robot.nu)


@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("speed", [0.0, 0.8], ids=["stick", "slide"])
def test_smoothed_contact(speed, order, friction):
    """On the central path a step is a smooth function; its derivative is that of the smoothed step."""
    integrator = la.Maximal(order=order, smoothing=1e-4, friction=friction)
    robot, q, p, u = on_the_ground(speed)
    assert_linearized(robot, integrator, q, p, u, 1e-5, 1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_smoothed_contact_of_what_just_touches(order):
    """A gap of zero is no kink: that is how robots are put on the ground."""
    robot, q, _, u = on_the_ground(0.0)
    q[2] = 0.25
    p = la.dynamics.mass_matrix(robot, q) @ np.array([0, 0, 0, 0.5, 0.1, 0])
    assert_linearized(robot, la.Maximal(order=order, smoothing=1e-3), q, p, u, 1e-5, 1e-6)


def test_standing_quadruped():
    """Four loaded feet with friction; the hips are held by springs."""
    robot = la.robots.unitree_a1(ground=True)
    q = ZOO["unitree_a1"].home()
    held = [replace(j, stiffness=50.0, damping=2.0, rest=q[7 + k]) for k, j in enumerate(robot.joints[1:])]
    robot = robot.replace(joints=(robot.joints[0], *held))
    integrator = la.Maximal(order=2, smoothing=1e-3, self_collision=False)
    run = la.simulate(robot, q, dt=DT, steps=20, integrator=integrator)
    loads = run.stored["contacts"]
    assert (loads[loads[:, 0] == 19][:, 8] > 5.0).sum() == 4
    assert_linearized(robot, integrator, run.q[-1], run.p[-1], np.ones(robot.nu), 1e-5, 1e-6)


def test_rigid_contact_holds_what_it_holds():
    """Without smoothing, the derivative is that of the contacts as they are: a cube at rest cannot be pushed down."""
    robot, q, _, _ = on_the_ground(0.0)
    run = la.simulate(robot, q, dt=DT, steps=60, integrator=la.Maximal())
    A, B = la.linearize(robot, la.Maximal(), run.q[-1], run.p[-1], None, DT)
    free, _ = la.linearize(robot, la.Maximal(), robot.integrate(run.q[-1], [0, 0, 0, 0, 0, 1.0]), run.p[-1], None, DT)
    down = 5  # velocity_names: wx, wy, wz, vx, vy, vz
    assert abs(free[down, 6 + down] - DT / robot.total_mass) < 1e-9
    assert abs(A[down, 6 + down]) < 1e-3 * DT
    assert np.abs(B[down]).max() < 1e-3 * DT**2


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize("order", [1, 2, 4])
def test_parameters_of_a_tree(order):
    robot = damped_chain()
    q, p, u = motion(robot, robot.integrate(robot.neutral(), 0.5 * np.random.default_rng(4).normal(size=robot.nv)))
    names = ["mass:arm", "com:bob", "inertia:bob", "position:ball", "rotation:pivot", "stiffness:pivot"]
    names += ["damping:pivot", "armature:pivot", "rest:rail", "stiffness:rope", "rest:rope", "damping:rope", "gravity"]
    names += ["armature:ball"]
    assert_parameters(robot, la.Maximal(order=order, **SHARP), q, p, u, names, 1e-6)


def test_parameters_of_a_loop():
    """Gravity and masses; lengths would open the loop at fixed q."""
    robot = la.robots.four_bar()
    options = {"dt": DT, "integrator": la.Maximal(**SHARP), "project": True}
    run = la.simulate(robot, ZOO["four_bar"].home(), np.ones(robot.nv), steps=3, **options)
    found = parameter_jacobian(robot, options["integrator"], run.q[-1], run.p[-1], None, DT, parameters=["gravity"])
    step = {}
    for g in (-9.82, -9.8):
        other = robot.replace(gravity=(0.0, 0.0, g))
        q, p = stepper_map(other, options["integrator"])(run.q[-1], run.p[-1], np.zeros(robot.nu))
        step[g] = np.concatenate([robot.difference(run.q[-1], q), p])
    expected = (step[-9.8] - step[-9.82]) / 0.02
    assert_relative(found["gravity"][:, 2], expected, 1e-6)


def test_parameters_of_contact():
    robot, q, p, u = on_the_ground(0.8)
    names = ["mass:cube", "com:cube", "friction:corner1", "point:corner5", "gravity"]
    assert_parameters(robot, la.Maximal(smoothing=1e-4), q, p, u, names, 1e-5, 1e-6)


def test_a_stiffness_of_zero():
    """Where a parameter cannot become smaller, the difference is one-sided; limits that are not there have none."""
    robot, integrator = la.robots.pendulum(1), la.Maximal(**SHARP)
    q, p, u = motion(robot, np.array([0.5]))
    found = parameter_jacobian(robot, integrator, q, p, u, DT, parameters=["damping:joint1"])["damping:joint1"]
    damped = [stepper_map(with_parameters(robot, {"damping:joint1": [d]}), integrator)(q, p, u) for d in (0.0, 1e-5)]
    expected = (np.concatenate(damped[1]) - np.concatenate(damped[0])) / 1e-5
    assert_relative(found[:, 0], expected, 1e-4)
    with pytest.raises(la.MechanismError, match="'upper:joint1' is infinite"):
        parameter_jacobian(robot, integrator, q, p, u, DT, parameters=["upper:joint1"])
    with pytest.raises(la.MechanismError, match="unknown joint 'elbow'"):
        parameter_jacobian(robot, integrator, q, p, u, DT, parameters=["damping:elbow"])
    with pytest.raises(la.IntegratorError, match="has no derivatives"):
        parameter_jacobian(robot, la.RungeKutta(order=4), q, p, u, DT, parameters=["gravity"])


# ---------------------------------------------------------------- whole runs


@pytest.mark.parametrize("order", [1, 2, 4])
def test_gradient_of_a_run(order):
    robot = damped_chain()
    q, p, _ = motion(robot, robot.neutral())
    u = np.random.default_rng(6).normal(size=(3, robot.nu))
    assert_gradient(robot, la.Maximal(order=order, **SHARP), q, p, u, 1e-6, 1e-3)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_a_run_with_contact(order):
    robot, q, p, u = on_the_ground(0.5)
    assert_gradient(robot, la.Maximal(order=order, smoothing=1e-3), q, p, np.tile(u, (4, 1)), 1e-5, 1e-5)


def test_gradient_of_a_run_with_loops():
    """By the controls, which may vary in all directions, and by the initial momentum along those that fit the loop."""
    robot, rng = la.robots.four_bar(), np.random.default_rng(7)
    options = {"dt": DT, "integrator": la.Maximal(**SHARP), "project": True}
    q, u = ZOO["four_bar"].home(), rng.normal(size=(3, robot.nu))
    dp = rng.normal(size=(4, robot.nv))
    p = la.simulate(robot, q, rng.normal(size=robot.nv), steps=0, **options).p[0]
    along = la.simulate(robot, q, p=rng.normal(size=robot.nv), steps=0, **options).p[0]

    def value(p=p, u=u):
        return (dp * la.simulate(robot, q, p=p, controls=u, steps=3, **options).p).sum()

    run = la.simulate(robot, q, p=p, controls=u, steps=3, **options)
    _, by_momentum, by_control = backpropagate(run, np.zeros_like(dp), dp)
    assert_relative(by_control.sum(axis=1).ravel(), by_vector(lambda x: value(u=x.reshape(u.shape)), u.ravel()), 1e-7)
    assert_relative(np.atleast_1d(by_momentum @ along), np.atleast_1d(central(lambda h: value(p=p + h * along))), 1e-7)


# ---------------------------------------------------------------- what it costs


def test_work_grows_linearly():
    """Multiplications of the one transposed solve that a step of a chain takes."""
    work = {n: la.Maximal().prepare(la.robots.pendulum(n), DT).ldu.flops for n in (16, 64, 256)}
    assert work[256] - work[64] <= 1.05 * 4 * (work[64] - work[16])
