"""Static and kinetic friction: what sticks is held by one coefficient, what slides is braked by the other."""

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_urdf, save_mjcf, save_urdf
from leastaction.mechanism import Box, Plane, Sphere

G, STATIC, KINETIC, DT = 9.81, 0.6, 0.3, 0.01
ENGINES = {"maximal": la.Maximal(), "minimal": la.Minimal()}
FRICTION = {"friction": KINETIC, "static_friction": STATIC}


@pytest.fixture(params=ENGINES)
def integrator(request):
    return ENGINES[request.param]


def block(slope=0.0, **surface):
    """A block on the ground, where gravity is tilted by an angle of slope towards x."""
    b = la.MechanismBuilder("block", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    b.add_shape("world", Plane())
    b.body("block", shapes=[Box((0.4, 0.4, 0.2), **(surface or FRICTION))], density=100.0)
    b.free("block")
    return b.build()


def start(robot, speed=0.0):
    q, v = robot.neutral(), np.zeros(6)
    q[2], v[3] = 0.1, speed
    return q, v


def simulate(robot, speed, steps, integrator, dt=DT, **options):
    q, v = start(robot, speed)
    return la.simulate(robot, q, v, dt=dt, steps=steps, integrator=integrator, **options)


BETWEEN = np.arctan(0.45)
"""A slope between the angles of both frictions."""


def test_on_a_slope_between_both_angles_a_block_stays_at_rest(integrator):
    run = simulate(block(BETWEEN), 0.0, 100, integrator)
    assert np.abs(run.q[-1, :3] - run.q[0, :3]).max() < 1e-6


@pytest.mark.parametrize("speed", [0.01, 0.5])
def test_on_a_slope_between_both_angles_a_block_that_is_pushed_goes_on(integrator, speed):
    """By x = v t + a t^2 / 2, a = g (sin - mu_k cos)."""
    run = simulate(block(BETWEEN), speed, 50, integrator)
    a, t = G * (np.sin(BETWEEN) - KINETIC * np.cos(BETWEEN)), run.t
    np.testing.assert_allclose(run.q[:, 0], speed * t + 0.5 * a * t**2, atol=2e-6)


def test_stopping_distance_is_that_of_kinetic_friction(integrator):
    """v^2 / (2 mu_k g); then it sticks."""
    run = simulate(block(), 1.0, 60, integrator)
    assert run.q[-1, 0] == pytest.approx(1.0 / (2.0 * KINETIC * G), abs=KINETIC * G * DT**2)
    assert np.abs(run.v[-1]).max() < 1e-6
    assert np.diff(run.energy).max() < 1e-9 * run.kinetic_energy[0]


@pytest.mark.parametrize("pull", [0.95, 1.05])
def test_it_takes_the_static_friction_to_start(integrator, pull):
    """A slope just below, or above, the angle of static friction: then it slides against the kinetic one."""
    slope = np.arctan(pull * STATIC)
    run = simulate(block(slope), 0.0, 60, integrator)
    if pull < 1.0:
        assert np.abs(run.q[-1, 0]) < 1e-5
    else:
        a = np.diff(run.v[10:, 3]) / DT
        np.testing.assert_allclose(a, G * (np.sin(slope) - KINETIC * np.cos(slope)), rtol=1e-5)


def test_equal_coefficients_are_one(integrator):
    """A static friction that is the kinetic one changes nothing."""
    plain, both = block(friction=0.4), block(friction=0.4, static_friction=0.4)
    one, two = (simulate(robot, 1.0, 40, integrator) for robot in (plain, both))
    assert (one.q == two.q).all()


def test_restarts_go_on_as_before(integrator):
    """Which friction holds is a matter of the state alone: sliding, at the stop, at rest."""
    robot = block(np.arctan(0.2))  # slides, and comes to rest
    run = simulate(robot, 0.5, 80, integrator)
    assert 0.1 < (np.abs(run.v[:, 3]) < 1e-6).mean() < 0.9
    for k in range(1, 80, 6):
        rest = la.simulate(robot, run.q[k], p=run.p[k], dt=DT, steps=80 - k, integrator=integrator)
        np.testing.assert_allclose(rest.q, run.q[k:], atol=1e-8)


def test_two_bodies_and_shapes_that_leave_it_to_each_other(integrator):
    """A block on a table that slides; of two frictions the larger counts, wherever it is said."""
    b = la.MechanismBuilder("table")
    b.add_shape("world", Plane(friction=0.0))
    b.body("table", shapes=[Box((2.0, 1.0, 0.2), static_friction=STATIC)], density=100.0)
    b.free("table")
    b.body("block", shapes=[Box((0.2, 0.2, 0.2), friction=KINETIC)], density=100.0)
    b.free("block")
    b.contact_pair("world", "table", friction=0.0, static_friction=0.0)
    b.exclude_contact("block", "world")
    robot = b.build()
    q, v = robot.neutral(), np.zeros(12)
    q[2], q[9], v[9] = 0.1, 0.3, 0.5
    run = la.simulate(robot, q, v, dt=DT, steps=8, integrator=integrator)
    braking = -np.diff(run.v[:, 9])[1:] / DT
    np.testing.assert_allclose(braking, KINETIC * G, rtol=1e-4)


def test_gradients_by_state_and_both_coefficients(integrator):
    """x = x0 + v t - mu_k g t^2 / 2 while it slides: the static coefficient has no part in it."""
    robot, steps = block(), 12
    t = steps * DT

    def objective(run):
        dq = np.zeros((steps + 1, 6))
        dq[-1, 3] = 1.0
        return float(run.q[-1, 0]), dq, np.zeros((steps + 1, 6))

    q, v = start(robot, 1.0)
    names = ["v", "friction:block/0", "static_friction:block/0"]
    value, found = la.adjoint(robot, integrator, objective, names, q=q, v=v, dt=DT, steps=steps)
    assert value == pytest.approx(t - 0.5 * KINETIC * G * t**2, abs=1e-6)
    assert found["v"][3] == pytest.approx(t, rel=1e-6)
    assert float(found["friction:block/0"]) == pytest.approx(-0.5 * G * t**2, rel=1e-4)
    assert abs(float(found["static_friction:block/0"])) < 1e-12


def test_gradient_by_the_static_coefficient_of_a_block_that_breaks_away(integrator):
    """Its first step is braked by the static friction: x changes by -h g cos dt / 2 and what it has lost in speed."""
    slope = np.arctan(1.2 * STATIC)
    steps = 10

    def objective(run):
        dq = np.zeros((steps + 1, 6))
        dq[-1, 3] = 1.0
        return float(run.q[-1, 0]), dq, np.zeros((steps + 1, 6))

    robot = block(slope)
    q, v = start(robot)
    name = "static_friction:block/0"
    found = la.adjoint(robot, integrator, objective, [name], q=q, v=v, dt=DT, steps=steps)[1]

    def value(mu):
        other = block(slope, friction=KINETIC, static_friction=mu)
        return simulate(other, 0.0, steps, integrator).q[-1, 0]

    expected = (value(STATIC + 1e-4) - value(STATIC - 1e-4)) / 2e-4
    assert expected < -1e-3
    assert float(found[name]) == pytest.approx(expected, rel=1e-4)


def test_what_is_refused():
    with pytest.raises(la.MechanismError, match="static_friction must not be below friction"):
        Box((1, 1, 1), friction=0.5, static_friction=0.4)
    with pytest.raises(la.MechanismError, match="static_friction"):
        Sphere(1.0, static_friction=-0.1)
    b = la.MechanismBuilder("points")
    b.body("ball", mass=1.0, inertia=0.1)
    with pytest.raises(la.MechanismError, match="contact point 'foot': static_friction must not be below"):
        b.contact("foot", "ball", friction=0.5, static_friction=0.1)
    with pytest.raises(la.MechanismError, match="static_friction must not be below"):
        b.contact_pair("ball", "world", friction=0.5, static_friction=0.1)
    with pytest.raises(la.IntegratorError, match="static friction"):
        la.simulate(block(), steps=1, dt=DT, integrator=la.Galerkin())


def test_files_keep_it_or_say_that_they_cannot(tmp_path):
    robot = block()
    save_urdf(robot, tmp_path / "block.urdf", lossy=True)
    again = load_urdf(tmp_path / "block.urdf")
    shapes = [shape for body in again.bodies for shape in body.shapes if shape.static_friction is not None]
    assert [(shape.friction, shape.static_friction) for shape in shapes] == [(KINETIC, STATIC)]
    with pytest.raises(la.FormatError, match="static and kinetic friction"):
        save_mjcf(robot, tmp_path / "block.xml")
    run = simulate(robot, 0.5, 3, la.Minimal())
    run.save(tmp_path / "run.npz")
    kept = la.Trajectory.load(tmp_path / "run.npz").mechanism
    assert kept.bodies[0].shapes == robot.bodies[0].shapes
