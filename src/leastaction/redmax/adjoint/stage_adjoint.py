"""The adjoint method (Sueda 2021, 3.5), stage by stage from the last to the first.

The paper writes the steps as one block-triangular system in positions alone and solves with its transpose. Here every
stage is turned round by itself: with gradients (bx, bv) by its end state, z = H^-T (bx + bv / gamma) gives those by its
predictors, controls and parameters. So BDF1, BDF2 with its SDIRK2 start (the boxed entries with alpha of Eq. 3.103) and
SDIRK2 are one piece of code, and initial velocities are parameters like all others.
"""

from leastaction._jit import entry, routine
from leastaction.forces import drives, total
from leastaction.kinematics.reduced.charts import history as rewritten
from leastaction.kinematics.reduced.charts import use_charts
from leastaction.linalg.factor import factor, solve_transposed
from leastaction.redmax.adjoint.arrays import ReverseData, RunGradients, Stage, named_gradients
from leastaction.redmax.adjoint.chart_adjoint import pull_chart
from leastaction.redmax.adjoint.inverse_dynamics_cotangents import keep_inertias
from leastaction.redmax.adjoint.parameter_cotangents import wrench_cotangents
from leastaction.redmax.adjoint.projection_adjoint import reverse_projection
from leastaction.redmax.adjoint.rates import parameter_gradients, rate_gradients
from leastaction.redmax.arrays import Projected, ReducedRun, ReducedSettings, StageEnd, named_data, named_model
from leastaction.redmax.step.implicit_stage import solve_stage
from leastaction.redmax.step.masses import project_velocity
from leastaction.redmax.step.matrix import newton_matrix
from leastaction.redmax.step.reduced_residual import residual
from leastaction.redmax.step.reduced_rollout import ALPHA, BDF2, SDIRK2, is_double, predictors
from leastaction.spatial import ZERO6, store6


@routine
def reverse_stage(model, data, back, grads, end, stage):
    """Gradients (back.bP, back.bPv) by the predictors of a `Stage` from (back.bx, back.bv) by its end state.

    Adds to stage.bu and to grads. Returns False if H is singular.
    """
    gamma, u = stage.gamma, stage.u
    r, rd, z, rdd = end.r, end.rd, back.z, data.rdd
    n = r.shape[0]
    c1, c2 = 1.0 / gamma, 1.0 / (gamma * gamma)
    for k in range(n):
        rdd[k] = (rd[k] - data.Pv[k]) * c1
    residual(model, data, r, rd, rdd, u, end.lam)
    keep_inertias(data.links, back.cot)
    newton_matrix(model, data, r, rd, u, end.lam, c1)
    if not factor(data.H, data.pivots):
        return False
    for k in range(z.shape[0]):
        z[k] = back.bx[k] + back.bv[k] * c1 if k < n else 0.0
    solve_transposed(data.H, data.pivots, z)
    rate_gradients(model, data, back, grads, end, u)
    for k in range(n):
        back.bP[k] = (back.yv[k] - back.bv[k]) * c1 + back.ya[k] * c2
        back.bPv[k] = back.ya[k] * c1
    drives.control_cotangents(model.forces.drives, data.links, back.cot, z, stage.bu)
    total.control_cotangents(model.forces, data.modes, data.links, back.cot, stage.bu)
    if stage.wanted:
        parameter_gradients(model, data, back, grads, end)
    return True


@routine
def _to_old_charts(balls, old, new, x, v, s, sd, bx, bv):
    """Gradients by the end state (s, sd) in its own charts as those by (x, v) in the charts of the step's start."""
    if balls is None:
        return
    for k in range(balls.shape[0]):
        i = balls[k].ir
        same = x[i] == s[i] and x[i + 1] == s[i + 1] and x[i + 2] == s[i + 2]
        if old[k] != new[k] or not same:
            pull_chart(old[k], new[k], i, x, v, s, sd, bx, bv)


@routine
def _pull_predictors(method, stage, double, dt, back, bx, bv):
    """Add the gradients by the predictors to those by the state (bx, bv) of the step's start; see `predictors`.

    (back.ba, back.bva): those by the end of the first of two stages.
    """
    bP, bPv = back.bP, back.bPv
    ratio = (1.0 - ALPHA) / ALPHA
    for k in range(bP.shape[0]):
        if double and stage == 1:
            bx[k] += bP[k]
            bv[k] += (1.0 - ratio) * bPv[k]
            back.ba[k] = 0.0
            back.bva[k] = (1.0 - ALPHA) * dt * bP[k] + ratio * bPv[k]
        elif method == BDF2 and not double:
            bx[k] += 4.0 / 3.0 * bP[k]
            bv[k] += 4.0 / 3.0 * bPv[k]
        else:
            bx[k] += bP[k]
            bv[k] += bPv[k]


@routine
def _reverse_projected(loops, model, data, back, grads, end, stage):
    """`reverse_stage` of one whose velocity was projected to the tangent of the loops afterwards."""
    if loops is None:
        return reverse_stage(model, data, back, grads, end, stage)
    for k in range(end.r.shape[0]):
        back.w[k] = (end.r[k] - data.P[k]) / stage.gamma
    projected = Projected(end.r, back.w, end.rd)
    if not reverse_projection(loops, model, data, back, grads, projected, stage.u, stage.wanted):
        return False
    return reverse_stage(model, data, back, grads, StageEnd(end.r, back.w, end.lam), stage)


