"""All residuals of a step at its unknowns, for any model on the same graph: for gradients by parameters."""

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.penetration.penetration_recovery import overlap_left
from leastaction.forces import total
from leastaction.maximal.contact.contact_setup import (
    OVERLAPPING,
    contact_wrenches,
    turn_wrenches,
)
from leastaction.maximal.contact.limit_setup import coordinate_wrenches
from leastaction.maximal.coordinates.recover import read_coordinates
from leastaction.maximal.derivatives.pose_parts import add_drive_momentum, add_to_body, rate_of
from leastaction.maximal.derivatives.rigid_response import (
    friction_direction,
    response_step,
)
from leastaction.maximal.step.assembly import assemble, start_rows
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.body_states import finish_step
from leastaction.maximal.step.forces.body_damping import end_resistance
from leastaction.maximal.step.forces.impulses import add_impulses, add_rates
from leastaction.maximal.step.forces.joint_spring_momenta import end_joint_springs
from leastaction.maximal.step.forces.path_springs import end_paths, start_paths
from leastaction.maximal.step.forces.prescribed_motion import goal_rate
from leastaction.maximal.step.forces.tendon_springs import end_lengths, start_lengths
from leastaction.maximal.step.solver.contact_masses import fill_compliance
from leastaction.maximal.step.solver.predictor_corrector import push_cones


@routine(allocates=False)
def read_start(model, data, near, q, dt):
    """Coordinates and gradients at the start poses; near: coordinates nearby, including full turns."""
    for k in range(data.coordinates.shape[0]):
        data.coordinates[k].value = near[k]
    read_coordinates(model.coordinates, data.bodies, data.coordinates, q, dt)
    start_rows(model, data)


@routine(allocates=False)
def renew_cones(model, settings, data, contact, dt):
    """Unit wrenches of the cones at the start poses, their least end gaps, and the positions of limits."""
    contacts, coordinates, cstates, states = contact.contacts, model.coordinates, data.coordinates, data.bodies
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source >= 0:
            phi = contact_wrenches(c, contacts[c.source], states)
            if c.kind == ip.TURN:
                turn_wrenches(c, states)
            fill_compliance(settings, c, dt)
            # This choice was made when the step was solved and stays fixed for the poses evaluated here.
            if c.side == OVERLAPPING:
                c.rest = overlap_left(phi, c.gravity_drop, c.slight)
            continue
        j = -1 - c.source
        coordinate_wrenches(c, cstates[j])
        fill_compliance(settings, c, dt)
        if c.kind == ip.LIMIT:
            c.bound = coordinates[j].lower if c.side > 0.0 else coordinates[j].upper
            if c.rest < 0.0:
                c.rest = overlap_left(c.side * (cstates[j].value - c.bound), c.gravity_drop, c.slight)


@inline
def bound_change(c, contacts, coordinates, dt):
    """Difference of the model's friction bound from that with which a cone was solved."""
    if c.kind == ip.LIMIT:
        return 0.0
    if c.kind == ip.DRY:
        return c.side * coordinates[-1 - c.source].friction * dt - c.bound
    touching = contacts[c.source]
    if c.kind == ip.TURN:
        return ((touching.spin if c.directions == ip.SPIN else touching.roll) - c.mu) * c.gam
    return (touching.friction - c.mu) * c.gam


@routine(allocates=False)
def outputs(model, settings, data, contact, at, fresh, out):
    """All residuals of a `SolvedStep` at the unknowns in `data` and the cones; leaves the bodies at its end.

    Args:
        fresh: False.
        out: residuals in the order of the graph; three for each cone, the impulse step of its own equations; then six
            for each body: momenta at the end of the step.
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
        f0, f1 = friction_direction(c)
        change = bound_change(c, contact.contacts, model.coordinates, dt)
        out[end], out[end + 1], out[end + 2] = w0, w1 + change * f0, w2 + change * f1
        end += 3
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
    total.unwrap_angles(model.forces, data.modes, at.q)
    total.set_pulls(model.forces, data.modes, at.u[1])
    end_resistance(model.resisting, settings, data, dt)
    if settings.halves < 1.0:
        add_impulses(model, data, at.q, at.u[1], (1.0 - settings.halves) * dt, END)
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            out[end + 6 * i + c] = data.bodies[i].P[c]


@routine(allocates=False)
def pose_outputs(model, data, at, dt, out):
    """Equations of the velocities at a node (`step.velocity_equations`) without momenta and contacts.

    Args:
        at: `PoseInputs`.
        out: in the order of the graph.
    """
    bodies, rows, coordinates, first = model.bodies, model.rows, model.coordinates, model.graph.first
    T, mu = at.twists, at.mu
    n = bodies.shape[0]
    read_start(model, data, at.near, at.q, dt)
    for i in range(n):
        for c in range(3):
            b = bodies[i]
            out[first[i] + c] = b.J[3 * c] * T[i, 0] + b.J[3 * c + 1] * T[i, 1] + b.J[3 * c + 2] * T[i, 2]
            out[first[i] + 3 + c] = b.mass * T[i, 3 + c]
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], data.coordinates[k]
        add_drive_momentum(c, s, model.forces.dofs, data.bodies, T, first, out)
    for k in range(rows.shape[0]):
        row, s = rows[k], data.rows[k]
        a2 = coordinates[row.leader].a if row.ea2 >= 0 else -1
        b2 = coordinates[row.leader].b if row.eb2 >= 0 else -1
        rate = rate_of(s.wa, T, row.a) + rate_of(s.wb, T, row.b) + rate_of(s.wa2, T, a2) + rate_of(s.wb2, T, b2)
        out[first[n + row.node] + row.local] = rate - (goal_rate(row, s, data.goals[0]) if row.goal >= 0 else 0.0)
        add_to_body(out, first, row.a, s.wa, model.augment[row.node, 0] * rate - mu[k])
        add_to_body(out, first, row.b, s.wb, model.augment[row.node, 1] * rate - mu[k])
        add_to_body(out, first, a2, s.wa2, -mu[k])
        add_to_body(out, first, b2, s.wb2, -mu[k])
