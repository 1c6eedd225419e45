"""Rigid limits of tendons: ropes between two bodies, whose length is a coordinate with limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.maximal.maximal_records import ROPE
from leastaction.mechanism import Mechanism, Pose, Tendon
from leastaction.mechanism.drives.tendons import pieces

Frames = dict[str, tuple[int, Pose]]
Coordinates = list[dict[str, Any]]


def ropes(mechanism: Mechanism, frames: Frames, coordinates: Coordinates) -> tuple[Coordinates, Mechanism]:
    """Coordinates of the tendons with rigid limits, and the mechanism with these limits removed from its tendons.

    Where a path connects more than two bodies, or two of them by several pieces, its limits are springs.

    Args:
        mechanism: the robot.
        frames: body of the model, and pose in it, of each body by name.
        coordinates: those of the joints.
    """
    out: Coordinates = []
    tendons = []
    for tendon in mechanism.tendons:
        own = _rope(mechanism, frames, coordinates, tendon) if tendon.rigid and tendon.is_limited else None
        if own is None and tendon.rigid and not tendon.limit_stiffness:
            raise IntegratorError(
                f"Maximal: the limits of tendon {tendon.name!r} are rigid, which only those of a straight path between "
                "two bodies and of a single joint can be; give limit_stiffness [N/m]"
            )
        if own is not None:
            out.append(own)
            tendon = tendon.unlimited
        tendons.append(tendon)
    return out, mechanism.replace(tendons=tuple(tendons)) if out else mechanism


def _rope(mechanism: Mechanism, frames: Frames, coordinates: Coordinates, t: Tendon) -> dict[str, Any] | None:
    """Coordinate for the length of a tendon; None unless it is a straight path between two bodies or one joint."""
    if t.joints:
        return _of_joint(mechanism, coordinates, t)
    rest, found = 0.0, []
    for divisor, start, around, end in pieces(t.stretches):
        (a, X), (b, Y) = frames[start.body], frames[end.body]
        x, y = np.array(X.apply(start.point)), np.array(Y.apply(end.point))
        if around is None and a == b:
            rest += float(np.linalg.norm(y - x)) / divisor
            continue
        found.append((divisor, a, x, b, y))
        if around is not None or len(found) > 1:
            return None
    if not found:
        return None
    divisor, a, x, b, y = found[0]
    own = {"kind": ROPE, "a": a, "b": b, "pa": x, "pb": y, "pitch": 1.0 / divisor, "rest": rest, "sign": 1.0}
    # A lower limit at or below `rest` never acts; at zero length the direction of the path is undefined.
    return own | {"iq": -1, "iv": -1, "lower": t.lower if t.lower > rest else -np.inf, "upper": t.upper}


def _of_joint(mechanism: Mechanism, coordinates: Coordinates, t: Tendon) -> dict[str, Any] | None:
    """Coordinate for a tendon along one joint: the joint's with the tendon's limits; None for several joints."""
    name, weight = next(iter(t.joints))
    if len(t.joints) > 1 or not weight:
        return None
    iv = mechanism.velocity_index(name)
    joint = next(c for c in coordinates if c["iv"] == iv)
    bounds = sorted((t.lower / weight, t.upper / weight))
    free = {"stiffness": 0.0, "damping": (0.0,) * 6, "armature": 0.0, "friction": 0.0}
    return {**joint, **free, "iv": -1, "lower": bounds[0], "upper": bounds[1]}
