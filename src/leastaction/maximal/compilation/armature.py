"""Where the drive inertia (armature) of ball and free joints goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.mechanism.joints import Joint


def add_ball_drives(bodies: Any, coordinates: list[dict[str, Any]]) -> None:
    """Drive inertia of balls and free joints that hang on the world becomes part of the body's own inertia.

    That of a ball between two bodies is part of its coordinate, and acts in `step.ball_drives`.

    Args:
        bodies: `BODY` records.
        coordinates: fields of `COORDINATE` records, of BALL and FREE with their `joint` and its `first` freedom, which
            are taken out.
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
