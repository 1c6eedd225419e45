"""The compiled loops of `Maximal`: many steps, no Python in between."""

import math

import numpy as np

from leastaction._jit import entry, inline, routine
from leastaction.contact.cones import DRY, EXACT, LIMIT, LINEAR
from leastaction.linalg.graph.kernels import factorize, solve
from leastaction.maximal.contact.detection import find_cones, note_contacts
from leastaction.maximal.contact.missed_contacts import ROUNDS, add_missed
from leastaction.maximal.coordinates.recover import read_coordinates, read_momenta
from leastaction.maximal.step.assembly import start_rows
from leastaction.maximal.step.block_parts import add_outer, add_pair, place_row
from leastaction.maximal.step.bodies import momenta, move
from leastaction.maximal.step.dampers import end_paths, start_paths
from leastaction.maximal.step.guess import FIRST, LATER, extrapolate, guess, remember
from leastaction.maximal.step.impulses import add_impulses, add_rates
from leastaction.maximal.step.interior import solve_step
from leastaction.spatial import ZERO3, dot3, load3, load4, load9, mattvec, matvec, quat_to_rotation, store9

FAILED, FULL, REPLAN = -1, -2, -3
"""Why a loop stopped early: no convergence, no room for contacts, or bodies may touch that the graph does not tie."""

READ_ALL, READ_WITHOUT, READ_MEAN = range(3)
"""How joint momenta at the end of the last step of a call are read at order 2, for controllers. What contacts will hold
of the forces there only the next step knows; until then those that bear a load are taken to push as they did in this
step (READ_MEAN) where the motion is steady, or else to hold all forces (READ_WITHOUT); without such contacts all forces
count (READ_ALL)."""

STEADY = 0.5
"""Change of accelerations from step to step, relative to gravity's, up to which a motion is steady."""

IMPACT = 4.0
"""Impulses that change velocities by more than gravity does in so many steps are impacts."""


FINEST = 1024
"""Most parts that a step is divided into where Newton fails: fast motions of long chains, loops that pass a singular
configuration while they touch, or bodies that jam between others, for a moment. It is halved, and a half that fails is
halved again. Coulomb's law need not have a solution; where there is none in one of the finest parts, all contacts slip
in it, as without friction there always is one."""

LONGEST = 1 << 61
"""How a step was halved is told by a number: after a leading 1, bit by bit, 1 for a part that failed and was halved and
0 for one that was solved, in order of time (`replay.lengths_of`); 0 for a step that was not halved, -1 for one whose
number would be larger than this."""


PLAUSIBLE = 1.2
"""Most that the kinetic energy may grow in a step with contacts, beside what forces and overlaps add."""

WORK, FINE = 2e-3, 16
"""Most that contacts may add to the kinetic energy in a step, relative to it; steps of FINE parts are taken as they
are."""


@inline
def with_bit(told, bit):
    """A bit more of how a step was halved."""
    return 2 * told + bit if 0 < told < LONGEST else -1


@routine
def load_state(states, Z, P):
    """Poses Z (bodies, 7: position, quaternion) and momenta P (bodies, 6) into the states."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            s.p[c] = Z[i, c]
        for c in range(4):
            s.quat[c] = Z[i, 3 + c]
        for c in range(6):
            s.P[c] = P[i, c]
        store9(s.R, quat_to_rotation(load4(s.quat)))


@routine
def store_state(states, Z, P):
    """The other way round."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            Z[i, c] = s.p[c]
        for c in range(4):
            Z[i, 3 + c] = s.quat[c]
        for c in range(6):
            P[i, c] = s.P[c]


@routine
def finish_step(bodies, states, dt, carry):
    """End poses become start poses; momenta at the end of the step (D2 of the action).

    With `carry` what Newton left in the equations goes on to the next step, turned into its directions: momenta then
    stay constant to round-off however loose the tolerance is. The residuals must belong to the velocities.
    """
    for i in range(bodies.shape[0]):
        s = states[i]
        if not carry:
            move(s, dt)
        _, right = momenta(load9(bodies[i].J), load3(s.w), dt)
        left = mattvec(load9(s.R1), matvec(load9(s.R), load3(s.r))) if carry else ZERO3
        for c in range(3):
            s.P[c] = right[c] - left[c]
            s.P[3 + c] = bodies[i].mass * s.vc[c] - (s.r[3 + c] if carry else 0.0)
            s.p[c] = s.p1[c]
        for c in range(4):
            s.quat[c] = s.quat1[c]
        for c in range(9):
            s.R[c] = s.R1[c]


