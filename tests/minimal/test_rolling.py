"""Rolling without slipping: velocity (nonholonomic) constraints of discs and balls on the plane z = 0."""

from functools import partial

import numpy as np
import pytest

import leastaction as la

G = 9.81
METHODS = {"midpoint": la.Midpoint} | {order: partial(la.Galerkin, order, interpolation="joints") for order in (2, 4)}


def ball(radius=0.2, mass=2.0, slope=0.3):
    b = la.MechanismBuilder("ball", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    b.body("ball", mass=mass, inertia=0.4 * mass * radius**2)
    b.free("ball")
    b.rolling("contact", "ball", radius)
    return b.build()


def disc(radius=0.5, mass=1.0):
    b = la.MechanismBuilder("disc")
    b.body("disc", mass=mass, inertia=np.array([0.25, 0.5, 0.25]) * mass * radius**2)
    b.free("disc")
    b.rolling("contact", "disc", radius, axis="y")
    return b.build()


def tilted(robot, angle=0.2, radius=0.5):
    q = robot.neutral()
    q[2] = radius * np.cos(angle)
    q[3:] = [np.cos(angle / 2), np.sin(angle / 2), 0, 0]
    return q


@pytest.mark.parametrize("order", METHODS)
def test_ball_rolls_down_a_slope_as_in_the_closed_form(order):
    """Acceleration g sin(slope) / (1 + 2/5): exact for a constant acceleration, at every order."""
    robot = ball()
    q = robot.neutral()
    q[2] = 0.2
    run = la.simulate(robot, q=q, dt=0.01, duration=1.0, integrator=METHODS[order]())
    np.testing.assert_allclose(run.q[-1, 0], 0.5 * G * np.sin(0.3) / 1.4, rtol=1e-10)
    assert run.constraint_violation.max() < 1e-12
    speed = np.linalg.norm(run.v[:, 3:], axis=1)
    np.testing.assert_allclose(0.2 * run.v[:, 1], speed, atol=1e-10)  # no slip
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9  # rolling friction does no work


@pytest.mark.parametrize("order", ["midpoint", 2])
def test_tilted_disc_converges_at_order_two_and_keeps_its_energy(order):
    robot = disc()
    q, v = tilted(robot), [0, 6, 1.5, 0, 0, 0]
    fine = la.simulate(robot, q=q, v=v, dt=0.00125, duration=0.5, integrator=METHODS[4](), project=True)
    errors, energies = [], []
    for dt in (0.01, 0.005, 0.0025):
        run = la.simulate(robot, q=q, v=v, dt=dt, duration=0.5, integrator=METHODS[order](), project=True)
        errors.append(np.abs(robot.difference(fine.q[-1], run.q[-1])).max())
        energies.append(np.abs(run.energy - run.energy[0]).max())
        assert run.constraint_violation.max() < 1e-12
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(slopes - 2.0) < 0.25).all(), slopes
    assert energies[-1] < 0.3 * energies[-2]


def test_the_contact_point_of_the_disc_stands_still():
    robot = disc()
    run = la.simulate(
        robot, q=tilted(robot), v=[0, 6, 1.5, 0, 0, 0], dt=0.005, steps=50, integrator=METHODS[2](), project=True
    )
    _, A = la.dynamics.loop_jacobian(robot, run.q[-1])
    assert np.abs(A @ run.v[-1]).max() < 1e-10


def test_methods_that_cannot_roll_refuse():
    robot = disc()
    with pytest.raises(la.IntegratorError, match="contact"):
        la.simulate(robot, q=tilted(robot), dt=0.01, steps=1, integrator=la.RungeKutta())
    with pytest.raises(la.MechanismError, match="contact"):
        la.simulate(robot, q=robot.neutral(), dt=0.01, steps=1)


@pytest.mark.parametrize("order", METHODS)
@pytest.mark.parametrize("build", [ball, disc])
def test_linearization_against_central_differences(build, order):
    """Along curves of states that touch the ground and roll; torques in all directions."""
    robot = build()
    integrator = METHODS[order](tolerance=1e-14)
    options = {"dt": 0.02, "integrator": integrator, "project": True}
    q = tilted(robot) if build is disc else robot.neutral() + [0, 0, 0.2, 0, 0, 0, 0]
    run = la.simulate(robot, q, [0.5, 6, 1.5, 0, 0, 0], steps=3, **options)
    q, p = run.q[-1], run.p[-1]
    rng = np.random.default_rng(1)
    u = rng.normal(size=robot.nu)

    def step(q, p, u):
        end = la.simulate(robot, q, p=p, steps=1, controls=u, **options)
        return end.q[-1], end.p[-1]

    q1, p1 = step(q, p, u)
    A, B = la.linearize(robot, integrator, q, p, u, dt=0.02)
    for _ in range(3):
        dq, dp = rng.normal(size=(2, robot.nv))

        def both(h, dq=dq, dp=dp):
            x = la.dynamics.close_loops(robot, robot.integrate(q, h * dq), tolerance=1e-14)
            y = la.simulate(robot, x, p=p + h * dp, steps=0, **options).p[0]
            x1, y1 = step(x, y, u)
            return np.concatenate([robot.difference(q, x), y - p, robot.difference(q1, x1), y1 - p1])

        h = 1e-4
        slope = (8 * (both(h) - both(-h)) - (both(2 * h) - both(-2 * h))) / (12 * h)
        before, after = np.split(slope, 2)
        np.testing.assert_allclose(A @ before, after, atol=1e-6 * np.abs(after).max())
    for k, e in enumerate(np.eye(robot.nu)):
        (qa, pa), (qb, pb) = step(q, p, u + 1e-2 * e), step(q, p, u - 1e-2 * e)
        change = np.concatenate([robot.difference(qb, qa), pa - pb]) / 2e-2
        np.testing.assert_allclose(B[:, k], change, atol=1e-6)
