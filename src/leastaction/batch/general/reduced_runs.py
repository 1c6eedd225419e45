"""Runs of `BDF` and `SDIRK2` in a thread of a GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import routine
from leastaction.batch.general.arrays import UNSOLVED, GeneralBatch, load, mark_failed, shift, write_state
from leastaction.redmax.step.energies import begin_balance
from leastaction.redmax.step.reduced_rollout import bisected_step
from leastaction.redmax.stepper import ReducedStepper
from leastaction.typing import FloatArray


class ReducedRows(NamedTuple):
    """Three rows of a `ReducedRun`, two of parts of steps, and the controls of a step, shape (1, 1, nu)."""

    u: FloatArray
    run: Any
    part: Any


def reduced_rows(stepper: ReducedStepper) -> ReducedRows:
    """Rows of one robot."""
    u = np.zeros((1, 1, stepper.mechanism.nu))
    return ReducedRows(u, stepper.run_arrays(stepper.record(2)), stepper.substep_rows())


def reduced_run(controls):
    """Runs of `BDF` and `SDIRK2`: their states are reduced coordinates, rates and charts."""

    @routine
    def job(model, settings, given, data, energies, rows, asking, batch, robot):
        look, reads = given  # of the energies and of a policy
        batch, run = GeneralBatch(*batch), rows.run
        steps, every = batch.plan[0], batch.plan[1]
        R, RD, charts, multipliers = run.R, run.RD, run.charts, run.multipliers
        load(batch.q, 0, robot, R[0])
        load(batch.second, 0, robot, RD[0])
        for k in range(charts.shape[1]):
            charts[0, k] = int(batch.third[0, k, robot])
        begin_balance(look, energies, R[0], RD[0], charts[0])
        total, at = 0, 0
        for step in range(steps):
            controls(reads, asking, batch, step, robot, R[at], RD[at], charts[at], rows.u)
            accepted = bisected_step(model, settings, data, look, energies, run, rows.part, at, rows.u[0, 0])
            total += run.iterations[at + 1]
            if not accepted:
                mark_failed(batch, step, UNSOLVED, robot)
                break
            if (step + 1) % every == 0:
                write_state(R[at + 1], batch.q, (step + 1) // every, robot)
                write_state(RD[at + 1], batch.second, (step + 1) // every, robot)
                write_state(charts[at + 1], batch.third, (step + 1) // every, robot)
            for row in range(2 * at):  # BDF2 looks back at the row before
                shift(R, row)
                shift(RD, row)
                shift(charts, row)
                shift(multipliers, row)
            at = 1
        batch.iterations[robot] = total

    return job
