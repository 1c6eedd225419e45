"""Equations of the velocities at a node: the second phase of RATTLE (Hairer, Lubich and Wanner 2006, VII.1.4).

With the poses z at the end of a step and the momenta P there, the velocities T and the impulses mu of joints and L of
contacts satisfy

    (M + K) T = P + G(z)' mu + D(z)' L,    G(z) T = 0 (or a prescribed rate),
    Signorini's and Coulomb's laws of D(z) T, L

and P + G' mu + D' L - K T is the momentum of the node. M includes armature; K is the implicit part of strong dampers at
the end of the step that leads there (`assembly.end_damping`). In `data` this node is the start of the next step, so all
poses, gradients and momenta are those of the start.
"""

from leastaction._jit import routine
from leastaction.maximal.maximal_records import BALL, NOT_LENT
from leastaction.maximal.step.assembly import assemble
from leastaction.maximal.step.block_parts import add_pair, lend, place_row, push, work
from leastaction.maximal.step.forces.ball_springs import ball_axis
from leastaction.maximal.step.forces.prescribed_motion import goal_rate
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.spatial import load3, load9, matvec

APART = 1e6
"""Slack of contacts that are open in the second phase [m/s]: large enough that their impulse is zero."""

POSITIONS, VELOCITIES = 0, 1
"""Phases of a step, in `CONTACT_STATE`."""


@routine(allocates=False)
def equations(model, settings, data, contact, dt, fresh):
    """Residuals of the present phase, with `fresh` its matrix without contacts; the largest of a joint [m/s]."""
    if contact.now[0].phase == VELOCITIES:
        return velocity_equations(model, data, fresh)
    return assemble(model, settings, data, dt, fresh) / dt


@routine(allocates=False, vectors=True)
def velocity_matrix(model, data, values):
    """Write the matrix (M + K -G'; G 0) at the start poses to `values` on the graph."""
    bodies, rows, coordinates, augment = model.bodies, model.rows, model.coordinates, model.augment
    rowstates, cstates = data.rows, data.coordinates
    graph, diagonal, offsets = model.graph, model.graph.diagonal, model.graph.offsets
    for k in range(values.shape[0]):
        values[k] = 0.0
    for i in range(bodies.shape[0]):
        d = diagonal[i]
        for r in range(3):
            for c in range(3):
                values[d + 6 * r + c] = bodies[i].J[3 * r + c]
            values[d + 7 * r] += bodies[i].least * bodies[i].radius ** 2
            values[d + 7 * (3 + r)] = bodies[i].mass + bodies[i].least
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.armature > 0.0 and c.kind == BALL:
            for j in range(3):
                wa, wb = ball_axis(c, j, data.bodies)
                add_pair(graph, values, c, wa, wb, wa, wb, model.forces.dofs[c.iv + j].armature)
        elif c.armature + s.end_damping > 0.0:
            add_pair(graph, values, c, s.wa, s.wb, s.wa, s.wb, c.armature + s.end_damping)
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        m = model.sizes[row.node]
        place_row(values, offsets, row.ea, m, row.local, s.wa, s.wa)
        place_row(values, offsets, row.eb, m, row.local, s.wb, s.wb)
        place_row(values, offsets, row.ea2, m, row.local, s.wa2, s.wa2)
        place_row(values, offsets, row.eb2, m, row.local, s.wb2, s.wb2)
        if row.eab > NOT_LENT:
            ra, rb = augment[row.node, 0], augment[row.node, 1]
            lend(graph, values, row, s.wa, s.wb, s.wa, s.wb, ra, rb)


@routine(allocates=False)
def velocity_equations(model, data, fresh):
    """Residuals and right-hand side at the velocities (w, vc) and the row impulses lam in `data`; see `equations`."""
    bodies, rows, coordinates, first = model.bodies, model.rows, model.coordinates, model.graph.first
    states, rhs, n, worst = data.bodies, data.fixed, model.bodies.shape[0], 0.0
    if fresh:
        velocity_matrix(model, data, data.factors.values)
    for i in range(n):
        s, m = states[i], bodies[i].mass
        L = matvec(load9(bodies[i].J), load3(s.w))
        for c in range(3):
            s.r[c], s.r[3 + c] = L[c] - s.P[c], m * s.vc[c] - s.P[3 + c]
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], data.coordinates[k]
        if c.armature > 0.0 and c.kind == BALL:
            for j in range(3):
                wa, wb = ball_axis(c, j, states)
                drive(states, c, wa, wb, model.forces.dofs[c.iv + j].armature)
        elif c.armature + s.end_damping > 0.0:
            drive(states, c, s.wa, s.wb, c.armature + s.end_damping)
    for k in range(rows.shape[0]):
        row, s = rows[k], data.rows[k]
        rate = work(states, s.wa, row.a) + work(states, s.wb, row.b)
        push(states, row.a, s.wa, s.lam)
        push(states, row.b, s.wb, s.lam)
        if is_coupling(row):
            leader = coordinates[row.leader]
            rate += work(states, s.wa2, leader.a) + work(states, s.wb2, leader.b)
            push(states, leader.a, s.wa2, s.lam)
            push(states, leader.b, s.wb2, s.lam)
        if row.goal >= 0:
            rate -= goal_rate(row, s, data.goals[0])
        rhs[first[n + row.node] + row.local] = -rate
        worst = max(worst, abs(rate))
        if row.eab > NOT_LENT:
            push(states, row.a, s.wa, -model.augment[row.node, 0] * rate)
            push(states, row.b, s.wb, -model.augment[row.node, 1] * rate)
    for i in range(n):
        for c in range(6):
            rhs[first[i] + c] = -states[i].r[c]
    return worst


@routine(allocates=False)
def drive(states, c, wa, wb, inertia):
    """Add the momentum of an armature, or the impulse of an implicit damper, to the residuals of its bodies."""
    rate = work(states, wa, c.a) + work(states, wb, c.b)
    push(states, c.a, wa, -inertia * rate)
    push(states, c.b, wb, -inertia * rate)
