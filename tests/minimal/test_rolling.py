"""Rolling without slipping: velocity (nonholonomic) constraints of discs and balls on the plane z = 0."""

import numpy as np
import pytest

import leastaction as la

G = 9.81


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


@pytest.mark.parametrize("order", [2, 4])
def test_ball_rolls_down_a_slope_as_in_the_closed_form(order):
    """Acceleration g sin(slope) / (1 + 2/5): exact for a constant acceleration, at every order."""
    robot = ball()
    q = robot.neutral()
    q[2] = 0.2
    run = la.simulate(robot, q=q, dt=0.01, duration=1.0, integrator=la.Galerkin(order=order))
    np.testing.assert_allclose(run.q[-1, 0], 0.5 * G * np.sin(0.3) / 1.4, rtol=1e-10)
    assert run.constraint_violation.max() < 1e-12
    speed = np.linalg.norm(run.v[:, 3:], axis=1)
    np.testing.assert_allclose(0.2 * run.v[:, 1], speed, atol=1e-10)  # no slip
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9  # rolling friction does no work


def test_tilted_disc_converges_at_order_two_and_keeps_its_energy():
    robot = disc()
    q, v = tilted(robot), [0, 6, 1.5, 0, 0, 0]
    fine = la.simulate(robot, q=q, v=v, dt=0.00125, duration=0.5, integrator=la.Galerkin(order=4), project=True)
    errors, energies = [], []
    for dt in (0.01, 0.005, 0.0025):
        run = la.simulate(robot, q=q, v=v, dt=dt, duration=0.5, integrator=la.Galerkin(order=2), project=True)
        errors.append(np.abs(robot.difference(fine.q[-1], run.q[-1])).max())
        energies.append(np.abs(run.energy - run.energy[0]).max())
        assert run.constraint_violation.max() < 1e-12
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(slopes - 2.0) < 0.25).all(), slopes
    assert energies[-1] < 0.3 * energies[-2]


def test_the_contact_point_of_the_disc_stands_still():
    robot = disc()
    run = la.simulate(
        robot, q=tilted(robot), v=[0, 6, 1.5, 0, 0, 0], dt=0.005, steps=50, integrator=la.Galerkin(), project=True
    )
    _, A = la.dynamics.loop_jacobian(robot, run.q[-1])
    assert np.abs(A @ run.v[-1]).max() < 1e-10


def test_methods_that_cannot_roll_refuse():
    robot = disc()
    with pytest.raises(la.IntegratorError, match="contact"):
        la.simulate(robot, q=tilted(robot), dt=0.01, steps=1, integrator=la.RungeKutta())
    with pytest.raises(la.IntegratorError, match="contact"):
        la.linearize(robot, la.Galerkin(), tilted(robot), np.zeros(6), dt=0.01)
    with pytest.raises(la.MechanismError, match="contact"):
        la.simulate(robot, dt=0.01, steps=1)
