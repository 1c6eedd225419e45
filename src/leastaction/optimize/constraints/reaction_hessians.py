"""Second derivatives of what holds the robot: feet, contacts, and their impulses in the dynamics.

dA of `Reaction.equations` holds second derivatives of the equations along the tangents; products with forces and
velocities add first ones. The slip of balls, whose Jacobian is no gradient, is left to differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.functions.manifold_derivatives import CENTRAL_STEP, even
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.constraints.contact_implicit import ContactReaction
    from leastaction.optimize.constraints.reactions import Reaction
    from leastaction.optimize.transcriptions.chain_rule import Motion
    from leastaction.optimize.transcriptions.transcription import Transcription

IntArray = NDArray[np.int64]


def by_unknowns(
    owner: Transcription, motion: Motion, points: IntArray, second: FloatArray, first: FloatArray
) -> FloatArray:
    """Second derivatives by the unknowns of control points, from those along the tangents there (points, nv, nv).

    first: first derivatives along the tangents, shape (points, nv).
    """
    second = even(second)
    if motion.turns is None:
        return second
    turns = motion.turns[points]
    curvature = owner.tangents.curvature(motion.z[owner.layout.q[points]], first)
    assert curvature is not None
    return curvature + np.swapaxes(turns, 1, 2) @ second @ turns


def weighted(r: Reaction, motion: Motion, at: slice | IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Second (points, nv, nv) and first (points, nv) derivatives along the tangents of weights . equations.

    at: which of the reaction's control points; weights: shape (points, equations).
    """
    _, A, dA = r.equations(motion, True)
    return contracted(weights, dA[at]), contracted(weights, A[at])


def contracted(weights: FloatArray, blocks: FloatArray) -> FloatArray:
    """Sums over m of weights (points, m) times blocks (points, m, ...)."""
    points, m, *rest = blocks.shape
    return (weights[:, None] @ blocks.reshape(points, m, -1)).reshape(points, *rest)


def gap_bends(
    r: ContactReaction, motion: Motion, at: slice, gap: FloatArray, steep: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """As `weighted`, of gap times the gap, and steep times how far the ground is from level, shape (points,) each."""
    h, A, _ = r.equations(motion, True)
    weights, outer = np.zeros((len(gap), A.shape[1])), np.zeros(len(gap))
    weights[:, r.axes[2]] = gap
    k = r.axes[0]
    if k < 0 or not r.terrain.edges:
        return weighted(r, motion, at, weights)
    x = h[at, k]
    weights[:, k] -= gap * r.terrain.height(x)[1]
    height, level = r.terrain.curvature(x)
    outer -= gap * height
    if steep is not None:
        weights[:, k] += steep * r.terrain.steepness(x)[1]
        outer += steep * level
    second, first = weighted(r, motion, at, weights)
    if outer.any():
        second = second + outer[:, None, None] * A[at, k, :, None] * A[at, k, None, :]
    return second, first


def slip_bends(
    r: ContactReaction, motion: Motion, at: slice, rates: FloatArray, bar: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """As `weighted`, of bar (points, slides) times places along the directions of slip times rates (points, 1)."""
    weights = np.zeros((len(bar), len(r.rows)))
    weights[:, r.slides] = rates * bar
    return weighted(r, motion, at, weights)


def impulse_bends(r: Reaction, motion: Motion, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Second derivatives of Y . impulses at each control point: by its configuration twice, and by it and the forces.

    With the equations' sum phi = w dt (F f) . h, Y . impulses is the derivative of phi along Y; its second derivatives
    are how those of phi change along Y, by a central difference of analytic ones. Derivatives along the
    tangents of ball and free joints do not commute: brackets with Y make up for that.

    Args:
        r: the reaction.
        motion: at which.
        Y: multipliers of the rows of the control points, shape (points, nv).

    Returns:
        By the unknowns, shapes (points, nv, nv) and (points, nv, forces).
    """
    owner, m = r.owner, r.owner.mechanism
    _, _, dA = r.equations(motion, True)
    w = (motion.dt * r.shares)[:, None] * (r.forces(motion.z) @ r.drives.T)
    T = contracted(w, dA)
    size = np.maximum(np.abs(Y).max(axis=1, keepdims=True), 1e-300)
    q = motion.q[r.points]
    ahead, back = (r.jacobian_slopes(m.integrate(q, sign * CENTRAL_STEP * Y / size)) for sign in (1.0, -1.0))
    third = contracted(w, ahead - back) * (size / (2.0 * CENTRAL_STEP))[:, :, None]
    brackets = owner.tangents.brackets(Y)
    if brackets is not None:
        third = third + np.einsum("pjc,pic->pij", brackets, T) + np.einsum("pic,pcj->pij", brackets, T)
    second = by_unknowns(owner, motion, r.points, third, np.einsum("pk,pkj->pj", Y, T))
    along_Y = (Y[:, None, None] @ dA)[:, :, 0]  # (points, m, nv)
    by_f = (motion.dt * r.shares)[:, None, None] * (np.swapaxes(along_Y, 1, 2) @ r.drives)
    if motion.turns is not None:
        by_f = np.swapaxes(motion.turns[r.points], 1, 2) @ by_f
    return second, by_f
