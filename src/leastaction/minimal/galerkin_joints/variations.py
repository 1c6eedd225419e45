"""First variations of the DEL equations, joint by joint: the terms of each Newton direction and linearization.

Stacked over the quadrature points, z = (dv^0 ... dv^Q-1, eta ...) are the spatial variations of a link's twist and
pose, and f = (dmu^0 ... dmu^Q-1, dGamma ...) those of its subtree's momentum and impulse (Fan 2018, C.15, C.16):

    z_i = z_parent + col dx                      col[k, gamma]: change of z by control point gamma of coordinate k
    row_i . f_i + e_i . dv + own dx = -r         row[k, rho]: weights of f in the residual's row rho

Poses vary at the points 1 ... s of a Galerkin rule and impulses matter at 1 ... s-1; for the midpoint rule both at its
only point. `own`: derivatives by the joint itself: armature, springs, dampers and the curvature of a ball's chart.
This is Fan 2018, C.19 to C.24, with ball joints written so that they have the same form.
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_springs import ball_torque_slope
from leastaction.forces.total import axis_slopes
from leastaction.minimal.galerkin_joints.joint_residual import back_row, ball_vectors, in_child, unit3
from leastaction.minimal.galerkin_joints.quadrature_points import ball_coefficients, coordinate, is_nodal
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    add,
    add3,
    axpy,
    axpy3,
    coad,
    cross,
    dot3,
    load3,
    load6,
    load9,
    mattvec,
    matvec,
    neg3,
    rot_exp,
    scale,
    scale3,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def put6(a, o, V):
    """Write 6 numbers at offset o."""
    a[o], a[o + 1], a[o + 2] = V[0]
    a[o + 3], a[o + 4], a[o + 5] = V[1]


@inline
def pose_block(rule, al):
    """Offset of the pose variation of point al in z, and of the impulse variation in f."""
    if is_nodal(rule):
        return 6 * (rule.w.shape[0] + al - 1)
    return 6


@inline
def _axis(scr, al, k, moved):
    return load6(scr[al, k].Sp) if moved else load6(scr[al, k].S)


@inline
def along(scr, al, n, nv, a, moved):
    """Sum of the node's screws (or, `moved`, of their rates) weighted by the vector a in the child's frame."""
    out = scale(a[0], _axis(scr, al, n, moved))
    if nv == 1:
        return out
    return axpy(a[1], _axis(scr, al, n + 1, moved), axpy(a[2], _axis(scr, al, n + 2, moved), out))


@inline
def rate_vector(rule, Om, h, nv, al, chi, j, idt):
    """Change of the joint velocity (child's frame) at point al by coordinate j of control point chi."""
    if nv == 1:
        return (rule.b[al, chi] * idt, 0.0, 0.0)
    A = Om[al, h, chi]
    return (A[j], A[3 + j], A[6 + j])


@inline
def turn_vector(rule, P, h, nv, al, chi, j):
    """Rotation or shift of the child at point al by coordinate j of control point chi; nodal: only al = chi."""
    if nv == 1:
        return ((1.0 if is_nodal(rule) else 0.5), 0.0, 0.0)
    A = P[al, h, chi]
    return (A[j], A[3 + j], A[6 + j])


@routine(vectors=True)
def joint_variations(model, settings, data, var):
    """col, row, e and own of all joints at the present iterate."""
    pts, scr, Om, P = data.nodes, data.screws, data.Om, data.P
    col, row, e, own = var.col, var.row, var.e, var.own
    nodes, dofs, rule, dt = model.nodes, model.dofs, settings.rule, settings.dt
    w = rule.w
    s = rule.c.shape[0] - 1
    idt = 1.0 / dt
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, nv, h = node.iv, node.nv, node.ball
        for j in range(nv):
            k = n + j
            for chi in range(s + 1):
                for al in range(w.shape[0]):
                    mine = (not is_nodal(rule)) or chi == al
                    V = along(scr, al, n, nv, rate_vector(rule, Om, h, nv, al, chi, j, idt), False)
                    T = ZERO6
                    if mine:
                        turn = turn_vector(rule, P, h, nv, al, chi, j)
                        T = along(scr, al, n, nv, turn, False)
                        V = add(V, along(scr, al, n, nv, turn, True))
                    if chi > 0:
                        put6(col[k, chi - 1], 6 * al, V)
                        if mine:
                            put6(col[k, chi - 1], pose_block(rule, al), T)
                    if chi < s:
                        put6(row[k, chi], 6 * al, scale(w[al] * dt, V))
                        if mine:
                            if chi > 0 or not is_nodal(rule):
                                put6(row[k, chi], pose_block(rule, al), T)
                            put6(e[k, chi], 0, scale(-w[al] * dt, coad(T, load6(pts[al, i].mu))))
        if nv == 1:
            for rho in range(s):
                for ga in range(s):
                    own[n, rho, 0, ga] = own_axis(dofs[n], settings, data, n, rho, ga + 1)
        else:
            _own_ball(model, settings, data, own, i)


@inline
def own_axis(dof, settings, data, n, chi, other):
    """Contribution of armature and forces of a single-axis joint to row chi when control point `other` moves."""
    rule, dt = settings.rule, settings.dt
    w, b = rule.w, rule.b
    al = chi if is_nodal(rule) else 0
    stiffness, damping = axis_slopes(dof, data.modes.limits[al, n], coordinate(rule, data.X, al, n), data.rate[al, n])
    x = 0.0
    for al in range(w.shape[0]):
        x += w[al] * b[al, chi] * b[al, other]
    x *= dof.armature / dt
    if is_nodal(rule):
        x -= w[chi] * damping * b[chi, other]
        if chi == other:
            x -= w[chi] * dt * stiffness
        x += dt * dof.servo * rule.z[chi] * rule.z[other]
    else:
        x -= 0.5 * damping * b[0, other] + 0.25 * dt * stiffness
    return x


@inline
def _column(A, j):
    return (A[j], A[3 + j], A[6 + j])


@inline
def weighted(dofs, n, armature, a):
    """Componentwise product with the armatures or dampings of a ball joint."""
    if armature:
        return (dofs[n].armature * a[0], dofs[n + 1].armature * a[1], dofs[n + 2].armature * a[2])
    return (dofs[n].damping * a[0], dofs[n + 1].damping * a[1], dofs[n + 2].damping * a[2])


@routine
def _own_ball(model, settings, data, own, i):
    """`own_axis` for a ball joint, with the second derivatives of its chart; own[k, rho, j', gamma - 1]."""
    pts, scr, balls, Om, P = data.nodes, data.screws, data.balls, data.Om, data.P
    dofs, rule = model.dofs, settings.rule
    w = rule.w
    node = model.nodes[i]
    n, h = node.iv, node.ball
    s = rule.c.shape[0] - 1
    for j in range(3):
        for rho in range(s):
            for m in range(3):
                for ga in range(s):
                    own[n + j, rho, m, ga] = 0.0
    for al in range(w.shape[0]):
        mu = load6(pts[al, i].mu)
        wdt = w[al] * settings.dt
        mom, push = ball_vectors(dofs, data, al, n, mu, load6(pts[al, i].G), wdt)
        bare = in_child(scr, al, n, mu)
        phi = load3(balls[al, h].phi)
        spring = ex.coefficients(phi)
        for rho in range(s):
            mine = (not is_nodal(rule)) or al == rho
            for ga in range(1, s + 1):
                second_order = _is_second_order(rule, al, rho, ga)
                for m in range(3):
                    k = unit3(m)
                    vel = _column(Om[al, h, ga], m)
                    drag = scale3(wdt, weighted(dofs, n, False, vel))
                    slow = scale3(wdt, weighted(dofs, n, True, vel))
                    slope = ZERO3
                    if mine and ((not is_nodal(rule)) or rho == ga):
                        slope = scale3(wdt, ball_torque_slope(dofs, n, phi, spring, _column(P[al, h, ga], m)))
                    for j in range(3):
                        x = dot3(slow, _column(Om[al, h, rho], j))
                        if second_order:
                            bent, turned = chart_curvature(settings, data, node, al, rho, ga, unit3(j), k)
                            x += wdt * dot3(mom, bent) + dot3(push, turned)
                        if mine:
                            turn = _column(P[al, h, rho], j)
                            x += dot3(sub3(slope, drag), turn) - wdt * dot3(bare, cross(vel, turn))
                        own[n + j, rho, m, ga - 1] += x


@inline
def _is_second_order(rule, al, rho, ga):
    """Whether the motion at point al along row rho depends on xi^ga to second order."""
    return (not is_nodal(rule)) or rho == 0 or al in (rho, ga)


@inline
def chart_curvature(settings, data, node, al, rho, ga, e, k):
    """Derivatives of Om[al, rho] e and P[al, rho] e of a ball joint when its xi^ga moves by k."""
    rule, balls, h = settings.rule, data.balls, node.ball
    b = rule.b
    idt = 1.0 / settings.dt
    zero = (0.0, 0.0, 0.0)
    if not is_nodal(rule):
        return _midpoint_curvature(balls[0, h], data.P[0, h], data.X, node.iv, rho, e, k, idt)
    ball = balls[al, h]
    xi, xid = load3(ball.xi), load3(ball.rate)
    c = ball_coefficients(ball)
    bent = zero
    turned = zero
    if rho > 0:
        if al == rho:
            bent = axpy3(b[al, ga] * idt, ex.jr_slope(xi, c, e, k), bent)
            if al == ga:
                bent = add3(bent, ex.jr_curvature(xi, c, e, k, xid))
                turned = ex.jr_slope(xi, c, k, e)
        if al == ga:
            bent = axpy3(b[al, rho] * idt, ex.jr_slope(xi, c, k, e), bent)
        return bent, turned
    # Row 0: Om[al, 0] e = -(J_r slope along h_al) xi' - J_r sum_be b[al, be] h_be / dt, h_be = J_l^-1(xi^be) e.
    point = balls[ga, h]
    dh = ex.jl_inverse_slope(load3(point.xi), ball_coefficients(point), k, e)
    bent = scale3(-b[al, ga] * idt, ex.jr(xi, c, dh))
    if al > 0:
        mine = back_row(balls, h, al, e)
        bent = axpy3(-b[al, ga] * idt, ex.jr_slope(xi, c, mine, k), bent)
        if al == ga:
            total = zero
            for be in range(1, b.shape[0]):
                total = axpy3(b[al, be] * idt, back_row(balls, h, be, e), total)
            bent = sub3(bent, ex.jr_slope(xi, c, k, total))
            bent = sub3(bent, ex.jr_curvature(xi, c, k, mine, xid))
            bent = sub3(bent, ex.jr_slope(xi, c, dh, xid))
    return bent, turned


@inline
def _midpoint_curvature(ball, P, X, n, rho, e, k, idt):
    """`chart_curvature` for the rows of the midpoint rule."""
    xi = (X[1, n], X[1, n + 1], X[1, n + 2])
    half = load3(ball.xi)
    c = ball_coefficients(ball)
    if rho == 1:
        return (0.0, 0.0, 0.0), scale3(0.25, ex.jr_slope(half, c, k, e))
    full = ex.coefficients(xi)
    back, dback = ex.jl_inverse(xi, full, e), ex.jl_inverse_slope(xi, full, k, e)
    eta = matvec(load9(P[1]), k)
    turned = neg3(cross(eta, mattvec(rot_exp(half), e)))
    turned = axpy3(-0.25, ex.jr_slope(half, c, k, back), turned)
    turned = axpy3(-0.5, ex.jr(half, c, dback), turned)
    return scale3(-idt, dback), turned
