"""The ways to solve for a Newton direction, behind one signature: (model, rule, work, var, solver, dt, dx)."""

from leastaction._jit import routine
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal import hessian, recursion, sparse
from leastaction.minimal.variations import joint_variations


@routine
def recursive(model, rule, work, var, solver, dt, dx):
    """O(n) recursion (Fan 2018, Algorithms B.1 and B.2)."""
    joint_variations(model, rule, work, var, dt)
    recursion.direction(model, rule, work[0], var, solver, work[10], dt, dx)


@routine
def tree_sparse(model, rule, work, var, solver, dt, dx):
    """Tree-sparse LDU along ancestor paths (Fan 2018, Algorithms 2 and 3)."""
    arrays, anc, x = solver
    depth, LU, D = arrays[0], arrays[1], arrays[2]
    r = work[10]
    s = dx.shape[0]
    joint_variations(model, rule, work, var, dt)
    sparse.assemble(model, rule, work[0], var, arrays, dt)
    sparse.factor(depth, anc, s, LU, D)
    for k in range(dx.shape[1]):
        for a in range(s):
            x[s * k + a] = -r[a, k]
    sparse.solve(depth, anc, s, LU, D, x, False)
    for k in range(dx.shape[1]):
        for a in range(s):
            dx[a, k] = x[s * k + a]


@routine
def dense(model, rule, work, var, solver, dt, dx):
    """Gaussian elimination on the whole Jacobian: the check, and for forces that break the sparsity (springs)."""
    full, D, J, b = solver
    r = work[10]
    s, n = dx.shape
    clear4(D)
    hessian.assemble(model, rule, work, full, D, dt)
    jacobian(D, J)
    for a in range(s):
        for i in range(n):
            b[a * n + i, 0] = -r[a, i]
    solve_in_place(J, b)
    for a in range(s):
        for i in range(n):
            dx[a, i] = b[a * n + i, 0]


@routine
def jacobian(D, J):
    """J = D[:s, 1:] as a matrix over (control point, coordinate)."""
    s, n = D.shape[0] - 1, D.shape[1]
    for a in range(s):
        for i in range(n):
            for c in range(s):
                for j in range(n):
                    J[a * n + i, c * n + j] = D[a, i, c + 1, j]


@routine
def clear4(D):
    """Zero an array of four dimensions."""
    for a in range(D.shape[0]):
        for b in range(D.shape[1]):
            for c in range(D.shape[2]):
                for d in range(D.shape[3]):
                    D[a, b, c, d] = 0.0
