"""Have the contacts of a solved step added energy?"""

from leastaction._jit import inline, routine
from leastaction.contact.cones import DRY
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.maximal.step.judgement import is_impact
from leastaction.maximal.step.spring_impacts import spring_work
from leastaction.spatial import dot3, load9, matvec

WORK, FINE, GROSS = 1e-3, 128, 0.02
"""Most that contacts, or contacts and joints, may add to the kinetic energy in a step, relative to it and to what all
forces and torques would give the bodies from rest; and in parts of 1 / FINE of a step, where what is small is taken as
it is."""


@routine(allocates=False)
def is_driven(model, data, settings, contact, dt):
    """Whether the contacts of a solved step have added energy; at an impact, whether they, joints and springs have.

    Their impulses act along the directions and at the points of the start of the step, while their gaps are those of
    its end. Where a body turns far within a step, the two may differ so much that an impact drives it. What joints add
    to a smooth motion they take again. In fine parts, what contacts bear of motors that press on them is no impact.
    """
    bodies, states, halves = model.bodies, data.bodies, settings.halves
    energy, work, deepest, total = 0.0, 0.0, 0.0, 0.0
    for i in range(bodies.shape[0]):
        s, m, x = states[i], bodies[i].mass, states[i].x
        if m > 0.0:
            w, v, kick = (x[0], x[1], x[2]), (x[3], x[4], x[5]), data.kicks[0, i]
            push = (s.I[3] + kick[3], s.I[4] + kick[4], s.I[5] + kick[5])
            turn = (s.I[0] + kick[0], s.I[1] + kick[1], s.I[2] + kick[2])
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
        work = max(work, joined + joint_work(model, data) + spring_work(model, settings, data, contact, dt))
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
