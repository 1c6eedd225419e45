"""Solve the substeps of a run of `Maximal` again, each from its recorded start, for the backward pass.

The initial guess is the recorded velocities and their impulses: it takes one iteration or a few, and selects the
solution of the run where there are several. Steps with several substeps (compositions and bisected steps) are first
advanced forwards, since the run does not record the states between.
"""

import numpy as np

from leastaction._jit import inline, is_set, routine
from leastaction.contact.records import POINT_ON_PLANE
from leastaction.linalg.graph.graph_factorization import factorize
from leastaction.maximal.arrays import MaximalSettings
from leastaction.maximal.contact.contact_setup import cone_of
from leastaction.maximal.coordinates.recover import read_coordinates
from leastaction.maximal.derivatives.arrays import Rows
from leastaction.maximal.derivatives.rigid_response import add_response, find_response
from leastaction.maximal.derivatives.vjp.parameter_vjp import keep_projection_of, keep_second_phase
from leastaction.maximal.derivatives.vjp.velocity_cotangents import (
    INDEPENDENT,
    factor_second_phase,
    project_back,
    second_phase_cotangents,
)
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.assembly import assemble, end_damping, start_rows
from leastaction.maximal.step.body_states import load_state, store_state
from leastaction.maximal.step.forces.path_springs import start_paths
from leastaction.maximal.step.forces.prescribed_motion import set_goals
from leastaction.maximal.step.forces.tendon_springs import start_lengths
from leastaction.maximal.step.initial_guess import AGAIN, FIRST, FOUND
from leastaction.maximal.step.maximal_rollout import DONE, UNTIED, end_part, solve_part, start_part
from leastaction.maximal.step.solver.newton import DEPENDENT
from leastaction.maximal.step.velocity_projection import (
    SOLVED,
    forget_end_damping,
    is_damped_at_end,
    project_free_node,
    project_velocities,
    renew_wrenches,
    take_back,
)

OTHERWISE, FOUND_LATE = UNTIED - 1, UNTIED - 2
"""Why the backward pass stops before a step: its solution is not reproduced; or it needs derivatives by parameters of
contacts that an earlier solution of the step has found, and whose points depend on both bodies."""

NONE, JOINTS, CONTACTS = 0, 1, 2
"""Kinds of second phase at the end of a substep, see `second_phase`."""

SAME = 1e-6
"""Largest difference from the poses of the run [m and quaternions, relative to one plus the coordinate]."""


@inline
def parts_of(back, k):
    """Number of substeps of step k."""
    return back.begins[k + 1] - back.begins[k]


@routine(allocates=False)
def rows_of(back, k):
    """States at both ends of the substeps of step k: of the run, or from `unfold` where there are several."""
    if parts_of(back, k) > 1:
        return Rows(back.part_poses, back.part_momenta, back.part_velocities, back.part_q)
    return Rows(back.poses, back.momenta, back.velocities, back.q)


@inline
def row_of(back, k, j):
    """Row of `rows_of` at the start of substep j of step k."""
    return j if parts_of(back, k) > 1 else k


@routine(allocates=False)
def slot_of(back, k, j):
    """Slot of the gradients of substep j of step k."""
    return back.begins[back.newest[0] + 1] - back.begins[k + 1] + j


@routine(allocates=False)
def place_bodies_at_row(model, data, back, rows, row, dt):
    """Set the bodies to the state of a row."""
    load_state(data.bodies, rows.poses[row], rows.momenta[row])
    forget_end_damping(data.coordinates)
    for j in range(model.coordinates.shape[0]):
        c = model.coordinates[j]
        data.coordinates[j].value = rows.q[row, c.iq] if c.iq >= 0 and c.kind < BALL else 0.0
    for j in range(back.at.shape[0]):
        back.at[j] = rows.q[row, j]
    read_coordinates(model.coordinates, data.bodies, data.coordinates, back.at, dt)
    start_rows(model, data)
    start_paths(model, data, model.paths)
    start_lengths(model, data, back.at, model.sprung)


