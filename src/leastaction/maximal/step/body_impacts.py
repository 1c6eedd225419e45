"""Impacts of contacts with restitution on the bodies of `Maximal`; the impact law is in `contact.laws.restitution`.

Where a substep begins with closed contacts that approach, momenta jump (`reflect`). Each impact is solved like the
second phase of a step (`velocity_projection`), in zero time, with all other contacts open and without compliance. Open
contacts with restitution "wait", outside the substep's problem; `find_impact` finds when the first of them closes.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.laws.restitution import (
    HITS,
    NEAREST,
    closes_now,
    is_closed,
    next_end,
    returned_share,
    time_of_impact,
)
from leastaction.contact.narrow_phase.closest_points import tangents
from leastaction.contact.narrow_phase.gap import gap
from leastaction.maximal.contact.contact_setup import cone_of, node_rate
from leastaction.maximal.step.block_parts import work
from leastaction.maximal.step.bodies import move, start_pose
from leastaction.maximal.step.forces.prescribed_motion import goal_rate
from leastaction.maximal.step.initial_guess import FIRST
from leastaction.maximal.step.solver.contact_masses import weigh_cone
from leastaction.maximal.step.solver.predictor_corrector import measure
from leastaction.maximal.step.solver.semismooth_newton import OPEN
from leastaction.maximal.step.velocity_equations import APART, POSITIONS, VELOCITIES
from leastaction.maximal.step.velocity_projection import (
    push_cone,
    push_row,
    solve_projection,
    solve_velocities,
    with_exchanged_factors,
)
from leastaction.spatial import add3, load3, scale3


@inline
def restitution_of(contact, c):
    """Coefficient of restitution of a cone; 0 for limits, dry friction, and torsional and rolling friction."""
    return contact.contacts[c.source].restitution if c.source >= 0 and c.kind < ip.DRY else 0.0


@inline
def normal_rate(states, c):
    """Rate of the gap of a cone at the velocities in `states` [m/s or rad/s]."""
    return work(states, c.da[0:6], c.a) + work(states, c.db[0:6], c.b)


@inline
def momentum_rate(bodies, states, c):
    """Rate of the gap of a cone at the velocities M^-1 P of the start momenta, as of free bodies [m/s]."""
    return node_rate(c.da, 0, bodies, states, c.a) + node_rate(c.db, 0, bodies, states, c.b)


@routine(allocates=False)
def may_have_impact(bodies, settings, data, contact):
    """Whether an impact is possible in this substep: from the gaps and a bound on the approach velocities."""
    for k in range(contact.now[0].count + contact.now[0].waiting):
        c = cone_of(contact, k)
        if restitution_of(contact, c) == 0.0:
            continue
        if is_closed(c.gap, settings.gravity, settings.whole):
            rate = -math.inf if data.past[0].known == FIRST else momentum_rate(bodies, data.bodies, c)
        else:
            rate = -speed_of(contact, c.a) - speed_of(contact, c.b)
        if closes_now(c.gap, rate, settings.gravity, settings.whole):
            return True
    return False


@inline
def speed_of(contact, body):
    """Bound on the speed of a body [m/s]."""
    return contact.speeds[body] if body >= 0 else 0.0


@routine(allocates=False)
def reflect(model, settings, data, contact, dt):
    """Apply the impacts of closed contacts that approach to the momenta at the start; returns whether any was possible.

    The cones in use are those of the start; the caller must detect them again for the new velocities in `data`.
    """
    now, states = contact.now[0], data.bodies
    now.hits = 0
    if settings.smoothing > 0.0 or not may_have_impact(model.bodies, settings, data, contact):
        return False
    count = now.count
    sure = now.sure
    for i in range(states.shape[0]):
        for c in range(6):
            data.external[i, c] = states[i].P[c]
            data.subtrees[i, c] = states[i].P[c] - data.minus[i, c]
    at, most = contact.written[0], HITS * begin_impact(model, contact)
    solved, hits = node_velocities(model, data), 0
    while solved and hits < most and choose_approaching(settings, data, contact):
        solved, taken = plastic_hit(model, settings, data, contact, dt)
        if solved:
            now.node_work += goal_work(model, data)
            solved, share = restitution_share(model, data, contact, taken)
            now.node_work += share * goal_work(model, data)
            log_hit(settings, contact, hits == 0, at, share)
            hits += 1
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(6):
            if hits > 0:
                data.minus[i, c] = s.P[c] - data.subtrees[i, c]
                s.slope[c], s.x[c] = 0.0, s.w[c] if c < 3 else s.vc[c - 3]
            else:
                s.P[c] = data.external[i, c]
        for c in range(3):
            s.w[c], s.vc[c] = s.x[c], s.x[3 + c]
    for k in range(data.rows.shape[0]):
        s = data.rows[k]
        s.lam, s.mu, s.owed = 0.0, 0.0, 0.0 if hits > 0 else s.owed
    if hits > 0:
        data.past[0].kinetic = kinetic_energy(states)
    now.count, now.phase, now.hits = count, POSITIONS, hits
    now.sure = sure
    return True


@routine(allocates=False)
def begin_impact(model, contact):
    """Prepare all cones, including those that wait, for an impact: without compliance and without dry friction.

    Returns the number of cones that may collide.
    """
    now, cones, closed = contact.now[0], contact.cones, 0
    for k in range(now.waiting):
        cones[now.count + k] = cones[cones.shape[0] - now.waiting + k]
        now.energy = max(now.energy, cones[now.count + k].target_share)
    now.count, now.phase, now.kept_second = now.count + now.waiting, VELOCITIES, 0.0
    for k in range(now.count):
        c = cones[k]
        weigh_cone(model.bodies, c, now.load)
        c.compliance = c.slip_compliance = 0.0
        c.deepest, c.share, c.target_share = 1.0, 1.0, 1.0
        if c.kind == ip.DRY:
            c.kind, c.gap = ip.LIMIT, APART
        if c.kind < ip.DRY:
            closed += 1
    return closed


@routine(allocates=False)
def node_velocities(model, data):
    """Velocities (w, vc) of the momenta, which it projects on the joint constraints; False where that is singular."""
    states, first = data.bodies, model.graph.first
    if solve_projection(model, data) < 0:
        return False
    for k in range(model.rows.shape[0]):
        data.rows[k].mu = data.dx[first[states.shape[0] + model.rows[k].node] + model.rows[k].local]
        push_row(model, data, k, data.rows[k].mu)
    for i in range(states.shape[0]):
        for c in range(3):
            states[i].w[c], states[i].vc[c] = data.dx[first[i] + c], data.dx[first[i] + 3 + c]
    return True


@routine(allocates=False)
def kinetic_energy(states):
    """Kinetic energy of the momenta P and their velocities (w, vc) [J]."""
    energy = 0.0
    for i in range(states.shape[0]):
        for c in range(3):
            energy += 0.5 * (states[i].P[c] * states[i].w[c] + states[i].P[3 + c] * states[i].vc[c])
    return energy


@routine(allocates=False)
def goal_work(model, data):
    """Work of the constraint impulses mu of prescribed motions at a node [J]."""
    total = 0.0
    for k in range(model.rows.shape[0]):
        if model.rows[k].goal >= 0:
            total += data.rows[k].mu * goal_rate(model.rows[k], data.rows[k], data.goals[0])
    return total


@routine(allocates=False)
def choose_approaching(settings, data, contact):
    """Open all cones except those that collide at the velocities in `data`; returns whether any collides."""
    found = False
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        shut = restitution_of(contact, c) > 0.0 or is_closed(c.gap, settings.gravity, settings.whole)
        struck = shut and closes_now(c.gap, normal_rate(data.bodies, c), settings.gravity, settings.whole)
        found = found or struck
        c.offset = 0.0 if struck else APART
        c.mode, c.s = OPEN, 1.0 if struck else APART
        c.gam = c.beta[0] = c.beta[1] = c.ry[0] = c.ry[1] = c.y[0] = c.y[1] = 0.0
        contact.impulses[k, 0] = contact.impulses[k, 1] = contact.impulses[k, 2] = 0.0
    return found


@routine(allocates=False)
def plastic_hit(model, settings, data, contact, dt):
    """Apply the plastic impulses of the approaching cones; (whether they were found, energy they dissipate [J])."""
    now, states = contact.now[0], data.bodies
    keep_velocities(data)
    for k in range(data.rows.shape[0]):
        data.rows[k].lam = 0.0
    if not solve_velocities(model, settings, with_exchanged_factors(data), contact, dt):
        for i in range(states.shape[0]):
            for c in range(3):
                states[i].w[c], states[i].vc[c] = data.T[i, c], data.T[i, 3 + c]
        return False, 0.0
    now.kept_second = 0.0
    taken = -plastic_work(data, contact)
    for k in range(now.count):
        push_cone(data, contact.cones[k])
    for k in range(data.rows.shape[0]):
        data.rows[k].mu = data.rows[k].lam
        push_row(model, data, k, data.rows[k].lam)
    return True, taken


@routine(allocates=False)
def restitution_share(model, data, contact, taken):
    """Apply the restitution impulses of a plastic impact that dissipated `taken` [J]; (success, fraction applied).

    The momenta and velocities before it stay in `data.dF` and `data.T`.
    """
    now, states, linear = contact.now[0], data.bodies, 0.0
    keep_velocities(data)
    for i in range(states.shape[0]):
        for c in range(6):
            data.dF[i, c] = states[i].P[c]
    for k in range(now.count):
        c = contact.cones[k]
        back = restitution_of(contact, c) * c.gam
        linear += back * normal_rate(states, c)
        push_normal(data, c, back)
    if not node_velocities(model, data):
        return False, 0.0
    square = -linear
    for k in range(now.count):
        c = contact.cones[k]
        square += restitution_of(contact, c) * c.gam * normal_rate(states, c)
    share = returned_share(0.5 * square, linear, taken)
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(6):
            s.P[c] = data.dF[i, c] + share * (s.P[c] - data.dF[i, c])
        for c in range(3):
            s.w[c] = data.T[i, c] + share * (s.w[c] - data.T[i, c])
            s.vc[c] = data.T[i, 3 + c] + share * (s.vc[c] - data.T[i, 3 + c])
    return True, share


@routine(allocates=False)
def keep_velocities(data):
    """Save the velocities of a node in `data.T`."""
    for i in range(data.bodies.shape[0]):
        for c in range(3):
            data.T[i, c], data.T[i, 3 + c] = data.bodies[i].w[c], data.bodies[i].vc[c]


@routine(allocates=False)
def plastic_work(data, contact):
    """Work of the impulses of all cones at the mean of the velocities before (`data.T`) and after them [J]."""
    states, total = data.bodies, 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.offset >= APART:
            continue
        if c.kind < ip.DRY:
            total += 0.5 * c.gam * (normal_rate(states, c) + kept_rate(data, c, 0))
        if c.kind != ip.LIMIT:
            for j in range(2):
                slip = work(states, c.da[6 + 6 * j : 12 + 6 * j], c.a) + work(states, c.db[6 + 6 * j : 12 + 6 * j], c.b)
                total += c.beta[j] * (0.5 * (slip + kept_rate(data, c, 1 + j)) + c.drift[j])
    return total


@inline
def kept_rate(data, c, row):
    """Rate of a cone along n, t1 or t2 (row 0, 1, 2) at the velocities in `data.T`."""
    rate = 0.0
    for i in range(6):
        if c.a >= 0:
            rate += c.da[6 * row + i] * data.T[c.a, i]
        if c.b >= 0:
            rate += c.db[6 * row + i] * data.T[c.b, i]
    return rate


@inline
def push_normal(data, c, f):
    """Add a normal impulse f of a cone to the momenta."""
    for i in range(6):
        if c.a >= 0:
            data.bodies[c.a].P[i] += f * c.da[i]
        if c.b >= 0:
            data.bodies[c.b].P[i] += f * c.db[i]


@routine(allocates=False)
def log_hit(settings, contact, first, at, share):
    """Add the impulses of an impact over the step length [N] to the log, see `contact_setup.append_contacts`."""
    log, dt = contact.log, settings.whole
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source < 0 or c.kind == ip.TURN:
            continue
        row, n = log[at], load3(c.normal)
        t1, t2 = tangents(n)
        if first:
            row[0], row[1], row[2], row[9] = contact.now[0].step, c.a, c.b, c.gap
            for i in range(3):
                row[3 + i], row[6 + i] = c.point[i], 0.0
            contact.written[0] += 1
        normal = (1.0 + share * restitution_of(contact, c)) * c.gam
        f = add3(scale3(normal, n), add3(scale3(c.beta[0], t1), scale3(c.beta[1], t2)))
        for i in range(3):
            row[6 + i] += f[i] / dt
        at += 1


@routine(allocates=False)
def find_impact(model, settings, data, contact, dt):
    """Store in `now` when the first waiting contact closes in a solved substep of dt, see `CONTACT_STATE`.

    Returns whether any waiting contact penetrates at the end of the substep by more than NEAREST.
    """
    now, states = contact.now[0], data.bodies
    now.impact, now.nearest = math.inf, math.inf
    if now.waiting == 0:
        return False
    for i in range(states.shape[0]):
        move(states[i], dt)
    for k in range(now.waiting):
        c = contact.cones[contact.cones.shape[0] - 1 - k]
        if c.kind == ip.TURN:
            continue
        c.gap, _, _ = measure(model.coordinates, states, data.coordinates, contact.contacts, c)
        begin, _, _ = gap(contact.contacts[c.source], start_pose(states, c.a), start_pose(states, c.b))
        now.nearest = min(now.nearest, c.gap)
        rate = momentum_rate(model.bodies, states, c)
        if begin > 0.0 and (c.gap < 0.0 or rate < 0.0):
            now.impact = min(now.impact, time_of_impact(begin, rate, c.gap, dt))
    return now.nearest < -NEAREST


@routine(allocates=False)
def end_at_impact(contact, span, whole, bracket):
    """Call `restitution.next_end` with the results of `find_impact`: where the substep should end instead."""
    now = contact.now[0]
    found = next_end(now.nearest, now.nearest_before, now.impact, span, whole, bracket, NEAREST)
    now.nearest_before = now.nearest
    return found
