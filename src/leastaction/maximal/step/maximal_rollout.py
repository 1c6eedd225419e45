"""The compiled time loop of `Maximal`: many steps without Python in between."""

import numpy as np

from leastaction._jit import entry, is_set, routine
from leastaction.contact.laws.cones import TURN
from leastaction.contact.laws.restitution import ACCEPT, BEGIN, GIVE_UP, NEAREST, has_too_many_impacts
from leastaction.forces import total
from leastaction.maximal.arrays import (
    ContactModel,
    MaximalRecord,
    MaximalSettings,
    named_contact,
    named_data,
    named_model,
)
from leastaction.maximal.contact.contact_margins import has_moved
from leastaction.maximal.contact.contact_setup import NO_ROOM, OUT_OF_DATE, append_contacts, find_cones
from leastaction.maximal.contact.contact_update import ROUNDS, add_violated_contacts
from leastaction.maximal.contact.tunnelling_of_bodies import passes_through
from leastaction.maximal.coordinates.recover import read_coordinates, read_momenta
from leastaction.maximal.step.acceptance.checkpoint import keep_part, roll_back
from leastaction.maximal.step.acceptance.energy_terms import (
    end_work,
    keeps_balance,
    kinetic_energy_at_free_node,
    kinetic_energy_at_node,
    node_work,
    start_work,
    surface_work,
)
from leastaction.maximal.step.acceptance.failed_substeps import (
    FINEST,
    JAMMED,
    LAST,
    contact_failed,
    drop_friction,
    reset_to_guess,
    touches,
)
from leastaction.maximal.step.acceptance.rotation_limit import rotates_too_far, would_rotate_too_far
from leastaction.maximal.step.assembly import assemble, start_rows
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.body_impacts import end_at_impact, find_impact, reflect
from leastaction.maximal.step.body_states import finish_step, is_at, keep_start, load_state, store_state
from leastaction.maximal.step.forces.body_damping import end_resistance
from leastaction.maximal.step.forces.impulses import add_impulses, add_rates
from leastaction.maximal.step.forces.joint_spring_momenta import end_joint_springs
from leastaction.maximal.step.forces.path_springs import end_paths, start_paths
from leastaction.maximal.step.forces.prescribed_motion import pass_goals, set_goals
from leastaction.maximal.step.forces.tendon_springs import end_lengths, start_lengths
from leastaction.maximal.step.initial_guess import (
    AGAIN,
    FIRST,
    LATER,
    accelerate_without_impact,
    extrapolate,
    guess,
    guess_spins,
    store_velocities,
)
from leastaction.maximal.step.solver.interior_point import solve_step, stuck_step
from leastaction.maximal.step.solver.semismooth_newton import SOLVED_BY_MODES, is_rigid
from leastaction.maximal.step.velocity_projection import (
    NOTHING,
    SOLVED,
    UNSOLVED,
    forget_end_damping,
    is_damped_at_end,
    log_second_phase,
    project_velocities,
    take_back,
)
from leastaction.step_control.substeps import middle, record_substep

DONE, FAILED, FULL, REPLAN, EXHAUSTED, UNTIED = 0, -1, -2, -3, -4, -5
"""Why the loop returned: finished; no convergence; no room for contacts; the broad phase is out of date, since bodies
may touch that are not among the near pairs; `max_work` exceeded; or a contact between bodies without an edge in the
graph."""


