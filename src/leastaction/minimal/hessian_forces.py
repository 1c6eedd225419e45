"""Second derivatives of the discrete action by forces that break the tree's sparsity: springs, cables, wrenches with
directions of the world, loops.

A column of `hessian` moves a node and all it carries by (T, V). What that changes in a wrench on any node is spread
over the rows of all joints that carry this node.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.passive import path_length, path_point, path_tension
from leastaction.kinematics.closure import evaluate, is_coupling, polynomial, soft_force, twist_of, wrench_slope
from leastaction.minimal.arrays import ForceColumn, ForceRows
from leastaction.spatial import (
    ZERO3,
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
    matvec,
    scale,
    scale3,
    sub,
    sub3,
)


@inline
def _is_above(nodes, a, i):
    """Whether node a is i or an ancestor of i."""
    while i > a:
        i = nodes[i].parent
    return i == a


@inline
def _column(rows, al, b, k, other, col):
    """Column (other, k) of the blocks, for a coordinate of node b, at quadrature point al."""
    return ForceColumn(b, k, other, load6_at(col[k, other], rows.at), load6_at(col[k, other], 6 * al))


@routine
def body_forces(model, settings, points, data):
    """Add the derivatives of springs, cables and wrenches."""
    nodes, forces = model.nodes, model.forces
    Q, S = settings.rule.w.shape[0], settings.rule.c.shape[0]
    for al in range(Q):
        wdt = settings.rule.w[al] * settings.dt
        rows = ForceRows(nodes, points.nodes[al], data.row, data.D, 6 * (Q + al), wdt)
        for b in range(nodes.shape[0]):
            for k in range(nodes[b].iv, nodes[b].iv + nodes[b].nv):
                for other in range(S):
                    move = _column(rows, al, b, k, other, data.col)
                    for f in range(forces.paths.shape[0]):
                        _path_column(rows, move, forces.paths[f], forces.points)
                    for f in range(forces.wrenches.shape[0]):
                        _wrench_column(rows, move, forces.wrenches[f])


@routine
def loops(closure, nodes, settings, points, data):
    """Add the derivatives of the impulses in loops and couplings; nothing for trees."""
    if closure is None:
        return
    lam, X = points.lam, points.X
    Q, S = settings.rule.w.shape[0], settings.rule.c.shape[0]
    for al in range(Q):
        wdt = settings.rule.w[al] * settings.dt
        # Multipliers are impulses already.
        rows = ForceRows(nodes, points.nodes[al], data.row, data.D, 6 * (Q + al), 1.0)
        for b in range(nodes.shape[0]):
            for k in range(nodes[b].iv, nodes[b].iv + nodes[b].nv):
                for other in range(S):
                    move = _column(rows, al, b, k, other, data.col)
                    for f in range(closure.rows.shape[0]):
                        _loop_column(rows, move, closure.rows[f], lam[al, f], wdt)
    for f in range(closure.rows.shape[0]):
        if is_coupling(closure.rows[f]):
            n = closure.rows[f].leader
            for al in range(Q):
                _, _, curvature = polynomial(closure.rows[f], closure.coefficients, X[al, n])
                data.D[al, n, al, n] -= lam[al, f] * curvature


@inline
def _spread(rows, move, node, F):
    """Add the virtual work of a wrench variation F on a node to all rows above it."""
    S = rows.row.shape[1]
    i = node
    while i >= 0:
        for c in range(rows.nodes[i].iv, rows.nodes[i].iv + rows.nodes[i].nv):
            for chi in range(S):
                rows.D[chi, c, move.other, move.k] += rows.weight * dot(load6_at(rows.row[c, chi], rows.at), F)
        i = rows.nodes[i].parent


@inline
def _turn_rows(rows, move, node, F):
    """Undo the turning of a wrench F on `node` with the moved node.

    The tree assembly lets every wrench on a subtree turn with it, as if fixed in the bodies; this one is fixed in the
    world (its own change comes in through `_spread`).
    """
    if node >= 0 and _is_above(rows.nodes, move.node, node):
        _spread(rows, move, node, coad(move.T, F))


@inline
def _moved_point(rows, move, point):
    """Ordinary variations of a point's position and velocity."""
    if point.node < 0 or not _is_above(rows.nodes, move.node, point.node):
        return ZERO3, ZERO3
    x, _ = path_point(point, rows.links)
    W, T = load6(rows.links[point.node].v), move.T
    dx = add3(T[1], cross(T[0], x))
    # V varies the twist in the moving frame; ad(T, W) brings it to the world.
    dV = add(move.V, ad(T, W))
    return dx, add3(add3(dV[1], cross(dV[0], x)), cross(W[0], dx))


