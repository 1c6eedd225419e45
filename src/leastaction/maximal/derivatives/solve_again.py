"""Solving the steps of a run of `Maximal` again, each from the state that the run had, for the way back over them.

A step is solved from the velocities that the run found and the impulses of the step after, which takes an iteration or
a few. Steps of a composition, and those that were divided, are unfolded first: the run does not tell the states between
their parts.
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.records import BOX, CAPSULE, CYLINDER, FIELD, PLANE
from leastaction.linalg.graph.kernels import factorize
from leastaction.maximal.contact.bounces import is_bouncing
from leastaction.maximal.coordinates.recover import read_coordinates
from leastaction.maximal.derivatives.arrays import Rows
from leastaction.maximal.derivatives.held_momenta import read_held
from leastaction.maximal.derivatives.row_cotangents import project_back
from leastaction.maximal.derivatives.sharp_cones import sharpen
from leastaction.maximal.derivatives.weighing import keep_projection_of
from leastaction.maximal.records import BALL
from leastaction.maximal.step.assembly import assemble, start_rows
from leastaction.maximal.step.body_states import load_state, store_state
from leastaction.maximal.step.directions import add_cones, look_at_cones
from leastaction.maximal.step.goals import set_goals
from leastaction.maximal.step.guess import AGAIN, FIRST
from leastaction.maximal.step.judgement import share_of_cones
from leastaction.maximal.step.middle_lengths import start_lengths
from leastaction.maximal.step.newton import DEPENDENT
from leastaction.maximal.step.path_springs import start_paths
from leastaction.maximal.step.pressed import presses
from leastaction.maximal.step.rollout import DONE, UNTIED, end_part, solve_part, start_part

OTHERWISE = UNTIED - 1
"""Why the way back stops before a step: it is not found again, or has contacts that are differentiated otherwise."""

SAME = 1e-4
"""Largest difference of poses to those of the run [m and quaternions, relative to one and to the coordinate]."""

INDEPENDENT = 1e-13
"""As `sensitivity.INDEPENDENT`: share of a loop's equations that must be left beside stiff contacts."""


@inline
def parts_of(back, k):
    """Number of the parts that step k was solved in."""
    return back.begins[k + 1] - back.begins[k]


@routine(allocates=False)
def rows_of(back, k):
    """States at both ends of the parts of step k: of the run, or where it has several, those that were unfolded."""
    if parts_of(back, k) > 1:
        return Rows(back.part_poses, back.part_momenta, back.part_velocities, back.part_q)
    return Rows(back.poses, back.momenta, back.velocities, back.q)


@inline
def row_of(back, k, j):
    """Row of `rows_of` at the start of part j of step k."""
    return j if parts_of(back, k) > 1 else k


@routine(allocates=False)
def slot_of(back, k, j):
    """Where gradients of part j of step k are kept."""
    return back.begins[back.newest[0] + 1] - back.begins[k + 1] + j


@routine(allocates=False)
def stand(model, data, back, rows, row, dt):
    """Put the bodies where they are in a row."""
    load_state(data.bodies, rows.poses[row], rows.momenta[row])
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
def aim(model, data, back, k, j):
    """Tell where prescribed motions are at both ends of part j of step k."""
    shares = back.shares[back.begins[k] + j]
    set_goals(model, data.goals[0], back.goals[k], back.goals[k + 1], shares[0])
    set_goals(model, data.goals[1], back.goals[k], back.goals[k + 1], shares[1])


@routine(allocates=False)
def begin_part(model, settings, data, near, contact, back, k, j):
    """The start of part j of step k; `DONE`, or why it cannot be solved."""
    part, row = back.begins[k] + j, row_of(back, k, j)
    states, rows, dt, path = data.bodies, data.rows, back.lengths[part], rows_of(back, k)
    first = back.fresh and k == 0 and j == 0
    data.clock[0] = FIRST if first else AGAIN
    data.clock[1] = 0.0 if first else back.before[part]
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
        contact.now[0].known = contact.now[0].wait = 0  # no warm start, no pause: the step tells all of it
    aim(model, data, back, k, j)
    stand(model, data, back, path, row, dt)
    return start_part(model, settings, data, near, contact, back.at, back.u[k, back.nodes[part]], dt)


@routine(allocates=False)
def unfold(model, settings, data, near, contact, back, k):
    """States between the parts of step k, into the rows of `back`; `DONE`, or why not."""
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
        spent, _, why = solve_part(model, settings, data, near, contact, back.lengths[part], k < 0)
        if why != DONE:
            return np.int64(why)
        if spent < 0:
            return np.int64(OTHERWISE)
        for c in range(back.q.shape[1]):
            back.part_q[j + 1, c] = back.part_q[j, c]
        u = back.u[k, back.nodes[part] + loose]
        end_part(model, settings, data, contact, back.part_q[j + 1], u, back.lengths[part])
        store_state(states, back.part_poses[j + 1], back.part_momenta[j + 1], back.part_velocities[j + 1])
    copy_row(back, k + 1, parts)
    return np.int64(DONE)