@entry(nogil=True)
def rollout(model, settings, data, record, u, substeps, started):
    """Advance over the rows of the record; returns (steps done, status such as DONE).

    Args:
        model, settings, data, record: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData` and
            `MaximalRecord`; row 0 of the record is filled.
        u: controls, shape (steps, nodes, nu).
        substeps: lengths of the substeps of the composition method, as fractions of dt.
        started: whether row 0 is the end of a step.
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    return run(model, settings, data, None, None, MaximalRecord(*record), u, substeps, started)


@entry(nogil=True)
def rollout_with_contact(model, settings, data, near, contact, record, u, substeps, started):
    """`rollout` with contacts, limits or dry friction; near, contact: plain tuples of `ContactModel`, `ContactData`."""
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    near, contact = ContactModel(*near), named_contact(contact)
    return run(model, settings, data, near, contact, MaximalRecord(*record), u, substeps, started)


@routine(allocates=False)
def run(model, settings, data, near, contact, record, u, substeps, started):
    """See `rollout`; near and contact are None for a mechanism without contacts, limits and dry friction."""
    halves, q, bodies, states, ends = settings.halves, record.q, model.bodies, data.bodies, data.ends
    # Where a run continues from the preceding call, `data` holds the state already.
    stands = started and data.goals.shape[1] == 0 and is_at(states, record.rigid_poses[0], record.momenta[0])
    if not stands:
        load_state(states, record.rigid_poses[0], record.momenta[0])
        if contact is not None:
            contact.now[0].independent = 0
    slip = projected = q.shape[0] < 1  # False, but not a literal: `solve_part` would be compiled twice
    for k in range(q.shape[0] - 1):
        keep_start(data, contact)
        for c in range(q.shape[1]):
            q[k + 1, c] = q[k, c]
        record.iterations[k + 1], record.work[k + 1] = 0, record.work[k]
        for j in range(substeps.shape[0]):
            for c in range(record.substeps.shape[2]):
                record.substeps[k + 1, j, c] = 0.0
        j, t, depth, count, impacts, h = 0, 0.0, 1, 0, 0, 0.0
        early = late = 0.0  # bracket of the time of impact that bisection refines; 0 without one
        ends[0] = 1.0
        begin_step(contact, k)
        while j < substeps.shape[0]:
            whole, end = substeps[j] * settings.dt, ends[depth - 1]
            parts = 1.0 / (end - t)
            h = (end - t) * whole
            controls = u[k, j if halves < 1.0 else 0 :]  # at both ends of this substep of the composition
            if k == 0 and j == 0 and t == 0.0 and not stands:
                read_coordinates(model.coordinates, states, data.coordinates, q[k + 1], h)
                set_goals(model, data.goals[0], record.goals[k], record.goals[k + 1], 0.0)
                start_rows(model, data)
                start_paths(model, data, model.paths)
                start_lengths(model, data, q[k + 1], model.sprung)
                data.past[0].kinetic = -1.0
            forget_end_damping(data.coordinates)
            if settings.balanced and data.past[0].kinetic < 0.0:
                data.past[0].kinetic = kinetic_energy_at_free_node(model, data, contact, None)
            set_goals(model, data.goals[1], record.goals[k], record.goals[k + 1], end)
            why = start_part(model, settings, data, near, contact, q[k + 1], controls[0], h)
            if why != DONE:
                return k, why
            accepted = parts >= FINEST or not would_rotate_too_far(bodies, states, h)
            turns, freed = not accepted, slip
            if accepted:
                spent, iterations, why, freed = solve_part(model, settings, data, near, contact, h, slip)
                if why != DONE:
                    return k, why
                record.iterations[k + 1] += iterations
                if record.iterations[k + 1] > settings.max_work:
                    return k, EXHAUSTED
                accepted = spent >= 0
            if accepted and contact is not None:
                span = t, end, ends[max(depth - 2, 0)]
                look, target, early, late = end_at_impact(contact, span, whole, (early, late))
                if look != ACCEPT:
                    reset_to_guess(data, contact)
                    if look == GIVE_UP:
                        depth -= 1 if late > 0.0 else 0
                        contact.now[0].plastic = 1
                        early = late = 0.0
                    else:
                        depth += 1 if look == BEGIN else 0
                        ends[depth - 1] = target
                    continue
            if accepted:
                keep_part(model, data, q[k + 1])
                written, start = written_of(contact), node_of(contact)
                if not log_contacts(contact, k, whole):
                    return k, FULL
                work, given = start_work(model, data, contact, h)
                store_velocities(states, data.rows, data.past[0], h)
                end_part(model, settings, data, contact, q[k + 1], controls[min(1, controls.shape[0] - 1)], h)
                work += end_work(model, settings, data, h)
                phase, more = end_velocities(model, settings, data, contact, h, whole)
                if settings.balanced or is_set(settings.loops) or is_damped_at_end(data.coordinates):
                    data.past[0].kinetic = kinetic_energy_at_node(model, data, contact, phase, h, settings.loops)
                given += node_work(model, data, h)
                # The finest substeps without friction (`slip`), and those of LAST, are not tested for energy balance.
                accepted = parts >= LAST or (parts >= FINEST and slip)
                if not accepted and phase != UNSOLVED:
                    steady = are_constant_controls(controls)
                    accepted = not steady or keeps_balance(model, settings, data, contact, work + more + given, h)
                if accepted:
                    projected = phase == SOLVED
                    record.work[k + 1] += given
                else:
                    roll_back(model, data, q[k + 1])
                    restore_node(contact, written, start)
            if not accepted:
                # Rejected: all but the guess is as before. Advance over the rest of this step in shorter substeps.
                reset_to_guess(data, contact)
                if late > 0.0:
                    depth -= 1
                early = late = 0.0
                if parts >= LAST and (slip or not touches(contact)):
                    return k, FAILED
                jammed = parts >= FINEST or (parts >= JAMMED and contact_failed(contact))
                slip = not turns and not slip and jammed and touches(contact)
                if slip:
                    continue
                end_substep(contact, impacts, bodies.shape[0])
                ends[depth] = middle(t, ends[depth - 1])
                depth += 1
                continue
            record.work[k + 1] += impact_work(contact)
            if j == 0 and t == 0.0:
                for r in range(data.rows.shape[0]):
                    record.multipliers[k, r] = data.rows[r].force
            count = record_substep(record.substeps[k + 1, j], count, end, is_plastic(contact), not freed)
            impacts += 1 if late > 0.0 else 0
            early, late, slip = 0.0, 0.0, False
            end_substep(contact, impacts, bodies.shape[0])
            t, depth = end, depth - 1
            if depth == 0:
                j, t, depth, count, ends[0] = j + 1, 0.0, 1, 0, 1.0
        worst = 0.0
        for r in range(data.rows.shape[0]):
            worst = max(worst, abs(data.rows[r].g))
            record.multipliers[k + 1, r] = data.rows[r].force
        record.violation[k + 1] = worst
        if not projected:
            store_projected_forces(data.rows, record.multipliers[k + 1], h, settings.loops)
        store_state(states, record.rigid_poses[k + 1], record.momenta[k + 1], record.velocities[k + 1])
        read_momenta(bodies, model.coordinates, states, data.subtrees, record.p[k + 1])
    return q.shape[0] - 1, DONE


@routine(allocates=False)
def are_constant_controls(controls):
    """Whether controls (nodes, nu) are the same at both ends of a step.

    Substeps use the controls at both ends of the step; where these differ, their impulses do work that no substep
    balances.
    """
    held = True
    for c in range(controls.shape[1]):
        held = held and controls[0, c] == controls[min(1, controls.shape[0] - 1), c]
    return held


@routine(allocates=False)
def begin_step(contact, k):
    """Reset the contact state of a step; k: its number for the log."""
    if contact is not None:
        contact.now[0].step, contact.now[0].plastic, contact.now[0].node_work = k, 0, 0.0


@routine(allocates=False)
def end_substep(contact, impacts, bodies):
    """Enable restitution for the next substep, unless the step has had too many impacts."""
    if contact is not None:
        contact.now[0].plastic = 1 if has_too_many_impacts(impacts, bodies) else 0


@routine(allocates=False)
def is_plastic(contact):
    """1 where the present substep has no restitution, else 0."""
    if contact is None:
        return np.int64(0)
    return contact.now[0].plastic


@routine(allocates=False)
def impact_work(contact):
    """Work of prescribed motions in the impact at the start of the present substep [J]; resets it."""
    if contact is None:
        return 0.0
    work, contact.now[0].node_work = contact.now[0].node_work, 0.0
    return work


@routine(allocates=False)
def store_projected_forces(rowstates, multipliers, dt, loops):
    """Joint forces from the projection of the momenta after a last substep of dt; see `kinetic_energy_at_node`."""
    if loops is None or not loops:
        return
    for k in range(rowstates.shape[0]):
        multipliers[k] = 2.0 * rowstates[k].mu / dt


@routine(allocates=False)
def written_of(contact):
    """Number of rows in the contact log."""
    if contact is None:
        return np.int64(0)
    return contact.written[0]


@routine(allocates=False)
def node_of(contact):
    """State of the node before: (whether it had a second phase, whether its joint equations are independent)."""
    if contact is None:
        return np.int64(0), np.int64(0)
    return contact.now[0].projected, contact.now[0].independent


@routine(allocates=False)
def restore_node(contact, written, start):
    """Restore the log length and the node state (`node_of`) from before a rejected substep."""
    if contact is None:
        return
    contact.written[0], contact.now[0].projected, contact.now[0].independent = written, start[0], start[1]


@routine(allocates=False)
def log_contacts(contact, step, dt):
    """`append_contacts` where there are contacts; False where the log is full."""
    if contact is None:
        return True
    return append_contacts(contact, step, dt)


@routine(allocates=False)
def end_velocities(model, settings, data, contact, dt, whole):
    """Second phase of a solved substep of dt, see `project_velocities`; (its status, work of moving surfaces [J])."""
    if contact is None:
        return NOTHING, 0.0
    before = contact.written[0]
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source >= 0 and c.kind != TURN:
            before -= 1
    phase = project_velocities(model, settings, data, contact, dt)
    contact.now[0].projected = 1 if phase == SOLVED else 0
    work = 0.0
    if phase == SOLVED:
        work = surface_work(contact)
        log_second_phase(contact, before, whole)
        take_back(settings, contact)
    return phase, work


@routine(allocates=False)
def start_part(model, settings, data, near, contact, q, u, dt):
    """Start a substep: known impulses, initial guess and cones, with the controls u at its start; returns a status."""
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            data.bodies[i].I[c] = 0.0
    add_impulses(model, data, q, u, settings.halves * dt, START)
    if data.past[0].known == FIRST:
        guess_spins(model.bodies, data.bodies, dt)
    if contact is None:
        extrapolate(model.bodies, data.bodies, data.rows, data.past[0], dt)
        return DONE
    if contact.written[0] + 2 * contact.contacts.shape[0] > contact.log.shape[0]:
        return FULL  # of the log: return before anything is solved or overwritten
    guess(model.bodies, data.bodies)
    if data.past[0].known == FIRST or data.past[0].known == AGAIN or settings.halves == 1.0:
        assemble(model, settings, data, dt, dt == 0.0)  # residuals of the springs at the guess
    contact.now[0].dry = settings.halves
    count = find_cones(model, settings, data, near, contact, dt)
    if count >= 0 and reflect(model, settings, data, contact, dt):
        contact.now[0].known = 0
        count = find_cones(model, settings, data, near, contact, dt)
    if count < 0:
        return REPLAN if count == OUT_OF_DATE else (FULL if count == NO_ROOM else UNTIED)
    return DONE


@routine(allocates=False)
def solve_part(model, settings, data, near, contact, dt, slip):
    """Solve a substep, again while it misses contacts; (result of `solve_step`, iterations, status, frictionless).

    With `slip`, first try all contacts sticking; where that fails, drop their friction. A solution that rotates too far
    or passes through another body counts as a failure.
    """
    # By length, not by number of substeps: a substep that is solved again on its own must be judged in the same way.
    divisible = FINEST * abs(dt) > abs(settings.whole)
    if contact is None:
        spent = solve_step(model, settings, data, contact, dt)
        iterations = abs(spent)
        if spent >= 0 and divisible and rotates_too_far(model.bodies, data.bodies, dt):
            spent = -1 - spent
        return spent, iterations, DONE, slip
    spent, iterations = -1, 0
    if slip and is_rigid(settings) and contact.now[0].count > 0:
        spent = stuck_step(model, settings, data, contact, dt)
        iterations = abs(spent)
    slip = slip and spent < 0
    if slip:
        drop_friction(contact)
    if spent < 0:
        if contact.now[0].sure == 1 and contact.now[0].count > 0 and data.past[0].known == LATER:
            time = 0.5 * (data.past[0].dt + dt)
            accelerate_without_impact(model.bodies, data.bodies, settings.gravity, time)
        spent = solve_step(model, settings, data, contact, dt)
        iterations += abs(spent)
    for rounds in range(ROUNDS + 1):
        if divisible and spent >= 0 and rotates_too_far(model.bodies, data.bodies, dt):
            spent = -1 - spent
        if spent < 0:
            break
        contact.now[0].rounds = rounds
        if find_impact(model, settings, data, contact, dt):
            return spent, iterations, DONE, slip  # the substep will end at the impact; later contacts do not matter
        if rounds == settings.rounds:
            return spent, iterations, DONE, slip
        missed = add_violated_contacts(model, settings, data, near, contact, dt)
        if missed < 0:
            return spent, iterations, FULL if missed == NO_ROOM else UNTIED, slip
        if contact.now[0].nearest < -NEAREST:
            return spent, iterations, DONE, slip  # one of the added contacts has restitution
        if missed == 0:
            break
        if slip:
            drop_friction(contact)
        if rounds == ROUNDS:
            spent = -1 - spent
            break
        spent = solve_step(model, settings, data, contact, dt)
        iterations += abs(spent)
    if spent >= 0 and has_moved(data.bodies, near, dt):
        return spent, iterations, REPLAN, slip  # bodies moved so far that others than the near pairs may touch
    if divisible and spent >= 0 and passes_through(data, near, contact, dt, near.features, near.convex):
        spent = -1 - spent
    return spent, iterations, DONE, slip


@routine(allocates=False)
def end_part(model, settings, data, contact, q, u, dt):
    """Turn the end of a solved substep into the start of the next, with the controls u there."""
    carry = True
    if contact is not None:
        contact.now[0].independent = 0
        carry = contact.now[0].count == 0 or contact.now[0].sure == SOLVED_BY_MODES
    coordinates, states, cstates = model.coordinates, data.bodies, data.coordinates
    finish_step(model.bodies, states, dt, carry)
    read_coordinates(coordinates, states, cstates, q, dt)
    pass_goals(data.goals)
    start_rows(model, data)
    add_rates(model, settings, data, dt)
    end_lengths(model, settings, data, dt, model.sprung)
    total.unwrap_angles(model.forces, data.modes, q)
    total.set_pulls(model.forces, data.modes, u)
    end_resistance(model.resisting, settings, data, dt)
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            data.minus[i, c] = data.bodies[i].P[c]
    end_joint_springs(model, settings, data, dt)
    end_paths(model, settings, data, dt, model.paths)
    if settings.halves < 1.0:
        add_impulses(model, data, q, u, (1.0 - settings.halves) * dt, END)
