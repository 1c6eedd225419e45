"""Partial derivatives of the equations of a step, and of what is read off poses, body by body.

A body's pose stands only in the equations of the joints, forces and contacts that touch it. So bodies that share none
of their neighbours (one colour) are displaced at once, and all partial derivatives take a number of evaluations that
does not grow with the number of bodies. They are central differences of fourth order of the compiled residuals, at
fixed unknowns: error about 1e-11 of the largest term. No step is solved again.
"""

import math

from leastaction._jit import entry, inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.overlaps import overlap_left
from leastaction.forces import tendons, total
from leastaction.forces.drives import drive_wrench
from leastaction.maximal.arrays import ContactData, MaximalSettings, named_data, named_model
from leastaction.maximal.contact.detection import (
    OVERLAPPING,
    contact_wrenches,
    turn_wrenches,
)
from leastaction.maximal.contact.limits import coordinate_wrenches
from leastaction.maximal.coordinates.recover import child_of, freedoms, read_coordinates, read_momenta, screw_of
from leastaction.maximal.derivatives.arrays import Colours, PoseInputs, PoseOutputs, SolvedStep, StepOutputs
from leastaction.maximal.derivatives.pose_parts import give, give_drive, rate_of
from leastaction.maximal.derivatives.rigid_response import (
    add_response,
    find_response,
    friction_direction,
    response_step,
)
from leastaction.maximal.records import BALL, FREE
from leastaction.maximal.step.assembly import assemble, start_rows
from leastaction.maximal.step.ball_springs import ball_axis
from leastaction.maximal.step.bodies import END, START, move
from leastaction.maximal.step.body_states import finish_step, load_state
from leastaction.maximal.step.cone_masses import give_compliance
from leastaction.maximal.step.directions import push_cones
from leastaction.maximal.step.goals import goal_rate
from leastaction.maximal.step.impulses import add_impulses, add_rates
from leastaction.maximal.step.joint_springs import end_joint_springs
from leastaction.maximal.step.middle_lengths import end_lengths, start_lengths
from leastaction.maximal.step.path_springs import end_paths, start_paths
from leastaction.maximal.step.resistance import end_resistance, shares
from leastaction.maximal.step.velocity_equations import velocity_matrix
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


@routine(allocates=False)
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


@routine(allocates=False)
def load_all(data, at):
    """Poses, momenta and velocities within a `SolvedStep` into the states of the bodies."""
    load_state(data.bodies, at.poses, at.momenta)
    for i in range(data.bodies.shape[0]):
        s = data.bodies[i]
        for c in range(3):
            s.w[c], s.vc[c] = at.velocities[i, c], at.velocities[i, 3 + c]


@routine(allocates=False)
def read_start(model, data, near, q, dt):
    """Coordinates and gradients at the start poses; near: coordinates nearby, which tell full turns."""
    for k in range(data.coordinates.shape[0]):
        data.coordinates[k].value = near[k]
    read_coordinates(model.coordinates, data.bodies, data.coordinates, q, dt)
    start_rows(model, data)


@routine(allocates=False)
def renew_cones(model, settings, data, contact, dt):
    """Unit wrenches of the cones at the start poses, what gaps must exceed, and where limits stand."""
    contacts, coordinates, cstates, states = contact.contacts, model.coordinates, data.coordinates, data.bodies
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source >= 0:
            phi = contact_wrenches(c, contacts[c.source], states)
            if c.kind == ip.TURN:
                turn_wrenches(c, states)
            give_compliance(settings, c, dt)
            # Which of these it is was decided when the step was solved: not a matter of the poses tried here.
            if c.side == OVERLAPPING:
                c.rest = overlap_left(phi, c.leave)
            continue
        j = -1 - c.source
        coordinate_wrenches(c, cstates[j])
        give_compliance(settings, c, dt)
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
    touching = contacts[c.source]
    if c.kind == ip.TURN:
        return ((touching.spin if c.directions == ip.SPIN else touching.roll) - c.mu) * c.gam
    return (touching.friction - c.mu) * c.gam


@routine(allocates=False)
def push_outputs(contact, out, at, n):
    """Impulses of the cones on the n bodies, into out[at : at + 6 n]."""
    for i in range(6 * n):
        out[at + i] = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        normal = 0.0 if c.kind >= ip.DRY else c.gam
        for i in range(6):
            if c.a >= 0:
                f = normal * c.da[i] + c.beta[0] * c.da[6 + i] + c.beta[1] * c.da[12 + i]
                out[at + 6 * c.a + i] += f
            if c.b >= 0:
                f = normal * c.db[i] + c.beta[0] * c.db[6 + i] + c.beta[1] * c.db[12 + i]
                out[at + 6 * c.b + i] += f


