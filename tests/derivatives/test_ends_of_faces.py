"""Derivatives beside where faces and edges end, at which normals of contacts have kinks."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import parameter_jacobian, with_parameters
from leastaction.mechanism import Box, Sphere


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Minimal()])
def test_a_ball_that_rolls_where_a_face_ends(integrator):
    """Its normal has a kink there, a few micrometres beside where it touches: differences must not reach across."""
    b = la.MechanismBuilder("edge")
    b.add_shape("world", Box((0.1, 0.4, 0.1), friction=0.5))
    b.body("ball", mass=1.0, com=(0.0, 0.001, 0.0), inertia=(1e-3, 1e-3, 1e-3), shapes=Sphere(0.05, friction=0.4))
    b.free("ball")
    robot = b.build()
    n, q, dt = robot.nv, np.array([0.05 + 3e-6, 0.0, 0.1, 1, 0, 0, 0]), 0.005
    p = la.dynamics.mass_matrix(robot, q) @ np.array([-6.0, 0.0, 0.0, 0.0, 0.3, 0.0])

    def end(p, mechanism=robot):
        return la.simulate(mechanism, q, p=p, dt=dt, steps=1, integrator=integrator).p[1]

    A, _ = la.linearize(robot, integrator, q, p, dt=dt)
    h = 1e-5
    central = np.array([end(p + h * e) - end(p - h * e) for e in np.eye(n)]).T / (2.0 * h)
    assert np.abs(A[n:, n:] - central).max() < 2e-8
    name, h = "position:ball/0", 1e-7
    found = parameter_jacobian(robot, integrator, q, p, dt=dt, parameters=[name])[name]
    moved = [[with_parameters(robot, {name: s * h * e}) for s in (1.0, -1.0)] for e in np.eye(3)]
    central = np.array([end(p, one) - end(p, two) for one, two in moved]).T / (2.0 * h)
    assert np.abs(found[n:] - central).max() < 1e-6 * np.abs(central).max()
