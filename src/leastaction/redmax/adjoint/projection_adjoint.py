"""Reverse mode through the projection of velocities of `SDIRK2` to the tangent of loops, see `project_velocity`.

The velocity w becomes v with M (v - w) - A^T mu = 0 and A v = 0. For gradients bv by v let M z + A^T y = bv, A z = 0.
Then M z are those by w, and those by positions and parameters are of

    -(z . M (v - w) - z . A^T mu + v . A^T y),

at fixed z, y, v, w and mu. With the residual g(a, lam) of the equations of motion at rest, with accelerations a and
multipliers lam, M a - A^T lam = g(a, lam) - g(0, 0). So they are those of

    -(z . g(v - w, mu) + v . g(0, -y) - (z + v) . g(0, 0)),

which the kernels of a stage give.
"""

from leastaction._jit import routine
from leastaction.linalg.factor import factor, solve, solve_transposed
from leastaction.redmax.adjoint.inverse_dynamics_cotangents import keep_inertias
from leastaction.redmax.adjoint.rates import parameter_gradients, rate_gradients
from leastaction.redmax.arrays import StageEnd
from leastaction.redmax.step.masses import projection_matrix
from leastaction.redmax.step.matrix import newton_matrix
from leastaction.redmax.step.reduced_residual import residual


@routine
def _multipliers(loops, model, data, back, projected, u):
    """back.zp = (z, y), back.mu and back.dv = v - w from gradients back.bv by v; False if the loops are singular."""
    r, w, v = projected.r, projected.w, projected.v
    H, step, n = data.H, data.step, r.shape[0]
    for k in range(back.mu.shape[0]):
        back.lamp[k] = 0.0
    residual(model, data, r, back.still, back.still, u, back.lamp)
    projection_matrix(loops, model, data, n)
    for i in range(H.shape[0]):
        step[i], back.zp[i] = 0.0, back.bv[i] if i < n else 0.0
        for j in range(n):
            step[i] += H[i, j] * w[j] if i < n else 0.0
    if not factor(H, data.pivots):
        return False
    solve(H, data.pivots, step)
    solve_transposed(H, data.pivots, back.zp)
    for k in range(n):
        back.dv[k] = v[k] - w[k]
    for k in range(back.mu.shape[0]):
        back.mu[k] = step[n + k]
    return True


@routine
def reverse_projection(loops, model, data, back, grads, projected, u, wanted):
    """Turn gradients (back.bx, back.bv) by the positions r and the velocity v after a projection into those by (r, w).

    `projected`: see `Projected`. Adds those by parameters to grads. Returns False if the loops are singular.
    """
    if loops is None:
        return True
    r, v = projected.r, projected.v
    n, m = r.shape[0], back.mu.shape[0]
    if m == 0:
        return True
    if not _multipliers(loops, model, data, back, projected, u):
        return False
    z, zp, still, lam = back.z, back.zp, back.still, back.lamp
    for k in range(m):
        z[n + k] = 0.0
    for part in range(3):
        rates = back.dv if part == 0 else still
        for k in range(n):
            z[k] = zp[k] if part == 0 else (v[k] if part == 1 else -(zp[k] + v[k]))
        for k in range(m):
            lam[k] = back.mu[k] if part == 0 else (-zp[n + k] if part == 1 else 0.0)
        residual(model, data, r, still, rates, u, lam)
        keep_inertias(data.links, back.cot)
        for k in range(n):
            data.rdd[k] = rates[k]
        newton_matrix(model, data, r, still, u, lam, 0.0)
        for k in range(n):
            for i in range(n):
                back.bx[k] -= z[i] * data.H[i, k]
        end = StageEnd(r, still, lam)
        rate_gradients(model, data, back, grads, end, u)
        if part == 0:
            for k in range(n):
                back.bv[k] = back.ya[k]
        if wanted:
            parameter_gradients(model, data, back, grads, end)
    return True
