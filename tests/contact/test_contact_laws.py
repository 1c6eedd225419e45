"""The laws of contact in closed form, one suite for both engines: Signorini, Coulomb, Newton, limits, dry friction."""

import math
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Capsule, Cylinder, MechanismBuilder, Plane, Pose, Sphere
from tests.maximal.scenes import G, balls, cubes, placed

MU = 0.5
LYING = Pose((0, 0, 0), (math.sqrt(0.5), math.sqrt(0.5), 0, 0))
RADIUS, MASS = 0.1, 2.0
MOMENT = 0.4 * MASS * RADIUS**2


@pytest.fixture(params=["Maximal", "Minimal"])
def engine(request):
    return getattr(la, request.param)()


# ---------------------------------------------------------------------- gaps and forces


def test_a_tossed_cube_lands_and_its_weight_is_borne(engine):
    """No gap is negative, no contact pulls, what is open does not push; at rest the forces are the weight."""
    robot = cubes(mass=MASS)
    q = np.array([0, 0, 0.8, *np.array([0.9, 0.3, 0.2, 0.1]) / np.linalg.norm([0.9, 0.3, 0.2, 0.1])])
    run = la.simulate(robot, q, [1.0, 2.0, 0, 1.0, 0, 0], dt=0.005, duration=3.0, integrator=engine)
    step, normal, gap = run.stored["contacts"][:, [0, 8, 9]].T
    assert gap.min() > -1e-7
    assert normal.min() > -1e-9
    assert np.abs(normal[gap > 1e-3]).max(initial=0.0) < 1e-6
    assert normal[step == run.steps - 1].sum() == pytest.approx(MASS * G, rel=1e-6)
    assert np.abs(run.v[-1]).max() < 1e-6
    assert (run.energy <= run.energy[0] + 1e-9).all()


# ---------------------------------------------------------------------- Coulomb's cone


def on_slope(slope, engine, duration=1.0, dt=0.01):
    """How far a cube at rest on a slope goes down [m]."""
    robot = cubes(friction=MU, slope=slope)
    down, up = np.array([math.cos(slope), 0, -math.sin(slope)]), np.array([math.sin(slope), 0, math.cos(slope)])
    q = placed(robot, 0.25 * up, angle=slope)
    run = la.simulate(robot, q, dt=dt, duration=duration, integrator=engine)
    return (run.q[-1, :3] - q[:3]) @ down


@pytest.mark.parametrize(("part", "creep"), [(0.5, 2e-7), (0.9, 5e-6), (0.99, 1e-5)])
def test_a_cube_sticks_below_the_angle_of_friction(part, creep, engine):
    assert abs(on_slope(part * math.atan(MU), engine)) < creep


@pytest.mark.parametrize("part", [1.1, 1.5])
def test_a_cube_slides_above_the_angle_of_friction(part, engine):
    """With g (sin - mu cos), exactly but for the first step, in which it breaks away."""
    slope = part * math.atan(MU)
    rate = G * (math.sin(slope) - MU * math.cos(slope))
    assert on_slope(slope, engine) == pytest.approx(0.5 * rate, abs=5e-6)


@pytest.mark.parametrize("angle", [0.0, 0.2, math.pi / 8, 1.0])
def test_a_sliding_cube_stops_straight_ahead(angle, engine):
    """After v^2 / (2 mu g), in whichever direction: the cone is round."""
    robot, dt = cubes(friction=MU), 0.01
    v = np.array([0, 0, 0, 2.0 * math.cos(angle), 2.0 * math.sin(angle), 0])
    run = la.simulate(robot, placed(robot, (0, 0, 0.25)), v, dt=dt, duration=0.8, integrator=engine)
    x, y = run.q[-1, :2]
    assert math.atan2(y, x) == pytest.approx(angle, abs=1e-6)
    assert math.hypot(x, y) == pytest.approx(4.0 / (2 * MU * G), abs=2.0 * dt**2)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-5)
    assert np.diff(run.energy).max() < 1e-8


