"""Dynamics does not depend on where a robot is: far from the world's origin it loses no digits beside those of q."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics.legendre import momentum_of_velocity, velocity_of_momentum
from leastaction.mechanism import Mechanism, MechanismBuilder

STEPS = 20


def thrown_arm() -> Mechanism:
    """A free body with a ball and a hinge; the last link is light."""
    b = MechanismBuilder("thrown arm")
    for i, mass in enumerate((2.0, 0.5, 0.02)):
        b.body(f"b{i}", mass=mass, com=(0.1, 0.02 * i, 0.0), inertia=tuple(mass * np.array([1e-3, 4e-3, 4e-3])))
    b.free("b0")
    b.spherical("ball", "b0", "b1", position=(0.2, 0.0, 0.0))
    b.revolute("hinge", "b1", "b2", axis="y", position=(0.2, 0.0, 0.0))
    return b.build()


def states(robot: Mechanism, far: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q near the origin, q far away, v); how far, in two directions, is a multiple of any grid."""
    rng = np.random.default_rng(3)
    q = robot.integrate(robot.neutral(), rng.uniform(-0.7, 0.7, robot.nv))
    q[:3] = np.round(q[:3] * 1024) / 1024  # so that moving it is exact
    there = q.copy()
    there[:2] += far, -far
    return q, there, 3.0 * rng.normal(size=robot.nv)


@pytest.mark.parametrize("far", [1024.0, 2.0**20])
def test_classical_dynamics_is_the_same_far_away(far):
    """1 km away, accelerations were wrong by 1e-6, and 1000 km away altogether."""
    robot = thrown_arm()
    q, there, v = states(robot, far)
    dynamics = la.dynamics
    for name, tell in {
        "mass matrix": lambda q: dynamics.mass_matrix(robot, q),
        "forward": lambda q: dynamics.forward_dynamics(robot, q, v),
        "inverse": lambda q: dynamics.inverse_dynamics(robot, q, v, v),
        "derivatives": lambda q: np.hstack(dynamics.forward_dynamics_derivatives(robot, q, v)),
        "kinetic energy": lambda q: np.array([dynamics.kinetic_energy(robot, q, v)]),
        "centroidal momentum": lambda q: dynamics.centroidal_momentum(robot, q, v),
        "momenta": lambda q: momentum_of_velocity(robot, q[None], v[None]),
        "velocities": lambda q: velocity_of_momentum(robot, q[None], v[None]),
    }.items():
        here = tell(q)
        assert np.abs(tell(there) - here).max() <= 1e-12 * np.abs(here).max(), name


def test_energy_and_momentum_stay_those_of_the_place():
    """Gravity's potential and the momentum about the origin depend on where the robot is."""
    robot = thrown_arm()
    q, there, v = states(robot, 4096.0)
    there[2] += 4096.0
    mass = sum(body.inertia.mass for body in robot.bodies)
    raised = la.dynamics.potential_energy(robot, there) - la.dynamics.potential_energy(robot, q)
    assert raised == pytest.approx(mass * 9.81 * 4096.0, rel=1e-12)
    here, moved = la.dynamics.momentum(robot, q, v), la.dynamics.momentum(robot, there, v)
    assert moved[3:] == pytest.approx(here[3:], rel=1e-9)
    assert moved[:3] - here[:3] == pytest.approx(np.cross(there[:3] - q[:3], here[3:]), rel=1e-9)
