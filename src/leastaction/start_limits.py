"""Starts beyond the limits of joints."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.loops import close_loops, loop_jacobian, prescribed_freedoms
from leastaction.integrators import Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.warn import warn

STEPS, CLOSED = 200, 1e-9
"""Most steps to close loops within limits, and what counts as closed [m or rad]."""

FURTHEST, SLIGHT = 0.2, 1e-4
"""How far a joint moves in such a step [rad or m], and the weight of doing so, beside that of closing."""

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
    low, high = _bounds(m)
    out = np.clip(q, low, high)
    out = np.where(np.abs(out - q) > BEYOND, out, q)
    beyond = np.flatnonzero(out != q)
    if not len(beyond):
        return q
    moved = [f"{m.coordinate_names[k]!r} by {abs(out[k] - q[k]):.3g}" for k in beyond]
    more = f" and {len(moved) - 4} more" if len(moved) > 4 else ""
    warn(
        f"the start lies beyond the limits of joint {', '.join(moved[:4])}{more} [rad or m]; the run starts at the "
        "limits, so that they add no energy"
    )
    return out if m.is_tree else _closed(m, out, low, high)


def within_rigid_limits(stepper: Stepper, q: FloatArray) -> NDArray[np.bool_]:
    """Of which configurations, shape (n, nq), `within_limits` moves no joint, shape (n,)."""
    if "limits" not in stepper.acts:
        return np.ones(len(q), bool)
    return np.all(np.abs(np.clip(q, *_bounds(stepper.mechanism)) - q) <= BEYOND, axis=1)


def _closed(m: Mechanism, q: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """A configuration near q that closes all loops within limits, by bounded Gauss-Newton steps; or else without them.

    Args:
        m: the robot.
        q: joint positions within limits, shape (nq,).
        low, high: limits of all coordinates, shape (nq,).
    """
    from scipy.optimize import lsq_linear

    single = [(group.iq, group.iv) for group in m.coordinate_groups if group.nv == 1]
    iq, iv = np.array(single, np.int64).reshape(-1, 2).T
    given, out = prescribed_freedoms(m), q
    for _ in range(STEPS):
        h, A = loop_jacobian(m, out)
        if np.abs(h).max(initial=0.0) <= CLOSED:
            return close_loops(m, out)
        A[:, given] = 0.0
        least, most = np.full(m.nv, -FURTHEST), np.full(m.nv, FURTHEST)
        least[iv] = np.maximum(low[iq] - out[iq], -FURTHEST)
        most[iv] = np.minimum(high[iq] - out[iq], FURTHEST)
        rows, wanted = np.concatenate([A, SLIGHT * np.eye(m.nv)]), np.concatenate([-h, np.zeros(m.nv)])
        bounds = np.minimum(least, -1e-12), np.maximum(most, 1e-12)
        out = m.integrate(out, lsq_linear(rows, wanted, bounds).x)
    return close_loops(m, q)


@lru_cache(maxsize=32)
def _bounds(m: Mechanism) -> tuple[FloatArray, FloatArray]:
    """Rigid limits of all coordinates, shape (nq,) each; infinite where there are none."""
    limits = [(-np.inf, np.inf) if soft else (low, high) for joint in m.joints for low, high, soft in _limits(joint)]
    low, high = np.array(limits, float).reshape(-1, 2).T
    low.flags.writeable = high.flags.writeable = False
    return low, high


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