@pytest.mark.parametrize(
    "shape", [Sphere(0.2), Cylinder(0.2, 0.1, pose=LYING), Capsule(0.2, 0.1, pose=LYING)], ids=lambda s: s.kind
)
def test_a_wheel_starts_to_roll(shape, engine):
    """Pushed without spin it slides until v = v0 / (1 + I / m r^2), then rolls without slipping, for ever."""
    b = MechanismBuilder("wheel")
    b.body("wheel", mass=1.0, shapes=shape)
    b.free("wheel")
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    v = np.array([0, 0, 0, 1.0, 0, 0])
    run = la.simulate(robot, placed(robot, (0, 0, 0.2)), v, dt=0.01, duration=1.5, integrator=engine)
    moment = robot.bodies[0].inertia.moments[3]
    speed = np.gradient(run.q[:, 0], run.dt)[60:-1]
    np.testing.assert_allclose(speed, 1.0 / (1.0 + moment / 0.04), rtol=1e-3)
    np.testing.assert_allclose(run.v[60:-1, 1] * 0.2, speed, rtol=1e-3)
    np.testing.assert_allclose(run.q[:, 1], 0.0, atol=1e-6)


# ---------------------------------------------------------------------- friction against spinning and rolling


def ball(**surface):
    """A ball on a plane, and where it lies."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=MASS, shapes=Sphere(RADIUS, name="skin", **surface))
    b.free("ball")
    b.add_shape("world", Plane())
    return b.build(), [0, 0, RADIUS, 1, 0, 0, 0]


def test_a_spinning_ball_stops(engine):
    """The torque mu m g stops a ball at t = I w / (mu m g), at an even rate, and it stays at rest."""
    mu, speed, dt = 0.01, 4.0, 0.005
    stop = MOMENT * speed / (mu * MASS * G)
    run = la.simulate(*ball(friction=0.5, spinning=mu), [0, 0, speed, 0, 0, 0], dt=dt, duration=0.3, integrator=engine)
    w, before = run.v[:, 2], run.t < stop - 2 * dt
    np.testing.assert_allclose(w[before], speed * (1.0 - run.t[before] / stop), atol=speed * dt / stop)
    np.testing.assert_allclose(w[run.t > stop + 2 * dt], 0.0, atol=1e-6)
    np.testing.assert_allclose(run.q[:, 2], RADIUS, atol=1e-7)


def test_a_rolling_ball_slows_down(engine):
    """Rolling without slipping, by 5/7 mu g / r, until the ball stands."""
    mu, speed, dt = 0.003, 0.1, 0.005
    rate = 5.0 / 7.0 * mu * G / RADIUS
    v = [0, speed / RADIUS, 0, speed, 0, 0]
    run = la.simulate(*ball(friction=0.8, rolling=mu), v, dt=dt, duration=0.6, integrator=engine)
    stop = speed / rate
    travelled = np.where(run.t < stop, speed * run.t - 0.5 * rate * run.t**2, 0.5 * speed * stop)
    np.testing.assert_allclose(run.q[:, 0], travelled, atol=2 * speed * dt)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-6)
    assert np.diff(run.energy).max() < 1e-9


def test_nothing_turns_slower_without_the_coefficients(engine):
    run = la.simulate(*ball(friction=0.5), [0, 0, 4.0, 0, 0, 0], dt=0.005, duration=0.1, integrator=engine)
    np.testing.assert_allclose(run.v[:, 2], 4.0, rtol=1e-9)


# ---------------------------------------------------------------------- Newton's law of impact


@pytest.mark.parametrize("e", [0.3, 0.7, 1.0])
def test_a_ball_bounces_to_its_height(e, engine):
    """To e^2 of the height that it fell from; steps end at impacts."""
    robot = balls(1, restitution=e, friction=0.0)
    top = (1.0 + e) * math.sqrt(2.0 / G)  # time of the fall and of the way up [s]
    dt = top / 400
    run = la.simulate(robot, placed(robot, (0, 0, 1.1)), dt=dt, steps=400, integrator=engine)
    assert run.q[:, 2].min() > 0.1 - 1e-7
    assert run.q[-1, 2] - 0.1 == pytest.approx(e * e, abs=1e-4)
    assert (np.diff(run.energy) < 1e-9).all()


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("e", [0.0, 0.6])
def test_colliding_balls_keep_their_momentum(e, friction, engine):
    """Linear and angular momentum to round-off; along the line of centres the speed of separation is e times."""
    engine = replace(engine, tolerance=1e-14)  # [m]; what a step leaves of its equations, momenta are off by
    robot = balls(2, gravity=0.0, ground=False, friction=friction, restitution=e)
    v = np.array([0.0, 0.0, 3.0, 2.0, 0.0, 0.0, *[0.0] * 6])
    run = la.simulate(robot, placed(robot, (0, 0, 0), (0.5, 0.08, 0.02)), v, dt=0.01, steps=60, integrator=engine)
    np.testing.assert_allclose(run.momentum, np.broadcast_to(run.momentum[0], run.momentum.shape), atol=1e-12)
    apart = run.q[:, 7:10] - run.q[:, :3]
    assert np.linalg.norm(apart, axis=1).min() > 0.2 - 1e-7
    struck = run.stored["contacts"]
    k = int(struck[np.argmax(np.abs(struck[:, 6:9]).max(axis=1)), 0])
    n = apart[k] / np.linalg.norm(apart[k])
    before, after = (apart[k] - apart[k - 1]) @ n / 0.01, (apart[k + 2] - apart[k + 1]) @ n / 0.01
    assert before < -1.0
    assert after == pytest.approx(-e * before, abs=0.05 * abs(before))
    assert run.energy[-1] < run.energy[0]


# ---------------------------------------------------------------------- limits and dry friction of joints


def slider(**options):
    """A mass of 2 kg on a level rail."""
    b = MechanismBuilder("slider")
    b.body("mass", mass=2.0, inertia=0.01)
    b.prismatic("rail", "world", "mass", axis="x", **options)
    return b.build()


def test_a_limit_stops_and_takes_energy_only(engine):
    robot = slider(limits=(-0.1, 0.2))
    run = la.simulate(robot, [0.0], [1.0], dt=0.01, steps=60, integrator=engine)
    assert run.q.max() < 0.2 + 1e-7
    assert run.q[-1, 0] == pytest.approx(0.2, abs=1e-7)
    assert run.v[-1, 0] == pytest.approx(0.0, abs=1e-7)
    assert (np.diff(run.energy) < 1e-9).all()


@pytest.mark.parametrize("force", [0.0, 0.9, -0.99])
def test_dry_friction_holds(force, engine):
    run = la.simulate(slider(friction=1.0), [0.2], dt=0.01, duration=1.0, integrator=engine, controls=[force])
    np.testing.assert_allclose(run.q, 0.2, atol=1e-6)
    np.testing.assert_allclose(run.v, 0.0, atol=1e-6)


@pytest.mark.parametrize("force", [1.1, -3.0])
def test_dry_friction_slips(force, engine):
    """x = (|F| - friction) t^2 / 2 m."""
    errors = []
    for dt in (0.01, 0.005):
        run = la.simulate(slider(friction=1.0), [0.0], dt=dt, duration=1.0, integrator=engine, controls=[force])
        errors.append(abs(abs(run.q[-1, 0]) - (abs(force) - 1.0) / 4.0))
    assert errors[0] < 0.02 * abs(force)
    assert errors[1] < max(0.6 * errors[0], 1e-8)  # exact but for what the solver leaves


def test_dry_friction_stops(engine):
    """After m v / friction, at m v^2 / (2 friction)."""
    for dt in (0.01, 0.0025):
        run = la.simulate(slider(friction=1.0), [0.0], [1.0], dt=dt, duration=2.5, integrator=engine, controls=[0.0])
        assert run.q[-1, 0] == pytest.approx(1.0, abs=0.6 * dt)
        assert run.v[-1, 0] == pytest.approx(0.0, abs=1e-6)
        assert np.diff(run.energy).max() < 1e-9
