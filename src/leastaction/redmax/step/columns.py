"""Columns of the Newton matrix that come from body forces and loops.

For each reduced coordinate: how the nodes move (T) and how their twists change (dV), what that does to every world
wrench, and the generalised forces of that change. The inertial part of the matrix lets each wrench on a node move
rigidly with it; what is added here is the true change less that.
"""

from leastaction._jit import inline, routine
from leastaction.dynamics.loops import coordinate_of
from leastaction.forces.balls import is_soft, torque_slope, twist_pair
from leastaction.forces.passive import clear
from leastaction.forces.slopes import body_force_slopes, point_slope, pull_slope
from leastaction.kinematics.closure import evaluate, is_coupling, is_velocity, polynomial, push, soft_force, twist_of
from leastaction.kinematics.closure import wrench_slope as closure_slope
from leastaction.kinematics.sweeps import add_to
from leastaction.redmax.coordinates.lift import lower
from leastaction.redmax.step.residual import drive_wrench, user_force_slopes
from leastaction.spatial import ZERO6, ad, add, add3, axpy, cross_force, dot, load6, neg, scale, store6, sub


@routine
def has_wrenches(model, loops, u):
    """Whether any wrench acts on a node besides gravity."""
    _, paths, _, wrenches, penalties, balls, drives, _, user = model[4]
    if paths.shape[0] + wrenches.shape[0] + penalties.shape[0] + loops[0].shape[0] + user[0].shape[0] > 0:
        return True
    for k in range(balls.shape[0]):
        if is_soft(balls[k]):
            return True
    driven = False
    for k in range(drives.shape[0]):
        driven = driven or (drives[k].dof < 0 and u[k] != 0.0)
    return driven


@routine
def directions(model, work, c, position, rate, dx, dw):
    """(dx, dw): changes of the nodes' coordinates and velocities, `position` and `rate` times those of coordinate c."""
    plain, blocks = model[3][0], model[3][1]
    for k in range(dx.shape[0]):
        dx[k] = 0.0
        dw[k] = 0.0
    for p in range(plain.shape[0]):
        if plain[p, 0] == c:
            dx[plain[p, 2]] = position
            dw[plain[p, 2]] = rate
            return
    for b in range(blocks.shape[0]):
        block = blocks[b]
        if block.ir <= c < block.ir + block.nr:
            for j in range(block.nv):
                dx[block.iv + j] = position * block.T[j, c - block.ir]
                dw[block.iv + j] = position * block.E[j, c - block.ir] + rate * block.T[j, c - block.ir]


@routine
def move_nodes(nodes, links, screws, rates, dx, dw, T, dV):
    """Displacements T and twist changes dV of all nodes (nodes, 6) for changes of their coordinates and velocities."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        t, d = ZERO6, ZERO6
        if node.parent >= 0:
            t, d = load6(T[node.parent]), load6(dV[node.parent])
            # The parent's change without the part that comes from its own displacement.
            d = sub(d, ad(t, load6(links[node.parent].v)))
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            t = axpy(dx[k], S, t)
            d = axpy(dx[k], load6(rates[k].P1), axpy(dw[k], S, d))
        store6(T[i], t)
        store6(dV[i], add(d, ad(t, load6(links[i].v))))


@inline
def _node(A, i):
    return ZERO6 if i < 0 else load6(A[i])


@routine
def loop_columns(model, loops, work, lam, dx, out, tau, H, c, nr):
    """Changes of loop forces (out, tau) and of the loop equations, which go into column c of H below row nr."""
    rows, coefficients, _, kept = loops
    links, q, T, dV = work[0], work[4][0], work[5][1], work[5][2]
    for k in range(rows.shape[0]):
        row = rows[k]
        if row.soft == 0 and kept[k] < 0:
            continue
        if is_coupling(row):
            _, slope, curvature = polynomial(row, coefficients, coordinate_of(model[0], q, row.leader))
            tau[row.leader] -= curvature * lam[kept[k]] * dx[row.leader]
            H[nr + kept[k], c] = dx[row.follower] - slope * dx[row.leader]
            continue
        h, W = evaluate(row, links)
        Ta, Tb = _node(T, row.a), _node(T, row.b)
        dW = add(closure_slope(row, links, True, False, Ta), closure_slope(row, links, False, True, Tb))
        moved, changed = dot(W, sub(Tb, Ta)), dot(W, sub(_node(dV, row.b), _node(dV, row.a)))
        changed += dot(dW, sub(twist_of(links, row.b), twist_of(links, row.a)))
        if row.soft != 0:
            push(row, out, dW, soft_force(row, links, h, W))
            push(row, out, W, -row.stiffness * moved - row.damping * changed)
            continue
        push(row, out, dW, lam[kept[k]])
        H[nr + kept[k], c] = changed if is_velocity(row) else moved


@routine
def user_slopes(user, links, T, dV, out):
    """Add the changes of the wrenches of the user's forces."""
    addresses, _, points, x, _, f, K, D = user
    for k in range(addresses.shape[0]):
        first, n = user_force_slopes(user, k, links)
        for i in range(n):
            xi, fi, df = (x[i, 0], x[i, 1], x[i, 2]), (f[i, 0], f[i, 1], f[i, 2]), (0.0, 0.0, 0.0)
            for j in range(n):
                dx, dv = point_slope(points[first + j].node, (x[j, 0], x[j, 1], x[j, 2]), links, T, dV)
                df = add3(df, add3(_block(K, n, i, j, dx), _block(D, n, i, j, dv)))
            dx, _ = point_slope(points[first + i].node, xi, links, T, dV)
            pull_slope(out, points[first + i].node, xi, dx, fi, df)


