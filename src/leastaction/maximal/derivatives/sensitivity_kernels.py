"""Partial derivatives of the equations of a step, and of what is read off poses, body by body.

A body's pose stands only in the equations of the joints, forces and contacts that touch it. So bodies that share none
of their neighbours (one colour) are displaced at once, and all partial derivatives take a number of evaluations that
does not grow with the number of bodies. They are central differences of fourth order of the compiled residuals, at
fixed unknowns: error about 1e-11 of the largest term. No step is solved again.
"""

import math

import numpy as np

from leastaction._jit import entry, inline, routine
from leastaction.contact import cones as ip
from leastaction.forces.passive import drive_wrench
from leastaction.maximal.contact.detection import (
    BOUNCING,
    OVERLAPPING,
    approach,
    contact_wrenches,
    coordinate_wrenches,
    overlap_left,
)
from leastaction.maximal.coordinates.recover import child_of, freedoms, read_coordinates, read_momenta, screw_of
from leastaction.maximal.records import BALL, FREE
from leastaction.maximal.step.assembly import assemble, ball_axis, start_rows
from leastaction.maximal.step.dampers import end_paths, start_paths
from leastaction.maximal.step.directions import add_cones, look_at_cones, push_cones
from leastaction.maximal.step.impulses import add_impulses, add_rates
from leastaction.maximal.step.rollout import finish_step, load_state, projection_matrix
from leastaction.spatial import (
    cross,
    dot3,
    load3,
    load4,
    load9,
    mattvec,
    quat_mul,
    quat_to_rotation,
    store4,
    store9,
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


@routine
def displace(s, c, d):
    """Displace a body at the start of the step: turn about (0, 1, 2) or shift along (3, 4, 5) an axis by d."""
    if c >= 3:
        s.p[c - 3] += d
        return
    sin = math.sin(0.5 * d)
    turn = (math.cos(0.5 * d), sin if c == 0 else 0.0, sin if c == 1 else 0.0, sin if c == 2 else 0.0)
    quat = quat_mul(load4(s.quat), turn)
    store4(s.quat, quat)
    store9(s.R, quat_to_rotation(quat))


@routine
def load_all(states, Z, P, V):
    """Poses, momenta and velocities within the step (bodies, 6) into the states."""
    load_state(states, Z, P)
    for i in range(states.shape[0]):
        for c in range(3):
            states[i].w[c], states[i].vc[c] = V[i, c], V[i, 3 + c]


@routine
def read_start(model, states, rowstates, cstates, near, q, dt):
    """Coordinates and gradients at the start poses; near: coordinates nearby, which tell full turns."""
    for k in range(cstates.shape[0]):
        cstates[k].value = near[k]
    read_coordinates(model[2], states, cstates, q, dt)
    start_rows(model[1], model[2], model[3], states, rowstates, cstates)


@routine
def renew_cones(cones, count, contacts, coordinates, cstates, states, dt):
    """Unit wrenches of the cones at the start poses, what gaps must exceed, and where limits stand."""
    for k in range(count):
        c = cones[k]
        if c.source >= 0:
            phi = contact_wrenches(c, contacts[c.source], states)
            # Which of these it is was decided when the step was solved: not a matter of the poses tried here.
            if c.side == OVERLAPPING:
                c.rest = overlap_left(phi, c.leave)
            elif c.side == BOUNCING:
                c.rest = phi - contacts[c.source].restitution * dt * approach(c, states)
            continue
        j = -1 - c.source
        coordinate_wrenches(c, cstates[j])
        if c.kind == ip.LIMIT:
            c.bound = coordinates[j].lower if c.side > 0.0 else coordinates[j].upper
            if c.rest < 0.0:
                c.rest = overlap_left(c.side * (cstates[j].value - c.bound), c.leave)


@inline
def bound_change(c, contacts, coordinates, dt):
    """How much the friction bound of the model differs from that which a cone was solved with."""
    if c.kind == ip.LIMIT:
        return 0.0
    if c.kind == ip.DRY:
        return c.side * coordinates[-1 - c.source].friction * dt - c.bound
    return (contacts[c.source].friction - c.mu) * c.gam


@routine
def push_outputs(cones, count, out, at, n):
    """Impulses of the cones on the n bodies, into out[at : at + 6 n]."""
    for i in range(6 * n):
        out[at + i] = 0.0
    for k in range(count):
        c = cones[k]
        normal = 0.0 if c.kind == ip.DRY else c.gam
        for i in range(6):
            if c.a >= 0:
                f = normal * c.da[i] + c.beta[0] * c.da[6 + i] + c.beta[1] * c.da[12 + i]
                out[at + 6 * c.a + i] += f
            if c.b >= 0:
                f = normal * c.db[i] + c.beta[0] * c.db[6 + i] + c.beta[1] * c.db[12 + i]
                out[at + 6 * c.b + i] += f


@routine
def outputs(model, states, rowstates, cstates, graph, work, forces, contact, near, q, u, dt, halves, fresh, out):
    """All equations of the step at the unknowns in states, rowstates and cones; leaves the states at its end.

    Args:
        u: controls at both ends, shape (2, nu).
        fresh: whether to fill in the Newton matrix, with the cones eliminated.
        out: residuals in the order of the graph; three for each cone: the step of its impulses that its own equations
            ask for; then six for each body, twice: momenta at the end of the step, and what the cones push it with.
    """
    bodies, rows, coordinates, dampers = model[0], model[1], model[2], model[6]
    values, fixed, ra, rb = work[0], work[4], work[6], work[7]
    cones, contacts, count = contact
    diagonal, offsets, first = graph[3], graph[4], graph[5]
    start, end, none = np.int64(0), np.int64(1), np.int64(0)
    read_start(model, states, rowstates, cstates, near, q, dt)
    start_paths(dampers, states)
    n = bodies.shape[0]
    for i in range(n):
        for c in range(6):
            states[i].I[c] = 0.0
    add_impulses(bodies, coordinates, states, cstates, forces, q, u[0], halves * dt, start)
    renew_cones(cones, count, contacts, coordinates, cstates, states, dt)
    assemble(model, states, rowstates, cstates, graph, values, fixed, dt, halves, fresh)
    look_at_cones(cones, count, contacts, coordinates, cstates, states, dt)
    push_cones(cones, count, states)
    for i in range(n):
        for c in range(6):
            out[first[i] + c] = states[i].r[c]
    for k in range(rows.shape[0]):
        out[first[n + rows[k].node] + rows[k].local] = rowstates[k].g / dt
    at = fixed.shape[0]
    for k in range(count):
        c = cones[k]
        w0, w1, w2, _, _, _, _ = ip.local_step(c, 0.0, 0.0, 0.0, 0.0, none)
        f0, f1 = ip.friction_slope(c)
        change = bound_change(c, contacts, coordinates, dt)
        out[at], out[at + 1], out[at + 2] = w0, w1 + change * f0, w2 + change * f1
        at += 3
    if fresh:
        add_cones(cones, count, 0.0, diagonal, offsets, values, ra, rb)
    push_outputs(cones, count, out, at + 6 * n, n)
    finish_step(bodies, states, dt, count < 0)
    read_coordinates(coordinates, states, cstates, q, dt)
    start_rows(rows, coordinates, model[3], states, rowstates, cstates)
    add_rates(coordinates, states, cstates, dt, halves)
    end_paths(dampers, states, dt, halves)
    if halves < 1.0:
        add_impulses(bodies, coordinates, states, cstates, forces, q, u[1], (1.0 - halves) * dt, end)
    for i in range(n):
        for c in range(6):
            out[at + 6 * i + c] = states[i].P[c]


@routine
def drive_columns(drives, coordinates, places, states, cstates, scale, touched, columns):
    """Impulse that a unit of each control gives over the time `scale` to the two bodies `touched` (controls, 2)."""
    for k in range(drives.shape[0]):
        d = drives[k]
        touched[k, 0] = touched[k, 1] = -1
        if d.dof < 0:
            if d.node >= 0:
                s = states[d.node]
                t, f = drive_wrench(d, scale, load9(s.R), load3(s.p))
                t = mattvec(load9(s.R), sub3(t, cross(load3(s.p), f)))
                touched[k, 0] = d.node
                for i in range(3):
                    columns[k, 0, i], columns[k, 0, 3 + i] = t[i], f[i]
            continue
        c, s = coordinates[places[d.dof, 0]], cstates[places[d.dof, 0]]
        touched[k, 0], touched[k, 1] = c.a, c.b
        gain = scale * d.gear
        if c.kind == BALL or c.kind == FREE:
            wa, wb = ball_axis(c, places[d.dof, 1], states, False)
            for i in range(6):
                columns[k, 0, i], columns[k, 1, i] = gain * wa[i], gain * wb[i]
        else:
            for i in range(6):
                columns[k, 0, i], columns[k, 1, i] = gain * s.wa[i], gain * s.wb[i]


@entry
def differentiate_step(
    model, states, rowstates, cstates, graph, work, forces, contact, at, u, dt, halves, colours, places, J, out, drives
):
    """`outputs` and their partial derivatives by poses at the start (6) and velocities (6) of each body.

    Args:
        contact: (cones, contacts, number of cones), solved.
        at: (poses, momenta, velocities, near, q) of the solved step; see `read_start`. Velocities of the step before
            are in the states (`x`).
        colours: (bodies by colour, first body of each colour, first entry of each body, entries).
        places: coordinate of each degree of freedom, and its number there, shape (nv, 2).
        J: out, shape (entries, 12): derivative of the output with that number; then the Newton matrix is in work[0].
        drives: out: (touched, columns) of `drive_columns` at the start, then at the end.
    """
    Z, P, V, near, q = at
    members, begins, pointer, index = colours
    bodies = model[0]
    problem = (model, states, rowstates, cstates, graph, work, forces, contact, near, q, u, dt, halves)
    for colour in range(begins.shape[0] - 1):
        for c in range(12):
            for k in range(4):
                offset, weight = stencil(k)
                load_all(states, Z, P, V)
                for m in range(begins[colour], begins[colour + 1]):
                    s, h = states[members[m]], STEP * (bodies[members[m]].radius if c % 6 >= 3 else 1.0)
                    if c < 6:
                        displace(s, c, offset * h)
                    elif c < 9:
                        s.w[c - 6] += offset * h / dt
                    else:
                        s.vc[c - 9] += offset * h / dt
                outputs(*problem, begins.shape[0] < 1, out)
                for m in range(begins[colour], begins[colour + 1]):
                    i = members[m]
                    h = STEP * (bodies[i].radius if c % 6 >= 3 else 1.0)
                    step = h if c < 6 else h / dt
                    for e in range(pointer[i], pointer[i + 1]):
                        J[e, c] += weight / step * out[index[e]]
    load_all(states, Z, P, V)
    read_start(model, states, rowstates, cstates, near, q, dt)
    drive_columns(forces[6], model[2], places, states, cstates, halves * dt, drives[0], drives[1])
    # The graph of another model may have other edges; without colours only the outputs are wanted.
    outputs(*problem, begins.shape[0] > 1, out)
    drive_columns(forces[6], model[2], places, states, cstates, (1.0 - halves) * dt, drives[2], drives[3])


@routine
def pose_outputs(model, states, rowstates, cstates, graph, near, q, dt, T, mu, H, out):
    """Equations of the projection of momenta (`entries.project_momenta`) without them, and joint momenta.

    Args:
        T: twists (bodies, 6) and mu: impulses of the rows, both fixed.
        H: momenta of subtrees about the world's origin, fixed; shape (bodies, 6).
        out: in the order of the graph; then the joint momenta (nv,).
    """
    bodies, rows, coordinates, augment = model[0], model[1], model[2], model[5]
    first = graph[5]
    n = bodies.shape[0]
    read_start(model, states, rowstates, cstates, near, q, dt)
    for i in range(n):
        for c in range(3):
            b = bodies[i]
            out[first[i] + c] = b.J[3 * c] * T[i, 0] + b.J[3 * c + 1] * T[i, 1] + b.J[3 * c + 2] * T[i, 2]
            out[first[i] + 3 + c] = b.mass * T[i, 3 + c]
    last = first[first.shape[0] - 1]
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.armature > 0.0 and c.kind != BALL and c.kind != FREE:
            rate = c.armature * (rate_of(s.wa, T, c.a) + rate_of(s.wb, T, c.b))
            give(out, first, c.a, s.wa, rate)
            give(out, first, c.b, s.wb, rate)
        if c.iv >= 0:
            child = child_of(c)
            for j in range(freedoms(c)):
                t, f = screw_of(c, j, states)
                value = dot3(t, (H[child, 0], H[child, 1], H[child, 2]))
                out[last + c.iv + j] = value + dot3(f, (H[child, 3], H[child, 4], H[child, 5]))
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        a2 = coordinates[row.leader].a if row.ea2 >= 0 else -1
        b2 = coordinates[row.leader].b if row.eb2 >= 0 else -1
        rate = rate_of(s.wa, T, row.a) + rate_of(s.wb, T, row.b) + rate_of(s.wa2, T, a2) + rate_of(s.wb2, T, b2)
        out[first[n + row.node] + row.local] = rate
        give(out, first, row.a, s.wa, -mu[k])
        give(out, first, row.b, s.wb, augment[row.node] * rate - mu[k])
        give(out, first, a2, s.wa2, -mu[k])
        give(out, first, b2, s.wb2, -mu[k])


@inline
def rate_of(w, T, body):
    """w . T of a body, zero for the world."""
    rate = 0.0
    if body >= 0:
        for c in range(6):
            rate += w[c] * T[body, c]
    return rate


@inline
def give(out, first, body, w, k):
    """Add k w to the equations of a body."""
    if body >= 0:
        for c in range(6):
            out[first[body] + c] += k * w[c]


@entry
def differentiate_pose(model, states, rowstates, cstates, graph, values, at, dt, T, mu, H, colours, J, out, read):
    """`pose_outputs` and their partial derivatives by the poses (6) of each body.

    Args:
        at: (poses, momenta, near, q); q is read off the poses.
        values: out: matrix of the projection.
        J: out, shape (entries, 6).
        read: out: (p, twists of the joints (nv, 6), gradients of the coordinates by both their bodies (nv, 12)).
    """
    Z, P, near, q = at
    members, begins, pointer, index = colours
    bodies, coordinates = model[0], model[2]
    for colour in range(begins.shape[0] - 1):
        for c in range(6):
            for k in range(4):
                offset, weight = stencil(k)
                load_state(states, Z, P)
                for m in range(begins[colour], begins[colour + 1]):
                    displace(states[members[m]], c, offset * STEP * (bodies[members[m]].radius if c >= 3 else 1.0))
                pose_outputs(model, states, rowstates, cstates, graph, near, q, dt, T, mu, H, out)
                for m in range(begins[colour], begins[colour + 1]):
                    i = members[m]
                    step = STEP * (bodies[i].radius if c >= 3 else 1.0)
                    for e in range(pointer[i], pointer[i + 1]):
                        J[e, c] += weight / step * out[index[e]]
    load_state(states, Z, P)
    pose_outputs(model, states, rowstates, cstates, graph, near, q, dt, T, mu, H, out)
    projection_matrix(model, rowstates, cstates, graph, values)
    p, screws, gradients, scratch = read
    read_momenta(bodies, coordinates, states, scratch, p)
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.iv < 0:
            continue
        for j in range(freedoms(c)):
            t, f = screw_of(c, j, states)
            for i in range(3):
                screws[c.iv + j, i], screws[c.iv + j, 3 + i] = t[i], f[i]
            if c.kind == BALL or c.kind == FREE:
                wa, wb = ball_axis(c, j, states, False)
                for i in range(6):
                    gradients[c.iv + j, i], gradients[c.iv + j, 6 + i] = wa[i], wb[i]
            else:
                for i in range(6):
                    gradients[c.iv, i], gradients[c.iv, 6 + i] = cstates[k].wa[i], cstates[k].wb[i]
