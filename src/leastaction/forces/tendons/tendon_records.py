"""Records of tendons and of servos with force ranges: their force laws, and the items of their lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leastaction.forces.points import Frames, zeroed
from leastaction.mechanism import Mechanism, Muscle, Servo, Tendon
from leastaction.mechanism.drives.actuators import INF, JointActuator
from leastaction.mechanism.drives.tendons import Wrap, has_range, pieces
from leastaction.mechanism.elements import Attachment
from leastaction.mechanism.joints import Motion
from leastaction.mechanism.tree import Tree
from leastaction.spatial.wrapping import CYLINDER, SPHERE, side_of

SEGMENT, HINGE, SLIDE, BENT = range(4)
"""Kinds of items: distance of two points; angle about an axis; displacement along an axis; half of a wrapped path.

A path wrapped around an obstacle on the body `other` is two items, one per end: on `node`, with the other on `third`.
"""

ITEM = np.dtype(
    [
        ("kind", "i8"),
        ("node", "i8"),  # -1 for the world
        ("other", "i8"),
        ("weight", "f8"),  # factor in the length
        ("sign", "f8"),  # of an angle
        ("near", "f8"),  # angles are within half a turn of this, unless the joint position is known
        ("iq", "i8"),  # index of a joint's position in q, and of its velocity in v; -1 for distances
        ("iv", "i8"),
        ("n", "f8", 3),  # axis in the other node
        ("n2", "f8", 3),  # zero direction in the other node
        ("w2", "f8", 3),  # zero direction in the node
        ("pa", "f8", 3),  # points on the other node and on the node
        ("pb", "f8", 3),
        ("third", "i8"),  # node of the other end of a wrapped path; -2 for none
        ("pc", "f8", 3),  # point on it
        ("around", "i8"),  # kind of obstacle, see `spatial.wrapping`; its centre is `pa`, the axis of a cylinder `n`
        ("radius", "f8"),
        ("side", "i8"),  # NO_SIDE, INSIDE or OUTSIDE, see `spatial.wrapping.side_of`
        ("at", "f8", 3),  # side point in the other node, relative to the centre
    ],
    align=True,
)
"""One term of a length."""

NOBODY = -2
"""Placeholder where there is no node."""

TENDON = np.dtype(
    [
        ("first", "i8"),  # index of its first item
        ("count", "i8"),
        ("driven", "i8"),  # whether drives act on it
        ("offset", "f8"),  # added to the length
        ("stiffness", "f8"),
        ("shortest", "f8"),  # slack range of the spring: from ...
        ("longest", "f8"),  # ... to
        ("damping", "f8"),
        ("lower", "f8"),
        ("upper", "f8"),
        ("limit_stiffness", "f8"),
        ("limit_damping", "f8"),
        ("held", "f8"),  # feedback gain of the drives for the length ...
        ("target", "f8"),  # ... relative to this
        ("brake", "f8"),  # ... and for its rate
        ("weakest", "f8"),  # limits of the drives' force
        ("strongest", "f8"),
        ("muscle", "i8"),  # whether the drive is a muscle, controlled by its activation; see `muscle_forces`
        ("gear", "f8"),  # of a muscle
        ("peak", "f8"),
        ("start", "f8"),  # shortest geared length ...
        ("normal", "f8"),  # ... and the same in units of ...
        ("optimal", "f8"),  # ... the optimal length
        ("lmin", "f8"),
        ("lmax", "f8"),
        ("vmax", "f8"),
        ("fpmax", "f8"),
        ("fvmax", "f8"),
    ],
    align=True,
)
"""A tendon: its length and force law."""

Axes = Mapping[int, dict[str, Any]]
"""For each degree of freedom with one axis, the fields of the `ITEM` that measures it."""


@dataclass
class Acting:
    """Source of a `TENDON` record.

    Attributes:
        of: the tendon, servo or muscle.
        joints, stretches: terms of its length, see `Tendon`.
        law: fields of the record.
        controls: indices of the actuators that drive it, and their force per unit of control.
    """

    of: Tendon | Servo | Muscle
    joints: tuple[tuple[str, float], ...]
    stretches: tuple[Any, ...] = ()
    law: dict[str, float] = field(default_factory=dict)
    controls: dict[int, float] = field(default_factory=dict)


def acting(mechanism: Mechanism) -> list[Acting]:
    """Sources of all records: tendons with a force law or with drives, then servos with force ranges, and muscles."""
    named = {t.name: t for t in mechanism.tendons}
    free: dict[str, list[tuple[int, JointActuator]]] = {name: [] for name in named}
    ranged: list[tuple[int, Servo | Muscle]] = []
    for k, a in enumerate(mechanism.actuators):
        if isinstance(a, Servo | Muscle) and has_range(a):
            ranged.append((k, a))
        elif isinstance(a, JointActuator) and a.coordinate in named:
            free[a.coordinate].append((k, a))
    out = [_of_tendon(t, free[t.name]) for t in mechanism.tendons if t.acts or free[t.name]]
    for k, a in ranged:
        tendon = named.get(a.coordinate)
        length = (tendon.joints, tendon.stretches) if tendon else (((a.coordinate, 1.0),), ())
        law = _muscle(a) if isinstance(a, Muscle) else _feedback([a])
        out.append(Acting(a, *length, law=law | _limits(a.force_limits, a.gear), controls={k: a.push}))
    return out


def _limits(force: tuple[float, float] | None, gear: float = 1.0) -> dict[str, float]:
    """Limits of the drives' force, after the gear."""
    low, high = sorted(gear * x if gear else 0.0 for x in force or (-INF, INF))
    return {"weakest": low, "strongest": high} if force else {}


