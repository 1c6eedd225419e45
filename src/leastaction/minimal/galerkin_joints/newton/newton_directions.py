"""Solvers of the Newton direction with a common signature: (model, settings, points, data of the solver, dx).

Those in `AGAIN` have a function that reuses the derivatives of the last call, for a chord step.
"""

from leastaction._jit import routine
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal.galerkin_joints.derivatives import joint_hessian
from leastaction.minimal.galerkin_joints.newton import joint_recursion, tree_sparse_ldu
from leastaction.minimal.galerkin_joints.variations import joint_variations


@routine
def recursive(model, settings, points, data, dx):
    """O(n) recursion (Fan 2018, Algorithms B.1 and B.2)."""
    joint_variations(model, settings, points, data.var)
    joint_recursion.factor(model, settings, points, data)
    joint_recursion.solve(model, data, points.r, dx)


@routine
def recursive_again(model, settings, points, data, dx):
    """`recursive` with its last derivatives."""
    joint_recursion.solve(model, data, points.r, dx)


@routine
def tree_sparse(model, settings, points, data, dx):
    """Tree-sparse LDU along ancestor paths (Fan 2018, Algorithms 2 and 3)."""
    joint_variations(model, settings, points, data.var)
    tree_sparse_ldu.assemble(model, settings, points.nodes, data)
    tree_sparse_ldu.factor(data, dx.shape[0])
    tree_sparse_again(model, settings, points, data, dx)


@routine
def tree_sparse_again(model, settings, points, data, dx):
    """`tree_sparse` with its last derivatives."""
    r, x = points.r, data.x
    s = dx.shape[0]
    for k in range(dx.shape[1]):
        for a in range(s):
            x[s * k + a] = -r[a, k]
    tree_sparse_ldu.solve(data, s, x, False)
    for k in range(dx.shape[1]):
        for a in range(s):
            dx[a, k] = x[s * k + a]


@routine
def dense(model, settings, points, data, dx):
    """Gaussian elimination of the whole Jacobian: as a reference, and for forces that break the sparsity (springs)."""
    r, b = points.r, data.b
    s, n = dx.shape
    joint_hessian.assemble(model, settings, points, data.hessian)
    jacobian(data.hessian.D, data.J)
    for a in range(s):
        for i in range(n):
            b[a * n + i, 0] = -r[a, i]
    solve_in_place(data.J, b)
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


AGAIN = {recursive: recursive_again, tree_sparse: tree_sparse_again}
