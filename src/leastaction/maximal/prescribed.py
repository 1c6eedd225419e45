"""Prescribed motions in maximal coordinates: rows of goals for the kernels, and bodies that no force can move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.collision_filter import exclude_prescribed_pairs
from leastaction.contact.contact_table import ContactTable
from leastaction.errors import IntegratorError
from leastaction.initial_state.initial_motions import MotionTable, rates_of, spins_of
from leastaction.maximal.compilation.immobile_bodies import locked_bodies
from leastaction.maximal.maximal_records import FRAME, VALUE
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.pose_arrays import carried
from leastaction.typing import FloatArray

COLUMNS = {VALUE: 2, FRAME: 13}
"""Numbers of a prescribed motion in a row of `MaximalRecord.goals`."""


def refuse_compositions(integrator: Any, mechanism: Mechanism) -> None:
    """Raise an error for compositions with prescribed motions: their substeps would need values between table rows."""
    if mechanism.prescribed and integrator.order > 2:
        name = mechanism.prescribed[0]
        raise IntegratorError(f"Maximal: the prescribed motion {name!r} runs with order 1 or 2, got {integrator.order}")


def goal_rows(model: Model, table: MotionTable, first: int, last: int) -> FloatArray:
    """Rows `first` ... `last` of a table of motions as rows of `MaximalRecord.goals`."""
    parts: list[FloatArray] = [np.zeros((last - first + 1, 0))]
    for goal, name in zip(model.goals, model.mechanism.prescribed, strict=True):
        values = table.values[name]
        if goal.kind == FRAME:
            values = _rigid(model, name, values)
            rates = np.hstack([spins_of(values[:, 3:], table.dt), rates_of(values[:, :3], table.dt)])
        else:
            rates = rates_of(values, table.dt)
        parts += [values[first : last + 1], rates[first : last + 1]]
    return np.hstack(parts)


def goal_rates(model: Model) -> NDArray[np.int64]:
    """Indices of the columns of these rows that are rates."""
    columns = [
        range(int(x.first) + (1 if x.kind == VALUE else 7), int(x.first) + COLUMNS[int(x.kind)]) for x in model.goals
    ]
    return np.array([k for own in columns for k in own], np.int64)


def _rigid(model: Model, name: str, values: FloatArray) -> FloatArray:
    """Poses (rows, 7) of the rigid body of a free joint from the joint's coordinates."""
    m = model.mechanism
    joint = m.joints[m.body_index(name)]
    piece = next(piece for piece in model.pieces if piece.joint.name == joint.name)
    moved = carried(values, piece.Xb.inverse())
    base = np.tile([*joint.pose.position, *joint.pose.quaternion], (len(values), 1))
    return moved if joint.pose == Pose() else _product(base, moved)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Poses a b, row by row."""
    rows = [carried(x[None], Pose(tuple(y[:3]), tuple(y[3:])))[0] for x, y in zip(a, b, strict=True)]
    return np.array(rows).reshape(-1, 7)


def prescribed_bodies(model: Model) -> set[int]:
    """Indices of bodies whose motion is fully prescribed."""
    m = model.mechanism
    names, given = set(m.prescribed), set()
    for piece in model.pieces:
        dof_names = [m.velocity_names[piece.iv + k] for k in range(sum(p.nv for p in piece.primitives))]
        if (piece.joint.child in names or names.issuperset(dof_names)) and (piece.a < 0 or piece.a in given):
            given.add(piece.b)
    return given


def exclude_driven_pairs(model: Model, table: ContactTable) -> ContactTable:
    """`exclude_prescribed_pairs`, with immobile bodies (`immobile_bodies`) marked as locked."""
    return exclude_prescribed_pairs(table, prescribed_bodies(model), locked_bodies(model))
