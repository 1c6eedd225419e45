"""Reverse mode of what a step computes: gradients by poses of the impulses of joints, forces and contacts.

A joint's equation or coordinate g of two poses pushes with its gradient G. For impulses that work with the fixed motion
E of the bodies, each in its own directions, the gradient of E . G by the poses is the derivative of G along E: second
derivatives are symmetric, and turns in a body's directions commute with those in the world's. So the way back costs no
more than the way there.

Gradients by poses are by turns and shifts in the world's directions, and E comes in these too: arrays (bodies, 6).
"""

from leastaction._jit import inline, routine
from leastaction.forces.total import axis_slopes
from leastaction.maximal.coordinates.recover import child_of, freedoms, screw_of
from leastaction.maximal.records import BALL, FREE, HINGE
from leastaction.maximal.step.assembly import late_damping
from leastaction.maximal.step.bodies import end_pose, start_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.mechanism.closure import DOT
from leastaction.spatial import (
    ZERO3,
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
def motion_of(E, body):
    """(turn, shift) of a body among E, zero for the world."""
    if body < 0:
        return ZERO3, ZERO3
    return (E[body, 0], E[body, 1], E[body, 2]), (E[body, 3], E[body, 4], E[body, 5])


@inline
def add_to(G, body, t, f, k):
    """Add k (t, f) to the gradient by the pose of a body."""
    if body >= 0:
        for c in range(3):
            G[body, c] += k * t[c]
            G[body, 3 + c] += k * f[c]


@inline
def add_gradient(G, a, b, tb, ta, f, k):
    """Add k times a gradient (tb, ta, f), as those of `joint_rows`, to the bodies a and b."""
    add_to(G, a, ta, neg3(f), k)
    add_to(G, b, tb, f, k)


@inline
def rate_along(E, a, b, tb, ta, f):
    """A gradient (tb, ta, f) times the motion E."""
    wa, va = motion_of(E, a)
    wb, vb = motion_of(E, b)
    return dot3(tb, wb) + dot3(ta, wa) + dot3(f, sub3(vb, va))


@inline
def bent_along(n, pb, Ra, xa, Rb, xb, motion):
    """Derivative of the gradient of `joint_rows.along` for the motion (wa, va, wb, vb) of both bodies."""
    wa, va, wb, vb = motion
    n = matvec(Ra, n)
    arm = matvec(Rb, pb)
    arm_a = sub3(add3(xb, arm), xa)
    dn, darm = cross(wa, n), cross(wb, arm)
    darm_a = sub3(add3(vb, darm), va)
    return add3(cross(darm, n), cross(arm, dn)), neg3(add3(cross(darm_a, n), cross(arm_a, dn))), dn


@inline
def bent_angle(c, Ra, Rb, wa, wb):
    """Derivative of the torque of `joint_rows.angle` for turns of both bodies."""
    n, w = matvec(Ra, load3(c.n)), matvec(Rb, load3(c.w2))
    dn, dw = cross(wa, n), cross(wb, w)
    wn, dwn = dot3(w, n), dot3(dw, n) + dot3(w, dn)
    across = axpy3(-wn, n, w)
    dacross = axpy3(-wn, dn, axpy3(-dwn, n, dw))
    square = dot3(across, across)
    k = wn / square
    dk = (dwn - 2.0 * k * dot3(across, dacross)) / square
    return scale3(c.sign, axpy3(-k, dacross, axpy3(-dk, across, dn)))


@inline
def bend_coordinate(c, Ra, xa, Rb, xb, E, G, k):
    """Add k times the derivative along E of the gradient of a SLIDE or HINGE."""
    wa, va = motion_of(E, c.a)
    wb, vb = motion_of(E, c.b)
    if c.kind == HINGE:
        t = bent_angle(c, Ra, Rb, wa, wb)
        add_gradient(G, c.a, c.b, t, neg3(t), ZERO3, k)
    else:
        tb, ta, f = bent_along(load3(c.n), load3(c.pb), Ra, xa, Rb, xb, (wa, va, wb, vb))
        add_gradient(G, c.a, c.b, tb, ta, f, k)


@inline
def bend_row(row, Ra, xa, Rb, xb, E, G, k):
    """The same of a row of a joint."""
    wa, va = motion_of(E, row.a)
    wb, vb = motion_of(E, row.b)
    if row.kind == DOT:
        n, w = matvec(Ra, load3(row.n)), matvec(Rb, load3(row.w))
        t = add3(cross(cross(wb, w), n), cross(w, cross(wa, n)))
        add_gradient(G, row.a, row.b, t, neg3(t), ZERO3, k)
    else:
        tb, ta, f = bent_along(load3(row.n), load3(row.pb), Ra, xa, Rb, xb, (wa, va, wb, vb))
        add_gradient(G, row.a, row.b, tb, ta, f, k)


@inline
def ball_direction(c, j, Rb):
    """Direction j of a BALL or FREE in the world."""
    e = (1.0 if j % 3 == 0 else 0.0, 1.0 if j % 3 == 1 else 0.0, 1.0 if j % 3 == 2 else 0.0)
    return matvec(Rb, matvec(load9(c.Rb), e))


@inline
def ball_rate(c, j, Ra, xa, Rb, xb, E):
    """What unit j of the force of a BALL or FREE works with the motion E (`assembly.ball_axis`)."""
    wa, va = motion_of(E, c.a)
    wb, vb = motion_of(E, c.b)
    n = ball_direction(c, j, Rb)
    if j < 3:
        return dot3(n, sub3(wb, wa))
    arm = matvec(Rb, load3(c.pb))
    r = sub3(add3(xb, arm), xa)
    return dot3(n, sub3(add3(vb, cross(wb, arm)), add3(va, cross(wa, r))))


@inline
def bend_ball(c, j, Ra, xa, Rb, xb, E, G, k):
    """Add k times the gradient of `ball_rate` by the poses, E fixed to the bodies."""
    wa, va = motion_of(E, c.a)
    _wb, vb = motion_of(E, c.b)
    n = ball_direction(c, j, Rb)
    if j < 3:
        # That on b is fixed to it; on a: -wa . n, wa moves with a and n with b.
        t = cross(wa, n)
        add_to(G, c.a, t, ZERO3, -k)
        add_to(G, c.b, t, ZERO3, k)
        return
    arm = matvec(Rb, load3(c.pb))
    r = sub3(add3(xb, arm), xa)
    # n . (vb - va) + wa . (n x r), and wb . (arm x n) is fixed to b.
    along = sub3(sub3(vb, va), cross(wa, r))
    back = cross(wa, n)  # gradient by r
    add_to(G, c.a, cross(cross(r, n), wa), neg3(back), k)
    add_to(G, c.b, add3(cross(n, along), cross(arm, back)), back, k)


@routine(allocates=False)
def force_cotangents(model, data, scale, when, E, G):
    """Add the gradient by the poses of scale times what the forces in joints (data.tau) work with E.

    Args:
        when: whether the poses are those at the end of the step; positions of the joints are those there.
    """
    coordinates, states = model.coordinates, data.bodies
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
        if c.kind == BALL or c.kind == FREE:
            for j in range(freedoms(c) if c.iv >= 0 else 0):
                if data.tau[c.iv + j] != 0.0:
                    bend_ball(c, j, Ra, xa, Rb, xb, E, G, scale * data.tau[c.iv + j])
            continue
        value, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
        if c.iv >= 0:
            force = data.tau[c.iv]
            stiffness, _ = axis_slopes(model.forces.dofs[c.iv], data.modes.limits[c.iv], value, 0.0)
        else:
            force, stiffness = c.stiffness * (c.rest - value), c.stiffness
        if force != 0.0 or stiffness != 0.0:
            bend_coordinate(c, Ra, xa, Rb, xb, E, G, scale * force)
            add_gradient(G, c.a, c.b, tb, ta, f, -scale * stiffness * rate_along(E, c.a, c.b, tb, ta, f))


@inline
def poses_at(states, a, b, when):
    """Poses of two bodies at the start (0) or end (1) of the step."""
    if when == 1:
        Ra, xa = end_pose(states, a)
        Rb, xb = end_pose(states, b)
        return Ra, xa, Rb, xb
    Ra, xa = start_pose(states, a)
    Rb, xb = start_pose(states, b)
    return Ra, xa, Rb, xb


@routine(allocates=False)
def control_cotangents(model, data, places, scale, when, E, out):
    """Add the gradients by the controls of scale times what they work with E, to out (nu,)."""
    drives, states = model.forces.drives, data.bodies
    for k in range(drives.shape[0]):
        if drives[k].dof < 0:
            continue
        i, j = places[drives[k].dof, 0], places[drives[k].dof, 1]
        c = model.coordinates[i]
        Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
        if c.kind == BALL or c.kind == FREE:
            out[k] += scale * drives[k].gear * ball_rate(c, j, Ra, xa, Rb, xb, E)
        else:
            _, tb, ta, f = coordinate(c, data.coordinates[i].value, Ra, xa, Rb, xb)
            out[k] += scale * drives[k].gear * rate_along(E, c.a, c.b, tb, ta, f)


@routine(allocates=False)
def rate_cotangents(model, settings, data, dt, E0, E1, G0, G1):
    """Gradients of what dampers and drive inertias leave: impulses at the start (E0) and momenta at the end (E1).

    G0: by the poses at the start, with those of the end that follow them; G1: by those at the end alone.
    """
    states, halves = data.bodies, settings.halves
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.kind == BALL or c.kind == FREE or (c.armature == 0.0 and c.damping[0] == 0.0 and c.servo == 0.0):
            continue
        Ra, xa = start_pose(states, c.a)
        Rb, xb = start_pose(states, c.b)
        Sa, ya = end_pose(states, c.a)
        Sb, yb = end_pose(states, c.b)
        start, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
        end, sb, sa, s = coordinate(c, data.coordinates[k].value, Sa, ya, Sb, yb)
        rate = (end - start) / dt
        servo = 0.5 * dt * c.servo
        late = late_damping(c, c.damping[0], halves, dt)
        first = -(c.armature + halves * dt * (c.damping[0] + servo) + late)
        last = c.armature - (1.0 - halves) * dt * (c.damping[0] - servo) + late
        by_start = first * rate_along(E0, c.a, c.b, tb, ta, f) / dt
        by_end = last * rate_along(E1, c.a, c.b, sb, sa, s) / dt
        bend_coordinate(c, Ra, xa, Rb, xb, E0, G0, first * rate)
        add_gradient(G0, c.a, c.b, sb, sa, s, by_start)
        add_gradient(G0, c.a, c.b, tb, ta, f, -by_start - by_end)
        bend_coordinate(c, Sa, ya, Sb, yb, E1, G1, last * rate)
        add_gradient(G1, c.a, c.b, sb, sa, s, by_end)


@routine(allocates=False)
def read_cotangents(model, data, bq, bp, pushed, share, twists, bP, G):
    """Gradients by poses (G) and momenta (bP) of bodies from those by the q and p that are read off them.

    Args:
        pushed: impulses of the cones, of which p has a share, shape (bodies, 6).
        twists: scratch, shape (bodies, 6).
    """
    bodies, coordinates, states, H = model.bodies, model.coordinates, data.bodies, data.subtrees
    n = bodies.shape[0]
    for i in range(n):
        s = states[i]
        P, L = momentum_of(s, pushed, i, share)
        K = add3(matvec(load9(s.R), P), cross(load3(s.p), L))
        for c in range(3):
            H[i, c], H[i, 3 + c] = K[c], L[c]
            twists[i, c] = twists[i, 3 + c] = 0.0
    for i in range(n - 1, -1, -1):
        if bodies[i].parent >= 0:
            for c in range(6):
                H[bodies[i].parent, c] += H[i, c]
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.iv < 0:
            continue
        Ra, xa = start_pose(states, c.a)
        Rb, xb = start_pose(states, c.b)
        child = child_of(c)
        K, L = (H[child, 0], H[child, 1], H[child, 2]), (H[child, 3], H[child, 4], H[child, 5])
        for j in range(freedoms(c)):
            by_q, by_p = bq[c.iv + j], bp[c.iv + j]
            if c.kind == BALL or c.kind == FREE:
                read_ball(c, j, Ra, xa, Rb, xb, G, by_q)
            else:
                _, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
                add_gradient(G, c.a, c.b, tb, ta, f, by_q)
            if by_p == 0.0:
                continue
            t, f = screw_of(c, j, states)
            for i in range(3):
                twists[child, i] += by_p * t[i]
                twists[child, 3 + i] += by_p * f[i]
            if c.kind == BALL or c.kind == FREE:
                axis, owner = ball_direction(c, j, Rb), c.b
            else:
                axis, owner = matvec(Ra, load3(c.n)), c.a
            if c.kind != HINGE and not (j < 3 and c.kind >= BALL):
                add_to(G, owner, cross(axis, L), ZERO3, by_p)  # a slide: n . L
                continue
            # n . (K + pitch L + L x x), x the joint's origin.
            at_b = c.kind != HINGE or c.sign > 0.0
            arm = matvec(Rb, load3(c.pb)) if at_b else matvec(Ra, load3(c.pa))
            x = add3(xb, arm) if at_b else add3(xa, arm)
            pitch = c.pitch if c.kind == HINGE else 0.0
            add_to(G, owner, cross(axis, axpy3(pitch, L, add3(K, cross(L, x)))), ZERO3, by_p)
            back = cross(axis, L)
            add_to(G, c.b if at_b else c.a, cross(arm, back), back, by_p)
    for i in range(n):
        s, parent = states[i], bodies[i].parent
        if parent >= 0:
            for c in range(6):
                twists[i, c] += twists[parent, c]
        w, v, p = (twists[i, 0], twists[i, 1], twists[i, 2]), (twists[i, 3], twists[i, 4], twists[i, 5]), load3(s.p)
        P, L = momentum_of(s, pushed, i, share)
        turn, shift = mattvec(load9(s.R), w), add3(v, cross(w, p))
        add_to(G, i, cross(matvec(load9(s.R), P), w), cross(L, w), 1.0)
        for c in range(3):
            bP[i, c], bP[i, 3 + c] = turn[c], shift[c]


@inline
def momentum_of(s, pushed, i, share):
    """Momentum of a body, angular and linear, with a share of what cones push it with."""
    P = (s.P[0] + share * pushed[i, 0], s.P[1] + share * pushed[i, 1], s.P[2] + share * pushed[i, 2])
    return P, (s.P[3] + share * pushed[i, 3], s.P[4] + share * pushed[i, 4], s.P[5] + share * pushed[i, 5])


@inline
def read_ball(c, j, Ra, xa, Rb, xb, G, k):
    """Add k times the gradient of what `ball_rate` is the rate of."""
    n = ball_direction(c, j, Rb)
    if j < 3:
        add_to(G, c.a, n, ZERO3, -k)
        add_to(G, c.b, n, ZERO3, k)
        return
    arm = matvec(Rb, load3(c.pb))
    r = sub3(add3(xb, arm), xa)
    add_to(G, c.a, cross(r, n), n, -k)
    add_to(G, c.b, cross(arm, n), n, k)
