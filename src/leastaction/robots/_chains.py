"""Open chains and trees written by rule: a serial arm, a spatial chain, a humanoid."""

from __future__ import annotations

from typing import Any

from leastaction.mechanism import Box, Mechanism, MechanismBuilder, Pose, solid_box, solid_cylinder
from leastaction.robots._parts import base, checked, count, segment, thin_rod


def _cylinder(mass: float, end: Any, radius: float) -> dict[str, Any]:
    """A solid cylinder along z from the origin to the height `end[2]` of the next joint."""
    com = (0.5 * end[0], 0.5 * end[1], 0.5 * end[2])
    inertia = solid_cylinder(mass, radius, max(abs(end[2]), radius), com=com)
    return {"inertia": inertia, "shapes": segment((0, 0, 0), end, radius)}


@checked
def serial_arm(dof: int = 7, *, reach: float = 1.4, mass: float = 14.0) -> Mechanism:
    """An upright serial arm with hinges about z and y in turn, straight up at q = 0.

    No particular robot: for the usual seven joints it has the size of common research arms (1.4 m, 14 kg).
    Links taper: each is 0.85 times as heavy and as strong as the one before. Every joint is driven.

    Args:
        dof: number of joints.
        reach: total length [m].
        mass: total mass [kg].
    """
    n, taper = count(dof, "dof"), 0.85
    first = mass * (1.0 - taper) / (1.0 - taper**n)
    b = MechanismBuilder("serial_arm")
    parent, position = "world", (0.0, 0.0, 0.0)
    for k in range(n):
        end = (0.0, 0.0, reach / n)
        name = b.body(f"link{k + 1}", **_cylinder(first * taper**k, end, 0.06 * taper ** (0.5 * k)))
        axis, effort = "zy"[k % 2], 200.0 * taper**k
        options = {"limits": (-2.9, 2.9) if axis == "z" else (-2.0, 2.0), "effort_limit": effort}
        b.revolute(f"joint{k + 1}", parent, name, axis=axis, position=position, **options)
        parent, position = name, end
    for k in range(n):
        effort = 200.0 * taper**k
        b.actuator(f"motor{k + 1}", f"joint{k + 1}", limits=(-effort, effort))
    return b.build()


@checked
def spatial_chain(links: int = 6, *, length: float = 1.0, mass: float = 1.0, radius: float = 0.02) -> Mechanism:
    """A chain of uniform rods on hinges about x and y in turn, hanging from the origin along -z at q = 0.

    The simplest chain that moves in space: a pendulum whose axes alternate.

    Args:
        links: number of rods.
        length: of each rod [m].
        mass: of each rod [kg].
        radius: of each rod [m]; see `pendulum`.
    """
    b = MechanismBuilder("spatial_chain")
    parent, position = "world", (0.0, 0.0, 0.0)
    for k in range(count(links, "links")):
        name = b.body(f"link{k + 1}", **thin_rod(mass, length, radius))
        b.revolute(f"joint{k + 1}", parent, name, axis="xy"[k % 2], position=position)
        parent, position = name, (0.0, 0.0, -length)
    return b.build()


# Per joint: name, axis, offset from the joint before [m], mass that it carries [kg].
_LEG = (
    ("hip_yaw", "z", (0.0, 0.1, -0.05), 1.5),
    ("hip_roll", "x", (0.0, 0.0, 0.0), 1.0),
    ("hip_pitch", "y", (0.0, 0.0, -0.05), 8.0),
    ("knee", "y", (0.0, 0.0, -0.4), 4.5),
    ("ankle_pitch", "y", (0.0, 0.0, -0.4), 0.5),
    ("ankle_roll", "x", (0.0, 0.0, 0.0), 2.0),
)
_BACK = (
    ("back_yaw", "z", (0.0, 0.0, 0.1), 2.0),
    ("back_pitch", "y", (0.0, 0.0, 0.1), 1.5),
    ("back_roll", "x", (0.0, 0.0, 0.05), 30.0),
)
_ARM = (
    ("shoulder_pitch", "y", (0.0, 0.25, 0.4), 3.0),
    ("shoulder_roll", "x", (0.0, 0.05, 0.0), 2.5),
    ("upper_arm_yaw", "z", (0.0, 0.0, -0.1), 2.0),
    ("elbow", "y", (0.0, 0.0, -0.2), 1.5),
    ("forearm_yaw", "z", (0.0, 0.0, -0.1), 1.0),
    ("wrist_pitch", "y", (0.0, 0.0, -0.15), 0.6),
    ("wrist_roll", "x", (0.0, 0.0, 0.0), 0.5),
)
_NECK = (("neck", "y", (0.0, 0.0, 0.5), 4.0),)


@checked
def humanoid_tree(*, floating: bool = True) -> Mechanism:
    """A humanoid with the joints of Atlas but plain numbers: 36 degrees of freedom with its floating base.

    Six for the base, two legs of six, a back of three, two arms of seven and a neck; 104.7 kg. Made for
    timing and tests of trees with branches; links are solid cylinders. All joints are driven, the base is
    not.

    Args:
        floating: False welds the pelvis to the world.
    """
    b = MechanismBuilder("humanoid_tree")
    b.body("pelvis", inertia=solid_box(10.0, (0.2, 0.25, 0.15)), shapes=Box((0.2, 0.25, 0.15), collision=False))
    base(b, "pelvis", floating)

    def limb(rows: Any, parent: str, prefix: str = "", side: float = 1.0) -> str:
        for k, (label, axis, (x, y, z), mass) in enumerate(rows):
            following = rows[k + 1][2] if k + 1 < len(rows) else (0.0, 0.0, 0.1 if z > 0 else -0.1)
            end = (following[0], side * following[1], following[2])
            name = b.body(f"{prefix}{label}_link", **_cylinder(mass, end, 0.03 * mass ** (1.0 / 3.0)))
            b.revolute(f"{prefix}{label}", parent, name, axis=axis, position=(x, side * y, z))
            b.actuator(f"{prefix}{label}", f"{prefix}{label}")
            parent = name
        return parent

    limb(_LEG, "pelvis", "left_")
    limb(_LEG, "pelvis", "right_", -1.0)
    chest = limb(_BACK, "pelvis")
    b.add_shape(chest, Box((0.2, 0.4, 0.45), pose=Pose((0.0, 0.0, 0.2)), collision=False))
    limb(_ARM, chest, "left_")
    limb(_ARM, chest, "right_", -1.0)
    limb(_NECK, chest)
    return b.build()
