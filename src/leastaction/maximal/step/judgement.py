"""Is the solution of a step with contacts one that the motion leads to?"""

import math

from leastaction._jit import routine
from leastaction.maximal.step.bodies import momenta
from leastaction.maximal.step.goals import goal_work
from leastaction.spatial import dot3, load3, load9, matvec

IMPACT = 4.0
"""Impulses that change velocities by more than gravity does in so many steps are impacts."""

PLAUSIBLE = 1.2
"""Most that the kinetic energy may grow in a step with contacts, beside what forces and overlaps add."""

TURN, SPRUNG = 0.5, 0.1
"""Most that a body may turn in a step beyond what its velocity before accounts for [rad]; and where springs on joints
swing faster than steps follow: these give back what they hold, so the motion that they let go is to be followed."""


@routine(allocates=False)
def is_flipped(states, most, dt):
    """Whether a body turns so far in a step, by more than `most` [rad], that the motion before hardly leads there.

    Legs that fold and limbs that hit their stops have solutions on either side of a straight or folded configuration.
    Impacts change velocities, but what that turns a body by within a step shrinks with the step.
    """
    for i in range(states.shape[0]):
        s, change = states[i], 0.0
        for c in range(3):
            change += (s.w[c] - s.x[c]) ** 2
        if change * dt * dt > most * most:
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
            for c in range(3):
                push += (s.I[3 + c] + data.kicks[0, i, 3 + c]) ** 2 / m
                push += (s.I[c] + data.kicks[0, i, c]) ** 2 / (m * bodies[i].radius ** 2)
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
