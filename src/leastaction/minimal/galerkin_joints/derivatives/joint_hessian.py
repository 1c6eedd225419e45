"""All second derivatives of the discrete action of one step, with forces: the blocks D[chi, i, chi', j].

Row (chi, i) is the derivative of the discrete action along control point chi of coordinate i (0: start, s: end),
column (chi', j) moves control point chi' of coordinate j. For conservative systems D is D^2 L_d; dampers and controls
add DF_d (Fan 2018, Section 4 and Algorithms 2 and 3; O(s^2 n depth) here). Ball joints: row 0 and column 0 rotate R_k
in its own frame with the other control points fixed; column chi >= 1 moves xi^chi; row s is along rotations of R_{k+1}
in its own frame, so that it is the momentum p_{k+1}.
"""

from leastaction._jit import inline, routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.drives import drive_wrench
from leastaction.forces.joint_springs import ball_torque_slope
from leastaction.forces.tendons.tendon_forces import free_share, push
from leastaction.minimal.galerkin_joints.derivatives.body_force_hessian import body_forces, loops
from leastaction.minimal.galerkin_joints.joint_residual import ball_vectors, in_child, unit3
from leastaction.minimal.galerkin_joints.newton.tree_sparse_ldu import composites, gravity_slope
from leastaction.minimal.galerkin_joints.quadrature_points import is_nodal
from leastaction.minimal.galerkin_joints.variations import (
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
    add,
    add3,
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
    store6,
    sub,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def row_axis(rule, X, n, nv, chi, j):
    """Coordinate direction of row (chi, j): for the end of a ball joint the xi that rotates R_{k+1} about axis j."""
    e = unit3(j)
    s = rule.c.shape[0] - 1
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
def vectors(nodes, settings, points, data):
    """Rows and columns of all joints and control points: twists dv^al at 6 al, pose variations at 6 (Q + al)."""
    scr, Om, P, X = points.screws, points.Om, points.P, points.X
    col, row, rule, dt = data.col, data.row, settings.rule, settings.dt
    w = rule.w
    Q = w.shape[0]
    idt = 1.0 / dt
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, nv, h = node.iv, node.nv, node.ball
        for j in range(nv):
            for chi in range(rule.c.shape[0]):
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
def _own_ball(model, settings, points, i, chi, j, other, m):
    """Derivative of row (chi, j) of ball joint i by its own coordinate m of control point `other`."""
    pts, scr, balls, Om, P, X = points.nodes, points.screws, points.balls, points.Om, points.P, points.X
    dofs, rule, dt = model.dofs, settings.rule, settings.dt
    w = rule.w
    s = rule.c.shape[0] - 1
    node = model.nodes[i]
    n, h = node.iv, node.ball
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
        mom, push = ball_vectors(dofs, points, al, n, mu, load6(pts[al, i].G), wdt)
        bent = matvec(load9(Om[al, h, chi]), de)
        turned = ZERO3
        mine = (not is_nodal(rule)) or al == chi
        if mine:
            turned = matvec(load9(P[al, h, chi]), de)
        for ga in range(1, s + 1):
            if other == ga or other == 0:
                y = (X[ga, n], X[ga, n + 1], X[ga, n + 2])
                kx = k if other == ga else scale3(-1.0, ex.jl_inverse(y, ex.coefficients(y), k))
                bx, tx = chart_curvature(settings, points, node, al, chi, ga, e, kx)
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
            phi = load3(balls[al, h].phi)
            eta = matvec(load9(P[al, h, other]), k)
            x += wdt * dot3(ball_torque_slope(dofs, n, phi, ex.coefficients(phi), eta), turn)
    return x


@routine
def assemble(model, settings, points, data):
    """The blocks D[chi, i, chi', j]; residual must have been evaluated at the present iterate."""
    pts = points.nodes
    col, row, up, down, D = data.col, data.row, data.up, data.down, data.D
    nodes, dofs, rule = model.nodes, model.dofs, settings.rule
    S = rule.c.shape[0]
    g = load3(model.gravity)
    clear(D)
    vectors(nodes, settings, points, data)
    for al in range(rule.w.shape[0]):
        composites(nodes, pts, al)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, nv = node.iv, node.nv
        for j in range(nv):
            k = n + j
            for chi in range(S):
                _weights(settings, pts, i, col[k, chi], row[k, chi], up[chi], down[chi], g)
            for chi in range(S):
                for other in range(S):
                    for m in range(nv):
                        x = _dot(up[chi], col[n + m, other])
                        if nv == 1:
                            x += own_axis(dofs[n], settings, points, n, chi, other)
                        else:
                            x += _own_ball(model, settings, points, i, chi, j, other, m)
                        D[chi, k, other, n + m] = x
                    a = node.parent
                    while a >= 0:
                        for c in range(nodes[a].iv, nodes[a].iv + nodes[a].nv):
                            D[chi, k, other, c] = _dot(up[chi], col[c, other])
                            D[other, c, chi, k] = _dot(row[c, other], down[chi])
                        a = nodes[a].parent
    body_forces(model.forces.paths, model, settings, points, data)
    loops(model.closure, nodes, settings, points, data)


@routine
def clear(D):
    """Zero an array of four dimensions."""
    for a in range(D.shape[0]):
        for b in range(D.shape[1]):
            for c in range(D.shape[2]):
                for d in range(D.shape[3]):
                    D[a, b, c, d] = 0.0


@inline
def _dot(a, b):
    x = 0.0
    for c in range(a.shape[0]):
        x += a[c] * b[c]
    return x


@inline
def _weights(settings, pts, i, col, row, up, down, g):
    """up: weights of a row for the variations of an ancestor; down: effects of a column on an ancestor."""
    w, dt = settings.rule.w, settings.dt
    Q = w.shape[0]
    for al in range(Q):
        pt = pts[al, i]
        C = load_inertia(pt.C)
        wdt = w[al] * dt
        T = load6_at(row, 6 * (Q + al))
        # Weight on the twist: momentum, and the rotation of the twist by Sp.
        x = sub(momentum(C, load6_at(row, 6 * al)), scale(wdt, coad(T, load6(pt.mu))))
        put6(up, 6 * al, x)
        arm = sub3(scale3(C[0], T[1]), cross(C[1], T[0]))
        put6(up, 6 * (Q + al), (scale3(wdt, cross(arm, g)), ZERO3))
        T = load6_at(col, 6 * (Q + al))
        put6(down, 6 * al, sub(momentum(C, load6_at(col, 6 * al)), coad(T, load6(pt.mu))))
        put6(down, 6 * (Q + al), sub(gravity_slope(C, g, wdt, T), coad(T, load6(pt.G))))


@routine
def control_blocks(model, settings, points, data, C):
    """C[chi, i, k]: derivative of the rows by control k, constant over the step; after `assemble`."""
    pts, P, X, row = points.nodes, points.P, points.X, data.row
    nodes, dofs, drives, rule, dt = model.nodes, model.dofs, model.forces.drives, settings.rule, settings.dt
    w = rule.w
    Q, S = w.shape[0], rule.c.shape[0]
    for chi in range(C.shape[0]):
        for i in range(C.shape[1]):
            for k in range(C.shape[2]):
                C[chi, i, k] = 0.0
    for k in range(drives.shape[0]):
        drive = drives[k]
        for chi in range(S):
            for al in range(Q):
                if is_nodal(rule) and chi != al:
                    continue
                wdt = w[al] * dt
                if drive.tendon > 0:
                    _tendon_block(model.forces.tendons, model, points, data, drive, al, chi, wdt, C[chi, :, k])
                    continue
                if drive.dof < 0:
                    pt = pts[al, drive.node]
                    F = drive_wrench(drive, 1.0, pt)
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


@routine
def _tendon_block(tendons, model, points, data, drive, al, chi, wdt, column):
    """Contribution to the rows of control point chi per unit of a control on a tendon, at quadrature point al."""
    if tendons is None:
        return
    nodes, external, touched, modes = model.nodes, points.external, model.forces.touched, modes_at(points.modes, al)
    t, items, links = drive.tendon - 1, points.modes.items, points.nodes[al]
    for j in range(touched.shape[0]):
        store6(external[touched[j]], ZERO6)
    share = free_share(tendons[t], items, modes.tendons[t], modes.pull[t], links)
    push(tendons[t], items, links, share * drive.gear, external)
    Q = points.nodes.shape[0]
    for j in range(touched.shape[0]):
        i, F = touched[j], load6(external[touched[j]])
        while i >= 0:
            for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                column[c] += wdt * dot(load6_at(data.row[c, chi], 6 * (Q + al)), F)
            i = nodes[i].parent
