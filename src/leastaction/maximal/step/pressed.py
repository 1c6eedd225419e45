"""Momenta between two steps while forces press on contacts, limits or dry friction.

There P = M v- + F-, with the velocities v- within the step before and the impulse F- that forces give at its end.
Contacts bear it together with F+, that of the start of the step after: N f = M v+ - M v- - F- - F+. With half of that,

    P + N f / 2 = M (v- + v+) / 2 + (F- - F+) / 2

is the momentum of the mean velocity where both impulses are the same. Where they are not, as those of servos whose
targets move, of springs that swing fast for the step or of steps that differ in length, half of the difference would be
motion, also in directions that do not move. What holds these is internal, so velocities along them are those of the
bodies within the two steps, and p is what it was in all others:

    p = P + N (f / 2 + a)    with    N' M^-1 p = N' (v- + v+) / 2

Before an impact p has nothing of its impulses, but what was closed in the whole step before holds F-, with v- in place
of the mean; what has just closed at its end, and stops in the step after, still moves with all of P. N are the
directions in which contacts hold in the step after: all three where they stick, the normal where they slide.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.gap import gap
from leastaction.linalg.graph.kernels import factorize, solve
from leastaction.maximal.contact.behaviour import across, is_open, lightness, slides
from leastaction.maximal.contact.detection import contact_wrenches, turn_wrenches
from leastaction.maximal.contact.limits import coordinate_wrenches
from leastaction.maximal.records import BALL
from leastaction.maximal.step.ball_springs import ball_axis
from leastaction.maximal.step.block_parts import add_pair
from leastaction.maximal.step.bodies import momenta, start_pose
from leastaction.maximal.step.goals import goal_rate, split_work
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.maximal.step.judgement import IMPACT
from leastaction.maximal.step.projection import projection_matrix
from leastaction.maximal.step.redundant import leave_out_rows
from leastaction.spatial import EYE, ZERO3, axpy3, dot3, load3, load9, matmul, quat_to_rotation, scale3

SMALL, SLIGHT = 0.3, 1e-7
"""Speed of all bodies together that forces may leave in directions that do not move, relative to what gravity adds in a
step; and its kinetic energy, relative to that of the motion. Less is not looked at: motors and dampers of robots that
walk, whose steps then go back in compiled code."""

CLOSED = 1e-3
"""Gap of what counts as closed at the start of a step, relative to how far gravity moves things in it."""

STIFF = 1e7
"""Impulse that a cone gives per velocity, relative to the mass that it moves: what is left of velocities in
directions that do not move is one part in this, and round-off is as small."""


@routine(allocates=False)
def presses(model, settings, data, contact, share, dt):
    """Whether forces press on the cones of a solved step so that their share of the impulses does not tell momenta.

    Fills data.dV with half of the difference between what forces give at both sides of the start, or at an impact with
    what they give before it, gravity apart.

    Args:
        share: of the cones' impulses in the momenta, see `judgement.share_of_cones`.
    """
    bodies, states, off, before = model.bodies, data.bodies, data.dV, data.clock[1]
    if contact.now[0].count == 0 or settings.halves == 1.0 or settings.smoothing > 0.0:
        return False  # smoothed contacts push at a distance, and give way
    mean = 0.5 if share > 0.0 else 0.0
    for i in range(bodies.shape[0]):
        s, J, m = states[i], load9(bodies[i].J), bodies[i].mass
        _, last = momenta(J, (s.x[0], s.x[1], s.x[2]), before)
        next_, _ = momenta(J, load3(s.w), dt)
        for c in range(3):
            off[i, c] = s.P[c] - (1.0 - mean) * last[c] - mean * next_[c]
            off[i, 3 + c] = s.P[3 + c] - m * ((1.0 - mean) * s.x[3 + c] + mean * s.vc[c])
            off[i, 3 + c] -= (0.5 - mean) * before * m * model.gravity[c]
    for k in range(model.rows.shape[0]):
        row, s = model.rows[k], data.rows[k]
        impulse = mean * s.lam - (1.0 - mean) * s.mu
        give(off, row.a, s.wa, impulse)
        give(off, row.b, s.wb, impulse)
        if is_coupling(row):
            leader = model.coordinates[row.leader]
            give(off, leader.a, s.wa2, impulse)
            give(off, leader.b, s.wb2, impulse)
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if c.kind == BALL and c.armature > 0.0:
            for j in range(3):
                wa, wb = ball_axis(c, j, states)
                rate = split_work(states, wa, c.a, 1.0 - mean, mean) + split_work(states, wb, c.b, 1.0 - mean, mean)
                give(off, c.a, wa, -model.forces.dofs[c.iv + j].armature * rate)
                give(off, c.b, wb, -model.forces.dofs[c.iv + j].armature * rate)
        elif c.armature > 0.0:
            rate = split_work(states, s.wa, c.a, 1.0 - mean, mean) + split_work(states, s.wb, c.b, 1.0 - mean, mean)
            give(off, c.a, s.wa, -c.armature * rate)
            give(off, c.b, s.wb, -c.armature * rate)
    if mean > 0.0:
        add_cones_impulses(contact, off, share)
    return is_fast(bodies, states, settings, contact, off, data.dF)


@routine(allocates=False)
def is_fast(bodies, states, settings, contact, off, marks):
    """Whether impulses `off` (bodies, 6) would make the bodies move with more than `SMALL` and `SLIGHT`.

    Of those that hang together with what cones hold: an arm that moves beside things at rest presses on nothing.

    Args:
        marks: scratch, shape (bodies, 6).
    """
    speed = mass = moving = 0.0
    mark_groups(bodies, contact, marks)
    for i in range(bodies.shape[0]):
        s, m, r = states[i], bodies[i].mass, bodies[i].radius
        if m > 0.0 and marks[bodies[i].group, 0] > 0.0:
            mass += m
            for c in range(3):
                speed += off[i, 3 + c] ** 2 / m + (off[i, c] ** 2 / (m * r * r) if r > 0.0 else 0.0)
                moving += m * (s.vc[c] ** 2 + (r * s.w[c]) ** 2)
    return speed > max(mass * (SMALL * settings.gravity * settings.dt) ** 2, SLIGHT * moving)


@routine(allocates=False)
def mark_groups(bodies, contact, marks):
    """marks[:, 0] <- 1 at groups of bodies one of which has a cone that is not open, else 0."""
    for i in range(bodies.shape[0]):
        marks[i, 0] = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if not is_open(bodies, c):
            for body in (c.a, c.b):
                if body >= 0:
                    marks[bodies[body].group, 0] = 1.0


@inline
def give(out, body, w, k):
    """Add k w to a row of `out`, unless it is the world's."""
    if body >= 0:
        for c in range(6):
            out[body, c] += k * w[c]


