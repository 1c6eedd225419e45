"""Compliance of surfaces in m/N: a contact that is a spring, and rigid in the limit."""

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_urdf, save_mjcf, save_urdf
from leastaction.mechanism import Box, Plane, Sphere

G, DT, MASS, SOFT = 9.81, 0.01, 10.0, 1e-5


def thing(shape, ground=None, **options):
    b = la.MechanismBuilder("thing", **options)
    b.add_shape("world", ground or Plane())
    b.body("thing", mass=MASS, shapes=[shape])
    b.free("thing")
    return b.build()


def ball(compliance=SOFT, **options):
    return thing(Sphere(0.1, compliance=compliance), **options)


def start(robot, height, v=(0.0, 0.0, 0.0)):
    q = robot.neutral()
    q[2] = height
    return q, np.array([0.0, 0.0, 0.0, *v])


def simulate(robot, height, v=(0.0, 0.0, 0.0), dt=DT, steps=200, integrator=None):
    q, v = start(robot, height, v)
    return la.simulate(robot, q, v, dt=dt, steps=steps, integrator=integrator or la.Maximal())


@pytest.mark.parametrize("dt", [0.01, 0.002])
def test_a_ball_sinks_in_by_its_weight_times_the_compliance(dt):
    """At rest, whatever the step: without a velocity."""
    run = simulate(ball(), 0.1, dt=dt, steps=int(2.0 / dt))
    assert 0.1 - run.q[-1, 2] == pytest.approx(SOFT * MASS * G, rel=1e-6)
    assert np.abs(run.v[-1]).max() < 1e-9


def test_surfaces_in_series_and_contacts_in_parallel():
    """The compliances of two surfaces add up, and four corners share a load."""
    soft_ground = thing(Sphere(0.1, compliance=SOFT), Plane(compliance=3.0 * SOFT))
    run = simulate(soft_ground, 0.1)
    assert 0.1 - run.q[-1, 2] == pytest.approx(4.0 * SOFT * MASS * G, rel=1e-6)
    run = simulate(thing(Box((0.4, 0.4, 0.2), compliance=SOFT)), 0.1)
    assert 0.1 - run.q[-1, 2] == pytest.approx(0.25 * SOFT * MASS * G, rel=1e-6)


def rebound(dt, compliance=1e-4):
    """Speed after a bounce, by that before it, without gravity; the spring has the frequency 1 / sqrt(C m)."""
    run = simulate(ball(compliance, gravity=(0, 0, 0)), 0.101, (0.0, 0.0, -1.0), dt=dt, steps=round(0.12 / dt))
    total = run.kinetic_energy + 0.5 * np.minimum(run.q[:, 2] - 0.1, 0.0) ** 2 / compliance
    assert np.diff(total).max() < 1e-3 * total[0]
    assert run.q[:, 2].min() < 0.1 - 0.8 * np.sqrt(compliance * MASS)  # it gives way
    return run.v[-1, 5]


def test_a_bounce_loses_energy_in_proportion_to_the_step():
    """First order: the loss halves with dt, and a fine step gives the ball its speed back."""
    losses = np.array([1.0 - rebound(dt) for dt in (4e-4, 2e-4, 1e-4)])
    assert (losses > 0.0).all()
    assert losses[-1] < 0.01
    np.testing.assert_allclose(losses[:-1] / losses[1:], 2.0, rtol=0.1)


def test_the_rigid_limit():
    """With less and less compliance the motion is that of rigid contact."""

    def place(compliance):
        robot = thing(Box((0.4, 0.4, 0.2), friction=0.3, compliance=compliance))
        return simulate(robot, 0.15, (1.0, 0.0, 0.0), steps=40).q[-1, :3]

    rigid = place(None)
    errors = [np.abs(place(c) - rigid).max() for c in (1e-8, 1e-10)]
    assert errors[0] < 1e-4
    assert errors[1] < 1e-6


def test_stiff_servos_do_not_divide_steps():
    run = simulate(ball(1e-7), 0.3, steps=100)
    assert run.iterations.max() < 60
    assert 0.1 - run.q[-1, 2] == pytest.approx(1e-7 * MASS * G, rel=1e-3)


def test_restarts_go_on_as_before():
    robot = ball()
    run = simulate(robot, 0.13, (0.3, 0.0, 0.0), steps=60)
    assert run.q[:, 2].min() < 0.1 - SOFT * MASS * G  # in the impact, and at rest
    for k in range(1, 60, 5):
        rest = la.simulate(robot, run.q[k], p=run.p[k], dt=DT, steps=60 - k, integrator=la.Maximal())
        np.testing.assert_allclose(rest.q, run.q[k:], atol=1e-8)


@pytest.mark.parametrize("shape", [Sphere(0.1, compliance=1e-4), Box((0.2, 0.2, 0.2), compliance=1e-4, friction=0.4)])
def test_gradients_through_a_soft_landing(shape):
    robot, steps = thing(shape), 30
    q, v = start(robot, 0.12, (0.4, 0.0, -0.5))
    weights = np.random.default_rng(0).normal(size=(steps + 1, 6))

    def objective(run):
        return float((weights * run.v).sum()), np.zeros((steps + 1, 6)), weights

    def value(s):
        return objective(la.simulate(robot, q, v + s * direction, dt=DT, steps=steps, integrator=la.Maximal()))[0]

    direction = np.array([0.0, 0.0, 0.0, 1.0, 0.5, -0.8])
    found = la.adjoint(robot, la.Maximal(), objective, ["v"], q=q, v=v, dt=DT, steps=steps)[1]["v"] @ direction
    e = 1e-5
    expected = (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * e)
    assert found == pytest.approx(expected, rel=1e-4)


def test_what_is_refused_and_what_files_keep(tmp_path):
    with pytest.raises(la.MechanismError, match="compliance"):
        Sphere(1.0, compliance=-1.0)
    for integrator in (la.Minimal(), la.Galerkin()):
        with pytest.raises(la.IntegratorError, match="compliance of contact"):
            simulate(ball(), 0.1, steps=1, integrator=integrator)
    save_urdf(ball(), tmp_path / "ball.urdf", lossy=True)
    shapes = [shape for body in load_urdf(tmp_path / "ball.urdf").bodies for shape in body.shapes]
    assert SOFT in [shape.compliance for shape in shapes]
    with pytest.raises(la.FormatError, match="compliance of a surface"):
        save_mjcf(ball(), tmp_path / "ball.xml")
