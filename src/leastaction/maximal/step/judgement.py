"""Is the solution of a step with contacts one that the motion leads to? And what else its velocities tell."""

import math

from leastaction._jit import inline, routine
from leastaction.contact.cones import DRY
from leastaction.maximal.step.bodies import momenta
from leastaction.maximal.step.goals import goal_work
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.spatial import dot3, load3, load9, matvec

STEADY = 0.5
"""Change of accelerations from step to step, relative to gravity's, up to which a motion is steady."""

IMPACT = 4.0
"""Impulses that change velocities by more than gravity does in so many steps are impacts."""

PLAUSIBLE = 1.2
"""Most that the kinetic energy may grow in a step with contacts, beside what forces and overlaps add."""

WORK, FINE, GROSS = 1e-3, 128, 0.02
"""Most that contacts, or contacts and joints, may add to the kinetic energy in a step, relative to it and to what all
forces and torques would give the bodies from rest; and in parts of 1 / FINE of a step, where what is small is taken as
it is."""


TURN, SPRUNG = 0.5, 0.1
"""Most that a body may turn in a step beyond what its velocity before accounts for [rad]; and where springs of joints
are stiff for the step: these give back what they hold, so the motion that they let go is to be followed."""


@routine(allocates=False)
def is_flipped(states, settings, dt):
    """Whether a body turns so far in a step that the motion before hardly leads there.

    Legs that fold and limbs that hit their stops have solutions on either side of a straight or folded configuration.
    Impacts change velocities, but what that turns a body by within a step shrinks with the step.
    """
    for i in range(states.shape[0]):
        s, change = states[i], 0.0
        for c in range(3):
            change += (s.w[c] - s.x[c]) ** 2
        if change * dt * dt > settings.turn * settings.turn:
            return True
    return False


@routine(allocates=False)
def is_impact(bodies, states, gravity, dt):
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


@routine(allocates=False)
def share_of_cones(bodies, states, gravity, dt):
    """Share of the impulses of a solved step's cones that is in the momenta at its start, at order 2.

    These hold half of the impulses of all forces of that time. Cones that bear such forces have half of theirs in them
    as well, so that what motors or springs press on a wall is at rest. At an impact it is none of theirs: these are the
    momenta before it, since the mean would be of neither. Where velocities jump by less than the forces in the momenta
    would make them, beside gravity, cones bear forces rather than stop a motion.
    """
    if not is_impact(bodies, states, gravity, dt):
        return 0.5
    jumped = pressed = 0.0  # twice the kinetic energy of both changes of velocities
    for i in range(bodies.shape[0]):
        s, m = states[i], bodies[i].mass
        if m > 0.0:
            J = load9(bodies[i].J)
            _, before = momenta(J, (s.x[0], s.x[1], s.x[2]), dt)
            after, _ = momenta(J, load3(s.w), dt)
            arm = bodies[i].radius
            spin = 1.0 / (m * arm * arm) if arm > 0.0 else 0.0
            for c in range(3):
                jumped += m * (s.vc[c] - s.x[3 + c]) ** 2 + spin * (after[c] - before[c]) ** 2
                pressed += (s.P[3 + c] - m * s.x[3 + c]) ** 2 / m + spin * (s.P[c] - before[c]) ** 2
            pressed -= m * (0.5 * gravity * dt) ** 2
    return 0.0 if jumped > pressed else 0.5


@routine(allocates=False)
def is_steady(bodies, states, gravity, dt):
    """Whether accelerations are about those of the step before, so that contacts push as they did."""
    most = STEADY * gravity
    for i in range(bodies.shape[0]):
        s = states[i]
        for c in range(3):
            turn, shift = (s.w[c] - s.x[c]) / dt - s.slope[c], (s.vc[c] - s.x[3 + c]) / dt - s.slope[3 + c]
            if abs(turn) * bodies[i].radius > most or abs(shift) > most:
                return False
    return True