@inline
def _path_column(rows, move, path, points):
    """One spring or cable."""
    links = rows.links
    touched = False
    for a in range(path.first, path.first + path.count):
        if points[a].node >= 0 and _is_above(rows.nodes, move.node, points[a].node):
            touched = True
    if not touched:
        return
    length, rate = path_length(path, points, links)
    tension = path_tension(path, length, rate)
    dl = 0.0
    dr = 0.0
    x, xd = path_point(points[path.first], links)
    dx, dxd = _moved_point(rows, move, points[path.first])
    for a in range(path.first + 1, path.first + path.count):
        y, yd = path_point(points[a], links)
        dy, dyd = _moved_point(rows, move, points[a])
        e, de = _segment(x, y, dx, dy)
        dl += dot3(e, sub3(dy, dx))
        dr += dot3(de, sub3(yd, xd)) + dot3(e, sub3(dyd, dxd))
        x, xd, dx, dxd = y, yd, dy, dyd
    slack = path.pulls_only != 0 and tension <= 0.0
    dtension = 0.0 if slack else path.stiffness * dl + path.damping * dr
    x, _ = path_point(points[path.first], links)
    dx, _ = _moved_point(rows, move, points[path.first])
    for a in range(path.first + 1, path.first + path.count):
        y, _ = path_point(points[a], links)
        dy, _ = _moved_point(rows, move, points[a])
        e, de = _segment(x, y, dx, dy)
        f = scale3(tension, e)
        df = axpy3(dtension, e, scale3(tension, de))
        _end_force(rows, move, points[a - 1].node, x, dx, f, df)
        _end_force(rows, move, points[a].node, y, dy, scale3(-1.0, f), scale3(-1.0, df))
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
def _end_force(rows, move, node, x, dx, f, df):
    """A force f at x on a node, with its variations."""
    if node < 0:
        return
    F = (cross(x, f), f)
    dF = (add3(cross(dx, f), cross(x, df)), df)
    _spread(rows, move, node, dF)
    _turn_rows(rows, move, node, F)


@inline
def _wrench_column(rows, move, wrench):
    """A constant wrench with directions of the world."""
    if wrench.local != 0 or wrench.node < 0 or not _is_above(rows.nodes, move.node, wrench.node):
        return
    link, T = rows.links[wrench.node], move.T
    x = add3(load3(link.p), matvec(load9(link.R), load3(wrench.point)))
    W = load6(wrench.wrench)
    F = (add3(W[0], cross(x, W[1])), W[1])
    dx = add3(T[1], cross(T[0], x))
    _spread(rows, move, wrench.node, (cross(dx, W[1]), ZERO3))
    _turn_rows(rows, move, wrench.node, F)


@inline
def _loop_column(rows, move, eq, x, wdt):
    """One row of a loop with the impulse x, or a soft one, whose force acts over the time wdt."""
    if is_coupling(eq):
        return
    links, T, V = rows.links, move.T, move.V
    moves_a = eq.a >= 0 and _is_above(rows.nodes, move.node, eq.a)
    moves_b = eq.b >= 0 and _is_above(rows.nodes, move.node, eq.b)
    if not (moves_a or moves_b):
        return
    h, W = evaluate(eq, links)
    dW = wrench_slope(eq, links, moves_a, moves_b, T)
    dx = 0.0
    if eq.soft != 0:
        x = wdt * soft_force(eq, links, h, W)
        va, vb = twist_of(links, eq.a), twist_of(links, eq.b)
        dh = 0.0
        rate = dot(dW, sub(vb, va))
        if moves_b:
            dh += dot(W, T)
            rate += dot(W, add(V, ad(T, vb)))
        if moves_a:
            dh -= dot(W, T)
            rate -= dot(W, add(V, ad(T, va)))
        dx = -wdt * (eq.stiffness * dh + eq.damping * rate)
    dF = add(scale(x, dW), scale(dx, W))
    F = scale(x, W)
    if eq.b >= 0:
        _spread(rows, move, eq.b, dF)
        _turn_rows(rows, move, eq.b, F)
    if eq.a >= 0:
        _spread(rows, move, eq.a, scale(-1.0, dF))
        _turn_rows(rows, move, eq.a, scale(-1.0, F))
