"""The adjoint method (Sueda 2021, 3.5), stage by stage from the last to the first.

The paper writes the steps as one block-triangular system in positions alone and solves with its transpose. Here every
stage is turned round by itself: with gradients (bx, bv) by its end state, z = H^-T (bx + bv / gamma) gives those by its
predictors, controls and parameters. So BDF1, BDF2 with its SDIRK2 start (the boxed entries with alpha of Eq. 3.103) and
SDIRK2 are one piece of code, and initial velocities are parameters like all others.
"""

from leastaction._jit import entry, routine
from leastaction.forces.passive import limit_slopes
from leastaction.linalg.factor import factor, solve_transposed
from leastaction.redmax.adjoint.inverse_dynamics_cotangents import (
    add_inertia_gradients,
    add_joint_limits,
    add_placement_gradients,
    cotangents,
    keep_inertias,
)
from leastaction.redmax.adjoint.parameter_cotangents import add_gravity_gradient, add_joint_gradients, wrench_cotangents
from leastaction.redmax.coordinates.chart_slopes import pull_chart
from leastaction.redmax.coordinates.charts import history as rewritten
from leastaction.redmax.coordinates.charts import use_charts
from leastaction.redmax.coordinates.lift import lower, raise_direction
from leastaction.redmax.step.matrix import newton_matrix
from leastaction.redmax.step.residual import drive_wrench, residual
from leastaction.redmax.step.rollout import ALPHA, BDF2, is_double, predictors
from leastaction.spatial import ZERO6, dot, load6, store6, sub


@routine
def rate_gradients(model, loops, work, cot, nodal, r, rd, u, lam, z, yv, ya, grads):
    """(yv, ya): gradients of z . g by rd and rdd; z (nr + m) holds the multipliers' part behind.

    Those by the parameters of forces and by placements through forces come with them, into `grads`.
    """
    plain, blocks = model[3][0], model[3][1]
    zn, an, vn = nodal
    raise_direction(plain, blocks, z, zn)
    cotangents(model, work, cot, zn, vn, an)
    add_joint_limits(model, work, zn, vn)
    wrench_cotangents(model, loops, work, cot, u, lam, z, r.shape[0], vn, grads)
    lower(plain, blocks, an, ya)
    lower(plain, blocks, vn, yv)
    coords = model[4][7]
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for c in range(block.nr):
            k = block.ir + c
            for j in range(block.nv):
                yv[k] += block.G[j, c] * an[block.iv + j]
            ya[k] += coords[k].armature * z[k]
            yv[k] += coords[k].damping * z[k]
            yv[k] += limit_slopes(coords[k], r[k], rd[k])[1] * z[k]


@routine
def _control_gradients(model, work, cot, z, bu):
    """Add minus the gradient of z . g by the controls."""
    drives = model[4][6]
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.dof >= 0:
            bu[k] += drive.gear * z[drive.dof]
        elif drive.node >= 0:
            W = load6(cot[drive.node].W)
            if drive.other >= 0:
                W = sub(W, load6(cot[drive.other].W))
            bu[k] += dot(W, drive_wrench(drive, 1.0, work[0]))


@routine
def reverse_stage(problem, back, gamma, u, P, Pv, r, rd, lam, bx, bv, bP, bPv, bu, wanted, grads):
    """Gradients (bP, bPv) by the predictors of a stage from (bx, bv) by its end state; adds to bu and to grads.

    `wanted`: whether parameters of bodies and joints count. Gives back False if H is singular.
    """
    model, loops, work, scratch = problem
    cot, nodal, z, yv, ya = back
    H, pivots, g, rdd = scratch[0], scratch[1], scratch[2], scratch[7]
    n = r.shape[0]
    c1, c2 = 1.0 / gamma, 1.0 / (gamma * gamma)
    for k in range(n):
        rdd[k] = (rd[k] - Pv[k]) * c1
    residual(model, loops, work, r, rd, rdd, u, lam, g)
    keep_inertias(work[0], cot)
    newton_matrix(model, loops, work, scratch, r, rd, u, lam, c1, c2, H)
    if not factor(H, pivots):
        return False
    for k in range(z.shape[0]):
        z[k] = bx[k] + bv[k] * c1 if k < n else 0.0
    solve_transposed(H, pivots, z)
    rate_gradients(model, loops, work, cot, nodal, r, rd, u, lam, z, yv, ya, grads)
    for k in range(n):
        bP[k] = (yv[k] - bv[k]) * c1 + ya[k] * c2
        bPv[k] = ya[k] * c1
    _control_gradients(model, work, cot, z, bu)
    if wanted:
        add_placement_gradients(model, work, cot, -1.0, grads[1])
        add_inertia_gradients(model, work, cot, -1.0, grads[0])
        add_joint_gradients(model, r, rd, rdd, z, grads[2])
        add_gravity_gradient(model[0], cot, grads[5])
    return True


