"""Small mechanisms with every joint, force and constraint that the reduced integrators know."""

import numpy as np

import leastaction as la
from leastaction.mechanism import Pose


def chain(kind, links=2, extra=None, name=None, **properties):
    """Links on joints of one kind, at offsets that no axis passes through."""
    b = la.MechanismBuilder(name or kind)
    for k in range(links):
        b.body(f"l{k}", mass=1.0 + 0.3 * k, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
        parent, position = ("world", (0, 0, 0)) if k == 0 else (f"l{k - 1}", (0.05, 0, -0.6))
        b.joint(f"j{k}", kind, parent, f"l{k}", position=position, **properties)
    if extra is not None:
        extra(b)
    return b.build()


def ring(count=6):
    """Control frames of a closed curve in space."""
    angles = 2.0 * np.pi * np.arange(count) / count
    return tuple(Pose.from_axis_angle("z", a, (np.cos(a), np.sin(a), 0.2 * np.sin(2 * a))) for a in angles)


def sheet(seed=0):
    """Control values of a curved surface with turning frames."""
    rng = np.random.default_rng(seed)
    C = 0.2 * rng.normal(size=(6, 4, 4))
    C[0] += np.linspace(-1, 1, 4)[:, None]
    C[1] += np.linspace(-1, 1, 4)
    return C


def tail(b):
    b.body("t", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("jt", "l0", "t", axis="x", position=(0.1, 0, -0.2))


def springs(b):
    b.spring("s", ("world", (0.5, 0.1, 0)), ("l1", (0, 0.1, -0.3)), stiffness=30.0, rest_length=0.5, damping=1.0)
    b.spring("i", ("world", (0.2, 0.1, -0.5)), ("l1", (0, 0.1, -0.3)), stiffness=10.0, damping=0.5, isotropic=True)
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("c", via, stiffness=20.0, rest_length=0.3, damping=0.3)
    b.wrench("w", "l1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), point=(0.1, 0, 0))
    b.wrench("wl", "l0", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), frame="body")


def contact(b):
    points = [(0.1, 0.1, -0.6), (-0.1, 0.1, -0.6), (0, -0.1, -0.6)]
    law = {"stiffness": 200.0, "damping": 3.0, "friction": 0.4, "stiction": 0.5}
    b.penalty_contact("p", "l1", points, origin=(0, 0, -0.95), normal=(0, 0.6, 0.8), **law)


def thrusters(b):
    b.thruster("th", "l1", (0.1, 0.2, 0.3, 1, 2, 3))
    b.actuator("a0", "j0.wx", gear=2.0)


ROBOTS = {
    "revolute": lambda: chain("revolute", 3, axis="y", stiffness=2.0, damping=0.1, rest=0.2, armature=0.05),
    "screw": lambda: chain("screw", axis="x", pitch=0.2),
    "universal": lambda: chain("universal"),
    "planar": lambda: chain("planar"),
    "translational": lambda: chain("translational", 1, tail),
    "cylindrical": lambda: chain("cylindrical", axis="y"),
    "limits": lambda: chain(
        "revolute", axis="y", lower=-0.1, upper=0.1, limit_stiffness=50.0, limit_damping=0.1, name="limits"
    ),
    "spherical": lambda: chain("spherical"),
    "soft balls": lambda: chain("spherical", stiffness=3.0, damping=0.2, armature=(0.1, 0.3, 0.2)),
    "free": lambda: chain("free"),
    "curve": lambda: chain("spline_curve", 1, tail, frames=ring(), damping=0.1, stiffness=0.5),
    "surface": lambda: chain("spline_surface", 1, tail, controls=sheet()),
    "springs": lambda: chain("revolute", 2, springs, axis="x"),
    "springs on balls": lambda: chain("spherical", 2, springs),
    "contact": lambda: chain("universal", 2, contact),
    "thrusters": lambda: chain("spherical", 2, thrusters),
    "four bar": la.robots.four_bar,
}


def start(name, robot, seed=7):
    """A random state in which all forces act; loops are closed."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv))
    v = 1.5 * rng.normal(size=robot.nv)
    if name == "curve":
        q[0], v[0] = 2.9, 3.0  # into the next segment
    if name == "surface":
        q[:2] = 0.4, 0.6
    if not robot.is_tree:
        q = la.dynamics.close_loops(robot, robot.neutral())
        A = la.dynamics.loop_jacobian(robot, q)[1]
        v -= np.linalg.pinv(A) @ (A @ v)
    return q, v
