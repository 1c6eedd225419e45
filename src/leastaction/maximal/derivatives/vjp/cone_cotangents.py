"""VJPs of contacts, limits and dry friction: gradients of the slacks, slips and impulses of each cone.

Redundant contacts share a load by their compliance, and division by it amplifies errors of gradients. So these are in
closed form, except the derivatives of normals and points of round shapes and edges: central differences, order 4.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.narrow_phase.closest_points import tangents, tangents_transposed
from leastaction.contact.narrow_phase.gap import gap, material_points
from leastaction.contact.penetration.penetration_recovery import overlap_slope
from leastaction.contact.pose_differences import STEP, stencil, turned
from leastaction.contact.records import EDGES, POINT_ON_PLANE, ROUND_AND_LINE, ROUNDS, SEGMENTS
from leastaction.maximal.contact.contact_setup import OVERLAPPING
from leastaction.maximal.derivatives.constraint_hessians import add_coordinate_hessian, add_gradient, add_to, poses_at
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
    mattvec,
    matvec,
    neg3,
    scale3,
    sub3,
)


@inline
def cone_cotangent(c, push):
    """W^T D push of a cone: gradient by its slack and its two slips, from the gradient `push` by impulses on bodies."""
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
def belt_cotangents(c, contact, Ra, Rb, along, G):
    """Gradients of `along` times the relative velocity of moving surfaces; returns this velocity."""
    if contact.belt == 0:
        return ZERO3
    one, other = matvec(Ra, load3(contact.belt_a)), matvec(Rb, load3(contact.belt_b))
    add_to(G, c.a, cross(one, along), ZERO3, -1.0)
    add_to(G, c.b, cross(other, along), ZERO3, 1.0)
    return sub3(other, one)


@inline
def turning_cotangents(states, body, point, along, half, G):
    """Gradients of along . W x (W x r) dt / 2, see `maximal.contact.slip`: by the rotation of a body, and by the point.

    Args:
        point: material point of the body [m]; r is its arm, and W the angular velocity, both in the world.
        along: a gradient by the slip, with the sign of the body.
        half: dt / 2.

    Returns this slip (3), without that sign, and the gradient by the point (3).
    """
    if body < 0 or half == 0.0:
        return ZERO3, ZERO3
    R, x = start_pose(states, body)
    W, r = matvec(R, load3(states[body].w)), sub3(point, x)
    f = scale3(half, cross(W, cross(W, along)))
    by_W = add3(cross(cross(W, r), along), cross(r, cross(along, W)))
    add_to(G, body, scale3(half, cross(W, by_W)), neg3(f), 1.0)
    return scale3(half, cross(W, cross(W, r))), f


@inline
def material_cotangents(contact, k, body, first, poses, f, back, G):
    """Gradients of f . c, c the material point of a body in contact (`narrow_phase.gap.material_points`).

    Args:
        k: number of the contact.
        first: whether the body is that of the contact's first feature.

    Returns the gradients by the contact's point and by its normal (3 each) where c depends on these.
    """
    if body < 0:
        return ZERO3, ZERO3
    kind, away = contact.kind, -1.0 if contact.flip == 1 else 1.0
    R = poses[0] if body == contact.a else poses[2]
    if first and kind not in (ROUNDS, ROUND_AND_LINE):
        return f, scale3(-away * contact.r1, f) if kind == SEGMENTS else ZERO3
    if not first and kind in (SEGMENTS, EDGES, ROUND_AND_LINE):
        return f, scale3(away * contact.r2, f)
    arm = matvec(R, load3(contact.u) if first else load3(contact.w))
    add_to(G, body, cross(arm, f), f, 1.0)
    if kind == POINT_ON_PLANE:
        add_to_point(back, k, R, f, 1.0)
    return ZERO3, ZERO3


@routine(allocates=False)
def contact_cotangents(model, data, contact, c, by, back, G, dt):
    """Gradients by the start poses of the work of a contact's unit wrenches with the motions `back.qa`, `back.qb`.

    A unit force along d at x does the work d . S, S = F_b - F_a + Q_b x (x - x_b) - Q_a x (x - x_a), with the rotations
    Q, fixed to the bodies, and the translations F of these motions.

    Args:
        by: gradients by its least end gap, and by its two sliding velocities apart from those of the motions.
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
    if c.kind != ip.TURN:
        along = axpy3(by_first, t1, scale3(by_second, t2))
        slip = belt_cotangents(c, touching, Ra, Rb, along, G)
        ca, cb = material_points(touching, (Ra, xa), (Rb, xb), n, x)
        for body, point, sign in ((c.a, ca, -1.0), (c.b, cb, 1.0)):
            own, f = turning_cotangents(data.bodies, body, point, scale3(sign, along), 0.5 * dt, G)
            slip = axpy3(sign, own, slip)
            first = (body == c.a) != (touching.flip == 1)
            more_point, more_normal = material_cotangents(touching, c.source, body, first, poses, f, back, G)
            by_point, by_normal = add3(by_point, more_point), add3(by_normal, more_normal)
        along1, along2 = axpy3(by_first, slip, along1), axpy3(by_second, slip, along2)
    by_normal = add3(by_normal, tangents_transposed(n, along1, along2))
    if c.side == OVERLAPPING:
        gap_cotangents(model, data, contact, c, START, -by_rest * overlap_slope(phi, c.gravity_drop, c.slight), back, G)
    if touching.kind == POINT_ON_PLANE:
        first, second, R, side = (c.b, c.a, Ra, -1.0) if touching.flip == 1 else (c.a, c.b, Rb, 1.0)
        by_normal = axpy3(-side * touching.r2, by_point, by_normal)
        add_to(G, first, cross(n, by_normal), ZERO3, 1.0)
        add_to(G, second, cross(matvec(R, load3(touching.w)), by_point), by_point, 1.0)
        add_to_point(back, c.source, R, by_point, 1.0)
        return
    feature_cotangents(model, touching, poses, by_normal, by_point, G)


