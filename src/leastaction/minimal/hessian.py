"""All second derivatives of the discrete action of one step, with forces: the blocks D[chi, i, chi', j].

Row (chi, i) is the derivative of the discrete action along control point chi of coordinate i (0: start, s: end),
column (chi', j) moves control point chi' of coordinate j. For conservative systems D is D^2 L_d; dampers and controls
add DF_d (Fan 2018, Section 4 and Algorithms 2 and 3; O(s^2 n depth) here). Ball joints: row 0 and column 0 turn R_k in
its own frame with the other control points in place; column chi >= 1 moves xi^chi; row s is along turns of R_{k+1} in
its own frame, so that it is the momentum p_{k+1}.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.passive import drive_wrench, path_length, path_point, path_tension
from leastaction.kinematics.closure import evaluate, is_coupling, polynomial, soft_force, twist_of, wrench_slope
from leastaction.minimal.points import is_nodal
from leastaction.minimal.residual import ball_vectors, in_child, unit3
from leastaction.minimal.sparse import composites, gravity_slope
from leastaction.minimal.variations import (
    along,
    chart_curvature,
    own_axis,
    put6,
    rate_vector,
    turn_vector,
    weighted,
)
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    ad,
    add,
    add3,
    axpy3,
    coad,
    cross,
    dot,
    dot3,
    load3,
    load6,
    load6_at,
    load9,
    load_inertia,
    matvec,
    momentum,
    scale,
    scale3,
    sub,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def row_axis(rule, X, n, nv, chi, j):
    """Coordinate direction of row (chi, j): for the end of a ball joint the xi that turns R_{k+1} about axis j."""
    e = unit3(j)
    s = rule[0].shape[0] - 1
    if nv == 1 or chi < s:
        return e
    xi = (X[s, n], X[s, n + 1], X[s, n + 2])
    return ex.jr_inverse(xi, ex.coefficients(xi), e)


@inline
def _combine(rule, A, h, nv, al, chi, e, rates, idt):
    """Om (rates) or P applied to the coordinate direction e, in the child's frame."""
    if nv == 1:
        one = rate_vector(rule, A, h, nv, al, chi, 0, idt) if rates else turn_vector(rule, A, h, nv, al, chi, 0)
        return scale3(e[0], one)
    return matvec(load9(A[al, h, chi]), e)


@routine
def vectors(model, rule, work, full, dt):
    """Rows and columns of all joints and control points: twists dv^al at 6 al, pose variations at 6 (Q + al)."""
    scr, Om, P, X = work[1], work[3], work[4], work[5]
    col, row = full[0], full[1]
    nodes = model[0]
    w = rule[1]
    Q = w.shape[0]
    idt = 1.0 / dt
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, nv, h = node.iv, node.nv, node.ball
        for j in range(nv):
            for chi in range(rule[0].shape[0]):
                e = unit3(j)
                er = row_axis(rule, X, n, nv, chi, j)
                for al in range(Q):
                    mine = (not is_nodal(rule)) or chi == al
                    Vc = along(scr, al, n, nv, _combine(rule, Om, h, nv, al, chi, e, True, idt), False)
                    Vr = along(scr, al, n, nv, _combine(rule, Om, h, nv, al, chi, er, True, idt), False)
                    Tc = ZERO6
                    Tr = ZERO6
                    if mine:
                        tc = _combine(rule, P, h, nv, al, chi, e, False, idt)
                        tr = _combine(rule, P, h, nv, al, chi, er, False, idt)
                        Tc = along(scr, al, n, nv, tc, False)
                        Tr = along(scr, al, n, nv, tr, False)
                        Vc = add(Vc, along(scr, al, n, nv, tc, True))
                        Vr = add(Vr, along(scr, al, n, nv, tr, True))
                    put6(col[n + j, chi], 6 * al, Vc)
                    put6(col[n + j, chi], 6 * (Q + al), Tc)
                    put6(row[n + j, chi], 6 * al, scale(w[al] * dt, Vr))
                    put6(row[n + j, chi], 6 * (Q + al), Tr)


