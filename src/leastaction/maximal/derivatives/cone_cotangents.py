"""Reverse mode of contacts, limits and dry friction: gradients of what cones ask for and push with, one by one.

Redundant contacts share a load by their compliance, which divides errors of gradients: so these are in closed form, and
only how normals and points of round things and edges follow the poses is found by differences (central, order 4).
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.distance import tangents, tangents_transposed
from leastaction.contact.gap import gap, material_points
from leastaction.contact.overlaps import overlap_slope
from leastaction.contact.records import POINT_ON_PLANE
from leastaction.maximal.contact.detection import BOUNCING, OVERLAPPING
from leastaction.maximal.derivatives.bending import add_gradient, add_to, bend_coordinate, poses_at
from leastaction.maximal.step.bodies import END, START, start_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.spatial import (
    ZERO3,
    act,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    matmul,
    mattvec,
    matvec,
    neg3,
    scale3,
    sub3,
)

STEP = 1e-4
"""Displacement of central differences [rad; lengths relative to the radius of gyration]."""


@inline
def stencil(k):
    """Offset and weight k (0 to 3) of a central difference of fourth order, for a unit step."""
    offset = k - 2.0 if k < 2 else k - 1.0
    weight = 2.0 / 3.0 if abs(offset) == 1.0 else 1.0 / 12.0
    return offset, math.copysign(weight, offset if abs(offset) == 1.0 else -offset)


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
def turning(W, r):
    """W x (W x r)."""
    return axpy3(dot3(W, r), W, scale3(-dot3(W, W), r))


@inline
def spin(states, body):
    """Angular velocity of a body within the step, in the world's directions; 0 for the world."""
    return matvec(load9(states[body].R), load3(states[body].w)) if body >= 0 else ZERO3


@inline
def slip_beside_wrenches(contact, poses, n, x, spins):
    """Slip of b beside a that unit wrenches do not know (3): of moving surfaces, and W x (W x r) dt / 2 of `slip`.

    Args:
        spins: angular velocities of a and b in the world, and dt / 2; 0 for the second phase of a step.
    """
    (Ra, xa, Rb, xb), (Wa, Wb, half), slip = poses, spins, ZERO3
    if contact.belt != 0:
        slip = sub3(matvec(Rb, load3(contact.belt_b)), matvec(Ra, load3(contact.belt_a)))
    if half != 0.0:
        ca, cb = material_points(contact, (Ra, xa), (Rb, xb), n, x)
        slip = axpy3(-half, turning(Wa, sub3(ca, xa)), slip)
        slip = axpy3(half, turning(Wb, sub3(cb, xb)), slip)
    return slip


@inline
def belt_cotangents(c, contact, poses, along, G):
    """Gradients of along . (sliding velocity that moving surfaces add)."""
    if contact.belt != 0:
        add_to(G, c.a, cross(matvec(poses[0], load3(contact.belt_a)), along), ZERO3, -1.0)
        add_to(G, c.b, cross(matvec(poses[2], load3(contact.belt_b)), along), ZERO3, 1.0)


@inline
def turning_cotangents(touching, c, poses, x, spins, along, back, G):
    """Gradients of along . W x (W x r) dt / 2 of both bodies of a point on a plane; that by where it touches (3).

    The arm r of the second body goes with it, and that of the first ends where they touch.
    """
    (Ra, xa, Rb, xb), (Wa, Wb, half) = poses, spins
    one, other = (c.b, c.a) if touching.flip == 1 else (c.a, c.b)
    W1, W2, x1, R2 = (Wb, Wa, xb, Ra) if touching.flip == 1 else (Wa, Wb, xa, Rb)
    half = -half if touching.flip == 1 else half  # the second feature is b's, but for `flip`
    r1, r2 = sub3(x, x1), matvec(R2, load3(touching.w))
    add_to(G, other, cross(turning(W2, r2), along), ZERO3, half)
    add_to_point(back, c.source, R2, turning(W2, along), half)
    by_spin = axpy3(dot3(W1, r1), along, axpy3(dot3(along, W1), r1, scale3(-2.0 * dot3(along, r1), W1)))
    by_arm = turning(W1, along)
    add_to(G, one, cross(W1, by_spin), neg3(by_arm), -half)
    return scale3(-half, by_arm)


