"""Joints of UsdPhysics: which motions they leave, within which limits, and by which drives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leastaction.formats._files import Notes
from leastaction.formats.usd._usd_stage import Stage
from leastaction.mechanism import Pose
from leastaction.mechanism.joints import Primitive, prismatic, revolute, spherical

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}

DOFS = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
"""Degrees of freedom of a general joint, by the names of the instances of `LimitAPI` and `DriveAPI`."""

DEGREE = math.pi / 180.0


@dataclass
class Drive:
    """A drive in SI units: force = stiffness (target - x) + damping (speed - dx/dt), no larger than `most`."""

    stiffness: float
    damping: float
    target: float
    speed: float
    most: float


@dataclass
class Dof:
    """One motion that a joint leaves: by its name, about or along an axis of the joint's frame; a ball has none."""

    name: str
    turns: bool
    axis: tuple[float, float, float] | None
    lower: float = -math.inf
    upper: float = math.inf
    drive: Drive | None = None

    def primitive(self, sign: float) -> Primitive:
        """The motion, or with sign -1 the inverse one."""
        if self.axis is None:
            return spherical()
        axis = tuple(sign * x for x in self.axis)
        return revolute(axis) if self.turns else prismatic(axis)


@dataclass
class UsdJoint:
    """A joint between two bodies, in the order of the file.

    Attributes:
        name: in the mechanism.
        prim: of the stage.
        owners: the bodies, or the world.
        frames: of the joint on them.
        dofs: what it leaves, translations first; None for one that holds nothing.
        distance: least and largest distance [m] of a distance joint.
        loop: whether it must not carry a body.
        collide: whether the bodies may touch.
    """

    name: str
    prim: Any
    owners: tuple[str, str]
    frames: tuple[Pose, Pose]
    dofs: list[Dof] | None
    distance: tuple[float, float] | None = None
    loop: bool = False
    collide: bool = False
    properties: dict[str, float] = field(default_factory=dict)

    def motion(self, X: Pose) -> tuple[float, ...]:
        """Coordinates at which the second frame has the pose X in the first, as near as the joint allows."""
        out: list[float] = []
        turns = [dof for dof in self.dofs or () if dof.turns]
        R, (w, *xyz) = X.rotation, X.quaternion
        # R = Rx(a) Ry(b) Rz(c)
        angles = {
            "rotX": math.atan2(-R[1, 2], R[2, 2]),
            "rotY": math.asin(min(1.0, max(-1.0, R[0, 2]))),
            "rotZ": math.atan2(-R[0, 1], R[0, 0]),
        }
        for dof in self.dofs or ():
            if dof.axis is None:
                out += X.quaternion
            elif not dof.turns:
                out.append(float(np.dot(dof.axis, X.position)))
            elif len(turns) == 1:
                angle = 2.0 * math.atan2(float(np.dot(dof.axis, xyz)), w)
                angle = math.remainder(angle, 2.0 * math.pi)
                out.append(_within(angle, dof))
            else:
                out.append(_within(angles[dof.name], dof))
        return tuple(out)


def _within(angle: float, dof: Dof) -> float:
    """An angle, turned by as many whole turns as bring it into the limits, where any do."""
    for turned in (angle, angle - 2.0 * math.pi, angle + 2.0 * math.pi):
        if dof.lower <= turned <= dof.upper:
            return turned
    return angle


def dofs_of(stage: Stage, prim: Any, notes: Notes) -> list[Dof] | None:
    """The motions that a joint leaves; None where it leaves all of them."""
    kind = str(prim.GetTypeName())
    if kind == "PhysicsFixedJoint":
        return []
    if kind == "PhysicsSphericalJoint":
        if max(stage.number(prim, f"physics:coneAngle{k}Limit", -1.0, infinite=True) for k in (0, 1)) > 0.0:
            notes.left_out("cone limit of a spherical joint", str(prim.GetPath()))
        return [Dof("ball", True, None)]
    if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        turns = kind == "PhysicsRevoluteJoint"
        axis = stage.token(prim, "physics:axis", "X", ("X", "Y", "Z"))
        unit = DEGREE if turns else stage.length
        low = unit * stage.number(prim, "physics:lowerLimit", -math.inf, infinite=True)
        high = unit * stage.number(prim, "physics:upperLimit", math.inf, infinite=True)
        if low > high:
            raise stage.error(prim, f"lowerLimit {low / unit:g} is larger than upperLimit {high / unit:g}")
        names = ("angular", f"rot{axis}") if turns else ("linear", f"trans{axis}")
        return [Dof(names[1], turns, AXES[axis], low, high, _drive(stage, prim, names, turns, notes))]
    if kind == "PhysicsJoint":
        return _general(stage, prim, notes)
    raise stage.error(prim, f"joints of the kind {kind!r} are not known")


def _general(stage: Stage, prim: Any, notes: Notes) -> list[Dof] | None:
    """A joint that is free where no limit locks it. Several rotations are hinges in the order x, y, z."""
    out: list[Dof] = []
    for name in DOFS:
        turns = name.startswith("rot")
        unit = DEGREE if turns else stage.length
        low, high = -math.inf, math.inf
        if prim.HasAPI(stage.UsdPhysics.LimitAPI, name):
            low = unit * stage.number(prim, f"limit:{name}:physics:low", -math.inf, infinite=True)
            high = unit * stage.number(prim, f"limit:{name}:physics:high", math.inf, infinite=True)
        if low > high:
            continue  # locked
        out.append(Dof(name, turns, AXES[name[-1]], low, high, _drive(stage, prim, (name,), turns, notes)))
    plain = all(math.isinf(dof.lower) and math.isinf(dof.upper) and dof.drive is None for dof in out)
    if len(out) == 6 and plain:
        return None
    rotations = [dof for dof in out if dof.turns]
    if len(rotations) == 3 and all(math.isinf(x.lower) and math.isinf(x.upper) and x.drive is None for x in rotations):
        return [*(dof for dof in out if not dof.turns), Dof("ball", True, None)]
    return out


def _drive(stage: Stage, prim: Any, names: tuple[str, ...], turns: bool, notes: Notes) -> Drive | None:
    """The drive of a degree of freedom; angles in files are degrees, and stiffnesses per degree."""
    for name in names:
        if not prim.HasAPI(stage.UsdPhysics.DriveAPI, name):
            continue
        at = f"drive:{name}:physics"
        if stage.token(prim, f"{at}:type", "force", ("force", "acceleration")) == "acceleration":
            notes.left_out("drive of type acceleration", str(prim.GetPath()))
            return None
        torque = stage.mass * stage.length**2 if turns else stage.mass * stage.length
        unit = DEGREE if turns else stage.length
        numbers = [
            stage.number(prim, f"{at}:{x}", 0.0) for x in ("stiffness", "damping", "targetPosition", "targetVelocity")
        ]
        most = torque * stage.number(prim, f"{at}:maxForce", math.inf, infinite=True)
        if min(numbers[0], numbers[1], most) < 0.0:
            raise stage.error(prim, f"{at}: stiffness, damping and maxForce must not be negative")
        k, c, x, v = numbers
        return Drive(k * torque / unit, c * torque / unit, x * unit, v * unit, most)
    return None
