"""Runs of `BDF` and `SDIRK2` in a thread of a GPU: steps, and their division where they have no plausible solution."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction._tuples import plain
from leastaction.batch.general.arrays import UNSOLVED, GeneralBatch, give_up, load, shift, tell
from leastaction.division import FINEST
from leastaction.dynamics.legendre import quantities_rows
from leastaction.dynamics.workspace import Workspace
from leastaction.kinematics.reduced.native import to_public
from leastaction.redmax.arrays import ReducedSettings
from leastaction.redmax.plausible import GAIN
from leastaction.redmax.step.rollout import BDF1, SDIRK2, take_step
from leastaction.redmax.stepper import ReducedStepper

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ReducedRows(NamedTuple):
    """Three rows of a `ReducedRun`, two of parts of steps, and the controls of a step, shape (1, 1, nu)."""

    u: FloatArray
    run: Any
    part: Any


class Energies(NamedTuple):
    """Scratch for the energies of one state; see `dynamics.legendre.quantities_rows`.

    Attributes:
        space: scratch of the recursions.
        r, rd: reduced coordinates and rates, shape (1, nr).
        charts: of the balls, shape (1, balls).
        q, v: of the mechanism, shapes (1, nq) and (1, nv).
        kinetic, potential: of the state [J], shape (1,).
        momentum: shape (1, 6).
        before: kinetic and potential energy of the state before, shape (2,).
        noise: share of the energy that is round-off, shape (1,).
    """

    space: Any
    r: FloatArray
    rd: FloatArray
    charts: IntArray
    q: FloatArray
    v: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    momentum: FloatArray
    before: FloatArray
    noise: FloatArray


def reduced_rows(stepper: ReducedStepper) -> ReducedRows:
    """Rows of one robot."""
    half = stepper.half
    assert half is not None
    u = np.zeros((1, 1, stepper.mechanism.nu))
    return ReducedRows(u, stepper.run_arrays(stepper.record(2)), half.run_arrays(half.record(1)))


def energies_of(stepper: ReducedStepper, single: bool) -> tuple[Any, Energies | None]:
    """What the look at energies reads and writes; both None where energies may come from anywhere.

    `single`: whether numbers have 32 bits.
    """
    if not stepper.passive:
        return None, None
    m, c = stepper.mechanism, stepper.reduced.coordinates
    w = Workspace(m)
    t, balls = w.tree, c.model.balls
    model = (plain(w.forces), t.gravity, t.closure.rows, t.closure.count)
    sizes = (c.nr, c.nr, m.nq, m.nv)
    r, rd, q, v = (np.zeros((1, n)) for n in sizes)
    own = (r, rd, np.zeros((1, len(balls)), np.int64), q, v, np.zeros(1), np.zeros(1), np.zeros((1, 6)), np.zeros(2))
    own += (np.array([1e-5 if single else 1e-9]),)
    return (model, balls, c.model.index_q, c.model.index_v), Energies((plain(w.modes), w.links, w.screws, w.tau), *own)


@routine
def look_at_energies(reads, energies, R, RD, charts):
    """Energies of a state, in `kinetic` and `potential`."""
    model, balls, index_q, index_v = reads
    for k in range(R.shape[0]):
        energies.r[0, k], energies.rd[0, k] = R[k], RD[k]
    for k in range(charts.shape[0]):
        energies.charts[0, k] = charts[k]
    to_public(balls, index_q, index_v, energies.r, energies.rd, energies.charts, energies.q, energies.v)
    out = (energies.kinetic, energies.potential, energies.momentum)
    quantities_rows(model, energies.space, energies.q, energies.v, out)


@routine
def begin_energies(reads, energies, R, RD, charts):
    """Energies at the start of a run."""
    if energies is not None:
        look_at_energies(reads, energies, R, RD, charts)
        energies.before[0], energies.before[1] = energies.kinetic[0], energies.potential[0]


@routine
def is_plausible(reads, energies, R, RD, charts, u):
    """Whether a step leads to a finite state, without energy from nowhere; see `redmax.plausible`.

    If so, it is the next state that others are compared with.
    """
    for k in range(R.shape[0]):
        if not (math.isfinite(R[k]) and math.isfinite(RD[k])):
            return False
    if energies is None:
        return True
    look_at_energies(reads, energies, R, RD, charts)
    kinetic, potential, before = energies.kinetic[0], energies.potential[0], energies.before
    driven = False
    for c in range(u.shape[0]):
        driven = driven or u[c] != 0.0
    noise = energies.noise[0] * (kinetic + abs(potential)) + 1e-12
    allowed = GAIN * (kinetic + before[0] + abs(potential - before[1])) + noise
    if not (driven or kinetic + potential - before[0] - before[1] <= allowed):
        return False
    before[0], before[1] = kinetic, potential
    return True


@inline
def copy_state(run, row, out, to):
    """Row `row` of a run becomes row `to` of another."""
    for k in range(run.R.shape[1]):
        out.R[to, k], out.RD[to, k] = run.R[row, k], run.RD[row, k]
    for k in range(run.charts.shape[1]):
        out.charts[to, k] = run.charts[row, k]
    for k in range(run.multipliers.shape[1]):
        out.multipliers[to, k] = run.multipliers[row, k]


@routine
def divided_step(model, settings, data, reads, energies, rows, at):
    """Fill row at + 1 of a run, by parts of the step where need be: whether it holds, and its iterations.

    Parts are steps of the same method, of SDIRK2 for BDF2, each divided again where that does not help; see
    `ReducedStepper._divide`.
    """
    whole, half, u = rows.run, rows.part, rows.u[0, 0]
    good = take_step(model, settings, data, whole, at, u)
    total = whole.iterations[at + 1]
    if good and is_plausible(reads, energies, whole.R[at + 1], whole.RD[at + 1], whole.charts[at + 1], u):
        return True, total
    method = BDF1 if settings.method == BDF1 else SDIRK2
    parts, part, dt = 2, 0, 0.5 * settings.dt
    copy_state(whole, at, half, 0)
    while part < parts:
        finer = ReducedSettings(method, dt, settings.tolerance, settings.max_iterations, settings.stabilization)
        good = take_step(model, finer, data, half, 0, u)
        total += half.iterations[1]
        if not (good and is_plausible(reads, energies, half.R[1], half.RD[1], half.charts[1], u)):
            if parts >= FINEST:
                return False, total
            parts, part, dt = 2 * parts, 2 * part, 0.5 * dt
            continue
        copy_state(half, 1, half, 0)
        part += 1
        while parts > 1 and part % 2 == 0:  # two halves are done: on with what they are a half of
            part, parts, dt = part // 2, parts // 2, 2.0 * dt
    copy_state(half, 0, whole, at + 1)
    return True, total


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
        begin_energies(look, energies, R[0], RD[0], charts[0])
        total, at = 0, 0
        for step in range(steps):
            controls(reads, asking, batch, step, robot, R[at], RD[at], charts[at], rows.u)
            good, spent = divided_step(model, settings, data, look, energies, rows, at)
            total += spent
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

    return job