@routine(allocates=False)
def contact_cotangents(model, data, contact, c, by, back, G, dt):
    """Gradients, by the start poses, of what a contact's unit wrenches work with the motions `back.qa`, `back.qb`.

    A unit force along d at x works d . S, S = F_b - F_a + Q_b x (x - x_b) - Q_a x (x - x_a), with the turns Q, fixed to
    the bodies, and the shifts F of these motions.

    Args:
        by: gradients by what its gap must exceed, and by its two sliding velocities.
        dt: length of the step for its first phase, 0 for the second.
    """
    by_rest, by_first, by_second = by
    touching, qa, qb = contact.contacts[c.source], back.qa, back.qb
    poses = poses_at(data.bodies, c.a, c.b, START)
    Ra, xa, Rb, xb = poses
    phi, n, x = gap(touching, (Ra, xa), (Rb, xb))
    t1, t2 = tangents(n)
    arm_a, arm_b = sub3(x, xa), sub3(x, xb)
    by_normal, along1, along2, by_point = ZERO3, ZERO3, ZERO3, ZERO3
    for row in range(3):
        i, d = 6 * row, n if row == 0 else (t1 if row == 1 else t2)
        Qa, Qb = matvec(Ra, (qa[i], qa[i + 1], qa[i + 2])), matvec(Rb, (qb[i], qb[i + 1], qb[i + 2]))
        if c.kind == ip.TURN and row > 0:
            d = d if c.directions == ip.ROLL else (n if row == 1 else ZERO3)
            by_d = sub3(Qb, Qa)
            add_to(G, c.a, cross(Qa, d), ZERO3, -1.0)
            add_to(G, c.b, cross(Qb, d), ZERO3, 1.0)
        else:
            shift = (qb[i + 3] - qa[i + 3], qb[i + 4] - qa[i + 4], qb[i + 5] - qa[i + 5])
            by_d = add3(shift, sub3(cross(Qb, arm_b), cross(Qa, arm_a)))
            by_point = add3(by_point, cross(d, sub3(Qb, Qa)))
            add_to(G, c.a, cross(Qa, cross(arm_a, d)), neg3(cross(d, Qa)), -1.0)
            add_to(G, c.b, cross(Qb, cross(arm_b, d)), neg3(cross(d, Qb)), 1.0)
        if row == 0 or (c.kind == ip.TURN and c.directions == ip.SPIN):
            by_normal = add3(by_normal, by_d) if row < 2 else by_normal
        elif row == 1:
            along1 = by_d
        else:
            along2 = by_d
    along, spins = ZERO3, (spin(data.bodies, c.a), spin(data.bodies, c.b), 0.5 * dt)
    if c.kind != ip.TURN:
        along, slip = axpy3(by_first, t1, scale3(by_second, t2)), slip_beside_wrenches(touching, poses, n, x, spins)
        along1, along2 = axpy3(by_first, slip, along1), axpy3(by_second, slip, along2)
        belt_cotangents(c, touching, poses, along, G)
    by_normal = add3(by_normal, tangents_transposed(n, along1, along2))
    if c.side == OVERLAPPING:
        gap_cotangents(model, data, contact, c, START, -by_rest * overlap_slope(phi, c.leave), back, G)
    elif c.side == BOUNCING:
        gap_cotangents(model, data, contact, c, START, -by_rest, back, G)
    if touching.kind == POINT_ON_PLANE:
        first, second, R, side = (c.b, c.a, Ra, -1.0) if touching.flip == 1 else (c.a, c.b, Rb, 1.0)
        by_point = add3(by_point, turning_cotangents(touching, c, poses, x, spins, along, back, G))
        by_normal = axpy3(-side * touching.r2, by_point, by_normal)
        add_to(G, first, cross(n, by_normal), ZERO3, 1.0)
        add_to(G, second, cross(matvec(R, load3(touching.w)), by_point), by_point, 1.0)
        add_to_point(back, c.source, R, by_point, 1.0)
        return
    feature_cotangents(model, data, touching, poses, by_normal, by_point, along, 0.5 * dt, G)


@inline
def add_to_point(back, k, R, f, weight):
    """Add to the gradient by the second feature of contact k; f: a gradient in the world, R: rotation of its body."""
    f = mattvec(R, f)
    for i in range(3):
        back.by_points[k, i] += weight * f[i]


