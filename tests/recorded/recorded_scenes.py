"""Small mechanisms and their first states for the recorded runs: every joint, force, constraint and contact."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import leastaction as la
from leastaction.mechanism import Box, Capsule, HeightField, Plane, Pose, Sphere

Scene = tuple[Any, ...]
"""(robot, q, v, further options of `simulate`)."""


def chain(kind: str, links: int = 2, *extras: Callable[[Any], None], **properties: Any) -> la.Mechanism:
    """Links on joints of one kind, at offsets that no axis passes through."""
    b = la.MechanismBuilder(f"{kind} chain")
    for k in range(links):
        b.body(f"l{k}", mass=1.0 + 0.3 * k, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
        parent, position = ("world", (0, 0, 0)) if k == 0 else (f"l{k - 1}", (0.05, 0, -0.6))
        b.joint(f"j{k}", kind, parent, f"l{k}", position=position, **properties)
    for extra in extras:
        extra(b)
    return b.build()


def springs(b: Any) -> None:
    """Forces that every integrator knows."""
    b.spring("s", ("world", (0.5, 0.1, 0)), ("l1", (0, 0.1, -0.3)), stiffness=30.0, rest_length=0.5, damping=1.0)
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("c", via, stiffness=20.0, rest_length=0.3, damping=0.3)
    b.wrench("w", "l1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), point=(0.1, 0, 0))
    b.wrench("wl", "l0", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), frame="body")


def isotropic(b: Any) -> None:
    """An isotropic spring and a cable that may push."""
    b.spring("i", ("world", (0.2, 0.1, -0.5)), ("l1", (0, 0.1, -0.3)), stiffness=10.0, damping=0.5, isotropic=True)
    via = [("world", (-1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("push", via, stiffness=20.0, rest_length=0.3, damping=0.3, clip=False)


def penalty(b: Any) -> None:
    """Points that a tilted plane pushes back."""
    points = [(0.1, 0.1, -0.6), (-0.1, 0.1, -0.6), (0, -0.1, -0.6)]
    law = {"stiffness": 200.0, "damping": 3.0, "friction": 0.4, "stiction": 0.5}
    b.penalty_contact("p", "l1", points, origin=(0, 0, -0.95), normal=(0, 0.6, 0.8), **law)


def drives(b: Any) -> None:
    """A thruster and a geared motor."""
    b.thruster("th", "l1", (0.1, 0.2, 0.3, 1, 2, 3))
    b.actuator("a0", b.build().velocity_names[0], gear=2.0)


def tail(b: Any) -> None:
    """A further link on the first one."""
    b.body("t", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("jt", "l0", "t", axis="x", position=(0.1, 0, -0.2))


def moving(robot: la.Mechanism, seed: int = 7, size: float = 0.4, **options: Any) -> Scene:
    """A random state, loops closed."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), size * rng.normal(size=robot.nv))
    v = 1.5 * rng.normal(size=robot.nv)
    if not robot.is_tree:
        q = la.dynamics.close_loops(robot, robot.integrate(robot.neutral(), 0.1 * size * rng.normal(size=robot.nv)))
        A = la.dynamics.loop_jacobian(robot, q)[1]
        v -= np.linalg.pinv(A) @ (A @ v)
    return robot, q, v, options


def waves(robot: la.Mechanism) -> Callable[[float], np.ndarray]:
    """Controls that change with time."""
    phases = np.arange(robot.nu)
    return lambda t: np.sin(7.0 * t + phases)


def home(name: str, **parameters: Any) -> Scene:
    """A robot of the zoo where it starts."""
    robot = la.robots.get(name, **parameters)
    entry = next(e for e in la.robots.catalogue() if e.name == name)
    return robot, entry.home(robot), entry.home_velocity(robot), {}


def walker() -> Scene:
    """A free trunk with two legs of two joints, a ball-jointed head, springs in joints, motors and their inertia."""
    b = la.MechanismBuilder("walker")
    b.body("trunk", mass=4.0, com=(0.02, 0, 0.1), inertia=(0.1, 0.12, 0.08))
    b.free("trunk", name="base")
    for side, y in (("left", 0.1), ("right", -0.1)):
        b.body(f"{side}_thigh", mass=1.0, com=(0, 0.01, -0.15), inertia=(0.02, 0.02, 0.005))
        b.revolute(f"{side}_hip", "trunk", f"{side}_thigh", axis="y", position=(0, y, 0), stiffness=5.0, damping=0.1)
        b.body(f"{side}_shin", mass=0.6, com=(0.01, 0, -0.15), inertia=(0.01, 0.01, 0.002))
        b.revolute(f"{side}_knee", f"{side}_thigh", f"{side}_shin", axis="y", position=(0, 0, -0.3), armature=0.01)
        b.actuator(f"{side}_hip_motor", f"{side}_hip", gear=2.0)
        b.actuator(f"{side}_knee_motor", f"{side}_knee")
    b.body("head", mass=0.8, com=(0, 0, 0.1), inertia=0.01)
    b.spherical("neck", "trunk", "head", position=(0, 0, 0.3), stiffness=4.0, damping=0.05)
    robot = b.build()
    return moving(robot, controls=waves(robot))


