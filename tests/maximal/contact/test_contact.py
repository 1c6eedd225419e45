"""Rigid contact: nothing goes through anything, impacts take energy and keep momentum."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.step import maximal_rollout as entries
from leastaction.mechanism import (
    Box,
    Capsule,
    HeightField,
    Mechanism,
    MechanismBuilder,
    Plane,
    Pose,
    Sphere,
)
from tests.maximal.scenes import G, ball_chain, balls, clearance, cubes, gaps, placed, turn

HALF = np.full((1, 3), 0.25)
NONE = np.zeros(6)


@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("order", [1, 2])
def test_dropped_cube_comes_to_rest_on_the_plane(order, friction):
    """0.5 m, 1 kg, from 0.4 m: never below the plane by more than a micrometre."""
    robot = cubes()
    integrator = la.Maximal(order=order, friction=friction)
    run = la.simulate(robot, placed(robot, (0, 0, 0.65)), dt=0.01, duration=1.0, integrator=integrator)
    assert clearance(run, HALF) > -1e-6
    np.testing.assert_allclose(run.q[-1], placed(robot, (0, 0, 0.25)), atol=1e-7)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-7)
    # It falls for sqrt(2 h / g) and then stays.
    landed = np.flatnonzero(run.q[:, 2] < 0.25 + 1e-6)[0]
    assert abs(run.t[landed] - math.sqrt(0.8 / G)) < 0.02


def toss(seed, **settings):
    """A cube thrown with spin; 2 s."""
    rng = np.random.default_rng(seed)
    robot = cubes()
    q = robot.normalize(np.concatenate([[0, 0, 1.0], rng.normal(size=4)]))
    v = np.concatenate([5.0 * rng.normal(size=3), 2.0 * rng.normal(size=3)])
    dt = settings.pop("dt", 0.01)
    return la.simulate(robot, q, v, dt=dt, duration=2.0, integrator=la.Maximal(**settings))


@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("seed", range(6))
def test_tossed_cube_never_gains_energy(seed, friction):
    """Of order 1, an impulse f that changes the velocity to v changes the energy by v.f - |dv|^2 m / 2, never up."""
    run = toss(seed, order=1, friction=friction)
    assert np.diff(run.energy).max() < 1e-9 * run.energy[0]
    assert run.energy[-1] < 0.5 * run.energy[0]
    assert clearance(run, HALF) > -1e-6


@pytest.mark.parametrize("seed", range(6))
def test_tossed_cube_of_order_two(seed):
    """Energy oscillates while the cube turns on an edge, as that of symmetric integrators does: with dt^2."""
    rises = []
    for dt in (0.01, 0.0025):
        run = toss(seed, dt=dt)
        rises.append(np.max(run.energy - np.minimum.accumulate(run.energy)))
        assert clearance(run, HALF, every=5) > -1e-6
        assert run.energy.max() < run.energy[0] * (1 + 1e-9)
    assert rises[0] < 2e-3 * run.energy[0]
    assert rises[1] < 2e-4 * run.energy[0]


@pytest.mark.parametrize("count", [10, 100])
def test_chain_of_balls_falls_on_the_ground(count):
    robot = ball_chain(count)
    q = robot.neutral()
    q[:7] = [0, 0, 0.15, *turn(-0.01)]
    run = la.simulate(robot, q, dt=0.01, steps=60, integrator=la.Maximal(self_collision=False))
    centres = run.stored["poses"][:, :, 2]
    assert centres.min() > 0.1 - 1e-6
    assert (centres[-1] < 0.1 + 1e-6).sum() > 3
    assert run.constraint_violation.max() < 1e-9


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("e", [0.3, 0.7, 1.0])
def test_bounce_heights(e, order):
    """A ball bounces to e^2 of the height, within the integrator's first order at impacts."""
    errors = []
    for dt in (2e-3, 5e-4):
        robot = balls(1, restitution=e, friction=0.0)
        duration = 2.0 * math.sqrt(2.0 / G) if e > 0.5 else 0.8
        integrator = la.Maximal(order=order)
        run = la.simulate(robot, placed(robot, (0, 0, 1.1)), dt=dt, duration=duration, integrator=integrator)
        z = run.q[:, 2] - 0.1
        assert z.min() > -1e-7
        errors.append(abs(z[np.argmin(z[: len(z) * 2 // 3]) :].max() - e * e))
    assert errors[0] < 0.02
    assert errors[1] < 0.005


def test_elastic_bounces_keep_the_energy():
    robot = balls(1, restitution=1.0, friction=0.0)
    run = la.simulate(robot, placed(robot, (0, 0, 0.6)), dt=0.002, duration=5.0, integrator=la.Maximal())
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-5)


def test_newtons_cradle():
    """Balls that touch one after the other: only the last goes on."""
    robot = balls(5, gravity=0.0, ground=False, friction=0.0, restitution=1.0)
    start = placed(robot, *[(0.2 * i + 0.01 * i + (0.0523 if i else 0.0), 0, 0) for i in range(5)])
    v = np.zeros(30)
    v[3] = 1.0
    run = la.simulate(robot, start, v, dt=0.004, duration=0.3, integrator=la.Maximal())
    np.testing.assert_allclose(run.v[-1, 3::6], [0, 0, 0, 0, 1], atol=1e-5)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-5)


@pytest.mark.parametrize("gap", [0.0, 1e-3, 3e-3])
def test_row_of_balls_struck_within_one_step(gap):
    """Balls at rest that a fast one kicks do not get into those behind them, and gain no energy."""
    robot = balls(5, gravity=0.0, ground=False, friction=0.0, restitution=1.0)
    start = placed(robot, *[((0.2 + gap) * i + (0.3 if i else 0.0), 0, 0) for i in range(5)])
    v = np.zeros(30)
    v[3] = 1.0
    run = la.simulate(robot, start, v, dt=0.01, duration=1.0, integrator=la.Maximal())
    assert np.diff(run.q[:, ::7], axis=1).min() > 0.2 - 1e-7
    assert run.energy.max() < 0.5 * (1 + 1e-6)
    np.testing.assert_allclose(run.momentum[:, 3], 1.0, atol=1e-12)


@pytest.mark.parametrize("speed", [5.0, 10.0])
def test_fast_ball_does_not_go_through_a_board(speed):
    """A marble that covers more than the thickness of a board in a step."""
    b = MechanismBuilder("board", gravity=(0, 0, 0))
    b.body("board", mass=5.0, shapes=Box((0.03, 1.0, 1.0), restitution=0.5))
    b.free("board")
    b.body("marble", mass=0.1, shapes=Sphere(0.01))
    b.free("marble")
    robot = b.build()
    v = np.zeros(12)
    v[9] = speed
    run = la.simulate(robot, placed(robot, (0, 0, 0), (-0.7, 0.1, 0.1)), v, dt=0.01, steps=60, integrator=la.Maximal())
    assert (run.q[:, 7] - run.q[:, 0]).max() < -0.025 + 1e-9
    assert run.q[-1, 7] < run.q[-2, 7]
    np.testing.assert_allclose(run.momentum[:, 3], 0.1 * speed, atol=1e-12)


def on_ground(*bodies, ground=None):
    b = MechanismBuilder("things")
    for i, (mass, shape) in enumerate(bodies):
        b.body(f"b{i}", mass=mass, shapes=shape)
        b.free(f"b{i}")
    b.add_shape("world", ground or Plane())
    return b.build()


def test_capsule_lies_on_a_box():
    lying = Pose((0, 0, 0), turn(math.pi / 2))
    robot = on_ground((2.0, Box((0.6, 0.4, 0.2))), (1.0, Capsule(0.1, 0.4, pose=lying)))
    start = placed(robot, (0, 0, 0.1), (0.05, 0.02, 0.5))
    run = la.simulate(robot, start, dt=0.01, duration=1.0, integrator=la.Maximal())
    assert gaps(run).min() > -1e-7
    np.testing.assert_allclose(run.q[-1], placed(robot, (0, 0, 0.1), (0.05, 0.02, 0.3)), atol=1e-4)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-4)


def test_height_field():
    """A flat one is a plane; in a bowl a cube comes to rest without sinking in."""
    x = np.linspace(-1, 1, 21)
    flat = on_ground((1.0, Sphere(0.1)), ground=HeightField(np.zeros((21, 21)), 0.1))
    plane = on_ground((1.0, Sphere(0.1)))
    v = np.array([0.0, 3.0, 1.0, 0.5, 0.2, 0.0])
    runs = [
        la.simulate(r, placed(r, (0.03, 0.02, 0.3)), v, dt=0.01, steps=60, integrator=la.Maximal())
        for r in (flat, plane)
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    bowl = on_ground((1.0, Box((0.5, 0.5, 0.5))), ground=HeightField(0.1 * (x[:, None] ** 2 + x**2), 0.1))
    run = la.simulate(bowl, placed(bowl, (0.3, 0.2, 0.6)), dt=0.01, duration=2.0, integrator=la.Maximal())
    assert gaps(run).min() > -1e-7
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-4)


@pytest.mark.parametrize(("count", "dt", "least", "most"), [(21, 5e-3, 0.1, 0.31), (81, 5e-3, 0.1, 0.25)])
def test_a_ball_in_a_bowl_of_triangles_loses_energy_at_their_creases(count, dt, least, most):
    """It slides without friction: each crease is an impact, so it loses some energy, and gains none."""
    x = np.linspace(-0.8, 0.8, count)
    heights = 1.0 - np.sqrt(1.0 - np.minimum(x[:, None] ** 2 + x**2, 0.98))
    b = MechanismBuilder("bowl")
    b.add_shape("world", HeightField(heights, x[1] - x[0], friction=0.0))
    b.body("ball", mass=1.0, shapes=Sphere(0.05, friction=0.0))
    b.free("ball")
    start = {"ball_free.x": 0.4, "ball_free.z": 1.0 - np.sqrt(1.0 - 0.4**2) + 0.05 / np.sqrt(1.0 - 0.4**2) + 2e-3}
    run = la.simulate(b.build(), start, dt=dt, duration=5.0, integrator=la.Maximal())
    energy = run.energy - 9.81 * 0.05
    assert least < 1.0 - energy[-1] / energy[0] < most
    assert np.diff(energy).max() < 1e-3 * energy[0]


def test_overlap_at_the_start_is_left_without_a_jump():
    """Two cubes 2 cm in each other: pushed apart slowly, not shot."""
    robot = cubes(2)
    start = placed(robot, (0, 0, 0.25), (0, 0, 0.73))
    run = la.simulate(robot, start, dt=0.01, duration=1.0, integrator=la.Maximal())
    assert run.q[:, 9].max() < 0.8
    assert run.q[-1, 9] == pytest.approx(0.75, abs=1e-4)


def test_many_redundant_contacts():
    """A board on 30 points: far more impulses than equations, which none the less hold it still."""
    b = MechanismBuilder("board")
    b.body("board", mass=3.0, inertia=(1.0, 1.0, 2.0))
    b.free("board")
    for i, x in enumerate(np.linspace(-1, 1, 6)):
        for j, y in enumerate(np.linspace(-1, 1, 5)):
            b.contact(f"p{i}{j}", "board", (x, y, 0), friction=0.7)
    b.add_shape("world", Plane())
    robot = b.build()
    run = la.simulate(robot, placed(robot, (0, 0, 0.05)), dt=0.01, duration=1.0, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[-1], placed(robot, (0, 0, 0)), atol=1e-7)
    last = run.stored["contacts"][run.stored["contacts"][:, 0] == run.steps - 1]
    assert len(last) == 30
    assert last[:, 8].sum() == pytest.approx(3.0 * G, rel=1e-6)


def test_log_of_forces_that_is_full(monkeypatch):
    """The compiled loop stops when its log of contact forces is full, and goes on where it was."""
    robot = cubes(2)
    q, v = placed(robot, (0, 0, 0.25), (0, 1, 0.25)), np.array([0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 0, 0])

    def slide():
        return la.simulate(robot, q, v, dt=0.01, steps=50, integrator=la.Maximal())

    whole = slide()
    calls, rollout = [], entries.rollout_with_contact
    monkeypatch.setattr(entries, "rollout_with_contact", lambda *args: calls.append(rollout(*args)) or calls[-1])
    slide()
    assert all(why == 0 for _, why in calls)
    monkeypatch.setattr("leastaction.maximal.stepper.LOGGED", 1)
    calls.clear()
    pieces = slide()
    assert [why for _, why in calls].count(entries.FULL) > 3
    assert sum(done for done, _ in calls) == 50
    np.testing.assert_allclose(pieces.q, whole.q, atol=1e-9)
    np.testing.assert_allclose(pieces.stored["contacts"], whole.stored["contacts"], atol=1e-4)


def test_smoothing_makes_the_step_a_smooth_function():
    """The height after a step over the height before: rigid contact has a kink at touchdown, smooth contact none."""

    def bends(smoothing):
        robot = balls(1, friction=0.5)
        heights = 0.1 + np.linspace(1e-6, 3e-3, 60)
        ends = []
        for z in heights:
            integrator = la.Maximal(order=1, smoothing=smoothing)
            ends.append(la.simulate(robot, placed(robot, (0, 0, z)), dt=0.01, steps=1, integrator=integrator).q[-1, 2])
        return np.abs(np.diff(ends, 2)).max() / (heights[1] - heights[0])

    assert bends(0.0) > 0.1
    assert bends(1e-3) < 0.05


def test_warm_start_changes_no_motion():
    """A stack that slides: by the modes of the step before, and from nothing, by the contact problem as a whole."""
    robot = cubes(3)
    q = placed(robot, *[(0.03 * i, 0, 0.25 + 0.5 * i) for i in range(3)])
    v = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0] * 3)
    warm, cold = (
        la.simulate(robot, q, v, dt=0.01, duration=1.0, integrator=la.Maximal(warm_start=w)) for w in (True, False)
    )
    np.testing.assert_allclose(warm.q, cold.q, atol=1e-9)
    assert cold.iterations.max() <= 10