@routine
def _own_ball(model, rule, work, i, chi, j, other, m, dt):
    """What ball joint i does to itself in row (chi, j) when control point `other` moves along its coordinate m."""
    pts, scr, balls, Om, P, X, rate, force = work[:8]
    nodes, dofs = model[0], model[1]
    w = rule[1]
    s = rule[0].shape[0] - 1
    n, h = nodes[i].iv, nodes[i].ball
    e = row_axis(rule, X, n, 3, chi, j)
    k = unit3(m)
    end = (X[s, n], X[s, n + 1], X[s, n + 2])
    ce = ex.coefficients(end)
    # The direction e of the last row depends on xi^s itself.
    de = ZERO3
    if chi == s and (other == s or other == 0):
        ks = k if other == s else scale3(-1.0, ex.jl_inverse(end, ce, k))
        de = scale3(-1.0, ex.jr_inverse(end, ce, ex.jr_slope(end, ce, ks, e)))
    x = 0.0
    for al in range(w.shape[0]):
        mu = load6(pts[al, i].mu)
        wdt = w[al] * dt
        mom, push = ball_vectors(dofs, scr, rate, force, al, n, mu, load6(pts[al, i].G), wdt)
        bent = matvec(load9(Om[al, h, chi]), de)
        turned = ZERO3
        mine = (not is_nodal(rule)) or al == chi
        if mine:
            turned = matvec(load9(P[al, h, chi]), de)
        for ga in range(1, s + 1):
            if other == ga or other == 0:
                y = (X[ga, n], X[ga, n + 1], X[ga, n + 2])
                kx = k if other == ga else scale3(-1.0, ex.jl_inverse(y, ex.coefficients(y), k))
                bx, tx = chart_curvature(rule, balls, P, X, n, h, al, chi, ga, e, kx, dt)
                bent = add3(bent, bx)
                turned = add3(turned, tx)
        x += wdt * dot3(mom, bent) + dot3(push, turned)
        vel = matvec(load9(Om[al, h, other]), k)
        x += wdt * dot3(weighted(dofs, n, True, vel), matvec(load9(Om[al, h, chi]), e))
        if not mine:
            continue
        turn = matvec(load9(P[al, h, chi]), e)
        x -= wdt * dot3(in_child(scr, al, n, mu), cross(vel, turn))
        x -= wdt * dot3(weighted(dofs, n, False, vel), turn)
        if (not is_nodal(rule)) or chi == other:
            k3 = (dofs[n].stiffness, dofs[n + 1].stiffness, dofs[n + 2].stiffness)
            phi = load3(balls[al, h].phi)
            eta = matvec(load9(P[al, h, other]), k)
            x += wdt * dot3(ex.spring_torque_slope(phi, ex.coefficients(phi), k3, eta), turn)
    return x


@routine
def assemble(model, rule, work, full, D, dt):
    """D[chi, i, chi', j], zeroed on entry; residual must have been evaluated at the present iterate."""
    pts = work[0]
    col, row, up, down = full
    nodes, dofs, gravity = model[0], model[1], model[2]
    w = rule[1]
    Q, S = w.shape[0], rule[0].shape[0]
    g = load3(gravity)
    vectors(model, rule, work, full, dt)
    for al in range(Q):
        composites(nodes, pts, al)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, nv = node.iv, node.nv
        for j in range(nv):
            k = n + j
            for chi in range(S):
                _weights(rule, pts, i, col[k, chi], row[k, chi], up[chi], down[chi], g, dt)
            for chi in range(S):
                for other in range(S):
                    for m in range(nv):
                        x = _dot(up[chi], col[n + m, other])
                        if nv == 1:
                            x += own_axis(rule, dofs[n], chi, other, dt)
                        else:
                            x += _own_ball(model, rule, work, i, chi, j, other, m, dt)
                        D[chi, k, other, n + m] = x
                    a = node.parent
                    while a >= 0:
                        for c in range(nodes[a].iv, nodes[a].iv + nodes[a].nv):
                            D[chi, k, other, c] = _dot(up[chi], col[c, other])
                            D[other, c, chi, k] = _dot(row[c, other], down[chi])
                        a = nodes[a].parent
    if model[4].shape[0] + model[6].shape[0] + model[8].shape[0] > 0:
        _body_forces(model, rule, work, full, D, dt)


