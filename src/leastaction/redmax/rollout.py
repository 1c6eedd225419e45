"""Steps of the implicit integrators in compiled loops.

States are kept as reduced coordinates R and their rates RD, one row per time, together with the charts of the balls. A
stage is solved in the charts of the state that it starts from; afterwards a ball near the edge of its chart gets a new
one, in which the new state is written.
"""

import math

from leastaction._jit import entry, routine
from leastaction.redmax.charts import history as rewritten
from leastaction.redmax.charts import switch_charts, use_charts
from leastaction.redmax.stage import solve_stage

BDF1, BDF2, SDIRK2 = range(3)

ALPHA = 1.0 - 0.5 * math.sqrt(2.0)
"""Length of the first stage of SDIRK2."""


@routine
def _sdirk2(problem, settings, dt, u, x1, v1, xa, va, lama, x2, v2, lam, P, Pv, sizes):
    """Two stages from (x1, v1): (xa, va) at ALPHA dt, (x2, v2) at dt (Eqs. 3.66 to 3.74)."""
    model, loops, work, scratch = problem
    n = x1.shape[0]
    gamma = ALPHA * dt
    for k in range(n):
        P[k], Pv[k] = x1[k], v1[k]
        xa[k] = x1[k] + gamma * v1[k]
    for k in range(lam.shape[0]):
        lama[k] = lam[k]
    first = solve_stage(model, loops, work, scratch, P, Pv, gamma, u, xa, va, lama, settings, sizes)
    if first < 0:
        return -1
    for k in range(n):
        P[k] = x1[k] + (1.0 - ALPHA) * dt * va[k]
        Pv[k] = v1[k] + (1.0 - ALPHA) / ALPHA * (va[k] - v1[k])
        x2[k] = xa[k] + (1.0 - ALPHA) * dt * va[k]
    for k in range(lam.shape[0]):
        lam[k] = lama[k]
    second = solve_stage(model, loops, work, scratch, P, Pv, gamma, u, x2, v2, lam, settings, sizes)
    return -1 if second < 0 else first + second


@routine
def _bdf1(problem, settings, dt, u, x1, v1, x2, v2, lam, P, Pv, sizes):
    """One stage from (x1, v1) (Eq. 3.64)."""
    model, loops, work, scratch = problem
    for k in range(x1.shape[0]):
        P[k], Pv[k] = x1[k], v1[k]
        x2[k] = x1[k] + dt * v1[k]
    return solve_stage(model, loops, work, scratch, P, Pv, dt, u, x2, v2, lam, settings, sizes)


@routine
def _bdf2(problem, settings, dt, u, x0, v0, x1, v1, x2, v2, lam, P, Pv, sizes):
    """One stage from (x0, v0) and (x1, v1) (Eqs. 3.77 to 3.81)."""
    model, loops, work, scratch = problem
    for k in range(x1.shape[0]):
        P[k] = (4.0 * x1[k] - x0[k]) / 3.0
        Pv[k] = (4.0 * v1[k] - v0[k]) / 3.0
        x2[k] = x1[k] + dt * (v1[k] + 0.5 * (v1[k] - v0[k]))
    return solve_stage(model, loops, work, scratch, P, Pv, 2.0 * dt / 3.0, u, x2, v2, lam, settings, sizes)


@entry
def rollout(method, problem, settings, dt, first, last, U, R, RD, charts, RA, RDA, LA, LAM, its, vectors, sizes):
    """Fill rows first + 1 ... last of R, RD; gives back the last row that holds.

    RA, RDA, LA: states and multipliers at the end of the first stage of SDIRK2, row k + 1 for step k; of BDF2 its first
    step alone.
    """
    model = problem[0]
    nodes, balls = model[0], model[4][5]
    x0, v0, x1, v1, P, Pv = vectors
    n = R.shape[1]
    for step in range(first, last):
        u = U[step - first, 0]
        use_charts(nodes, balls, charts[step])
        for k in range(n):
            x1[k], v1[k] = R[step, k], RD[step, k]
        x2, v2, lam = R[step + 1], RD[step + 1], LAM[step + 1]
        for k in range(lam.shape[0]):
            lam[k] = LAM[step, k]
        if method == BDF1:
            count = _bdf1(problem, settings, dt, u, x1, v1, x2, v2, lam, P, Pv, sizes)
        elif method == SDIRK2 or step == 0:
            xa, va = RA[step + 1], RDA[step + 1]
            count = _sdirk2(problem, settings, dt, u, x1, v1, xa, va, LA[step + 1], x2, v2, lam, P, Pv, sizes)
        else:
            rewritten(balls, charts[step - 1], charts[step], R[step - 1], RD[step - 1], x1, x0, v0)
            count = _bdf2(problem, settings, dt, u, x0, v0, x1, v1, x2, v2, lam, P, Pv, sizes)
        if count < 0:
            return step
        its[step + 1] = count
        switch_charts(balls, x2, v2, x1, charts[step + 1])
    return last
