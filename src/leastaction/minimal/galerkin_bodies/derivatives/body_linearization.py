"""Linearization of a solved body-wise step: A = d(q', p')/d(q, p), B = d(q', p')/du, and its transposed products.

With H and C of `body_hessian`, rows 0 ... s - 1 vanish: J z = -(H_0 dq + dp at row 0 + C du) gives the displacements z
of the nodes 1 ... s, and row s is p'. Displacements of ball and free joints are twists in the child's frame, at both
ends.
"""

from leastaction._jit import routine
from leastaction.linalg.dense import solve_in_place


@routine
def linearize(dense, A, B):
    """Fill A (2 nv, 2 nv) and B (2 nv, nu), for constant controls in the step."""
    H, C, J, rhs = dense.H, dense.C, dense.J, dense.rhs
    s, n, nu = H.shape[0] - 1, H.shape[1], C.shape[2]
    system(H, J, False)
    for j in range(s):
        for a in range(n):
            row = j * n + a
            for b in range(n):
                rhs[row, b] = -H[j, a, 0, b]
                rhs[row, n + b] = -1.0 if j == 0 and a == b else 0.0
            for c in range(nu):
                rhs[row, 2 * n + c] = -C[j, a, c]
    solve_in_place(J, rhs)
    for col in range(2 * n + nu):
        for a in range(n):
            p = 0.0
            if col < n:
                p = H[s, a, 0, col]
            elif col >= 2 * n:
                p = C[s, a, col - 2 * n]
            for k in range(1, s + 1):
                for b in range(n):
                    p += H[s, a, k, b] * rhs[(k - 1) * n + b, col]
            q = rhs[(s - 1) * n + a, col]
            if col < 2 * n:
                A[a, col], A[n + a, col] = q, p
            else:
                B[a, col - 2 * n], B[n + a, col - 2 * n] = q, p


@routine
def system(H, J, transposed):
    """The matrix of rows 0 ... s - 1 by nodes 1 ... s, or its transpose."""
    s, n = H.shape[0] - 1, H.shape[1]
    for j in range(s):
        for a in range(n):
            for k in range(1, s + 1):
                for b in range(n):
                    row, col = j * n + a, (k - 1) * n + b
                    if transposed:
                        J[col, row] = H[j, a, k, b]
                    else:
                        J[row, col] = H[j, a, k, b]


@routine
def multipliers(dense, bar):
    """Set lam (s, nv) in `dense.rhs[:, 0]`: minus the transposed solve of `bar` (2 nv) by the nodes 1 ... s."""
    H, rhs = dense.H, dense.rhs
    s, n = H.shape[0] - 1, H.shape[1]
    system(H, dense.J, True)
    for k in range(1, s + 1):
        for b in range(n):
            t = bar[b] if k == s else 0.0
            for a in range(n):
                t += bar[n + a] * H[s, a, k, b]
            rhs[(k - 1) * n + b, 0] = -t
    solve_in_place(dense.J, rhs[:, :1])


@routine
def pull_back(dense, bar, out):
    """Convert `bar` (2 nv), gradient by (q', p'), to that by (q, p), in place; `out` (nodes, nu): by the controls."""
    H, C, lam = dense.H, dense.C, dense.rhs
    s, n = H.shape[0] - 1, H.shape[1]
    multipliers(dense, bar)
    for j in range(s + 1):
        for c in range(C.shape[2]):
            t = 0.0
            for a in range(n):
                t += (bar[n + a] if j == s else lam[j * n + a, 0]) * C[j, a, c]
            out[j, c] = t
    for b in range(n):
        t = 0.0
        for a in range(n):
            t += bar[n + a] * H[s, a, 0, b]
            for j in range(s):
                t += lam[j * n + a, 0] * H[j, a, 0, b]
        dense.row[b] = t
    for b in range(n):
        bar[b] = dense.row[b]
        bar[n + b] = lam[b, 0]