@inline
def _dot(a, b):
    x = 0.0
    for c in range(a.shape[0]):
        x += a[c] * b[c]
    return x


@inline
def _weights(rule, pts, i, col, row, up, down, g, dt):
    """up: what a row weighs in the variations of an ancestor; down: what a column causes in an ancestor."""
    w = rule[1]
    Q = w.shape[0]
    for al in range(Q):
        pt = pts[al, i]
        C = load_inertia(pt.C)
        wdt = w[al] * dt
        T = load6_at(row, 6 * (Q + al))
        # Weight on the twist: momentum, and the turning of the twist that Sp carries.
        x = sub(momentum(C, load6_at(row, 6 * al)), scale(wdt, coad(T, load6(pt.mu))))
        put6(up, 6 * al, x)
        arm = sub3(scale3(C[0], T[1]), cross(C[1], T[0]))
        put6(up, 6 * (Q + al), (scale3(wdt, cross(arm, g)), ZERO3))
        T = load6_at(col, 6 * (Q + al))
        put6(down, 6 * al, sub(momentum(C, load6_at(col, 6 * al)), coad(T, load6(pt.mu))))
        put6(down, 6 * (Q + al), sub(gravity_slope(C, g, wdt, T), coad(T, load6(pt.G))))


# ---------------------------------------------------------------- springs, cables and world-directed wrenches


@inline
def _is_above(nodes, a, i):
    """Whether node a is i or an ancestor of i."""
    while i > a:
        i = nodes[i].parent
    return i == a


@routine
def _body_forces(model, rule, work, full, D, dt):
    """Add the derivatives of springs, cables and wrenches with fixed directions; these break the tree's sparsity."""
    pts = work[0]
    col, row = full[0], full[1]
    nodes, paths, points, wrenches, rows = model[0], model[4], model[5], model[6], model[8]
    lam = work[11]
    w = rule[1]
    Q, S = w.shape[0], rule[0].shape[0]
    for al in range(Q):
        wdt = w[al] * dt
        for b in range(nodes.shape[0]):
            for k in range(nodes[b].iv, nodes[b].iv + nodes[b].nv):
                for other in range(S):
                    T = load6_at(col[k, other], 6 * (Q + al))
                    V = load6_at(col[k, other], 6 * al)
                    for f in range(paths.shape[0]):
                        _path_column(nodes, paths[f], points, pts[al], row, D, Q, al, b, k, other, T, V, wdt)
                    for f in range(wrenches.shape[0]):
                        _wrench_column(nodes, wrenches[f], pts[al], row, D, Q, al, b, k, other, T, wdt)
                    for f in range(rows.shape[0]):
                        _row_column(nodes, rows[f], lam[al, f], pts[al], row, D, Q, al, b, k, other, T, V, wdt)
    for f in range(rows.shape[0]):
        if is_coupling(rows[f]):
            n = rows[f].leader
            for al in range(Q):
                _, _, curvature = polynomial(rows[f], model[9], work[5][al, n])
                D[al, n, al, n] -= lam[al, f] * curvature


@inline
def _moved_point(nodes, point, pts, b, T, V):
    """Ordinary variations of a point's position and velocity when node b (and all it carries) varies by (T, V)."""
    if point.node < 0 or not _is_above(nodes, b, point.node):
        return ZERO3, ZERO3
    x, _ = path_point(point, pts)
    W = load6(pts[point.node].v)
    dx = add3(T[1], cross(T[0], x))
    # V varies the twist in the moving frame; ad(T, W) brings it to the world.
    dV = add(V, ad(T, W))
    return dx, add3(add3(dV[1], cross(dV[0], x)), cross(W[0], dx))