@routine(allocates=False)
def add_cones_impulses(contact, out, share):
    """Add a share of the cones' impulses to `out`, shape (bodies, 6)."""
    for k in range(contact.now[0].count):
        add_cone_impulses(contact.cones[k], out, share)


@inline
def add_cone_impulses(c, out, share):
    """`add_cones_impulses` of one cone."""
    normal = 0.0 if c.kind >= ip.DRY else c.gam
    for i in range(6):
        if c.a >= 0:
            out[c.a, i] += share * (normal * c.da[i] + c.beta[0] * c.da[6 + i] + c.beta[1] * c.da[12 + i])
        if c.b >= 0:
            out[c.b, i] += share * (normal * c.db[i] + c.beta[0] * c.db[6 + i] + c.beta[1] * c.db[12 + i])


@routine(allocates=False)
def make_stiff(bodies, settings, data, contact, closed, dt):
    """Give the cones of a solved step W = `STIFF` in the directions in which they hold; with `closed` those that were
    closed before alone.

    What slides holds along its normal alone: the direction of its friction turns with the motion, and derivatives of it
    would need more than the step tells. W as the step left it would not do: how stiff the interior point method makes
    what opens in the step, or slides slowly, has nothing to do with the motion.
    """
    contact.now[0].kept = 0.0  # W and the factors no longer belong to the step
    load = contact.now[0].load
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        light, turn = lightness(bodies, c, 0), across(bodies, c)
        holds = not is_open(bodies, c) and not (closed and not was_closed(settings, data, contact, c, dt))
        sticks = holds and not slides(bodies, c)
        for i in range(9):
            c.W[i] = 0.0
        if holds and c.kind < ip.DRY and light > 0.0:
            c.W[0] = STIFF * load / light
        if sticks and turn > 0.0:
            c.W[4] = c.W[8] = STIFF * load / turn


