"""Linearly implicit Euler: its order, its matrices, and the constraints it keeps."""

import math
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction import redmax
from leastaction.redmax import ConstrainedEuler, PrescribedMotion, PrescribedTwist
from leastaction.redmax.linear_implicit.maximal_coordinates.joint_coordinates import loop_joint_rate
from tests.redmax.robots import ROBOTS, chain, springs, start


def springy_chain(links=3, stiffness=5.0, damping=0.3):
    robot = la.robots.pendulum(links=links)
    return robot.replace(joints=tuple(replace(j, stiffness=(stiffness,), damping=(damping,)) for j in robot.joints))


def order(robot, q, integrator, reference, times=0.25, steps=(50, 100, 200), **options):
    errors = []
    exact = la.simulate(robot, q=q, dt=times / 200, steps=200, integrator=reference, **options).q[-1]
    for n in steps:
        run = la.simulate(robot, q=q, dt=times / n, steps=n, integrator=integrator, **options)
        errors.append(np.linalg.norm(robot.difference(exact, run.q[-1])))
    return np.log2(errors[0] / errors[-1]) / np.log2(steps[-1] / steps[0])


def test_order_one():
    robot = springy_chain()
    assert 0.9 < order(robot, [0.5, -0.2, 0.3], ConstrainedEuler(), la.DOP853()) < 1.15


def test_the_step_is_equation_2_84():
    robot = springy_chain(stiffness=40.0, damping=2.0)
    q, v, h = np.array([0.4, -0.3, 0.9]), np.array([1.0, -2.0, 0.5]), 0.02
    run = la.simulate(robot, q=q, v=v, dt=h, steps=1, integrator=ConstrainedEuler())
    M = la.dynamics.mass_matrix(robot, q)
    f = -la.dynamics.bias_forces(robot, q, v) - 40.0 * q
    v1 = np.linalg.solve(M + h * 2.0 * np.eye(3) + h * h * 40.0 * np.eye(3), M @ v + h * f)
    assert np.allclose(run.v[1], v1, rtol=1e-12)
    assert np.allclose(run.q[1], q + h * v1, rtol=1e-12)


@pytest.mark.parametrize("name", ["chain", "loop"])
def test_without_constraints_it_is_linearly_implicit_euler(name):
    robot = springy_chain() if name == "chain" else la.robots.three_link_loop()
    q = np.array([0.5, -0.2, 0.3]) if name == "chain" else la.robots.home(robot)
    q = q if name == "chain" else la.dynamics.loops.close_loops(robot, q)
    runs = [
        la.simulate(robot, q=q, dt=2e-3, steps=50, integrator=i)
        for i in (ConstrainedEuler(), la.LinearlyImplicitEuler())
    ]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-10


def one_step_apart(robot, q, v, dt, **options):
    """Largest difference of the velocities after one step of the two."""
    methods = ConstrainedEuler(limits=False), la.LinearlyImplicitEuler(**options)
    one, two = (la.simulate(robot, q, v, dt=dt, steps=1, integrator=i).v[1] for i in methods)
    return np.abs(one - two).max()


@pytest.mark.parametrize("name", ["springs", "universal springs", "contact", "limits", "thrusters"])
def test_forces_on_bodies_have_the_same_stiffness_in_both(name):
    """K in the frames of the bodies (1.32, 1.44): one step with springs, cables, wrenches and soft ground."""
    robot = chain("universal", 2, springs) if name == "universal springs" else ROBOTS[name]()
    if robot.nq > robot.nv:  # at rest in the neutral pose both have the same coordinates of balls
        assert one_step_apart(robot, robot.neutral(), np.zeros(robot.nv), 0.02) < 1e-12
    else:
        assert one_step_apart(robot, *start(name, robot), 0.02) < 1e-12


