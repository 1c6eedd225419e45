"""The mechanism at the quadrature points of a step: poses, twists, momenta, impulses (Fan 2018, Definitions 1 and 2).

All spatial quantities are in the world frame about the world's origin: the barred ones of the paper.
"""

from leastaction._jit import inline, routine
from leastaction.forces import drives
from leastaction.forces.arrays import modes_at
from leastaction.forces.joint_springs import ball_torque, has_ball_spring
from leastaction.forces.total import axis_force, set_pulls, wrenches
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial, soft_force
from leastaction.kinematics.sweeps import PRISMATIC, REVOLUTE, add_to, turn_z
from leastaction.spatial import (
    EYE,
    ZERO3,
    ZERO6,
    ad,
    add3,
    axpy,
    axpy3,
    cross,
    gravity_wrench,
    load3,
    load6,
    load9,
    load_inertia,
    load_sym,
    matmul,
    matvec,
    momentum,
    quat_conj,
    quat_from_rotation,
    quat_log,
    quat_mul,
    quat_to_rotation,
    rot_exp,
    scale,
    store3,
    store6,
    store9,
    store_inertia,
    world_inertia,
)
from leastaction.spatial import exponential as ex
from leastaction.spatial.angles import sine_and_cosine


@inline
def is_nodal(rule):
    """True when the quadrature points are the control points (Galerkin), False for the midpoint rule."""
    return rule.w.shape[0] == rule.c.shape[0]


@inline
def coordinate(rule, X, al, k):
    """Coordinate k at quadrature point al."""
    if is_nodal(rule):
        return X[al, k]
    return 0.5 * (X[0, k] + X[1, k])


@inline
def servo_correction(dof, rule, X, al, k):
    """Stabilisation of a stiff servo of coordinate k at control point al, see `quadrature_rules.stiff_correction`."""
    x = 0.0
    for be in range(1, rule.z.shape[0]):
        x += rule.z[be] * (X[be, k] - X[0, k])
    return dof.servo * rule.z[al] / rule.w[al] * x


@inline
def coordinate_rate(rule, X, al, k, idt):
    """Rate of coordinate k at quadrature point al (Fan 2018, Eq. 2); idt = 1 / dt."""
    rate = 0.0
    for be in range(rule.b.shape[1]):
        rate += rule.b[al, be] * X[be, k]
    return rate * idt


@routine
def base_rotations(nodes, balls, q):
    """Rotations of the ball joints at the start of a step."""
    for i in range(nodes.shape[0]):
        h = nodes[i].ball
        if h >= 0:
            n = nodes[i].iq
            R = quat_to_rotation((q[n], q[n + 1], q[n + 2], q[n + 3]))
            for al in range(balls.shape[0]):
                store9(balls[al, h].start, R)


@routine
def positions(model, rule, data, al):
    """Poses, inertias and screws at quadrature point al."""
    nodes, rest = model.nodes, model.forces.rest
    pts, scr, balls, X = data.nodes, data.screws, data.balls, data.X
    for i in range(nodes.shape[0]):
        node = nodes[i]
        pt = pts[al, i]
        Rp = EYE
        pp = ZERO3
        if node.parent >= 0:
            Rp = load9(pts[al, node.parent].R)
            pp = load3(pts[al, node.parent].p)
        R = matmul(Rp, load9(node.Rt))
        p = add3(pp, matvec(Rp, load3(node.pt)))
        n = node.iv
        if node.kind == REVOLUTE:
            x = coordinate(rule, X, al, n)
            sine, cosine = sine_and_cosine(x)
            R = turn_z(R, sine, cosine)
            a = (R[2], R[5], R[8])
            p = axpy3(node.pitch * x, a, p)
            store6(scr[al, n].S, (a, axpy3(node.pitch, a, cross(p, a))))
        elif node.kind == PRISMATIC:
            a = (R[2], R[5], R[8])
            p = axpy3(coordinate(rule, X, al, n), a, p)
            store6(scr[al, n].S, (ZERO3, a))
        else:
            ball = balls[al, node.ball]
            xi = (
                coordinate(rule, X, al, n),
                coordinate(rule, X, al, n + 1),
                coordinate(rule, X, al, n + 2),
            )
            Rj = matmul(load9(ball.start), rot_exp(xi))
            _rest_angle(rest, node.iq, Rj, ball.phi)
            R = matmul(R, Rj)
            store3(ball.xi, xi)
            k = ex.coefficients(xi)
            for j in range(8):
                ball.k[j] = k[j]
            for j in range(3):
                a = (R[j], R[3 + j], R[6 + j])
                store6(scr[al, n + j].S, (a, cross(p, a)))
        store9(pt.R, R)
        store3(pt.p, p)
        store_inertia(pt.M, world_inertia(R, p, node.mass, load3(node.com), load_sym(node.Ic)))


@inline
def _rest_angle(rest, i, R, phi):
    q = quat_mul(quat_conj((rest[i], rest[i + 1], rest[i + 2], rest[i + 3])), quat_from_rotation(R))
    store3(phi, quat_log(q))


@inline
def ball_coefficients(ball):
    """The coefficient tuple of a ball joint at a point."""
    k = ball.k
    return (k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7])