@routine(allocates=False)
def was_closed(settings, data, contact, c, dt):
    """Whether a cone was closed in the step before; dry friction always is.

    What hits takes two steps: one that ends where it closes, and one that stops it. So it is to be closed at the start
    of this step, and at that of the step before no farther away than what comes too slowly for an impact.
    """
    if c.kind == ip.DRY:
        return True
    states, before = data.bodies, data.clock[1]
    if c.source < 0:
        room = c.side * (data.coordinates[-1 - c.source].value - c.bound)
        rate, _, _ = rates(states, c, 1.0, 0.0)
        far = (IMPACT * (before / dt) ** 2 + CLOSED) * c.leave
        return room < CLOSED * c.leave and room - before * rate < far
    slight = CLOSED * settings.gravity * dt * dt
    phi, _, _ = gap(contact.contacts[c.source], start_pose(states, c.a), start_pose(states, c.b))
    if phi >= slight:
        return False
    phi, _, _ = gap(contact.contacts[c.source], pose_before(states, c.a, before), pose_before(states, c.b, before))
    return phi < IMPACT * settings.gravity * before * before + slight


@inline
def pose_before(states, i, dt):
    """(R, p) at the start of the step before, which took dt; the world for i = -1."""
    if i < 0:
        return EYE, ZERO3
    x = states[i].x
    u = scale3(-0.5 * dt, (x[0], x[1], x[2]))
    turn = quat_to_rotation((math.sqrt(max(1.0 - dot3(u, u), 0.0)), u[0], u[1], u[2]))
    return matmul(load9(states[i].R), turn), axpy3(-dt, (x[3], x[4], x[5]), load3(states[i].p))


@inline
def rates(states, c, own, other):
    """Velocities of a cone along its normal and tangents: `own` times those of the step before, `other` of this one."""
    r0 = r1 = r2 = 0.0
    for body, d in ((c.a, c.da), (c.b, c.db)):
        if body >= 0:
            s = states[body]
            for i in range(6):
                v = own * s.x[i] + other * (s.w[i] if i < 3 else s.vc[i - 3])
                r0, r1, r2 = r0 + d[i] * v, r1 + d[6 + i] * v, r2 + d[12 + i] * v
    return r0, r1, r2


@routine(allocates=False)
def hold_pressed(model, settings, data, contact, mean):
    """Bring the momenta in data.T to the velocities that the cones, and joints, allow; see the top of the file.

    Args:
        contact: with W as `make_stiff` leaves it.
        mean: 0.5 for the mean of the velocities before and within the step, 0 for those before.
    """
    states, first, dx, fixed, held = data.bodies, model.graph.first, data.dx, data.fixed, data.T
    n = model.bodies.shape[0]
    projection_matrix(model, data, data.factors.values)
    for i in range(fixed.shape[0]):
        fixed[i] = 0.0
    for k in range(model.rows.shape[0]):
        row = model.rows[k]
        if row.goal >= 0:
            fixed[first[n + row.node] + row.local] = goal_rate(row, data.rows[k], data.goals[0])
    leave_out_rows(model, data, settings.loops)
    for i in range(fixed.shape[0]):
        dx[i] = fixed[i]
    for i in range(n):
        for c in range(6):
            dx[first[i] + c] = held[i, c]
    for k in range(contact.now[0].count):
        hold_cone(model, data, contact.cones[k], mean)
    singular, _ = factorize(model.graph, data.factors, 0.0)
    if singular >= 0:
        return
    solve(model.graph, data.factors, dx)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        r0, r1, r2 = rates(states, c, 1.0 - mean, mean)
        for body, d in ((c.a, c.da), (c.b, c.db)):
            if body >= 0:
                for i in range(6):
                    v = dx[first[body] + i]
                    r0, r1, r2 = r0 - d[i] * v, r1 - d[6 + i] * v, r2 - d[12 + i] * v
        for i in range(1 if c.kind >= ip.DRY else 0, 3):
            f = c.W[3 * i] * r0 + c.W[3 * i + 1] * r1 + c.W[3 * i + 2] * r2
            give(held, c.a, c.da[6 * i : 6 * i + 6], f)
            give(held, c.b, c.db[6 * i : 6 * i + 6], f)
    hold_rows(model, data, settings.loops)


