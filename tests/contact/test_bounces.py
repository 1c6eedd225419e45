"""Restitution: closed forms of impacts, and no spurious energy gain where it meets friction; in both engines."""

import math

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus.families import scene
from benchmarks.corpus.figures import measured
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere
from tests.maximal.scenes import balls, placed

LENGTH, RADIUS = 1.0, 0.01

ENGINES = pytest.mark.parametrize("engine", [la.Maximal(), la.Minimal()], ids=["Maximal", "Minimal"])


def rod(restitution, friction, gravity=9.81):
    """A uniform rod with round ends over the ground."""
    b = MechanismBuilder("rod", gravity=(0, 0, -gravity))
    ends = [
        Sphere(RADIUS, friction=friction, restitution=restitution, pose=Pose((0, 0, z)))
        for z in (-LENGTH / 2, LENGTH / 2)
    ]
    b.body("rod", mass=1.0, inertia=(LENGTH**2 / 12, LENGTH**2 / 12, 1e-3), shapes=ends)
    b.free("rod")
    b.add_shape("world", Plane())
    return b.build()


def tilted(angle, height):
    """Configuration of a rod turned about y, its lower end so high above the ground."""
    z = 0.5 * LENGTH * math.cos(angle) + RADIUS + height
    return np.array([0, 0, z, *Pose.from_axis_angle((0, 1, 0), angle).quaternion])


@ENGINES
@pytest.mark.parametrize("e", [0.4, 1.0])
def test_a_rod_without_friction(e, engine):
    """The impulse of a tilted rod that falls: (1 + e) v / (1/m + r^2/J), r the arm of its end."""
    angle, speed, robot = 0.5, 2.0, rod(e, 0.0, gravity=0.0)
    v = [0, 0, 0, speed * math.sin(angle), 0, -speed * math.cos(angle)]  # straight down, in the rod's directions
    run = la.simulate(robot, tilted(angle, 0.005), v, dt=1e-3, steps=6, integrator=engine)
    arm = 0.5 * LENGTH * math.sin(angle)
    impulse = (1 + e) * speed / (1.0 + 12.0 * arm**2 / LENGTH**2)
    # The rod turns by some mrad within the step.
    assert abs(run.com_poses[-1, 0, 2] - run.com_poses[-2, 0, 2] - 1e-3 * (impulse - speed)) < 5e-6 * impulse
    assert abs(np.linalg.norm(run.v[-1, :3]) - 12.0 * impulse * arm) < 0.05 * impulse


@ENGINES
@pytest.mark.parametrize("dt", [4e-3, 1e-3])
@pytest.mark.parametrize("slide", [0.0, 1.0, 3.0, 6.0])
def test_friction_adds_no_energy(slide, dt, engine):
    """Newton's restitution with Coulomb's friction alone would add up to 16 % to a sliding rod, with any dt."""
    robot = rod(1.0, 1.0, gravity=0.0)
    run = la.simulate(robot, tilted(0.6, 0.003), [0, 0, 0, slide, 0, -2.0], dt=dt, steps=8, integrator=engine)
    assert run.energy.max() <= (1.0 + 1e-12) * run.energy[0]


@ENGINES
def test_a_share_of_the_restitution_is_kept(engine):
    """A rod that would gain energy keeps it to the digit, and still bounces."""
    robot = rod(1.0, 1.0, gravity=0.0)
    run = la.simulate(robot, tilted(0.6, 0.003), [0, 0, 0, 3.0, 0, -2.0], dt=2e-3, steps=6, integrator=engine)
    assert abs(run.energy[-1] - run.energy[0]) < 1e-12 * run.energy[0]
    assert run.q[-1, 2] > run.q[-2, 2]


def height(t, start, e, g=9.81):
    """Of a ball that falls from `start` and bounces with a share e of its speed, at the times t."""
    out = []
    for left in t:
        flight, speed = math.sqrt(2.0 * start / g), math.sqrt(2.0 * start * g)
        if left < flight:
            out.append(start - 0.5 * g * left * left)
            continue
        left, speed = left - flight, e * speed
        while speed > 1e-3 and left > 2.0 * speed / g:
            left, speed = left - 2.0 * speed / g, e * speed
        out.append(speed * left - 0.5 * g * left * left if speed > 1e-3 else 0.0)
    return np.array(out)


@ENGINES
@pytest.mark.parametrize("dt", [0.01, 0.005, 0.0025])
@pytest.mark.parametrize(("e", "bound"), [(1.0, 2e-12), (0.5, 2e-5)])
def test_a_ball_follows_its_closed_form(e, bound, dt, engine):
    """Steps end at impacts, and constant forces are exact; what is left are the last, short bounces, which are plastic.

    With e = 1 `Maximal` keeps to 4e-15 m; momenta of `Minimal` have the round-off of positions over dt, 1.5e-12 m.
    With the velocities of the step before the error was 2.7e-2 m at any dt.
    """
    robot = balls(1, restitution=e, friction=0.3)
    run = la.simulate(robot, placed(robot, (0, 0, 1.1)), dt=dt, duration=2.0, integrator=engine)
    assert np.abs(run.q[:, 2] - 0.1 - height(run.t, 1.0, e)).max() < bound


