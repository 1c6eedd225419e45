"""The discrete Euler-Lagrange equations (Fan 2018, Eq. 5 and Algorithm 1), for every joint, in O(s n).

Each degree of freedom has s + 1 rows, one per control point chi: the derivative of the discrete action along that
control point. Rows 0 ... s-1 are the residual, row s is the new momentum. For a ball joint the rows follow
R(t) = R_k exp(xi(t)): row 0 varies R_k with the other control points fixed, row chi >= 1 varies xi^chi.
Two small matrices per quadrature point alpha and row describe this (`ball_matrices`):

    Om[alpha, chi]: change of the angular velocity (child's frame)       = b / dt for joints with one axis
    P[alpha, chi]:  rotation of the child, in its own frame              = 1 where alpha = chi, else 0
"""

import math

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to
from leastaction.minimal.galerkin_joints.quadrature_points import (
    ball_coefficients,
    base_rotations,
    is_nodal,
    own_wrenches,
    positions,
    velocities,
)
from leastaction.spatial import (
    add3,
    cross,
    dot,
    load3,
    load6,
    load9,
    mattvec,
    quat_conj,
    quat_exp,
    quat_rotate,
    rot_exp,
    scale3,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def unit3(j):
    """Unit vector j."""
    return (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@inline
def put_column(A, j, a):
    """Write column j of a row-major 3x3 matrix."""
    A[j], A[3 + j], A[6 + j] = a


@inline
def back_row(balls, h, be, e):
    """J_l^-1(xi) e at control point be >= 1 of ball h: change of xi^be when R_k rotates and R^be is fixed."""
    ball = balls[be, h]
    return ex.jl_inverse(load3(ball.xi), ball_coefficients(ball), e)


@routine
def ball_matrices(nodes, settings, data):
    """Om and P of all ball joints at all quadrature points; shapes (Q, balls, s + 1, 9)."""
    rule, balls, Om, P = settings.rule, data.balls, data.Om, data.P
    b = rule.b
    idt = 1.0 / settings.dt
    for i in range(nodes.shape[0]):
        h = nodes[i].ball
        if h < 0:
            continue
        if not is_nodal(rule):
            _midpoint_matrices(balls[0, h], Om[0, h], P[0, h], nodes[i].iv, data.X, idt)
            continue
        for al in range(b.shape[0]):
            ball = balls[al, h]
            xi = load3(ball.xi)
            k = ball_coefficients(ball)
            xid = load3(ball.rate)
            for j in range(3):
                e = unit3(j)
                put_column(P[al, h, al], j, ex.jr(xi, k, e))
                total = (0.0, 0.0, 0.0)
                for ga in range(1, b.shape[0]):
                    col = scale3(b[al, ga] * idt, ex.jr(xi, k, e))
                    back = scale3(b[al, ga] * idt, ex.jr(xi, k, back_row(balls, h, ga, e)))
                    if ga == al:
                        col = add3(col, ex.jr_slope(xi, k, e, xid))
                        back = add3(back, ex.jr_slope(xi, k, back_row(balls, h, ga, e), xid))
                    put_column(Om[al, h, ga], j, col)
                    total = sub3(total, back)
                put_column(Om[al, h, 0], j, total)


@inline
def _midpoint_matrices(ball, Om, P, n, X, idt):
    """`ball_matrices` for the midpoint rule: R_m = R_k exp(xi / 2), omega = xi / dt."""
    xi = (X[1, n], X[1, n + 1], X[1, n + 2])
    half = load3(ball.xi)
    k = ball_coefficients(ball)
    full = ex.coefficients(xi)
    E = rot_exp(half)
    for j in range(3):
        e = unit3(j)
        back = ex.jl_inverse(xi, full, e)
        put_column(P[1], j, scale3(0.5, ex.jr(half, k, e)))
        put_column(P[0], j, sub3(mattvec(E, e), scale3(0.5, ex.jr(half, k, back))))
        put_column(Om[1], j, scale3(idt, e))
        put_column(Om[0], j, scale3(-idt, back))


@inline
def in_child(scr, al, n, F):
    """Components of a world wrench along the three screws of a ball joint: a vector in the child's frame."""
    return (dot(load6(scr[al, n].S), F), dot(load6(scr[al, n + 1].S), F), dot(load6(scr[al, n + 2].S), F))


@inline
def in_child_rate(scr, al, n, F):
    """`in_child` along ad(twist of the parent) S."""
    return (dot(load6(scr[al, n].Sp), F), dot(load6(scr[al, n + 1].Sp), F), dot(load6(scr[al, n + 2].Sp), F))


@routine(vectors=True)
def rows(model, settings, data):
    """All rows g[chi, k] of the derivative of the discrete action, and momenta and impulses summed over subtrees."""
    nodes, dofs, rule = model.nodes, model.dofs, settings.rule
    pts, g = data.nodes, data.g
    w, b, dt = rule.w, rule.b, settings.dt
    second = is_nodal(rule) and b.shape[1] == 2
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        n, parent = node.iv, node.parent
        if parent >= 0:
            for al in range(w.shape[0]):
                add_to(pts[al, parent].mu, load6(pts[al, i].mu))
                add_to(pts[al, parent].G, load6(pts[al, i].G))
        if second and node.nv == 1:  # order 2, written out: sums over two points stay in registers
            first, push = _axis_terms(data, dofs[n].armature, 0, i, n, w[0], dt)
            last, pull = _axis_terms(data, dofs[n].armature, 1, i, n, w[1], dt)
            g[0, n] = b[0, 0] * first + b[1, 0] * last + push
            g[1, n] = b[0, 1] * first + b[1, 1] * last + pull
            continue
        for chi in range(b.shape[1]):
            for k in range(n, n + node.nv):
                g[chi, k] = 0.0
        for al in range(w.shape[0]):
            if node.nv == 1:
                t, push = _axis_terms(data, dofs[n].armature, al, i, n, w[al], dt)
                for chi in range(b.shape[1]):
                    g[chi, n] += b[al, chi] * t
                if is_nodal(rule):
                    g[al, n] += push
                else:
                    g[0, n] += 0.5 * push
                    g[1, n] += 0.5 * push
            else:
                wdt = w[al] * dt
                m, push = ball_vectors(dofs, data, al, n, load6(pts[al, i].mu), load6(pts[al, i].G), wdt)
                for chi in range(b.shape[1]):
                    t3 = scale3(wdt, mattvec(load9(data.Om[al, node.ball, chi]), m))
                    if (not is_nodal(rule)) or chi == al:
                        t3 = add3(t3, mattvec(load9(data.P[al, node.ball, chi]), push))
                    for j in range(3):
                        g[chi, n + j] += t3[j]


@inline
def _axis_terms(data, armature, al, i, n, w, dt):
    """Momentum, and impulse along it, of the single-axis joint of node i at point al of weight w."""
    screw, point = data.screws[al, n], data.nodes[al, i]
    S, mu = load6(screw.S), load6(point.mu)
    momentum = w * (dot(S, mu) + armature * data.rate[al, n])
    turn = dot(load6(screw.Sp), mu) + data.force[al, n]
    return momentum, w * dt * turn + dot(S, load6(point.G))


@inline
def ball_vectors(dofs, data, al, n, mu, G, wdt):
    """Momentum and impulse (along its rotation) of a ball joint, in the child's frame."""
    scr, rate, force = data.screws, data.rate, data.force
    m = in_child(scr, al, n, mu)
    m = (
        m[0] + dofs[n].armature * rate[al, n],
        m[1] + dofs[n + 1].armature * rate[al, n + 1],
        m[2] + dofs[n + 2].armature * rate[al, n + 2],
    )
    turn = in_child_rate(scr, al, n, mu)
    push = add3(
        in_child(scr, al, n, G),
        scale3(wdt, add3(turn, (force[al, n], force[al, n + 1], force[al, n + 2]))),
    )
    return m, push


@routine
def start_point(model, rule, data, q):
    """Set the constants of a step: base rotations and, for Galerkin, the poses of the first point."""
    base_rotations(model.nodes, data.balls, q)
    if is_nodal(rule):
        for al in range(1):  # a literal 0 would be compiled separately
            positions(model, rule, data, al)


@routine
def residual(model, settings, data, p, u):
    """Algorithm 1: rows g and residual r[rho, k] of the step; returns the norm of r.

    `p`: momentum at the start; `u`: controls at the quadrature points, shape (Q, nu).
    """
    rule, g, r = settings.rule, data.g, data.r
    first = 1 if is_nodal(rule) else 0
    for al in range(rule.w.shape[0]):
        if al >= first:
            positions(model, rule, data, al)
        velocities(model.nodes, settings, data, al)
        own_wrenches(model, settings, data, u[al], al)
    if data.Om.shape[1] > 0:
        ball_matrices(model.nodes, settings, data)
    rows(model, settings, data)
    total = 0.0
    for rho in range(r.shape[0]):
        for k in range(r.shape[1]):
            x = g[rho, k]
            if rho == 0:
                x += p[k]
            r[rho, k] = x
            total += x * x
    return math.sqrt(total)


@routine
def next_momentum(model, settings, data, p):
    """Eq. 5c: p becomes the momentum at the end of the step.

    The rows of a joint, moved to one point, sum to the impulse on it, since moving all control points alike changes no
    velocity. So the new momentum is the old one plus that impulse: residuals are added as the same wrench, momentum
    maps are conserved at any tolerance, and without an impulse nothing is rounded twice.
    """
    nodes, free, dt = model.nodes, model.free, settings.dt
    pts, balls, X, r = data.nodes, data.balls, data.X, data.r
    w = settings.rule.w
    s = r.shape[0]
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n = node.iv
        if node.nv == 1:
            for al in range(w.shape[0]):
                _, push = _axis_terms(data, 0.0, al, i, n, w[al], dt)
                p[n] += push
            continue
        total = (p[n], p[n + 1], p[n + 2])
        for al in range(w.shape[0]):
            mu, G = load6(pts[al, i].mu), load6(pts[al, i].G)
            _, push = ball_vectors(model.dofs, data, al, n, mu, G, w[al] * dt)
            total = add3(total, quat_rotate(quat_exp(load3(balls[al, node.ball].xi)), push))
        # By quaternions: the round-off of a matrix is relative to the momentum, theirs to its rotation.
        end = quat_exp((X[s, n], X[s, n + 1], X[s, n + 2]))
        p[n], p[n + 1], p[n + 2] = quat_rotate(quat_conj(end), total)
    for f in range(free.shape[0]):
        # The residual's force acted at the earlier position of the body.
        n = free[f, 1]
        torque = (0.0, 0.0, 0.0)
        for rho in range(s):
            arm = (X[rho, n] - X[s, n], X[rho, n + 1] - X[s, n + 1], X[rho, n + 2] - X[s, n + 2])
            torque = add3(torque, cross(arm, (r[rho, n], r[rho, n + 1], r[rho, n + 2])))
        m = n + 3
        end = quat_exp((X[s, m], X[s, m + 1], X[s, m + 2]))
        torque = quat_rotate(quat_conj(end), mattvec(load9(balls[0, free[f, 2]].start), torque))
        for j in range(3):
            p[m + j] += torque[j]