def _muscle(a: Muscle) -> dict[str, float]:
    law = {name: getattr(a, name) for name in ("gear", "peak", "lmin", "lmax", "vmax", "fpmax", "fvmax")}
    return law | {"muscle": 1, "start": a.length_range[0], "normal": a.range[0], "optimal": a.optimal_length}


def _of_tendon(t: Tendon, drives: list[tuple[int, JointActuator]]) -> Acting:
    law = {name: getattr(t, name) for name in ("stiffness", "damping", "limit_stiffness", "limit_damping")}
    law |= {"shortest": t.rest[0], "longest": t.rest[1], "lower": t.lower, "upper": t.upper}
    law |= _feedback([a for _, a in drives if isinstance(a, Servo)]) | _limits(t.force_limits)
    return Acting(t, t.joints, t.stretches, law, {k: a.push for k, a in drives})


def _feedback(servos: list[Servo]) -> dict[str, float]:
    """Combine the feedback of several servos: gain, target and damping."""
    held = sum(a.gear**2 * a.kp for a in servos)
    pull = sum(a.gear * a.kp * a.rest for a in servos)
    brake = sum(a.gear**2 * a.kv for a in servos)
    return {"held": held, "target": pull / held if held else 0.0, "brake": brake}


def tendon_of_control(mechanism: Mechanism) -> dict[int, int]:
    """Record number, counted from one, of each control that acts on a `TENDON` record."""
    return {k: i + 1 for i, a in enumerate(acting(mechanism)) for k in a.controls}


def laws(parts: list[Acting]) -> Any:
    """Build the `TENDON` records without items."""
    tendons = zeroed(len(parts), TENDON)
    tendons.lower = tendons.weakest = -INF
    tendons.upper = tendons.strongest = INF
    for record, part in zip(tendons, parts, strict=True):
        for name, value in part.law.items():
            record[name] = value
        record.driven = bool(part.controls)
    return tendons


def compiled(mechanism: Mechanism, frames: Frames, axes: Axes) -> tuple[Any, Any]:
    """Build the `TENDON` and `ITEM` records."""
    parts = acting(mechanism)
    tendons, items = laws(parts), []
    for record, part in zip(tendons, parts, strict=True):
        record.first = len(items)
        for name, weight in part.joints:
            items.append({**axes[mechanism.velocity_index(name)], "weight": weight})
        for divisor, start, around, end in pieces(part.stretches):
            for own in _piece(frames, start, around, end):
                items.append({"iq": -1, "iv": -1, "weight": 1.0 / divisor, **own})
        record.count = len(items) - record.first
    out = zeroed(len(items), ITEM)
    out.third = NOBODY
    for record, values in zip(out, items, strict=True):
        for name, value in values.items():
            record[name] = value
    return tendons, out


def _piece(frames: Frames, start: Attachment, around: Wrap | None, end: Attachment) -> list[dict[str, Any]]:
    """Items of one piece of a path."""
    (first, X), (last, Y) = frames[start.body], frames[end.body]
    a, b = X.apply(start.point), Y.apply(end.point)
    if around is None:
        return [{"kind": SEGMENT, "other": first, "node": last, "pa": a, "pb": b}]
    node, Z = frames[around.body]
    centre = Z * around.pose
    thing = {"kind": BENT, "other": node, "pa": centre.position, "n": centre.rotation[:, 2], "radius": around.radius}
    thing["around"] = CYLINDER if around.kind == "cylinder" else SPHERE
    side = None
    if around.side is not None:
        side = thing["at"] = np.array(Z.apply(around.side)) - np.array(centre.position)
    thing["side"] = side_of(side, around.radius)
    ends = (first, a), (last, b)
    return [{**thing, "node": own, "pb": x, "third": far, "pc": y} for (own, x), (far, y) in (ends, ends[::-1])]


def middle(lower: float, upper: float) -> float:
    """Reference value for the angle of a joint with these limits."""
    return 0.5 * (lower + upper) if np.isfinite((lower, upper)).all() else 0.0


def tree_axes(tree: Tree) -> Axes:
    """`ITEM` fields for each degree of freedom of a tree that is a node of its own."""
    out = {}
    for span in tree.spans:
        if span.primitive.nv != 1 or span.count != 1:
            continue
        node = tree.nodes[span.first]
        R = node.Rt.reshape(3, 3)
        ends = {"node": span.first, "other": int(node.parent), "sign": 1.0, "n": R[:, 2], "n2": R[:, 0]}
        ends |= {"w2": (1.0, 0.0, 0.0), "pa": node.pt, "kind": HINGE, "iq": int(node.iq), "iv": int(node.iv)}
        if span.primitive.motion == Motion.PRISMATIC:
            ends["kind"] = SLIDE
        ends["near"] = middle(span.joint.lower[span.offset], span.joint.upper[span.offset])
        out[span.iv] = ends
    return out
