"""`on_ground`: the lowest point of a robot at z = 0."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.mechanism import Box, Capsule, Cylinder, Mesh, Plane, Pose, Sphere

TURNED = Pose((0.1, -0.2, 0.3), tuple(np.array([0.5, 0.1, -0.7, 0.3]) / np.sqrt(0.84)))
TETRAHEDRON = Mesh(np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.4]]), np.array([[0, 1, 2], [0, 1, 3]]), "t")


@pytest.mark.parametrize(
    "shape",
    [
        Box((0.1, 0.2, 0.3), pose=TURNED),
        Sphere(0.1, pose=TURNED),
        Capsule(0.1, 0.3, pose=TURNED),
        Cylinder(0.1, 0.3, pose=TURNED),
        TETRAHEDRON,
    ],
    ids=lambda shape: shape.kind,
)
def test_the_first_contact_of_a_fall_is_where_it_says(shape):
    """Dropped from a hair's breadth above, a body touches within the first step, not before."""
    b = la.MechanismBuilder("body")
    b.body("body", mass=1.0, inertia=0.1, shapes=shape)
    b.free("body")
    b.add_shape("world", Plane())
    robot = b.build()
    q = la.robots.on_ground(robot, robot.normalize([1.0, 2.0, 3.0, 0.7, 0.2, -0.3, 0.5]), clearance=1e-5)
    assert q[:2].tolist() == [1.0, 2.0]
    run = la.simulate(robot, q, dt=0.001, steps=4, integrator=la.Maximal())
    fallen = run.q[0, 2] - run.q[1:, 2]
    np.testing.assert_allclose(fallen[0], 0.5 * 9.81e-6, rtol=1e-3)  # still falling freely, a hair above
    assert np.linalg.norm(run.contact_force("body"), axis=1).max() > 1.0  # but soon it lands


def test_legged_robots_stand_as_their_homes_say():
    robot = la.robots.unitree_a1()
    home = la.robots.home(robot)
    lifted = home.copy()
    lifted[2] += 0.7
    np.testing.assert_allclose(la.robots.on_ground(robot, lifted), la.robots.on_ground(robot, home), atol=1e-12)
    np.testing.assert_allclose(la.robots.on_ground(robot, home), home, atol=1e-6)


def test_what_cannot_be_lifted_is_refused():
    with pytest.raises(MechanismError, match="tied to the world"):
        la.robots.on_ground(la.robots.pendulum())
    with pytest.raises(MechanismError, match="no contact points, no shapes"):
        la.robots.on_ground(la.robots.free_body())