def test_modes_of_the_step_before_solve_the_next():
    """A cube that slides and turns: few iterations a step, and loads that hardly depend on how it came there."""
    robot = cubes()
    v = np.array([0.0, 0.0, 1.5, 1.2, 0.5, 0.0])
    run = la.simulate(robot, placed(robot, (0, 0, 0.25)), v, dt=0.01, steps=30, integrator=la.Maximal(order=1))
    assert run.iterations[10:].mean() < 4  # most of them with the factors at hand
    log = run.stored["contacts"]
    again = la.simulate(robot, run.q[20], run.v[20], dt=0.01, steps=5, integrator=la.Maximal(order=1)).stored[
        "contacts"
    ]
    np.testing.assert_allclose(again[again[:, 0] == 4, 8], log[log[:, 0] == 24, 8], rtol=0.02)


def test_failure_keeps_what_was_computed():
    robot = cubes()
    q = placed(robot, (0, 0, 0.5), angle=0.3)
    with pytest.raises(la.ConvergenceError) as caught:
        la.simulate(robot, q, dt=0.01, duration=1.0, integrator=la.Maximal(max_iterations=3, smoothing=1e-6))
    error = caught.value
    assert len(error.residuals) == 3
    assert error.step == error.trajectory.steps > 0
    assert error.time == pytest.approx(0.01 * error.step)
    whole = la.simulate(robot, q, dt=0.01, steps=error.step, integrator=la.Maximal(smoothing=1e-6))
    np.testing.assert_allclose(error.trajectory.q, whole.q, atol=1e-6)


