"""The equations of a step and their derivatives at given control points, along the joints' own tangents.

Kernels of a step express ball joints in the chart xi of the start, R = R_k exp(xi), and free joints as three sliders
and a ball joint. An optimiser has configurations at the control points instead. Here row chi is the derivative of the
discrete action along the tangent of `Mechanism.integrate` at control point chi, for ball and free joints a twist in the
child's frame, and column chi' moves control point chi' along its own tangent while the others are fixed.
"""

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_joints.joint_residual import unit3
from leastaction.spatial import axpy3, cross, dot3, load9, matmul, mattvec, matvec, neg3, rot_exp, sub3
from leastaction.spatial import exponential as ex


@routine
def own_tangents(model, points, D, C, out):
    """Convert blocks D and C from the charts of a step to the joints' own tangents, in place, and set the rows out."""
    _turn_rows(model.nodes, points, D, C)
    _turn_columns(model.nodes, points.X, D)
    own_rows(model, points, out)
    _own_free(model, points, D, C, out)


@inline
def _chart(X, chi, n):
    """Exponential coordinates of a ball joint at a control point."""
    return (X[chi, n], X[chi, n + 1], X[chi, n + 2])


@inline
def _rotation(points, free, chi):
    """Rotation of a split free joint at a control point."""
    return matmul(load9(points.balls[0, free[2]].start), rot_exp(_chart(points.X, chi, free[1] + 3)))


@routine
def own_rows(model, points, out):
    """Rows along rotations in the child's frame, and those of free joints along twists."""
    nodes, g, X = model.nodes, points.g, points.X
    for i in range(nodes.shape[0]):
        n = nodes[i].iv
        for chi in range(g.shape[0]):
            if nodes[i].nv == 1:
                out[chi, n] = g[chi, n]
                continue
            xi = _chart(X, chi, n)
            t = (g[chi, n], g[chi, n + 1], g[chi, n + 2])
            if chi > 0:
                t = ex.jl_inverse(xi, ex.coefficients(xi), t)
            out[chi, n], out[chi, n + 1], out[chi, n + 2] = t
    for f in range(model.free.shape[0]):
        n = model.free[f, 1]
        for chi in range(g.shape[0]):
            force = mattvec(_rotation(points, model.free[f], chi), (out[chi, n], out[chi, n + 1], out[chi, n + 2]))
            for j in range(3):
                out[chi, n + j] = out[chi, n + 3 + j]
                out[chi, n + 3 + j] = force[j]


@routine
def _turn_rows(nodes, points, D, C):
    """Rows of ball joints at the inner control points from charts to rotations; the first and last are rotations."""
    X, g, s = points.X, points.g, points.X.shape[0] - 1
    for i in range(nodes.shape[0]):
        if nodes[i].nv == 1:
            continue
        n = nodes[i].iv
        for chi in range(1, s):
            xi = _chart(X, chi, n)
            k = ex.coefficients(xi)
            for other in range(s + 1):
                for c in range(D.shape[3]):
                    t = ex.jl_inverse(xi, k, (D[chi, n, other, c], D[chi, n + 1, other, c], D[chi, n + 2, other, c]))
                    D[chi, n, other, c], D[chi, n + 1, other, c], D[chi, n + 2, other, c] = t
            for c in range(C.shape[2]):
                t = ex.jl_inverse(xi, k, (C[chi, n, c], C[chi, n + 1, c], C[chi, n + 2, c]))
                C[chi, n, c], C[chi, n + 1, c], C[chi, n + 2, c] = t
            # The rows themselves rotate with xi, which changes with R and R_k.
            t = (g[chi, n], g[chi, n + 1], g[chi, n + 2])
            for m in range(3):
                e = unit3(m)
                own = ex.jl_inverse_slope(xi, k, e, t)
                start = ex.jl_inverse_slope(xi, k, neg3(ex.jl_inverse(xi, k, e)), t)
                for j in range(3):
                    D[chi, n + j, chi, n + m] += own[j]
                    D[chi, n + j, 0, n + m] += start[j]