@routine(allocates=False)
def set_motion_targets(model, data, back, k, j):
    """Set the prescribed motions at both ends of substep j of step k."""
    shares = back.shares[back.begins[k] + j]
    set_goals(model, data.goals[0], back.goals[k], back.goals[k + 1], shares[0])
    set_goals(model, data.goals[1], back.goals[k], back.goals[k + 1], shares[1])


@routine(allocates=False)
def begin_part(model, settings, data, near, contact, back, k, j):
    """Start substep j of step k; `DONE`, or why it cannot be solved."""
    part = back.begins[k] + j
    begin_state(model, data, contact, back, k, j)
    return start_part(model, settings, data, near, contact, back.at, back.u[k, back.nodes[part]], back.lengths[part])


@routine(allocates=False)
def begin_state(model, data, contact, back, k, j):
    """Set the state at the start of substep j of step k, before an impact there."""
    part, row = back.begins[k] + j, row_of(back, k, j)
    states, rows, dt, path = data.bodies, data.rows, back.lengths[part], rows_of(back, k)
    first = back.fresh and k == 0 and j == 0
    data.past[0].known = FIRST if first else AGAIN
    data.past[0].dt = 0.0 if first else back.before[part]
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].x[c], states[i].slope[c] = path.velocities[row, i, c], 0.0
        for c in range(3):
            states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
        for c in range(6):
            data.kicks[0, i, c] = data.kicks[1, i, c] = 0.0
    for i in range(rows.shape[0]):
        rows[i].lam = rows[i].mu = 0.0
    if contact is not None:
        contact.now[0].known = 0  # no warm start: results must not depend on what was solved before
        contact.now[0].plastic, contact.written[0] = back.plastic[part], 0
    set_motion_targets(model, data, back, k, j)
    place_bodies_at_row(model, data, back, path, row, dt)


@routine(allocates=False)
def unfold(model, settings, data, near, contact, back, k):
    """Compute the states between the substeps of step k, into the rows of `back`; `DONE`, or why not."""
    parts, states, loose = parts_of(back, k), data.bodies, 1 if settings.halves < 1.0 else 0
    if parts == 0:
        return np.int64(OTHERWISE)
    if parts == 1:
        return np.int64(DONE)
    copy_row(back, k, 0)
    for j in range(parts - 1):
        why = begin_part(model, settings, data, near, contact, back, k, j)
        if why != DONE:
            return np.int64(why)
        part = back.begins[k] + j
        spent, _, why, _ = solve_part(model, settings, data, near, contact, back.lengths[part], k < 0)
        if why != DONE:
            return np.int64(why)
        if spent < 0:
            return np.int64(OTHERWISE)
        for c in range(back.q.shape[1]):
            back.part_q[j + 1, c] = back.part_q[j, c]
        u = back.u[k, back.nodes[part] + loose]
        end_part(model, settings, data, contact, back.part_q[j + 1], u, back.lengths[part])
        end_second_phase(model, settings, data, contact, back.lengths[part])
        store_state(states, back.part_poses[j + 1], back.part_momenta[j + 1], back.part_velocities[j + 1])
    copy_row(back, k + 1, parts)
    return np.int64(DONE)


@routine(allocates=False)
def copy_row(back, row, part):
    """Copy a row of the run to a row of the substeps of one step."""
    for i in range(back.poses.shape[1]):
        for c in range(7):
            back.part_poses[part, i, c] = back.poses[row, i, c]
        for c in range(6):
            back.part_momenta[part, i, c] = back.momenta[row, i, c]
            back.part_velocities[part, i, c] = back.velocities[row, i, c]
    for c in range(back.q.shape[1]):
        back.part_q[part, c] = back.q[row, c]


