"""Decomposition of joints into pieces that the two general constraint functions describe, and their coordinates.

Bruedigam 2023, Appendix B, with universal and screw joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.maximal.maximal_records import BALL, FREE, HINGE, SLIDE
from leastaction.mechanism.closure import angle_marks
from leastaction.mechanism.joints import Joint, Motion, Primitive
from leastaction.mechanism.pose import Pose


@dataclass
class Piece:
    """A joint, or a part of one, that the two general constraint functions describe.

    Attributes:
        joint: the joint that it belongs to.
        primitives: its motions.
        first: index of its first degree of freedom in the joint.
        first_q: index of its first coordinate in the joint.
        a, b: indices of the bodies, -1 for the world.
        Xa, Xb: the joint's frame in a and, moved, in b.
        loop: whether it closes a loop.
        iq, iv: index of its first entry in q and v; -1 for loops.
    """

    joint: Joint
    primitives: tuple[Primitive, ...]
    first: int
    first_q: int
    a: int
    Xa: Pose
    b: int
    Xb: Pose
    loop: bool = False
    iq: int = -1
    iv: int = -1


def split(primitives: tuple[Primitive, ...]) -> list[tuple[Primitive, ...]]:
    """Group primitives into joints of Table B.2 (with universal and screw joints): slides, then at most two turns."""
    groups: list[tuple[Primitive, ...]] = []
    group: tuple[Primitive, ...] = ()
    for p in primitives:
        if group and not _fits(group, p):
            groups.append(group)
            group = ()
        group = (*group, p)
    return [*groups, group] if group else groups


def _fits(group: tuple[Primitive, ...], p: Primitive) -> bool:
    slides = [x for x in group if x.motion == Motion.PRISMATIC]
    turns = [x for x in group if x.motion != Motion.PRISMATIC]
    if p.motion == Motion.PRISMATIC:
        return not turns and all(abs(np.dot(p.axis, x.axis)) < 1e-12 for x in slides)
    if p.motion == Motion.SPHERICAL:
        return not turns
    if p.motion == Motion.REVOLUTE:
        hinges = [x for x in turns if x.motion == Motion.REVOLUTE]
        if len(turns) != len(hinges) or len(turns) > 1:
            return False
        return not hinges or float(np.linalg.norm(np.cross(p.axis, hinges[0].axis))) > 1e-6
    return False  # a screw or a free motion is a piece of its own


def piece_coordinates(piece: Piece) -> list[dict[str, Any]]:
    """Fields of the `COORDINATE` records of a piece."""
    joint, Xa, Xb = piece.joint, piece.Xa, piece.Xb
    base = {"a": piece.a, "b": piece.b, "pa": Xa.position, "pb": Xb.position, "sign": 1.0, "edge": -1}
    base |= {"Ra": Xa.rotation.ravel(), "Rb": Xb.rotation.ravel(), "lower": -np.inf, "upper": np.inf}
    hinges = [p for p in piece.primitives if p.motion == Motion.REVOLUTE]
    out = []
    k, kq, iq, iv = piece.first, piece.first_q, piece.iq, piece.iv
    for p in piece.primitives:
        at = {"iq": iq, "iv": iv} if not piece.loop else {"iq": -1, "iv": -1}
        if p.motion in (Motion.SPHERICAL, Motion.FREE):
            c = {**base, **at, "kind": BALL if p.motion == Motion.SPHERICAL else FREE, "joint": joint, "first": k}
            c["damping"] = np.resize([*joint.damping[k : k + p.nv], 0.0, 0.0, 0.0], 6)
            acts = any(joint.damping[k : k + p.nv]) or any(joint.stiffness[k : k + p.nv])
            if piece.loop and acts:
                raise IntegratorError(
                    f"Maximal: a {joint.kind} joint that closes a loop ({joint.name!r}) has no spring"
                )
        else:
            c = {**base, **at, "kind": SLIDE if p.motion == Motion.PRISMATIC else HINGE}
            c |= _axis(p, hinges, Xa, Xb, base) | {"pitch": p.pitch}
            for name in ("armature", "friction", "lower", "upper"):
                c[name] = getattr(joint, name)[k]
            if joint.limit_stiffness[k] > 0.0:  # soft limits are forces, not rigid
                c["lower"], c["upper"] = -np.inf, np.inf
            c["damping"] = (joint.damping[k], 0, 0, 0, 0, 0)
            c["rest"] = joint.rest[kq]
            c["stiffness"] = joint.stiffness[k] if piece.loop else 0.0
        out.append(c)
        k, kq, iq, iv = k + p.nv, kq + p.nq, iq + p.nq, iv + p.nv
    return out


def _axis(p: Primitive, hinges: list[Primitive], Xa: Pose, Xb: Pose, base: dict[str, Any]) -> dict[str, Any]:
    """Axis and zero marks of a slide or hinge."""
    Ra, Rb = Xa.rotation, Xb.rotation
    if p.motion == Motion.PRISMATIC:
        return {"n": Ra @ np.array(p.axis)}
    if len(hinges) < 2:
        return angle_marks(p.axis, Ra, Rb)
    first, second = (np.array(h.axis) for h in hinges)
    if p is hinges[0]:
        # The second axis, fixed in b, rotates about the first one by the first angle.
        return {"n": Ra @ first, "n2": Ra @ _across(second, first), "w2": Rb @ second}
    # In b, the first axis rotates about the second one by minus the second angle.
    swap = {"a": base["b"], "b": base["a"], "pa": base["pb"], "pb": base["pa"], "sign": -1.0}
    return {**swap, "n": Rb @ second, "n2": Rb @ _across(first, second), "w2": Ra @ first}


def _across(v: Any, n: Any) -> Any:
    """Unit vector along the component of v orthogonal to n."""
    u = v - n * (n @ v)
    return u / np.linalg.norm(u)
