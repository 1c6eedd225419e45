"""Families of linkages: chains, loops, trees, gears; in flight, and on the ground."""

import math
from typing import Any

import numpy as np

import leastaction as la
from benchmarks.corpus.scene import Scene, random_surface, random_turn
from leastaction.mechanism import Box, Capsule, MechanismBuilder, Plane, Pose, Sphere


def chain(rng) -> Scene:
    """A free chain with mass ratios up to 1e6 that falls on the ground."""
    b = MechanismBuilder("chain")
    links = int(rng.integers(3, 8))
    surface = random_surface(rng, 1.0)
    for i in range(links):
        mass = float(10.0 ** rng.uniform(-3, 3))
        skin = Capsule(0.03, 0.2, pose=Pose((0, 0, -0.1)), **surface)
        b.body(f"l{i}", mass=mass, com=(0, 0, -0.1), inertia=tuple(mass * np.array([4e-3, 4e-3, 5e-4])), shapes=skin)
        if i == 0:
            b.free("l0")
        else:
            b.spherical(f"j{i}", f"l{i - 1}", f"l{i}", position=(0, 0, -0.2))
    b.add_shape("world", Plane())
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, robot.nv))
    q[:3] = 0, 0, 0.25 * links + 0.3
    return Scene(robot, q, rng.normal(size=robot.nv), 0.01, 100)


def spin(rng) -> Scene:
    """A chain of bodies without ground, with velocities of some 100 m/s and rad/s."""
    b = MechanismBuilder("spin")
    links = int(rng.integers(2, 6))
    for i in range(links):
        b.body(f"l{i}", mass=float(rng.uniform(0.5, 2)), com=(0, 0, -0.1), inertia=tuple(rng.uniform(0.01, 0.015, 3)))
        if i == 0:
            b.free("l0")
        elif rng.random() < 0.5:
            b.spherical(f"j{i}", f"l{i - 1}", f"l{i}", position=(0, 0, -0.2))
        else:
            b.revolute(f"j{i}", f"l{i - 1}", f"l{i}", axis="xyz"[int(rng.integers(3))], position=(0, 0, -0.2))
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-1, 1, robot.nv))
    speed = float(rng.choice([10.0, 30.0, 100.0]))
    return Scene(robot, q, speed * rng.normal(size=robot.nv), 0.01, 100)


def large_steps(rng) -> Scene:
    """A double pendulum from random angles, with a dt that is too large for it."""
    robot = la.robots.pendulum(2)
    return Scene(robot, rng.uniform(-math.pi, math.pi, 2), rng.normal(size=2), float(rng.choice([0.05, 0.1])), 200)


def loose_pairs(rng) -> Scene:
    """Two bodies with random inertias in random joints, with a dt that is too large for them."""
    b = MechanismBuilder("pair")
    for i, parent in enumerate(("world", "b0")):
        moments = np.sort(rng.uniform(0.01, 0.02, 3))
        b.body(f"b{i}", mass=float(rng.uniform(0.5, 2.0)), com=tuple(rng.uniform(-0.3, 0.3, 3)), inertia=tuple(moments))
        kind = b.spherical if rng.random() < 0.5 else b.revolute
        kind(f"j{i}", parent, f"b{i}", position=tuple(rng.uniform(-0.3, 0.3, 3)))
    robot = b.build()
    q = robot.integrate(robot.neutral(), rng.uniform(-2, 2, robot.nv))
    return Scene(robot, q, 5.0 * rng.normal(size=robot.nv), float(rng.choice([0.02, 0.05])), 200)


def minitaur(rng) -> Scene:
    """Minitaur dropped on elastic ground, with friction."""
    b = MechanismBuilder.from_mechanism(la.robots.minitaur(friction=0.5))
    b.add_shape("world", Plane(restitution=float(rng.choice([0.5, 1.0]))))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.4
    v = np.zeros(robot.nv)
    v[:6] = rng.normal(size=6)
    return Scene(robot, q, v, 0.005, 100)


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


