"""The Newton system of a step: residuals of the bodies, joint equations, and the blocks of their Jacobian.

Unknowns are (w, v) of each body within the step and the impulse lam of each joint row (Bruedigam 2023, Eq. 29). With
poses z at the start and z1 at the end of the step, the equations are

    D1 of the action - P - I - G(z)' lam - (contacts) = 0        6 equations for each body
    g(z1) / dt = 0                                               one for each row

The blocks are stored in one flat array at the offsets of the graph's plan (`linalg.graph`).
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_limits import limit_slopes
from leastaction.maximal.maximal_records import BALL, FREE, NOT_LENT
from leastaction.maximal.step.block_parts import (
    add_kick,
    add_pair,
    end_row,
    lend,
    lent,
    place_row,
    push,
    store_wrench,
    work,
)
from leastaction.maximal.step.bodies import end_pose, momenta, momentum_slope, move, start_pose
from leastaction.maximal.step.forces.ball_drives import push_drive
from leastaction.maximal.step.forces.ball_springs import ball_axis, turning_springs
from leastaction.maximal.step.forces.body_damping import implicit_resistance
from leastaction.maximal.step.forces.path_springs import implicit_paths
from leastaction.maximal.step.forces.tendon_springs import implicit_lengths
from leastaction.maximal.step.joint_rows import coordinate, equation, goal_frame, is_coupling, is_screw, polynomial
from leastaction.spatial import load3, load9, scale3


@routine(allocates=False)
def start_rows(model, data):
    """Violations and gradients of the joint rows at the start poses; `data` must hold the coordinates there."""
    coordinates, rows = model.coordinates, model.rows
    states, cstates, rowstates = data.bodies, data.coordinates, data.rows
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.kind == BALL or c.kind == FREE:
            continue
        Ra, xa = start_pose(states, c.a)
        Rb, xb = start_pose(states, c.b)
        _, tb, ta, f = coordinate(c, cstates[k].value, Ra, xa, Rb, xb)
        store_wrench(cstates[k].wa, states, c.a, ta, f, -1.0)
        store_wrench(cstates[k].wb, states, c.b, tb, f, 1.0)
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        if is_coupling(row):
            value, slope = polynomial(row, model.coefficients, cstates[row.leader].value)
            s.g = cstates[row.coordinate].value - value
            if row.goal >= 0:
                s.g -= data.goals[0, row.goal]
            for j in range(6):
                s.wa[j] = cstates[row.coordinate].wa[j]
                s.wb[j] = cstates[row.coordinate].wb[j]
                s.wa2[j] = -slope * cstates[row.leader].wa[j]
                s.wb2[j] = -slope * cstates[row.leader].wb[j]
            continue
        Ra, xa = start_pose(states, row.a)
        Rb, xb = start_pose(states, row.b)
        if row.goal >= 0:
            Ra, xa = goal_frame(data.goals[0], row)
        turned = cstates[row.coordinate].value if is_screw(row) else 0.0
        s.g, tb, ta, f = equation(row, turned, Ra, xa, Rb, xb)
        store_wrench(s.wa, states, row.a, ta, f, -1.0)
        store_wrench(s.wb, states, row.b, tb, f, 1.0)


@routine(allocates=False, vectors=True)
def assemble(model, settings, data, dt, fresh):
    """Residuals, right-hand side and Jacobian at the velocities in `data`; the caller adds contacts.

    Returns the largest violation of a joint equation [m or rad].

    Args:
        fresh: whether to fill the Jacobian; otherwise its values stay unchanged.
    """
    bodies, rows, coordinates, graph = model.bodies, model.rows, model.coordinates, model.graph
    states, rowstates, cstates = data.bodies, data.rows, data.coordinates
    values, rhs, diagonal, offsets, first = data.factors.values, data.fixed, graph.diagonal, graph.offsets, graph.first
    data.stretched[0] = 0.0
    if fresh:
        for k in range(values.shape[0]):
            values[k] = 0.0
    for i in range(bodies.shape[0]):
        b, s = bodies[i], states[i]
        move(s, dt)
        J, w = load9(b.J), load3(s.w)
        left, _ = momenta(J, w, dt)
        for r in range(3):
            s.r[r] = left[r] - s.P[r] - s.I[r]
            s.r[3 + r] = b.mass * s.vc[r] - s.P[3 + r] - s.I[3 + r]
            data.kicks[0, i, r] = data.kicks[0, i, 3 + r] = 0.0
        if fresh:
            A = momentum_slope(J, w, dt)
            d = diagonal[i]
            for r in range(3):
                values[d + 6 * r] = A[3 * r]
                values[d + 6 * r + 1] = A[3 * r + 1]
                values[d + 6 * r + 2] = A[3 * r + 2]
                values[d + 7 * r] += b.least * b.radius * b.radius
                values[d + 7 * (3 + r)] = b.mass + b.least
    implicit_coordinates(model, settings, data, dt, fresh)
    implicit_paths(model, settings, data, dt, fresh, model.paths)
    implicit_lengths(model, settings, data, dt, fresh, model.sprung)
    implicit_resistance(model.resisting, model, settings, data, dt, fresh)
    worst = 0.0
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        node = bodies.shape[0] + row.node
        m = model.sizes[row.node]
        Ra, xa = end_pose(states, row.a)
        Rb, xb = end_pose(states, row.b)
        if is_coupling(row):
            follower, leader = coordinates[row.coordinate], coordinates[row.leader]
            value, tb, ta, f = coordinate(follower, cstates[row.coordinate].value, Ra, xa, Rb, xb)
            La, ya = end_pose(states, leader.a)
            Lb, yb = end_pose(states, leader.b)
            x, tb2, ta2, f2 = coordinate(leader, cstates[row.leader].value, La, ya, Lb, yb)
            p, slope = polynomial(row, model.coefficients, x)
            s.g = value - p
            if row.goal >= 0:
                s.g -= data.goals[1, row.goal]
            if fresh:
                f2 = scale3(-slope, f2)
                ea2 = end_row(states, leader.a, scale3(-slope, ta2), f2, -1.0)
                eb2 = end_row(states, leader.b, scale3(-slope, tb2), f2, 1.0)
                place_row(values, offsets, row.ea2, m, row.local, s.wa2, ea2)
                place_row(values, offsets, row.eb2, m, row.local, s.wb2, eb2)
            push(states, leader.a, s.wa2, s.lam)
            push(states, leader.b, s.wb2, s.lam)
        else:
            if row.goal >= 0:
                Ra, xa = goal_frame(data.goals[1], row)
            turned = 0.0
            if is_screw(row):
                turned, _, _, _ = coordinate(coordinates[row.coordinate], cstates[row.coordinate].value, Ra, xa, Rb, xb)
            s.g, tb, ta, f = equation(row, turned, Ra, xa, Rb, xb)
        if fresh:
            ea = end_row(states, row.a, ta, f, -1.0)
            eb = end_row(states, row.b, tb, f, 1.0)
            place_row(values, offsets, row.ea, m, row.local, s.wa, ea)
            place_row(values, offsets, row.eb, m, row.local, s.wb, eb)
            if row.eab > NOT_LENT:
                ra, rb = lent(model.augment, bodies, row)
                lend(graph, values, row, s.wa, s.wb, ea, eb, ra, rb)
        push(states, row.a, s.wa, s.lam)
        push(states, row.b, s.wb, s.lam)
        rhs[first[node] + row.local] = -s.g / dt
        worst = max(worst, abs(s.g))
        if row.eab > NOT_LENT:
            # Augmentation: a multiple of this row is added to the equations of a body that may have no inertia.
            ra, rb = lent(model.augment, bodies, row)
            push(states, row.a, s.wa, -ra * s.g / dt)
            push(states, row.b, s.wb, -rb * s.g / dt)
    for i in range(bodies.shape[0]):
        for c in range(6):
            rhs[first[i] + c] = -states[i].r[c]
    return worst


@routine(allocates=False)
def implicit_coordinates(model, settings, data, dt, fresh):
    """Springs, dampers and armature of joints, from the mean and the rate of their coordinate over the step.

    A spring along one axis applies its force at the mean of the coordinates at both ends, the discrete gradient of its
    energy, along the gradients of the coordinate at the start and at the end (`joint_springs`).
    """
    coordinates, graph, states, cstates = model.coordinates, model.graph, data.bodies, data.coordinates
    values = data.factors.values
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.kind == BALL or c.kind == FREE:
            ball_dampers(c, states, graph, values, dt * settings.halves, fresh)
            turning_springs(c, model, data, settings.halves * dt, dt, fresh)
            push_drive(c, s, model.forces.dofs, states, graph, values, dt, fresh)
            continue
        damping = axis_damping(c, s.value, model.forces, data.modes)
        gain, share = c.armature + settings.halves * dt * damping, settings.halves * dt * c.stiffness
        if gain == 0.0 and share == 0.0:
            continue
        Ra, xa = end_pose(states, c.a)
        Rb, xb = end_pose(states, c.b)
        value, tb, ta, f = coordinate(c, s.value, Ra, xa, Rb, xb)
        rate = (value - s.value) / dt
        pull = share * (c.rest - 0.5 * (s.value + value))
        push(states, c.a, s.wa, pull - gain * rate)
        push(states, c.b, s.wb, pull - gain * rate)
        add_kick(data.kicks[0], c.a, s.wa, pull)
        add_kick(data.kicks[0], c.b, s.wb, pull)
        data.stretched[0] += pull * (value - s.value)
        if fresh:
            ea = end_row(states, c.a, ta, f, -1.0)
            eb = end_row(states, c.b, tb, f, 1.0)
            add_pair(graph, values, c, s.wa, s.wb, ea, eb, gain + 0.5 * dt * share)


@inline
def axis_damping(c, value, forces, modes):
    """Damping of a SLIDE or HINGE at the coordinate `value`: its own plus that of active soft limits."""
    if c.iv < 0:
        return c.damping[0]
    return c.damping[0] + limit_slopes(forces.dofs[c.iv], modes.limits[c.iv], value, 0.0)[1]


@inline
def end_damping(c, damping, halves, dt):
    """Part k of a damper's impulse at the end of a step of dt that is implicit in the velocity there, per rate.

    Half of the impulse of a damper d over a step acts at each end, with the mean rate r. Where dt d / 2 exceeds the
    inertia m of the joint, the impulse at the end would reverse its motion; so the part k = dt d / 2 - m of it uses the
    velocity T at the node in place of r (`velocity_equations`). For a single joint of that inertia driven by a force f,
    T = f / d then, and 0 without a force, at any dt d / m; in steady motion T = r. Where dt d / 2 < m, k is zero and
    the step is of order 2. The momentum is always M T.
    """
    return max((1.0 - halves) * dt * (damping - 0.5 * dt * c.stiffness) - c.inertia, 0.0)


@routine(allocates=False)
def ball_dampers(c, states, graph, values, dt, fresh):
    """Dampers of a ball or free joint, on the velocities within the step in the directions at its start."""
    for j in range(6 if c.kind == FREE else 3):
        if c.damping[j] > 0.0:
            wa, wb = ball_axis(c, j, states)
            rate = work(states, wa, c.a) + work(states, wb, c.b)
            gain = c.damping[j] * dt
            push(states, c.a, wa, -gain * rate)
            push(states, c.b, wb, -gain * rate)
            if fresh:
                add_pair(graph, values, c, wa, wb, wa, wb, gain)
