"""What the multifrontal factorisation reads and writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.optimize.solvers.kkt_system.bunch_kaufman import VECTOR
from leastaction.typing import FloatArray

IntArray = NDArray[np.int64]


class FrontModel(NamedTuple):
    """Which unknowns and entries belong to which stage.

    Attributes:
        first, ids: unknowns that enter at stage k are ids[first[k] : first[k + 1]].
        entries, rows, columns, slots: entries of stage k, matrix[rows, columns] += values[slots], one triangle alone.
        last: last stage that mentions an unknown.
        partner: unknown with which one that has few neighbours leaves best, such as a control with the dynamics that it
            drives; -1 for those with many.
        thin, thin_slots: unknowns that may leave before all stages, and both slots of their diagonals (thin, 2).
        around, near, near_slots: neighbours of thin unknown n are near[around[n] : around[n + 1]], with their slots.
        pairs: where the fill of a thin unknown begins.
        fills, fill_rows, fill_columns, fill_slots: as `entries`, for the fill.
    """

    first: IntArray
    ids: IntArray
    entries: IntArray
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    slots: NDArray[np.uint32]
    last: IntArray
    partner: IntArray
    thin: IntArray
    thin_slots: IntArray
    around: IntArray
    near: IntArray
    near_slots: IntArray
    pairs: IntArray
    fills: IntArray
    fill_rows: IntArray
    fill_columns: IntArray
    fill_slots: IntArray


class FrontData(NamedTuple):
    """Factors and scratch.

    Attributes:
        F, G: fronts, upper triangles, shape (room, room).
        F_flat, G_flat: their memory in one row, and one number more for entries of unknowns that are gone.
        W: rows of the pivots before they are divided, shape (room, room).
        x: scratch (room,).
        near: places of nonzeros, shape (3, room).
        dense: pivots of a stage whose rows are full, shape (room,).
        fresh: how many of them are in a row already, shape (room,).
        at: place of an unknown in the front, shape (unknowns,).
        listed: stage at which an unknown was taken up last, or LEFT, shape (unknowns,).
        front, others: unknowns of the fronts, shape (room,).
        carried: unknowns that came to stage k from the stage before, in order, shape (stages, room).
        goes_to: their places in its front, shape (stages, room).
        listing: unknowns of its front before pivots exchange them, shape (stages, room).
        plan: how many are carried, may leave, and are in the front, shape (stages, 3); -1: not known yet.
        entry_places, fill_places: where in its front, in one row, the entries and the fill of a stage go.
        size, pivots: of the front of each stage, and how many unknowns leave it, shape (stages,).
        members, offsets: unknowns of all fronts, those that leave first; where those of a stage begin.
        factor, places, starts: entries of the rows of L', their places in the front, where those of a pivot begin.
        whole: whether a row has all entries from the diagonal on; of others the nonzeros are kept, shape (unknowns,).
        d, e: entries of D on the diagonal and beside it, in the order of elimination; e != 0 at the first of two rows.
        counts: positive, negative and vanishing pivots, and the largest front.
        fill: what thin unknowns leave behind, shape (pairs,).
        ratios, thin_pivots: their rows of L', shape (neighbours,), and pivots, zero for those that stayed.
        early: whether an unknown had a neighbour that left before all stages, shape (unknowns,).
    """

    F: FloatArray
    G: FloatArray
    F_flat: FloatArray
    G_flat: FloatArray
    W: FloatArray
    x: FloatArray
    near: IntArray
    dense: IntArray
    fresh: IntArray
    at: IntArray
    listed: IntArray
    front: IntArray
    others: IntArray
    carried: NDArray[np.int32]
    goes_to: NDArray[np.int32]
    listing: NDArray[np.int32]
    plan: IntArray
    entry_places: NDArray[np.uint32]
    fill_places: NDArray[np.uint32]
    size: IntArray
    pivots: IntArray
    members: IntArray
    offsets: IntArray
    factor: FloatArray
    places: NDArray[np.int32]
    starts: IntArray
    whole: NDArray[np.bool_]
    d: FloatArray
    e: FloatArray
    counts: IntArray
    fill: FloatArray
    ratios: FloatArray
    thin_pivots: FloatArray
    early: NDArray[np.bool_]


def front_data(model: FrontModel, room: int, members: int, factor: int) -> FrontData:
    """Memory for fronts of at most `room` unknowns, `members` in all, and `factor` nonzeros of L."""
    stages, count = len(model.first) - 1, len(model.ids)
    room = (room + VECTOR - 1) // VECTOR * VECTOR
    F, G, W = (_aligned(room) for _ in range(3))
    return FrontData(
        F=F[:-1].reshape(room, room),
        G=G[:-1].reshape(room, room),
        F_flat=F,
        G_flat=G,
        W=W[:-1].reshape(room, room),
        x=np.zeros(room),
        near=np.zeros((3, room), np.int64),
        dense=np.zeros(room, np.int64),
        fresh=np.zeros(room, np.int64),
        at=np.zeros(count, np.int64),
        listed=np.zeros(count, np.int64),
        front=np.zeros(room, np.int64),
        others=np.zeros(room, np.int64),
        carried=np.zeros((stages, room), np.int32),
        goes_to=np.zeros((stages, room), np.int32),
        listing=np.zeros((stages, room), np.int32),
        plan=np.full((stages, 3), -1),
        entry_places=np.zeros(len(model.rows), np.uint32),
        fill_places=np.zeros(len(model.fill_rows), np.uint32),
        size=np.zeros(stages, np.int64),
        pivots=np.zeros(stages, np.int64),
        members=np.zeros(members, np.int64),
        offsets=np.zeros(stages + 1, np.int64),
        factor=np.zeros(factor),
        places=np.zeros(factor, np.int32),
        starts=np.zeros(count + 1, np.int64),
        whole=np.zeros(count, np.bool_),
        d=np.zeros(count),
        e=np.zeros(count),
        counts=np.zeros(4, np.int64),
        fill=np.zeros(int(model.pairs[-1])),
        ratios=np.zeros(len(model.near)),
        thin_pivots=np.zeros(len(model.thin)),
        early=np.zeros(count, np.bool_),
    )


def _aligned(room: int) -> FloatArray:
    """Zeros (room * room + 1,) that begin with a line of the processor's cache."""
    numbers = np.zeros(room * room + VECTOR)
    first = -(numbers.ctypes.data // numbers.itemsize) % VECTOR
    return numbers[first : first + room * room + 1]
