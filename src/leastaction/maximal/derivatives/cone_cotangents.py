"""Reverse mode of contacts, limits and dry friction: gradients of what cones ask for and push with, one by one.

The unit wrenches of a contact are differentiated by central differences of fourth order at its two bodies' poses, those
of a point on a floor in closed form.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.distance import tangents
from leastaction.contact.gap import gap, material_points
from leastaction.contact.records import POINT_ON_PLANE
from leastaction.maximal.contact.detection import BOUNCING, OVERLAPPING, overlap_left
from leastaction.maximal.derivatives.bending import add_gradient, add_to, bend_coordinate, poses_at
from leastaction.maximal.derivatives.sensitivity_kernels import STEP, stencil
from leastaction.maximal.step.bodies import END, START, start_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.spatial import ZERO3, add3, axpy3, cross, dot3, load3, load9, matmul, mattvec, matvec, scale3, sub3


@inline
def turned(R, axis, d):
    """R turned by the small angle d about an axis of the world."""
    # Cayley's map: exact to d^3, and what is left of that the difference of fourth order removes.
    h = 0.5 * d
    e = (h if axis == 0 else 0.0, h if axis == 1 else 0.0, h if axis == 2 else 0.0)
    k = 2.0 / (1.0 + h * h)
    # 1 + k (e x) + k (e x)^2
    K = (0.0, -e[2], e[1], e[2], 0.0, -e[0], -e[1], e[0], 0.0)
    KK = matmul(K, K)
    T = (
        *(1.0 + k * KK[0], k * (K[1] + KK[1]), k * (K[2] + KK[2])),
        *(k * (K[3] + KK[3]), 1.0 + k * KK[4], k * (K[5] + KK[5])),
        *(k * (K[6] + KK[6]), k * (K[7] + KK[7]), 1.0 + k * KK[8]),
    )
    return matmul(T, R)


@inline
def asked(c, push):
    """What a cone's impulses change, W^T D push: by its gap and along its two tangents."""
    a0 = a1 = a2 = 0.0
    for i in range(6):
        if c.a >= 0:
            a0 += push[c.a, i] * c.da[i]
            a1 += push[c.a, i] * c.da[6 + i]
            a2 += push[c.a, i] * c.da[12 + i]
        if c.b >= 0:
            a0 += push[c.b, i] * c.db[i]
            a1 += push[c.b, i] * c.db[6 + i]
            a2 += push[c.b, i] * c.db[12 + i]
    W = c.W
    return (
        a0 * W[0] + a1 * W[3] + a2 * W[6],
        a0 * W[1] + a1 * W[4] + a2 * W[7],
        a0 * W[2] + a1 * W[5] + a2 * W[8],
    )


@inline
def wrench_value(q, row, R, arm, d, sign):
    """q . (unit wrench along d at an arm), q of one body among rows of six."""
    at = 6 * row
    t = mattvec(R, cross(arm, d))
    value = q[at] * t[0] + q[at + 1] * t[1] + q[at + 2] * t[2]
    return sign * (value + q[at + 3] * d[0] + q[at + 4] * d[1] + q[at + 5] * d[2])


@inline
def slip_beside_wrenches(contact, Ra, xa, Rb, xb, n, x, spins):
    """Slip of b beside a that unit wrenches do not know (3): of moving surfaces, and W x (W x r) dt / 2 of `slip`.

    Args:
        spins: angular velocities of a and b in their own directions, and dt / 2; 0 for the second phase of a step.
    """
    slip, (wa, wb, half) = ZERO3, spins
    if contact.belt != 0:
        slip = sub3(matvec(Rb, load3(contact.belt_b)), matvec(Ra, load3(contact.belt_a)))
    if half != 0.0:
        ca, cb = material_points(contact, (Ra, xa), (Rb, xb), n, x)
        Wa, Wb = matvec(Ra, wa), matvec(Rb, wb)
        slip = axpy3(-half, cross(Wa, cross(Wa, sub3(ca, xa))), slip)
        slip = axpy3(half, cross(Wb, cross(Wb, sub3(cb, xb))), slip)
    return slip


@routine(allocates=False)
def contact_value(c, contact, Ra, xa, Rb, xb, qa, qb, by, spins):
    """What a contact's unit wrenches work with the motions qa, qb (18), and what else follows the poses.

    Args:
        by: gradients by what its gap must exceed, and by its two sliding velocities.
        spins: see `slip_beside_wrenches`.
    """
    by_rest, by_first, by_second = by
    phi, n, x = gap(contact, (Ra, xa), (Rb, xb))
    t1, t2 = tangents(n)
    value = wrench_value(qa, 0, Ra, sub3(x, xa), n, -1.0) + wrench_value(qb, 0, Rb, sub3(x, xb), n, 1.0)
    if c.kind == ip.TURN:
        first, second = (n, ZERO3) if c.directions == ip.SPIN else (t1, t2)
        for row in range(2):
            d = first if row == 0 else second
            ta, tb = mattvec(Ra, d), mattvec(Rb, d)
            for i in range(3):
                value += qb[6 + 6 * row + i] * tb[i] - qa[6 + 6 * row + i] * ta[i]
    else:
        for row in range(1, 3):
            d = t1 if row == 1 else t2
            value += wrench_value(qa, row, Ra, sub3(x, xa), d, -1.0) + wrench_value(qb, row, Rb, sub3(x, xb), d, 1.0)
        slip = slip_beside_wrenches(contact, Ra, xa, Rb, xb, n, x, spins)
        value += by_first * dot3(slip, t1) + by_second * dot3(slip, t2)
    if c.side == OVERLAPPING:
        value += by_rest * overlap_left(phi, c.leave)
    elif c.side == BOUNCING:
        value += by_rest * phi
    return value