@routine
def swap_momenta(states, other):
    """Exchange the momenta in the states with those in `other`, shape (bodies, 6)."""
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].P[c], other[i, c] = other[i, c], states[i].P[c]


@routine
def bears_load(cones, count, bodies, speed):
    """Whether a cone gives a body more than a tenth of what gravity does in a step, which changes it by `speed`."""
    for k in range(count):
        c = cones[k]
        body = bodies[max(c.a, c.b)]
        least = 0.1 * speed * body.mass
        row = 9 if c.kind == DRY else 3
        if c.source < 0 and c.db[row] == 0.0 and c.db[row + 1] == 0.0 and c.db[row + 2] == 0.0:  # an angle's
            least *= body.radius
        if max(0.0 if c.kind == DRY else c.gam, abs(c.beta[0]), abs(c.beta[1])) > least:
            return True
    return False


@routine
def is_impact(bodies, states, dt, gravity):
    """Whether velocities have jumped since the step before, by more than gravity does in a few steps."""
    for i in range(bodies.shape[0]):
        s, m = states[i], bodies[i].mass
        J = load9(bodies[i].J)
        _, before = momenta(J, (s.x[0], s.x[1], s.x[2]), dt)
        after, _ = momenta(J, load3(s.w), dt)
        for c in range(3):
            linear, angular = abs(s.vc[c] - s.x[3 + c]), abs(after[c] - before[c])
            if linear > IMPACT * gravity * dt or angular > IMPACT * m * bodies[i].radius * gravity * dt:
                return True
    return False


@routine
def is_steady(bodies, states, dt, gravity):
    """Whether accelerations are about those of the step before, so that contacts push as they did."""
    most = STEADY * gravity
    for i in range(bodies.shape[0]):
        s = states[i]
        for c in range(3):
            turn, shift = (s.w[c] - s.x[c]) / dt - s.slope[c], (s.vc[c] - s.x[3 + c]) / dt - s.slope[3 + c]
            if abs(turn) * bodies[i].radius > most or abs(shift) > most:
                return False
    return True


@routine
def is_implausible(bodies, states, cones, count, gravity, halves):
    """Whether a solved step has far more kinetic energy than the step before and its forces account for.

    Contacts and joints only take energy away, but the equations of a step that is too long for a fast motion, such as
    that of a leg through a singular configuration, may have other solutions, and Newton may find one of them.

    Args:
        halves: share of the forces' impulses that the states hold; the others are in their momenta already.
    """
    now = before = push = total = 0.0
    for i in range(bodies.shape[0]):
        s, m, J = states[i], bodies[i].mass, load9(bodies[i].J)
        if m > 0.0:
            w, x = load3(s.w), (s.x[0], s.x[1], s.x[2])
            now += 0.5 * (m * dot3(load3(s.vc), load3(s.vc)) + dot3(w, matvec(J, w)))
            before += 0.5 * (m * (s.x[3] ** 2 + s.x[4] ** 2 + s.x[5] ** 2) + dot3(x, matvec(J, x)))
            push += (s.I[3] ** 2 + s.I[4] ** 2 + s.I[5] ** 2) / m
            push += (s.I[0] ** 2 + s.I[1] ** 2 + s.I[2] ** 2) / (m * bodies[i].radius ** 2)
            total += m
    deepest = 0.0
    for k in range(count):
        deepest = max(deepest, -cones[k].rest)
    out_of_it = 2.0 * total * gravity * deepest  # what getting out of an overlap may add, and more
    return now > PLAUSIBLE * (math.sqrt(before) + math.sqrt(push) / halves) ** 2 + out_of_it


@routine
def is_driven(bodies, states, cones, count, gravity, halves):
    """Whether the contacts of a solved step have added energy.

    Their impulses act along the normals and at the points of the start of the step, while their gaps are those of its
    end. Where a body turns far within a step, the two may differ so much that an impact drives it.
    """
    energy, work, deepest, total = 0.0, 0.0, 0.0, 0.0
    for i in range(bodies.shape[0]):
        s, m, x = states[i], bodies[i].mass, states[i].x
        if m > 0.0:
            w, v, push = (x[0], x[1], x[2]), (x[3], x[4], x[5]), (s.I[3], s.I[4], s.I[5])
            energy += 0.5 * (m * dot3(v, v) + dot3(w, matvec(load9(bodies[i].J), w)))
            energy += 0.5 * dot3(push, push) / (m * halves * halves)
            total += m
    for k in range(count):
        c = cones[k]
        deepest = max(deepest, -c.rest)
        for j in range(3):
            f = c.gam if j == 0 else c.beta[j - 1]
            if c.source >= 0 and f != 0.0:
                work += 0.5 * f * (mean_work(states, c.da, 6 * j, c.a) + mean_work(states, c.db, 6 * j, c.b))
    return work > WORK * energy + 2.0 * total * gravity * deepest