@inline
def add_to_point(back, k, R, f, weight):
    """Add to the gradient by the second feature of contact k; f: a gradient in the world, R: rotation of its body."""
    f = mattvec(R, f)
    for i in range(3):
        back.by_points[k, i] += weight * f[i]


@routine(allocates=False)
def feature_cotangents(model, contact, poses, by_normal, by_point, G):
    """Gradients by the poses of by_normal . n + by_point . x, normal and point of a contact, by central differences."""
    Ra, xa, Rb, xb = poses
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
                if side == 0:
                    _, n, x = gap(contact, (R, p), (Rb, xb))
                else:
                    _, n, x = gap(contact, (Ra, xa), (R, p))
                slope += weight * (dot3(by_normal, n) + dot3(by_point, x))
            G[body, axis] += slope / h


@routine(allocates=False)
def point_cotangents(data, contact, late, back, G):
    """Gradients, by the poses at which contacts were detected, of the positions of their points on their bodies.

    Sets the gradients by these points to zero; see `narrow_phase.feature_motion`.

    Args:
        late: which contacts: 0 for those found at the start of the step, else at the end of a solution (`CONTACT`),
            the present one.
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
def cone_cotangents(model, data, contact, dt, zeta, back, G):
    """Gradients of all cones by poses (G, in the world).

    Args:
        zeta: gradient by the impulses of the cones on bodies, together with that of the equations, in body frames.
        back: scratch `BackData`.
    """
    states, qa, qb = data.bodies, back.qa, back.qb
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        by_gap, by_first, by_second = cone_cotangent(c, zeta)
        by_gap /= dt
        normal = 0.0 if c.kind >= ip.DRY else c.gam
        for body, q in ((c.a, qa), (c.b, qb)):
            cos = cosine_of(states, body, dt) if c.kind != ip.TURN else 1.0
            for i in range(6):
                z = v = 0.0
                if body >= 0:
                    s = states[body]
                    z = zeta[body, i]
                    v = 0.0 if c.kind == ip.DRY else (cos * s.w[i] if i < 3 else s.vc[i - 3])
                q[i] = normal * z
                q[6 + i] = c.beta[0] * z - by_first * v
                q[12 + i] = c.beta[1] * z - by_second * v
        gap_cotangents(model, data, contact, c, END, by_gap, back, G)
        if c.kind == ip.DRY:
            rate_cotangents(model, data, c, by_first / dt, G)
        wrench_cotangents(model, data, contact, c, (by_gap, -by_first, -by_second), back, G, dt)
    point_cotangents(data, contact, 0, back, G)


@inline
def cosine_of(states, body, dt):
    """Cosine of half the rotation angle of a body in a step, see `slip`; 1 for the world."""
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
    """Gradients by the start poses of the work of a cone's unit wrenches with the motions `back.qa`, `back.qb`.

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
    add_coordinate_hessian(tie, Ra, xa, Rb, xb, E, G, sign)
    if c.kind == ip.DRY:
        return
    now, tb, ta, f = coordinate(tie, value, Ra, xa, Rb, xb)
    if c.rest < 0.0 and by_gap != 0.0:
        slope = overlap_slope(c.side * (now - c.bound), c.gravity_drop, c.slight)
        add_gradient(G, c.a, c.b, tb, ta, f, c.side * by_gap * slope)
