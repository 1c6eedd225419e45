"""Robots written as tables: one row per link, with the joint that carries it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leastaction.mechanism import Inertia, MechanismBuilder, Pose
from leastaction.robots._parts import segment

Vector3 = tuple[float, float, float]


class Link(NamedTuple):
    """A link and the hinge that carries it.

    Attributes:
        name, parent: names of the link and of its parent link.
        joint, axis: name and axis of the hinge.
        origin: of the hinge in the parent's frame [m].
        limits: lower and upper [rad].
        effort, velocity: limits of the drive [N m, rad/s].
        mass: [kg].
        com: centre of mass in the link's frame [m].
        moments: (xx, xy, xz, yy, yz, zz) about the centre of mass [kg m^2].
        rpy: roll, pitch, yaw of the hinge's frame in the parent's frame [rad].
        tip: where a link without children ends in pictures [m]; default twice its centre of mass.
    """

    name: str
    parent: str
    joint: str
    axis: str | Vector3
    origin: Vector3
    limits: tuple[float, float]
    effort: float
    velocity: float
    mass: float
    com: Vector3
    moments: tuple[float, float, float, float, float, float]
    rpy: Vector3 = (0.0, 0.0, 0.0)
    tip: Vector3 | None = None


def add_links(b: MechanismBuilder, links: Sequence[Link], *, radius: float, damping: float = 0.0) -> None:
    """Add the links with their hinges, a motor on every hinge, and capsules of `radius` [m] as a picture."""
    for link in links:
        ends = [other.origin for other in links if other.parent == link.name]
        ends = [end for end in ends if np.linalg.norm(end) > 0.01]
        tip = tuple(2.0 * x for x in link.com) if link.tip is None else link.tip
        shapes = [segment((0, 0, 0), end, radius) for end in ends or [tip]]
        b.body(link.name, inertia=Inertia(link.mass, link.com, link.moments), shapes=shapes)
        b.revolute(
            link.joint,
            link.parent,
            link.name,
            axis=link.axis,
            pose=Pose.from_rpy(link.origin, link.rpy),
            limits=link.limits,
            effort_limit=link.effort,
            velocity_limit=link.velocity,
            damping=damping,
        )
    for link in links:
        b.actuator(link.joint, link.joint, limits=(-link.effort, link.effort))
