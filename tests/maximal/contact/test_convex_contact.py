"""Cylinders, ellipsoids and hulls of meshes on each other: they do not sink in, add no energy, and can be derived."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, MechanismBuilder, Mesh, Plane, Sphere
from tests.derivatives.checks import assert_gradient, assert_linearized
from tests.maximal.scenes import G, gaps, placed

STONE = Mesh(np.random.default_rng(1).normal(scale=0.1, size=(20, 3)))
SHAPES = [Cylinder(0.1, 0.2), STONE, Ellipsoid((0.1, 0.15, 0.2)), Box((0.2, 0.2, 0.2)), Capsule(0.08, 0.2), Sphere(0.1)]


def things(*shapes, ground=None, friction=0.5):
    """Free bodies of 1 kg over a plane, or a drum of 0.3 m radius and 0.2 m height that stands on it."""
    b = MechanismBuilder("things")
    for i, shape in enumerate(shapes):
        b.body(f"b{i}", mass=1.0, shapes=shape)
        b.free(f"b{i}")
    b.add_shape("world", Plane(friction=friction))
    if ground is not None:
        b.add_shape("world", ground)
    return b.build()


DRUM = Cylinder(0.3, 0.2, pose=(0, 0, 0.1))


def test_a_pile_of_everything_on_a_drum():
    """Ten bodies of six kinds fall on each other: gaps stay above -1e-6 m, and the energy never exceeds the start."""
    robot, random = things(*(SHAPES + SHAPES[:4]), ground=DRUM), np.random.default_rng(0)
    q = []
    for i in range(10):
        turn = random.normal(size=4)
        q += [*(0.05 * random.normal(size=2)), 0.5 + 0.4 * i, *(turn / np.linalg.norm(turn))]
    run = la.simulate(robot, q, dt=0.005, duration=1.0, integrator=la.Maximal())
    contacts = run.stored["contacts"]
    assert len({(int(a), int(b)) for a, b in contacts[:, 1:3]}) >= 8
    assert contacts[:, 9].min() > -1e-6
    assert (run.energy - run.energy[0]).max() < 1e-3 * run.kinetic_energy.max()


def test_a_tower_stands():
    """A cylinder on the drum, a hull with a flat bottom on it, a log across the top: all at rest, weights add up."""
    wedge = Mesh([[x, y, 0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)] + [[x, 0, 0.1] for x in (-0.1, 0.1)])
    # What is above the ridge of the wedge lies on it and on the other end of the log's own ridge.
    plate = Mesh([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 0.1)])
    robot = things(Cylinder(0.15, 0.2), plate, Cylinder(0.05, 0.5), wedge, ground=DRUM)
    lying = [np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0]
    upright = [1, 0, 0, 0]
    places = ((0.02, 0.0, 0.3, *upright), (0, 0, 0.4, *upright), (0, 0, 0.55, *lying), (0, 1.0, 0.0, *upright))
    q = np.concatenate(places)
    run = la.simulate(robot, q, dt=0.01, duration=0.5, integrator=la.Maximal())
    assert np.abs(robot.difference(run.q[0], run.q[-1])).max() < 1e-5
    assert gaps(run).min() > -1e-9
    for above, below, weight in (("b2", "b1", 1.0), ("b1", "b0", 2.0), ("b0", "world", 3.0)):
        np.testing.assert_allclose(run.contact_force(above, below)[-1], (0, 0, weight * G), atol=1e-4)


def test_a_ball_rolls_down_a_cylinder_until_it_leaves_it():
    """A frictionless ball leaves a fixed cylinder where cos(angle) = 2/3, at the height that energy tells."""
    lying = la.mechanism.Pose.from_axis_angle("x", np.pi / 2)
    log = Cylinder(0.3, 1.0, pose=la.mechanism.Pose((0, 0, 1.0), lying.quaternion), friction=0.0)
    robot = things(Ellipsoid((0.1, 0.1, 0.1), friction=0.0), ground=log, friction=0.0)
    start = np.array([0.4 * np.sin(0.1), 0, 1 + 0.4 * np.cos(0.1), 1, 0, 0, 0])
    run = la.simulate(robot, start, dt=0.001, duration=0.6, integrator=la.Maximal())
    force = np.linalg.norm(run.contact_force("b0", "world"), axis=1)
    last = np.flatnonzero(force > 1e-2)[-1]
    angle = np.arctan2(run.q[last, 0], run.q[last, 2] - 1.0)
    assert np.cos(angle) == pytest.approx(2 / 3 * np.cos(0.1), abs=5e-3)


@pytest.mark.parametrize(
    ("lower", "upper", "heights"),
    [
        (Cylinder(0.2, 0.2), Ellipsoid((0.1, 0.15, 0.2)), (0.1005, 0.402)),
        (Box((0.4, 0.4, 0.2)), Cylinder(0.1, 0.2), (0.1005, 0.308)),
        (Ellipsoid((0.3, 0.25, 0.1)), Cylinder(0.1, 0.2), (0.1005, 0.302)),
    ],
)
def test_derivatives(lower, upper, heights):
    robot = things(lower, upper, friction=0.4)
    q = placed(robot, (0, 0, heights[0]), (0.02, 0.01, heights[1]))
    q = robot.integrate(q, np.array([0.001, 0.002, 0.1, 0, 0, 0, 0.05, 0.04, 0.3, 0, 0, 0]))
    p = la.dynamics.mass_matrix(robot, q) @ np.array([0, 0, 0.2, 0.1, 0, -0.05, 0.1, 0.2, 0.3, 0.3, 0.2, -0.1])
    integrator, u = la.Maximal(smoothing=1e-3), np.zeros(robot.nu)
    run = la.simulate(robot, q, p=p, dt=0.01, steps=1, integrator=integrator)
    assert len({(int(a), int(b)) for a, b in run.stored["contacts"][:, 1:3]}) == 2
    assert_linearized(robot, integrator, q, p, u, 1e-5, 1e-5)
    assert_gradient(robot, integrator, q, p, np.tile(u, (2, 1)), 1e-5, 1e-5)