def test_balls_move_in_other_coordinates():
    """Rates of exponential coordinates or twists: the methods differ by dt^2 in one step, as their errors do."""
    robot = ROBOTS["springs on balls"]()
    assert one_step_apart(robot, robot.neutral(), np.zeros(robot.nv), 0.02) < 1e-12
    q, v = start("springs on balls", robot)
    coarse, fine = (one_step_apart(robot, q, v, dt) for dt in (2e-3, 1e-3))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.2)


def free_bodies_with_forces():
    b = la.MechanismBuilder("pair", gravity=(0, 0, 0))
    for name in ("one", "two"):
        b.body(name, mass=1.5, com=(0.1, 0.0, -0.05), inertia=(0.1, 0.2, 0.25))
        b.free(name)
    b.spring("s", ("one", (0.3, 0.1, 0.0)), ("two", (-0.2, 0.0, 0.4)), stiffness=80.0, rest_length=0.5, damping=3.0)
    via = [("world", (0, 0, 2)), ("one", (0, 0.2, 0)), ("two", (0.1, 0, 0))]
    b.cable("c", via, stiffness=50.0, rest_length=1.0, damping=2.0)
    b.wrench("w", "two", (0.5, -1.0, 2.0, 3.0, 1.0, -2.0), point=(0.2, 0.1, 0.0))
    return b.build()


def test_stiffness_and_damping_of_body_forces():
    """Of free bodies J_mr is the unit matrix, so K_m and D_m are derivatives of the wrenches in the body frames."""
    robot = free_bodies_with_forces()
    rng = np.random.default_rng(4)
    q = robot.integrate(robot.neutral(), rng.normal(size=robot.nv))
    v, dt, h = rng.normal(size=robot.nv), 0.1, 1e-6
    stepper = ConstrainedEuler().prepare(robot, dt)
    stepper.equations(0.0, q, v, np.zeros(robot.nu))
    forces = la.dynamics.passive_forces
    K, D = np.zeros((12, 12)), np.zeros((12, 12))
    for k, e in enumerate(np.eye(12)):
        K[:, k] = (forces(robot, robot.integrate(q, h * e), v) - forces(robot, robot.integrate(q, -h * e), v)) / (2 * h)
        D[:, k] = -(forces(robot, q, v + h * e) - forces(robot, q, v - h * e)) / (2 * h)
    assert np.allclose(stepper.data.A - stepper.data.M, dt * D - dt * dt * K, rtol=1e-7, atol=1e-6)


def test_stiff_springs_are_stable():
    """A spring a million times too stiff for an explicit step only loses energy."""
    robot = springy_chain(stiffness=1e7, damping=0.0)
    run = la.simulate(robot, q=[0.3, 0.2, -0.4], dt=0.01, steps=200, integrator=ConstrainedEuler())
    assert np.abs(run.v[-1]).max() < 1e-2
    assert np.diff(run.energy).max() < 1e-6 * run.energy[0]


@pytest.mark.parametrize("stabilization", ["baumgarte", "post", "none"])
def test_loops(stabilization):
    robot = la.robots.three_link_loop()
    q = la.dynamics.loops.close_loops(robot, la.robots.home(robot))
    dt = 1e-3
    run = la.simulate(robot, q=q, dt=dt, steps=400, integrator=ConstrainedEuler(stabilization=stabilization))
    exact = la.simulate(robot, q=q, dt=dt, steps=400, integrator=la.Galerkin(order=4))
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 20.0 * dt
    drift = run.constraint_violation.max()
    assert drift < {"baumgarte": 5e-3, "post": 1e-9, "none": 1e-2}[stabilization]


def test_baumgarte_brings_an_open_loop_back():
    """g decays as exp(-gamma t)."""
    robot = la.robots.three_link_loop().replace(gravity=(0, 0, 0))
    q = la.dynamics.loops.close_loops(robot, la.robots.home(robot)) + np.array([0.0, 1e-4, 0.0])
    run = la.simulate(robot, q=q, dt=1e-3, steps=400, integrator=ConstrainedEuler(baumgarte=5.0))
    assert run.constraint_violation[-1] == pytest.approx(math.exp(-5.0 * 0.4) * run.constraint_violation[0], rel=0.02)