def test_velocities_in_contact_belong_to_the_motion():
    """A geared hopper that lands and stays: velocities from momenta, with drive inertias, are those of q."""
    b = MechanismBuilder("hopper")
    b.body("foot", mass=1.0, shapes=Sphere(0.1))
    b.prismatic("slide", "world", "foot", axis="z", armature=3.0)
    b.body("arm", mass=0.5, com=(0.2, 0, 0), inertia=0.01)
    b.revolute("pivot", "foot", "arm", axis="y", armature=0.05, damping=0.1)
    b.add_shape("world", Plane())
    robot = b.build()
    run = la.simulate(robot, [0.3, 0.0], dt=0.002, duration=1.5, integrator=la.Maximal())
    middle = (run.q[2:] - run.q[:-2]) / 0.004
    smooth = np.abs(np.diff(middle, axis=0, prepend=middle[:1])).max(axis=1) < 0.05
    assert smooth.sum() > 600
    np.testing.assert_allclose(run.v[1:-1][smooth], middle[smooth], atol=0.02)
    # The last one, of which the next step's forces are not known, as well.
    np.testing.assert_allclose(run.v[-1], middle[-1], atol=0.02)


def falling() -> Mechanism:
    return cubes()


@pytest.mark.parametrize("integrator", [la.Galerkin(order=2), la.Maximal(order=4)])
def test_integrators_without_contact_say_so(integrator):
    with pytest.warns(la.LeastActionWarning, match="contacts do not act with"):
        la.simulate(falling(), steps=1, integrator=integrator)


def test_maximal_does_not_warn(recwarn):
    la.simulate(falling(), placed(falling(), (0, 0, 1)), steps=1, integrator=la.Maximal())
    assert not recwarn.list
