"""Second derivatives of the discrete action by forces that break the tree's sparsity: those on bodies, and loops.

A column of `joint_hessian` moves a node and its subtree by (T, V). The resulting change of a wrench on any node is
distributed to the rows of all joints that carry this node.
"""

from leastaction._jit import inline, routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.total import wrench_slopes, wrenches
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial, soft_force, twist_of, wrench_slope
from leastaction.kinematics.sweeps import is_above
from leastaction.minimal.galerkin_joints.arrays import ForceColumn, ForceRows
from leastaction.spatial import ZERO6, ad, add, coad, dot, load6, load6_at, scale, store6, sub


@inline
def _column(rows, al, b, k, other, col):
    """Column (other, k) of the blocks, for a coordinate of node b, at quadrature point al."""
    return ForceColumn(b, k, other, load6_at(col[k, other], rows.at), load6_at(col[k, other], 6 * al))


@routine
def body_forces(some, model, settings, points, data):
    """Add the derivatives of all body forces, column by column; nothing where there are none (`some` is None)."""
    if some is None:
        return
    nodes, forces, external, touched = model.nodes, model.forces, points.external, model.forces.touched
    Q, S = settings.rule.w.shape[0], settings.rule.c.shape[0]
    for al in range(Q):
        wdt, links, modes = settings.rule.w[al] * settings.dt, points.nodes[al], modes_at(points.modes, al)
        rows = ForceRows(nodes, links, data.row, data.D, 6 * (Q + al), wdt)
        for j in range(touched.shape[0]):
            store6(external[touched[j]], ZERO6)
        wrenches(forces, modes, links, external)
        for b in range(nodes.shape[0]):
            for k in range(nodes[b].iv, nodes[b].iv + nodes[b].nv):
                for other in range(S):
                    move = _column(rows, al, b, k, other, data.col)
                    if _move_nodes(rows, move, external, touched, data):
                        wrench_slopes(forces, modes, links, data.T, data.dV, data.dF)
                        for j in range(touched.shape[0]):
                            _spread(rows, move, touched[j], load6(data.dF[touched[j]]))


@inline
def _move_nodes(rows, move, external, touched, data):
    """Set the motion (T, dV) of nodes with forces by a column; returns whether any moves.

    dF begins with the correction of the rotation of wrenches with the moved node: the tree assembly rotates each
    wrench on a subtree with it, as if fixed to the bodies.
    """
    found = False
    for j in range(touched.shape[0]):
        i = touched[j]
        T, dV, dF = ZERO6, ZERO6, ZERO6
        if is_above(rows.nodes, move.node, i):
            found = True
            # V varies the twist in the moving frame; ad(T, v) converts it to the world.
            T, dV, dF = move.T, add(move.V, ad(move.T, load6(rows.links[i].v))), coad(move.T, load6(external[i]))
        store6(data.T[i], T)
        store6(data.dV[i], dV)
        store6(data.dF[i], dF)
    return found


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
    """Correct for the rotation of a wrench F on `node` with the moved node.

    The tree assembly rotates each wrench on a subtree with it, as if fixed to the bodies; this one is fixed in the
    world (its own change is added by `_spread`).
    """
    if node >= 0 and is_above(rows.nodes, move.node, node):
        _spread(rows, move, node, coad(move.T, F))


@inline
def _loop_column(rows, move, eq, x, wdt):
    """One row of a loop with the impulse x, or a soft one, whose force acts for the time wdt."""
    if is_coupling(eq):
        return
    links, T, V = rows.links, move.T, move.V
    moves_a = eq.a >= 0 and is_above(rows.nodes, move.node, eq.a)
    moves_b = eq.b >= 0 and is_above(rows.nodes, move.node, eq.b)
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
