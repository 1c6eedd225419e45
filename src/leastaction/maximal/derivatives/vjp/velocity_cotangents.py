"""VJP of the velocities at a node, the second phase of a step (`step.velocity_equations`).

With (M + K) T = P + G' mu + D' L, G T = 0 (or a prescribed rate), the response L = -W (D T + ...) of the contact laws
at fixed modes, and momenta P + G' mu + D' L - K T, let b be the gradient by these momenta and

    y = F^-T (-K b - D' W' D b, G b),    F = (M + K + D' W D, -G'; G, 0),    z = b + y_T,    a = W' D z

Then z is the gradient by P, and that by the poses is that of z . G' mu - y_mu . G T + z . D' L - a . D T - y_T . M T
- z . K T at fixed T, mu, L, z, y and a: M depends on the poses only by armature.
"""

from leastaction._jit import inline, is_set, routine
from leastaction.contact.laws import cones as ip
from leastaction.linalg.graph.graph_factorization import factorize, refine, solve, solve_transposed
from leastaction.maximal.derivatives.constraint_hessians import (
    add_ball_hessian,
    add_coordinate_hessian,
    add_gradient,
    add_row_hessian,
    ball_rate,
    motions_of,
    poses_at,
    rate_along,
)
from leastaction.maximal.derivatives.pose_parts import add_to_body, rate_of
from leastaction.maximal.derivatives.rigid_response import add_response, find_response
from leastaction.maximal.derivatives.vjp.cone_cotangents import cone_cotangent, gap_cotangents, wrench_cotangents
from leastaction.maximal.derivatives.vjp.cotangents import axis_damping
from leastaction.maximal.derivatives.vjp.row_cotangents import add_equation_hessian, ends_of
from leastaction.maximal.maximal_records import BALL
from leastaction.maximal.step.bodies import START
from leastaction.maximal.step.joint_rows import coordinate, is_coupling
from leastaction.maximal.step.solver.newton import DEPENDENT
from leastaction.maximal.step.solver.redundant_rows import leave_out_rows
from leastaction.maximal.step.velocity_equations import POSITIONS, VELOCITIES, velocity_matrix
from leastaction.maximal.step.velocity_projection import fill_projection
from leastaction.spatial import ZERO3, load9, mattvec, matvec

INDEPENDENT = 1e-13
"""Pivot tolerance for the equations of loops next to stiff contacts."""


@inline
def work_of_row(model, data, k, x, first):
    """Gradient of row k at the start poses times the motion x, in the order of the graph."""
    row, s = model.rows[k], data.rows[k]
    leader = model.coordinates[row.leader]
    rate = 0.0
    for c in range(6):
        if row.ea >= 0:
            rate += s.wa[c] * x[first[row.a] + c]
        if row.eb >= 0:
            rate += s.wb[c] * x[first[row.b] + c]
        if row.ea2 >= 0:
            rate += s.wa2[c] * x[first[leader.a] + c]
        if row.eb2 >= 0:
            rate += s.wb2[c] * x[first[leader.b] + c]
    return rate


@inline
def motion_of_goal(goals, row):
    """Prescribed angular velocity, in the body frame, and velocity of a prescribed pose at one end of a step."""
    i = row.goal + 12
    return (goals[i], goals[i + 1], goals[i + 2]), (goals[i + 3], goals[i + 4], goals[i + 5])


@routine(allocates=False)
def into_world(states, first, x, E):
    """E <- the motion x of the bodies, in the order of the graph, in world directions."""
    for i in range(states.shape[0]):
        j = first[i]
        t = matvec(load9(states[i].R), (x[j], x[j + 1], x[j + 2]))
        for c in range(3):
            E[i, c], E[i, 3 + c] = t[c], x[j + 3 + c]


@routine(allocates=False)
def project_back(model, data, back, share):
    """Propagate `back.bars` to the momenta before `project_velocities`; False where the projection is singular.

    Args:
        share: of the step of the impulses of dampers at its end [s].
    """
    states, first, rhs, y, n = data.bodies, model.graph.first, data.fixed, back.y, model.bodies.shape[0]
    velocity_matrix(model, data, data.factors.values)
    for j in range(back.original.shape[0]):
        back.original[j] = data.factors.values[j]
    fill_projection(model, data)
    for j in range(rhs.shape[0]):
        rhs[j], y[j] = data.dx[j], 0.0
    singular, _ = factorize(model.graph, data.factors, DEPENDENT)
    if singular >= 0:
        return False
    solve(model.graph, data.factors, data.dx)
    refine(model.graph, data.factors, back.original, data.dx, rhs, back.residual, 1, 1, singular >= 0)
    into_world(states, first, data.dx, back.E1)
    for i in range(n):
        for c in range(6):
            data.dV[i, c] = data.dx[first[i] + c]
    for k in range(model.rows.shape[0]):
        data.rows[k].mu = data.dx[first[n + model.rows[k].node] + model.rows[k].local]
    for j in range(rhs.shape[0]):
        rhs[j] = 0.0
    transposed_solution(model, data, back)
    joint_cotangents(model, data, back, share)
    end_cotangents(model, data, back)
    return True


