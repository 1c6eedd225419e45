"""What should be kept is found: Noether's momenta of robots with a symmetry, and none where something breaks it."""

import numpy as np
import pytest

import leastaction as la
from leastaction.cli._laws import keeps_energy, momentum_drift, symmetries


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("free_body", 6),
        ("heavy_top", 1),
        ("double_pendulum", 0),
        ("cart_pole", 1),
        ("humanoid_tree", 3),
        ("four_bar", 0),
    ],
)
def test_number_of_symmetries(name, count):
    robot = la.robots.get(name)
    robot = robot.replace(contacts=(), ground=())
    assert symmetries(robot).shape == (count, 6)


@pytest.mark.parametrize("name", ["free_body", "heavy_top", "cart_pole", "humanoid_tree"])
def test_momenta_along_symmetries_are_kept(name):
    """To round-off by a variational integrator, which shows that they are symmetries indeed."""
    robot = la.robots.get(name).replace(contacts=(), ground=(), gravity=(0.0, 0.0, -9.81))
    v = np.random.default_rng(1).normal(size=robot.nv)
    run = la.simulate(robot, v=v, dt=1e-3, steps=50, integrator=la.Galerkin(order=2))
    assert len(symmetries(robot))
    assert momentum_drift(run) < 1e-10 * max(1.0, np.abs(run.momentum).max())


def test_shapes_on_a_ground_take_energy():
    b = la.MechanismBuilder("crate")
    b.body("crate", mass=2.0, shapes=la.mechanism.Box((0.4, 0.4, 0.4)))
    b.free("crate")
    assert keeps_energy(b.build())
    b.add_shape("world", la.mechanism.Plane())
    assert not keeps_energy(b.build())
    assert not len(symmetries(b.build()))


def test_what_breaks_them():
    robot = la.robots.free_body()
    b = robot.edit()
    b.spring("tether", "world", robot.body_names[0], stiffness=1.0)
    assert len(symmetries(b.build())) == 0
    b = robot.edit()
    b.wrench("wind", robot.body_names[0], (0, 0, 0, 1, 0, 0))
    assert len(symmetries(b.build())) == 0
    assert not keeps_energy(b.build())
    run = la.simulate(la.robots.double_pendulum(), steps=1)
    assert momentum_drift(run) is None


def test_energy_is_kept_without_losses():
    b = la.MechanismBuilder("door")
    b.body("leaf", mass=1.0, inertia=1.0)
    b.revolute("hinge", "world", "leaf", damping=0.1)
    assert not keeps_energy(b.build())
    assert keeps_energy(la.robots.double_pendulum())
