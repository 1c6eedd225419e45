"""How the wrenches of one body at the nodes change when twists move its poses: blocks of 6 x 6."""

from leastaction._jit import inline, routine
from leastaction.minimal.bodywise.turning import plus9, polynomial, polynomial_slope, torque, turning_hessian
from leastaction.spatial import (
    ZERO3,
    add3,
    cross,
    dot3,
    load3,
    load9,
    load_sym,
    matmul,
    matmult,
    matvec,
    scale3,
    sub3,
)


@inline
def _block9(G, j, k):
    upper = (G[j, k, 0], G[j, k, 1], G[j, k, 2], G[j, k, 3], G[j, k, 4])
    return upper + (G[j, k, 5], G[j, k, 6], G[j, k, 7], G[j, k, 8])


@inline
def _store_forces(A, i, row, col, weight, xj, xk, f):
    """A block of the forces on a body: df_j = weight dx_k with dx = v + omega x x, about the origin.

    f: force at node j where j = k, so that its arm moves too, else zero. Minus the derivatives, as A has them.
    """
    t = weight * (xj[0] * xk[0] + xj[1] * xk[1] + xj[2] * xk[2]) - (f[0] * xk[0] + f[1] * xk[1] + f[2] * xk[2])
    for a in range(3):
        for b in range(3):
            # weight xj^ xk^ - f^ xk^, with a^ b^ = b a^T - (a . b) 1.
            A[i, row + a, col + b] = xk[a] * (weight * xj[b] - f[b])
            A[i, row + 3 + a, col + 3 + b] = 0.0
        A[i, row + a, col + a] -= t
        A[i, row + 3 + a, col + 3 + a] = -weight
        A[i, row + a, col + 3 + a] = 0.0
        A[i, row + 3 + a, col + a] = 0.0
    g = (f[0] - weight * xj[0], f[1] - weight * xj[1], f[2] - weight * xj[2])
    A[i, row, col + 4], A[i, row, col + 5] = -g[2], g[1]
    A[i, row + 1, col + 3], A[i, row + 1, col + 5] = g[2], -g[0]
    A[i, row + 2, col + 3], A[i, row + 2, col + 4] = -g[1], g[0]
    g = (weight * xk[0], weight * xk[1], weight * xk[2])
    A[i, row + 3, col + 1], A[i, row + 3, col + 2] = -g[2], g[1]
    A[i, row + 4, col], A[i, row + 4, col + 2] = g[2], -g[0]
    A[i, row + 5, col], A[i, row + 5, col + 1] = -g[1], g[0]


@inline
def torque_slope(turn, Ic, dt, R0):
    """Derivative (9) of the torque at the end of a step of order 2 by turns of the body there, in the world."""
    y, e, h = load3(turn.y), turn.k[6], 1.0 / dt
    G = (h * Ic[0], h * Ic[1], h * Ic[2], h * Ic[1], h * Ic[3], h * Ic[4], h * Ic[2], h * Ic[4], h * Ic[5])
    slope = polynomial_slope(y, load3(turn.g), 0.5, 0.0, e, turn.k[7])
    Z = plus9(matmul(polynomial(y, 0.5, e), G), slope)
    return matmul(R0, matmul(Z, matmult(polynomial(y, -0.5, e), R0)))


@inline
def start_torque(turns, j, i):
    """Torque of the kinetic energy on body i at node j, in the body's first frame."""
    if j > 0:
        return torque(turns[j, i])
    t = ZERO3
    for k in range(1, turns.shape[0]):
        t = sub3(t, torque(turns[k, i]))
    return t


@routine
def body_block(model, settings, data):
    """A of every body alone at order 2: one block, rows at the start and columns at the end of the step."""
    nodes, A, bodies, turns = model.nodes, data.A, data.bodies, data.turns
    dt = settings.dt
    for i in range(nodes.shape[0]):
        x = load3(bodies[0, i].x), load3(bodies[1, i].x)
        _store_forces(A, i, 0, 0, -nodes[i].mass / dt, x[0], x[1], ZERO3)
        T = torque_slope(turns[1, i], load_sym(nodes[i].Ic), dt, load9(bodies[0, i].R))
        for c in range(3):
            for d in range(3):
                A[i, c, d] += T[3 * c + d]