@ENGINES
@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_newtons_cradle(gap, engine):
    """Balls that touch or nearly do: the last goes on with the speed of the first, the others rest."""
    robot = balls(5, gravity=0.0, ground=False, friction=0.3, restitution=1.0)
    q = placed(robot, (-0.05, 0, 0), *((0.2 * k + gap * (k - 1), 0, 0) for k in (1, 2, 3, 4)))
    v = np.zeros(robot.nv)
    v[3] = 1.0
    run = la.simulate(robot, q, v, dt=1e-3, steps=100, integrator=engine)
    assert np.abs(run.v[-1].reshape(5, 6)[:, 3] - [0, 0, 0, 0, 1]).max() < 1e-12


@pytest.mark.parametrize(
    ("engine", "seed", "before_bounces", "in_flight"),
    [(la.Maximal(), seed, 1e-8, 1e-8) for seed in range(3)] + [(la.Minimal(), seed, 1e-9, 1e-7) for seed in (0, 2, 4)],
)
def test_a_bouncing_run_goes_on_from_any_of_its_states(engine, seed, before_bounces, in_flight):
    """Impacts follow from positions and momenta alone, just before a bounce as anywhere. Steps of `Minimal` in flight
    are solved to 1e-10 rad or m, so that velocities are known to 1e-8, and bounces multiply that."""
    rng = np.random.default_rng(seed)
    b = MechanismBuilder("box")
    b.body("box", mass=1.0, shapes=Box((0.3, 0.2, 0.1), friction=0.4, restitution=0.8))
    b.free("box")
    b.add_shape("world", Plane())
    turn = rng.normal(size=4)
    q = [0, 0, 0.4, *(turn / np.linalg.norm(turn))]
    robot, v = b.build(), rng.normal(size=6)
    run = la.simulate(robot, q, v, dt=0.01, steps=120, integrator=engine)
    found = run.stored["substeps"][:, 0].any(axis=1) if "substeps" in run.stored else run.stored["divided"]
    bounces = np.flatnonzero(found)
    assert len(bounces) > 2
    for k in [20, *(bounces[bounces <= 60] - 1)]:
        again = la.simulate(robot, run.q[k], p=run.p[k], dt=0.01, steps=60, integrator=engine)
        assert np.abs(again.q[-1] - run.q[k + 60]).max() < (in_flight if k == 20 else before_bounces)


@ENGINES
@pytest.mark.parametrize("seed", range(8))
def test_kanes_double_pendulum_gains_nothing(seed, engine):
    """Kane and Levinson 1985: Newton's law with friction at the end of a double pendulum may add energy."""
    found = measured(scene("kane", seed), engine)
    assert not found["failure"]
    assert found["gains"].max() < 1e-3


@ENGINES
def test_minitaur_on_elastic_ground_gains_nothing(engine):
    """A robot with closed loops, whose impacts couple normals and sliding at four feet."""
    b = MechanismBuilder.from_mechanism(la.robots.minitaur(friction=0.5))
    b.add_shape("world", Plane(restitution=1.0))
    robot = b.build()
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2] = 0.32
    v[:6] = 0.5, -1.0, 0.3, 1.0, 0.5, -2.0
    run = la.simulate(robot, q, v, dt=0.005, steps=60, integrator=engine)
    assert len(run.stored["contacts"])
    assert (run.energy - run.energy[0]).max() < 0.01 * run.kinetic_energy.max()


@ENGINES
def test_a_plate_that_spins_fast_bounces_without_gain(engine):
    """A plate turns by 0.3 rad within a step, so velocities within steps are not those at an impact; with those in the
    work of the impulses, this one brought 3 % of the energy in."""
    b = MechanismBuilder("plate")
    b.body("plate", mass=0.5, shapes=Box((0.2, 0.2, 0.02), friction=0.86, restitution=1.0))
    b.free("plate")
    b.add_shape("world", Plane())
    quaternion = np.array([0.758, 0.579, -0.182, 0.238])
    q = [0.0, 0.0, 0.2, *(quaternion / np.linalg.norm(quaternion))]
    v = [59.96, -11.57, 25.39, 0.125, -0.557, -0.03]
    run = la.simulate(b.build(), q, v, dt=0.005, steps=18, integrator=engine)
    assert run.contact_force("plate", "world")[:, 2].max() > 100.0
    assert (run.energy - run.energy[0]).max() < 1e-5 * run.kinetic_energy.max()


@ENGINES
@pytest.mark.parametrize("stiffness", [1e4, 1e5])
def test_stiff_springs_gain_nothing_at_a_bounce(stiffness, engine):
    """Two balls on a spring that turns by 2.2 or 7.1 rad in a step: undivided, the impulse that turns the lower ball
    and the spring's inertia in such a step around made 1.2 and 2.0 J of 0.9."""
    b = MechanismBuilder("springs")
    b.body("lower", mass=0.1, shapes=Sphere(0.05, restitution=0.8))
    b.free("lower")
    b.body("upper", mass=0.1, inertia=1e-4)
    b.prismatic("spring", "lower", "upper", position=(0, 0, 0.3), stiffness=stiffness)
    b.add_shape("world", Plane())
    run = la.simulate(b.build(), [0, 0, 0.3, 1, 0, 0, 0, 0], dt=0.005, steps=100, integrator=engine)
    assert run.contact_force("lower", "world")[:, 2].max() > 1.0
    assert (run.energy - run.energy[0]).max() < 1e-3 * run.kinetic_energy.max()
