"""The ways to solve for a Newton direction, behind one signature: (model, rule, work, var, solver, dt, dx)."""

import numpy as np

from leastaction._jit import routine
from leastaction.minimal import recursion, sparse
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
    """LAPACK on the whole Jacobian: the check, and for forces that break the sparsity."""
    arrays, anc, J = solver
    depth, LU, D = arrays[0], arrays[1], arrays[2]
    r = work[10]
    s = dx.shape[0]
    joint_variations(model, rule, work, var, dt)
    sparse.assemble(model, rule, work[0], var, arrays, dt)
    full_matrix(depth, anc, s, LU, D, J)
    b = np.zeros(J.shape[0])
    for k in range(dx.shape[1]):
        for a in range(s):
            b[s * k + a] = -r[a, k]
    x = np.linalg.solve(J, b)
    for k in range(dx.shape[1]):
        for a in range(s):
            dx[a, k] = x[s * k + a]


@routine
def full_matrix(depth, anc, s, LU, D, J):
    """The assembled (not factored) Jacobian as a full matrix over scalar nodes (coordinate, control point)."""
    for k in range(J.shape[0]):
        for c in range(J.shape[1]):
            J[k, c] = 0.0
    for k in range(J.shape[0]):
        J[k, k] = D[k]
        for a in range(sparse.scalar_depth(depth, s, k)):
            J[k, anc[k, a]] = LU[0, k, a]
            J[anc[k, a], k] = LU[1, k, a]