@inline
def mean_work(states, wrench, at, body):
    """Power of the wrench at wrench[at : at + 6] on a body with its velocities of this step and the step before."""
    power = 0.0
    if body >= 0:
        s = states[body]
        for c in range(3):
            power += wrench[at + c] * (s.w[c] + s.x[c]) + wrench[at + 3 + c] * (s.vc[c] + s.x[3 + c])
    return power


@routine
def let_slip(cones, count):
    """Take friction from all contacts."""
    for k in range(count):
        c = cones[k]
        if c.kind == EXACT or c.kind == LINEAR:
            c.kind, c.beta[0], c.beta[1] = LIMIT, 0.0, 0.0


@routine
def forget_failure(states, rowstates, contact):
    """Back to the guess with which a failed step began, and no warm start from its contacts."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            s.w[c], s.vc[c] = s.x[c], s.x[3 + c]
    for k in range(rowstates.shape[0]):
        rowstates[k].lam = 0.0
    contact[7][8] = 0.0


@routine
def read_contact_momenta(cones, count, bodies, coordinates, states, other, H, p, share):
    """Joint momenta at the start of a solved step of order 2, with a share of the cones' impulses.

    With half of them, these are the mean of the momenta before and after all impulses at that time, as `read_momenta`
    gives them without cones; a body at rest on the ground then has no momentum.

    Args:
        other: scratch, shape (bodies, 6).
    """
    for i in range(bodies.shape[0]):
        for c in range(6):
            other[i, c] = states[i].P[c]
    for k in range(count):
        cone = cones[k]
        normal = 0.0 if cone.kind == DRY else cone.gam
        for c in range(6):
            if cone.a >= 0:
                f = normal * cone.da[c] + cone.beta[0] * cone.da[6 + c] + cone.beta[1] * cone.da[12 + c]
                other[cone.a, c] += share * f
            if cone.b >= 0:
                f = normal * cone.db[c] + cone.beta[0] * cone.db[6 + c] + cone.beta[1] * cone.db[12 + c]
                other[cone.b, c] += share * f
    swap_momenta(states, other)
    read_momenta(bodies, coordinates, states, H, p)
    swap_momenta(states, other)


@routine
def projection_matrix(model, rowstates, cstates, graph, values):
    """Matrix (M -G'; G 0) of `project_momenta` at the start poses, into values."""
    bodies, rows, coordinates, _, sizes, augment, _ = model
    diagonal, offsets = graph[3], graph[4]
    for k in range(values.shape[0]):
        values[k] = 0.0
    for i in range(bodies.shape[0]):
        d = diagonal[i]
        for r in range(3):
            for c in range(3):
                values[d + 6 * r + c] = bodies[i].J[3 * r + c]
            values[d + 7 * (3 + r)] = bodies[i].mass
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.armature > 0.0:
            add_pair(values, diagonal, offsets, c.edge, c.a, c.b, s.wa, s.wb, s.wa, s.wb, c.armature)
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        m = sizes[row.node]
        place_row(values, offsets, row.ea, m, row.local, s.wa, s.wa)
        place_row(values, offsets, row.eb, m, row.local, s.wb, s.wb)
        place_row(values, offsets, row.ea2, m, row.local, s.wa2, s.wa2)
        place_row(values, offsets, row.eb2, m, row.local, s.wb2, s.wb2)
        if augment[row.node] > 0.0:
            add_outer(values, diagonal[row.b], s.wb, s.wb, augment[row.node])
            if row.eab >= 0:
                add_outer(values, offsets[row.eab, 1 if row.a < row.b else 0], s.wb, s.wa, augment[row.node])


@routine
def project_momenta(model, states, rowstates, cstates, graph, work):
    """Take from the momenta what would violate the joints: P + G' mu with G M^-1 (P + G' mu) = 0.

    A step leaves this part open, for the next step's joint impulses take it up; velocities must not show it. Drive
    inertias count to M.
    """
    bodies, rows, coordinates = model[0], model[1], model[2]
    nodes, links, targets, _, _, first = graph
    values, pivots, scale, dx = work[0], work[1], work[2], work[5]
    projection_matrix(model, rowstates, cstates, graph, values)
    for i in range(dx.shape[0]):
        dx[i] = 0.0
    for i in range(bodies.shape[0]):
        for c in range(6):
            dx[first[i] + c] = states[i].P[c]
    singular, _ = factorize(nodes, links, targets, values, pivots, scale, 1e-11)
    if singular >= 0:
        for k in range(rows.shape[0]):
            rowstates[k].mu = 0.0
        return
    solve(nodes, links, values, pivots, dx, 1)
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        mu = dx[first[bodies.shape[0] + row.node] + row.local]
        s.mu = mu
        leader = coordinates[row.leader]
        for c in range(6):
            if row.ea >= 0:
                states[row.a].P[c] += mu * s.wa[c]
            if row.eb >= 0:
                states[row.b].P[c] += mu * s.wb[c]
            if row.ea2 >= 0:
                states[leader.a].P[c] += mu * s.wa2[c]
            if row.eb2 >= 0:
                states[leader.b].P[c] += mu * s.wb2[c]


@entry
def rollout(model, states, rowstates, cstates, graph, work, forces, contact, u, dt, substeps, halves, settings, rows):
    """Advance over the rows of the record; gives back (steps done, why it stopped: 0 at the end).

    Args:
        contact: arrays of `detection`, or None for a mechanism without contacts, limits and dry friction.
        u: controls, shape (steps, nodes, nu).
        substeps: fractions of dt of the steps that one step is composed of.
        rows: arrays (Z, P, q, p, iterations, violation, forces of the joints, how steps were divided) with
            steps + 1 rows, row 0 filled; then momenta without the impulses of forces at the end of a step, scratch,
            history of updates, whether there are loops, whether row 0 is the end of a step, what `guess` keeps, and
            what it kept at the start of the present step, which is divided, perhaps, when the loop stops: velocities
            and slopes (bodies, 12), and the clock.
    """
    Z, P, q, p, iterations, violation, impulses, divided, minus, H, history, loops, started, clock, kept, then = rows
    bodies, table, coordinates, coefficients, dampers = model[0], model[1], model[2], model[3], model[6]
    load_state(states, Z[0], P[0])
    count, steady, slip = np.int64(0), False, False
    for k in range(Z.shape[0] - 1):
        then[0], then[1] = clock[0], clock[1]
        for i in range(bodies.shape[0]):
            for c in range(6):
                kept[i, c], kept[i, 6 + c] = states[i].x[c], states[i].slope[c]
        for c in range(q.shape[1]):
            q[k + 1, c] = q[k, c]
        iterations[k + 1] = 0
        for j in range(substeps.shape[0]):
            divided[k + 1, j] = 0
        j, parts, part, h = 0, 1, 0, substeps[0] * dt
        while j < substeps.shape[0]:
            h = substeps[j] * dt / parts
            if k == 0 and j == 0 and part == 0:
                read_coordinates(coordinates, states, cstates, q[k + 1], h)
                start_rows(table, coordinates, coefficients, states, rowstates, cstates)
                start_paths(dampers, states)
            for i in range(bodies.shape[0]):
                for c in range(6):
                    states[i].I[c] = 0.0
            node = j if halves < 1.0 else 0
            start, end = np.int64(0), np.int64(1)  # typed, so that one kernel serves both
            add_impulses(bodies, coordinates, states, cstates, forces, q[k + 1], u[k, node], halves * h, start)
            if contact is None:
                extrapolate(bodies, states, rowstates, clock, h)
            else:
                guess(bodies, states)
                # A run starts with momenta that hold half of the impulses of that time already, dry friction's as well.
                contact[7][6] = halves if clock[0] == FIRST else 1.0
                count = find_cones(contact, bodies, states, coordinates, cstates, h)
                if count < 0:
                    return k, REPLAN if count == -1 else FULL
                if contact[9][0] + count > contact[8].shape[0]:
                    return k, FULL  # of the log: better now than after the step is solved
                if slip:
                    let_slip(contact[0], count)
            spent = solve_step(
                model, states, rowstates, cstates, graph, work, contact, count, h, halves, settings, history
            )
            iterations[k + 1] += abs(spent)
            if contact is not None:
                for _ in range(ROUNDS):
                    if spent < 0:
                        break
                    missed = add_missed(contact, count, bodies, states, h)
                    if missed < 0:
                        return k, FULL
                    if missed == 0:
                        break
                    count += missed
                    if slip:
                        let_slip(contact[0], count)
                    spent = solve_step(
                        model, states, rowstates, cstates, graph, work, contact, count, h, halves, settings, history
                    )
                    iterations[k + 1] += abs(spent)
                # Not by `parts`: those of a step that is solved again one by one are judged as they were.
                judged = spent >= 0 and count > 0 and clock[0] != FIRST and FINEST * h > contact[7][12]
                if judged and is_implausible(bodies, states, contact[0], count, contact[7][1], halves):
                    spent = -1 - spent
                # Smoothed contact gives back what it took.
                judged = judged and spent >= 0 and FINE * h > contact[7][12] and contact[7][11] == 0.0
                if judged and is_driven(bodies, states, contact[0], count, contact[7][1], halves):
                    spent = -1 - spent
            if spent < 0:
                # Nothing has changed but the guess: the rest of this step in shorter ones.
                if contact is not None:
                    forget_failure(states, rowstates, contact)
                if parts >= FINEST:
                    if contact is None or slip:
                        return k, FAILED
                    slip = True
                    continue
                divided[k + 1, j] = with_bit(divided[k + 1, j] if parts > 1 else 1, 1)
                parts, part = 2 * parts, 2 * part
                continue
            if contact is not None:
                if not note_contacts(contact, count, k, substeps[j] * dt):
                    return k, FULL
                # At an impact the momenta before it: the mean would be of neither.
                share = 0.0 if halves == 1.0 or is_impact(bodies, states, h, contact[7][1]) else 0.5
                steady = clock[0] == LATER and is_steady(bodies, states, h, contact[7][1])
                if halves < 1.0 and j == 0 and part == 0 and (k > 0 or started):
                    read_contact_momenta(contact[0], count, bodies, coordinates, states, minus, H, p[k], share)
            remember(states, rowstates, clock, h)
            if j == 0 and part == 0:
                for r in range(table.shape[0]):
                    impulses[k, r] = rowstates[r].force
            finish_step(bodies, states, h, count == 0)
            read_coordinates(coordinates, states, cstates, q[k + 1], h)
            start_rows(table, coordinates, coefficients, states, rowstates, cstates)
            add_rates(coordinates, states, cstates, h, halves)
            end_paths(dampers, states, h, halves)
            for i in range(bodies.shape[0]):
                for c in range(6):
                    minus[i, c] = states[i].P[c]
            if halves < 1.0:
                scale = (1.0 - halves) * h
                add_impulses(bodies, coordinates, states, cstates, forces, q[k + 1], u[k, j + 1], scale, end)
            if parts > 1:
                divided[k + 1, j] = -1 if slip else with_bit(divided[k + 1, j], 0)
            slip = False
            part += 1
            while parts > 1 and part % 2 == 0:  # two halves are done: on with what they are a half of
                part, parts = part // 2, parts // 2
            if part == parts:
                j, part = j + 1, 0
        worst = 0.0
        for r in range(table.shape[0]):
            worst = max(worst, abs(rowstates[r].g))
            impulses[k + 1, r] = rowstates[r].force
        violation[k + 1] = worst
        if loops:
            project_momenta(model, states, rowstates, cstates, graph, work)
            for r in range(table.shape[0]):
                impulses[k + 1, r] = 2.0 * rowstates[r].mu / h
        store_state(states, Z[k + 1], P[k + 1])
        reading = np.int64(READ_ALL)
        if contact is not None:
            if halves < 1.0 and bears_load(contact[0], count, bodies, contact[7][1] * dt):
                reading = READ_MEAN if steady else READ_WITHOUT
            if reading == READ_MEAN:
                read_contact_momenta(contact[0], count, bodies, coordinates, states, minus, H, p[k + 1], 0.5)
        if reading == READ_WITHOUT:
            swap_momenta(states, minus)
        if reading != READ_MEAN:
            read_momenta(bodies, coordinates, states, H, p[k + 1])
        if reading == READ_WITHOUT:
            swap_momenta(states, minus)
    return Z.shape[0] - 1, 0
