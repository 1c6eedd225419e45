"""Starts beyond the limits of joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics.loops import close_loops
from leastaction.integrators import Stepper
from leastaction.mechanism.arguments import FloatArray
from leastaction.warn import warn

BEYOND = 1e-3
"""How far beyond a limit a joint must start [rad or m] to be moved: what is less, a step takes back by itself."""


def within_limits(stepper: Stepper, q: FloatArray) -> FloatArray:
    """q with all joints within the rigid limits that act; a warning names those that had to be moved.

    A stop that pushed a joint back would do work on the robot, as much as it takes to get there: energy from nowhere.
    So the run starts with the joint at its stop.

    Args:
        stepper: of the run; where limits do not act with it, q stays what it is.
        q: joint positions [rad or m], shape (nq,).
    """
    m = stepper.mechanism
    if "limits" not in stepper.acts:
        return q
    out, at, moved = q.copy(), 0, []
    for joint in m.joints:
        names = joint.coordinate_names()
        for k, (low, high, soft) in enumerate(_limits(joint)):
            x = out[at + k]
            if not soft and max(low - x, x - high) > BEYOND:
                out[at + k] = min(max(x, low), high)
                moved.append(f"{names[k]!r} by {abs(out[at + k] - x):.3g}")
        at += joint.nq
    if not moved:
        return q
    more = f" and {len(moved) - 4} more" if len(moved) > 4 else ""
    warn(
        f"the start lies beyond the limits of joint {', '.join(moved[:4])}{more} [rad or m]; the run starts at the "
        "limits, so that they add no energy"
    )
    return out if m.is_tree else close_loops(m, out)


def _limits(joint: Any) -> list[tuple[float, float, bool]]:
    """Lower and upper limit of each coordinate of a joint, and whether it is soft; none for turns without an axis."""
    limits = []
    for primitive, values in joint.by_primitive(
        list(zip(joint.lower, joint.upper, joint.limit_stiffness, strict=True))
    ):
        if primitive.nq == primitive.nv:
            limits += [(low, high, soft > 0.0) for low, high, soft in values]
        else:
            limits += [(-np.inf, np.inf, False)] * primitive.nq
    return limits
