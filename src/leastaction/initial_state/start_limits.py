"""Starts beyond the limits of joints, and of tendons that are rigid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._display.units import coordinate_units
from leastaction.dynamics.api import body_jacobian, body_poses
from leastaction.dynamics.loops import close_loops, closed_but_for, loop_jacobian, prescribed_freedoms
from leastaction.errors import ConvergenceError
from leastaction.initial_state.initial_motions import places, resting_freedoms
from leastaction.integration.integrators import Stepper
from leastaction.mechanism import Joint, Mechanism, Motion
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.control_forces import tendon_forces, tendon_length
from leastaction.mechanism.kept import kept_with_mechanism
from leastaction.warn import Gathered, warn

STEPS, CLOSED = 200, 1e-9
"""Most steps to close loops within limits, and what counts as closed [m or rad]."""

EXACTLY = (1e-12, 100)
"""Violation of loops within which they are left closed [m or rad], and most iterations for that from nearly closed."""

FURTHEST, SLIGHT = 0.2, 1e-4
"""How far a joint moves in such a step [rad or m], and the weight of doing so, beside that of closing."""

Beyond = Callable[[FloatArray], tuple[float, FloatArray]]
"""How far something is beyond its limits at joint positions (nq,), and the slopes of that by v, shape (nv,)."""

NUDGES = 0.03, 0.3
"""Joints are moved by so much, one this way and one that [rad or m], where no small motion changes a length: along a
stretched limb a rope is as long as it gets.
"""

TURN = 2.0 * np.pi
"""Angles beyond a turn [rad] may have been meant as degrees."""

BEYOND = 1e-3
"""How far beyond a limit a joint must start [rad or m] to be moved: what is less, a step takes back by itself."""


def within_limits(stepper: Stepper, q: FloatArray) -> FloatArray:
    """q with all joints within the rigid limits that act; a warning names those that had to be moved.

    A stop that pushed a joint back would do work on the robot, as much as it takes to get there: a spurious energy
    gain. So the run starts with the joint at its stop.

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
    units = coordinate_units(m)
    moved = _listed([(m.coordinate_names[k], out[k] - q[k], units[k]) for k in beyond])
    follow = ""
    if not m.is_tree:
        out = _closed(m, out, low, high, resting=resting_freedoms(m, stepper.motions))
        carried = [name for name in m.prescribed if (out != q)[places(m, name)[0]].any()]
        follow = f"; {', '.join(map(repr, carried))} is moved to where the joints can follow" if carried else ""
    turned = [group.iq for group in m.coordinate_groups if group.kind == Motion.REVOLUTE]
    there = [k for k in beyond if k in turned and low[k] <= np.radians(q[k]) <= high[k] and abs(q[k]) > TURN]
    hint = f"; angles are in radians, and {q[there[0]]:g} degrees would be within the limits" if there else ""
    warn(
        f"the start lies beyond the limits of joint {moved}; the run starts at the "
        f"limits, so that they add no energy{follow}{hint}"
    )
    return out


def within_rigid_limits(stepper: Stepper, q: FloatArray) -> NDArray[np.bool_]:
    """Of which configurations, shape (n, nq), `within_limits` and `tendons_within_limits` move no joint, shape (n,)."""
    if "limits" not in stepper.acts:
        return np.ones(len(q), bool)
    m = stepper.mechanism
    within = np.all(np.abs(np.clip(q, *_bounds(m)) - q) <= BEYOND, axis=1)
    for k in _rigid_tendons(m):
        within &= np.array([abs(_stretched(m, k, row)[0]) <= BEYOND for row in q], bool)
    return within


def moved_alike(stepper: Stepper, q: FloatArray, robots: NDArray[np.int64], said: Gathered) -> FloatArray:
    """Configurations of several robots, shape (n, nq), moved by `within_limits` and `tendons_within_limits`.

    Args:
        stepper: of the robots, on which limits act.
        q: of them, each of which has to be moved.
        robots: their numbers; said: keeps what is said of them.
    """
    m, out = stepper.mechanism, q.copy()
    single = m.is_tree and not _rigid_tendons(m)
    for k in range(1 if single else len(q)):
        said.turn_to(int(robots[k]))
        out[k] = tendons_within_limits(stepper, within_limits(stepper, q[k]))
    if single:
        clipped = np.clip(q, *_bounds(m))
        out = np.where(np.abs(clipped - q) > BEYOND, clipped, q)
        said.repeat(int(robots[0]), robots[1:].tolist())
    return out


