"""Forces: dampers, motors, thrusters, wrenches and springs against adaptive references, order observed."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from tests.minimal.helpers import METHODS, assert_order, method, number, on_bodies
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_inertia, random_pose, random_state, random_tree

TIGHT = la.DOP853(rtol=1e-13, atol=1e-14)
COUNTS = {2: (40, 80), 4: (16, 32), 6: (8, 16), 8: (8, 12)}


def reference(robot, q, v, duration, **options):
    """(q, v) at three even times."""
    run = la.simulate(robot, q, v, dt=duration / 2, steps=2, integrator=TIGHT, **options)
    return run.q, run.v


def swaying(t):
    """Controls of `arm` over time [s]."""
    return 5.0 * np.sin(6.0 * t + np.arange(3))


def driven(robot, q, v, controls, duration):
    """(q, v) at three even times under controls that are a function of time, which DOP853 would hold over a step."""
    n = robot.nv

    def rate(t, x):
        return np.concatenate([x[n:], la.dynamics.forward_dynamics(robot, x[:n], x[n:], controls(t))])

    times = (0.0, 0.5 * duration, duration)
    x = solve_ivp(rate, (0.0, duration), [*q, *v], "DOP853", t_eval=times, rtol=1e-13, atol=1e-14).y.T
    return x[:, :n], x[:, n:]


def arm(joint="revolute", **properties):
    return random_tree(31, 3, (joint, "revolute"), branching=0.0, **properties)


@pytest.mark.parametrize("order", METHODS)
def test_constant_controls(order):
    """A generalised force on every degree of freedom, a ball joint's in the child's frame."""
    robot = arm("spherical", damping=0.3)
    q, v = random_state(robot, 1)
    u = 4.0 * np.cos(np.arange(robot.nu))
    states = reference(robot, q, v, 0.4, controls=u)
    # On bodies, positions converge faster at first.
    within = 0.45 if order == "bodies 6" else 0.15
    assert_order(robot, order, states, 0.4, COUNTS[number(order)], within, controls=u)
    idle = la.simulate(robot, q, v, dt=0.2, steps=2, integrator=method(order))
    assert np.abs(robot.difference(states[0][-1], idle.q[-1])).max() > 0.1


@pytest.mark.parametrize("order", METHODS)
def test_controls_as_functions_of_time(order):
    """Read at the control points of the rule, they keep its order."""
    robot = arm()
    states = driven(robot, *random_state(robot, 1), swaying, 0.4)
    assert_order(robot, order, states, 0.4, COUNTS[number(order)], controls=swaying)


@pytest.mark.parametrize("order", METHODS)
def test_a_table_holds_each_row_over_its_step(order):
    """Two rows, each for half of the run, are two runs with constant controls."""
    robot = arm()
    q, v = random_state(robot, 1)
    rows = np.array([[3.0, -2.0, 1.0], [-4.0, 0.0, 2.0]])
    table = np.repeat(rows, 5, axis=0)
    run = la.simulate(robot, q, v, dt=0.02, steps=10, integrator=method(order), controls=table)
    first = la.simulate(robot, q, v, dt=0.02, steps=5, integrator=method(order), controls=rows[0])
    second = la.simulate(
        robot, first.q[-1], p=first.p[-1], dt=0.02, steps=5, integrator=method(order), controls=rows[1]
    )
    assert (run.q[:6] == first.q).all()
    assert (run.q[5:] == second.q).all()


@pytest.mark.parametrize("order", METHODS)
def test_a_controller_of_the_state(order):
    """Feedback is held over a step: the run with the same controls as a table is the same."""
    robot = arm()
    q, v = random_state(robot, 1)
    used = []

    def controller(t, q, v):
        used.append(-3.0 * q - 0.5 * v)
        return used[-1]

    run = la.simulate(robot, q, v, dt=0.02, steps=10, integrator=method(order), controller=controller)
    again = la.simulate(robot, q, v, dt=0.02, steps=10, integrator=method(order), controls=np.array(used))
    assert (run.q == again.q).all()


def flying_arm(*, springs=False, gravity=(0.3, -0.5, -9.81)):
    """A free base with a ball joint and a hinge, two thrusters, a motor, and a wrench in a body's frame."""
    rng = np.random.default_rng(33)
    b = la.MechanismBuilder("flying_arm", gravity=gravity)
    for k in range(3):
        b.body(f"body{k}", inertia=random_inertia(rng))
    b.free("body0", name="base", pose=random_pose(rng), child_pose=random_pose(rng))
    b.spherical("ball", "body0", "body1", pose=random_pose(rng))
    b.revolute("hinge", "body1", "body2", axis=(0.6, 0.0, 0.8), pose=random_pose(rng))
    b.thruster("main", "body0", (0.2, -0.1, 0.3, 1.0, 2.0, -1.5))
    b.thruster("side", "body2", (0.0, 0.1, 0.0, -0.4, 0.0, 0.6))
    b.actuator("motor", "hinge", gear=-2.0)
    b.wrench("jet", "body1", (0.1, 0.2, -0.1, 0.5, 0.5, -1.0), point=(0.1, 0.0, 0.2), frame="body")
    if springs:
        b.wrench("wind", "body2", (0.1, 0.0, 0.0, 1.0, -0.5, 0.3), point=(0.0, 0.1, 0.2))
        b.spring("spring", "body0", ("body2", (0.1, 0.2, 0.3)), stiffness=20.0, rest_length=0.2, damping=0.5)
        b.cable(
            "cable",
            ["world", ("body1", (0.1, 0, 0)), ("body2", (0, 0.2, 0))],
            stiffness=8.0,
            rest_length=0.3,
            damping=0.2,
        )
    return b.build()


