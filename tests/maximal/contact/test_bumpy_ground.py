"""What is dropped and rolls on bumpy ground: it never sinks in, as measured apart from the contacts."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import leastaction as la
from leastaction.mechanism import Box, Capsule, Ellipsoid, HeightField, MechanismBuilder, Sphere
from tests.contact.surfaces import Surface

X = np.linspace(-2, 2, 21)
SMOOTH = Surface(0.15 * np.sin(3 * X[:, None]) * np.cos(2 * X) + 0.1 * (X[:, None] ** 2 + X**2), 0.2)
ROUGH = Surface(0.03 * np.random.default_rng(3).normal(size=(61, 61)), 0.1)
SHAPES = [Sphere(0.1), Capsule(0.08, 0.4), Box((0.3, 0.2, 0.15)), Box((0.8, 0.6, 0.3)), Ellipsoid((0.3, 0.1, 0.15))]


def directions(count):
    """Unit vectors (count, 3) all around."""
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    return np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=1)


def samples(shape):
    """Points (n, 3) all over a shape."""
    if isinstance(shape, Box):
        t = np.linspace(-0.5, 0.5, 31)
        inside = np.stack(np.meshgrid(t, t, t), axis=-1).reshape(-1, 3)
        return inside[np.abs(inside).max(axis=1) == 0.5] * shape.size
    if isinstance(shape, Ellipsoid):
        return directions(8000) * shape.radii
    centres = np.linspace(-0.5, 0.5, 41) * shape.length if isinstance(shape, Capsule) else np.zeros(1)
    ball = shape.radius * directions(200 if len(centres) > 1 else 4000)
    return (ball + centres[:, None, None] * (0, 0, 1)).reshape(-1, 3)


def depth(surface, shape, q):
    """How deep the shape at q (7) lies in the ground: its points below the surface, and the surface's in a box."""
    R = Rotation.from_quat(q[3:], scalar_first=True)
    x = R.apply(samples(shape)) + q[:3]
    deepest = (surface.height(x[:, 0], x[:, 1]) - x[:, 2]).max()
    if isinstance(shape, Box):
        t = np.linspace(-0.5, 0.5, 61) * np.linalg.norm(shape.size)
        x, y = q[0] + t[:, None], q[1] + t
        ground = np.stack(np.broadcast_arrays(x, y, surface.height(x, y)), axis=-1).reshape(-1, 3)
        inside = 0.5 * np.array(shape.size) - np.abs(R.inv().apply(ground - q[:3]))
        deepest = max(deepest, inside.min(axis=1).max())
    return deepest


def tossed(surface, shape, seed, **settings):
    """A second of a body tossed onto the ground."""
    builder = MechanismBuilder("tossed")
    builder.body("body", mass=1.0, shapes=shape)
    builder.free("body")
    builder.add_shape("world", HeightField(surface.heights, surface.spacing, friction=0.6))
    robot, random = builder.build(), np.random.default_rng(seed)
    q = robot.normalize(np.concatenate([random.uniform(-0.5, 0.5, 2), [0.6], random.normal(size=4)]))
    v = np.concatenate([3.0 * random.normal(size=3), random.normal(size=3)])
    return la.simulate(robot, q, v, dt=0.005, duration=1.0, integrator=la.Maximal(**settings))


@pytest.mark.parametrize("surface", [SMOOTH, ROUGH], ids=["smooth", "rough"])
@pytest.mark.parametrize("shape", SHAPES, ids=["sphere", "capsule", "box", "large box", "ellipsoid"])
def test_nothing_sinks_into_bumpy_ground(shape, surface):
    for seed in range(4):
        run = tossed(surface, shape, seed, order=1)
        assert max(depth(surface, shape, q) for q in run.q[::2]) < 1e-5
        if isinstance(shape, Sphere):
            assert min(surface.distance(q[:3]) for q in run.q[::4]) > shape.radius - 1e-6
        # It has touched the ground, and what it lost there is not given back.
        lost = run.energy[0] - run.energy[-1]
        assert lost > 0.3 * run.energy[0]
        # Rolling ellipsoids swing a bit about their energy, on planes as well.
        assert np.diff(run.energy).max() < (3e-3 if isinstance(shape, Ellipsoid) else 1e-4) * lost
        # No feature was missed and then found to overlap.
        assert run.stored["contacts"][:, 9].min() > (-1e-4 if isinstance(shape, Box) else -1e-7)
