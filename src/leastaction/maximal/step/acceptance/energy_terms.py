"""The terms of a substep's energy balance (see `step_control.energy_balance`), from the solution of its two phases.

With the velocity of the poses vbar = (v, s w), s = cos(a / 2) for a body that rotates by a, the momenta at both ends of
a free body have the same energy, and impulses k- and k+ at the two ends change it by (k- + k+) . vbar, up to half the
squares of both, which cancel up to O(h^3) in smooth motion. So the work of forces is that of their impulses there:

    forces    (P0(y) - p0 - G' lam - D' f) . vbar at the start, (p1 - P1(y)) . vbar at the end, before the second phase;
              P0(y), P1(y): momenta of the action, without those of the armature, which are kinetic
    springs   the change of their energy replaces the work of their impulses; work beyond it counts as a gain
    prescribed motions and moving surfaces   the work of their impulses in both phases

T is the kinetic energy of the velocities that belong to the momenta, so joints have no power at either end.
"""

import math

from leastaction._jit import inline, is_set, routine
from leastaction.contact.laws import cones as ip
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.acceptance.failed_substeps import touches
from leastaction.maximal.step.acceptance.kinetic_bound import extrapolated_energy
from leastaction.maximal.step.bodies import momenta
from leastaction.maximal.step.forces.prescribed_motion import goal_rate
from leastaction.maximal.step.forces.tendon_springs import length_defect
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.maximal.step.velocity_projection import SOLVED, is_closed, is_damped_at_end, project_free_node
from leastaction.spatial import load3, load9
from leastaction.step_control.energy_balance import TOLERANCE, is_balanced, largest_gain

KNOWN = 0.03 * TOLERANCE
"""Relative error of an estimated kinetic energy that is negligible in the balance."""


@inline
def cosine(s, dt):
    """Cosine of half of the angle that a body rotates by in the substep."""
    return math.sqrt(max(1.0 - 0.25 * dt * dt * (s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2), 0.0))


@inline
def power(states, wrench, at, body, dt):
    """Power of the wrench at wrench[at : at + 6] on a body at the velocity vbar."""
    if body < 0:
        return 0.0
    s = states[body]
    turn = wrench[at] * s.w[0] + wrench[at + 1] * s.w[1] + wrench[at + 2] * s.w[2]
    return cosine(s, dt) * turn + wrench[at + 3] * s.vc[0] + wrench[at + 4] * s.vc[1] + wrench[at + 5] * s.vc[2]


@inline
def row_power(model, states, k, s, dt):
    """Power of a unit impulse of row k, with the wrenches in its state s."""
    row = model.rows[k]
    out = power(states, s.wa, 0, row.a, dt) + power(states, s.wb, 0, row.b, dt)
    if is_coupling(row):
        leader = model.coordinates[row.leader]
        out += power(states, s.wa2, 0, leader.a, dt) + power(states, s.wb2, 0, leader.b, dt)
    return out


@routine(allocates=False)
def start_work(model, data, contact, dt):
    """Work at the start of a solved substep, before `end_part`: (of forces, of prescribed motions) [J].

    The work of moving surfaces counts as one of forces.
    """
    states, forces, given = data.bodies, 0.0, 0.0
    for i in range(states.shape[0]):
        s = states[i]
        left, _ = momenta(load9(model.bodies[i].J), load3(s.w), dt)
        cos, m = cosine(s, dt), model.bodies[i].mass
        for c in range(3):
            forces += (left[c] - s.P[c]) * cos * s.w[c] + (m * s.vc[c] - s.P[3 + c]) * s.vc[c]
    for k in range(model.rows.shape[0]):
        s = data.rows[k]
        rate = row_power(model, states, k, s, dt)
        forces -= s.lam * rate
        if model.rows[k].goal >= 0:
            given += (s.lam - s.owed) * rate
    if contact is not None:
        for k in range(contact.now[0].count):
            c = contact.cones[k]
            for j in range(3):
                f = c.gam if j == 0 else c.beta[j - 1]
                if f != 0.0 and not (c.kind >= ip.DRY and j == 0):
                    forces -= f * (power(states, c.da, 6 * j, c.a, dt) + power(states, c.db, 6 * j, c.b, dt))
        forces += surface_work(contact)
    return forces, given