@routine(allocates=False)
def solve_again(model, settings, data, near, contact, back, k, j):
    """Solve substep j of step k again, with the second phase at its end; `DONE`, or why not."""
    states, dt, path, row = data.bodies, back.lengths[back.begins[k] + j], rows_of(back, k), row_of(back, k, j)
    why = begin_part(model, settings, data, near, contact, back, k, j)
    if why != DONE:
        return np.int64(why)
    data.past[0].known = FOUND
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].x[c] = path.velocities[row + 1, i, c]
        if cones_of(contact) == 0:
            for c in range(3):
                states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
    spent, _, why, _ = solve_part(model, settings, data, near, contact, dt, k < 0)  # False, but not a literal
    if why != DONE:
        return np.int64(why)
    if spent < 0 or not is_same(states, path.poses, row + 1):
        return np.int64(OTHERWISE)
    back.holds[1] = spent
    count_contacts(contact, back)
    return second_phase(model, settings, data, contact, back, k, j)


@routine(allocates=False)
def count_contacts(contact, back):
    """Store the number of contacts of the present substep, including those that wait."""
    back.holds[2] = 0
    if contact is None:
        return
    for k in range(contact.now[0].count + contact.now[0].waiting):
        back.holds[2] = max(back.holds[2], cone_of(contact, k).source + 1)


@routine(allocates=False)
def points_move_with_bodies(contact, back, late):
    """Whether points of contacts from an earlier solution (`late`) of the present substep depend on both bodies."""
    found = False
    if contact is None:
        return found
    for k in range(back.holds[2]):
        c = contact.contacts[k]
        if c.late == late and c.kind == POINT_ON_PLANE:
            for i in range(9):
                found = found or c.R[i] != 0.0
            for i in range(3):
                found = found or c.z[i] != 0.0
    return found


@inline
def with_resolves(settings, rounds):
    """The settings with another limit `rounds` on how often a step is solved again with missed contacts."""
    return MaximalSettings(*(settings[:-1] + (rounds,)))


@routine(allocates=False)
def earlier_solution(model, settings, data, near, contact, back, k, j, rounds):
    """Solve substep j of step k without the contacts found after `rounds` solutions; `DONE`, or why not.

    The end poses of that solution determine these contacts (`contact.contact_update`). Keeps its factors.
    """
    if back.slots.y.shape[0] > 0:
        return np.int64(FOUND_LATE)  # its own equations depend on parameters, too
    dt = back.lengths[back.begins[k] + j]
    why = begin_part(model, settings, data, near, contact, back, k, j)
    if why != DONE:
        return np.int64(why)
    spent, _, why, _ = solve_part(model, with_resolves(settings, rounds), data, near, contact, dt, k < 0)
    if why != DONE:
        return np.int64(why)
    if spent < 0:
        return np.int64(OTHERWISE)
    back.holds[0], back.holds[1] = NONE, spent
    return factor_part(model, settings, data, contact, back, k, j)


@routine(allocates=False)
def end_second_phase(model, settings, data, contact, dt):
    """Second phase at the end of a substep; the cones keep the results of the first phase."""
    solved = dt == 0.0  # not a literal False: it would compile another specialisation
    if contact is not None:
        solved = project_velocities(model, settings, data, contact, dt) == SOLVED
        if solved:
            take_back(settings, contact)
    if not solved and is_damped_at_end(data.coordinates):
        project_free_node(model, data, not solved)


@routine(allocates=False)
def second_phase(model, settings, data, contact, back, k, j):
    """Go to the end of substep j of step k, and factorise its second phase where there is one; `DONE`, or why not.

    Stores its kind in `back.holds`: contacts, closed loops or strong dampers alone, or none.
    """
    back.holds[0] = NONE
    part, last = back.begins[k] + j, 1 if settings.halves < 1.0 else 0
    dt, looped = back.lengths[part], is_set(settings.loops) and j + 1 == parts_of(back, k)
    if cones_of(contact) == 0 and not looped and not may_be_damped_at_end(model, settings, dt):
        return np.int64(DONE)
    end_part(model, settings, data, contact, back.at, back.u[k, back.nodes[part] + last], dt)
    closed = closes(model, settings, data, contact, back, dt)
    if closed < 0:
        return np.int64(OTHERWISE)
    if closed > 0:
        back.holds[0] = CONTACTS
    elif looped or is_damped_at_end(data.coordinates):
        back.holds[0] = JOINTS
    elif cones_of(contact) == 0:
        back.holds[1] = 0  # the bodies are no more at the start
    return np.int64(DONE)


