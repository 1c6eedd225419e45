"""Prescribed motions in maximal coordinates: rows of goals for the kernels, and bodies that nothing can push."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.collision_filter import without
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.records import GIVEN, LOCKED
from leastaction.errors import IntegratorError
from leastaction.initial_state.initial_motions import MotionTable, continuous, places, rates_of, spins_of
from leastaction.integration.record import Record
from leastaction.maximal.compilation.immobile_bodies import locked_bodies
from leastaction.maximal.maximal_records import FRAME, VALUE
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.pose_arrays import carried

FloatArray = NDArray[np.float64]

COLUMNS = {VALUE: 2, FRAME: 13}
"""Numbers of a prescribed motion in a row of `MaximalRecord.goals`."""


def refuse_compositions(integrator: Any, mechanism: Mechanism) -> None:
    """Steps that go backwards and forwards would need motions between the rows of a table."""
    if mechanism.prescribed and integrator.order > 2:
        name = mechanism.prescribed[0]
        raise IntegratorError(f"Maximal: the prescribed motion {name!r} runs with order 1 or 2, got {integrator.order}")


def fill_goals(stepper: Any, record: Record, first: int, last: int) -> None:
    """Rows `first` ... `last` of the goals, from the table of motions of a run; without one, what moves comes to rest.

    The end of a single step may be given by `stepper.aim` instead, for that step alone. Where `stepper.goals_given`,
    the record has them already.
    """
    model, table, dt = stepper.model, stepper.motions, stepper.dt
    if not len(model.goals) or stepper.goals_given:
        return
    goals = record["goals"]
    if table is not None:
        row = stepper.row + round((stepper.start_time - table.start) / dt)
        goals[first : last + 1] = goal_rows(model, table, row + first, row + last)
        return
    if first == 0:
        goals[0] = goals_at(model, record["q"][0])
    goals[first + 1 : last + 1] = goals[first]
    for goal in model.goals:
        k = goal.first + (1 if goal.kind == VALUE else 7)
        goals[first + 1 : last + 1, k : goal.first + COLUMNS[int(goal.kind)]] = 0.0
    if stepper.aim is not None:
        goals[first + 1] = goals_between(model, record["q"][first], stepper.aim, dt)
        stepper.aim = None


def goals_at(model: Model, q: FloatArray) -> FloatArray:
    """A row of goals at rest at the joint positions q."""
    values = {name: q[places(model.mechanism, name)[0]][None] for name in model.mechanism.prescribed}
    return goal_rows(model, MotionTable(0.0, 1.0, values), 0, 0)[0]


def goals_between(model: Model, q: FloatArray, aim: dict[str, FloatArray], dt: float) -> FloatArray:
    """The row of goals at the end of a step from the joint positions q, with the mean rates of the step."""
    values = {}
    for name in model.mechanism.prescribed:
        now = q[places(model.mechanism, name)[0]]
        values[name] = continuous(np.stack([now, aim.get(name, now)]))
    return goal_rows(model, MotionTable(0.0, dt, values), 1, 1)[0]


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


def given_bodies(model: Model) -> set[int]:
    """Bodies all of whose motion is prescribed: nothing can push them."""
    m = model.mechanism
    names, given = set(m.prescribed), set()
    for piece in model.pieces:
        dof_names = [m.velocity_names[piece.iv + k] for k in range(sum(p.nv for p in piece.primitives))]
        if (piece.joint.child in names or names.issuperset(dof_names)) and (piece.a < 0 or piece.a in given):
            given.add(piece.b)
    return given


def leave_out_given(model: Model, table: ContactTable) -> ContactTable:
    """The table without pairs of which neither can be pushed: what their motions say may well overlap.

    Shapes of those that cannot are marked as `given`: `GIVEN` by a motion, or `LOCKED` by equations. Steps look for
    contacts between those of the latter kind only where they have come to overlap.
    """
    given: Any = np.array(sorted(given_bodies(model)), np.int64)
    locked: Any = np.array(sorted(locked_bodies(model)), np.int64)
    if not len(given) and not len(locked):
        return table
    shapes = table.shapes.copy()
    shapes.given[np.isin(shapes.body, locked)] = LOCKED
    shapes.given[np.isin(shapes.body, given)] = GIVEN
    table = replace(table, shapes=shapes)
    pairs = {
        (int(a), int(b)) for a, b in zip(table.ground.a, table.ground.b, strict=True) if table.shapes.body[b] in given
    }
    movers = [int(k) for k in table.movers if table.shapes.body[k] in given]
    return without(table, pairs | {(a, b) for a in movers for b in movers if a < b})