def test_redundant_loop_equations():
    """A planar loop closed by a spatial hinge has dependent equations; the motion is that of the independent ones."""
    runs = []
    for closure in ("in_plane", "revolute"):
        robot = la.robots.three_link_loop(closure=closure)
        q = la.dynamics.loops.close_loops(robot, la.robots.home(robot))
        runs.append(la.simulate(robot, q=q, dt=1e-3, steps=100, integrator=ConstrainedEuler()))
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-8)


def test_prescribed_joint_takes_the_torque_of_hybrid_dynamics():
    """The multiplier of a prescribed joint is the torque of Algorithm 9, to the order of the step (2.113, 2.114)."""
    robot = la.robots.pendulum(links=3)
    name = robot.velocity_names[1]
    motion = PrescribedMotion(name, lambda t: math.cos(t), lambda t: math.sin(t))
    dt = 1e-4
    run = la.simulate(robot, q=[0.3, 0, 0.2], v=[0, 1, 0], dt=dt, steps=1600, integrator=ConstrainedEuler((motion,)))
    assert np.abs(run.q[:, 1] - np.sin(run.t)).max() < 2 * dt
    k = 1500
    a = (run.v[k + 1] - run.v[k]) / dt
    found = redmax.hybrid_dynamics(robot, run.q[k], run.v[k], prescribed={name: a[1]})
    assert found.u[1] == pytest.approx(run.stored["multipliers"][k + 1, 0], rel=1e-6)
    assert np.allclose(found.a, a, atol=1e-6)


def test_prescribed_twist_of_a_body():
    robot = la.robots.serial_arm(7)
    twist = np.array([0.1, -0.2, 0.3, 0.05, 0.1, -0.1])
    q = np.full(robot.nq, 0.4)
    method = ConstrainedEuler((PrescribedTwist(robot.body_names[-1], lambda t: twist),))
    run = la.simulate(robot, q=q, dt=1e-3, steps=100, integrator=method)
    last = la.dynamics.body_jacobian(robot, run.q[-2], robot.body_names[-1], frame="body") @ run.v[-1]
    assert np.allclose(last, twist, atol=1e-10)


def test_prescribed_velocity_in_directions_of_the_world():
    """The tip of an arm moves along a line of the world while the arm turns."""
    robot = la.robots.serial_arm(7)
    name, point = robot.body_names[-1], (0.0, 0.0, 0.1)
    motion = PrescribedTwist(name, lambda t: [0, 0, 0, 0.2, 0, 0.1], (3, 4, 5), point, "world")
    run = la.simulate(robot, q=np.full(robot.nq, 0.4), dt=1e-3, steps=200, integrator=ConstrainedEuler((motion,)))
    X = [la.dynamics.body_poses(robot, x)[-1] for x in (run.q[0], run.q[-1])]
    tips = [x[:3, :3] @ point + x[:3, 3] for x in X]
    assert np.allclose(tips[1] - tips[0], [0.04, 0.0, 0.02], atol=3e-3)


def test_prescribed_angle_of_a_loop_joint():
    """A loop may be driven at the joint that closes it."""
    robot = la.robots.four_bar(closure="revolute")
    loop, q = robot.loops[0], la.robots.home(robot)
    start = loop_joint_rate(robot, loop, q, np.zeros(1))[0][0]
    motion = PrescribedMotion(loop.name, lambda t: t, lambda t: start + 0.5 * t * t)
    run = la.simulate(robot, q=q, dt=1e-3, steps=800, integrator=ConstrainedEuler((motion,)))
    angle = loop_joint_rate(robot, loop, run.q[-1], np.array([start]))[0][0]
    assert angle == pytest.approx(start + 0.5 * 0.8**2, abs=2e-3)
    assert run.constraint_violation.max() < 1e-3