@inline
def _block(K, n, i, j, d):
    """Block (i, j) of a matrix (3 n, 3 n) of 3 x 3 blocks, times d."""
    a, b, c = 3 * i * 3 * n + 3 * j, (3 * i + 1) * 3 * n + 3 * j, (3 * i + 2) * 3 * n + 3 * j
    return (
        K[a] * d[0] + K[a + 1] * d[1] + K[a + 2] * d[2],
        K[b] * d[0] + K[b + 1] * d[1] + K[b + 2] * d[2],
        K[c] * d[0] + K[c + 1] * d[1] + K[c + 2] * d[2],
    )


@routine
def wrench_changes(model, work, u, out):
    """Add to `out` how all wrenches on nodes change, loops apart; T and dV are in the work space."""
    _, paths, points, wrenches, penalties, balls, drives, _, user = model[4]
    links, T, dV = work[0], work[5][1], work[5][2]
    body_force_slopes(paths, points, wrenches, penalties, links, T, dV, out)
    user_slopes(user, links, T, dV, out)
    for k in range(balls.shape[0]):
        if is_soft(balls[k]):
            twist_pair(out, balls[k].child, balls[k].other, torque_slope(balls[k], links, T, dV))
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.dof < 0 and drive.node >= 0 and u[k] != 0.0:
            F = cross_force(load6(T[drive.node]), drive_wrench(drive, u[k], links))
            add_to(out[drive.node], F)
            if drive.other >= 0:
                add_to(out[drive.other], neg(F))


@routine
def project(nodes, screws, out, tau):
    """Add to tau the generalised forces of the wrenches `out` (nodes, 6); destroys them."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = load6(out[i])
        for k in range(node.iv, node.iv + node.nv):
            tau[k] += dot(load6(screws[k].S), f)
        if node.parent >= 0:
            add_to(out[node.parent], f)


@routine
def force_column(model, loops, work, u, lam, c, position, rate, vectors, H, nr):
    """vectors[3] (nr): change of the body and loop forces by coordinate c; loop equations go into H.

    `vectors`: scratch dx, dw, tau (nv each) and the result.
    """
    dx, dw, tau, column = vectors
    nodes = model[0]
    links, screws, rates = work[0], work[1], work[2]
    external, T, dV, out = work[5]
    directions(model, work, c, position, rate, dx, dw)
    move_nodes(nodes, links, screws, rates, dx, dw, T, dV)
    clear(out, tau)
    wrench_changes(model, work, u, out)
    if loops[0].shape[0] > 0:
        loop_columns(model, loops, work, lam, dx, out, tau, H, c, nr)
    if position != 0.0:
        for i in range(nodes.shape[0]):
            add_to(out[i], scale(-1.0, cross_force(load6(T[i]), load6(external[i]))))
    project(nodes, screws, out, tau)
    lower(model[3][0], model[3][1], tau, column)


@routine
def add_force_columns(model, loops, work, u, lam, c1, vectors, H, nr):
    """Subtract the changes of body and loop forces from H (nr + m, nr + m), and fill its rows and columns of loops."""
    column = vectors[3]
    for c in range(nr):
        force_column(model, loops, work, u, lam, c, 1.0, c1, vectors, H, nr)
        for i in range(nr):
            H[i, c] -= column[i]
    loop_directions(model, loops, work, vectors, H, nr)


@routine
def loop_directions(model, loops, work, vectors, H, nr):
    """Columns of the multipliers: minus the generalised force of each."""
    rows, coefficients, count, kept = loops
    tau, column = vectors[2], vectors[3]
    nodes, links, screws, q, out = model[0], work[0], work[1], work[4][0], work[5][3]
    for k in range(count):
        if kept[k] < 0:
            continue
        clear(out, tau)
        row = rows[k]
        if is_coupling(row):
            _, slope, _ = polynomial(row, coefficients, coordinate_of(model[0], q, row.leader))
            tau[row.follower] += 1.0
            tau[row.leader] -= slope
        else:
            _, W = evaluate(row, links)
            push(row, out, W, 1.0)
            project(nodes, screws, out, tau)
        lower(model[3][0], model[3][1], tau, column)
        for i in range(nr):
            H[i, nr + kept[k]] = -column[i]
