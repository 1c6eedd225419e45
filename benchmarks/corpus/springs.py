"""Families with springs and tendons that are soft or stiff for the step."""

import numpy as np

import leastaction as la
from benchmarks.corpus.scene import Scene, random_turn, stiff_spring
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere


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


def presses(rng) -> Scene:
    """An arm that stiff springs press on a wall, without gravity."""
    b = MechanismBuilder("press", gravity=(0, 0, 0))
    b.add_shape("world", Box((0.1, 2, 2), pose=Pose((0.85, 0, 0)), friction=float(rng.choice([0.0, 0.5]))))
    for i, parent in enumerate(("world", "l0", "l1")):
        skin = [Sphere(0.05, pose=Pose((0.4, 0, 0)))] if i == 2 else []
        b.body(f"l{i}", mass=1.0, com=(0.2, 0, 0), inertia=(1e-3, 2e-2, 2e-2), shapes=skin)
        stiffness = float(10.0 ** rng.uniform(2, 5))
        b.revolute(
            f"j{i}", parent, f"l{i}", axis="y", position=(0.4 if i else 0, 0, 0), stiffness=stiffness, damping=1.0
        )
    robot = b.build()
    return Scene(robot, np.array([1.2, -1.6, rng.uniform(-1.5, 1.5)]), np.zeros(3), 0.005, 150)


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


def _pair(rng, name: str, on_ground: bool) -> Scene:
    """Two boxes on a spring, half of them attached off the centres of mass."""
    b, dt, q = MechanismBuilder(name, gravity=(0, 0, -9.81 if on_ground else 0.0)), 0.01, []
    mu, off = float(rng.choice([0.0, 0.5, 1.0])), rng.random() < 0.5
    masses, ends, places = 10.0 ** rng.uniform(-0.5, 0.5, 2), [], []
    direction = rng.normal(size=3)
    direction *= 0.5 / np.linalg.norm(direction)
    for i, mass in enumerate(masses):
        size, pose = rng.uniform(0.1, 0.2, 3), Pose(tuple(i * direction + (0, 0, 0.8)), tuple(random_turn(rng)))
        b.body(f"b{i}", mass=float(mass), shapes=Box(tuple(size), friction=mu, collision=on_ground))
        b.free(f"b{i}")
        ends.append((f"b{i}", tuple(0.5 * size * rng.uniform(-1, 1, 3) if off else np.zeros(3))))
        places.append(pose.matrix @ (*ends[-1][1], 1.0))
        q += [*pose.position, *pose.quaternion]
    stiffness, stretch = stiff_spring(rng, float(masses.prod() / masses.sum()), dt)
    length = max(0.0, float(np.linalg.norm(places[1] - places[0])) - stretch)
    b.spring("spring", *ends, stiffness=stiffness, rest_length=length)
    if on_ground:
        b.add_shape("world", Plane(friction=mu))
    robot = b.build()
    return Scene(robot, np.array(q), rng.normal(size=robot.nv), dt, 200)


def free_springs(rng) -> Scene:
    """Two bodies on a spring in flight, frequency times dt from 0.1 to 100."""
    return _pair(rng, "free_springs", False)


def ground_springs(rng) -> Scene:
    """Two boxes on a spring that fall on the ground, frequency times dt from 0.1 to 100."""
    return _pair(rng, "ground_springs", True)


def tendons(rng) -> Scene:
    """Hinged links with a stiff tendon along their joints or through points, half of them with feet on the ground."""
    b, dt, feet = MechanismBuilder("tendons"), 0.01, rng.random() < 0.5
    for i in range(3):
        skin = [Sphere(0.04, pose=Pose((0.2, 0, 0)), friction=0.5)] if feet else []
        b.body(f"l{i}", mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 4e-3, 4e-3), shapes=skin)
        place = (0.2, 0, 0) if i else (0, 0, 0.45)
        b.revolute(f"j{i}", f"l{i - 1}" if i else "world", f"l{i}", axis="y", position=place)
    b.add_shape("world", Plane())
    q = rng.uniform(-0.3, 0.3, 3)
    if rng.random() < 0.5:
        ratios = np.array([1.0, float(rng.choice([-1.0, 0.5])), 0.5])
        stiffness, stretch = stiff_spring(rng, 4e-3, dt)
        joints = {f"j{i}": float(ratio) for i, ratio in enumerate(ratios)}
        b.tendon("tendon", joints=joints, stiffness=stiffness, rest=float(ratios @ q) - stretch)
    else:
        points = [("world", (0, 0, 0.55)), *((f"l{i}", (0.1, 0, 0.05)) for i in range(3))]
        poses = [np.eye(4), *la.dynamics.body_poses(b.build(), q)]
        path = np.array([(pose @ (*point, 1.0))[:3] for pose, (_, point) in zip(poses, points, strict=True)])
        stiffness, stretch = stiff_spring(rng, 0.1, dt)
        length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
        b.tendon("tendon", via=points, stiffness=stiffness, rest=max(0.0, length - stretch))
    return Scene(b.build(), q, rng.normal(size=3), dt, 150)


FAMILIES = (stops, presses, swings, free_springs, ground_springs, tendons)
