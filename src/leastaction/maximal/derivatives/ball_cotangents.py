"""Reverse mode of springs, dampers and drive inertias of ball and free joints.

Dampers act with the velocities of the step in the directions of its ends (`assembly.ball_dampers`). Stiff springs turn
with the mean rate of the joint, and pull along the axes of its frame as slides do (`step.ball_springs`). Drives have
momentum (`step.ball_drives`).
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.joint_springs import ball_torque_slope, has_ball_spring
from leastaction.maximal.coordinates.recover import freedoms
from leastaction.maximal.derivatives.bending import (
    add_gradient,
    ball_gradient,
    ball_rate,
    bend_ball,
    bent_along,
    motions_of,
    poses_at,
    rate_with,
    read_ball,
)
from leastaction.maximal.records import BALL, FREE
from leastaction.maximal.step.ball_drives import drive_momentum, drive_slopes, unit
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.joint_rows import along
from leastaction.spatial import (
    ZERO3,
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
    quat_conj,
    quat_log,
    quat_mul,
    quat_to_rotation,
    scale3,
)
from leastaction.spatial.exponential import coefficients


@routine(allocates=False)
def ball_rate_cotangents(balls, model, settings, data, back, dt):
    """As `cotangents.rate_cotangents`, of BALL and FREE coordinates, with E0, E1, G0 and G1 of `BackData`.

    Adds to `back.by_velocity` the gradient by the velocities of the bodies of what is left at the end.

    Args:
        balls: None where no such joint has a spring, a damper or drive inertia.
    """
    if balls is None:
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
        if c.servo > 0.0:
            gain = 0.5 * dt * dt
            turn_cotangents(c, dofs, states, START, -halves * gain, dt, E0, G0, by_velocity)
            turn_cotangents(c, dofs, states, END, (1.0 - halves) * gain, dt, E1, G1, by_velocity)
            for j in range(3 if c.kind == FREE else 0):
                gain = 0.5 * dt * dt * dofs[c.iv + 3 + j].stiffness
                way_cotangents(c, j, states, (-halves * gain, (1.0 - halves) * gain), dt, back)


@routine(allocates=False)
def ball_spring_cotangents(balls, c, forces, q, ends, motion, G, scale):
    """Add to G scale times the gradient of what the springs of a BALL or FREE work with a motion, by their forces.

    Its forces follow the joint's position (`joint_springs.turning_springs`), which turns and ways along the axes of
    its child change.

    Args:
        balls: None where no such joint has a spring or a damper: then nothing of this is compiled.
        q: joint positions, shape (nq,).
        ends: poses (Ra, xa, Rb, xb) of its bodies.
    """
    if balls is None:
        return
    dofs, rest, n = forces.dofs, forces.rest, c.iv
    Ra, xa, Rb, xb = ends
    i = c.iq + (3 if c.kind == FREE else 0)
    turn = (q[i], q[i + 1], q[i + 2], q[i + 3])
    if has_ball_spring(dofs, n):
        y = ZERO3
        for j in range(3):
            y = axpy3(ball_rate(c, j, Ra, xa, Rb, xb, motion), unit(j), y)
        phi = quat_log(quat_mul(quat_conj((rest[i], rest[i + 1], rest[i + 2], rest[i + 3])), turn))
        k = coefficients(phi)
        for j in range(3):
            read_ball(c, j, Ra, xa, Rb, xb, G, scale * dot3(y, ball_torque_slope(dofs, n, phi, k, unit(j))))
    if c.kind != FREE:
        return
    stiff = (dofs[n + 3].stiffness, dofs[n + 4].stiffness, dofs[n + 5].stiffness)
    if stiff[0] == 0.0 and stiff[1] == 0.0 and stiff[2] == 0.0:
        return
    # The force -R' K d in the child's directions, with R from there to the joint's frame and the way d in that.
    i, R = c.iq, quat_to_rotation(turn)
    y = ZERO3
    for j in range(3):
        y = axpy3(ball_rate(c, 3 + j, Ra, xa, Rb, xb, motion), unit(j), y)
    ways, z = (q[i] - rest[i], q[i + 1] - rest[i + 1], q[i + 2] - rest[i + 2]), matvec(R, y)
    f = mattvec(R, (stiff[0] * ways[0], stiff[1] * ways[1], stiff[2] * ways[2]))
    by_turn, by_way = cross(f, y), mattvec(R, (stiff[0] * z[0], stiff[1] * z[1], stiff[2] * z[2]))
    for j in range(3):
        read_ball(c, j, Ra, xa, Rb, xb, G, scale * dot3(by_turn, unit(j)))
        read_ball(c, 3 + j, Ra, xa, Rb, xb, G, -scale * dot3(by_way, unit(j)))


# ------------------------------------------------------------------ dampers


@inline
def velocities_at(states, a, b, Ra, Rb):
    """(wa, va, wb, vb) of two bodies within the step, turned as they are at one of its ends."""
    wa, va, wb, vb = ZERO3, ZERO3, ZERO3, ZERO3
    if a >= 0:
        wa, va = matvec(Ra, load3(states[a].w)), load3(states[a].vc)
    if b >= 0:
        wb, vb = matvec(Rb, load3(states[b].w)), load3(states[b].vc)
    return wa, va, wb, vb


@inline
def add_velocity(by_velocity, body, R, t, f, k):
    """Add k (t, f), t in the world, to the gradient by the velocity of a body."""
    if body >= 0:
        t = mattvec(R, t)
        for i in range(3):
            by_velocity[body, i] += k * t[i]
            by_velocity[body, 3 + i] += k * f[i]


@routine(allocates=False)
def damper_cotangents(c, j, states, when, gain, E, G, by_velocity):
    """Of the impulse gain n (n . V) in direction n of a joint, with the velocities V, at the START or END of the step.

    At the start the Newton matrix knows the velocities.
    """
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
    motion, V = motions_of(E, c.a, c.b), velocities_at(states, c.a, c.b, Ra, Rb)
    tb, ta, f = ball_gradient(c, j, Ra, xa, Rb, xb)
    worked = gain * rate_with(motion, tb, ta, f)
    bend_ball(c, j, Ra, xa, Rb, xb, motion, G, gain * rate_with(V, tb, ta, f))
    bend_ball(c, j, Ra, xa, Rb, xb, V, G, worked)
    if when == END:
        add_velocity(by_velocity, c.a, Ra, ta, neg3(f), worked)
        add_velocity(by_velocity, c.b, Rb, tb, f, worked)


# ------------------------------------------------------------------ drive inertias


@routine(allocates=False)
def drive_cotangents(c, dofs, states, when, dt, E, G, by_velocity):
    """Of the momentum of a drive, which the bodies lack at the START and have at the END of the step."""
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
    motion, V, joint = motions_of(E, c.a, c.b), velocities_at(states, c.a, c.b, Ra, Rb), matmul(Rb, load9(c.Rb))
    a, b = mattvec(joint, scale3(-0.5 * dt, V[0])), mattvec(joint, scale3(0.5 * dt, V[2]))
    sign = 1.0 if when == END else -1.0
    p, z = drive_momentum(dofs, c.iv, a, b, dt, when), ZERO3
    for j in range(3):
        bend_ball(c, j, Ra, xa, Rb, xb, motion, G, sign * dot3(p, unit(j)))
        z = axpy3(2.0 * sign / dt * ball_rate(c, j, Ra, xa, Rb, xb, motion), unit(j), z)
    of_a, of_b = drive_slopes(dofs, c.iv, a, b, z, when)
    if when == END:
        add_velocity(by_velocity, c.a, Ra, matvec(joint, of_a), ZERO3, -0.5 * dt)
        add_velocity(by_velocity, c.b, Rb, matvec(joint, of_b), ZERO3, 0.5 * dt)
    by_turn = cross(of_a, a)
    for j in range(3):
        read_ball(c, j, Ra, xa, Rb, xb, G, dot3(by_turn, unit(j)))


# ------------------------------------------------------------------ springs that are stiff for the step


@inline
def _scalar(v):
    return math.sqrt(max(1.0 - dot3(v, v), 1e-12))


@inline
def log_slopes(x, y, e):
    """Gradients by x and y of e . log(X Y), X and Y the unit quaternions with these vector parts."""
    cx, cy = _scalar(x), _scalar(y)
    d = add3(add3(scale3(cx, y), scale3(cy, x)), cross(x, y))
    scalar, sine = cx * cy - dot3(x, y), math.sqrt(dot3(d, d))
    n = scale3(2.0 / scalar, e)
    if sine > 1e-8:
        across = 2.0 * math.atan2(sine, scalar) / sine
        n = axpy3((2.0 / scalar - across) * dot3(d, e) / (sine * sine), d, scale3(across, e))
    of_x = add3(axpy3(-dot3(y, n) / cx, x, scale3(cy, n)), cross(y, n))
    of_y = add3(axpy3(-dot3(x, n) / cy, y, scale3(cx, n)), cross(n, x))
    return of_x, of_y


@routine(allocates=False)
def turn_cotangents(c, dofs, states, when, gain, dt, E, G, by_velocity):
    """Of the impulses gain K r about the axes of the child, with the mean rate r, at the START or END of the step.

    r is the logarithm of A* B, or at the end of B A*, over dt; A* turns with the other body as seen by the child.
    """
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, when)
    motion, V, joint = motions_of(E, c.a, c.b), velocities_at(states, c.a, c.b, Ra, Rb), matmul(Rb, load9(c.Rb))
    a, b = mattvec(joint, scale3(-0.5 * dt, V[0])), mattvec(joint, scale3(0.5 * dt, V[2]))
    A, B = (_scalar(a), a[0], a[1], a[2]), (_scalar(b), b[0], b[1], b[2])
    rate = scale3(1.0 / dt, quat_log(quat_mul(B, A) if when == END else quat_mul(A, B)))
    z = ZERO3
    for j in range(3):
        stiffness = gain * dofs[c.iv + j].stiffness
        bend_ball(c, j, Ra, xa, Rb, xb, motion, G, stiffness * dot3(rate, unit(j)))
        z = axpy3(stiffness * ball_rate(c, j, Ra, xa, Rb, xb, motion) / dt, unit(j), z)
    of_a, of_b = log_slopes(a, b, z)
    if when == END:
        of_b, of_a = log_slopes(b, a, z)
        add_velocity(by_velocity, c.a, Ra, matvec(joint, of_a), ZERO3, -0.5 * dt)
        add_velocity(by_velocity, c.b, Rb, matvec(joint, of_b), ZERO3, 0.5 * dt)
    by_turn = cross(of_a, a)
    for j in range(3):
        read_ball(c, j, Ra, xa, Rb, xb, G, dot3(by_turn, unit(j)))


@routine(allocates=False)
def way_cotangents(c, j, states, gains, dt, back):
    """Of the impulses along axis j of the frame of a FREE: `gains` times the mean rate of its way, at start and end."""
    E0, E1, G0, G1 = back.E0, back.E1, back.G0, back.G1
    first, last = gains
    n, pa, pb = matvec(load9(c.Ra), unit(j)), load3(c.pa), load3(c.pb)
    Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
    Sa, ya, Sb, yb = poses_at(states, c.a, c.b, END)
    start, tb, ta, f = along(n, pa, pb, Ra, xa, Rb, xb)
    end, sb, sa, s = along(n, pa, pb, Sa, ya, Sb, yb)
    rate, early, late = (end - start) / dt, motions_of(E0, c.a, c.b), motions_of(E1, c.a, c.b)
    by_start, by_end = first * rate_with(early, tb, ta, f) / dt, last * rate_with(late, sb, sa, s) / dt
    add_gradient(G0, c.a, c.b, sb, sa, s, by_start)
    add_gradient(G0, c.a, c.b, tb, ta, f, -by_start - by_end)
    add_gradient(G1, c.a, c.b, sb, sa, s, by_end)
    tb, ta, f = bent_along(n, pb, Ra, xa, Rb, xb, early)
    add_gradient(G0, c.a, c.b, tb, ta, f, first * rate)
    sb, sa, s = bent_along(n, pb, Sa, ya, Sb, yb, late)
    add_gradient(G1, c.a, c.b, sb, sa, s, last * rate)
