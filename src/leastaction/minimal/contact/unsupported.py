"""Features of a mechanism that `Minimal` does not support."""

from __future__ import annotations

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.forces.tendons.tendon_records import acting
from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.actuators import BodyActuator
from leastaction.mechanism.drives.servos import feedback
from leastaction.mechanism.drives.tendons import has_range
from leastaction.mechanism.elements import Drag
from leastaction.mechanism.joints import Joint


def acts(joint: Joint) -> bool:
    """Whether a joint that closes a loop has more than constraint equations."""
    own = (joint.stiffness, joint.damping, joint.armature, joint.friction, joint.limit_stiffness)
    return any(map(any, own)) or bool(np.isfinite([*joint.lower, *joint.upper]).any())


def turns(mechanism: Mechanism, *names: str) -> bool:
    """Whether ball or free joints have any of these."""
    return any(
        any(values)
        for joint in mechanism.joints
        for name in names
        for primitive, values in joint.by_primitive(getattr(joint, name))
        if primitive.nv > 1
    )


def servos_turn(mechanism: Mechanism) -> bool:
    """Whether ball joints have servos."""
    given = feedback(mechanism)
    wide = np.array([group.nv > 1 for group in mechanism.coordinate_groups for _ in range(group.nv)], bool)
    return bool(given.turning.any() or given.damping[wide].any())


def refuse_unknown(mechanism: Mechanism, who: str, instead: str, pushes: bool = False) -> None:
    """Raise for a mechanism with one of the `unknown_parts`, naming an alternative."""
    for what in unknown_parts(mechanism, pushes):
        raise IntegratorError(f"{who} knows no {what}, which {mechanism.name!r} has; use {instead}")


def unknown_parts(mechanism: Mechanism, pushes: bool) -> list[str]:
    """Features that `Minimal` does not support; with `pushes` it supports controls and constant wrenches on bodies."""
    m = mechanism
    parts = {
        "loops, couplings or rolling contacts": not pushes and not m.is_tree,
        "rolling contacts": bool(m.rollings),
        "springs, limits and dry friction of joints that close loops": any(map(acts, m.loops)),
        "penalty contacts": bool(m.penalties),
        "drags or other forces on bodies": any(not (pushes and isinstance(x, Drag)) for x in m.forces),
        "springs or cables": not pushes and bool(m.springs or m.cables),
        "external wrenches (gravcomp too)": not pushes and bool(m.wrenches),
        "force ranges of servos": not pushes and any(has_range(a) for a in m.actuators),
        "tendons that act": not pushes and bool(acting(m)),
        "rigid limits of tendons": any(t.rigid and t.is_limited for t in m.tendons),
        "actuators that push on bodies": not pushes and any(isinstance(a, BodyActuator) for a in m.actuators),
        "limits that push back": not pushes and any(any(joint.limit_stiffness) for joint in m.joints),
        "joints along splines": "spline joint" in m.special_parts,
        "springs and dampers of ball and free joints": not pushes and turns(m, "stiffness", "damping"),
        "armatures of ball and free joints": not pushes and turns(m, "armature"),
        "servos of ball joints": not pushes and servos_turn(m),
    }
    return [what for what, there in parts.items() if there]
