"""More random hard scenes for `hard_scenes`: what is thin, heavy, closed, driven or wedged; and what scenes share."""

import math
from dataclasses import dataclass

import numpy as np

import leastaction as la
from leastaction.mechanism import Box, Capsule, MechanismBuilder, Plane, Pose, Sphere


@dataclass
class Scene:
    """A mechanism, how it starts, and for how long it runs."""

    robot: la.Mechanism
    q: np.ndarray
    v: np.ndarray
    dt: float
    steps: int
    motions: dict | None = None


def random_turn(rng):
    """A random unit quaternion."""
    quat = rng.normal(size=4)
    return quat / np.linalg.norm(quat)


def random_surface(rng, restitution=None):
    """Random friction and restitution of a shape."""
    e = float(rng.uniform(0.0, 1.0)) if restitution is None else restitution
    return {"friction": float(rng.uniform(0.0, 1.0)), "restitution": float(rng.choice([0.0, e, 1.0]))}


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


def loops(rng) -> Scene:
    """A square of four links in flight that lands on the ground."""
    b = MechanismBuilder("loops")
    surface = random_surface(rng)
    for i in range(4):
        skin = Capsule(0.02, 0.3, pose=Pose.from_axis_angle("y", 0.5 * math.pi, (0.15, 0, 0)), **surface)
        b.body(
            f"l{i}", mass=float(10.0 ** rng.uniform(-1, 1)), com=(0.15, 0, 0), inertia=(1e-3, 1e-2, 1e-2), shapes=skin
        )
        if i == 0:
            b.free("l0")
        else:
            b.revolute(f"j{i}", f"l{i - 1}", f"l{i}", axis="y", position=(0.3, 0, 0))
    b.revolute("closing", "l3", "l0", axis="y", position=(0.3, 0, 0), loop=True)
    b.add_shape("world", Plane())
    robot = b.build()
    q = robot.neutral()
    q[2], q[3:7], q[7:] = 0.5, random_turn(rng), 0.5 * math.pi
    return Scene(robot, q, np.concatenate([rng.normal(size=6), np.zeros(robot.nv - 6)]), 0.005, 120)


def stops(rng) -> Scene:
    """Geared links with springs that throw them against their stops."""
    b, n = MechanismBuilder("stops"), 4
    for i in range(n):
        mass = float(10.0 ** rng.uniform(-1, 1))
        b.body(f"l{i}", mass=mass, com=(0.1, 0, 0), inertia=tuple(mass * np.array([1e-3, 4e-3, 4e-3])))
        axis, parent = "xyz"[int(rng.integers(3))], f"l{i - 1}" if i else "world"
        stiffness = float(10.0 ** rng.uniform(0, 2))
        b.revolute(f"j{i}", parent, f"l{i}", axis=axis, position=(0.2, 0, 0), limits=(-0.3, 0.3), stiffness=stiffness)
    ratio, v = float(rng.choice([-1.0, 0.7])), 10.0 * rng.normal(size=n)
    b.coupling("gear", "j3", "j1", ratio=ratio)
    v[3] = ratio * v[1]
    return Scene(b.build(), np.array([0.2, 0.2, -0.2, ratio * 0.2]), v, 0.005, 200)


def slot(rng) -> Scene:
    """A tilted box that falls between two walls, with friction that may hold it."""
    b = MechanismBuilder("slot")
    mu = float(rng.uniform(0.2, 1.0))
    b.body("box", mass=1.0, shapes=Box((0.2, 0.1, 0.3), friction=mu))
    b.free("box")
    for side in (-1, 1):
        b.add_shape("world", Box((0.1, 0.4, 2.0), pose=(side * float(rng.uniform(0.17, 0.2)), 0, 0.5), friction=mu))
    b.add_shape("world", Plane(friction=mu))
    robot = b.build()
    turn = Pose.from_axis_angle("y", float(rng.uniform(-0.15, 0.15)))
    return Scene(robot, np.array([0, 0, 0.6, *turn.quaternion]), rng.normal(size=6), 0.005, 150)


