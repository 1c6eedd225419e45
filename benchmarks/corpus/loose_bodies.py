"""Families of loose bodies: tossed, stacked, wedged, spinning."""

from typing import Any

import numpy as np

import leastaction as la
from benchmarks.corpus.scene import Scene, random_surface, random_turn
from leastaction.mechanism import Box, Capsule, Ellipsoid, MechanismBuilder, Plane, Pose, Sphere

FRICTION = (0.0, 0.2, 0.5, 1.0, 2.0)
"""Coefficients of friction of tossed boxes."""


def pile(rng) -> Scene:
    """Boxes and balls that fall on each other."""
    b, q = MechanismBuilder("pile"), []
    for i in range(int(rng.integers(4, 8))):
        surface = random_surface(rng)
        skin = Sphere(0.1, **surface) if rng.random() < 0.4 else Box(tuple(rng.uniform(0.1, 0.3, 3)), **surface)
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-1, 1)), shapes=skin)
        b.free(f"b{i}")
        q += [*rng.uniform(-0.1, 0.1, 2), 0.3 + 0.4 * i, *random_turn(rng)]
    b.add_shape("world", Plane())
    robot = b.build()
    return Scene(robot, np.array(q), rng.normal(size=robot.nv), 0.01, 150)


def stack(rng) -> Scene:
    """Boxes on each other with mass ratios up to 1e6."""
    b, q, z = MechanismBuilder("stack"), [], 0.0
    surface = random_surface(rng, 1.0)
    for i in range(int(rng.integers(2, 5))):
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-3, 3)), shapes=Box((0.2, 0.2, 0.2), **surface))
        b.free(f"b{i}")
        z += 0.1 + float(rng.uniform(0.0, 0.05))
        q += [*rng.uniform(-0.02, 0.02, 2), z, 1, 0, 0, 0]
        z += 0.1
    b.add_shape("world", Plane())
    robot = b.build()
    return Scene(robot, np.array(q), 0.3 * rng.normal(size=robot.nv), 0.01, 100)


def tumbling(rng) -> Scene:
    """Boxes thrown at each other, fast beside dt."""
    b, q = MechanismBuilder("tumbling"), []
    for i in range(int(rng.integers(2, 5))):
        b.body(f"b{i}", mass=1.0, shapes=Box((0.2, 0.15, 0.3), friction=0.5))
        b.free(f"b{i}")
        q += [*rng.uniform(-0.3, 0.3, 2), 0.4 + 0.4 * i, *random_turn(rng)]
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    return Scene(robot, np.array(q), 6.0 * rng.normal(size=robot.nv), 0.02, 60)


def dominoes(rng) -> Scene:
    """A row of thin plates, the first of which is pushed over."""
    b, q = MechanismBuilder("dominoes"), []
    gap, surface = float(rng.uniform(0.03, 0.08)), random_surface(rng, 0.0)
    for i in range(6):
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-1, 0)), shapes=Box((0.01, 0.06, 0.12), **surface))
        b.free(f"b{i}")
        q += [i * gap, 0.0, 0.06, 1, 0, 0, 0]
    b.add_shape("world", Plane())
    robot = b.build()
    v = np.zeros(robot.nv)
    v[1] = float(rng.uniform(2.0, 6.0))
    return Scene(robot, np.array(q), v, 0.005, 120)


def sticks(rng) -> Scene:
    """Long thin rods, 200 times as long as thick, that fall on each other."""
    b, q = MechanismBuilder("sticks"), []
    for i in range(4):
        b.body(f"b{i}", density=float(10.0 ** rng.uniform(2, 4)), shapes=Capsule(0.005, 1.0, **random_surface(rng)))
        b.free(f"b{i}")
        q += [*rng.uniform(-0.1, 0.1, 2), 0.6 + 1.05 * i, *random_turn(rng)]
    b.add_shape("world", Plane())
    robot = b.build()
    return Scene(robot, np.array(q), rng.normal(size=robot.nv), 0.005, 150)


def grains(rng) -> Scene:
    """Balls of 0.1 g to 1 t in a heap."""
    b, q = MechanismBuilder("grains"), []
    for i, mass in enumerate(10.0 ** rng.permutation(np.linspace(-4, 3, 6))):
        b.body(f"b{i}", mass=float(mass), shapes=Sphere(0.1, **random_surface(rng)))
        b.free(f"b{i}")
        q += [*rng.uniform(-0.05, 0.05, 2), 0.2 + 0.25 * i, 1, 0, 0, 0]
    b.add_shape("world", Plane())
    robot = b.build()
    return Scene(robot, np.array(q), 0.3 * rng.normal(size=robot.nv), 0.01, 120)


def tops(rng) -> Scene:
    """A plate that spins on its edge or its corner, at up to 100 rad/s."""
    b = MechanismBuilder("tops")
    b.body("plate", mass=0.5, shapes=Box((0.2, 0.2, 0.02), **random_surface(rng)))
    b.free("plate")
    b.add_shape("world", Plane())
    robot = b.build()
    turn = Pose.from_axis_angle("x", float(rng.uniform(0.3, 1.5))) * Pose.from_axis_angle("z", float(rng.uniform(0, 1)))
    v = rng.normal(size=6)
    v[:3] *= float(rng.choice([1.0, 10.0, 50.0]))
    return Scene(robot, np.array([0, 0, 0.2, *turn.quaternion]), v, 0.005, 200)