@routine
def _reverse_early(loops, model, settings, data, back, grads, end, stage, lam):
    """`reverse_stage` of the first stage of SDIRK2, which loops have solved twice, see `_keep_tangent`.

    lam: multipliers that its first solution was searched from.
    """
    if loops is None:
        return reverse_stage(model, data, back, grads, end, stage)
    r, v, mu, P = back.ra, back.va, back.lama, data.P
    gamma, u = stage.gamma, stage.u
    n = r.shape[0]
    for k in range(n):
        r[k] = data.x1[k] + gamma * data.v1[k]
    for k in range(mu.shape[0]):
        mu[k] = lam[k]
    if solve_stage(model, settings, data, gamma, u, r, v, mu) < 0 or not project_velocity(loops, model, data, v):
        return False
    for k in range(n):
        P[k] = r[k] - gamma * v[k]
    if not _reverse_projected(loops, model, data, back, grads, end, stage):
        return False
    bP, bPv = back.x2, back.v2  # no longer needed
    for k in range(n):
        bP[k], bPv[k] = back.bP[k], back.bPv[k]
        back.bx[k], back.bv[k] = 0.0, -gamma * bP[k]
        P[k] = data.x1[k]
        back.w[k] = (r[k] - P[k]) / gamma
    if not reverse_projection(loops, model, data, back, grads, Projected(r, back.w, v), u, stage.wanted):
        return False
    for k in range(n):
        back.bv[k] += gamma * bP[k]
    if not reverse_stage(model, data, back, grads, StageEnd(r, back.w, mu), stage):
        return False
    for k in range(n):
        back.bP[k] += bP[k]
        back.bPv[k] += bPv[k]
    return True


@routine
def _reverse_step(model, settings, data, run, back, grads, bars, step):
    """Turn row step + 1 of bars.BX, bars.BV into gradients by earlier rows; False if H is singular."""
    method, dt, balls = settings.method, settings.dt, model.coordinates.balls
    R, RD, charts, BX, BV = run.R, run.RD, run.charts, bars.BX, bars.BV
    x0, v0, x1, v1, x2, v2 = data.x0, data.v0, data.x1, data.v1, back.x2, back.v2
    n = R.shape[1]
    use_charts(balls, data.coordinates, charts[step])
    for k in range(n):
        x1[k], v1[k] = R[step, k], RD[step, k]
    rewritten(balls, charts[step + 1], charts[step], R[step + 1], RD[step + 1], x1, x2, v2)
    bx, bv = BX[step + 1], BV[step + 1]
    _to_old_charts(balls, charts[step], charts[step + 1], x2, v2, R[step + 1], RD[step + 1], bx, bv)
    double = is_double(method, step)
    if method == BDF2 and not double:
        rewritten(balls, charts[step - 1], charts[step], R[step - 1], RD[step - 1], x1, x0, v0)
    end = StageEnd(x2, v2, run.multipliers[step + 1])
    for number in range(1 if double else 0, -1, -1):
        va = run.RDA[step + 1] if double else v1
        if double and number == 0:
            end = StageEnd(run.RA[step + 1], va, run.LA[step + 1])
            bx, bv = back.ba, back.bva
        for k in range(n):
            back.bx[k], back.bv[k] = bx[k], bv[k]
        gamma = predictors(method, number, double, dt, data, va)
        stage = Stage(gamma, bars.U[step], bars.BU[step], bars.wanted)
        if method != SDIRK2:
            solved = reverse_stage(model, data, back, grads, end, stage)
        elif number == 1:
            solved = _reverse_projected(model.loops, model, data, back, grads, end, stage)
        else:
            lam = run.multipliers[step]
            solved = _reverse_early(model.loops, model, settings, data, back, grads, end, stage, lam)
        if not solved:
            return False
        _pull_predictors(method, number, double, dt, back, BX[step], BV[step])
    if method == BDF2 and not double:
        for k in range(n):
            back.bP[k] *= -1.0 / 3.0
            back.bPv[k] *= -1.0 / 3.0
        r0, rd0 = R[step - 1], RD[step - 1]
        _to_old_charts(balls, charts[step - 1], charts[step], r0, rd0, x0, v0, back.bP, back.bPv)
        for k in range(n):
            BX[step - 1, k] += back.bP[k]
            BV[step - 1, k] += back.bPv[k]
    return True


@entry(nogil=True)
def reverse(model, settings, data, run, back, grads, bars, first, last):
    """Turn gradients BX, BV by the states of rows first ... last into those by earlier states, controls, parameters.

    BX[first], BV[first] (and for BDF2 the row before, where there is one) come out as those by the states that the
    steps started from; later rows are used up. Returns the step at which H was singular, or -1.
    """
    model, settings, data, run = named_model(model), ReducedSettings(*settings), named_data(data), ReducedRun(*run)
    back, grads, bars = ReverseData(*back), named_gradients(grads), RunGradients(*bars)
    for step in range(last - 1, first - 1, -1):
        if not _reverse_step(model, settings, data, run, back, grads, bars, step):
            return step
    return -1


@entry
def close_first(model, data, run, back, grads, u, mu):
    """Add the gradients by placements of -mu . h at the first state: it follows the loops that they open."""
    model, data, run = named_model(model), named_data(data), ReducedRun(*run)
    back, grads = ReverseData(*back), named_gradients(grads)
    n = run.R.shape[1]
    use_charts(model.coordinates.balls, data.coordinates, run.charts[0])
    for k in range(n):
        data.rdd[k], back.z[k] = 0.0, 0.0
    for k in range(mu.shape[0]):
        data.old_lam[k] = 0.0
        back.z[n + k] = mu[k]
    residual(model, data, run.R[0], run.RD[0], data.rdd, u, data.old_lam)
    for i in range(back.cot.shape[0]):
        store6(back.cot[i].W, ZERO6)
    wrench_cotangents(model.wrenches, model, data, back, grads, u, data.old_lam)
