"""Armature (reflected inertia) of ball and free joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.mechanism.joints import Joint


def add_ball_drives(bodies: Any, coordinates: list[dict[str, Any]]) -> None:
    """Add the armature of ball and free joints on the world to the inertia of their bodies.

    That of a ball joint between two bodies is stored in its coordinate, and acts in `step.forces.ball_drives`.

    Args:
        bodies: `BODY` records.
        coordinates: fields of `COORDINATE` records; removes `joint` and `first` (first freedom) from those of BALL and
            FREE.
    """
    for c in coordinates:
        if c["kind"] not in (BALL, FREE):
            continue
        joint: Joint = c.pop("joint")
        first = c.pop("first")
        values = joint.armature[first : first + (3 if c["kind"] == BALL else 6)]
        if not any(values):
            continue
        if c["a"] >= 0 and c["kind"] == BALL:
            c["armature"] = max(values)
        elif c["a"] >= 0:
            raise IntegratorError(
                f"Maximal: joint {joint.name!r} has armature, which a {joint.kind} joint may only have on the world"
            )
        else:
            R, b = np.asarray(c["Rb"]).reshape(3, 3), bodies[c["b"]]
            b.J = (b.J.reshape(3, 3) + R @ np.diag(values[:3]) @ R.T).ravel()