def slot(rng) -> Scene:
    """A tilted box that falls between two walls, with friction that may hold it."""
    b = MechanismBuilder("slot")
    mu = float(rng.uniform(0.2, 1.0))
    b.body("box", mass=1.0, shapes=Box((0.2, 0.1, 0.3), friction=mu))
    b.free("box")
    for side in (-1, 1):
        b.add_shape(
            "world", Box((0.1, 0.4, 2.0), pose=Pose((side * float(rng.uniform(0.17, 0.2)), 0, 0.5)), friction=mu)
        )
    b.add_shape("world", Plane(friction=mu))
    robot = b.build()
    turn = Pose.from_axis_angle("y", float(rng.uniform(-0.15, 0.15)))
    return Scene(robot, np.array([0, 0, 0.6, *turn.quaternion]), rng.normal(size=6), 0.005, 150)


def cubes(rng, friction=FRICTION) -> Scene:
    """A cube with contact points at its corners, tossed on the ground."""
    robot = la.robots.cube(friction=float(rng.choice(friction)))
    q = np.array([0, 0, 0.9, *random_turn(rng)])
    v = np.concatenate([4.0 * rng.normal(size=3), 2.0 * rng.normal(size=3)])
    return Scene(robot, q, v, float(rng.choice([0.01, 0.005])), 150)


def boxes(rng, restitution=(0.0, 0.0, 0.5, 1.0)) -> Scene:
    """A box of random size, friction and restitution, tossed on the ground."""
    b, size = MechanismBuilder("box"), rng.uniform(0.05, 0.5, 3)
    surface: dict[str, Any] = {"friction": float(rng.choice(FRICTION)), "restitution": float(rng.choice(restitution))}
    b.body("box", mass=float(10.0 ** rng.uniform(-1, 1)), shapes=Box(tuple(size), **surface))
    b.free("box")
    b.add_shape("world", Plane(**surface))
    q = np.array([0, 0, 0.5 * float(np.linalg.norm(size)) + float(rng.uniform(0, 0.5)), *random_turn(rng)])
    v = np.concatenate([float(rng.choice([1.0, 5.0, 20.0])) * rng.normal(size=3), 2.0 * rng.normal(size=3)])
    return Scene(b.build(), q, v, float(rng.choice([0.01, 0.005])), 150)


def ellipsoids(rng) -> Scene:
    """Slender ellipsoids, up to 20 times as long as thick, tossed on the ground."""
    b, q = MechanismBuilder("ellipsoids"), []
    for i in range(int(rng.integers(1, 4))):
        thick = 0.3 / float(rng.uniform(3.0, 20.0))
        radii = tuple(rng.permutation([0.3, thick, thick * float(rng.uniform(1.0, 2.0))]))
        b.body(f"b{i}", density=1000.0, shapes=Ellipsoid(radii, **random_surface(rng, 0.5)))
        b.free(f"b{i}")
        q += [*rng.uniform(-0.1, 0.1, 2), 0.4 + 0.65 * i, *random_turn(rng)]
    b.add_shape("world", Plane(friction=float(rng.uniform(0.0, 1.0))))
    robot = b.build()
    return Scene(robot, np.array(q), 2.0 * rng.normal(size=robot.nv), 0.005, 150)


def cradle(rng) -> Scene:
    """Elastic balls in a row, touching or 1 mm apart, hit by one or two of them: hanging, or in flight."""
    hanging, apart, hits = rng.random() < 0.5, float(rng.choice([0.0, 1e-3])), int(rng.integers(1, 3))
    b, q, v = MechanismBuilder("cradle", gravity=(0, 0, -9.81 if hanging else 0.0)), [], []
    angle, speed = float(rng.uniform(0.2, 0.8)), float(rng.uniform(0.3, 3.0))
    for i in range(5):
        ball = Sphere(0.05, pose=Pose((0, 0, -0.5)), friction=0.0, restitution=1.0)
        b.body(f"b{i}", mass=1.0, com=(0, 0, -0.5), inertia=(1e-3, 1e-3, 1e-3), shapes=ball)
        x, first = (0.1 + apart) * i, i < hits
        if hanging:
            b.revolute(f"j{i}", "world", f"b{i}", axis="y", position=(x, 0, 0))
            q, v = [*q, angle if first else 0.0], [*v, 0.0]
        else:
            b.free(f"b{i}")
            q, v = [*q, x - 0.1 * first, 0, 0, 1, 0, 0, 0], [*v, 0, 0, 0, speed * first, 0, 0]
    return Scene(b.build(), np.array(q), np.array(v), 0.005, 150)


FAMILIES = (pile, stack, tumbling, dominoes, sticks, grains, tops, slot, cubes, boxes, ellipsoids, cradle)