@routine(allocates=False)
def surface_work(contact):
    """Work of moving surfaces with the impulses of the present phase [J]."""
    work = 0.0
    if contact is None:
        return work
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source >= 0:
            work -= c.beta[0] * c.drift[0] + c.beta[1] * c.drift[1]
    return work


@routine(allocates=False)
def end_work(model, settings, data, dt):
    """Work of forces at the end of a substep [J]; `data` is at the next start, before the second phase.

    Includes the difference between the energy change of springs over the substep and the work of their impulses.
    """
    states, start, forces, kicks = data.bodies, data.start, 0.0, 0.0
    for i in range(states.shape[0]):
        s = states[i]
        _, right = momenta(load9(model.bodies[i].J), load3(s.w), dt)
        cos, m = cosine(s, dt), model.bodies[i].mass
        for c in range(3):
            forces += (s.P[c] - right[c]) * cos * s.w[c] + (s.P[3 + c] - m * s.vc[c]) * s.vc[c]
            kicks += (data.kicks[0, i, c] + data.kicks[1, i, c]) * cos * s.w[c]
            kicks += (data.kicks[0, i, 3 + c] + data.kicks[1, i, 3 + c]) * s.vc[c]
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.armature > 0.0 and c.kind != BALL and c.kind != FREE:
            one, other = data.coordinates[k], start.coordinates[k]
            now = power(states, one.wa, 0, c.a, dt) + power(states, one.wb, 0, c.b, dt)
            was = power(states, other.wa, 0, c.a, dt) + power(states, other.wb, 0, c.b, dt)
            forces -= c.armature * one.rate * (now - was)
    forces += data.stretched[0] / (settings.halves * dt) - kicks
    return forces + length_defect(model, settings, data, dt, model.sprung)


@routine(allocates=False)
def node_work(model, data, dt):
    """Work of prescribed motions at the end of a substep [J], with the impulses of `kinetic_energy_at_node`."""
    work = 0.0
    if model.goals.shape[0] == 0:
        return work
    for k in range(model.rows.shape[0]):
        if model.rows[k].goal >= 0:
            s = data.rows[k]
            work += (s.mu + s.owed) * row_power(model, data.bodies, k, s, dt)
    return work


@routine(allocates=False)
def kinetic_energy_at_node(model, data, contact, phase, dt, loops):
    """Kinetic energy of the momenta at the end of a substep of dt [J]; negative where it is not known.

    The momenta of closed loops are projected.

    Args:
        phase: status of the second phase of contacts, see `project_velocities`.
        loops: see `MaximalSettings`.
    """
    for k in range(data.rows.shape[0]):
        data.rows[k].owed = 0.0
    if phase != SOLVED:
        if not is_set(loops) and model.goals.shape[0] == 0 and not is_damped_at_end(data.coordinates):
            energy, error = extrapolated_energy(model, data, dt)
            if error <= KNOWN * energy:
                return energy
        return kinetic_energy_at_free_node(model, data, contact, loops)
    energy = 0.0
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            energy += 0.5 * data.bodies[i].P[c] * data.dV[i, c]
    return energy