@routine(allocates=False)
def outputs(model, settings, data, contact, at, fresh, out):
    """All equations of a `SolvedStep` at the unknowns in `data` and the cones; leaves the bodies at its end.

    Args:
        fresh: whether to fill in the Newton matrix, with the cones eliminated.
        out: residuals in the order of the graph; three for each cone: the step of its impulses that its own equations
            ask for; then six for each body, twice: momenta at the end of the step, and what the cones push it with.
    """
    rows, first, count, dt = model.rows, model.graph.first, contact.now[0].count, settings.dt
    read_start(model, data, at.near, at.q, dt)
    start_paths(model, data, model.paths)
    start_lengths(model, data, at.q, model.sprung)
    n = model.bodies.shape[0]
    for i in range(n):
        for c in range(6):
            data.bodies[i].I[c] = 0.0
    add_impulses(model, data, at.q, at.u[0], settings.halves * dt, START)
    renew_cones(model, settings, data, contact, dt)
    assemble(model, settings, data, dt, fresh)
    response_step(model, data, contact, dt)
    push_cones(data.bodies, contact)
    for i in range(n):
        for c in range(6):
            out[first[i] + c] = data.bodies[i].r[c]
    for k in range(rows.shape[0]):
        out[first[n + rows[k].node] + rows[k].local] = data.rows[k].g / dt
    end = data.fixed.shape[0]
    for k in range(count):
        c = contact.cones[k]
        w0, w1, w2 = c.w0[0], c.w0[1], c.w0[2]
        f0, f1 = friction_direction(settings, contact, c)
        change = bound_change(c, contact.contacts, model.coordinates, dt)
        out[end], out[end + 1], out[end + 2] = w0, w1 + change * f0, w2 + change * f1
        end += 3
    if fresh:
        add_response(model, data, contact)
    push_outputs(contact, out, end + 6 * n, n)
    end_outputs(model, settings, data, at, end, out)


@routine
def end_outputs(model, settings, data, at, end, out):
    """Momenta at the end of a step, into out[end : end + 6 bodies]; leaves the bodies there."""
    dt = settings.dt
    finish_step(model.bodies, data.bodies, dt, end < 0)
    read_coordinates(model.coordinates, data.bodies, data.coordinates, at.q, dt)
    start_rows(model, data)
    add_rates(model, settings, data, dt)
    end_joint_springs(model, settings, data, dt)
    end_paths(model, settings, data, dt, model.paths)
    end_lengths(model, settings, data, dt, model.sprung)
    total.look_near(model.forces, data.modes, at.q)
    total.set_pulls(model.forces, data.modes, at.u[1])
    end_resistance(model.resisting, settings, data, dt)
    if settings.halves < 1.0:
        add_impulses(model, data, at.q, at.u[1], (1.0 - settings.halves) * dt, END)
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            out[end + 6 * i + c] = data.bodies[i].P[c]


@routine(allocates=False)
def drive_columns(model, data, places, scale, touched, columns):
    """Impulse that a unit of each control gives over the time `scale` to the bodies `touched` (controls, most)."""
    drives, coordinates, states, cstates = model.forces.drives, model.coordinates, data.bodies, data.coordinates
    for k in range(drives.shape[0]):
        d = drives[k]
        for i in range(touched.shape[1]):
            touched[k, i] = -1
        if d.tendon > 0:
            _tendon_columns(model, data, d, scale, touched[k], columns[k])
            continue
        if d.dof < 0:
            if d.node >= 0:
                s = states[d.node]
                t, f = drive_wrench(d, scale, s)
                t = mattvec(load9(s.R), sub3(t, cross(load3(s.p), f)))
                touched[k, 0] = d.node
                for i in range(3):
                    columns[k, 0, i], columns[k, 0, 3 + i] = t[i], f[i]
            continue
        c, s = coordinates[places[d.dof, 0]], cstates[places[d.dof, 0]]
        touched[k, 0], touched[k, 1] = c.a, c.b
        gain = scale * d.gear
        if c.kind == BALL or c.kind == FREE:
            wa, wb = ball_axis(c, places[d.dof, 1], states)
            for i in range(6):
                columns[k, 0, i], columns[k, 1, i] = gain * wa[i], gain * wb[i]
        else:
            for i in range(6):
                columns[k, 0, i], columns[k, 1, i] = gain * s.wa[i], gain * s.wb[i]