def loops_within_limits(stepper: Stepper, q: FloatArray) -> FloatArray:
    """q, whose loops are closed, with the joints that close them within their limits, too; see `within_limits`."""
    m = stepper.mechanism
    limited = _limited_loops(m) if "limits" in stepper.acts else []
    beyond = [(joint, x) for joint in limited if abs(x := _beyond(m, joint, q)[0]) > BEYOND]
    if not beyond:
        return q
    try:
        out = _closed(m, q, *_bounds(m), [partial(_beyond, m, joint) for joint, _ in beyond])
    except ConvergenceError:
        return q  # a step takes back what it can
    if max(abs(_beyond(m, joint, out)[0]) for joint, _ in beyond) > BEYOND:
        return q
    words = _listed([(j.name, x, "rad" if j.primitives[0].motion == Motion.REVOLUTE else "m") for j, x in beyond])
    warn(
        f"the start lies beyond the limits of joint {words}, which close loops; the run starts at the "
        "limits, so that they add no energy"
    )
    return out


def tendons_within_limits(stepper: Stepper, q: FloatArray) -> FloatArray:
    """q, whose loops are closed, with tendons whose limits are rigid within these; see `within_limits`."""
    m = stepper.mechanism
    rigid = _rigid_tendons(m) if "limits" in stepper.acts else []
    lengths = [tendon_length(m, q, m.tendons[k]) for k in rigid]
    over = [x - float(np.clip(x, m.tendons[k].lower, m.tendons[k].upper)) for k, x in zip(rigid, lengths, strict=True)]
    beyond = [(k, x) for k, x in zip(rigid, over, strict=True) if abs(x) > BEYOND]
    if not beyond:
        return q
    out, (low, high) = q, _bounds(m)
    for nudge in (0.0, *NUDGES):
        aside = nudge * (-1.0) ** np.arange(m.nv)
        aside[prescribed_freedoms(m)] = 0.0
        try:
            near = np.clip(m.integrate(q, aside), low, high)
            out = _closed(m, near, low, high, [partial(_stretched, m, k) for k in rigid])
        except ConvergenceError:
            continue
        if max(abs(_stretched(m, k, out)[0]) for k in rigid) <= BEYOND:
            break
    words = _listed([(m.tendons[k].name, x, "m" if m.tendons[k].via else "m or rad") for k, x in beyond])
    if max(abs(_stretched(m, k, out)[0]) for k in rigid) > BEYOND:
        warn(
            f"the start lies beyond the limits of tendon {words}, and the joints cannot bring it "
            "within them: the steps pull it there by and by, which is spurious work"
        )
        return q
    warn(
        f"the start lies beyond the limits of tendon {words}; the run starts with joints moved so "
        "that they are within them, so that they add no energy"
    )
    return out


def _listed(moved: Sequence[tuple[str, float, str]]) -> str:
    """Names and how far beyond their limits they are, in words."""
    more = f" and {len(moved) - 4} more" if len(moved) > 4 else ""
    return ", ".join(f"{name!r} by {abs(x):.3g} {unit}" for name, x, unit in moved[:4]) + more


def _rigid_tendons(m: Mechanism) -> list[int]:
    """Tendons whose limits are rigid."""
    return [k for k, tendon in enumerate(m.tendons) if tendon.rigid and tendon.is_limited]


def _stretched(m: Mechanism, k: int, q: FloatArray) -> tuple[float, FloatArray]:
    """How far tendon k is beyond its limits at q [m or rad], and the slopes by v, shape (nv,)."""
    tendon, slopes = m.tendons[k], np.zeros(m.nv)
    length = tendon_length(m, q, tendon)
    tendon_forces(m, q, tendon, 1.0, slopes)
    return length - float(np.clip(length, tendon.lower, tendon.upper)), slopes


