"""A and B of steps in one call (`step_jacobian`): beside differences, and beside the maps that serve every robot."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Capsule, MechanismBuilder, Plane, Pose, Sphere
from leastaction.minimal.contact.derivatives.backward_pass import OneStep
from leastaction.trajectory.run_checks import checked_record
from tests.derivatives.maps import stepper_map
from tests.oracles.differences import by_q, by_vector

RIGID, DT = la.Minimal(tolerance=1e-13), 0.005

pytestmark = pytest.mark.filterwarnings("ignore:.*overlap at the start")


def leg(limits=(-2.0, -0.6), friction=0.05):
    """A floating base on a foot, with a spring and a damper in the hip, and a limit and dry friction in the knee."""
    b = MechanismBuilder("leg")
    b.body("base", mass=1.2, com=(0.01, 0, 0.02), inertia=(0.02, 0.03, 0.04))
    b.free("base")
    b.body("thigh", mass=0.4, inertia=(0.004, 0.004, 0.001), com=(0.0, 0, -0.1))
    b.revolute("hip", "base", "thigh", axis="y", position=(0.05, 0, 0.0), damping=8.0, stiffness=3.0, armature=0.01)
    b.body("shin", mass=0.3, inertia=(0.003, 0.003, 0.001), com=(0.0, 0, -0.1))
    b.add_shape("shin", Sphere(0.03, name="foot", friction=0.5, pose=Pose((0, 0, -0.2))))
    b.revolute("knee", "thigh", "shin", axis="y", position=(0, 0, -0.2), limits=limits, friction=friction)
    b.actuator("knee", "knee", gear=2.0, limits=(-5.0, 5.0))
    b.add_shape("world", Plane(friction=0.4, name="floor"))
    return b.build()


def things(first, second, compliance=0.0):
    """Two free bodies over the ground."""
    b = MechanismBuilder("things")
    for name, shape, mass in (("lower", first, 1.3), ("upper", second, 0.7)):
        b.body(name, mass=mass, inertia=(0.01, 0.02, 0.015), com=(0.01, -0.02, 0.01), shapes=shape)
        b.free(name)
    b.add_shape("world", Plane(friction=0.5, compliance=compliance))
    return b.build()


def pile(robot, heights, seed):
    """A configuration with the bodies above each other, a little turned, and velocities."""
    rng = np.random.default_rng(seed)
    q = robot.neutral().reshape(2, 7)
    q[:, 2] = heights
    q = robot.integrate(q.ravel(), rng.normal(size=12) * ([0.02, 0.02, 0.3, 0.01, 0.01, 0.0] * 2))
    return q, rng.normal(size=12) * ([0.3, 0.3, 1.0, 0.4, 0.4, 0.2] * 2)


def crouching(robot):
    """The leg on its foot."""
    q = robot.neutral()
    q[7:], q[2] = (0.4, -0.8), 0.4 * np.cos(0.4) + 0.03
    return q


def flying(robot):
    """The leg above the ground."""
    q = crouching(robot)
    q[2] += 1.0
    return q


def stretching(robot):
    """The leg with its knee at the limit."""
    q = crouching(robot)
    q[8] = -0.605
    return q


SCENES = {
    "crouches": lambda: (leg(), crouching, [0, 0, 0, 0, 0, 0, 0, 0]),
    "slides": lambda: (leg(), crouching, [0.1, 0.2, 0.1, 1.5, 0.4, 0, 0.3, 0.1]),
    "stretches": lambda: (leg(), stretching, [0, 0, 0, 0, 0, 0, 0, 2.0]),
    "flies": lambda: (leg(), flying, [0.3, 2.0, -1.0, 1.0, 0.5, 2.0, 3.0, -1.0]),
}
PILES = {
    "boxes": (Box((0.3, 0.4, 0.2), friction=0.4), Box((0.2, 0.3, 0.2), friction=0.6), (0.1, 0.3)),
    "capsules": (Capsule(0.1, 0.4, friction=0.3), Box((0.25, 0.2, 0.2), friction=0.6), (0.3, 0.62)),
    "ball on a box": (Box((0.3, 0.4, 0.2), friction=0.4), Sphere(0.1, friction=0.6), (0.1, 0.3)),
}


def assert_maps(robot, q, p, u, tolerance=1e-8):
    """A and B of one call are those of the general maps; returns them."""
    stepper = RIGID.prepare(robot, DT)
    found = stepper.linearization.at(q, p, u)
    assert found is not None
    A, B = found[0].copy(), found[1].copy()
    general = OneStep(stepper._replay, q, p, u).jacobians()
    for own, other in zip((A, B), general, strict=True):
        assert np.abs(own - other).max(initial=0.0) <= tolerance * np.abs(other).max(initial=0.0)
    return A, B


def error_of(robot, q, p, u, A, B):
    """Of A and B beside differences of order 4, over the largest entry, and how far two of these are apart.

    What sticks hardly follows a control: errors of B count over the time step, what a control does to what is free.
    """
    step = stepper_map(robot, RIGID, DT)
    q1, p1 = step(q, p, u)

    def after(q0, p0, u0):
        q2, p2 = step(q0, p0, u0)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    found = []
    for h in (1e-5, 1e-6, 1e-7):
        D = np.concatenate([by_q(robot, lambda x: after(x, p, u), q, h), by_vector(lambda x: after(q, x, u), p, h)], 1)
        found.append(D)
    scale = np.abs(A).max()
    errors = [np.abs(A - D).max() / scale for D in found]
    by_u = [by_vector(lambda x: after(q, p, x), u, h) for h in (1e-3, 1e-4, 1e-5)] if len(u) else [B]
    of_u = [np.abs(B - D).max(initial=0.0) / max(DT, np.abs(B).max(initial=0.0)) for D in by_u]
    return max(min(errors), min(of_u)), np.abs(found[1] - found[2]).max() / scale


@pytest.mark.parametrize("name", SCENES)
def test_a_leg(name):
    robot, place, v = SCENES[name]()
    q = place(robot)
    p = la.dynamics.mass_matrix(robot, q) @ np.array(v, float)
    u = np.array([0.3])
    error, _ = error_of(robot, q, p, u, *assert_maps(robot, q, p, u))
    assert error < 1e-6


@pytest.mark.parametrize("name", PILES)
def test_states_of_falling_things(name):
    """All steps of a fall in which contacts of a few kinds come and go, slide and stick."""
    first, second, heights = PILES[name]
    robot, u = things(first, second), np.zeros(12)
    # How four corners share a load is known to the tolerance of velocities over their compliance.
    right, most, alike = 0, *((3e-6, 1e-6) if name == "boxes" else (1e-6, 1e-8))
    for seed in range(3):
        q, v = pile(robot, heights, seed)
        run = la.simulate(robot, q, v, dt=DT, steps=40, integrator=RIGID)
        stepper = RIGID.prepare(robot, DT)
        for k in range(2, 40, 6):
            if stepper.linearization.at(run.q[k], run.p[k], u) is None:
                continue  # divided, or found contacts late
            A, B = assert_maps(robot, run.q[k], run.p[k], u, alike)
            error, spread = error_of(robot, run.q[k], run.p[k], u, A, B)
            assert error < most or spread > most, (seed, k, error, spread)
            right += error < most
    assert right >= 12


def test_compliant_ground():
    robot = things(Box((0.3, 0.4, 0.2), friction=0.4), Sphere(0.1, friction=0.6), 1e-4)
    q, v = pile(robot, (0.1, 0.3), 1)
    run = la.simulate(robot, q, v, dt=DT, steps=30, integrator=RIGID)
    A, B = assert_maps(robot, run.q[-1], run.p[-1], np.zeros(12))
    assert error_of(robot, run.q[-1], run.p[-1], np.zeros(12), A, B)[0] < 1e-6


def test_more_contacts_than_there_is_room_for():
    """Thirteen contacts, of which there is room for four at first."""
    b = MechanismBuilder("feet")
    b.body("table", mass=2.0, inertia=(0.2, 0.2, 0.3))
    for k in range(13):
        turn = 2.0 * np.pi * k / 13
        b.add_shape("table", Sphere(0.02, friction=0.4, pose=Pose((0.3 * np.cos(turn), 0.3 * np.sin(turn), -0.1))))
    b.free("table")
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    run = la.simulate(robot, {"table_free.z": 0.12}, [0, 0, 0.3, 0.5, 0, 0], dt=DT, steps=5, integrator=RIGID)
    assert (run.stored["contacts"][:, 0] == 4).sum() == 13
    assert_maps(robot, run.q[-1], run.p[-1], np.zeros(6))


def test_robots_that_only_the_general_maps_know():
    b = MechanismBuilder.from_mechanism(leg())
    b.thruster("push", "base", (0.1, -0.2, 0.3, 1.0, 0.5, -0.2))
    robot = b.build()
    assert RIGID.prepare(robot, DT).linearization is None
    q = crouching(robot)
    A, B = la.linearize(robot, RIGID, q, np.zeros(8), [0.1, 0.2], DT)
    assert error_of(robot, q, np.zeros(8), np.array([0.1, 0.2]), A, B)[0] < 1e-6


def test_arrays_to_fill_and_the_state_of_a_simulator():
    robot = leg()
    sim, other = (la.Simulator(robot, la.Minimal(), DT) for _ in range(2))
    for s in (sim, other):
        s.reset(crouching(robot), [0.1, 0, 0, 0.3, 0, 0, 0, 0])
    out = np.zeros((16, 16)), np.zeros((16, 1))
    for k in range(20):
        A, B = sim.linearize([7.0 if k == 3 else 0.2], out=out)
        assert A is out[0]
        assert B is out[1]
        expected = la.linearize(robot, la.Minimal(), sim.q, sim.p, [7.0 if k == 3 else 0.2], DT)
        assert np.array_equal(A, expected[0])
        assert np.array_equal(B, expected[1])
        assert (B == 0.0).all() == (k == 3)  # beyond the limit
        sim.step([0.2])
        other.step([0.2])
    assert np.array_equal(sim.q, other.q)
    assert np.array_equal(sim.p, other.p)
    with pytest.raises(la.MechanismError, match="shape"):
        la.linearize(robot, la.Minimal(), sim.q, sim.p, None, DT, out=(np.zeros((3, 3)), out[1]))


@pytest.mark.parametrize("steps", [1, 60])
def test_going_back_by_single_steps(steps):
    """A leg that lands, slides and comes to rest: as by the maps of all steps in one go."""
    robot, rng = leg(), np.random.default_rng(2)
    q, v = flying(robot), np.array([0.1, 0.2, 0.0, 0.6, 0.2, -3.0, 1.0, -1.0])
    q[2] -= 0.95
    u = rng.normal(size=(steps, 1)) * 4.0
    run = la.simulate(robot, q, v, controls=u, dt=DT, steps=steps, integrator=RIGID)
    bars = rng.normal(size=(2, steps + 1, 8))
    found = la.derivatives.backpropagate(run, *bars)
    stepper = RIGID.prepare(robot, DT)
    reversal = stepper.reverse(["controls"])
    assert reversal.quick is not None
    reversal.quick = None
    reversal.piece(checked_record(stepper, run), 0, 0, run.stored["u"], *bars)
    general = reversal.finish(run.q[0])
    for own, other in zip(found, (general["q"], general["p"], general["controls"]), strict=True):
        assert np.abs(own - other).max() < 1e-6 * np.abs(other).max()