@routine(allocates=False)
def is_implausible(model, data, settings, contact):
    """Whether a solved step has far more kinetic energy than the step before and its forces account for.

    Contacts and joints only take energy away, but the equations of a step that is too long for a fast motion, such as
    that of a leg through a singular configuration, may have other solutions, and Newton may find one of them.
    """
    bodies, states = model.bodies, data.bodies
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
    for k in range(contact.now[0].count):
        deepest = max(deepest, -contact.cones[k].rest)
    out_of_it = 2.0 * total * settings.gravity * deepest  # what getting out of an overlap may add, and more
    driven = max(goal_work(model, data, 0.5, 0.5, 1.0), 0.0)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        driven += max(-(c.beta[0] * c.drift[0] + c.beta[1] * c.drift[1]), 0.0)  # of moving surfaces
    # The bodies hold a share of the forces' impulses; the others are in their momenta already.
    before = math.sqrt(before) + math.sqrt(push) / settings.halves
    return now > PLAUSIBLE * (before * before + driven) + out_of_it


@routine(allocates=False)
def is_driven(model, data, settings, contact, dt):
    """Whether the contacts of a solved step have added energy; at an impact, whether they and the joints have.

    Their impulses act along the directions and at the points of the start of the step, while their gaps are those of
    its end. Where a body turns far within a step, the two may differ so much that an impact drives it. What joints add
    to a smooth motion they take again. In fine parts, what contacts bear of motors that press on them is no impact.
    """
    bodies, states, halves = model.bodies, data.bodies, settings.halves
    energy, work, deepest, total = 0.0, 0.0, 0.0, 0.0
    for i in range(bodies.shape[0]):
        s, m, x = states[i], bodies[i].mass, states[i].x
        if m > 0.0:
            w, v, push = (x[0], x[1], x[2]), (x[3], x[4], x[5]), (s.I[3], s.I[4], s.I[5])
            turn = (s.I[0], s.I[1], s.I[2])
            energy += 0.5 * (m * dot3(v, v) + dot3(w, matvec(load9(bodies[i].J), w)))
            # What motors alone hold on a wall is at rest, too: without their torques round-off would count as driven.
            energy += 0.5 * (dot3(push, push) + dot3(turn, turn) / bodies[i].radius ** 2) / (m * halves * halves)
            total += m
    joined = hit = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        deepest = max(deepest, -c.rest)
        hit = max(hit, push_of(bodies, c)) if c.kind < DRY else hit
        for j in range(3):
            f = c.gam if j == 0 else c.beta[j - 1]
            if f != 0.0 and not (c.kind >= DRY and j == 0):
                power = 0.5 * f * (mean_work(states, c.da, 6 * j, c.a) + mean_work(states, c.db, 6 * j, c.b))
                power += f * c.drift[j - 1] if j > 0 else 0.0  # beside what moving surfaces give
                joined += power
                work += power if c.source >= 0 else 0.0
    fine = FINE * dt <= settings.whole
    if hit > (contact.now[0].push if fine else 0.0) and is_impact(bodies, states, settings.gravity, dt):
        work = max(work, joined + joint_work(model, data))
    most = GROSS if fine else WORK
    return work > most * energy + 2.0 * total * settings.gravity * deepest


@inline
def push_of(bodies, c):
    """Normal impulse of a contact or limit; of a limit that is a torque, the force at the body's radius [N s]."""
    if c.source >= 0 or c.b < 0 or c.db[3] != 0.0 or c.db[4] != 0.0 or c.db[5] != 0.0:
        return c.gam
    return c.gam / bodies[c.b].radius if bodies[c.b].radius > 0.0 else c.gam


@routine(allocates=False)
def joint_work(model, data):
    """Work of the joints' impulses in a solved step, with the mean of its velocities and those before [J]."""
    states, work = data.bodies, 0.0
    for k in range(model.rows.shape[0]):
        row, s = model.rows[k], data.rows[k]
        if row.goal >= 0:
            continue  # what prescribed motions bring in is theirs
        power = mean_work(states, s.wa, 0, row.a) + mean_work(states, s.wb, 0, row.b)
        if is_coupling(row):
            leader = model.coordinates[row.leader]
            power += mean_work(states, s.wa2, 0, leader.a) + mean_work(states, s.wb2, 0, leader.b)
        work += 0.5 * s.lam * power
    return work


@inline
def mean_work(states, wrench, at, body):
    """Power of the wrench at wrench[at : at + 6] on a body with its velocities of this step and the step before."""
    power = 0.0
    if body >= 0:
        s = states[body]
        for c in range(3):
            power += wrench[at + c] * (s.w[c] + s.x[c]) + wrench[at + 3 + c] * (s.vc[c] + s.x[3 + c])
    return power
