"""Runs of `Galerkin`, `Midpoint` and `Maximal` in a thread of a GPU, step by step with their compiled steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction.batch.general.arrays import UNSOLVED, GeneralBatch, load, mark_failed, shift, shift_bodies, write_state
from leastaction.maximal.maximal_records import BALL
from leastaction.maximal.step.maximal_rollout import DONE, run
from leastaction.typing import FloatArray

IntArray = NDArray[np.int64]


class ActionRows(NamedTuple):
    """Two rows of a record of `minimal.action_stepper` and the controls of a step, shape (1, nodes, nu).

    `multipliers` are None without loops.
    """

    u: FloatArray
    q: FloatArray
    p: FloatArray
    iterations: IntArray
    divided: IntArray
    multipliers: FloatArray | None


class MaximalRows(NamedTuple):
    """Two rows of a `MaximalRecord`, the controls of a step, shape (1, nodes, nu), and fractions of dt."""

    u: FloatArray
    record: Any
    substeps: FloatArray


def action_run(rollout, controls):
    """Runs of `Galerkin` and `Midpoint` with one of their loops, and the controls of `policy_controls.controls_of`."""

    @routine
    def advance(model, settings, data, rows):
        return rollout(model, settings, data, rows.u, rows.q, rows.p, rows.iterations, rows.divided)

    return _action_run(advance, controls)


def _action_run(advance, controls):
    @routine
    def job(model, settings, reads, data, none, rows, asking, batch, robot):
        batch = GeneralBatch(*batch)
        steps, every = batch.plan[0], batch.plan[1]
        u, q, p, iterations = rows.u, rows.q, rows.p, rows.iterations
        load(batch.q, 0, robot, q[0])
        load(batch.second, 0, robot, p[0])
        total = 0
        for step in range(steps):
            controls(reads, asking, batch, step, robot, q[0], p[0], p[0], u)
            iterations[1] = 0
            done = advance(model, settings, data, rows)
            total += iterations[1]
            if done < 1:
                mark_failed(batch, step, UNSOLVED, robot)
                break
            shift(q, 0)
            shift(p, 0)
            if (step + 1) % every == 0:
                write_state(q[0], batch.q, (step + 1) // every, robot)
                write_state(p[0], batch.second, (step + 1) // every, robot)
        batch.iterations[robot] = total

    return job


def loop_run(rollout, controls):
    """The same with loops."""

    @routine
    def advance(model, settings, data, rows):
        more = (rows.iterations, rows.divided, rows.multipliers)
        return rollout(model, settings, data, rows.u, rows.q, rows.p, *more)

    steps = _action_run(advance, controls)

    @routine
    def job(model, settings, reads, data, none, rows, asking, batch, robot):
        data.loops.redundant[0] = GeneralBatch(*batch).start[0, robot] > 0.5
        steps(model, settings, reads, data, none, rows, asking, batch, robot)

    return job


@routine
def begin_maximal(model, data, batch, record, robot):
    """Row 0 of a record and the first guess; `start` has poses, momenta and twists of the bodies, one after another."""
    states, coordinates, start, q = data.bodies, data.coordinates, batch.start, record.q
    n = states.shape[0]
    load(batch.q, 0, robot, q[0])
    load(batch.second, 0, robot, record.p[0])
    for i in range(n):
        for c in range(7):
            record.rigid_poses[0, i, c] = start[7 * i + c, robot]
        for c in range(6):
            record.momenta[0, i, c] = start[7 * n + 6 * i + c, robot]
            states[i].x[c] = start[13 * n + 6 * i + c, robot]
        for c in range(3):
            states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
    for k in range(coordinates.shape[0]):
        iq = model.coordinates[k].iq
        if iq >= 0 and model.coordinates[k].kind < BALL:
            coordinates[k].value = q[0, iq]


def maximal_run(controls):
    """Runs of `Maximal`; near and contact are None where nothing can touch."""

    @routine
    def job(model, settings, given, data, contact, rows, asking, batch, robot):
        near, reads = given  # what may touch what, and what a policy reads
        batch, record = GeneralBatch(*batch), rows.record
        steps, every, ahead = batch.plan[0], batch.plan[1], batch.plan[2]
        begin_maximal(model, data, batch, record, robot)
        total = 0
        for step in range(steps + ahead):
            if step < steps:  # the step that is only looked at goes on with the last ones
                controls(reads, asking, batch, step, robot, record.q[0], record.p[0], record.p[0], rows.u)
            if contact is not None:
                contact.written[0] = 0  # nobody reads the log
            done, why = run(model, settings, data, near, contact, record, rows.u, rows.substeps, step > 0)
            if ahead == 1 and done == 1 and step > 0 and step % every == 0:
                write_state(record.p[0], batch.second, step // every, robot)  # with half of the impulses at that time
            if step == steps:
                break
            total += record.iterations[1]
            if why != DONE:
                mark_failed(batch, step, why, robot)
                break
            shift(record.q, 0)
            shift(record.p, 0)
            shift_bodies(record.rigid_poses)
            shift_bodies(record.momenta)
            shift_bodies(record.velocities)
            if (step + 1) % every == 0:
                write_state(record.q[0], batch.q, (step + 1) // every, robot)
                write_state(record.p[0], batch.second, (step + 1) // every, robot)
        batch.iterations[robot] = total

    return job
