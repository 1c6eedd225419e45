"""VJPs of the impulses of joints and forces by the poses of bodies (see `constraint_hessians`).

The backward pass costs no more than the forward pass.
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_limits import limit_slopes
from leastaction.forces.total import axis_slopes
from leastaction.maximal.coordinates.recover import child_of, freedoms, screw_of
from leastaction.maximal.derivatives.constraint_hessians import (
    add_ball_hessian,
    add_coordinate_hessian,
    add_gradient,
    add_to,
    ball_direction,
    ball_rate,
    motions_of,
    poses_at,
    rate_along,
    read_ball,
)
from leastaction.maximal.maximal_records import BALL, FREE, HINGE
from leastaction.maximal.step.assembly import end_damping
from leastaction.maximal.step.bodies import END, START, start_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.spatial import ZERO3, add3, axpy3, cross, load3, load9, mattvec, matvec


@routine(allocates=False)
def force_cotangents(model, data, scale, when, E, G):
    """Add the gradient by the poses of scale times the work of the joint forces (data.tau) with E.

    Args:
        when: whether the poses, and joint positions, are those at the START or END of the step.
    """
    coordinates, states = model.coordinates, data.bodies
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
        if c.kind == BALL or c.kind == FREE:
            if c.iv >= 0:
                motion = motions_of(E, c.a, c.b)
                for j in range(freedoms(c)):
                    if data.tau[c.iv + j] != 0.0:
                        add_ball_hessian(c, j, Ra, xa, Rb, xb, motion, G, scale * data.tau[c.iv + j])
            continue
        value, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
        if c.iv < 0:
            continue
        force = data.tau[c.iv]
        stiffness, _ = axis_slopes(model.forces.dofs[c.iv], data.modes.limits[c.iv], value, 0.0)
        if force != 0.0 or stiffness != 0.0:
            add_coordinate_hessian(c, Ra, xa, Rb, xb, E, G, scale * force)
            add_gradient(G, c.a, c.b, tb, ta, f, -scale * stiffness * rate_along(E, c.a, c.b, tb, ta, f))


@routine(allocates=False)
def control_cotangents(model, data, places, scale, when, E, out):
    """Add the gradients by the controls of scale times their work with E to out (nu,)."""
    drives, states = model.forces.drives, data.bodies
    for k in range(drives.shape[0]):
        if drives[k].dof < 0:
            continue
        i, j = places[drives[k].dof, 0], places[drives[k].dof, 1]
        c = model.coordinates[i]
        Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
        if c.kind == BALL or c.kind == FREE:
            out[k] += scale * drives[k].gear * ball_rate(c, j, Ra, xa, Rb, xb, motions_of(E, c.a, c.b))
        else:
            _, tb, ta, f = coordinate(c, data.coordinates[i].value, Ra, xa, Rb, xb)
            out[k] += scale * drives[k].gear * rate_along(E, c.a, c.b, tb, ta, f)


@inline
def axis_damping(c, forces, modes, value):
    """`assembly.axis_damping` of a SLIDE or HINGE, and its derivative by the coordinate (nonzero near limits)."""
    if c.iv < 0:
        return c.damping[0], 0.0
    stiffness, damping = limit_slopes(forces.dofs[c.iv], modes.limits[c.iv], value, 0.0)
    return c.damping[0] + damping, limit_slopes(forces.dofs[c.iv], modes.limits[c.iv], value, 1.0)[0] - stiffness


@routine(allocates=False)
def rate_cotangents(model, settings, data, dt, E0, E1, G0, G1):
    """VJP of springs, dampers and armature: of impulses at the start (E0) and momenta at the end (E1).

    G0: by the poses at the start, with those of the end that depend on them; G1: by those at the end alone.
    """
    states, halves = data.bodies, settings.halves
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.kind == BALL or c.kind == FREE:
            continue
        limited = c.iv >= 0 and model.forces.dofs[c.iv].limit_damping != 0.0
        if c.armature == 0.0 and c.damping[0] == 0.0 and c.stiffness == 0.0 and not limited:
            continue
        Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
        Sa, ya, Sb, yb = poses_at(states, c.a, c.b, END)
        start, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
        end, sb, sa, s = coordinate(c, data.coordinates[k].value, Sa, ya, Sb, yb)
        rate, spring = (end - start) / dt, c.stiffness * (c.rest - 0.5 * (start + end))
        damping, bent = axis_damping(c, model.forces, data.modes, start)
        damping_at_end, bent_at_end = axis_damping(c, model.forces, data.modes, end)
        held = end_damping(c, damping_at_end, halves, dt)
        first = -(c.armature + halves * dt * damping)
        last = c.armature - (1.0 - halves) * dt * damping_at_end + held
        along, along_at_end = rate_along(E0, c.a, c.b, tb, ta, f), rate_along(E1, c.a, c.b, sb, sa, s)
        by_start, by_end = first * along / dt, last * along_at_end / dt
        # Springs apply their force at the mean of the start and the end.
        soft, soft_at_end = (
            0.5 * halves * dt * c.stiffness * along,
            0.5 * (1.0 - halves) * dt * c.stiffness * along_at_end,
        )
        add_coordinate_hessian(c, Ra, xa, Rb, xb, E0, G0, first * rate + halves * dt * spring)
        add_gradient(G0, c.a, c.b, sb, sa, s, by_start - soft)
        bent *= -halves * dt * rate * along
        add_gradient(G0, c.a, c.b, tb, ta, f, bent - by_start - by_end - soft - soft_at_end)
        add_coordinate_hessian(c, Sa, ya, Sb, yb, E1, G1, last * rate + (1.0 - halves) * dt * spring)
        bent_at_end *= 0.0 if held > 0.0 else -(1.0 - halves) * dt * rate * along_at_end
        add_gradient(G1, c.a, c.b, sb, sa, s, by_end + bent_at_end - soft_at_end)


@routine(allocates=False)
def read_cotangents(model, data, bq, bp, twists, bP, G):
    """Gradients by poses (G) and momenta (bP) of bodies from those by their q and p.

    Args:
        twists: scratch, shape (bodies, 6).
    """
    bodies, coordinates, states, H = model.bodies, model.coordinates, data.bodies, data.subtrees
    n = bodies.shape[0]
    for i in range(n):
        s = states[i]
        P, L = momentum_of(s)
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
        P, L = momentum_of(s)
        turn, shift = mattvec(load9(s.R), w), add3(v, cross(w, p))
        add_to(G, i, cross(matvec(load9(s.R), P), w), cross(L, w), 1.0)
        for c in range(3):
            bP[i, c], bP[i, 3 + c] = turn[c], shift[c]


@inline
def momentum_of(s):
    """Momentum of a body, angular and linear."""
    return (s.P[0], s.P[1], s.P[2]), (s.P[3], s.P[4], s.P[5])
