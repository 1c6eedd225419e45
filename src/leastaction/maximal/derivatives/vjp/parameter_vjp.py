"""Gradients by parameters over many steps of the compiled backward pass.

A parameter enters the equations of a step, the projection of its momenta on closed loops, and the conversion from
bodies to joints. With the gradients by all of these at fixed unknowns, from the backward pass (`ParameterTape`), its
gradient is that of the weighted sum of these residuals for models with other values of it: one evaluation of the
equations for each step and value, no solve.
"""

from leastaction._jit import entry, routine
from leastaction.contact.laws.cones import DRY
from leastaction.contact.narrow_phase.gap import gap
from leastaction.maximal.arrays import MaximalSettings, named_contact, named_data, named_model
from leastaction.maximal.coordinates.recover import read_momenta
from leastaction.maximal.derivatives.arrays import ParameterTape, PoseInputs, SolvedStep
from leastaction.maximal.derivatives.pose_parts import rate_of
from leastaction.maximal.derivatives.rigid_response import friction_direction
from leastaction.maximal.derivatives.sensitivity_kernels import bound_change, outputs, pose_outputs, read_start
from leastaction.maximal.derivatives.vjp.cone_cotangents import cone_cotangent
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.assembly import axis_damping, end_damping
from leastaction.maximal.step.bodies import start_pose
from leastaction.maximal.step.body_states import load_state
from leastaction.maximal.step.velocity_projection import renew_wrenches


@routine(allocates=False)
def keep_solved(model, data, contact, kept, rows, row, slot):
    """Store the state at which a step was solved, and its unknowns."""
    if kept.y.shape[0] == 0:
        return
    for i in range(data.bodies.shape[0]):
        s = data.bodies[i]
        for c in range(7):
            kept.poses[slot, i, c] = rows.poses[row, i, c]
        for c in range(6):
            kept.momenta[slot, i, c] = rows.momenta[row, i, c]
            kept.before[slot, i, c] = s.x[c]
        for c in range(3):
            kept.velocities[slot, i, c], kept.velocities[slot, i, 3 + c] = s.w[c], s.vc[c]
    for c in range(rows.q.shape[1]):
        kept.q[slot, c] = rows.q[row, c]
    for k in range(data.rows.shape[0]):
        kept.impulses[slot, k] = data.rows[k].lam
    copy_goals(data.goals, kept.goals[slot])
    kept.count[slot] = 0
    if contact is None:
        return
    count, most = contact.now[0].count, -1
    kept.count[slot] = count
    for k in range(count):
        kept.cones[slot, k] = contact.cones[k]
        most = max(most, contact.cones[k].source)
    for k in range(most + 1):
        kept.contacts[slot, k] = contact.contacts[k]


@routine(allocates=False)
def copy_goals(goals, out):
    """Copy prescribed motions at both ends of a step, shape (2, numbers)."""
    for k in range(goals.shape[0]):
        for c in range(goals.shape[1]):
            out[k, c] = goals[k, c]


@routine(allocates=False)
def keep_gradients(kept, y, zeta, slot):
    """Store the gradients -y by the equations of a solved step, and those by the impulses of its cones."""
    if kept.y.shape[0] == 0:
        return
    for i in range(y.shape[0]):
        kept.y[slot, i] = y[i]
    for i in range(zeta.shape[0]):
        for c in range(6):
            kept.zeta[slot, i, c] = zeta[i, c]


@routine(allocates=False)
def keep_read(data, kept, slot, k, j, ended):
    """Store the momenta of which p at the start of step k is computed, and the gradients by momenta at its end."""
    if kept.y.shape[0] == 0:
        return
    kept.step[slot] = k if j == 0 else -1
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            kept.read_momenta[slot, i, c] = data.bodies[i].P[c]
            kept.ended[slot, i, c] = ended[i, c]


@routine(allocates=False)
def keep_projection_of(model, data, kept, back, slot):
    """Store the velocities at the end of a substep, and the gradients by their equations; zero without a projection."""
    if kept.y.shape[0] == 0:
        return
    first, n, held = model.graph.first, model.bodies.shape[0], 1.0 if back.holds[0] > 0 else 0.0
    for i in range(back.y.shape[0]):
        kept.twists[slot, i], kept.by_projection[slot, i] = 0.0, held * back.y[i]
    for k in range(model.rows.shape[0]):
        kept.twists[slot, first[n + model.rows[k].node] + model.rows[k].local] = held * data.rows[k].mu
    for i in range(n):
        s = data.bodies[i]
        for c in range(3):
            kept.end_poses[slot, i, c] = s.p[c]
        for c in range(4):
            kept.end_poses[slot, i, 3 + c] = s.quat[c]
        for c in range(6):
            kept.twists[slot, first[i] + c] = held * data.dV[i, c]
            kept.by_held[slot, i, c] = held * back.bars[1, i, c]
    for c in range(back.at.shape[0]):
        kept.end_q[slot, c] = back.at[c]