@routine(allocates=False)
def _tendon_columns(model, data, drive, scale, touched, columns):
    """The same of a drive of a tendon; `data.modes.pull` says which are clipped, see `resistance.shares`."""
    forces, states, external = model.forces, data.bodies, data.external
    tendon = forces.tendons[drive.tendon - 1]
    for i in range(external.shape[0]):
        for c in range(6):
            external[i, c] = 0.0
    share = data.modes.pull[drive.tendon - 1, 2]
    tendons.push(tendon, data.modes.items, states, scale * drive.gear * share, external)
    count = 0
    for i in range(external.shape[0]):
        F = external[i]
        if F[0] != 0.0 or F[1] != 0.0 or F[2] != 0.0 or F[3] != 0.0 or F[4] != 0.0 or F[5] != 0.0:
            f = (F[3], F[4], F[5])
            t = mattvec(load9(states[i].R), sub3((F[0], F[1], F[2]), cross(load3(states[i].p), f)))
            touched[count] = i
            for c in range(3):
                columns[count, c], columns[count, 3 + c] = t[c], f[c]
            count += 1


@routine(allocates=False)
def _drive_shares(model, data, u, time):
    """Which drives of tendons are clipped with the controls u, `time` from the middle of the step."""
    total.set_pulls(model.forces, data.modes, u)
    shares(model.resisting, model.forces, data, time)


@routine(allocates=False)
def _forget_shares(pull):
    for i in range(pull.shape[0]):
        pull[i, 2] = 0.0


