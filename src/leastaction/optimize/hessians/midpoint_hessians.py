"""Second derivatives of functions in the middles of steps, for ball and free joints.

With the displacement x = difference(a, b) over a step, both x and the middle integrate(a, x / 2) move with the ends by
matrices that are functions of x alone, so that their changes are one derivative of these matrices. It is carried as the
imaginary part of x + i h e_c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.optimize.functions.manifold_derivatives import COMPLEX_STEP, even, left_jacobian, transport
from leastaction.optimize.functions.motion_functions import Curvature, Place
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.chain_rule import Motion, Piece


def chord_hessian(
    piece: Piece, motion: Motion, place: Place, bar: FloatArray, curvature: Curvature | None
) -> FloatArray:
    """Second derivatives of bar . function by all columns of the piece, shape (elements, n, n)."""
    owner, k, dt = piece.owner, piece.index, motion.dt
    nv, nu, K, timed = owner.mechanism.nv, owner.mechanism.nu, len(piece.index), owner.layout.duration >= 0
    n = sum(columns.index.shape[1] for columns in piece.columns)
    f = piece.function.evaluate(place, True)
    by_q, by_v, by_x = (_pulled(bar, slope, nv) for slope in (f.q, f.v, f.x))
    by_x = by_x + by_v / dt
    A, Q = _ends(owner, owner.chords(motion), k)
    H = np.zeros((K, n, n))
    if curvature is not None and curvature.second is not None:
        P = np.zeros((K, 2 * nv + nu, n))
        P[:, :nv, : 2 * nv], P[:, nv : 2 * nv, : 2 * nv] = Q, A / dt
        for b in range(piece.weights.shape[1]):
            P[:, 2 * nv :, 2 * nv + b * nu : 2 * nv + (b + 1) * nu] = piece.weights[:, b, None, None] * np.eye(nu)
        if timed:
            P[:, nv : 2 * nv, -1] = -place.v / (dt * owner.steps)
        P = P[:, : curvature.second.shape[1]]  # some functions do not know of controls
        H += np.swapaxes(P, 1, 2) @ curvature.second @ P
    H[:, : 2 * nv, : 2 * nv] += _changes(owner, dt * place.v, by_q, by_x, A)
    if timed:
        mixed = -np.einsum("kn,kna->ka", by_v, A) / (dt * dt * owner.steps)
        H[:, : 2 * nv, -1] += mixed
        H[:, -1, : 2 * nv] += mixed
        H[:, -1, -1] += 2.0 * np.einsum("kn,kn->k", by_v, place.v) / (dt * owner.steps) ** 2
    gradient = np.einsum("kn,kna->ka", by_q, Q) + np.einsum("kn,kna->ka", by_x, A)
    return _to_unknowns(piece, motion, gradient, H)


def _pulled(bar: FloatArray, slope: FloatArray | None, n: int) -> FloatArray:
    return np.zeros((len(bar), n)) if slope is None else np.einsum("km,kmn->kn", bar, slope)


def _ends(owner: Any, chords: Any, k: Any) -> tuple[FloatArray, FloatArray]:
    """dx and the displacement of the middle by those of both ends, shape (elements, nv, 2 nv)."""
    return (
        np.concatenate([-chords.x_start[k], chords.x_end[k]], axis=2),
        0.5 * np.concatenate([chords.q_start[k], chords.q_end[k]], axis=2),
    )


def _maps(x: Any) -> tuple[Any, Any]:
    """The same for one joint, from x (..., n) that may be complex; see `Tangents.middles`."""
    start, end = np.linalg.inv(left_jacobian(x)), np.linalg.inv(left_jacobian(-x))
    half = left_jacobian(-0.5 * x)
    middle = [transport(-0.5 * x) - 0.5 * half @ start, 0.5 * half @ end]
    return np.concatenate([-start, end], axis=-1), np.concatenate(middle, axis=-1)


def _changes(owner: Any, x: FloatArray, by_q: FloatArray, by_x: FloatArray, A: FloatArray) -> FloatArray:
    """Second derivatives of by_x . x + by_q . middle by both ends along their tangents, made symmetric."""
    nv = x.shape[1]
    out = np.zeros((len(x), 2 * nv, 2 * nv))
    for group in owner.tangents.groups:
        y, m = x[:, group], group.stop - group.start
        both = np.r_[group.start : group.stop, nv + group.start : nv + group.stop]
        dA, dQ = _maps(y[:, None] + 1j * COMPLEX_STEP * np.eye(m))
        slope = np.einsum("kn,kcna->kac", by_x[:, group], dA.imag) + np.einsum("kn,kcna->kac", by_q[:, group], dQ.imag)
        out[:, both[:, None], both] = even(slope / COMPLEX_STEP @ A[:, group][:, :, both])
    return out


def _to_unknowns(piece: Piece, motion: Motion, gradient: FloatArray, H: FloatArray) -> FloatArray:
    """From tangents at both ends to displacements from the reference."""
    owner, nv = piece.owner, piece.owner.mechanism.nv
    assert motion.turns is not None
    for end in (0, 1):
        points, part = owner.s * (piece.index + end), slice(end * nv, (end + 1) * nv)
        turns = motion.turns[points]
        H[:, :, part] = H[:, :, part] @ turns
        H[:, part] = np.swapaxes(turns, 1, 2) @ H[:, part]
        curvature = owner.tangents.curvature(motion.z[owner.layout.q[points]], gradient[:, part])
        assert curvature is not None
        H[:, part, part] += curvature
    return H