@routine(allocates=False)
def keep_second_phase(contact, kept, closed, slot):
    """Store the cones of the second phase at the end of a substep, none unless `closed`."""
    if kept.y.shape[0] == 0:
        return
    kept.end_count[slot] = 0
    if contact is None:
        return
    if closed:
        kept.end_count[slot] = contact.now[0].count
        for k in range(contact.now[0].count):
            kept.end_cones[slot, k] = contact.cones[k]


@routine(allocates=False)
def coordinates_of_tree(coordinates, q, near):
    """Coordinates of the joints at q; zero for loop joints and balls."""
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        near[k] = q[c.iq] if c.iq >= 0 and c.kind < BALL else 0.0


@entry(nogil=True)
def weigh_steps(model, settings, data, contact, kept, there, scratch, slots):
    """Weighted sum, with a model, of all residuals of the substeps in some slots.

    Args:
        model, settings, data, contact, kept: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData`,
            `ContactData` and `ParameterTape`; the model may be another one on the same graph.
        there: `CONTACT` records, and the index of each contact of the slots in them, shape (slots, most).
        scratch: (near (coordinates,), q (nq,), outputs, and controls at both ends of each slot's step (slots, 2, nu)).
        slots: indices of those with the length of the settings.
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    contact, kept = named_contact(contact), ParameterTape(*kept)
    (contacts, which), (near, q, out, u) = there, scratch
    n, total, N = model.bodies.shape[0], 0.0, data.fixed.shape[0]
    for at_slot in range(slots.shape[0]):
        slot = slots[at_slot]
        coordinates_of_tree(model.coordinates, kept.q[slot], near)
        copy_goals(kept.goals[slot], data.goals)
        for c in range(q.shape[0]):
            q[c] = kept.q[slot, c]
        for i in range(n):
            s = data.bodies[i]
            for c in range(6):
                s.x[c] = kept.before[slot, i, c]
        for k in range(data.rows.shape[0]):
            data.rows[k].lam = kept.impulses[slot, k]
        count, most = kept.count[slot], -1
        contact.now[0].count = count
        for k in range(count):
            contact.cones[k] = kept.cones[slot, k]
            most = max(most, contact.cones[k].source)
        at = SolvedStep(kept.poses[slot], kept.momenta[slot], kept.velocities[slot], near, q, u[slot])
        load_state(data.bodies, at.poses, at.momenta)
        for i in range(n):
            s = data.bodies[i]
            for c in range(3):
                s.w[c], s.vc[c] = at.velocities[i, c], at.velocities[i, 3 + c]
        for k in range(most + 1):
            contact.contacts[k] = contacts[which[slot, k]]
        outputs(model, settings, data, contact, at, slot < 0, out)
        for i in range(N):
            total -= kept.y[slot, i] * out[i]
        end = N + 3 * count
        for k in range(count):
            c = kept.cones[slot, k]
            for r in range(3):
                rate = 0.0
                for i in range(6):
                    if c.a >= 0:
                        rate += c.da[6 * r + i] * kept.zeta[slot, c.a, i]
                    if c.b >= 0:
                        rate += c.db[6 * r + i] * kept.zeta[slot, c.b, i]
                total += rate * out[N + 3 * k + r]
        for i in range(n):
            for c in range(6):
                total += kept.ended[slot, i, c] * out[end + 6 * i + c]
    return total


@routine(allocates=False)
def gap_of(model, data, contact, c):
    """Gap of a contact or limit at the start poses [m or rad]."""
    if c.source >= 0:
        phi, _, _ = gap(contact.contacts[c.source], start_pose(data.bodies, c.a), start_pose(data.bodies, c.b))
        return phi
    j = -1 - c.source
    tie = model.coordinates[j]
    return c.side * (data.coordinates[j].value - (tie.lower if c.side > 0.0 else tie.upper))


@routine(allocates=False)
def weigh_contacts(model, settings, data, contact, kept, there, twists, dt, slot):
    """Contribution of the cones of the second phase in a slot to the weighted sum; the bodies must be at its end."""
    total, count, z, (contacts, which) = 0.0, kept.end_count[slot], kept.by_held[slot], there
    contact.now[0].count = count
    most = -1
    for k in range(count):
        contact.cones[k] = kept.end_cones[slot, k]
        most = max(most, contact.cones[k].source)
    for k in range(most + 1):
        contact.contacts[k] = contacts[which[slot, k]]
    renew_wrenches(data, contact)
    for k in range(count):
        c = contact.cones[k]
        a = cone_cotangent(kept.end_cones[slot, k], z)
        f0, f1 = friction_direction(c)
        change = bound_change(c, contact.contacts, model.coordinates, dt)
        if settings.smoothing > 0.0 and c.offset > 0.0 and c.kind != DRY:
            total -= a[0] * gap_of(model, data, contact, c) / dt
        for row in range(1 if c.kind >= DRY else 0, 3):
            f = c.gam if row == 0 else c.beta[row - 1] + change * (f0 if row == 1 else f1)
            ask = a[0] if row == 0 else (a[1] if row == 1 else a[2])
            if row > 0:
                total -= ask * c.drift[row - 1]
            for i in range(6):
                if c.a >= 0:
                    total += c.da[6 * row + i] * (f * z[c.a, i] - ask * twists[c.a, i])
                if c.b >= 0:
                    total += c.db[6 * row + i] * (f * z[c.b, i] - ask * twists[c.b, i])
    return total


@routine(allocates=False)
def weigh_end_damping(model, settings, data, z, T, dt):
    """z . K T of the dampers that are implicit at the end of a substep, at the present poses."""
    total = 0.0
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if c.kind == BALL or c.kind == FREE:
            continue
        held = end_damping(c, axis_damping(c, s.value, model.forces, data.modes), settings.halves, dt)
        if held > 0.0:
            rate = rate_of(s.wa, T, c.a) + rate_of(s.wb, T, c.b)
            total += held * rate * (rate_of(s.wa, z, c.a) + rate_of(s.wb, z, c.b))
    return total


@entry(nogil=True)
def weigh_projections(model, settings, data, contact, kept, there, scratch, dt, slots):
    """Weighted sum of the equations of the velocities at the ends of substeps, see `velocity_cotangents`.

    Args:
        scratch: (near (coordinates,), q (nq,), outputs, impulses (2, rows), twists (2, bodies, 6)); of the last two the
            second of each is zero.
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    contact, kept = named_contact(contact), ParameterTape(*kept)
    near, q, out, impulses, twists = scratch
    n, rows, start = model.bodies.shape[0], model.rows, model.graph.first
    total = 0.0
    for at_slot in range(slots.shape[0]):
        slot = slots[at_slot]
        for k in range(rows.shape[0]):
            impulses[0, k] = kept.twists[slot, start[n + rows[k].node] + rows[k].local]
        for i in range(n):
            for c in range(6):
                twists[0, i, c] = kept.twists[slot, start[i] + c]
        for c in range(data.goals.shape[1]):
            data.goals[0, c] = kept.goals[slot, 1, c]
        for turn in range(2):
            coordinates_of_tree(model.coordinates, kept.end_q[slot], near)
            for c in range(q.shape[0]):
                q[c] = kept.end_q[slot, c]
            load_state(data.bodies, kept.end_poses[slot], kept.momenta[slot])
            at = PoseInputs(kept.end_poses[slot], kept.momenta[slot], near, q, twists[turn], impulses[1 - turn])
            pose_outputs(model, data, at, dt, out)
            if turn == 0:  # M T and G T, and K T
                for i in range(data.fixed.shape[0]):
                    total -= kept.by_projection[slot, i] * out[i]
                total -= weigh_end_damping(model, settings, data, kept.by_held[slot], twists[0], dt)
            else:  # -G' mu
                for i in range(n):
                    for c in range(6):
                        total -= kept.by_held[slot, i, c] * out[start[i] + c]
        total += weigh_contacts(model, settings, data, contact, kept, there, twists[0], dt, slot)
    return total


