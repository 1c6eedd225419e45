"""Rows of a record that say where prescribed motions are at its times, of integrators that follow them."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.initial_state.initial_motions import MotionTable, continuous, places
from leastaction.integration.record import Record
from leastaction.mechanism.arguments import FloatArray


def fill_goals(stepper: Any, record: Record, first: int, last: int) -> None:
    """Rows `first` ... `last` of the goals, from the table of motions of a run; without one, what moves comes to rest.

    The end of a single step may be given by `stepper.aim` instead, for that step alone.

    Args:
        stepper: its `goal_rows(table, first, last)` gives rows of a `MotionTable` as its kernels read them, and
            `goal_rates` says which of their columns are rates.
        record, first, last: as for `Stepper.advance`.
    """
    mechanism, table, dt, goals = stepper.mechanism, stepper.motions, stepper.dt, record["goals"]
    if table is not None:
        row = round((stepper.start_time - table.start) / dt)
        goals[first : last + 1] = stepper.goal_rows(table, row + first, row + last)
        return
    q = record["q"][first]
    now = {name: q[places(mechanism, name)[0]] for name in mechanism.prescribed}
    if first == 0:
        at_rest = MotionTable(0.0, 1.0, {name: values[None] for name, values in now.items()})
        goals[0] = stepper.goal_rows(at_rest, 0, 0)[0]
    goals[first + 1 : last + 1] = goals[first]
    goals[first + 1 : last + 1, stepper.goal_rates] = 0.0
    if stepper.aim is not None:
        ends: dict[str, FloatArray] = {name: stepper.aim.get(name, values) for name, values in now.items()}
        values = {name: continuous(np.stack([now[name], ends[name]])) for name in now}
        goals[first + 1] = stepper.goal_rows(MotionTable(0.0, dt, values), 1, 1)[0]  # with the mean rates of the step
        stepper.aim = None