@entry
def differentiate_step(model, settings, data, contact, at, colours, places, result):
    """`outputs` and their partial derivatives by poses at the start (6) and velocities (6) of each body.

    By velocities only momenta at the end are differentiated: of the equations the Newton matrix tells, and cones tell
    themselves. Leaves the Newton matrix in the values of the graph. Velocities of the step before are in the bodies
    (`x`).

    Args:
        model, settings, data, contact, at, colours, result: plain tuples of `MaximalModel`, `MaximalSettings`,
            `MaximalData`, `ContactData` (solved), `SolvedStep`, `Colours` and `StepOutputs`.
        places: coordinate of each degree of freedom, and its number there, shape (nv, 2).
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    contact, at, colours, result = ContactData(*contact), SolvedStep(*at), Colours(*colours), StepOutputs(*result)
    members, begins, pointer, index = colours.members, colours.begins, colours.pointer, colours.outputs
    bodies, states, dt = model.bodies, data.bodies, settings.dt
    load_all(data, at)
    read_start(model, data, at.near, at.q, dt)
    for i in range(bodies.shape[0]):
        move(states[i], dt)
    find_response(model, settings, data, contact, dt)
    end = data.fixed.shape[0] + 3 * contact.now[0].count
    last = end + 6 * bodies.shape[0]
    for colour in range(begins.shape[0] - 1):
        for c in range(12):
            for k in range(4):
                offset, weight = stencil(k)
                load_all(data, at)
                for m in range(begins[colour], begins[colour + 1]):
                    s, h = states[members[m]], STEP * (bodies[members[m]].radius if c % 6 >= 3 else 1.0)
                    if c < 6:
                        displace(s, c, offset * h)
                    elif c < 9:
                        s.w[c - 6] += offset * h / dt
                    else:
                        s.vc[c - 9] += offset * h / dt
                if c < 6:
                    outputs(model, settings, data, contact, at, begins.shape[0] < 1, result.out)
                else:
                    read_start(model, data, at.near, at.q, dt)
                    start_paths(model, data, model.paths)
                    start_lengths(model, data, at.q, model.sprung)
                    end_outputs(model, settings, data, at, end, result.out)
                for m in range(begins[colour], begins[colour + 1]):
                    i = members[m]
                    h = STEP * (bodies[i].radius if c % 6 >= 3 else 1.0)
                    step = h if c < 6 else h / dt
                    for e in range(pointer[i], pointer[i + 1]):
                        if c < 6 or end <= index[e] < last:
                            result.J[e, c] += weight / step * result.out[index[e]]
    load_all(data, at)
    read_start(model, data, at.near, at.q, dt)
    share = settings.halves * dt
    _drive_shares(model, data, at.u[0], 0.5 * dt)
    drive_columns(model, data, places, share, result.start_bodies, result.start_columns)
    _forget_shares(data.modes.pull)
    # The graph of another model may have other edges; without colours only the outputs are wanted.
    outputs(model, settings, data, contact, at, begins.shape[0] > 1, result.out)
    _drive_shares(model, data, at.u[1], -0.5 * dt)
    drive_columns(model, data, places, (1.0 - settings.halves) * dt, result.end_bodies, result.end_columns)
    _forget_shares(data.modes.pull)


@routine(allocates=False)
def pose_outputs(model, data, at, dt, out):
    """Equations of the projection of momenta (`projection.project_momenta`) without them, and joint momenta.

    Args:
        at: `PoseInputs`.
        out: in the order of the graph; then the joint momenta (nv,).
    """
    bodies, rows, coordinates, first = model.bodies, model.rows, model.coordinates, model.graph.first
    T, mu, H = at.twists, at.mu, at.subtrees
    n = bodies.shape[0]
    read_start(model, data, at.near, at.q, dt)
    for i in range(n):
        for c in range(3):
            b = bodies[i]
            out[first[i] + c] = b.J[3 * c] * T[i, 0] + b.J[3 * c + 1] * T[i, 1] + b.J[3 * c + 2] * T[i, 2]
            out[first[i] + 3 + c] = b.mass * T[i, 3 + c]
    last = first[first.shape[0] - 1]
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], data.coordinates[k]
        give_drive(c, s, model.forces.dofs, data.bodies, T, first, out)
        if c.iv >= 0:
            child = child_of(c)
            for j in range(freedoms(c)):
                t, f = screw_of(c, j, data.bodies)
                value = dot3(t, (H[child, 0], H[child, 1], H[child, 2]))
                out[last + c.iv + j] = value + dot3(f, (H[child, 3], H[child, 4], H[child, 5]))
    for k in range(rows.shape[0]):
        row, s = rows[k], data.rows[k]
        a2 = coordinates[row.leader].a if row.ea2 >= 0 else -1
        b2 = coordinates[row.leader].b if row.eb2 >= 0 else -1
        rate = rate_of(s.wa, T, row.a) + rate_of(s.wb, T, row.b) + rate_of(s.wa2, T, a2) + rate_of(s.wb2, T, b2)
        out[first[n + row.node] + row.local] = rate - (goal_rate(row, s, data.goals[0]) if row.goal >= 0 else 0.0)
        give(out, first, row.a, s.wa, model.augment[row.node, 0] * rate - mu[k])
        give(out, first, row.b, s.wb, model.augment[row.node, 1] * rate - mu[k])
        give(out, first, a2, s.wa2, -mu[k])
        give(out, first, b2, s.wb2, -mu[k])


@entry
def differentiate_pose(model, data, at, colours, dt, result):
    """`pose_outputs` and their partial derivatives by the poses (6) of each body.

    Leaves the matrix of the projection in the values of the graph.

    Args:
        model, data, at, colours, result: plain tuples of `MaximalModel`, `MaximalData`, `PoseInputs`, `Colours` and
            `PoseOutputs`.
    """
    model, data = named_model(model), named_data(data)
    at, colours, result = PoseInputs(*at), Colours(*colours), PoseOutputs(*result)
    members, begins, pointer, index = colours.members, colours.begins, colours.pointer, colours.outputs
    bodies, coordinates, states, cstates = model.bodies, model.coordinates, data.bodies, data.coordinates
    for colour in range(begins.shape[0] - 1):
        for c in range(6):
            for k in range(4):
                offset, weight = stencil(k)
                load_state(states, at.poses, at.momenta)
                for m in range(begins[colour], begins[colour + 1]):
                    displace(states[members[m]], c, offset * STEP * (bodies[members[m]].radius if c >= 3 else 1.0))
                pose_outputs(model, data, at, dt, result.out)
                for m in range(begins[colour], begins[colour + 1]):
                    i = members[m]
                    step = STEP * (bodies[i].radius if c >= 3 else 1.0)
                    for e in range(pointer[i], pointer[i + 1]):
                        result.J[e, c] += weight / step * result.out[index[e]]
    load_state(states, at.poses, at.momenta)
    pose_outputs(model, data, at, dt, result.out)
    velocity_matrix(model, data, data.factors.values)
    read_momenta(bodies, coordinates, states, data.subtrees, result.p)
    screws, gradients = result.screws, result.gradients
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.iv < 0:
            continue
        for j in range(freedoms(c)):
            t, f = screw_of(c, j, states)
            for i in range(3):
                screws[c.iv + j, i], screws[c.iv + j, 3 + i] = t[i], f[i]
            if c.kind == BALL or c.kind == FREE:
                wa, wb = ball_axis(c, j, states)
                for i in range(6):
                    gradients[c.iv + j, i], gradients[c.iv + j, 6 + i] = wa[i], wb[i]
            else:
                for i in range(6):
                    gradients[c.iv, i], gradients[c.iv, 6 + i] = cstates[k].wa[i], cstates[k].wb[i]
