"""Linearization of a step: A = d(q', p')/d(q, p), B = d(q', p')/du (Fan 2018, Section 4), and its transposed products.

With rows r^0 ... r^{s-1} = 0 and p' = row s, the blocks D of `joint_hessian` and C of the controls give

    dx = -J^-1 (D[:s, 0] dq + dp + C[:s] du),   dp' = D[s, 1:] dx + D[s, 0] dq + C[s] du

where J = D[:s, 1:]. Ball and free joints in tangent coordinates: dq is a twist in the child's frame.
"""

from leastaction._jit import entry, inline, routine
from leastaction.linalg.dense import solve_in_place
from leastaction.minimal.galerkin_joints.derivatives import joint_hessian
from leastaction.minimal.galerkin_joints.newton import newton_directions
from leastaction.spatial import cross, mattvec, matvec, neg3, quat_to_rotation
from leastaction.spatial import exponential as ex


@routine
def blocks(model, settings, points, data):
    """D and C at the present iterate."""
    joint_hessian.assemble(model, settings, points, data.hessian)
    joint_hessian.control_blocks(model, settings, points, data.hessian, data.C)


@routine
def end_turns(nodes, X, M):
    """Convert rows of M (nv, columns), variations of the last control point, of balls to rotations, in place."""
    s = X.shape[0] - 1
    for i in range(nodes.shape[0]):
        if nodes[i].nv == 3:
            n = nodes[i].iv
            xi = (X[s, n], X[s, n + 1], X[s, n + 2])
            k = ex.coefficients(xi)
            for c in range(M.shape[1]):
                y = ex.jr(xi, k, (M[n, c], M[n + 1, c], M[n + 2, c]))
                M[n, c], M[n + 1, c], M[n + 2, c] = y


@routine
def user_columns(free, q, p, A):
    """Columns of A, (dq, dp) of split free joints, to those of the joint's own coordinates, in place.

    Displacement dx = R v, rotation w; momentum p_lin = R^T p_x, so dp_x = R dp_lin + R (w x p_lin).
    """
    nv = p.shape[0]
    for f in range(free.shape[0]):
        n = free[f, 1]
        R = _rotation(q, free[f, 0])
        pl = (p[n + 3], p[n + 4], p[n + 5])
        for r in range(A.shape[0]):
            x, w = (A[r, n], A[r, n + 1], A[r, n + 2]), (A[r, n + 3], A[r, n + 4], A[r, n + 5])
            m = nv + n
            px, pw = (A[r, m], A[r, m + 1], A[r, m + 2]), (A[r, m + 3], A[r, m + 4], A[r, m + 5])
            lin = mattvec(R, px)
            turn = cross(pl, lin)
            for j in range(3):
                A[r, n + j] = w[j] + turn[j]
                A[r, m + j] = pw[j]
                A[r, m + 3 + j] = lin[j]
            A[r, n + 3], A[r, n + 4], A[r, n + 5] = mattvec(R, x)


@routine
def user_rows(free, q, p, A):
    """Rows of A, (dq', dp') of split free joints, to those of the joint's own coordinates, in place."""
    nv = p.shape[0]
    for f in range(free.shape[0]):
        n = free[f, 1]
        R = _rotation(q, free[f, 0])
        pl = (p[n + 3], p[n + 4], p[n + 5])
        for c in range(A.shape[1]):
            x, w = (A[n, c], A[n + 1, c], A[n + 2, c]), (A[n + 3, c], A[n + 4, c], A[n + 5, c])
            m = nv + n
            px, pw = (A[m, c], A[m + 1, c], A[m + 2, c]), (A[m + 3, c], A[m + 4, c], A[m + 5, c])
            lin = mattvec(R, px)
            turn = neg3(cross(w, pl))
            v = mattvec(R, x)
            for j in range(3):
                A[n + j, c] = w[j]
                A[n + 3 + j, c] = v[j]
                A[m + j, c] = pw[j]
                A[m + 3 + j, c] = lin[j] + turn[j]


@inline
def _rotation(q, i):
    return quat_to_rotation((q[i + 3], q[i + 4], q[i + 5], q[i + 6]))