@routine(vectors=True)
def velocities(nodes, settings, data, al):
    """Twists at quadrature point al; rate[al] gets joint velocities (of ball joints the angular velocity)."""
    rule, idt = settings.rule, 1.0 / settings.dt
    pts, scr, balls, X, rate = data.nodes, data.screws, data.balls, data.X, data.rate
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n = node.iv
        Vp = ZERO6
        if node.parent >= 0:
            Vp = load6(pts[al, node.parent].v)
        V = Vp
        if node.nv == 1:
            rate[al, n] = coordinate_rate(rule, X, al, n, idt)
            S = load6(scr[al, n].S)
            V = axpy(rate[al, n], S, V)
            store6(scr[al, n].Sp, ad(Vp, S))
        else:
            ball = balls[al, node.ball]
            xid = (
                coordinate_rate(rule, X, al, n, idt),
                coordinate_rate(rule, X, al, n + 1, idt),
                coordinate_rate(rule, X, al, n + 2, idt),
            )
            store3(ball.rate, xid)
            om = ex.jr(load3(ball.xi), ball_coefficients(ball), xid)
            for j in range(3):
                rate[al, n + j] = om[j]
                S = load6(scr[al, n + j].S)
                V = axpy(om[j], S, V)
                store6(scr[al, n + j].Sp, ad(Vp, S))
        store6(pts[al, i].v, V)


@routine
def own_wrenches(model, settings, data, u, al):
    """Momenta of all nodes, impulses on them, and joint forces at quadrature point al, for the controls u (nu).

    Those of their subtrees (Definitions 1 and 2) are summed by `joint_residual.rows`.
    `data.force[al]`: generalised forces of springs, dampers and drives [N m or N]; of ball joints in the child's frame.
    """
    nodes, dofs, rule = model.nodes, model.dofs, settings.rule
    pts, X, rate, force = data.nodes, data.X, data.rate, data.force
    wdt = rule.w[al] * settings.dt
    g = load3(model.gravity)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        M = load_inertia(pts[al, i].M)
        store6(pts[al, i].mu, momentum(M, load6(pts[al, i].v)))
        store6(pts[al, i].G, scale(wdt, gravity_wrench(M, g)))
        n = node.iv
        if node.nv == 1:
            x = coordinate(rule, X, al, n)
            force[al, n], _ = axis_force(dofs[n], data.modes.limits[al, n], x, rate[al, n])
            if dofs[n].servo != 0.0 and is_nodal(rule):
                force[al, n] += servo_correction(dofs[n], rule, X, al, n)
        else:
            _ball_spring(dofs, data, al, n, node.ball)
    _outer_impulses(model.forces, data, u, al, wdt)
    _closure_impulses(model.closure, data, al, wdt)


@routine
def _outer_impulses(forces, data, u, al, wdt):
    """Add the impulses of body forces and drives."""
    pts, external, touched = data.nodes, data.external, forces.touched
    if touched.shape[0] > 0:
        for j in range(touched.shape[0]):
            store6(external[touched[j]], ZERO6)
        for j in range(data.modes.items.shape[0]):
            if data.modes.items[j].iv >= 0:
                data.modes.items[j].near = data.X[0, data.modes.items[j].iv]
        set_pulls(forces, modes_at(data.modes, al), u)
        wrenches(forces, modes_at(data.modes, al), pts[al], external)
        for j in range(touched.shape[0]):
            i = touched[j]
            add_to(pts[al, i].G, scale(wdt, load6(external[i])))
    drives.joint_forces(forces.drives, u, 1.0, data.force[al])
    for k in range(forces.drives.shape[0]):
        drive = forces.drives[k]
        if drives.pushes_node(drive) and u[k] != 0.0:
            pt = pts[al, drive.node]
            add_to(pt.G, scale(wdt, drives.drive_wrench(drive, u[k], pt)))


@routine
def _closure_impulses(closure, data, al, wdt):
    """Add the impulses of loops and couplings: multipliers lam[al] of the equations, forces of the soft rows."""
    if closure is None:
        return
    pts, X, force, lam = data.nodes, data.X, data.force, data.lam
    links = pts[al]
    for c in range(closure.rows.shape[0]):
        row = closure.rows[c]
        if is_coupling(row):
            _, slope, _ = polynomial(row, closure.coefficients, X[al, row.leader])
            # Joint forces are multiplied by the weight of the point; multipliers are impulses already.
            force[al, row.follower] += lam[al, c] / wdt
            force[al, row.leader] -= slope * lam[al, c] / wdt
            continue
        h, W = evaluate(row, links)
        x = wdt * soft_force(row, links, h, W) if row.soft != 0 else lam[al, c]
        if row.b >= 0:
            add_to(pts[al, row.b].G, scale(x, W))
        if row.a >= 0:
            add_to(pts[al, row.a].G, scale(-x, W))


@routine
def _ball_spring(dofs, data, al, n, h):
    """Spring and damper of a ball joint; not inlined, to keep their long series out of the loop over all joints."""
    for k in range(n, n + 3):
        data.force[al, k] = -dofs[k].damping * data.rate[al, k]
    if has_ball_spring(dofs, n):
        t = ball_torque(dofs, n, load3(data.balls[al, h].phi))
        for j in range(3):
            data.force[al, n + j] += t[j]