@routine(allocates=False)
def hold_cone(model, data, c, mean):
    """Blocks D' W D of a cone, and what it pushes with until it moves as it should."""
    ra, rb, first = data.motion_a, data.motion_b, model.graph.first
    r0, r1, r2 = rates(data.bodies, c, 1.0 - mean, mean)
    for i in range(1 if c.kind >= ip.DRY else 0, 3):
        w0, w1, w2 = c.W[3 * i], c.W[3 * i + 1], c.W[3 * i + 2]
        if w0 == 0.0 and w1 == 0.0 and w2 == 0.0:
            continue
        f = w0 * r0 + w1 * r1 + w2 * r2
        da, db = c.da[6 * i : 6 * i + 6], c.db[6 * i : 6 * i + 6]
        for m in range(6):
            ra[m] = w0 * c.da[m] + w1 * c.da[6 + m] + w2 * c.da[12 + m]
            rb[m] = w0 * c.db[m] + w1 * c.db[6 + m] + w2 * c.db[12 + m]
            if c.a >= 0:
                data.dx[first[c.a] + m] += f * da[m]
            if c.b >= 0:
                data.dx[first[c.b] + m] += f * db[m]
        add_pair(model.graph, data.factors.values, c, da, db, ra, rb, 1.0)


@routine(allocates=False)
def hold_rows(model, data, loops):
    """Add the impulses of the joints' rows in dx to the momenta in data.T: those of trees drop out of joint momenta."""
    if loops is None:
        return
    for k in range(model.rows.shape[0]):
        row, s = model.rows[k], data.rows[k]
        at, leader = model.graph.first[model.bodies.shape[0] + row.node] + row.local, model.coordinates[row.leader]
        mu = data.dx[at]
        if row.ea >= 0:
            give(data.T, row.a, s.wa, mu)
        if row.eb >= 0:
            give(data.T, row.b, s.wb, mu)
        if row.ea2 >= 0:
            give(data.T, leader.a, s.wa2, mu)
        if row.eb2 >= 0:
            give(data.T, leader.b, s.wb2, mu)


@routine(allocates=False)
def presses_at_end(model, settings, data, contact, dt):
    """`presses` at the end of a step, of which `data` holds the poses and momenta there: what forces but gravity give.

    What contacts push with next only the next step knows, so those that bear a load now are taken to hold all of it.
    """
    bodies, states, off = model.bodies, data.bodies, data.dV
    if settings.smoothing > 0.0:
        return False
    for i in range(bodies.shape[0]):
        s, m = states[i], bodies[i].mass
        _, last = momenta(load9(bodies[i].J), load3(s.w), dt)
        for c in range(3):
            off[i, c] = s.P[c] - last[c]
            off[i, 3 + c] = s.P[3 + c] - m * (s.vc[c] + 0.5 * dt * model.gravity[c])
    for k in range(model.rows.shape[0]):
        row, s = model.rows[k], data.rows[k]
        give(off, row.a, s.wa, -s.mu)
        give(off, row.b, s.wb, -s.mu)
    return is_fast(bodies, states, settings, contact, off, data.dF)


@routine(allocates=False)
def renew_wrenches(data, contact):
    """Unit wrenches of the cones at the poses in `data`."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source < 0:
            coordinate_wrenches(c, data.coordinates[-1 - c.source])
            continue
        contact_wrenches(c, contact.contacts[c.source], data.bodies)
        if c.kind == ip.TURN:
            turn_wrenches(c, data.bodies)