@routine(allocates=False)
def kinetic_energy_at_free_node(model, data, contact, loops):
    """`kinetic_energy_at_node` without contacts.

    In trees the momenta are not projected, unless there are strong dampers: the next joint impulses remove their
    part along the constraints. The impulses of prescribed motions that the momenta lack are stored as `owed`.
    """
    n, first, rows, dx, energy = model.bodies.shape[0], model.graph.first, model.rows, data.dx, -1.0
    held = is_set(loops) or is_damped_at_end(data.coordinates)
    skipped = project_free_node(model, data, held)
    if skipped >= 0:
        energy = 0.0
        for i in range(n):
            for c in range(6):
                energy += 0.5 * data.bodies[i].P[c] * data.dV[i, c]
    for k in range(rows.shape[0]):
        mu, s = dx[first[n + rows[k].node] + rows[k].local] if skipped >= 0 else 0.0, data.rows[k]
        s.owed = 0.0
        if rows[k].goal >= 0:
            energy += 0.0 if held else 0.5 * mu * goal_rate(rows[k], s, data.goals[0])
            s.owed = 0.0 if held else mu
    if contact is not None:
        contact.now[0].kept_second = 0.0
        if loops is not None and loops:
            contact.now[0].independent = 1 if skipped == 0 else 0
    return energy


@routine(allocates=False)
def keeps_balance(model, settings, data, contact, work, dt):
    """Whether a substep of dt, at whose end `data` is, keeps its energy balance; work: of all that acts [J].

    Not tested are smoothed contact, which gives back energy that it stored; substeps of compositions, whose gains and
    losses alternate; order 1, where forces all act at the start, so that energies at nodes err by the product of their
    impulse with that of the joints; and steps with dampers so strong that they are implicit at the end
    (`assembly.end_damping`), whose squared impulses are large. A floating robot in flight is tested in its COM frame.
    Motors that press on contacts hardly move: the tolerance grows with their impulse as with that of gravity, not with
    that of springs, which may be stiff.
    """
    before, after, mass = data.start.past[0].kinetic, data.past[0].kinetic, 0.0
    if not settings.balanced or before < 0.0 or after < 0.0 or is_damped_at_end(data.coordinates):
        return True
    for i in range(model.bodies.shape[0]):
        mass += model.bodies[i].mass
    kick, gain = 0.5 * mass * (settings.gravity * dt) ** 2, after - before - work
    # Prescribed motions whose rate jumps start with an impact.
    lossless = not pushes(contact) and model.goals.shape[0] == 0
    if not lossless:
        kick = max(kick, kick_energy(model.bodies, data.bodies, settings.halves))
    if lossless and settings.floating:
        before, after = before - common_energy(data.start.bodies, mass), after - common_energy(data.bodies, mass)
    most = largest_gain(before, after, kick)
    if contact is not None:
        deepest = 0.0
        for k in range(contact.now[0].count):
            deepest = max(deepest, -contact.cones[k].rest)
        most += 2.0 * mass * settings.gravity * deepest  # possible gain from resolving a penetration
        if settings.smoothing > 0.0 and touches(contact):
            return True
    return is_balanced(gain, most, lossless)


@routine(allocates=False)
def pushes(contact):
    """Whether a contact or limit was closed in the first phase of a substep, or a joint has dry friction."""
    found = False
    if contact is not None:
        for k in range(contact.now[0].count):
            found = found or is_closed(contact.cones[k])
    return found


@routine(allocates=False)
def kick_energy(bodies, states, halves):
    """Kinetic energy that the known forces of a substep would give the bodies from rest without joints [J]."""
    energy = 0.0
    for i in range(bodies.shape[0]):
        m, I = bodies[i].mass, states[i].I
        if m > 0.0:
            turn = (I[0] ** 2 + I[1] ** 2 + I[2] ** 2) / bodies[i].radius ** 2
            energy += 0.5 * (turn + I[3] ** 2 + I[4] ** 2 + I[5] ** 2) / (m * halves * halves)
    return energy


@routine(allocates=False)
def common_energy(states, mass):
    """Kinetic energy of the COM motion: of the total mass [kg] with the total linear momentum [J]."""
    energy = 0.0
    for c in range(3):
        total = 0.0
        for i in range(states.shape[0]):
            total += states[i].P[3 + c]
        energy += 0.5 * total * total / mass if mass > 0.0 else 0.0
    return energy
