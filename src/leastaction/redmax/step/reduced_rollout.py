"""Steps of the implicit integrators in compiled loops.

States are kept as reduced coordinates R and their rates RD, one row per time, together with the charts of the balls. A
stage is solved in the charts of the state that it starts from; afterwards a ball near the edge of its chart gets a new
one, in which the new state is written.
"""

import math

from leastaction._jit import entry, inline, routine
from leastaction.kinematics.reduced.charts import history as rewritten
from leastaction.kinematics.reduced.charts import switch_charts, use_charts
from leastaction.redmax.arrays import ReducedRun, ReducedSettings, StageEnd, named_data, named_model
from leastaction.redmax.step.energies import begin_balance, keeps_balance, named_energies
from leastaction.redmax.step.implicit_stage import solve_stage
from leastaction.redmax.step.masses import project_velocity
from leastaction.step_control.bisection import next_substep, recorded, substep_length

BDF1, BDF2, SDIRK2 = range(3)

HALVED_ONCE = 3
"""What `bisection.next_substep` records of a step whose first attempt was not accepted, and nothing else."""

ALPHA = 1.0 - 0.5 * math.sqrt(2.0)
"""Length of the first stage of SDIRK2."""


@inline
def is_double(method, step):
    """Whether a step has two stages; the first of BDF2 is one of SDIRK2."""
    return method == SDIRK2 or (method == BDF2 and step == 0)


@routine
def predictors(method, stage, double, dt, data, va):
    """Fill data.P and data.Pv of a stage and give back its length; see `stage`.

    One stage: BDF1 (Eq. 3.64) or BDF2 (Eqs. 3.77 to 3.81); two: SDIRK2 (Eqs. 3.66 to 3.74), va at the end of the first.
    """
    x0, v0, x1, v1, P, Pv = data.x0, data.v0, data.x1, data.v1, data.P, data.Pv
    n = x1.shape[0]
    if double and stage == 1:
        ratio = (1.0 - ALPHA) / ALPHA
        for k in range(n):
            P[k] = x1[k] + (1.0 - ALPHA) * dt * va[k]
            Pv[k] = v1[k] + ratio * (va[k] - v1[k])
        return ALPHA * dt
    if method == BDF2 and not double:
        for k in range(n):
            P[k] = (4.0 * x1[k] - x0[k]) / 3.0
            Pv[k] = (4.0 * v1[k] - v0[k]) / 3.0
        return 2.0 * dt / 3.0
    for k in range(n):
        P[k], Pv[k] = x1[k], v1[k]
    return ALPHA * dt if double else dt


@routine
def _keep_tangent(loops, model, settings, data, gamma, u, end, early):
    """Bring the velocity at the end of a stage of SDIRK2 to the tangent of the loops; returns iterations, or -1.

    That of the first stage is a difference over a part of the step and leaves the tangent by O(dt), and so do the
    forces that it makes. So this stage is solved again with its positions and its velocity apart by what was projected
    (Gear, Gupta and Leimkuhler 1985); that of the second leaves the tangent by O(dt^2).
    """
    count = 0
    if loops is None:
        return count
    v, before = end.rd, data.v0
    for stage in range(2 if early else 1):
        for k in range(v.shape[0]):
            before[k] = v[k]
        if not project_velocity(loops, model, data, v):
            return -1
        if early and stage == 0:
            for k in range(v.shape[0]):
                data.P[k] -= gamma * (v[k] - before[k])
            count = solve_stage(model, settings, data, gamma, u, end.r, v, end.lam)
            if count < 0:
                return -1
    return count