@routine(allocates=False)
def factor_second_phase(model, settings, data, contact, back, dt):
    """Factorise the matrix of the second phase with its contacts, after `project_velocities`; whether it is regular.

    Leaves the velocities at the node, in world directions, in `back.E1`.
    """
    states = data.bodies
    velocity_matrix(model, data, data.factors.values)
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            data.T[i, c], data.T[i, 3 + c] = s.w[c], s.vc[c]
            s.w[c], s.vc[c] = data.dV[i, c], data.dV[i, 3 + c]
    contact.now[0].phase = VELOCITIES
    find_response(model, settings, data, contact, dt)
    contact.now[0].phase = POSITIONS
    add_response(model, data, contact)
    leave_out_rows(model, data, settings.loops)
    for i in range(states.shape[0]):
        s = states[i]
        t = matvec(load9(s.R), (data.dV[i, 0], data.dV[i, 1], data.dV[i, 2]))
        for c in range(3):
            back.E1[i, c], back.E1[i, 3 + c] = t[c], data.dV[i, 3 + c]
            s.w[c], s.vc[c] = data.T[i, c], data.T[i, 3 + c]
    for j in range(back.original.shape[0]):
        back.original[j] = data.factors.values[j]
    singular, _ = factorize(model.graph, data.factors, INDEPENDENT if is_set(settings.loops) else 0.0)
    return singular < 0


@routine(allocates=False)
def second_phase_cotangents(model, settings, data, contact, back, dt):
    """Propagate `back.bars` to the momenta before the second phase of a node, after `factor_second_phase`."""
    first, rhs, bars = model.graph.first, data.fixed, back.bars
    for j in range(rhs.shape[0]):
        rhs[j] = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        b0, b1, b2 = cone_cotangent(c, bars[1])
        for i in range(6):
            if c.a >= 0:
                rhs[first[c.a] + i] -= b0 * c.da[i] + b1 * c.da[6 + i] + b2 * c.da[12 + i]
            if c.b >= 0:
                rhs[first[c.b] + i] -= b0 * c.db[i] + b1 * c.db[6 + i] + b2 * c.db[12 + i]
    transposed_solution(model, data, back)
    joint_cotangents(model, data, back, (1.0 - settings.halves) * dt)
    G, qa, qb = back.G0, back.qa, back.qb
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        a0, a1, a2 = cone_cotangent(c, bars[1])
        normal = 0.0 if c.kind >= ip.DRY else c.gam
        for body, q in ((c.a, qa), (c.b, qb)):
            for i in range(6):
                z = v = 0.0
                if body >= 0:
                    z, v = bars[1, body, i], data.dV[body, i]
                q[i] = normal * z - a0 * v
                q[6 + i] = c.beta[0] * z - a1 * v
                q[12 + i] = c.beta[1] * z - a2 * v
        wrench_cotangents(model, data, contact, c, (0.0, -a1, -a2), back, G, 0.0)
        if settings.smoothing > 0.0 and c.offset > 0.0:
            gap_cotangents(model, data, contact, c, START, a0 / dt, back, G)
    end_cotangents(model, data, back)