@inline
def _spread(nodes, row, D, Q, al, node, k, other, F, wdt):
    """Add the virtual work of a wrench variation F on a node to all rows above it."""
    S = row.shape[1]
    i = node
    while i >= 0:
        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            for chi in range(S):
                D[chi, c, other, k] += wdt * dot(load6_at(row[c, chi], 6 * (Q + al)), F)
        i = nodes[i].parent


@inline
def _turn_rows(nodes, row, D, Q, al, node, b, k, other, F, T, wdt):
    """Undo the turning of a wrench F on `node` with node b.

    The tree assembly lets every wrench on a subtree turn with it, as if fixed in the bodies; this one is fixed in the
    world (its own change comes in through `_spread`).
    """
    if node >= 0 and _is_above(nodes, b, node):
        _spread(nodes, row, D, Q, al, node, k, other, coad(T, F), wdt)


@inline
def _path_column(nodes, path, points, pts, row, D, Q, al, b, k, other, T, V, wdt):
    """Column (other, k) of one spring or cable, for a coordinate of node b."""
    touched = False
    for a in range(path.first, path.first + path.count):
        if points[a].node >= 0 and _is_above(nodes, b, points[a].node):
            touched = True
    if not touched:
        return
    length, rate = path_length(path, points, pts)
    tension = path_tension(path, length, rate)
    dl = 0.0
    dr = 0.0
    x, xd = path_point(points[path.first], pts)
    dx, dxd = _moved_point(nodes, points[path.first], pts, b, T, V)
    for a in range(path.first + 1, path.first + path.count):
        y, yd = path_point(points[a], pts)
        dy, dyd = _moved_point(nodes, points[a], pts, b, T, V)
        e, de = _segment(x, y, dx, dy)
        dl += dot3(e, sub3(dy, dx))
        dr += dot3(de, sub3(yd, xd)) + dot3(e, sub3(dyd, dxd))
        x, xd, dx, dxd = y, yd, dy, dyd
    slack = path.pulls_only != 0 and tension <= 0.0
    dtension = 0.0 if slack else path.stiffness * dl + path.damping * dr
    x, _ = path_point(points[path.first], pts)
    dx, _ = _moved_point(nodes, points[path.first], pts, b, T, V)
    for a in range(path.first + 1, path.first + path.count):
        y, _ = path_point(points[a], pts)
        dy, _ = _moved_point(nodes, points[a], pts, b, T, V)
        e, de = _segment(x, y, dx, dy)
        f = scale3(tension, e)
        df = axpy3(dtension, e, scale3(tension, de))
        _end_force(nodes, points[a - 1].node, row, D, Q, al, b, k, other, x, dx, f, df, T, wdt)
        _end_force(nodes, points[a].node, row, D, Q, al, b, k, other, y, dy, scale3(-1.0, f), scale3(-1.0, df), T, wdt)
        x, dx = y, dy


@inline
def _segment(x, y, dx, dy):
    """Direction of a segment and its variation."""
    d = sub3(y, x)
    r = math.sqrt(dot3(d, d))
    if r == 0.0:
        return ZERO3, ZERO3
    e = scale3(1.0 / r, d)
    dd = sub3(dy, dx)
    return e, scale3(1.0 / r, axpy3(-dot3(e, dd), e, dd))


@inline
def _end_force(nodes, node, row, D, Q, al, b, k, other, x, dx, f, df, T, wdt):
    """A force f at x on a node, with its variations."""
    if node < 0:
        return
    F = (cross(x, f), f)
    dF = (add3(cross(dx, f), cross(x, df)), df)
    _spread(nodes, row, D, Q, al, node, k, other, dF, wdt)
    _turn_rows(nodes, row, D, Q, al, node, b, k, other, F, T, wdt)


