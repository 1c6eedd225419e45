"""Newton direction by dense derivatives: for body forces that couple bodies, which the recursion does not support."""

from leastaction._jit import routine
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal.galerkin_bodies.derivatives.body_hessian import hessian
from leastaction.minimal.galerkin_bodies.derivatives.body_linearization import system


@routine
def solve(model, settings, data, u):
    """Newton update dx (s, nv) for the residuals r; needs `body_residual` at the same Q."""
    s, n = data.r.shape
    dense = data.dense
    hessian(model, settings, data, u, 1)
    system(dense.H, dense.J, False)
    for j in range(s):
        for a in range(n):
            dense.rhs[j * n + a, 0] = -data.r[j, a]
    solve_in_place(dense.J, dense.rhs[:, :1])
    for j in range(s):
        for a in range(n):
            data.dx[j, a] = dense.rhs[j * n + a, 0]
