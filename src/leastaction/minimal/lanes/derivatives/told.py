"""The momentum that is told at the start of a part, and its derivatives; see `lanes.pressed`.

With b = P + mean N' f and the velocities u = (1 - mean) v- + mean v+, where forces press,

    p = b + N' a,    v = M^-1 p,    N v = N u,

so that for changes of b, u and the joints, N M^-1 N' da = N du + dN (u - v) - N M^-1 (db + dN' a - dM v), and
dp = db + N' da + dN' a. Which of the cones hold is fixed by the solution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics import mass_matrix
from leastaction.dynamics.legendre import momentum_slopes
from leastaction.minimal.lanes.derivatives.laws import Laws, frame_changes, impulse_slopes, rate_slopes, sides_of
from leastaction.minimal.lanes.derivatives.smooth import Placed, Smooth
from leastaction.minimal.lanes.derivatives.solved import Solved
from leastaction.minimal.lanes.derivatives.touching import Changes, Touching
from leastaction.minimal.lanes.derivatives.turning import torque_slopes, turn_rates
from leastaction.minimal.lanes.lane_records import DRY

FloatArray = NDArray[np.float64]

SAME = 1e-9
"""Compliances below this, relative to the largest, are of directions that say the same."""


class Held(NamedTuple):
    """What k directions hold.

    Attributes:
        N: what unit impulses along them do along the joints, shape (k, nv).
        a: the impulses, shape (k,).
        inverse: of M, with what of dampers is late, shape (nv, nv).
        stiffness: pseudo-inverse of N M^-1 N', shape (k, k).
        v: velocities that are told, shape (nv,).
    """

    N: FloatArray
    a: FloatArray
    inverse: FloatArray
    stiffness: FloatArray
    v: FloatArray


class ToldSlopes(NamedTuple):
    """Derivatives of the momentum by q at fixed b and u, by b and by u, each shape (nv, nv)."""

    by_q: FloatArray
    by_b: FloatArray
    by_u: FloatArray


def velocities_of(solved: Solved) -> FloatArray:
    """The velocities u."""
    return (1.0 - solved.mean) * solved.near + solved.mean * solved.rates


def held(solved: Solved, smooth: Smooth, found: Laws) -> Held:
    """What the directions of a part on whose cones forces press hold; `found`: its laws in a mechanism."""
    nv, M = len(solved.p), mass_matrix(smooth.mechanism, solved.q0)
    k, d, before = smooth.single, smooth.dofs[smooth.single], solved.before
    M[k, k] += np.maximum(0.5 * before * (d.damping - 0.5 * before * d.servo) - d.holds, 0.0)
    stops = np.zeros((int(solved.stops_hold.sum()), nv))
    for row, k in enumerate(np.flatnonzero(solved.stops_hold)):
        stops[row, solved.stops.dof[k]] = 1.0 if solved.stops.kind[k] == DRY else solved.side[k]
    about = found.turning.columns[solved.turns_hold[found.turning.which]]
    N = np.concatenate([found.columns[solved.holds], about, stops, found.loops])
    inverse = np.asarray(np.linalg.inv(M), np.float64)
    stiffness = np.asarray(np.linalg.pinv(N @ inverse @ N.T, rcond=SAME, hermitian=True), np.float64)
    b = solved.p + solved.mean * found.kick
    a = stiffness @ (N @ (velocities_of(solved) - inverse @ b))
    return Held(N, a, inverse, stiffness, inverse @ (b + N.T @ a))


def told_momentum(solved: Solved, smooth: Smooth, found: Laws) -> FloatArray:
    """The momentum, shape (nv,)."""
    b = solved.p + solved.mean * found.kick
    if not solved.pressed:
        return b
    holds = held(solved, smooth, found)
    return b + holds.N.T @ holds.a


def told_slopes(
    solved: Solved, smooth: Smooth, placed: Placed, touch: Touching, found: Laws, change: Changes
) -> ToldSlopes:
    """Its derivatives; `change`: of its contacts, see `touching.changes`."""
    n, m = len(solved.p), len(touch.phi)
    if not solved.pressed:
        return ToldSlopes(np.zeros((n, n)), np.eye(n), np.zeros((n, n)))
    h = held(solved, smooth, found)
    (impulses, torques), by_rates = np.zeros((2, m, 3)), np.zeros((len(h.a), n))
    count, turns = int(solved.holds.sum()), int(solved.turns_hold.sum())
    impulses[solved.holds], torques[solved.turns_hold] = h.a[:count], h.a[count : count + turns]
    turned = np.zeros((n, n))
    if m:
        turned = impulse_slopes(smooth, placed, touch, change, impulses)
        by_rates[:count] = rate_slopes(smooth, placed, touch, change, velocities_of(solved) - h.v)[solved.holds]
    if turns:
        sides, frames, rest = sides_of(smooth, touch), frame_changes(touch, change), velocities_of(solved) - h.v
        turned = turned + torque_slopes(smooth, placed, touch, sides, frames, torques)
        rates = turn_rates(smooth, placed, touch, sides, frames, rest)
        by_rates[count : count + turns] = rates[solved.turns_hold]
    if len(solved.loops):
        own, bends = slice(len(h.a) - len(solved.loops), len(h.a)), smooth.bends(solved.q0)
        turned = turned + np.einsum("k,kab->ab", h.a[own], bends)
        by_rates[own] = (velocities_of(solved) - h.v) @ bends
    heavier = momentum_slopes(smooth.mechanism, np.tile(solved.q0, (n, 1)), np.tile(h.v, (n, 1)), np.eye(n))
    back = h.N.T @ h.stiffness
    by_q = turned + back @ (by_rates - h.N @ h.inverse @ (turned - heavier))
    return ToldSlopes(by_q, np.eye(n) - back @ h.N @ h.inverse, back @ h.N)