@pytest.mark.parametrize("order", METHODS)
def test_thrusters_and_wrenches_of_a_body(order):
    """Forces that turn with their body, on a free base, against DOP853."""
    robot = flying_arm()
    q, v = random_state(robot, 3)
    u = np.array([2.0, -1.0, 1.5])
    states = reference(robot, q, v, 0.4, controls=u)
    assert_order(robot, order, states, 0.4, COUNTS[number(order)], controls=u)


@pytest.mark.parametrize("order", METHODS)
def test_springs_cables_and_wrenches_of_the_world(order):
    """Forces between any two bodies: the dense solver, chosen by itself, has their exact derivatives."""
    robot = flying_arm(springs=True)
    q, v = random_state(robot, 3)
    states = reference(robot, q, v, 0.4, controls=np.ones(3))
    integrator = method(order) if on_bodies(order) else method(order, solver="dense")
    assert on_bodies(order) or method(order, solver="auto").prepare(robot, 0.01).solver == "dense"
    counts = {2: (40, 80), 4: (16, 32), 6: (8, 16), 8: (4, 8)}[number(order)]
    errors = []
    for n in counts:
        run = la.simulate(robot, q, v, dt=0.4 / n, steps=n, integrator=integrator, controls=np.ones(3))
        errors.append(np.linalg.norm(robot.difference(states[0][-1], run.q[-1])))
        assert run.iterations.max() <= 8
    assert np.log2(errors[0] / errors[1]) == pytest.approx(number(order), abs=0.25)


@pytest.mark.parametrize("order", METHODS)
def test_dampers_take_energy(order):
    """With dampers and nothing that drives, the energy falls from sample to sample, until all rests."""
    robot = arm("spherical", stiffness=4.0, damping=1.0)
    q, v = random_state(robot, 5)
    run = la.simulate(robot, q, v, dt=0.02, duration=20.0, integrator=method(order))
    energy = run.energy[::25]
    assert (np.diff(energy[:10]) < 0.0).all()
    assert np.diff(energy).max() <= 1e-6 * np.ptp(energy)
    assert run.kinetic_energy[-1] <= 1e-3 * np.ptp(energy)


