"""Small mechanisms that touch or rub."""

import math

import numpy as np

import leastaction as la
from leastaction.mechanism import Plane, Pose


def block_on_incline(angle, friction, restitution=0.0, height=0.0):
    """A box with four contact points on a plane that falls along +x; gives (robot, q)."""
    b = la.MechanismBuilder("block")
    b.body("box", mass=2.0, inertia=(0.01, 0.02, 0.025))
    b.free("box")
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        b.contact(f"foot{k}", "box", (0.1 * x, 0.1 * y, -0.05), friction=friction, restitution=restitution)
    turn = (math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
    b.add_shape("world", Plane(pose=Pose((0, 0, 0), turn)))
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    return b.build(), np.array([*((0.05 + height) * normal), *turn])


def slider_on_incline(angle, **properties):
    """A body on a rail that falls along +x."""
    b = la.MechanismBuilder("slider")
    b.body("sled", mass=3.0, inertia=0.1)
    b.prismatic("rail", "world", "sled", axis=(math.cos(angle), 0.0, -math.sin(angle)), **properties)
    return b.build()


def flywheel(mass=4.0, moment=0.5):
    """A wheel on a horizontal axle through its centre of mass."""
    b = la.MechanismBuilder("flywheel")
    b.body("wheel", mass=mass, inertia=(moment, moment, moment))
    b.revolute("axle", "world", "wheel", axis="y")
    return b.build()