@entry
def read_state(model, data, at, q, p, dt):
    """Compute q and p of bodies with a model.

    Args:
        at: poses, momenta, and scratch for coordinates (coordinates,).
        q: joint positions nearby, in and out; p: output.
    """
    model, data = named_model(model), named_data(data)
    poses, momenta, near = at
    coordinates_of_tree(model.coordinates, q, near)
    load_state(data.bodies, poses, momenta)
    read_start(model, data, near, q, dt)
    read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p)


@entry(nogil=True)
def read_slots(model, data, kept, scratch, dt, slots):
    """Compute q and p of the bodies with a model in some slots, those of first substeps of steps.

    Args:
        scratch: (near (coordinates,), and output: q (slots, nq), p (slots, nv)).
    """
    model, data, kept = named_model(model), named_data(data), ParameterTape(*kept)
    near, q, p = scratch
    for at_slot in range(slots.shape[0]):
        slot = slots[at_slot]
        coordinates_of_tree(model.coordinates, kept.q[slot], near)
        for c in range(q.shape[1]):
            q[slot, c] = kept.q[slot, c]
        load_state(data.bodies, kept.poses[slot], kept.read_momenta[slot])
        read_start(model, data, near, q[slot], dt)
        read_momenta(model.bodies, model.coordinates, data.bodies, data.subtrees, p[slot])