@inline
def _wrench_column(nodes, wrench, pts, row, D, Q, al, b, k, other, T, wdt):
    """Column (other, k) of a constant wrench with directions of the world."""
    if wrench.local != 0 or wrench.node < 0 or not _is_above(nodes, b, wrench.node):
        return
    link = pts[wrench.node]
    x = add3(load3(link.p), matvec(load9(link.R), load3(wrench.point)))
    W = load6(wrench.wrench)
    F = (add3(W[0], cross(x, W[1])), W[1])
    dx = add3(T[1], cross(T[0], x))
    _spread(nodes, row, D, Q, al, wrench.node, k, other, (cross(dx, W[1]), ZERO3), wdt)
    _turn_rows(nodes, row, D, Q, al, wrench.node, b, k, other, F, T, wdt)


@routine
def control_blocks(model, rule, work, full, C, dt):
    """C[chi, i, k]: derivative of the rows by control k, held over the step; zeroed on entry."""
    pts, P, X = work[0], work[4], work[5]
    row = full[1]
    nodes, dofs, drives = model[0], model[1], model[7]
    w = rule[1]
    Q, S = w.shape[0], rule[0].shape[0]
    for k in range(drives.shape[0]):
        drive = drives[k]
        for chi in range(S):
            for al in range(Q):
                if is_nodal(rule) and chi != al:
                    continue
                wdt = w[al] * dt
                if drive.dof < 0:
                    pt = pts[al, drive.node]
                    F = drive_wrench(drive, 1.0, load9(pt.R), load3(pt.p))
                    i = drive.node
                    while i >= 0:
                        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                            C[chi, c, k] += wdt * dot(load6_at(row[c, chi], 6 * (Q + al)), F)
                        i = nodes[i].parent
                    continue
                node = nodes[dofs[drive.dof].node]
                n, nv = node.iv, node.nv
                for j in range(nv):
                    e = row_axis(rule, X, n, nv, chi, j)
                    turn = _combine(rule, P, node.ball, nv, al, chi, e, False, 1.0 / dt)
                    C[chi, n + j, k] += wdt * drive.gear * turn[drive.dof - n]


@inline
def _row_column(nodes, row_, x, pts, row, D, Q, al, b, k, other, T, V, wdt):
    """Column (other, k) of one row of a loop with the impulse x, or of a soft one."""
    if is_coupling(row_):
        return
    moves_a = row_.a >= 0 and _is_above(nodes, b, row_.a)
    moves_b = row_.b >= 0 and _is_above(nodes, b, row_.b)
    if not (moves_a or moves_b):
        return
    h, W = evaluate(row_, pts)
    dW = wrench_slope(row_, pts, moves_a, moves_b, T)
    dx = 0.0
    if row_.soft != 0:
        x = wdt * soft_force(row_, pts, h, W)
        va, vb = twist_of(pts, row_.a), twist_of(pts, row_.b)
        dh = 0.0
        rate = dot(dW, sub(vb, va))
        if moves_b:
            dh += dot(W, T)
            rate += dot(W, add(V, ad(T, vb)))
        if moves_a:
            dh -= dot(W, T)
            rate -= dot(W, add(V, ad(T, va)))
        dx = -wdt * (row_.stiffness * dh + row_.damping * rate)
    dF = add(scale(x, dW), scale(dx, W))
    F = scale(x, W)
    if row_.b >= 0:
        _spread(nodes, row, D, Q, al, row_.b, k, other, dF, 1.0)
        _turn_rows(nodes, row, D, Q, al, row_.b, b, k, other, F, T, 1.0)
    if row_.a >= 0:
        _spread(nodes, row, D, Q, al, row_.a, k, other, scale(-1.0, dF), 1.0)
        _turn_rows(nodes, row, D, Q, al, row_.a, b, k, other, scale(-1.0, F), T, 1.0)