@inline
def is_on_floor(c, contact):
    """Whether a point of a body touches a plane of the world, neither in an overlap nor bouncing, which know their gap.

    Then normals are everywhere the same and the arm of the point goes with the body: how it turns is all that counts.
    """
    fixed = (c.b if contact.flip == 1 else c.a) < 0
    return contact.kind == POINT_ON_PLANE and fixed and c.side != OVERLAPPING and c.side != BOUNCING


@inline
def floor_cotangents(c, contact, R, q, sign, by_first, by_second, w, half):
    """Gradient of `contact_value` by the turn of a body on a floor (3), in the world.

    A turn d moves a vector Q = R q by d x Q, and with it Q . f by d . (Q x f).

    Args:
        R, q: of the body, `qa` or `qb` (18).
        sign: of the normal, from the floor to the body: 1, or -1 where the body is a.
        w, half: angular velocity in the body's directions, and dt / 2; 0 for the second phase of a step.
    """
    n = scale3(sign, load3(contact.u))
    t1, t2 = tangents(n)
    lever = matvec(R, load3(contact.w))
    arm, g = axpy3(-contact.r2 * sign, n, lever), ZERO3
    for row in range(3):
        d = n if row == 0 else (t1 if row == 1 else t2)
        Q = matvec(R, (q[6 * row], q[6 * row + 1], q[6 * row + 2]))
        if c.kind == ip.TURN and row > 0:
            d = d if c.directions == ip.ROLL else (n if row == 1 else ZERO3)
            g = axpy3(sign, cross(Q, d), g)
        else:
            g = axpy3(sign, add3(cross(Q, cross(arm, d)), cross(lever, cross(d, Q))), g)
    if c.kind != ip.TURN:
        W, along = matvec(R, w), axpy3(by_first, t1, scale3(by_second, t2))
        slip = scale3(half, cross(W, cross(W, lever)))
        if contact.belt != 0:
            slip = add3(slip, matvec(R, load3(contact.belt_b) if sign > 0.0 else load3(contact.belt_a)))
        g = axpy3(sign, cross(slip, along), g)
    return g


@routine(allocates=False)
def cone_cotangents(model, data, contact, dt, zeta, back, G, bV):
    """Gradients of all cones by poses (G, in the world) and by the velocities before (bV).

    Args:
        zeta: gradient by what the cones push with, together with that of the equations, in the bodies' directions.
        back: scratch `BackData`.
    """
    states, qa, qb = data.bodies, back.qa, back.qb
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        by_gap, by_first, by_second = asked(c, zeta)
        by_gap /= dt
        normal = 0.0 if c.kind >= ip.DRY else c.gam
        bounce = 0.0
        if c.source >= 0 and c.side == BOUNCING:
            bounce = c.bounce * contact.contacts[c.source].restitution * dt * by_gap
        for body, q in ((c.a, qa), (c.b, qb)):
            cos = cosine_of(states, body, dt) if c.kind != ip.TURN else 1.0
            for i in range(6):
                z = v = x = 0.0
                if body >= 0:
                    s = states[body]
                    z, x = zeta[body, i], s.x[i]
                    v = 0.0 if c.kind == ip.DRY else (cos * s.w[i] if i < 3 else s.vc[i - 3])
                q[i] = normal * z - bounce * x
                q[6 + i] = c.beta[0] * z - by_first * v
                q[12 + i] = c.beta[1] * z - by_second * v
        for i in range(6):
            if c.a >= 0:
                bV[c.a, i] -= bounce * c.da[i]
            if c.b >= 0:
                bV[c.b, i] -= bounce * c.db[i]
        gap_cotangents(model, data, contact, c, END, by_gap, G)
        if c.kind == ip.DRY:
            rate_cotangents(model, data, c, by_first / dt, G)
        wrench_cotangents(model, data, contact, c, (by_gap, -by_first, -by_second), back, G, dt)


@inline
def cosine_of(states, body, dt):
    """Cosine of half the angle that a body turns by in a step, see `slip`; 1 for the world."""
    if body < 0:
        return 1.0
    w = load3(states[body].w)
    return math.sqrt(max(1.0 - 0.25 * dt * dt * dot3(w, w), 1e-12))