def strung(armature: float = 0.05) -> Scene:
    """Hinges with springs and dampers in them, a spring, a cable, wrenches, a thruster and a motor."""
    elastic = {"stiffness": 2.0, "damping": 0.1, "rest": 0.2, "armature": armature}
    robot = chain("revolute", 3, springs, drives, axis="y", **elastic)
    return moving(robot, controls=waves(robot))


def strung_balls() -> Scene:
    """The same on ball joints."""
    robot = chain("spherical", 2, springs, drives, stiffness=3.0, damping=0.2)
    return moving(robot, controls=waves(robot))


def universal() -> Scene:
    return moving(chain("universal", 3))


def mixed() -> Scene:
    """Joints of several kinds in one chain."""
    b = la.MechanismBuilder("mixed")
    kinds: dict[str, dict[str, Any]] = {
        "cylindrical": {"axis": "y"},
        "screw": {"axis": "x", "pitch": 0.2},
        "planar": {"axis": "y"},
        "translational": {},
        "prismatic": {"axis": "x"},
    }
    parent = "world"
    for kind, properties in kinds.items():
        b.body(kind, mass=1.0, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
        b.joint(f"j_{kind}", kind, parent, kind, position=(0.05, 0, -0.3), stiffness=20.0, damping=0.5, **properties)
        parent = kind
    return moving(b.build())


def geared() -> Scene:
    """A coupling between two joints."""
    b = la.MechanismBuilder("geared")
    b.body("a", mass=1.0, com=(0.1, 0, -0.3), inertia=0.05)
    b.revolute("ja", "world", "a", axis="y", stiffness=1.0)
    b.body("c", mass=0.8, com=(0, 0.1, -0.2), inertia=0.04)
    b.revolute("jc", "a", "c", axis="x", position=(0.1, 0, -0.5), damping=0.1)
    b.coupling("g", "jc", "ja", ratio=0.7, offset=0.1)
    return moving(b.build())


def loop(name: str, **parameters: Any) -> Callable[[], Scene]:
    def scene() -> Scene:
        robot, q, v, _ = home(name, **parameters)
        return robot, q, v, {"project": True}

    return scene


def zoo(name: str, **parameters: Any) -> Callable[[], Scene]:
    return lambda: home(name, **parameters)


def thrown_cube(**surface: Any) -> Callable[[], Scene]:
    def scene() -> Scene:
        robot = la.robots.cube(friction=0.4, **surface)
        q = robot.normalize(np.array([0.0, 0.0, 0.45, 0.9, 0.2, 0.1, 0.3]))
        return robot, q, np.array([1.0, -2.0, 0.5, 1.5, 0.3, -1.0]), {}

    return scene


def dropped_a1() -> Scene:
    """Held by springs in its joints, from 2 cm above the ground."""
    robot = la.robots.unitree_a1(ground=True)
    q = la.robots.home(robot)
    q[2] += 0.02
    stance = q[7:].copy()
    return robot, q, None, {"controller": lambda t, q, v: 40.0 * (stance - q[7:]) - 1.0 * v[6:]}


def at_rest(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A controller that does nothing."""
    return np.zeros(len(v))


def pile() -> Scene:
    """Boxes, a ball and a rod thrown onto each other.

    A controller takes it step by step: in other pieces, whose length depends on the clock, bodies that touch each other
    come out different by some 1e-8.
    """
    b = la.MechanismBuilder("pile")
    shapes = (Box((0.3, 0.3, 0.2), friction=0.5), Sphere(0.12, friction=0.3), Box((0.2, 0.15, 0.1), friction=0.8))
    shapes = (*shapes, Capsule(0.06, 0.3, friction=0.4))
    q = []
    rng = np.random.default_rng(5)
    for k, shape in enumerate(shapes):
        b.body(f"b{k}", mass=(2.0, 1.0, 0.5, 0.8)[k], shapes=shape)
        b.free(f"b{k}")
        turn = rng.normal(size=4)
        q += [*rng.uniform(-0.05, 0.05, 2), 0.25 + 0.4 * k, *(turn / np.linalg.norm(turn))]
    b.add_shape("world", Plane(friction=0.6))
    v = np.tile([0.3, -0.5, 0.2, 0.0, 0.0, -1.0], len(shapes))
    return b.build(), np.array(q), v, {"controller": at_rest}


def sphere_chain() -> Scene:
    """A chain of balls that falls on the ground, step by step as the pile."""
    robot, q, v, _ = home("sphere_chain")
    return robot, q, v, {"controller": at_rest}


def on_hills(shape: Any = None) -> Callable[[], Scene]:
    def scene() -> Scene:
        x = np.linspace(-2, 2, 21)
        heights = 0.15 * np.sin(3 * x[:, None]) * np.cos(2 * x) + 0.1 * (x[:, None] ** 2 + x**2)
        b = la.MechanismBuilder("tossed")
        b.body("body", mass=1.0, shapes=shape or Box((0.3, 0.2, 0.15)))
        b.free("body")
        b.add_shape("world", HeightField(heights, 0.2, friction=0.6))
        robot = b.build()
        q = robot.normalize(np.array([0.2, -0.3, 0.35, 0.8, 0.3, -0.2, 0.4]))
        return robot, q, np.array([1.0, -0.5, 0.7, 0.5, 0.2, -0.5]), {}

    return scene


def limited() -> Scene:
    """Hinges that run against rigid limits."""
    return chain("revolute", 2, axis="y", limits=(-0.3, 0.25)), np.array([0.2, -0.25]), np.array([1.0, -2.0]), {}


def dry() -> Scene:
    """Dry friction in hinges, which stop one after the other."""
    return chain("revolute", 2, axis="y", friction=1.5), np.array([0.5, -0.2]), np.array([1.0, -1.0]), {}


def rough_loop() -> Scene:
    """A loop with dry friction, limits and a spring in its joints."""
    b = la.MechanismBuilder.from_mechanism(la.robots.three_link_loop())
    robot = b.build()
    b.spring("s", ("world", (0.1, 0.0, 0.5)), robot.joints[0].child, stiffness=20.0, rest_length=0.2, damping=0.5)
    robot = b.build()
    return robot, la.robots.home("three_link_loop"), None, {"project": True}


def block(angle: float = 0.3, restitution: float = 0.0, height: float = 0.0) -> Callable[[], Scene]:
    """A box with four contact points on a slope."""

    def scene() -> Scene:
        b = la.MechanismBuilder("block")
        b.body("box", mass=2.0, inertia=(0.01, 0.02, 0.025))
        b.free("box")
        for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            b.contact(f"foot{k}", "box", (0.1 * x, 0.1 * y, -0.05), friction=0.2, restitution=restitution)
        turn = (math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
        b.add_shape("world", Plane(pose=Pose((0, 0, 0), turn)))
        normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
        return b.build(), np.array([*((0.05 + height) * normal), *turn]), np.array([0, 0, 0, 0.5, 0.1, 0]), {}

    return scene


def soft_limits() -> Scene:
    stop = {"lower": -0.1, "upper": 0.1, "limit_stiffness": 50.0, "limit_damping": 0.1}
    return moving(chain("revolute", 2, axis="y", **stop))


def every_force() -> Scene:
    robot = chain("revolute", 2, springs, isotropic, penalty, drives, axis="x", stiffness=1.0, damping=0.1)
    return moving(robot, controls=waves(robot))


def penalties_on_balls() -> Scene:
    return moving(chain("spherical", 2, penalty, isotropic))


def curve() -> Scene:
    angles = 2.0 * np.pi * np.arange(6) / 6
    ring = [Pose.from_axis_angle("z", a, (np.cos(a), np.sin(a), 0.2 * np.sin(2 * a))) for a in angles]
    robot = chain("spline_curve", 1, tail, frames=ring, damping=0.1, stiffness=0.5)
    return robot, np.array([2.9, 0.3]), np.array([3.0, -1.0]), {}


def surface() -> Scene:
    sheet = 0.2 * np.random.default_rng(0).normal(size=(6, 4, 4))
    sheet[0] += np.linspace(-1, 1, 4)[:, None]
    sheet[1] += np.linspace(-1, 1, 4)
    robot = chain("spline_surface", 1, tail, controls=sheet)
    return robot, np.array([0.4, 0.6, 0.3]), np.array([0.3, -0.4, 1.0]), {}


def wheel() -> Scene:
    """A disc that rolls, with an arm on it."""
    b = la.MechanismBuilder("wheel")
    b.body("disc", mass=2.0, inertia=(0.1, 0.2, 0.1))
    b.free("disc", name="f")
    b.rolling("r", "disc", radius=0.3, axis="y")
    b.body("arm", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("j", "disc", "arm", axis="y", position=(0.05, 0.1, 0.02), stiffness=1.0, damping=0.05)
    robot = b.build()
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2], q[-1], v[-1] = 0.3, 0.4, 1.0
    return robot, q, v, {"project": True}


def driven_chain() -> Scene:
    return la.robots.pendulum(links=3), np.array([0.3, 0.0, 0.2]), np.array([0.0, 1.0, 0.0]), {}


def carousel() -> Scene:
    b = la.MechanismBuilder("carousel")
    b.body("disc", mass=1.0, inertia=0.1)
    b.revolute("axle", "world", "disc", axis="z")
    b.body("rod", mass=1.0, com=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01))
    b.spherical("ball", "disc", "rod", position=(0.5, 0, 0))
    return b.build(), None, np.array([0.0, 1.0, 7.0, 0.5]), {}


@numba.njit
def drag(x, xd, f):
    """Quadratic drag, the second point pulled to the first."""
    for k in range(3):
        f[0, k] = -0.3 * xd[0, k] * (1.0 + xd[0, k] * xd[0, k]) - 2.0 * (x[0, k] - x[1, k])
        f[1, k] = -0.1 * xd[1, k] + 2.0 * (x[0, k] - x[1, k])


def dragged() -> la.forces.PointForce:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return la.forces.PointForce("drag", (("l1", (0.1, 0, -0.2)), ("l0", (0, 0.1, 0))), drag)