def test_start_time_reaches_prescribed_motions():
    robot = la.robots.pendulum()
    motion = PrescribedMotion(robot.velocity_names[0], lambda t: t)
    run = la.simulate(robot, dt=0.01, steps=1, start=3.0, integrator=ConstrainedEuler((motion,)))
    assert run.v[1, 0] == pytest.approx(3.01)


def test_constraints_on_reduced_and_maximal_coordinates_agree():
    """The height of a pendulum's tip as an equation of its pose (2.106) and of its angles (2.108)."""
    robot = la.robots.pendulum(links=2)
    tip = robot.body_names[1]
    q = np.array([0.5, 0.3])
    height = la.dynamics.body_poses(robot, q)[1, 2, 3]

    def of_pose(t, poses):
        X = poses[0]
        return [X[2, 3] - height], [[0, 0, 0, *X[2, :3]]]

    def of_angles(t, q):
        J = la.dynamics.body_jacobian(robot, q, tip)
        return [la.dynamics.body_poses(robot, q)[1, 2, 3] - height], J[5:6]

    runs = []
    for constraint in (redmax.MaximalConstraint((tip,), of_pose), redmax.ReducedConstraint(of_angles)):
        runs.append(la.simulate(robot, q=q, dt=1e-3, steps=200, integrator=ConstrainedEuler((constraint,))))
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-10)
    heights = [la.dynamics.body_poses(robot, x)[1, 2, 3] for x in runs[0].q]
    assert np.abs(np.array(heights) - height).max() < 1e-3


def test_inequality_keeps_the_tip_above_a_floor():
    robot = la.robots.pendulum(links=2)
    tip = robot.body_names[1]
    floor = -0.7

    def above(t, poses):
        X = poses[0]
        return [X[2, 3] - floor], [[0, 0, 0, *X[2, :3]]]

    wall = redmax.MaximalConstraint((tip,), above, inequality=True)
    free = la.simulate(robot, q=[1.2, 0.4], dt=1e-3, steps=800, integrator=ConstrainedEuler())
    run = la.simulate(robot, q=[1.2, 0.4], dt=1e-3, steps=800, integrator=ConstrainedEuler((wall,)))
    z = np.array([la.dynamics.body_poses(robot, x)[1, 2, 3] for x in run.q])
    assert min(la.dynamics.body_poses(robot, x)[1, 2, 3] for x in free.q) < floor - 0.05
    assert z.min() > floor - 1e-4


def slider(gravity=0.0):
    b = la.MechanismBuilder("slider", gravity=(gravity, 0, 0))
    b.body("block", mass=1.0, inertia=0.1)
    b.prismatic("rail", "world", "block", axis="x")
    return b.build()


def wall(position, velocity):
    """x >= position + velocity t."""
    return redmax.ReducedConstraint(
        lambda t, q: ([q[0] - position - velocity * t], [[1.0]], [-velocity]), inequality=True
    )


@pytest.mark.parametrize("velocity", [-0.5, 0.0, 0.5])
def test_an_open_inequality_does_nothing_until_it_would_be_violated(velocity):
    """A block that is pressed against a wall at rest, receding or coming flies freely, then is on it at every step."""
    dt, steps = 0.01, 100
    method = ConstrainedEuler((wall(-0.3, velocity),))
    run = la.simulate(slider(gravity=-5.0), dt=dt, steps=steps, integrator=method)
    free = la.simulate(slider(gravity=-5.0), dt=dt, steps=steps, integrator=ConstrainedEuler())
    gap = run.q[:, 0] - (-0.3 + velocity * run.t)
    hit = int(np.argmax(free.q[:, 0] < -0.3 + velocity * free.t))
    assert 10 < hit < 90
    assert np.array_equal(run.q[:hit], free.q[:hit])
    assert np.abs(gap[hit:]).max() < 1e-9