@routine
def take_step(model, settings, data, run, step, u):
    """Fill row step + 1 of a run; returns whether it converged."""
    method, dt, balls = settings.method, settings.dt, model.coordinates.balls
    R, RD, charts = run.R, run.RD, run.charts
    x0, v0, x1, v1 = data.x0, data.v0, data.x1, data.v1
    n, m = R.shape[1], run.multipliers.shape[1]
    use_charts(balls, data.coordinates, charts[step])
    for k in range(n):
        x1[k], v1[k] = R[step, k], RD[step, k]
    double = is_double(method, step)
    if method == BDF2 and not double:
        rewritten(balls, charts[step - 1], charts[step], R[step - 1], RD[step - 1], x1, x0, v0)
    x, v, lam = x1, v1, run.multipliers[step]
    run.iterations[step + 1] = 0
    for stage in range(2 if double else 1):
        early = double and stage == 0
        gamma = predictors(method, stage, double, dt, data, v)
        reach = dt if not double else (gamma if early else dt - gamma)
        start, speed, old = x, v, lam
        x, v, lam = R[step + 1], RD[step + 1], run.multipliers[step + 1]
        if early:
            x, v, lam = run.RA[step + 1], run.RDA[step + 1], run.LA[step + 1]
        for k in range(n):
            x[k] = start[k] + reach * speed[k]
            if method == BDF2 and not double:
                x[k] += 0.5 * dt * (v1[k] - v0[k])
        for k in range(m):
            lam[k] = old[k]
        count = solve_stage(model, settings, data, gamma, u, x, v, lam)
        if count < 0:
            return False
        run.iterations[step + 1] += count
        # One such step that starts BDF2 does no harm, and its velocities are differences like all others.
        if method == SDIRK2:
            count = _keep_tangent(model.loops, model, settings, data, gamma, u, StageEnd(x, v, lam), early)
            if count < 0:
                return False
            run.iterations[step + 1] += count
    switch_charts(balls, x, v, x1, charts[step], charts[step + 1])
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
def bisected_step(model, settings, data, reads, energies, run, part, step, u):
    """Fill row step + 1 of a run, in substeps where need be; returns whether it is accepted.

    Substeps are steps of the same method, of SDIRK2 for BDF2, which looks back; `part` has two rows for them.
    `reads`, `energies`: of the energy balance.
    """
    substeps, substep, halvings, total = 1, 0, 1, 0
    while substep < substeps:
        own, row, method = part, 0, SDIRK2 if settings.method == BDF2 else settings.method
        if substeps == 1:
            own, row, method = run, step, settings.method
        elif halvings == HALVED_ONCE:
            copy_state(run, step, part, 0)
        dt, tolerance, most = substep_length(settings.dt, substeps), settings.tolerance, settings.max_iterations
        finer = ReducedSettings(method, dt, tolerance, most, settings.stabilization, settings.finest)
        accepted = take_step(model, finer, data, own, row, u)
        total += own.iterations[row + 1]
        R, RD, charts = own.R[row + 1], own.RD[row + 1], own.charts[row + 1]
        accepted = accepted and _is_finite(R, RD) and keeps_balance(reads, energies, R, RD, charts, u)
        if accepted and substeps > 1:
            copy_state(part, 1, part, 0)
        elif not accepted and substeps >= settings.finest:
            run.iterations[step + 1] = total
            return False
        substeps, substep, halvings = next_substep(substeps, substep, halvings, accepted)
    run.iterations[step + 1], run.divided[step + 1] = total, recorded(halvings)
    if run.divided[step + 1] != 0:
        copy_state(part, 0, run, step + 1)
    return True


@inline
def _is_finite(R, RD):
    finite = True
    for k in range(R.shape[0]):
        finite = finite and math.isfinite(R[k]) and math.isfinite(RD[k])
    return finite


@entry(nogil=True)
def rollout(model, settings, data, control, run, first, last, U):
    """Fill rows first + 1 ... last of a run; returns the last row that holds.

    `control`: what the energy balance reads and writes (`energies.energies_of`), and two rows of a run for substeps.
    """
    model, settings = named_model(model), ReducedSettings(*settings)
    data, run = named_data(data), ReducedRun(*run)
    reads, scratch, rows = control
    energies, part = named_energies(scratch), ReducedRun(*rows)
    begin_balance(reads, energies, run.R[first], run.RD[first], run.charts[first])
    for step in range(first, last):
        if not bisected_step(model, settings, data, reads, energies, run, part, step, U[step - first, 0]):
            return step
    return last