@routine(allocates=False)
def feature_cotangents(model, data, contact, poses, by_normal, by_point, along, half, G):
    """Gradients of by_normal . n + by_point . x, normal and point of a contact, and of along . W x (W x r) dt / 2.

    By central differences; half: dt / 2.
    """
    Ra, xa, Rb, xb = poses
    wa = load3(data.bodies[contact.a].w) if contact.a >= 0 else ZERO3
    wb = load3(data.bodies[contact.b].w) if contact.b >= 0 else ZERO3
    for side in range(2):
        body = contact.a if side == 0 else contact.b
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
                Xa, Xb = ((R, p), (Rb, xb)) if side == 0 else ((Ra, xa), (R, p))
                _, n, x = gap(contact, Xa, Xb)
                value = dot3(by_normal, n) + dot3(by_point, x)
                if half != 0.0:
                    ca, cb = material_points(contact, Xa, Xb, n, x)
                    value -= half * dot3(along, turning(matvec(Xa[0], wa), sub3(ca, Xa[1])))
                    value += half * dot3(along, turning(matvec(Xb[0], wb), sub3(cb, Xb[1])))
                slope += weight * value
            G[body, axis] += slope / h


@routine(allocates=False)
def point_cotangents(data, contact, late, back, G):
    """Gradients, by the poses at which contacts were found, of where their points lie on their bodies.

    Clears the gradients by these points; see `contact.feature_motion`.

    Args:
        late: which contacts: 0 those found at the start of the step, else at the end of a solution (`CONTACT`), the
            present one.
    """
    when = START if late == 0 else END
    for k in range(back.holds[2]):
        c, by = contact.contacts[k], back.by_points[k]
        if c.late != late or c.kind != POINT_ON_PLANE:
            continue
        g = (by[0], by[1], by[2])
        by[0] = by[1] = by[2] = 0.0
        Ra, xa, Rb, xb = poses_at(data.bodies, c.a, c.b, when)
        first, second, x1, (R, x2) = (c.b, c.a, xb, (Ra, xa)) if c.flip == 1 else (c.a, c.b, xa, (Rb, xb))
        f, x = matvec(R, mattvec(load9(c.R), g)), act((R, x2), load3(c.w))
        turn = scale3(dot3(g, load3(c.z)), matvec(R, load3(c.n)))
        add_to(G, first, add3(cross(sub3(x, x1), f), turn), f, 1.0)
        add_to(G, second, add3(cross(sub3(x, x2), f), turn), f, -1.0)


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
        gap_cotangents(model, data, contact, c, END, by_gap, back, G)
        if c.kind == ip.DRY:
            rate_cotangents(model, data, c, by_first / dt, G)
        wrench_cotangents(model, data, contact, c, (by_gap, -by_first, -by_second), back, G, dt)
    point_cotangents(data, contact, 0, back, G)


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
def gap_cotangents(model, data, contact, c, when, by_gap, back, G):
    """Gradients of -by_gap times the gap of a cone by the poses at the START or END of the step."""
    Ra, xa, Rb, xb = poses_at(data.bodies, c.a, c.b, when)
    if c.source >= 0:
        touching = contact.contacts[c.source]
        _, n, x = gap(touching, (Ra, xa), (Rb, xb))
        add_to(G, c.a, cross(sub3(x, xa), n), n, by_gap)
        add_to(G, c.b, cross(sub3(x, xb), n), n, -by_gap)
        if touching.kind == POINT_ON_PLANE:
            flip = touching.flip == 1
            add_to_point(back, c.source, Ra if flip else Rb, n, by_gap if flip else -by_gap)
    elif c.kind != ip.DRY:
        j = -1 - c.source
        _, tb, ta, f = coordinate(model.coordinates[j], data.coordinates[j].value, Ra, xa, Rb, xb)
        add_gradient(G, c.a, c.b, tb, ta, f, -c.side * by_gap)


@routine(allocates=False)
def wrench_cotangents(model, data, contact, c, by, back, G, dt):
    """Gradients, by the start poses, of what the unit wrenches of a cone work with the motions `back.qa`, `back.qb`.

    Args:
        by, dt: see `contact_cotangents`.
    """
    if c.source < 0:
        limit_cotangents(model, data, c, by[0], back.qa, back.qb, back.moved, G)
    else:
        contact_cotangents(model, data, contact, c, by, back, G, dt)


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
        slope = overlap_slope(c.side * (now - c.bound), c.leave)
        add_gradient(G, c.a, c.b, tb, ta, f, c.side * by_gap * slope)