@routine(allocates=False)
def rate_cotangents(model, data, c, by_change, G):
    """Gradients of the change of a coordinate over the step, whose mean rate dry friction opposes."""
    j = -1 - c.source
    for when in (START, END):
        Ra, xa, Rb, xb = poses_at(data.bodies, c.a, c.b, when)
        _, tb, ta, f = coordinate(model.coordinates[j], data.coordinates[j].value, Ra, xa, Rb, xb)
        add_gradient(G, c.a, c.b, tb, ta, f, by_change if when == START else -by_change)


@routine(allocates=False)
def gap_cotangents(model, data, contact, c, when, by_gap, G):
    """Gradients of the gap of a cone by the poses at the START or END of the step."""
    Ra, xa, Rb, xb = poses_at(data.bodies, c.a, c.b, when)
    if c.source >= 0:
        _, n, x = gap(contact.contacts[c.source], (Ra, xa), (Rb, xb))
        add_to(G, c.a, cross(sub3(x, xa), n), n, by_gap)
        add_to(G, c.b, cross(sub3(x, xb), n), n, -by_gap)
    elif c.kind != ip.DRY:
        j = -1 - c.source
        _, tb, ta, f = coordinate(model.coordinates[j], data.coordinates[j].value, Ra, xa, Rb, xb)
        add_gradient(G, c.a, c.b, tb, ta, f, -c.side * by_gap)


@routine(allocates=False)
def wrench_cotangents(model, data, contact, c, by, back, G, dt):
    """Gradients, by the start poses, of what the unit wrenches of a cone work with the motions `back.qa`, `back.qb`.

    Args:
        by: see `contact_value`.
        dt: length of the step for its first phase, 0 for the second.
    """
    states, qa, qb = data.bodies, back.qa, back.qb
    if c.source < 0:
        limit_cotangents(model, data, c, by[0], qa, qb, back.moved, G)
        return
    touching = contact.contacts[c.source]
    Ra, xa = start_pose(states, c.a)
    Rb, xb = start_pose(states, c.b)
    spins = spin(states, c.a), spin(states, c.b), 0.5 * dt
    if is_on_floor(c, touching):
        body, R, q, sign = (c.b, Rb, qb, 1.0) if c.a < 0 else (c.a, Ra, qa, -1.0)
        g = floor_cotangents(c, touching, R, q, sign, by[1], by[2], spin(states, body), 0.5 * dt)
        for i in range(3):
            G[body, i] += g[i]
        return
    for side in range(2):
        body = c.a if side == 0 else c.b
        if body < 0:
            continue
        for axis in range(6):
            h = STEP * (model.bodies[body].radius if axis >= 3 else 1.0)
            e = (1.0 if axis == 3 else 0.0, 1.0 if axis == 4 else 0.0, 1.0 if axis == 5 else 0.0)
            slope = 0.0
            for point in range(4):
                offset, weight = stencil(point)
                R, p = (Ra, xa) if side == 0 else (Rb, xb)
                p = axpy3(offset * h, e, p)
                if axis < 3:
                    R = turned(R, axis, offset * h)
                if side == 0:
                    slope += weight * contact_value(c, touching, R, p, Rb, xb, qa, qb, by, spins)
                else:
                    slope += weight * contact_value(c, touching, Ra, xa, R, p, qa, qb, by, spins)
            G[body, axis] += slope / h


@inline
def spin(states, body):
    """Angular velocity of a body within the step, in its own directions; 0 for the world."""
    return load3(states[body].w) if body >= 0 else ZERO3


@inline
def limit_cotangents(model, data, c, by_gap, qa, qb, E, G):
    """`wrench_cotangents` of the limit or dry friction of a coordinate; E: scratch, the rows of its bodies are used."""
    states, j = data.bodies, -1 - c.source
    tie, value = model.coordinates[j], data.coordinates[j].value
    row = 6 if c.kind == ip.DRY else 0
    sign = 1.0 if c.kind == ip.DRY else c.side
    for body, q in ((c.a, qa), (c.b, qb)):
        if body >= 0:
            t = matvec(load9(states[body].R), (q[row], q[row + 1], q[row + 2]))
            for i in range(3):
                E[body, i], E[body, 3 + i] = t[i], q[row + 3 + i]
    Ra, xa = start_pose(states, c.a)
    Rb, xb = start_pose(states, c.b)
    bend_coordinate(tie, Ra, xa, Rb, xb, E, G, sign)
    if c.kind == ip.DRY:
        return
    now, tb, ta, f = coordinate(tie, value, Ra, xa, Rb, xb)
    if c.rest < 0.0 and by_gap != 0.0:
        phi, h = c.side * (now - c.bound), 1e-3 * abs(c.rest)
        slope = (overlap_left(phi + h, c.leave) - overlap_left(phi - h, c.leave)) / (2.0 * h)
        add_gradient(G, c.a, c.b, tb, ta, f, c.side * by_gap * slope)
