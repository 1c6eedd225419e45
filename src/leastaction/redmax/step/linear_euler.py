"""Linearly implicit Euler (Baraff and Witkin 1998; Sueda 2021, Eqs. 2.82 to 2.86): one linear system per step.

    (M - h D - h^2 K) v' = (M - h D) v + h f(q, v),   q' = q + h v'

with the stiffness K and damping D of springs, contacts and joints; gravity and velocity products are explicit. Loops
are held by A v' = -s h, where s stabilises the constraint values h (Baumgarte, Eq. 1.97).
"""

from leastaction._finite import is_finite
from leastaction._jit import entry, routine
from leastaction.dynamics.recursions import composite_inertias
from leastaction.linalg.factor import factor, solve
from leastaction.redmax.coordinates.charts import switch_charts, use_charts
from leastaction.redmax.step.columns import force_column, has_wrenches, loop_directions
from leastaction.redmax.step.residual import residual
from leastaction.spatial import ZERO6, dot, load6, load_inertia, momentum, store6


@routine
def mass_matrix(model, work, A, column, M):
    """M = T^T (mass matrix of the nodes) T, shape (nr, nr); A (nv, nv) and column (nv,): scratch. Uses up inertias."""
    nodes, dofs = model[0], model[1]
    plain, blocks, coords = model[3][0], model[3][1], model[4][7]
    links, screws = work[0], work[1]
    composite_inertias(nodes, links)
    n = dofs.shape[0]
    for i in range(n):
        for j in range(n):
            A[i, j] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        C = load_inertia(links[i].M)
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            f = momentum(C, load6(screws[k].S))
            j = i
            while j >= 0:
                for m in range(nodes[j].iv, nodes[j].iv + nodes[j].nv):
                    A[k, m] = dot(load6(screws[m].S), f)
                    A[m, k] = A[k, m]
                j = nodes[j].parent
            A[k, k] += dofs[k].armature
    for p in range(plain.shape[0]):
        for i in range(n):
            column[i] = A[i, plain[p, 2]]
        _spread(plain, blocks, column, M, plain[p, 0])
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for c in range(block.nr):
            for i in range(n):
                column[i] = 0.0
                for j in range(block.nv):
                    column[i] += A[i, block.iv + j] * block.T[j, c]
            _spread(plain, blocks, column, M, block.ir + c)
            M[block.ir + c, block.ir + c] += coords[block.ir + c].armature


@routine
def _spread(plain, blocks, column, M, c):
    """Column c of M: T^T times a column of the nodes."""
    for p in range(plain.shape[0]):
        M[plain[p, 0], c] = column[plain[p, 2]]
    for b in range(blocks.shape[0]):
        for d in range(blocks[b].nr):
            total = 0.0
            for j in range(blocks[b].nv):
                total += blocks[b].T[j, d] * column[blocks[b].iv + j]
            M[blocks[b].ir + d, c] = total


@routine
def _joint_terms(model, r, dt, H, step, v):
    """Add springs, dampers and limits of the coordinates to H, and the dampers' part to the right-hand side."""
    plain, blocks, dofs, coords = model[3][0], model[3][1], model[1], model[4][7]
    for p in range(plain.shape[0]):
        _one_coordinate(dofs[plain[p, 2]], plain[p, 0], r, dt, H, step, v)
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            _one_coordinate(coords[k], k, r, dt, H, step, v)


@routine
def _one_coordinate(dof, k, r, dt, H, step, v):
    damping, stiffness = dof.damping, dof.stiffness
    if dof.limit_stiffness > 0.0 and (r[k] < dof.lower or r[k] > dof.upper):
        damping += dof.limit_damping
        stiffness += dof.limit_stiffness
    H[k, k] += dt * damping + dt * dt * stiffness
    step[k] += dt * damping * v[k]


@entry
def rollout(problem, dt, stabilization, first, last, U, R, RD, charts, LAM, rdd):
    """Fill rows first + 1 ... last of R, RD; gives back the last row that holds. rdd: zeros (nr,)."""
    model, loops, work, scratch = problem
    H, pivots, g, step = scratch[0], scratch[1], scratch[2], scratch[3]
    A, column, vectors = scratch[4], scratch[5], scratch[6]
    nodes, balls, rates = model[0], model[4][5], work[2]
    n, m = R.shape[1], LAM.shape[1]
    for now in range(first, last):
        u, r, v, lam = U[now - first, 0], R[now], RD[now], LAM[now + 1]
        use_charts(nodes, balls, charts[now])
        for k in range(m):
            lam[k] = 0.0
        residual(model, loops, work, r, v, rdd, u, lam, g)
        for i in range(n, n + m):
            for j in range(n + m):
                H[i, j] = 0.0
                H[j, i] = 0.0
        mass_matrix(model, work, A[0], column, H)
        for i in range(n):
            step[i] = -dt * g[i]
            for j in range(n):
                step[i] += H[i, j] * v[j]
        for k in range(m):
            step[n + k] = -stabilization * g[n + k]
        if has_wrenches(model, loops, u):
            # Stiffness at fixed twists of the bodies, as the method has it: velocities do not change with positions.
            for k in range(rates.shape[0]):
                store6(rates[k].P1, ZERO6)
            change = vectors[3]
            for c in range(n):
                force_column(model, loops, work, u, lam, c, 0.0, dt, vectors, H, n)
                for i in range(n):
                    H[i, c] -= change[i]
                    step[i] -= change[i] * v[c]
                force_column(model, loops, work, u, lam, c, 1.0, 0.0, vectors, H, n)
                for i in range(n):
                    H[i, c] -= dt * dt * change[i]
            loop_directions(model, loops, work, vectors, H, n)
        _joint_terms(model, r, dt, H, step, v)
        if not factor(H, pivots):
            return now
        solve(H, pivots, step)
        finite = True
        for k in range(n):
            RD[now + 1, k] = step[k]
            R[now + 1, k] = r[k] + dt * step[k]
            finite = finite and is_finite(step[k])
        if not finite:
            return now
        for k in range(m):
            lam[k] = step[n + k] / dt
        switch_charts(balls, R[now + 1], RD[now + 1], r, charts[now + 1])
    return last
