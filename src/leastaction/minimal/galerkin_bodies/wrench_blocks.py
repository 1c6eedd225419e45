"""Derivatives of the wrenches of one body at the nodes by twists of its poses: blocks of 6 x 6."""

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_bodies.arrays import BodyMotion
from leastaction.minimal.galerkin_bodies.newton.simd_blocks import torque_slopes
from leastaction.minimal.galerkin_bodies.rotational_energy import (
    plus9,
    polynomial,
    polynomial_slope,
    torque,
    turning_hessian,
)
from leastaction.minimal.galerkin_bodies.spherical_joints import centre
from leastaction.minimal.vec6 import put
from leastaction.spatial import (
    ZERO3,
    add3,
    cross,
    dot3,
    load3,
    load_sym,
    matmul,
    scale3,
    sub3,
)

NO_TORQUES = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inline
def _block9(G, j, k):
    upper = (G[j, k, 0], G[j, k, 1], G[j, k, 2], G[j, k, 3], G[j, k, 4])
    return upper + (G[j, k, 5], G[j, k, 6], G[j, k, 7], G[j, k, 8])


@inline
def _store_forces(A, i, row, col, weight, xj, xk, f, T):
    """Store a block of the forces on a body: df_j = weight dx_k with dx = v + omega x x, and T (9) of its torques.

    f: force at node j where j = k, because its arm moves too, else zero. Signs: minus the derivatives, as in A.
    """
    t = weight * (xj[0] * xk[0] + xj[1] * xk[1] + xj[2] * xk[2]) - (f[0] * xk[0] + f[1] * xk[1] + f[2] * xk[2])
    # weight xj^ xk^ - f^ xk^, with a^ b^ = b a^T - (a . b) 1; and minus (weight xj - f)^.
    u, v, w = weight * xj[0] - f[0], weight * xj[1] - f[1], weight * xj[2] - f[2]
    x, y, z = xk
    put(A, i, row, col, (T[0] + (x * u - t), T[1] + x * v, T[2] + x * w, 0.0, w, -v))
    put(A, i, row + 1, col, (T[3] + y * u, T[4] + (y * v - t), T[5] + y * w, -w, 0.0, u))
    put(A, i, row + 2, col, (T[6] + z * u, T[7] + z * v, T[8] + (z * w - t), v, -u, 0.0))
    x, y, z = weight * x, weight * y, weight * z
    put(A, i, row + 3, col, (0.0, -z, y, -weight, 0.0, 0.0))
    put(A, i, row + 4, col, (z, 0.0, -x, 0.0, -weight, 0.0))
    put(A, i, row + 5, col, (-y, x, 0.0, 0.0, 0.0, -weight))


@inline
def torque_slope(turn, Ic, dt):
    """Derivative (9) of the torque at the end of a step of order 2 by rotations of the body there."""
    y, e, h = load3(turn.y), turn.k[6], 1.0 / dt
    G = (h * Ic[0], h * Ic[1], h * Ic[2], h * Ic[1], h * Ic[3], h * Ic[4], h * Ic[2], h * Ic[4], h * Ic[5])
    slope = polynomial_slope(y, load3(turn.g), 0.5, 0.0, e, turn.k[7])
    Z = plus9(matmul(polynomial(y, 0.5, e), G), slope)
    return matmul(Z, polynomial(y, -0.5, e))


@inline
def start_torque(turns, j, i):
    """Torque of the kinetic energy on body i at node j."""
    if j > 0:
        return torque(turns[j, i])
    t = ZERO3
    for k in range(1, turns.shape[0]):
        t = sub3(t, torque(turns[k, i]))
    return t


@inline
def _add_matrix(A, i, row, col, T):
    """Add a matrix (9) to a block of body i."""
    A[i, row, col] += T[0]
    A[i, row, col + 1] += T[1]
    A[i, row, col + 2] += T[2]
    A[i, row + 1, col] += T[3]
    A[i, row + 1, col + 1] += T[4]
    A[i, row + 1, col + 2] += T[5]
    A[i, row + 2, col] += T[6]
    A[i, row + 2, col + 1] += T[7]
    A[i, row + 2, col + 2] += T[8]


@inline
def body_block(model, settings, data, at, i):
    """A[at]: block of body i alone at order 2, rows at the start and columns at the end of the step."""
    A, bodies, dt = data.A, data.bodies, settings.dt
    T = torque_slope(data.turns[1, i], load_sym(data.inertias[i]), dt)
    _store_forces(A, at, 0, 0, -model.nodes[i].mass / dt, load3(bodies[0, i].x), load3(bodies[1, i].x), ZERO3, T)


@inline
def _arm(bodies, j, i, centred):
    """Centre of mass at node j, relative to the reference point of the block of body i."""
    return sub3(load3(bodies[j, i].x), centre(bodies, j, i, centred))