def paddle(rng) -> Scene:
    """A paddle that a motor turns as told, among balls in a corner."""
    b, q = MechanismBuilder("paddle"), []
    b.body("paddle", mass=1.0, com=(0.2, 0, 0), inertia=0.01, shapes=Box((0.4, 0.05, 0.2), pose=(0.2, 0, 0.1)))
    b.revolute("motor", "world", "paddle", axis="z")
    b.prescribe("motor")
    for i in range(4):
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-1, 1)), shapes=Sphere(0.06, **random_surface(rng)))
        b.free(f"b{i}")
        q += [0.3 * math.cos(1.2 * i + 1), 0.3 * math.sin(1.2 * i + 1), 0.1, 1, 0, 0, 0]
    b.add_shape("world", Plane())
    robot = b.build()
    speed = float(rng.uniform(1.0, 8.0))
    return Scene(robot, np.array([0.0, *q]), np.zeros(robot.nv), 0.005, 150, {"motor": lambda t: speed * t})


def presses(rng) -> Scene:
    """An arm that stiff springs press on a wall, without gravity."""
    b = MechanismBuilder("press", gravity=(0, 0, 0))
    b.add_shape("world", Box((0.1, 2, 2), pose=(0.85, 0, 0), friction=float(rng.choice([0.0, 0.5]))))
    for i, parent in enumerate(("world", "l0", "l1")):
        skin = [Sphere(0.05, pose=(0.4, 0, 0))] if i == 2 else []
        b.body(f"l{i}", mass=1.0, com=(0.2, 0, 0), inertia=(1e-3, 2e-2, 2e-2), shapes=skin)
        stiffness = float(10.0 ** rng.uniform(2, 5))
        b.revolute(
            f"j{i}", parent, f"l{i}", axis="y", position=(0.4 if i else 0, 0, 0), stiffness=stiffness, damping=1.0
        )
    robot = b.build()
    return Scene(robot, np.array([1.2, -1.6, rng.uniform(-1.5, 1.5)]), np.zeros(3), 0.005, 150)


def walkers(rng) -> Scene:
    """A free capsule with three random links that fold on themselves and on the ground."""
    b = MechanismBuilder("walker")
    along = Pose.from_axis_angle("y", 0.5 * math.pi)
    for i in range(4):
        length = float(rng.uniform(0.1, 0.25))
        ball, skin = (
            Sphere(0.05, pose=(0.5 * length, 0, 0)),
            Capsule(0.03, length, pose=Pose((0.5 * length, 0, 0)) * along),
        )
        b.body(f"l{i}", density=1000.0, shapes=ball if rng.random() < 0.4 else skin)
        if i == 0:
            b.free("l0")
        else:
            place = (length * float(rng.choice([-0.3, 1.0])), 0, 0.06 * float(rng.choice([-1, 1])))
            b.revolute(f"j{i}", f"l{i - 1}", f"l{i}", axis="xyz"[int(rng.integers(3))], position=place, armature=0.002)
    b.add_shape("world", Plane(friction=1.0))
    robot = b.build()
    q = robot.integrate(robot.neutral(), np.concatenate([np.zeros(6), rng.uniform(-1, 1, 3)]))
    q[2] = 0.4
    return Scene(robot, q, 5.0 * rng.normal(size=robot.nv), 0.005, 150)


def swings(rng) -> Scene:
    """Bodies in flight on springs of hinges and ball joints that are stiff for the step, drawn back and let go."""
    b = MechanismBuilder("swings", gravity=(0, 0, float(rng.choice([0.0, -9.81]))))
    for i in range(int(rng.integers(2, 6))):
        mass = float(10.0 ** rng.uniform(-1, 1))
        moments = mass * np.sort(rng.uniform(2e-3, 4e-3, 3))
        b.body(f"l{i}", mass=mass, com=tuple(rng.uniform(-0.1, 0.1, 3)), inertia=tuple(moments))
        if i == 0:
            b.free("l0")
            continue
        kind, place = ("spherical", "revolute")[int(rng.integers(2))], tuple(rng.uniform(-0.3, 0.3, 3))
        b.joint(f"j{i}", kind, f"l{i - 1}", f"l{i}", position=place, stiffness=mass * float(10.0 ** rng.uniform(0, 4)))
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-0.4, 0.4, robot.nv))
    return Scene(robot, q, rng.normal(size=robot.nv), float(10.0 ** rng.uniform(-3, -1.5)), 150)


MACHINES = (dominoes, sticks, grains, tops, loops, stops, slot, paddle, presses, walkers, swings)
