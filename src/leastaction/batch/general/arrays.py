"""What the kernels of `general` read and write of all robots, and how they do."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from leastaction._jit import inline, routine

UNSOLVED = -1
"""How a step ended that has no solution; `maximal.step.maximal_rollout` has more such codes."""


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
        policy: numbers that belong to the policies of the robots, shape (k, robots or 1).
        dt: time step [s], shape (1,).
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
    policy: Any
    dt: Any
    start: Any
    plan: Any


@inline
def load(table, row, robot, out):
    """Read a state of a robot."""
    for k in range(out.shape[0]):
        out[k] = table[row, k, robot]


@inline
def write_state(values, table, row, robot):
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
def mark_failed(batch, step, why, robot):
    """A step has no solution: what follows is not a number."""
    batch.failed[robot], batch.why[robot] = step, why
    for row in range(step // batch.plan[1] + 1, batch.q.shape[0]):
        for k in range(batch.q.shape[1]):
            batch.q[row, k, robot] = math.nan
        for k in range(batch.second.shape[1]):
            batch.second[row, k, robot] = math.nan
