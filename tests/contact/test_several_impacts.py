"""Several impacts in one step, in both engines: with restitution 1 they keep the energy, one by one or all at once."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder, Plane, Sphere

RADIUS = 0.1

ENGINES = pytest.mark.parametrize("engine", [la.Maximal(), la.Minimal()], ids=["Maximal", "Minimal"])


def row(count, gap):
    """Balls on a rail along x, without gravity."""
    b = MechanismBuilder("row", gravity=(0, 0, 0))
    for i in range(count):
        b.body(f"ball{i}", mass=1.0, inertia=0.004, shapes=Sphere(RADIUS, restitution=1.0))
        b.prismatic(f"rail{i}", "world", f"ball{i}", axis="x", pose=(i * (2 * RADIUS + gap), 0, 0))
    return b.build()


def tower(count):
    """Balls over each other above the ground."""
    b = MechanismBuilder("tower")
    b.add_shape("world", Plane(restitution=1.0))
    for i in range(count):
        b.body(f"ball{i}", mass=1.0, inertia=0.004, shapes=Sphere(RADIUS, restitution=1.0))
        b.prismatic(f"rail{i}", "world", f"ball{i}", axis="z")
    return b.build()


def cradle(count, gap):
    """Newton's: balls on hinges about y."""
    b = MechanismBuilder("cradle")
    for i in range(count):
        ball = Sphere(0.05, restitution=1.0, friction=0.0, pose=(0, 0, -1))
        b.body(f"ball{i}", mass=1.0, com=(0, 0, -1), inertia=0.001, shapes=ball)
        b.revolute(f"hinge{i}", "world", f"ball{i}", axis="y", position=(i * (0.1 + gap), 0, 0))
    return b.build()


def change(run):
    """Largest gain and loss of energy, relative to the kinetic energy."""
    off = (run.energy - run.energy[0]) / run.kinetic_energy.max()
    return off.max(), -off.min()


@ENGINES
@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("gap", [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3])
def test_a_ball_hits_a_row(count, gap, engine):
    """Gaps that a tenth to a ten-thousandth of a step closes. What is apart is hit in turn; the last ball leaves."""
    q, v = np.zeros(count), np.zeros(count)
    q[0], v[0] = -0.0537, 1.0
    run = la.simulate(row(count, gap), q, v, dt=0.01, duration=0.2, integrator=engine)
    gain, loss = change(run)
    assert max(gain, loss) < 3e-12
    np.testing.assert_allclose(run.v[-1], np.eye(count)[-1], atol=3e-12)


@ENGINES
@pytest.mark.parametrize("seed", range(4))
def test_balls_over_each_other_keep_their_energy(seed, engine):
    """Impacts on the ground and on each other, whose parts of steps differ in length."""
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 6))
    q, v = 0.15 + np.cumsum(random.uniform(0.2, 0.5, count)), random.normal(size=count)
    gain, loss = change(la.simulate(tower(count), q, v, dt=0.01, duration=2.0, integrator=engine))
    assert max(gain, loss) < 3e-12


@ENGINES
@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_newtons_cradle(gap, engine):
    gain, loss = change(la.simulate(cradle(5, gap), [0.5, 0, 0, 0, 0], dt=0.01, duration=2.0, integrator=engine))
    assert gain < 1e-3
    assert loss < 1e-3


@ENGINES
def test_a_ball_that_gravity_brings_to_the_ground_within_a_step_bounces(engine):
    """Whatever the height: at some of them the velocity before would not have reached the ground in that step."""
    for height in np.linspace(0.2, 0.21, 21):
        gain, loss = change(la.simulate(tower(1), [height + RADIUS], dt=0.01, duration=0.5, integrator=engine))
        assert max(gain, loss) < 3e-12


def heap(edge):
    """Balls in a cube of rows, slightly out of line, above the ground: they hit each other often within a step."""
    b = MechanismBuilder("heap")
    b.add_shape("world", Plane(restitution=1.0))
    rng, q = np.random.default_rng(0), []
    for i, place in enumerate(np.ndindex(edge, edge, edge)):
        b.body(f"ball{i}", mass=1.0, inertia=0.004, shapes=Sphere(RADIUS, restitution=1.0, friction=0.0))
        b.free(f"ball{i}")
        q += [*(0.21 * np.array(place) + [0.0, 0.0, 0.2] + rng.uniform(-1e-3, 1e-3, 3)), 1.0, 0.0, 0.0, 0.0]
    return b.build(), q


@ENGINES
def test_many_balls_that_hit_each_other_in_one_step_keep_their_energy(engine):
    """More impacts in a step than one body can have: their number is bounded per body, not per step."""
    robot, q = heap(3)
    run = la.simulate(robot, q, dt=5e-3, duration=0.4, integrator=engine)
    gain, loss = change(run)
    assert max(gain, loss) < 1e-10