def _limited_loops(m: Mechanism) -> list[Joint]:
    """Hinges and sliders that close loops within limits."""
    own = (Motion.REVOLUTE, Motion.PRISMATIC)
    single = [j for j in m.loops if len(j.primitives) == 1 and j.primitives[0].motion in own]
    return [j for j in single if np.isfinite([*j.lower, *j.upper]).any()]


def _beyond(m: Mechanism, joint: Joint, q: FloatArray) -> tuple[float, FloatArray]:
    """How far a joint that closes a loop is beyond its limits at q [rad or m], and the slopes by v, shape (nv,)."""
    ends, J = [], []
    for name, inner in ((joint.parent, joint.pose.matrix), (joint.child, joint.child_pose.inverse().matrix)):
        world = name == WORLD
        ends.append((np.eye(4) if world else body_poses(m, q)[m.body_index(name)]) @ inner)
        J.append(np.zeros((6, m.nv)) if world else body_jacobian(m, q, name, frame="origin"))
    (Xa, Xb), across = ends, J[1] - J[0]
    axis = np.array(joint.primitives[0].axis)
    n, x = Xa[:3, :3] @ axis, Xb[:3, 3]
    if joint.primitives[0].motion == Motion.PRISMATIC:
        value, slopes = float(n @ (x - Xa[:3, 3])), n @ (across[3:] + np.cross(across[:3].T, x).T)
    else:
        R = Xa[:3, :3].T @ Xb[:3, :3]
        turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        value, slopes = float(np.arctan2(axis @ turn, np.trace(R) - 1.0)), n @ across[:3]
        middle = 0.5 * (joint.lower[0] + joint.upper[0])
        if np.isfinite(middle):  # the turn that is nearest to what the limits allow
            value += 2.0 * np.pi * round((middle - value) / (2.0 * np.pi))
    return value - float(np.clip(value, joint.lower[0], joint.upper[0])), slopes


def _closed(
    m: Mechanism,
    q: FloatArray,
    low: FloatArray,
    high: FloatArray,
    limited: Sequence[Beyond] = (),
    resting: Sequence[int] = (),
) -> FloatArray:
    """A configuration near q that closes all loops within limits; or else without them.

    Args:
        m: the robot.
        q: joint positions within limits, shape (nq,).
        low, high: limits of all coordinates, shape (nq,).
        limited: what else is to be within its limits, joints that close loops and tendons.
        resting: prescribed degrees of freedom that may start elsewhere, where it cannot be done without.
    """
    given = prescribed_freedoms(m)
    out = _closed_within(m, q, low, high, limited, given)
    if out is None and resting:
        out = _closed_within(m, q, low, high, limited, [j for j in given if j not in resting])
    return close_loops(m, q) if out is None else out


def _closed_within(
    m: Mechanism, q: FloatArray, low: FloatArray, high: FloatArray, limited: Sequence[Beyond], given: Sequence[int]
) -> FloatArray | None:
    """`_closed` by bounded Gauss-Newton steps, with the degrees of freedom `given` where they are; None if in vain."""
    from scipy.optimize import lsq_linear

    single = [(group.iq, group.iv) for group in m.coordinate_groups if group.nv == 1]
    iq, iv = np.array(single, np.int64).reshape(-1, 2).T
    out = q
    for _ in range(STEPS):
        h, A = loop_jacobian(m, out)
        for beyond in limited:
            value, slopes = beyond(out)
            if value != 0.0:
                h, A = np.append(h, value), np.vstack([A, slopes])
        if np.abs(h).max(initial=0.0) <= CLOSED:
            return closed_but_for(m, out, given, *EXACTLY)
        A[:, given] = 0.0
        least, most = np.full(m.nv, -FURTHEST), np.full(m.nv, FURTHEST)
        least[iv] = np.maximum(low[iq] - out[iq], -FURTHEST)
        most[iv] = np.minimum(high[iq] - out[iq], FURTHEST)
        rows, wanted = np.concatenate([A, SLIGHT * np.eye(m.nv)]), np.concatenate([-h, np.zeros(m.nv)])
        bounds = np.minimum(least, -1e-12), np.maximum(most, 1e-12)
        out = m.integrate(out, lsq_linear(rows, wanted, bounds).x)
    return None


@kept_with_mechanism
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