def test_a_violated_inequality_is_taken_back_at_the_rate_of_stabilisation():
    dt, gamma = 0.01, 5.0
    method = ConstrainedEuler((wall(0.0, 0.0),), baumgarte=gamma)
    run = la.simulate(slider(gravity=-5.0), q=[-0.1], dt=dt, steps=50, integrator=method)
    assert np.allclose(run.q[:, 0], -0.1 * (1.0 - gamma * dt) ** np.arange(51), rtol=1e-9)


@pytest.mark.parametrize("inequality", [False, True])
@pytest.mark.parametrize("rows", [([], []), (np.zeros(0), np.zeros((0, 1))), ([], [], [])])
def test_a_constraint_without_rows_is_none(rows, inequality):
    none = redmax.ReducedConstraint(lambda t, q: rows, inequality)
    run = la.simulate(slider(-5.0), dt=0.01, steps=5, integrator=ConstrainedEuler((none,)))
    free = la.simulate(slider(-5.0), dt=0.01, steps=5, integrator=ConstrainedEuler())
    assert np.array_equal(run.q, free.q)


def test_rows_may_come_and_go_in_inequalities_alone():
    def later(t, q):
        return ([], []) if t < 0.03 else ([q[0]], [[1.0]])

    run = la.simulate(
        slider(-5.0), dt=0.01, steps=9, integrator=ConstrainedEuler((redmax.ReducedConstraint(later, True),))
    )
    assert run.v[2, 0] == pytest.approx(-0.1)
    assert run.v[-1, 0] > 0.0
    with pytest.raises(la.IntegratorError, match="stay as many"):
        la.simulate(slider(-5.0), dt=0.01, steps=9, integrator=ConstrainedEuler((redmax.ReducedConstraint(later),)))


def test_joint_limits_stop_a_pendulum():
    b = la.MechanismBuilder("stop")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
    b.revolute("pivot", "world", "rod", axis="y", limits=(-0.2, 2.0))
    robot = b.build()
    run = la.simulate(robot, q=[1.0], dt=2e-3, steps=600, integrator=ConstrainedEuler())
    assert run.q.min() > -0.2 - 1e-9
    free = la.simulate(robot, q=[1.0], dt=2e-3, steps=600, integrator=ConstrainedEuler(limits=False))
    assert free.q.min() < -0.8


def coupled_chain():
    b = la.robots.pendulum(links=3).edit()
    names = la.robots.pendulum(links=3).coordinate_names
    b.coupling("second", names[1], names[0])
    b.coupling("third", names[2], names[1], ratio=-0.5, offset=0.1)
    return b.build()


def test_hyper_reduced_coordinates():
    """Couplings by a chained Jacobian (2.90): exact at every step, and the motion of the constrained chain."""
    robot = coupled_chain()
    q = np.array([0.8, 0.8, -0.3])
    reduced = la.simulate(robot, q=q, dt=1e-3, steps=400, integrator=ConstrainedEuler(couplings="eliminate"))
    assert reduced.constraint_violation.max() < 1e-14
    kept = la.simulate(robot, q=q, dt=1e-3, steps=400, integrator=ConstrainedEuler())
    assert np.abs(kept.q - reduced.q).max() < 1e-9
    exact = la.simulate(robot, q=q, dt=1e-3, steps=400, integrator=la.Galerkin(order=4))
    assert np.abs(exact.q[-1] - reduced.q[-1]).max() < 5e-3