@routine(allocates=False)
def may_be_damped_at_end(model, settings, dt):
    """Whether a damper, or one of a soft limit, may be implicit in the velocities at the end of a substep of dt."""
    most = 0.0
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.kind != BALL and c.kind != FREE:
            damping = c.damping[0] + (model.forces.dofs[c.iv].limit_damping if c.iv >= 0 else 0.0)
            most = max(most, end_damping(c, damping, settings.halves, dt))
    return most > 0.0


@routine(allocates=False)
def closes(model, settings, data, contact, back, dt):
    """Solve and factorise the second phase of a substep: 1, 0 if no contact is closed, -1 if singular."""
    if contact is None:
        return 0
    if project_velocities(model, settings, data, contact, dt) != SOLVED:
        return 0
    return 1 if factor_second_phase(model, settings, data, contact, back, dt) else -1


@routine(allocates=False)
def finish_back(model, settings, data, contact, back, k, j):
    """Propagate `back.bars` to the momenta before the second phase of substep j of step k, after `second_phase`."""
    slot, dt = slot_of(back, k, j), back.lengths[back.begins[k] + j]
    if back.holds[0] == CONTACTS:
        contact_cotangents(model, settings, data, contact, back, dt)
    elif back.holds[0] == JOINTS:
        project_back(model, data, back, (1.0 - settings.halves) * dt)
    keep_projection_of(model, data, back.slots, back, slot)
    keep_second_phase(contact, back.slots, back.holds[0] == CONTACTS, slot)


@routine(allocates=False)
def contact_cotangents(model, settings, data, contact, back, dt):
    """`second_phase_cotangents`, where there are contacts."""
    if contact is None:
        return
    second_phase_cotangents(model, settings, data, contact, back, dt)


@routine(allocates=False)
def factor_part(model, settings, data, contact, back, k, j):
    """Return to the start of substep j of step k and factorise its first phase; `DONE`, or why not."""
    dt, count = back.lengths[back.begins[k] + j], cones_of(contact)
    if back.holds[0] == NONE and back.holds[1] == 1 and count == 0 and hits_of(contact) == 0:
        return np.int64(DONE)  # the factors of its only iteration are still valid
    set_motion_targets(model, data, back, k, j)
    place_bodies_at_row(model, data, back, rows_of(back, k), row_of(back, k, j), dt)
    first_phase(settings, data, contact, back, dt)
    assemble(model, settings, data, dt, k >= 0)
    if contact is not None:
        find_response(model, settings, data, contact, dt)
        add_response(model, data, contact)
        for i in range(back.original.shape[0]):
            back.original[i] = data.factors.values[i]
    tolerance = DEPENDENT if count == 0 else (INDEPENDENT if is_set(settings.loops) else 0.0)
    singular, _ = factorize(model.graph, data.factors, tolerance)
    return np.int64(OTHERWISE if singular >= 0 else DONE)


@routine(allocates=False)
def first_phase(settings, data, contact, back, dt):
    """Restore the cones of the first phase, at the start of the substep."""
    if contact is None:
        return
    if back.holds[0] == CONTACTS:
        take_back(settings, contact)
    renew_wrenches(data, contact)


@routine(allocates=False)
def cones_of(contact):
    """Number of cones of the present step."""
    if contact is None:
        return np.int64(0)
    return contact.now[0].count


@routine(allocates=False)
def hits_of(contact):
    """Number of impacts at the start of the present substep."""
    if contact is None:
        return np.int64(0)
    return contact.now[0].hits


@routine(allocates=False)
def is_same(states, poses, row):
    """Whether the end of the step agrees with the run."""
    near = True
    for i in range(states.shape[0]):
        s, pose = states[i], poses[row, i]
        for c in range(3):
            near = near and abs(s.p1[c] - pose[c]) <= SAME * (1.0 + abs(pose[c]))
        for c in range(4):
            near = near and abs(s.quat1[c] - pose[3 + c]) <= SAME
    return near