@routine
def _turn_columns(nodes, X, D):
    """Columns of ball joints at the control points after the first from their charts to rotations."""
    for i in range(nodes.shape[0]):
        if nodes[i].nv == 1:
            continue
        n = nodes[i].iv
        for other in range(1, X.shape[0]):
            xi = _chart(X, other, n)
            k = ex.coefficients(xi)
            for chi in range(D.shape[0]):
                for r in range(D.shape[1]):
                    t = (D[chi, r, other, n], D[chi, r, other, n + 1], D[chi, r, other, n + 2])
                    for m in range(3):
                        D[chi, r, other, n + m] = dot3(t, ex.jr_inverse(xi, k, unit3(m)))


@routine
def _own_free(model, points, D, C, out):
    """Rows and columns of split free joints to twists in the child's frame; out: the rows themselves."""
    for f in range(model.free.shape[0]):
        n = model.free[f, 1]
        for chi in range(D.shape[0]):
            R = _rotation(points, model.free[f], chi)
            for other in range(D.shape[2]):
                for c in range(D.shape[3]):
                    _swap_row(D[chi, :, other, c], n, R)
            for c in range(C.shape[2]):
                _swap_row(C[chi, :, c], n, R)
            for other in range(D.shape[0]):
                for r in range(D.shape[1]):
                    # R^T again: a displacement R v moves a slider by v . R^T.
                    _swap_row(D[other, r, chi], n, R)
    for f in range(model.free.shape[0]):
        n = model.free[f, 1]
        for chi in range(D.shape[0]):
            # The force in the child's frame rotates with it.
            force = (out[chi, n + 3], out[chi, n + 4], out[chi, n + 5])
            for m in range(3):
                turn = cross(force, unit3(m))
                for j in range(3):
                    D[chi, n + 3 + j, chi, n + m] += turn[j]


@routine
def split_free(model, points, lam, out):
    """Displacements lam (s + 1, nv) along tangents with split free joints: (turn, R^T shift) to (shift, turn)."""
    for chi in range(lam.shape[0]):
        for k in range(lam.shape[1]):
            out[chi, k] = lam[chi, k]
        for f in range(model.free.shape[0]):
            n = model.free[f, 1]
            shift = matvec(_rotation(points, model.free[f], chi), (lam[chi, n + 3], lam[chi, n + 4], lam[chi, n + 5]))
            for j in range(3):
                out[chi, n + j], out[chi, n + 3 + j] = shift[j], lam[chi, n + j]


@routine
def own_free_changes(model, points, lam, D, rows, out):
    """Changes of D along lam: from split free joints (out) to twists in the child's frame, in place.

    D, rows: blocks and rows of `own_tangents`. The conversion in `_own_free` rotates with the joint itself.
    """
    last = out.shape[0]
    for f in range(model.free.shape[0]):
        n = model.free[f, 1]
        for chi in range(last):
            R = _rotation(points, model.free[f], chi)
            for other in range(last):
                for c in range(out.shape[3]):
                    _swap_row(out[chi, :, other, c], n, R)
            for other in range(last):
                for c in range(out.shape[3]):
                    _swap_row(out[other, c, chi], n, R)
    for f in range(model.free.shape[0]):
        n = model.free[f, 1]
        v = n + 3
        for chi in range(last):
            w = (lam[chi, n], lam[chi, n + 1], lam[chi, n + 2])
            force = (rows[chi, v], rows[chi, v + 1], rows[chi, v + 2])
            df = (0.0, 0.0, 0.0)
            for other in range(last):
                for c in range(out.shape[3]):
                    p = (D[chi, v, other, c], D[chi, v + 1, other, c], D[chi, v + 2, other, c])
                    df = axpy3(lam[other, c], p, df)
                    if other == chi and n <= c < v:
                        p = sub3(p, cross(force, unit3(c - n)))
                    turn = cross(p, w)
                    p = (D[other, c, chi, v], D[other, c, chi, v + 1], D[other, c, chi, v + 2])
                    back = cross(p, w)
                    for j in range(3):
                        out[chi, v + j, other, c] += turn[j]
                        out[other, c, chi, v + j] += back[j]
            for m in range(3):
                turn = cross(df, unit3(m))
                for j in range(3):
                    out[chi, v + j, chi, n + m] += turn[j]


@inline
def _swap_row(a, n, R):
    """Convert entries (shift, rotation) from n on to (rotation, R^T shift)."""
    shift = mattvec(R, (a[n], a[n + 1], a[n + 2]))
    for j in range(3):
        a[n + j] = a[n + 3 + j]
        a[n + 3 + j] = shift[j]