@routine(allocates=False)
def copy_row(back, row, part):
    """A row of the run to one of the parts of a step."""
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
    """Solve part j of step k again, and factorise its Newton matrix, cones eliminated; `DONE`, or why not.

    Where that is the end of the step, `back.bars` are brought to the momenta before closed loops held them.
    """
    states, dt, path, row = data.bodies, back.lengths[back.begins[k] + j], rows_of(back, k), row_of(back, k, j)
    why = begin_part(model, settings, data, near, contact, back, k, j)
    if why != DONE:
        return np.int64(why)
    if cones_of(contact) == 0:
        for i in range(states.shape[0]):
            for c in range(3):
                states[i].w[c] = path.velocities[row + 1, i, c]
                states[i].vc[c] = path.velocities[row + 1, i, 3 + c]
    spent, _, why = solve_part(model, settings, data, near, contact, dt, k < 0)  # False, but no literal
    if why != DONE:
        return np.int64(why)
    if spent < 0 or is_moving(near, contact) or keeps_share(contact) or not is_same(states, path.poses, row + 1):
        return np.int64(OTHERWISE)
    count = cones_of(contact)
    if contact is not None:
        sharpen(model.bodies, settings, contact)
    held = hold_back(settings.loops, model, settings, data, contact, back, k, j)
    if held < 0 or not read_held(settings.loops, model, settings, data, contact, back, k, j):
        return np.int64(OTHERWISE)
    if count > 0 or held > 0 or spent != 1:
        assemble(model, settings, data, dt, k >= 0)
        if contact is not None:
            look_at_cones(model.coordinates, states, data.coordinates, contact, dt)
            add_cones(model, data, contact, 0.0)
            for i in range(back.original.shape[0]):
                back.original[i] = data.factors.values[i]
        tolerance = DEPENDENT if count == 0 else (INDEPENDENT if settings.loops is not None else 0.0)
        singular, _ = factorize(model.graph, data.factors, tolerance)
        if singular >= 0:
            return np.int64(OTHERWISE)
    return np.int64(DONE)


@routine(allocates=False)
def hold_back(loops, model, settings, data, contact, back, k, j):
    """Bring `back.bars` to the momenta before closed loops held them: 1, 0 where there is nothing to do, -1 on failure.

    The bodies are at the start of the step again, with the velocities and impulses that it was solved with.
    """
    if loops is None:
        return 0
    if j + 1 < parts_of(back, k):
        return 0
    part, last = back.begins[k] + j, 1 if settings.halves < 1.0 else 0
    dt = back.lengths[part]
    end_part(model, settings, data, contact, back.at, back.u[k, back.nodes[part] + last], dt)
    goes = project_back(model, data, back)
    keep_projection_of(data, back.slots, back, slot_of(back, k, j))
    aim(model, data, back, k, j)
    stand(model, data, back, rows_of(back, k), row_of(back, k, j), dt)
    return 1 if goes else -1


@routine(allocates=False)
def cones_of(contact):
    """Number of cones of the present step."""
    if contact is None:
        return np.int64(0)
    return contact.now[0].count


@routine(allocates=False)
def is_pressed(model, settings, data, contact, dt):
    """Whether forces press on the contacts of the solved part of dt, so momenta are found otherwise (`pressed`)."""
    if contact is None:
        return False
    share = share_of_cones(model.bodies, data.bodies, settings.gravity, dt)
    return presses(model, settings, data, contact, share, dt)


@routine(allocates=False)
def is_moving(near, contact):
    """Whether a contact's point moves over both bodies, see `features.by_moving_features`."""
    if contact is None:
        return False
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source >= 0:
            pair = near.pairs[contact.contacts[c.source].pair]
            one, other = near.shapes[pair.a].kind, near.shapes[pair.b].kind
            low, high = min(one, other), max(one, other)
            if (low in (BOX, FIELD)) and (high in (BOX, CAPSULE)):
                return True
            if high == CYLINDER or (low > PLANE and high > CAPSULE):
                return True
    return False


@routine(allocates=False)
def keeps_share(contact):
    """Whether contacts keep a part of their restitution, which then depends on the state."""
    if contact is None:
        return False
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if is_bouncing(c) and 0.0 < c.bounce < 1.0:
            return True
    return False


@routine(allocates=False)
def is_same(states, poses, row):
    """Whether the end of the step is that of the run."""
    near = True
    for i in range(states.shape[0]):
        s, pose = states[i], poses[row, i]
        for c in range(3):
            near = near and abs(s.p1[c] - pose[c]) <= SAME * (1.0 + abs(pose[c]))
        for c in range(4):
            near = near and abs(s.quat1[c] - pose[3 + c]) <= SAME
    return near