@routine
def body_blocks(model, settings, data, A, full):
    """A of every body alone: minus the derivatives of its wrenches F_j by twists at the nodes k.

    Rows at the nodes 0 ... s - 1 and columns at 1 ... s; `full`: both at all nodes.
    """
    nodes, m, w, b = model.nodes, model.rule.m, model.rule.w, model.rule.b
    bodies, turns, G = data.bodies, data.turns, data.G
    dt = settings.dt
    s = m.shape[0] - 1
    skip = 0 if full else 6
    rows = s + 1 if full else s
    for i in range(nodes.shape[0]):
        for j in range(rows):
            for k in range(1, s + 1):
                f = load3(bodies[j, i].f) if j == k else ZERO3
                x = load3(bodies[j, i].x), load3(bodies[k, i].x)
                _store_forces(A, i, 6 * j, 6 * k - skip, nodes[i].mass / dt * m[j, k], x[0], x[1], f)
        turning_hessian(w, b, turns, i, load_sym(nodes[i].Ic), dt, G)
        _torques(A, G, turns, i, load9(bodies[0, i].R), skip, rows)
        if full:
            fall = scale3(dt * nodes[i].mass, load3(model.gravity))
            _first_column(A, bodies, turns, w, i, fall)


@inline
def _torques(A, G, turns, i, R0, skip, rows):
    """Torques of body i: d(tau_l) = R_0 Z_lk J_l^-1(y_k) R_0^T omega_k, and tau_0 is minus their sum."""
    s = turns.shape[0] - 1
    for k in range(1, s + 1):
        right = matmult(polynomial(load3(turns[k, i].y), -0.5, turns[k, i].k[6]), R0)
        for l in range(1, s + 1):
            y, e = load3(turns[l, i].y), turns[l, i].k[6]
            Z = matmul(polynomial(y, 0.5, e), _block9(G, l, k))
            if l == k:
                Z = plus9(Z, polynomial_slope(y, load3(turns[l, i].g), 0.5, 0.0, e, turns[l, i].k[7]))
            T = matmul(R0, matmul(Z, right))
            for c in range(3):
                for d in range(3):
                    A[i, c, 6 * k - skip + d] += T[3 * c + d]
                    if l < rows:
                        A[i, 6 * l + c, 6 * k - skip + d] -= T[3 * c + d]


@inline
def _add_hat(A, i, row, col, f):
    """Add the matrix of e -> f x e."""
    A[i, row, col + 1] -= f[2]
    A[i, row, col + 2] += f[1]
    A[i, row + 1, col] += f[2]
    A[i, row + 1, col + 2] -= f[0]
    A[i, row + 2, col] -= f[1]
    A[i, row + 2, col + 1] += f[0]


@inline
def _first_column(A, bodies, turns, w, i, weight):
    """Blocks by twists of the first node, from the others: where all nodes move together, wrenches move along.

    That holds for the kinetic energy: sum_k A_jk eta = -(eta x* F_j). Gravity keeps its direction; only its arm moves,
    which the sum over the other columns has counted for j > 0 and not for j = 0: it is put back, or in.
    `weight`: impulse of gravity over the whole step.
    """
    R0 = load9(bodies[0, i].R)
    for j in range(turns.shape[0]):
        x = load3(bodies[j, i].x)
        fall = scale3(w[j], weight)
        f = sub3(load3(bodies[j, i].f), fall)
        t = add3(matvec(R0, start_torque(turns, j, i)), cross(x, f))
        for a in range(6):
            for b in range(6):
                u = 0.0
                for k in range(1, turns.shape[0]):
                    u -= A[i, 6 * j + a, 6 * k + b]
                A[i, 6 * j + a, b] = u
        _add_hat(A, i, 6 * j, 0, t)
        _add_hat(A, i, 6 * j, 3, f)
        _add_hat(A, i, 6 * j + 3, 0, f)
        # -(v + omega x x) x fall.
        _add_hat(A, i, 6 * j, 3, fall)
        for a in range(3):
            for b in range(3):
                A[i, 6 * j + a, b] -= x[a] * fall[b]
            A[i, 6 * j + a, a] += dot3(x, fall)