def test_nonlinear_coupling_has_the_rate_of_its_jacobian():
    """follower = leader^2: without dJ/dt v_R the motion would be off at first order already."""
    from leastaction.mechanism.elements import Coupling

    robot = la.robots.pendulum(links=2)
    names = robot.coordinate_names
    robot = robot.replace(couplings=(Coupling("square", names[1], names[0], (0.0, 0.5, 0.7)),))
    hyper = redmax.HyperReduction(robot)
    q = hyper.complete(np.array([0.9, 0.0]))
    v = hyper.jacobian(q, np.zeros(2))[0] @ np.array([2.0])
    exact = la.simulate(robot, q=q, v=v, dt=1e-3, steps=300, integrator=la.Galerkin(order=4)).q[-1]
    method = ConstrainedEuler(couplings="eliminate")
    runs = [la.simulate(robot, q=q, v=v, dt=0.3 / n, steps=n, integrator=method) for n in (150, 300, 600)]
    errors = [np.abs(run.q[-1] - exact).max() for run in runs]
    assert 1.7 < errors[0] / errors[1] < 2.3
    assert 1.7 < errors[1] / errors[2] < 2.3


def test_bad_settings_are_refused():
    robot = la.robots.pendulum()
    with pytest.raises(la.IntegratorError, match="stabilization"):
        ConstrainedEuler(stabilization="glue")
    with pytest.raises(la.IntegratorError, match="PrescribedMotion"):
        la.simulate(robot, steps=1, integrator=ConstrainedEuler(("pivot",)))
    with pytest.raises(la.MechanismError, match="unknown degree of freedom"):
        la.simulate(robot, steps=1, integrator=ConstrainedEuler((PrescribedMotion("knee", lambda t: 0.0),)))
    with pytest.raises(la.IntegratorError, match="pcg"):
        la.simulate(la.robots.four_bar(), steps=1, integrator=ConstrainedEuler(solver="pcg"))
    bad = redmax.ReducedConstraint(lambda t, q: ([0.0], [[1.0, 2.0]]))
    with pytest.raises(la.IntegratorError, match="shape"):
        la.simulate(robot, steps=1, integrator=ConstrainedEuler((bad,)))


def closed_chain(kind, swapped, **properties):
    """Three bodies that a loop joint closes, tied from the third to the first or from the first to the third."""
    b = la.MechanismBuilder("ring")
    rng = np.random.default_rng(3)
    for k in range(3):
        b.body(f"body{k}", mass=1.0 + k, com=rng.uniform(-0.1, 0.1, 3), inertia=(0.02, 0.03, 0.04))
    b.free("body0")
    b.spherical("first", "body0", "body1", position=(0.4, 0, 0))
    b.spherical("second", "body1", "body2", position=(0, 0.5, 0.1))
    one, two = la.mechanism.Pose((-0.4, 0.3, 0.1)), la.mechanism.Pose((-0.8, -0.2, 0.0))
    sides = ("body0", "body2", one, two) if swapped else ("body2", "body0", two, one)
    parent, child, place, moved = sides
    b.joint("closing", kind, parent, child, pose=place, child_pose=moved.inverse(), loop=True, **properties)
    return b.build()


CLOSING = {
    "spherical": {},
    "revolute": {"axis": (0.6, 0.0, 0.8)},
    "universal": {},
    "cylindrical": {"axis": "z"},
    "prismatic": {"axis": (0.0, 0.6, 0.8)},
    "planar": {"axis": "y"},
    "screw": {"axis": "x", "pitch": 0.3},
    "fixed": {},
}


@pytest.mark.parametrize("kind", CLOSING)
def test_drift_of_a_loop_does_not_depend_on_which_side_is_the_parent(kind):
    """The loop starts open, drifts and is stabilised: the same motion to round-off, and the same multipliers' power."""
    runs = []
    for swapped in (False, True):
        properties = dict(CLOSING[kind])
        if kind == "universal":
            axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
            properties = {"axis": axes[::-1] if swapped else axes}
        robot = closed_chain(kind, swapped, **properties)
        q = robot.integrate(robot.neutral(), 0.05 * np.random.default_rng(1).normal(size=robot.nv))
        v = np.random.default_rng(2).normal(size=robot.nv)
        runs.append(la.simulate(robot, q=q, v=v, dt=0.01, steps=20, integrator=ConstrainedEuler()))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-10
