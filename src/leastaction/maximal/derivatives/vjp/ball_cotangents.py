"""VJPs of springs, dampers and armature of ball and free joints.

Dampers act with the velocities of the step in the directions of its ends (`assembly.ball_dampers`). Springs apply a
mean torque to the child, and forces along the axes of its frame as slides do (`forces.ball_springs`). Armature has
momentum (`forces.ball_drives`).
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_springs import LEAST, ball_torque_slope, has_ball_spring, mean_torque
from leastaction.maximal.coordinates.recover import freedoms
from leastaction.maximal.derivatives.constraint_hessians import (
    add_ball_hessian,
    add_gradient,
    along_hessian,
    ball_gradient,
    ball_rate,
    motions_of,
    poses_at,
    rate_with,
    read_ball,
)
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.forces.ball_drives import drive_momentum, drive_slopes, unit
from leastaction.maximal.step.forces.ball_springs import spring_turn
from leastaction.maximal.step.joint_rows import along
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    left_jacobian_inv,
    load3,
    load9,
    matmul,
    mattvec,
    matvec,
    neg3,
    quat_conj,
    quat_log,
    quat_mul,
    right_jacobian_inv,
    scale3,
)
from leastaction.spatial.exponential import coefficients, spring_torque


@routine(allocates=False)
def ball_rate_cotangents(balls, model, settings, data, back, dt):
    """As `cotangents.rate_cotangents`, of BALL and FREE coordinates, with E0, E1, G0 and G1 of `BackData`.

    Adds the gradient by the velocities of the bodies of the impulses at the end to `back.by_velocity`.

    Args:
        balls: None where no such joint has a spring, a damper or armature.
    """
    if balls is None or not balls:
        return
    states, dofs, halves = data.bodies, model.forces.dofs, settings.halves
    E0, E1, G0, G1, by_velocity = back.E0, back.E1, back.G0, back.G1, back.by_velocity
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.kind != BALL and c.kind != FREE:
            continue
        for j in range(freedoms(c)):
            if c.damping[j] > 0.0:
                damper_cotangents(c, j, states, START, -halves * dt * c.damping[j], E0, G0, by_velocity)
                damper_cotangents(c, j, states, END, -(1.0 - halves) * dt * c.damping[j], E1, G1, by_velocity)
        if c.armature > 0.0:
            drive_cotangents(c, dofs, states, START, dt, E0, G0, by_velocity)
            drive_cotangents(c, dofs, states, END, dt, E1, G1, by_velocity)
        if c.stiffness > 0.0:
            early, late = halves * dt, (1.0 - halves) * dt
            if has_ball_spring(model.springs, c.iv):
                turn_cotangents(c, model, data, START, early, E0, G0, G0)
                turn_cotangents(c, model, data, END, late, E1, G0, G1)
            for j in range(3 if c.kind == FREE else 0):
                stiffness = model.springs[c.iv + 3 + j].stiffness
                displacement_cotangents(
                    c, j, data.bodies, model.forces.rest[c.iq + j], (early * stiffness, late * stiffness), back
                )


# ------------------------------------------------------------------ dampers


@inline
def velocities_at(states, a, b, Ra, Rb):
    """(wa, va, wb, vb) of two bodies within the step, in world directions by the orientations Ra and Rb."""
    wa, va, wb, vb = ZERO3, ZERO3, ZERO3, ZERO3
    if a >= 0:
        wa, va = matvec(Ra, load3(states[a].w)), load3(states[a].vc)
    if b >= 0:
        wb, vb = matvec(Rb, load3(states[b].w)), load3(states[b].vc)
    return wa, va, wb, vb


@inline
def add_velocity(by_velocity, body, R, t, f, k):
    """Add k (t, f), t in world directions, to the gradient by the velocity of a body."""
    if body >= 0:
        t = mattvec(R, t)
        for i in range(3):
            by_velocity[body, i] += k * t[i]
            by_velocity[body, 3 + i] += k * f[i]


@routine(allocates=False)
def damper_cotangents(c, j, states, when, gain, E, G, by_velocity):
    """VJP of the impulse gain n (n . V) in direction n of a joint, with velocities V, at the START or END of the step.

    At the START the transposed Newton matrix contains the part by the velocities.
    """
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
    motion, V = motions_of(E, c.a, c.b), velocities_at(states, c.a, c.b, Ra, Rb)
    tb, ta, f = ball_gradient(c, j, Ra, xa, Rb, xb)
    worked = gain * rate_with(motion, tb, ta, f)
    add_ball_hessian(c, j, Ra, xa, Rb, xb, motion, G, gain * rate_with(V, tb, ta, f))
    add_ball_hessian(c, j, Ra, xa, Rb, xb, V, G, worked)
    if when == END:
        add_velocity(by_velocity, c.a, Ra, ta, neg3(f), worked)
        add_velocity(by_velocity, c.b, Rb, tb, f, worked)


# -------------------------------------------------------------------------------------------------- armature


@routine(allocates=False)
def drive_cotangents(c, dofs, states, when, dt, E, G, by_velocity):
    """VJP of the momentum of an armature, subtracted from that of the bodies at the START and added at the END."""
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
    motion, V, joint = motions_of(E, c.a, c.b), velocities_at(states, c.a, c.b, Ra, Rb), matmul(Rb, load9(c.Rb))
    a, b = mattvec(joint, scale3(-0.5 * dt, V[0])), mattvec(joint, scale3(0.5 * dt, V[2]))
    sign = 1.0 if when == END else -1.0
    p, z = drive_momentum(dofs, c.iv, a, b, dt, when), ZERO3
    for j in range(3):
        add_ball_hessian(c, j, Ra, xa, Rb, xb, motion, G, sign * dot3(p, unit(j)))
        z = axpy3(2.0 * sign / dt * ball_rate(c, j, Ra, xa, Rb, xb, motion), unit(j), z)
    of_a, of_b = drive_slopes(dofs, c.iv, a, b, z, when)
    if when == END:
        add_velocity(by_velocity, c.a, Ra, matvec(joint, of_a), ZERO3, -0.5 * dt)
        add_velocity(by_velocity, c.b, Rb, matvec(joint, of_b), ZERO3, 0.5 * dt)
    by_turn = cross(of_a, a)
    for j in range(3):
        read_ball(c, j, Ra, xa, Rb, xb, G, dot3(by_turn, unit(j)))


# ------------------------------------------------------------------ springs


@routine(allocates=False)
def turn_cotangents(c, model, data, when, share, E, G0, G1):
    """VJP of the impulse of the spring at the START or END of the step, over the time `share`, with the motion E there.

    With the mean torque t + f r of `ball_springs` and the work z of a unit torque with E, it is that of z . (t + f r).
    Relative rotations of the child at both ends, in its own frame, change t0 and V0, or t1 and V1, and r.

    Args:
        G0, G1: gradients by the poses at the start and at the end, to which is added.
    """
    dofs, states, n, rest = model.springs, data.bodies, c.iv, model.forces.rest
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
    Sa, ya, Sb, yb = poses_at(states, c.a, c.b, END)
    start, end = spring_turn(c, rest, states, START), spring_turn(c, rest, states, END)
    first, last, turn = quat_log(start), quat_log(end), quat_log(quat_mul(quat_conj(start), end))
    stiffness = (dofs[n].stiffness, dofs[n + 1].stiffness, dofs[n + 2].stiffness)
    k0, k1 = coefficients(first), coefficients(last)
    t0, t1 = spring_torque(first, k0, stiffness)[0], spring_torque(last, k1, stiffness)[0]
    torque, factor = mean_torque(dofs, n, first, last, turn)
    motion, z = motions_of(E, c.a, c.b), ZERO3
    for j in range(3):
        if when == END:
            add_ball_hessian(c, j, Sa, ya, Sb, yb, motion, G1, share * dot3(torque, unit(j)))
            z = axpy3(share * ball_rate(c, j, Sa, ya, Sb, yb, motion), unit(j), z)
        else:
            add_ball_hessian(c, j, Ra, xa, Rb, xb, motion, G0, share * dot3(torque, unit(j)))
            z = axpy3(share * ball_rate(c, j, Ra, xa, Rb, xb, motion), unit(j), z)
    by_factor = dot3(z, turn) / (dot3(turn, turn) + LEAST * LEAST)
    by_torque = scale3(0.5, axpy3(-by_factor, turn, z))
    by_turn = axpy3(-by_factor, axpy3(2.0 * factor, turn, scale3(0.5, add3(t0, t1))), scale3(factor, z))
    of_start, of_end = matvec(right_jacobian_inv(turn), by_turn), matvec(left_jacobian_inv(turn), by_turn)
    for j in range(3):
        e = unit(j)
        own = dot3(by_torque, ball_torque_slope(dofs, n, first, k0, e)) - by_factor * dot3(t0, e) - dot3(of_start, e)
        read_ball(c, j, Ra, xa, Rb, xb, G0, own)
        own = dot3(by_torque, ball_torque_slope(dofs, n, last, k1, e)) + by_factor * dot3(t1, e) + dot3(of_end, e)
        read_ball(c, j, Sa, ya, Sb, yb, G1, own)


@routine(allocates=False)
def displacement_cotangents(c, j, states, rest, gains, back):
    """VJP of the impulses along axis j of the frame of a FREE: `gains` times its mean displacement from rest."""
    E0, E1, G0, G1 = back.E0, back.E1, back.G0, back.G1
    n, pa, pb = matvec(load9(c.Ra), unit(j)), load3(c.pa), load3(c.pb)
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
    Sa, ya, Sb, yb = poses_at(states, c.a, c.b, END)
    start, tb, ta, f = along(n, pa, pb, Ra, xa, Rb, xb)
    end, sb, sa, s = along(n, pa, pb, Sa, ya, Sb, yb)
    way, early, late = rest - 0.5 * (start + end), motions_of(E0, c.a, c.b), motions_of(E1, c.a, c.b)
    by_start, by_end = 0.5 * gains[0] * rate_with(early, tb, ta, f), 0.5 * gains[1] * rate_with(late, sb, sa, s)
    add_gradient(G0, c.a, c.b, sb, sa, s, -by_start)
    add_gradient(G0, c.a, c.b, tb, ta, f, -by_start - by_end)
    add_gradient(G1, c.a, c.b, sb, sa, s, -by_end)
    tb, ta, f = along_hessian(n, pb, Ra, xa, Rb, xb, early)
    add_gradient(G0, c.a, c.b, tb, ta, f, gains[0] * way)
    sb, sa, s = along_hessian(n, pb, Sa, ya, Sb, yb, late)
    add_gradient(G1, c.a, c.b, sb, sa, s, gains[1] * way)
