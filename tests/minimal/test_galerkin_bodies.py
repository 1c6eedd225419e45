"""Galerkin steps that interpolate the poses of bodies: derivatives, orders, conservation laws, refusals."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Pose
from leastaction.minimal.galerkin_bodies.stepper import GalerkinBodiesStepper
from tests.redmax.test_one_sided import box, limited, thrown


def Bodies(order=2, **options):
    return la.Galerkin(order=order, interpolation="bodies", **options)


def random_pose(rng):
    return Pose(tuple(0.4 * rng.normal(size=3)), tuple(_unit(rng.normal(size=4))))


def _unit(a):
    return a / np.linalg.norm(a)


def everything(forces=True):
    """A free body, a ball, a hinge, a slider, a universal and a screw joint, with every force that a joint can have."""
    rng = np.random.default_rng(0)
    b = la.MechanismBuilder("everything")
    for k in range(6):
        A = rng.normal(size=(3, 3))
        inertia = 0.02 * A @ A.T + 0.2 * np.eye(3)
        b.body(f"b{k}", mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=inertia)
    soft = {"stiffness": [1, 2, 3], "damping": [0.3, 0.2, 0.1], "armature": [0.1, 0.2, 0.3]}
    free = {name: [*values, *(3 * [values[0]] if name != "stiffness" else [4, 5, 6])] for name, values in soft.items()}
    rest = random_pose(rng)
    b.free("b0", pose=random_pose(rng), child_pose=random_pose(rng), rest=[*rest.position, *rest.quaternion], **free)
    b.spherical("ball", "b0", "b1", pose=random_pose(rng), rest=random_pose(rng).quaternion, **soft)
    limits = {"limits": (-0.05, 0.05), "limit_stiffness": 30.0, "limit_damping": 1.0} if forces else {}
    b.revolute("hinge", "b1", "b2", axis=(0.6, 0, 0.8), pose=random_pose(rng), stiffness=2.0, armature=0.2, **limits)
    b.prismatic("slider", "b1", "b3", axis="x", pose=random_pose(rng), stiffness=2.0, damping=0.3, rest=0.2)
    b.joint("universal", "universal", "b3", "b4", pose=random_pose(rng), damping=[0.1, 0.2])
    b.joint("screw", "screw", "b0", "b5", pitch=0.2, pose=random_pose(rng))
    if forces:
        b.spring("spring", ("b2", (0.1, 0.2, 0.3)), ("b4", (0.3, 0.1, 0.2)), stiffness=20, rest_length=0.3, damping=1)
        b.cable("cable", ["world", ("b1", (0.1, 0.1, 0.1)), "b3"], stiffness=10, rest_length=0.1, damping=0.4)
        b.wrench("body", "b3", (1, 2, 3, 4, 5, 6), point=(0.1, 0.2, 0.3), frame="body")
        b.wrench("world", "b4", (1, 2, 3, 4, 5, 6), point=(0.1, 0.2, 0.3))
        b.actuator("motor", "hinge", gear=2.0)
        b.thruster("jet", "b5", (1, 2, 3, 1, 2, 3))
    return b.build()


ROBOTS = {"joints": lambda: everything(False), "forces": everything, "humanoid": la.robots.humanoid_tree}


def start(robot, rng, size=0.3):
    q = robot.integrate(robot.neutral(), size * rng.uniform(-1, 1, robot.nv))
    return q, rng.normal(size=robot.nv)


def pushed(tied):
    """A tree with every force that acts on one body alone; and, if tied, one without strength between two bodies."""
    rng = np.random.default_rng(0)
    b = la.MechanismBuilder("pushed")
    for k in range(5):
        b.body(f"b{k}", mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=0.2 * np.eye(3))
    b.free("b0", pose=random_pose(rng))
    b.spherical("ball", "b0", "b1", pose=random_pose(rng))
    b.revolute("hinge", "b1", "b2", axis=(0.6, 0, 0.8), pose=random_pose(rng))
    b.prismatic("slider", "b1", "b3", axis="x", pose=random_pose(rng))
    b.revolute("elbow", "b3", "b4", axis="y", pose=random_pose(rng))
    b.spring("spring", ("b2", (0.1, 0.2, 0.3)), ("world", (0.3, 0.1, 0.2)), stiffness=200, rest_length=0.3, damping=9)
    b.wrench("body", "b3", (1, 2, 3, 4, 5, 6), point=(0.1, 0.2, 0.3), frame="body")
    b.wrench("world", "b4", (1, 2, 3, 4, 5, 6), point=(0.1, 0.2, 0.3))
    b.drag("drag", "b4", linear=9.0, quadratic=5.0, point=(0.1, 0, 0.2))
    b.penalty_contact("foot", "b1", [(0, 0, -0.3)], stiffness=1000.0, damping=20.0, friction=0.5)
    b.thruster("jet", "b2", (10, 20, 30, 10, 20, 30))
    b.thruster("main", "b0", (1, 2, 3, 1, 2, 3))
    if tied:
        b.spring("tie", "b0", "b4", stiffness=1e-30, rest_length=0.0)
    return b.build()


@pytest.mark.parametrize("order", [2, 4, 6])
def test_body_forces_in_the_recursion(order):
    """The same motion as with the dense derivatives, and in few iterations: 12 and more without their slopes."""
    runs = []
    for tied in (False, True):
        robot = pushed(tied)
        stepper = Bodies(order).prepare(robot, 0.02)
        assert stepper.model.tied == tied
        q, v = start(robot, np.random.default_rng(3))
        u = np.random.default_rng(4).normal(size=(40, robot.nu))
        runs.append(la.simulate(robot, q=q, v=v, dt=0.02, steps=40, controls=u, integrator=Bodies(order)))
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-10)
    assert runs[0].iterations.max() <= 5


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("name", ["joints", "forces"])
def test_blocks_are_derivatives_of_the_rows(name, order):
    """H and C at nodes that solve no step, against central differences along the tangents of all nodes."""
    robot, rng = ROBOTS[name](), np.random.default_rng(1)
    stepper, s, n = Bodies(order).prepare(robot, 0.1), order // 2, robot.nv
    q, p = start(robot, rng)
    x, u = 0.1 * rng.normal(size=(s, n)), rng.normal(size=(s + 1, robot.nu))
    nodes = np.array([q, *(robot.integrate(q, dx) for dx in x)])

    def rows(nodes, u):
        return stepper.residual(nodes[0], p, u, np.array([robot.difference(nodes[0], a) for a in nodes[1:]]))

    _, H, C = stepper.residual_blocks(q, p, u, x)
    differences, h = np.zeros_like(H), 1e-6
    for k in range(s + 1):
        for c in range(n):
            ends = []
            for sign in (1, -1):
                moved = nodes.copy()
                moved[k] = robot.integrate(nodes[k], sign * h * np.eye(n)[c])
                ends.append(rows(moved, u))
            differences[:, :, k, c] = (ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(H, differences, atol=1e-8 * np.abs(H).max())
    for j in range(s + 1):
        for c in range(robot.nu):
            more, less = u.copy(), u.copy()
            more[j, c] += 1.0
            less[j, c] -= 1.0
            expected = 0.5 * (rows(nodes, more) - rows(nodes, less))  # linear in the controls
            np.testing.assert_allclose(C[:, :, j, c], expected, atol=1e-12 * np.abs(H).max())


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("name", ["joints", "forces"])
def test_linearization_and_its_transpose(name, order):
    robot, rng = ROBOTS[name](), np.random.default_rng(2)
    stepper, n = Bodies(order, tolerance=1e-14).prepare(robot, 0.02), robot.nv
    q, p = start(robot, rng)
    u = rng.normal(size=robot.nu)
    A, B = stepper.linearize(q, p, u)
    held = np.tile(u, (order // 2 + 1, 1))

    def end(q, p, u):
        record = stepper.record(1)
        record["q"][0], record["p"][0] = q, p
        assert stepper.advance(record, 0, 1, np.tile(u, (1, order // 2 + 1, 1))) == 1
        return record["q"][1].copy(), record["p"][1].copy()

    q1, _ = end(q, p, u)
    columns, h = [], 1e-5
    for d in np.eye(2 * n + robot.nu):
        ends = []
        for sign in (h, -h):
            a, b = end(robot.integrate(q, sign * d[:n]), p + sign * d[n : 2 * n], u + sign * d[2 * n :])
            ends.append(np.concatenate([robot.difference(q1, a), b]))
        columns.append((ends[0] - ends[1]) / (2 * h))
    np.testing.assert_allclose(np.hstack([A, B]), np.array(columns).T, atol=3e-8 * np.abs(A).max())
    bar = rng.normal(size=2 * n)
    pulled = bar.copy()
    by_controls = stepper.pull_back(q, p, held, pulled)
    np.testing.assert_allclose(pulled, A.T @ bar, atol=1e-10 * np.abs(A).max())
    np.testing.assert_allclose(by_controls.sum(axis=0), B.T @ bar, atol=1e-10)


def test_parameters_against_differences():
    """A step by masses, places and springs: transposed and forward, against whole steps of other mechanisms."""
    robot, rng = everything(), np.random.default_rng(3)
    q, p = start(robot, rng)
    names = ["mass:b2", "com:b4", "position:slider", "stiffness:hinge", "damping:spring", "gravity"]
    found = la.derivatives.parameter_jacobian(robot, Bodies(4, tolerance=1e-14), q, p, dt=0.02, parameters=names)
    with_parameters, parameter = la.derivatives.with_parameters, la.derivatives.parameter
    for name in names:
        value = parameter(robot, name)
        for k in range(value.size):
            ends = []
            for sign in (1e-5, -1e-5):
                other = value.copy()
                other.flat[k] += sign
                changed = with_parameters(robot, {name: other})
                run = la.simulate(changed, q, p=p, dt=0.02, steps=1, integrator=Bodies(4, tolerance=1e-14))
                ends.append((run.q[1], run.p[1]))
            tangent = robot.difference(ends[1][0], ends[0][0])
            expected = np.concatenate([tangent, ends[0][1] - ends[1][1]]) / 2e-5
            np.testing.assert_allclose(found[name].reshape(len(expected), -1)[:, k], expected, atol=2e-7)


@pytest.mark.parametrize(("order", "counts"), [(2, (32, 64)), (4, (16, 32)), (6, (4, 8))])
@pytest.mark.parametrize("name", ["joints", "forces", "humanoid"])
def test_order_by_slope(name, order, counts):
    """Errors of q and p fall like dt^order, with every joint and force."""
    robot, rng = ROBOTS[name](), np.random.default_rng(4)
    q, v = start(robot, rng)
    if name == "forces":
        robot = robot.replace(joints=tuple(_without_limits(joint) for joint in robot.joints))
    exact = la.simulate(robot, q, v, dt=0.16 / 128, steps=128, integrator=la.Galerkin(order=8, interpolation="joints"))
    errors = []
    for steps in counts:
        run = la.simulate(robot, q, v, dt=0.16 / steps, steps=steps, integrator=Bodies(order, tolerance=1e-14))
        at = robot.difference(exact.q[-1], run.q[-1])
        errors.append((np.abs(at).max(), np.abs(run.p[-1] - exact.p[-1]).max()))
    slopes = np.log2(np.array(errors[0]) / errors[1])
    assert np.abs(slopes - order).max() < 0.25, (slopes, errors)


def _without_limits(joint):
    from dataclasses import replace

    return replace(joint, limit_stiffness=None, limit_damping=None)


@pytest.mark.parametrize("tolerance", [1e-12, 1e-5])
@pytest.mark.parametrize("order", [2, 4])
def test_momentum_of_a_floating_robot_is_exact(order, tolerance):
    """Whatever the tolerance: what Newton leaves of the equations is handed on."""
    robot = la.robots.humanoid_tree().replace(gravity=(0.0, 0.0, 0.0))
    q, v = start(robot, np.random.default_rng(5))
    run = la.simulate(robot, q, v, dt=0.01, steps=200, integrator=Bodies(order, tolerance=tolerance))
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-11 * np.abs(run.momentum[0]).max()


@pytest.mark.parametrize("order", [2, 4, 6])
def test_steps_are_symplectic(order):
    """A^T Omega A = Omega for joints with one axis, whose coordinates are canonical."""
    robot, n = la.robots.serial_arm(7), 7
    rng = np.random.default_rng(6)
    q, v = rng.normal(size=n), rng.normal(size=n)
    A, _ = la.linearize(robot, Bodies(order), q, la.dynamics.mass_matrix(robot, q) @ v, dt=0.01)
    omega = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    np.testing.assert_allclose(A.T @ omega @ A, omega, atol=1e-9 * np.abs(A).max() ** 2)


def test_momentum_about_the_vertical_is_exact():
    """Of a chain of balls that hangs, at a loose tolerance."""
    robot = la.robots.pendulum(links=3, joint="spherical")
    q, v = start(robot, np.random.default_rng(10))
    run = la.simulate(robot, q, v, dt=0.01, steps=100, integrator=Bodies(4, tolerance=1e-5))
    about = run.momentum[:, 2]
    assert np.abs(about - about[0]).max() < 1e-12 * np.abs(run.momentum[:, :3]).max()


def test_energy_of_a_double_pendulum_does_not_drift():
    robot = la.robots.pendulum(links=2)
    run = la.simulate(robot, [2.0, 1.0], dt=0.01, duration=60.0, integrator=Bodies(2))
    error = run.energy - run.energy[0]
    quarter = len(error) // 4
    size = np.abs(error).max()
    assert size < 0.05 * run.kinetic_energy.max()
    assert abs(error[-quarter:].mean() - error[:quarter].mean()) < 0.2 * size


def test_runs_can_be_taken_up_to_the_last_bit():
    robot = la.robots.humanoid_tree()
    q, v = start(robot, np.random.default_rng(7))
    run = la.simulate(robot, q, v, dt=0.01, steps=20, integrator=Bodies(4))
    rest = la.simulate(robot, run.q[10], p=run.p[10], dt=0.01, steps=10, integrator=Bodies(4))
    assert np.array_equal(rest.q, run.q[10:])
    assert np.array_equal(rest.p, run.p[10:])


@pytest.mark.parametrize("order", [2, 4, 6])
def test_few_iterations_with_every_joint(order):
    """Newton converges quadratically only with all derivatives right: of joints with many axes, soft and hard ones."""
    for robot in (everything(False), la.robots.humanoid_tree()):
        q, v = start(robot, np.random.default_rng(11))
        run = la.simulate(robot, q, v, dt=0.01, steps=20, integrator=Bodies(order))
        assert run.iterations[1:].max() <= 4


def test_few_iterations_with_driven_balls():
    """Balls without springs are eliminated whole, beside hinges and sliders, with the couples of their drives."""
    rng = np.random.default_rng(3)
    b = la.MechanismBuilder("balls")
    for k, parent in enumerate(["world", "b0", "b1", "b2", "b0", "b3"]):
        b.body(f"b{k}", mass=rng.uniform(0.5, 2.0), com=0.2 * rng.normal(size=3), inertia=np.diag([0.06, 0.05, 0.02]))
        kind = {2: "revolute", 4: "prismatic"}.get(k, "spherical")
        axis = {} if kind == "spherical" else {"axis": "x"}
        b.joint(f"j{k}", kind, parent, f"b{k}", pose=random_pose(rng), **axis)
    robot = b.build()
    q, v = start(robot, np.random.default_rng(11))
    u = 20.0 * np.random.default_rng(12).uniform(-1, 1, robot.nu)
    run = la.simulate(robot, q, v, dt=0.01, steps=10, controls=u, integrator=Bodies(4))
    assert run.iterations[1:].mean() <= 3.4  # 4.0 without the couples


def test_slender_ball_chains_run_where_joint_wise_steps_fold():
    """32 thin rods on ball joints: Fan's rule of order 4 has no solution at dt = 0.01 within 0.05 rad of hanging.

    At inner nodes plain Newton loses those of the bodies after some steps from 0.3 rad: it needs the expected wrenches.
    """
    robot = la.robots.pendulum(links=32, joint="spherical")
    q = robot.integrate(robot.neutral(), np.random.default_rng(8).uniform(-0.3, 0.3, robot.nv))
    for order in (2, 4):
        run = la.simulate(robot, q, dt=0.01, steps=150, integrator=Bodies(order))
        assert run.iterations.max() <= 6
        assert np.abs(run.energy - run.energy[0]).max() < 0.05 * run.kinetic_energy.max()


def test_adjoint_through_a_run():
    """The gradient of the last state by initial velocity, controls and a mass, against differences of the run."""
    robot = la.robots.serial_arm(3)
    rng = np.random.default_rng(9)
    q, v, u = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(20, 3))
    target = rng.normal(size=3)

    def objective(run):
        dq = np.zeros((len(run), 3))
        dq[-1] = run.q[-1] - target
        return 0.5 * ((run.q[-1] - target) ** 2).sum(), dq, None

    def value(v, u, mass):
        changed = la.derivatives.with_parameters(robot, {name: mass})
        run = la.simulate(changed, q, v, dt=0.02, steps=20, controls=u, integrator=Bodies(4, tolerance=1e-14))
        return objective(run)[0]

    name = f"mass:{robot.body_names[-1]}"
    mass = la.derivatives.parameter(robot, name)
    options = {"q": q, "v": v, "dt": 0.02, "steps": 20, "controls": u}
    loss, gradient = la.adjoint(robot, Bodies(4, tolerance=1e-14), objective, ["v", "controls", name], **options)
    assert loss == pytest.approx(value(v, u, mass), rel=1e-12)
    h = 1e-5
    for k in range(3):
        d = h * np.eye(3)[k]
        assert gradient["v"][k] == pytest.approx((value(v + d, u, mass) - value(v - d, u, mass)) / (2 * h), rel=1e-6)
    d = np.zeros_like(u)
    d[7, 1] = h
    assert gradient["controls"][7, 1] == pytest.approx(
        (value(v, u + d, mass) - value(v, u - d, mass)) / (2 * h), rel=1e-5
    )
    by_mass = (value(v, u, mass + h) - value(v, u, mass - h)) / (2 * h)
    assert float(np.squeeze(gradient[name])) == pytest.approx(by_mass, rel=1e-5)


def test_steps_that_touch_have_a_solution():
    """Dampers of limits and planes jump where they touch: Newton needs to know on which side it is at each node."""
    run = la.simulate(limited(1), [0.0], [3.0], dt=0.005, duration=0.3, integrator=Bodies(4))
    assert 0.3 < run.q.max() < 0.4
    assert run.iterations.max() <= 10
    robot, rng = box(stiffness=1e4, damping=100.0), np.random.default_rng(0)
    thrown(robot, rng)
    q, v = thrown(robot, rng)
    run = la.simulate(robot, q, v, dt=0.01, duration=0.5, integrator=Bodies(4))
    assert run.q[:, 2].min() > 0.05  # the plane carries it
    assert run.energy[-1] < run.energy[0]
    assert run.iterations.max() < 20  # a step that cycles takes as many and is divided


@pytest.mark.parametrize(
    ("options", "interpolates"),
    [
        ({}, "bodies"),
        ({"order": 12, "tolerance": 1e-9}, "bodies"),
        ({"solver": "sparse"}, "joints"),
        ({"interpolation": "joints"}, "joints"),
        ({"interpolation": "bodies"}, "bodies"),
    ],
)
def test_bodies_unless_something_of_joints_is_asked_for(options, interpolates):
    """What runs is what `interpolates` says."""
    integrator = la.Galerkin(**options)
    assert integrator.interpolates == interpolates
    assert isinstance(integrator.prepare(la.robots.pendulum(), 0.01), GalerkinBodiesStepper) == (
        interpolates == "bodies"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interpolation": "links"}, "interpolation must be one of 'auto', 'bodies', 'joints'"),
        ({"interpolation": "bodies", "solver": "sparse"}, "no solver 'sparse'"),
    ],
)
def test_wrong_settings(options, message):
    with pytest.raises(la.IntegratorError, match=message):
        la.Galerkin(**options)