@entry
def linearize(model, settings, points, data, states, momenta, A, B):
    """A and B at the solved step from row 0 to row 1 of (states, momenta), whose control points are in `points`."""
    D, C, J, Y, W = data.hessian.D, data.C, data.J, data.Y, data.W
    s, n = D.shape[0] - 1, D.shape[1]
    nu = C.shape[2]
    blocks(model, settings, points, data)
    newton_directions.jacobian(D, J)
    for a in range(s):
        for i in range(n):
            for j in range(n):
                Y[a * n + i, j] = -D[a, i, 0, j]
                Y[a * n + i, n + j] = -1.0 if a == 0 and i == j else 0.0
            for k in range(nu):
                Y[a * n + i, 2 * n + k] = -C[a, i, k]
    solve_in_place(J, Y)
    for i in range(n):
        for c in range(W.shape[1]):
            W[i, c] = Y[(s - 1) * n + i, c]
            W[n + i, c] = 0.0
        for j in range(n):
            W[n + i, j] = D[s, i, 0, j]
        for k in range(nu):
            W[n + i, 2 * n + k] = C[s, i, k]
        for a in range(s):
            for j in range(n):
                t = D[s, i, a + 1, j]
                if t != 0.0:
                    for c in range(W.shape[1]):
                        W[n + i, c] += t * Y[a * n + j, c]
    end_turns(model.nodes, points.X, W[:n])
    user_columns(model.free, states[0], momenta[0], W)
    user_rows(model.free, states[1], momenta[1], W)
    for i in range(2 * n):
        for j in range(2 * n):
            A[i, j] = W[i, j]
        for k in range(nu):
            B[i, k] = W[i, 2 * n + k]


@entry
def second_derivatives(model, settings, points, data):
    """D and C at the control points in `points`, whose residual must be evaluated."""
    blocks(model, settings, points, data)


@entry
def pull_back(model, settings, points, data, states, momenta, bar, G):
    """Vector-Jacobian product of a solved step: bar (2 nv) at its end becomes that at its start, in place.

    G: gradient by the controls at the control points, shape (s + 1, nu); for the midpoint rule all in G[0].
    One solve with the transposed Jacobian, whatever the number of controls.
    """
    nodes, X, D, C, J = model.nodes, points.X, data.hessian.D, data.C, data.J
    s, n = D.shape[0] - 1, D.shape[1]
    blocks(model, settings, points, data)
    newton_directions.jacobian(D, J)
    row, out, y = data.bar[0], data.bar[1], data.y
    for j in range(2 * n):
        row[j] = bar[j]
    _user_rows_transposed(model.free, states[1], momenta[1], row)
    for c in range(s):
        for j in range(n):
            x = 0.0
            for i in range(n):
                x += D[s, i, c + 1, j] * row[n + i]
            y[c * n + j, 0] = x
    for i in range(nodes.shape[0]):
        k = nodes[i].iv
        if nodes[i].nv == 1:
            y[(s - 1) * n + k, 0] += row[k]
        else:
            xi = (X[s, k], X[s, k + 1], X[s, k + 2])
            t = ex.jr_transposed(xi, ex.coefficients(xi), (row[k], row[k + 1], row[k + 2]))
            for j in range(3):
                y[(s - 1) * n + k + j, 0] += t[j]
    solve_in_place(J.T, y)
    for j in range(n):
        x = 0.0
        for i in range(n):
            x += D[s, i, 0, j] * row[n + i]
            for a in range(s):
                x -= D[a, i, 0, j] * y[a * n + i, 0]
        out[j] = x
        out[n + j] = -y[j, 0]
    for k in range(C.shape[2]):
        for chi in range(s + 1):
            x = 0.0
            for i in range(n):
                x += C[chi, i, k] * (row[n + i] if chi == s else -y[chi * n + i, 0])
            G[chi, k] = x
    user_columns(model.free, states[0], momenta[0], data.bar[1:])
    for j in range(2 * n):
        bar[j] = out[j]


@routine
def _user_rows_transposed(free, q, p, row):
    """Row vectors over the joint's own coordinates at the end of the step to those of split free joints, in place."""
    nv = p.shape[0]
    for f in range(free.shape[0]):
        n = free[f, 1]
        m = nv + n
        R = _rotation(q, free[f, 0])
        pl = (p[n + 3], p[n + 4], p[n + 5])
        w, v = (row[n], row[n + 1], row[n + 2]), (row[n + 3], row[n + 4], row[n + 5])
        pw, plin = (row[m], row[m + 1], row[m + 2]), (row[m + 3], row[m + 4], row[m + 5])
        # dp_lin' = R^T dp_x - w x p_lin, so the rotation gets p_lin x (its weight), negated.
        turn = neg3(cross(pl, plin))
        x, px = matvec(R, v), matvec(R, plin)
        for j in range(3):
            row[n + j] = x[j]
            row[n + 3 + j] = w[j] + turn[j]
            row[m + j] = px[j]
            row[m + 3 + j] = pw[j]
