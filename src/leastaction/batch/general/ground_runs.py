"""Runs of `Minimal` in a thread of a GPU with all that it knows: any contacts, loops, tendons, forces on bodies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction.batch.general.arrays import UNSOLVED, GeneralBatch, load, mark_failed, write_state
from leastaction.minimal.contact.arrays import RobotData, robot_arrays
from leastaction.minimal.contact.stepper import GroundStepper
from leastaction.minimal.contact.steps import drive, is_full, prepare, reset_contacts, step

FULL = -2
"""There is no room for all contacts."""

PER_PAIR, MOST = 16, 32
"""Contacts that there is room for where nobody says: so many of each pair of shapes, at most so many in all."""


class GroundRows(NamedTuple):
    """The controls of a step, shape (1, 1, nu)."""

    u: NDArray[np.float64]


def room_for(stepper: GroundStepper, contacts: int | None) -> int:
    """Contacts that are looked for for which a robot has room; `contacts` where the user says how many."""
    shapes: Any = stepper.model.shapes
    if shapes is None:
        return 0
    return min(MOST, PER_PAIR * len(shapes.pairs)) if contacts is None else contacts


def arrays_for(stepper: GroundStepper, room: int) -> RobotData:
    """The arrays of a robot with room for so many contacts; what touches is not logged."""
    data = robot_arrays(stepper.model, stepper.mechanism.nq, room)
    if data.touch.found is None:
        return data
    found = data.touch.found._replace(log=np.zeros((0, 10)))
    return data._replace(touch=data.touch._replace(found=found))


@routine
def reset_detected(found):
    """No contacts from a step before."""
    if found is not None:
        found.now[0].kept, found.now[0].listed = 0, -1


def ground_run(controls):
    """Runs with the controls of `policy_controls.controls_of`."""

    @routine
    def job(model, settings, reads, data, none, rows, asking, batch, robot):
        batch = GeneralBatch(*batch)
        steps, every = batch.plan[0], batch.plan[1]
        q, p, touch = data.q0, data.p, data.touch
        load(batch.q, 0, robot, q)
        load(batch.second, 0, robot, p)
        prepare(model, data)
        for k in range(p.shape[0]):
            data.v_last[k] = batch.start[k, robot]
            data.v_older[k] = data.v_last[k]
        reset_contacts(touch)
        reset_detected(touch.found)
        total, last = 0, 0
        for done in range(steps):
            controls(reads, asking, batch, done, robot, q, p, p, rows.u)
            for c in range(rows.u.shape[2]):
                data.u[c] = rows.u[0, 0, c]
            drive(model, data, model.limited)
            spent, last = step(model, data, settings, last == 1)
            if spent < 0:
                mark_failed(batch, done, FULL if is_full(touch) else UNSOLVED, robot)
                break
            total += spent
            if (done + 1) % every == 0:
                write_state(q, batch.q, (done + 1) // every, robot)
                write_state(p, batch.second, (done + 1) // every, robot)
        batch.iterations[robot] = total

    return job
