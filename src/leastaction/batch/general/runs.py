"""Runs of one robot in a thread of a GPU, step by step with the compiled steps of the integrators."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.maximal.records import BALL
from leastaction.maximal.step.rollout import DONE, run
from leastaction.redmax.step.rollout import take_step

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

GOOD, UNSOLVED = 0, -1
"""How a step ended; `maximal.step.rollout` has more."""


class GeneralBatch(NamedTuple):
    """What a kernel reads and writes of all robots, the number of the robot last.

    Attributes:
        failed: step that had no solution, or -1, shape (robots,).
        why: how it ended, shape (robots,).
        iterations: of all steps, shape (robots,).
        q, second: positions, and momenta or velocities, shapes (rows, n, robots); row 0 is the start.
        third: what else there is of a state, shape (rows or 1, k, robots).
        u: controls, shape (steps or 1, nu, robots or 1).
        limits: of the controls, lower and upper, shape (2, nu).
        start: what else a run starts from, shape (k, robots).
        plan: steps, steps from one recorded state to the next, and whether the step after the last is looked at.
    """

    failed: Any
    why: Any
    iterations: Any
    q: Any
    second: Any
    third: Any
    u: Any
    limits: Any
    start: Any
    plan: Any


class ActionRows(NamedTuple):
    """Two rows of a record of `minimal.action_stepper` and the controls of a step, shape (1, nodes, nu)."""

    u: FloatArray
    q: FloatArray
    p: FloatArray
    iterations: IntArray
    divided: IntArray


class MaximalRows(NamedTuple):
    """Two rows of a `MaximalRecord`, the controls of a step, shape (1, nodes, nu), and fractions of dt."""

    u: FloatArray
    record: Any
    substeps: FloatArray


class ReducedRows(NamedTuple):
    """Three rows of a `ReducedRun` and the controls of a step, shape (1, 1, nu)."""

    u: FloatArray
    run: Any


@routine
def load_controls(batch, step, robot, out):
    """Controls of a step at all its nodes, within their limits."""
    u, limits = batch.u, batch.limits
    k, r = min(step, u.shape[0] - 1), min(robot, u.shape[2] - 1)
    for node in range(out.shape[1]):
        for c in range(out.shape[2]):
            out[0, node, c] = min(max(u[k, c, r], limits[0, c]), limits[1, c])


@inline
def load(table, row, robot, out):
    """Read a state of a robot."""
    for k in range(out.shape[0]):
        out[k] = table[row, k, robot]


@inline
def tell(values, table, row, robot):
    """Write a state of a robot."""
    for k in range(values.shape[0]):
        table[row, k, robot] = values[k]


@inline
def shift(rows, at):
    """Row `at + 1` becomes row `at`."""
    for k in range(rows.shape[1]):
        rows[at, k] = rows[at + 1, k]


@routine
def shift_bodies(rows):
    """Row 1 becomes row 0, of arrays with a row for each body."""
    for i in range(rows.shape[1]):
        for k in range(rows.shape[2]):
            rows[0, i, k] = rows[1, i, k]


@routine
def give_up(batch, step, why, robot):
    """A step has no solution: what follows is not a number."""
    batch.failed[robot], batch.why[robot] = step, why
    for row in range(step // batch.plan[1] + 1, batch.q.shape[0]):
        for k in range(batch.q.shape[1]):
            batch.q[row, k, robot] = math.nan
        for k in range(batch.second.shape[1]):
            batch.second[row, k, robot] = math.nan


def action_run(rollout):
    """Runs of `Galerkin` and `Midpoint` with one of their loops."""

    @routine
    def job(model, settings, data, halving, rows, batch, robot):
        batch = GeneralBatch(*batch)
        steps, every = batch.plan[0], batch.plan[1]
        u, q, p, iterations = rows.u, rows.q, rows.p, rows.iterations
        load(batch.q, 0, robot, q[0])
        load(batch.second, 0, robot, p[0])
        total = 0
        for step in range(steps):
            load_controls(batch, step, robot, u)
            done = rollout(model, settings, data, halving, u, q, p, iterations, rows.divided)
            total += iterations[1]
            if done < 1:
                give_up(batch, step, UNSOLVED, robot)
                break
            shift(q, 0)
            shift(p, 0)
            if (step + 1) % every == 0:
                tell(q[0], batch.q, (step + 1) // every, robot)
                tell(p[0], batch.second, (step + 1) // every, robot)
        batch.iterations[robot] = total

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


@routine
def maximal_run(model, settings, near, data, contact, rows, batch, robot):
    """Runs of `Maximal`; near and contact are None where nothing can touch."""
    batch, record = GeneralBatch(*batch), rows.record
    steps, every, ahead = batch.plan[0], batch.plan[1], batch.plan[2]
    begin_maximal(model, data, batch, record, robot)
    total = 0
    for step in range(steps + ahead):
        load_controls(batch, min(step, steps - 1), robot, rows.u)
        if contact is not None:
            contact.written[0] = 0  # nobody reads the log
        done, why = run(model, settings, data, near, contact, record, rows.u, rows.substeps, step > 0)
        if ahead == 1 and done == 1 and step > 0 and step % every == 0:
            tell(record.p[0], batch.second, step // every, robot)  # with half of the impulses at that time
        if step == steps:
            break
        total += record.iterations[1]
        if why != DONE:
            give_up(batch, step, why, robot)
            break
        shift(record.q, 0)
        shift(record.p, 0)
        shift_bodies(record.rigid_poses)
        shift_bodies(record.momenta)
        shift_bodies(record.velocities)
        if (step + 1) % every == 0:
            tell(record.q[0], batch.q, (step + 1) // every, robot)
            tell(record.p[0], batch.second, (step + 1) // every, robot)
    batch.iterations[robot] = total


@routine
def reduced_run(model, settings, data, rows, batch, robot):
    """Runs of `BDF` and `SDIRK2`: their states are reduced coordinates, rates and charts."""
    batch, run = GeneralBatch(*batch), rows.run
    steps, every = batch.plan[0], batch.plan[1]
    R, RD, charts, multipliers = run.R, run.RD, run.charts, run.multipliers
    load(batch.q, 0, robot, R[0])
    load(batch.second, 0, robot, RD[0])
    for k in range(charts.shape[1]):
        charts[0, k] = int(batch.third[0, k, robot])
    total, at = 0, 0
    for step in range(steps):
        load_controls(batch, step, robot, rows.u)
        good = take_step(model, settings, data, run, at, rows.u[0, 0])
        total += run.iterations[at + 1]
        for k in range(R.shape[1]):
            good = good and math.isfinite(R[at + 1, k]) and math.isfinite(RD[at + 1, k])
        if not good:
            give_up(batch, step, UNSOLVED, robot)
            break
        if (step + 1) % every == 0:
            tell(R[at + 1], batch.q, (step + 1) // every, robot)
            tell(RD[at + 1], batch.second, (step + 1) // every, robot)
            tell(charts[at + 1], batch.third, (step + 1) // every, robot)
        for row in range(2 * at):  # BDF2 looks back at the row before
            shift(R, row)
            shift(RD, row)
            shift(charts, row)
            shift(multipliers, row)
        at = 1
    batch.iterations[robot] = total