def walkers(rng) -> Scene:
    """A free capsule with three random links that fold on themselves and on the ground."""
    b = MechanismBuilder("walker")
    along = Pose.from_axis_angle("y", 0.5 * math.pi)
    for i in range(4):
        length = float(rng.uniform(0.1, 0.25))
        ball, skin = (
            Sphere(0.05, pose=Pose((0.5 * length, 0, 0))),
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


def trees(rng) -> Scene:
    """A random tree with joint limits, dry friction and restitution, thrown on the ground."""
    b, surface = MechanismBuilder("tree"), random_surface(rng, 0.5)
    along = Pose.from_axis_angle("y", 0.5 * math.pi, (0.1, 0, 0))
    for i in range(int(rng.integers(4, 9))):
        skin = Capsule(0.02, 0.16, pose=along, groups=2, touches=1, **surface)
        b.body(f"l{i}", density=float(10.0 ** rng.uniform(2.5, 3.5)), shapes=skin)
        if i == 0:
            b.free("l0")
            continue
        parent, dry = f"l{int(rng.integers(i))}", float(rng.choice([0.0, 0.05]))
        place = (0.2, float(rng.uniform(-0.05, 0.05)), 0)
        if rng.random() < 0.25:
            b.prismatic(f"j{i}", parent, f"l{i}", axis="x", position=place, limits=(-0.02, 0.1), friction=10.0 * dry)
        else:
            axis = "xyz"[int(rng.integers(3))]
            b.revolute(f"j{i}", parent, f"l{i}", axis=axis, position=place, limits=(-1.0, 1.0), friction=dry)
    b.add_shape("world", Plane(groups=1, touches=2, friction=0.5))
    robot = b.build()
    q = robot.neutral()
    q[3:7], q[7:] = random_turn(rng), rng.uniform(-0.015, 0.09, robot.nq - 7)
    q = la.robots.on_ground(robot, q, clearance=0.2)
    return Scene(robot, q, float(rng.choice([1.0, 5.0])) * rng.normal(size=robot.nv), 0.005, 120)


def gears(rng) -> Scene:
    """A free body with two legs that gears couple, dropped on the ground."""
    b, ratio = MechanismBuilder("gears"), float(rng.choice([-1.0, 0.5, 3.0]))
    surface: dict[str, Any] = {"friction": float(rng.uniform(0.0, 1.0)), "restitution": float(rng.choice([0.0, 0.5]))}
    b.body("trunk", mass=2.0, shapes=Box((0.3, 0.2, 0.1), **surface))
    b.free("trunk")
    for i, x in enumerate((-0.12, 0.12)):
        foot = Sphere(0.03, pose=Pose((0, 0, -0.3)), **surface)
        mass = float(rng.uniform(0.2, 1.0))
        b.body(f"leg{i}", mass=mass, com=(0, 0, -0.15), inertia=(1e-2 * mass, 1e-2 * mass, 1e-3 * mass), shapes=foot)
        b.revolute(
            f"j{i}", "trunk", f"leg{i}", axis="y", position=(x, 0.12, 0), armature=float(rng.choice([0.0, 0.01]))
        )
    b.coupling("gear", "j1", "j0", ratio=ratio)
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    angle = float(rng.uniform(-0.3, 0.3))
    q = np.array([0, 0, 0, *random_turn(rng), angle, ratio * angle])
    v = 2.0 * rng.normal(size=robot.nv)
    v[7] = ratio * v[6]
    return Scene(robot, la.robots.on_ground(robot, q, clearance=0.1), v, 0.005, 120)


def kane(rng) -> Scene:
    """Kane's double pendulum, whose tip strikes a rough floor with restitution."""
    b = MechanismBuilder("kane")
    e, mu = ((0.5, 0.5), (0.7, 0.7), (1.0, 1.0))[int(rng.integers(3))]
    for i, parent in enumerate(("world", "l0")):
        place = (0, 0, -0.5) if i else (0, 0, float(rng.uniform(0.6, 0.9)))
        b.body(f"l{i}", mass=1.0, com=(0, 0, -0.25), inertia=(0.021, 0.021, 1e-4))
        b.revolute(f"j{i}", parent, f"l{i}", axis="y", position=place)
    b.contact("tip", "l1", (0, 0, -0.5), friction=mu, restitution=e)
    b.add_shape("world", Plane())
    robot = b.build()
    height = robot.joints[0].pose.position[2]
    while True:
        q = rng.uniform(-math.pi, math.pi, 2)
        if height - 0.5 * math.cos(q[0]) - 0.5 * math.cos(q[0] + q[1]) > 0.01:
            break
    return Scene(robot, q, 3.0 * rng.normal(size=2), 0.005, 200)


FAMILIES = (chain, spin, large_steps, loose_pairs, minitaur, loops, walkers, trees, gears, kane)