@routine
def _to_old_charts(balls, old, new, x, v, s, sd, bx, bv):
    """Gradients by the end state (s, sd) in its own charts as those by (x, v) in the charts of the step's start."""
    for k in range(balls.shape[0]):
        i = balls[k].ir
        same = x[i] == s[i] and x[i + 1] == s[i + 1] and x[i + 2] == s[i + 2]
        if old[k] != new[k] or not same:
            pull_chart(old[k], new[k], i, x, v, s, sd, bx, bv)


@routine
def _pull_predictors(method, stage, double, dt, bP, bPv, bx, bv, ba, bva):
    """Add the gradients by the predictors to those by the state (bx, bv) of the step's start; see `predictors`.

    (ba, bva): those by the end of the first of two stages.
    """
    ratio = (1.0 - ALPHA) / ALPHA
    for k in range(bP.shape[0]):
        if double and stage == 1:
            bx[k] += bP[k]
            bv[k] += (1.0 - ratio) * bPv[k]
            ba[k] = 0.0
            bva[k] = (1.0 - ALPHA) * dt * bP[k] + ratio * bPv[k]
        elif method == BDF2 and not double:
            bx[k] += 4.0 / 3.0 * bP[k]
            bv[k] += 4.0 / 3.0 * bPv[k]
        else:
            bx[k] += bP[k]
            bv[k] += bPv[k]


@routine
def _close_first(problem, back, u, R, RD, mu, grads):
    """Add the gradients by placements of -mu . h at the first state: it follows the loops that they open."""
    model, loops, work, scratch = problem
    cot, nodal, z, _, _ = back
    g, rdd, lam = scratch[2], scratch[7], scratch[9]
    for k in range(rdd.shape[0]):
        rdd[k], z[k] = 0.0, 0.0
    for k in range(mu.shape[0]):
        lam[k] = 0.0
        z[R.shape[1] + k] = mu[k]
    residual(model, loops, work, R[0], RD[0], rdd, u, lam, g)
    for i in range(cot.shape[0]):
        store6(cot[i].W, ZERO6)
    wrench_cotangents(model, loops, work, cot, u, lam, z, R.shape[1], nodal[2], grads)


@entry
def reverse(
    method, problem, back, dt, first, last, U, R, RD, charts, RA, RDA, LA, LAM, BX, BV, BU, vectors, wanted, grads, mu
):
    """Turn gradients BX, BV by the states of rows first ... last into those by earlier states, controls, parameters.

    BX[first], BV[first] (and for BDF2 the row before, where there is one) come out as those by the states that the
    steps started from; later rows are used up. With mu (multipliers of loops, else empty) only the closing of the first
    state is differentiated. Gives back the step at which H was singular, or -1.
    """
    model = problem[0]
    nodes, balls = model[0], model[4][5]
    x0, v0, x1, v1, P, Pv, x2, v2, bP, bPv, ba, bva = vectors
    n = R.shape[1]
    if mu.shape[0] > 0:
        use_charts(nodes, balls, charts[0])
        _close_first(problem, back, U[0], R, RD, mu, grads)
        return -1
    for step in range(last - 1, first - 1, -1):
        u, bu = U[step], BU[step]
        use_charts(nodes, balls, charts[step])
        for k in range(n):
            x1[k], v1[k] = R[step, k], RD[step, k]
        rewritten(balls, charts[step + 1], charts[step], R[step + 1], RD[step + 1], x1, x2, v2)
        bx, bv = BX[step + 1], BV[step + 1]
        _to_old_charts(balls, charts[step], charts[step + 1], x2, v2, R[step + 1], RD[step + 1], bx, bv)
        double = is_double(method, step)
        if method == BDF2 and not double:
            rewritten(balls, charts[step - 1], charts[step], R[step - 1], RD[step - 1], x1, x0, v0)
        x, v, lam = x2, v2, LAM[step + 1]
        for stage in range(1 if double else 0, -1, -1):
            early = double and stage == 0
            va = v1
            if double:
                va = RDA[step + 1]
            if early:
                x, v, lam, bx, bv = RA[step + 1], va, LA[step + 1], ba, bva
            gamma = predictors(method, stage, double, dt, x0, v0, x1, v1, va, P, Pv)
            if not reverse_stage(problem, back, gamma, u, P, Pv, x, v, lam, bx, bv, bP, bPv, bu, wanted, grads):
                return step
            _pull_predictors(method, stage, double, dt, bP, bPv, BX[step], BV[step], ba, bva)
        if method == BDF2 and not double:
            for k in range(n):
                bP[k] *= -1.0 / 3.0
                bPv[k] *= -1.0 / 3.0
            r0, rd0 = R[step - 1], RD[step - 1]
            _to_old_charts(balls, charts[step - 1], charts[step], r0, rd0, x0, v0, bP, bPv)
            for k in range(n):
                BX[step - 1, k] += bP[k]
                BV[step - 1, k] += bPv[k]
    return -1