@pytest.mark.parametrize("order", METHODS)
def test_a_damped_slider(order):
    """m x'' = -c x' + f: closed form."""
    b = la.MechanismBuilder(gravity=(0, 0, 0))
    b.body("slider", mass=2.0)
    b.prismatic("rail", "world", "slider", damping=3.0)
    robot = b.build()
    t = np.array([0.0, 0.5, 1.0])
    final, k = 4.0 / 3.0, 1.5
    v = final + (1.0 - final) * np.exp(-k * t)
    x = final * t + (1.0 - final) * (1.0 - np.exp(-k * t)) / k
    counts = {2: (50, 100), 4: (10, 20), 6: (4, 8), 8: (2, 4)}[number(order)]
    assert_order(robot, order, (x[:, None], v[:, None]), 1.0, counts, controls=[4.0])


@pytest.mark.parametrize("order", METHODS)
def test_armature_is_inertia(order):
    """On a slider, an armature of 1.5 kg is 1.5 kg more of mass; gravity does not pull at it."""
    b = la.MechanismBuilder(gravity=(0, 0, -10))
    b.body("slider", mass=0.5)
    b.prismatic("rail", "world", "slider", armature=1.5)
    run = la.simulate(b.build(), dt=0.1, duration=1.0, integrator=method(order))
    assert_close(run.q[:, 0], -0.5 * 2.5 * run.t**2, 1e-13)
    assert_close(run.p[:, 0], -5.0 * run.t, 1e-13)


@pytest.mark.parametrize("order", METHODS)
def test_tumbling_through_all_orientations(order):
    """A flying arm that is spun through several turns stays at its order: there is no gimbal to lock."""
    robot = flying_arm(gravity=(0, 0, 0))
    q = robot.neutral()
    v = np.zeros(robot.nv)
    v[:3], v[6:9] = (5.0, 5.6, -4.2), (-6.3, 3.5, 4.9)
    u = np.array([1.0, 0.5, 1.0])
    states = reference(robot, q, v, 1.0, controls=u)
    counts = {2: (200, 400), 4: (100, 200), 6: (40, 80), 8: (50, 70)}[number(order)]
    assert_order(robot, order, states, 1.0, counts, controls=u)
    run = la.simulate(robot, q, v, dt=0.005, duration=2.0, integrator=method(order), controls=u)
    # Both the base and the ball joint turned over: their third axes pointed up and down.
    for x in (run.q[:, 3:7], run.q[:, 7:11]):
        up = 1.0 - 2.0 * (x[:, 1] ** 2 + x[:, 2] ** 2)
        assert up.min() < -0.8
        assert up.max() > 0.9


@pytest.mark.parametrize("order", METHODS)
def test_no_orientation_is_special(order):
    """Without gravity, turning the start turns the whole run: attitudes enter by their differences only."""
    robot = flying_arm(gravity=(0, 0, 0))
    q, v = random_state(robot, 4)
    run = la.simulate(robot, q, v, dt=0.02, steps=50, integrator=method(order), controls=np.ones(3))
    rng = np.random.default_rng(6)
    for _ in range(3):
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        # A free body with the attitude `turn` carries positions and attitudes along.
        turned = [turned_by(turn, x) for x in run.q]
        again = la.simulate(robot, turned[0], v, dt=0.02, steps=50, integrator=method(order), controls=np.ones(3))
        assert np.abs(robot.difference(np.array(turned), again.q)).max() <= 1e-9
        assert_close(again.p, run.p, 1e-9)


def turned_by(turn, q):
    """The configuration with its base turned about the joint's origin by a unit quaternion."""
    w, a = turn[0], turn[1:]

    def product(x):
        return np.concatenate([[w * x[0] - a @ x[1:]], w * x[1:] + x[0] * a + np.cross(a, x[1:])])

    s = 2.0 * np.cross(a, q[:3])
    return np.concatenate([q[:3] + w * s + np.cross(a, s), product(q[3:7]), q[7:]])