@routine(allocates=False)
def transposed_solution(model, data, back):
    """back.y <- F^-T of the right-hand side in data.fixed, K b and G b; back.bars[1] <- z; clears back.G0."""
    rows, states, first, n = model.rows, data.bodies, model.graph.first, model.bodies.shape[0]
    bars, rhs, y = back.bars, data.fixed, back.y
    for j in range(y.shape[0]):
        data.dx[j] = 0.0
    for i in range(n):
        for c in range(6):
            data.dx[first[i] + c], back.G0[i, c] = bars[1, i, c], 0.0
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if s.end_damping > 0.0:
            pull = -s.end_damping * (rate_of(s.wa, bars[1], c.a) + rate_of(s.wb, bars[1], c.b))
            add_to_body(rhs, first, c.a, s.wa, pull)
            add_to_body(rhs, first, c.b, s.wb, pull)
    for k in range(rows.shape[0]):
        rhs[first[n + rows[k].node] + rows[k].local] = work_of_row(model, data, k, data.dx, first)
    for j in range(rhs.shape[0]):
        rhs[j] *= 1.0 - data.left_out[j]
        y[j] = rhs[j]
    solve_transposed(model.graph, data.factors, y, 1)
    refine(model.graph, data.factors, back.original, y, rhs, back.residual, 1, 1, n >= 0)
    for i in range(n):
        for c in range(6):
            bars[1, i, c] += y[first[i] + c]
        t = matvec(load9(states[i].R), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2]))
        for c in range(3):
            back.E0[i, c], back.E0[i, 3 + c] = t[c], bars[1, i, 3 + c]
    into_world(states, first, y, back.twists)


@routine(allocates=False)
def joint_cotangents(model, data, back, share):
    """Add the contributions of rows, armature and dampers to `back.G0`.

    E0, E1 and twists of `back` hold z, T and y_T in world directions; share: see `project_back`.
    """
    rows, states, first, n = model.rows, data.bodies, model.graph.first, model.bodies.shape[0]
    G, y = back.G0, back.y
    for k in range(rows.shape[0]):
        row, s = rows[k], data.rows[k]
        at = first[n + row.node] + row.local
        by_rate = -y[at]
        for c in range(6):
            if row.ea >= 0:
                by_rate -= model.augment[row.node, 0] * s.wa[c] * y[first[row.a] + c]
            if row.eb >= 0:
                by_rate -= model.augment[row.node, 1] * s.wb[c] * y[first[row.b] + c]
        add_equation_hessian(model, data, k, START, back.E0, G, s.mu)
        add_equation_hessian(model, data, k, START, back.E1, G, by_rate)
        if row.goal >= 0 and not is_coupling(row):
            # `goal_rate` is the row's gradient times a motion of its body.
            Ra, xa, Rb, xb = ends_of(row, data, START)
            spin, speed = motion_of_goal(data.goals[0], row)
            add_row_hessian(row, Ra, xa, Rb, xb, (ZERO3, ZERO3, matvec(Rb, spin), speed), G, y[at])
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.armature > 0.0 and c.kind == BALL:
            Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
            one, other = motions_of(back.E1, c.a, c.b), motions_of(back.twists, c.a, c.b)
            for j in range(3):
                own = -model.forces.dofs[c.iv + j].armature
                add_ball_hessian(c, j, Ra, xa, Rb, xb, other, G, own * ball_rate(c, j, Ra, xa, Rb, xb, one))
                add_ball_hessian(c, j, Ra, xa, Rb, xb, one, G, own * ball_rate(c, j, Ra, xa, Rb, xb, other))
        elif c.armature > 0.0:
            Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
            _, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
            rate, other = rate_along(back.E1, c.a, c.b, tb, ta, f), rate_along(back.twists, c.a, c.b, tb, ta, f)
            add_coordinate_hessian(c, Ra, xa, Rb, xb, back.twists, G, -c.armature * rate)
            add_coordinate_hessian(c, Ra, xa, Rb, xb, back.E1, G, -c.armature * other)
        held = data.coordinates[k].end_damping
        if held > 0.0:
            Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
            value, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
            rate, other = rate_along(back.E1, c.a, c.b, tb, ta, f), rate_along(back.E0, c.a, c.b, tb, ta, f)
            _, bent = axis_damping(c, model.forces, data.modes, value)
            add_coordinate_hessian(c, Ra, xa, Rb, xb, back.E0, G, -held * rate)
            add_coordinate_hessian(c, Ra, xa, Rb, xb, back.E1, G, -held * other)
            add_gradient(G, c.a, c.b, tb, ta, f, -share * bent * rate * other)


@routine(allocates=False)
def end_cotangents(model, data, back):
    """Add the gradient by poses in `back.G0` to `back.bars`, in the body frames."""
    for i in range(model.bodies.shape[0]):
        t = mattvec(load9(data.bodies[i].R), (back.G0[i, 0], back.G0[i, 1], back.G0[i, 2]))
        for c in range(3):
            back.bars[0, i, c] += t[c]
            back.bars[0, i, 3 + c] += back.G0[i, 3 + c]