@routine
def body_blocks(fourth, higher, model, settings, data, at, i, centred):
    """A[at]: blocks of body i alone, minus the derivatives of its wrenches F_j by twists at the nodes k.

    Rows at the nodes 0 ... s - 1 and columns at 1 ... s. Arms at inner nodes are multiplied by the predicted forces
    there, see `body_recursion`. `fourth`, `higher`: see `feature_flags.KernelFeatures`. At order 4 after
    `torque_packs`.
    centred: whether the block refers to the joint's centres, see `spherical_joints`.
    """
    A, bodies, turns, G, rule, dt = data.A, data.bodies, data.turns, data.G, model.rule, settings.dt
    m, mass, Ic = rule.m, model.nodes[i].mass, load_sym(data.inertias[i])
    s = m.shape[0] - 1
    if fourth is not None and s == 2:
        packs, h, f = data.packs, mass / dt, load3(bodies[1, i].e)
        x, y, z = _arm(bodies, 0, i, centred), _arm(bodies, 1, i, centred), _arm(bodies, 2, i, centred)
        _store_forces(A, at, 0, 0, h * m[0, 1], x, y, ZERO3, torque_slopes(packs, i, 0))
        _store_forces(A, at, 0, 6, h * m[0, 2], x, z, ZERO3, torque_slopes(packs, i, 1))
        _store_forces(A, at, 6, 0, h * m[1, 1], y, y, f, torque_slopes(packs, i, 2))
        _store_forces(A, at, 6, 6, h * m[1, 2], y, z, ZERO3, torque_slopes(packs, i, 3))
    elif higher is not None:
        for j in range(s):
            for k in range(1, s + 1):
                f = load3(bodies[j, i].e) if j == k else ZERO3
                ends = load3(bodies[j, i].x), load3(bodies[k, i].x)
                _store_forces(A, at, 6 * j, 6 * k - 6, mass / dt * m[j, k], ends[0], ends[1], f, NO_TORQUES)
        turning_hessian(rule.w, rule.b, turns, i, Ic, dt, G)
        _torques(A, at, G, turns, i, 6, s)


@routine
def all_blocks(model, settings, data, A):
    """A (bodies, 6 (s + 1), 6 (s + 1)) of each body: minus the derivatives of F_j by twists at the nodes k."""
    motion = BodyMotion(data.bodies, data.turns, data.G)
    for i in range(model.nodes.shape[0]):
        whole_block(model, settings, motion, i, model.nodes[i].mass, load_sym(data.inertias[i]), A)


@inline
def whole_block(model, settings, motion, i, mass, Ic, A):
    """A[i] of body i alone, at all nodes."""
    bodies, turns, G, at = motion.bodies, motion.turns, motion.G, i
    m, w, b, dt = model.rule.m, model.rule.w, model.rule.b, settings.dt
    last = m.shape[0]
    for j in range(last):
        for k in range(1, last):
            f = load3(bodies[j, i].f) if j == k else ZERO3
            x = load3(bodies[j, i].x), load3(bodies[k, i].x)
            _store_forces(A, at, 6 * j, 6 * k, mass / dt * m[j, k], x[0], x[1], f, NO_TORQUES)
    turning_hessian(w, b, turns, i, Ic, dt, G)
    _torques(A, at, G, turns, i, 0, last)
    _first_column(A, at, bodies, turns, w, i, scale3(dt * mass, load3(model.gravity)))


@inline
def _inner_slope(turn):
    """Derivative (9) of J_r^-1(y) g by y alone."""
    return polynomial_slope(load3(turn.y), load3(turn.g), 0.5, 0.0, turn.k[6], turn.k[7])


@inline
def _minus(T):
    return (-T[0], -T[1], -T[2], -T[3], -T[4], -T[5], -T[6], -T[7], -T[8])


@inline
def _torques(A, at, G, turns, i, skip, rows):
    """Add the torques of body i to A[at]: d(tau_l) = Z_lk J_l^-1(y_k) omega_k, and tau_0 is minus their sum."""
    s = turns.shape[0] - 1
    for k in range(1, s + 1):
        right = polynomial(load3(turns[k, i].y), -0.5, turns[k, i].k[6])
        for l in range(1, s + 1):
            y, e = load3(turns[l, i].y), turns[l, i].k[6]
            Z = matmul(polynomial(y, 0.5, e), _block9(G, l, k))
            if l == k:
                Z = plus9(Z, _inner_slope(turns[l, i]))
            T = matmul(Z, right)
            _add_matrix(A, at, 0, 6 * k - skip, T)
            if l < rows:
                _add_matrix(A, at, 6 * l, 6 * k - skip, _minus(T))


@inline
def _add_hat(A, i, row, col, f):
    """Add the matrix of the map e -> f x e."""
    A[i, row, col + 1] -= f[2]
    A[i, row, col + 2] += f[1]
    A[i, row + 1, col] += f[2]
    A[i, row + 1, col + 2] -= f[0]
    A[i, row + 2, col] -= f[1]
    A[i, row + 2, col + 1] += f[0]


@inline
def _first_column(A, at, bodies, turns, w, i, weight):
    """Blocks by twists of the first node, from the others: when all nodes move together, wrenches move along.

    That holds for the kinetic energy: sum_k A_jk eta = -(eta x* F_j). Gravity keeps its direction and only its arm
    moves; the sum over the other columns includes this for j > 0 but not for j = 0, which is corrected here.
    `weight`: impulse of gravity over the whole step.
    """
    for j in range(turns.shape[0]):
        x = load3(bodies[j, i].x)
        fall = scale3(w[j], weight)
        f = sub3(load3(bodies[j, i].f), fall)
        t = add3(start_torque(turns, j, i), cross(x, f))
        for a in range(6):
            for b in range(6):
                u = 0.0
                for k in range(1, turns.shape[0]):
                    u -= A[at, 6 * j + a, 6 * k + b]
                A[at, 6 * j + a, b] = u
        _add_hat(A, at, 6 * j, 0, t)
        _add_hat(A, at, 6 * j, 3, f)
        _add_hat(A, at, 6 * j + 3, 0, f)
        # -(v + omega x x) x fall.
        _add_hat(A, at, 6 * j, 3, fall)
        for a in range(3):
            for b in range(3):
                A[at, 6 * j + a, b] -= x[a] * fall[b]
            A[at, 6 * j + a, a] += dot3(x, fall)
