"""Linearly implicit Euler (Baraff and Witkin 1998; Sueda 2021, Eqs. 2.82 to 2.86): one linear system per step.

    (M - h D - h^2 K) v' = (M - h D) v + h f(q, v),   q' = q + h v'

with the stiffness K and damping D of springs, contacts and joints; gravity and velocity products are explicit. Loops
are held by A v' = -s h, where s stabilises the constraint values h (Baumgarte, Eq. 1.97).
"""

from leastaction._finite import is_finite
from leastaction._jit import entry, routine
from leastaction.kinematics.reduced.charts import switch_charts, use_charts
from leastaction.linalg.factor import factor, solve
from leastaction.redmax.arrays import ReducedRun, ReducedSettings, named_data, named_model
from leastaction.redmax.step.columns import force_column, has_wrenches
from leastaction.redmax.step.masses import mass_matrix
from leastaction.redmax.step.reduced_loops import loop_directions
from leastaction.redmax.step.reduced_residual import residual
from leastaction.spatial import ZERO6, store6


@routine
def _joint_terms(model, data, dt, r, v):
    """Add springs, dampers and limits of the coordinates to H, and the dampers' part to the right-hand side."""
    plain = model.coordinates.plain
    for p in range(plain.shape[0]):
        _one_coordinate(model.dofs[plain[p, 2]], data, plain[p, 0], dt, r, v)
    _block_terms(model.coordinates.blocks, model.forces.coords, data, dt, r, v)


@routine
def _block_terms(blocks, coords, data, dt, r, v):
    if blocks is None:
        return
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            _one_coordinate(coords[k], data, k, dt, r, v)


@routine
def _one_coordinate(dof, data, k, dt, r, v):
    damping, stiffness = dof.damping, dof.stiffness
    if dof.limit_stiffness > 0.0 and (r[k] < dof.lower or r[k] > dof.upper):
        damping += dof.limit_damping
        stiffness += dof.limit_stiffness
    data.H[k, k] += dt * damping + dt * dt * stiffness
    data.step[k] += dt * damping * v[k]


@routine
def _wrench_terms(wrenches, model, data, dt, v, u, lam):
    """Add the stiffness and damping of what pushes on nodes to H, and the dampers' part to the right-hand side."""
    if wrenches is None:
        return
    if not has_wrenches(wrenches, model, u):
        return
    H, step, rates, n = data.H, data.step, data.rates, v.shape[0]
    # Stiffness at fixed twists of the bodies, as the method has it: velocities do not change with positions.
    for k in range(rates.shape[0]):
        store6(rates[k].P1, ZERO6)
    for c in range(n):
        force_column(model, data, u, lam, c, 0.0, dt)
        for i in range(n):
            H[i, c] -= data.change[i]
            step[i] -= data.change[i] * v[c]
        force_column(model, data, u, lam, c, 1.0, 0.0)
        for i in range(n):
            H[i, c] -= dt * dt * data.change[i]
    loop_directions(model.loops, model.coordinates, data, n)


@routine
def linear_step(model, settings, data, r, v, u, lam):
    """data.step: the new velocities, then the multipliers times dt; False if the matrix is singular."""
    H, g, step, dt = data.H, data.g, data.step, settings.dt
    n, m = r.shape[0], lam.shape[0]
    for k in range(m):
        lam[k] = 0.0
    for k in range(n):
        data.rdd[k] = 0.0
    residual(model, data, r, v, data.rdd, u, lam)
    for i in range(n, n + m):
        for j in range(n + m):
            H[i, j] = 0.0
            H[j, i] = 0.0
    mass_matrix(model, data)
    for i in range(n):
        step[i] = -dt * g[i]
        for j in range(n):
            step[i] += H[i, j] * v[j]
    for k in range(m):
        step[n + k] = -settings.stabilization * g[n + k]
    _wrench_terms(model.wrenches, model, data, dt, v, u, lam)
    _joint_terms(model, data, dt, r, v)
    if not factor(H, data.pivots):
        return False
    solve(H, data.pivots, step)
    return True


@entry(nogil=True)
def linear_rollout(model, settings, data, run, first, last, U):
    """Fill rows first + 1 ... last of a run; returns the last row that holds."""
    model, settings = named_model(model), ReducedSettings(*settings)
    data, run = named_data(data), ReducedRun(*run)
    dt, balls, n = settings.dt, model.coordinates.balls, run.R.shape[1]
    for now in range(first, last):
        r, v, lam = run.R[now], run.RD[now], run.multipliers[now + 1]
        use_charts(balls, data.coordinates, run.charts[now])
        if not linear_step(model, settings, data, r, v, U[now - first, 0], lam):
            return now
        finite = True
        for k in range(n):
            run.RD[now + 1, k] = data.step[k]
            run.R[now + 1, k] = r[k] + dt * data.step[k]
            finite = finite and is_finite(data.step[k])
        if not finite:
            return now
        for k in range(lam.shape[0]):
            lam[k] = data.step[n + k] / dt
        switch_charts(balls, run.R[now + 1], run.RD[now + 1], r, run.charts[now], run.charts[now + 1])
    return last
