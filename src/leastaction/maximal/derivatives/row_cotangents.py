"""Reverse mode of the equations of joints: their impulses at the start of a step, and their values at its end.

Rows of screws and couplings are functions of coordinates, so gradients of theirs are sums over these.
"""

from leastaction._jit import inline, routine
from leastaction.linalg.graph.kernels import factorize, refine, solve, solve_transposed
from leastaction.maximal.derivatives.bending import (
    add_gradient,
    add_to,
    ball_rate,
    bend_ball,
    bend_coordinate,
    bend_row,
    motion_of,
    motions_of,
    poses_at,
    rate_along,
)
from leastaction.maximal.records import BALL, NOT_LENT
from leastaction.maximal.step.block_parts import lent
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.joint_rows import coordinate, equation, goal_frame, is_coupling, is_screw, polynomial
from leastaction.maximal.step.newton import DEPENDENT
from leastaction.maximal.step.projection import fill_projection, projection_matrix
from leastaction.spatial import ZERO3, cross, load3, load9, mattvec, matvec


@inline
def curvature(row, coefficients, x):
    """Second derivative of the polynomial of a coupling."""
    out = 0.0
    for k in range(row.first + row.count - 1, row.first + 1, -1):
        n = k - row.first
        out = out * x + n * (n - 1.0) * coefficients[k]
    return out


@inline
def ends_of(row, data, when):
    """Poses that a row ties, at the START or END of the step: of its bodies, or of a prescribed frame and its body."""
    Ra, xa, Rb, xb = poses_at(data.bodies, row.a, row.b, when)
    if row.goal >= 0:
        Ra, xa = goal_frame(data.goals[when], row)
    return Ra, xa, Rb, xb


@routine(allocates=False)
def bend_equation(model, data, k, when, E, G, weight):
    """Add to G `weight` times the derivative along E of the gradient of row k; for a screw the transpose of that."""
    row, states, cstates = model.rows[k], data.bodies, data.coordinates
    if is_coupling(row):
        follower, leader = model.coordinates[row.coordinate], model.coordinates[row.leader]
        Ra, xa, Rb, xb = poses_at(states, follower.a, follower.b, when)
        bend_coordinate(follower, Ra, xa, Rb, xb, E, G, weight)
        Ra, xa, Rb, xb = poses_at(states, leader.a, leader.b, when)
        x, tb, ta, f = coordinate(leader, cstates[row.leader].value, Ra, xa, Rb, xb)
        _, slope = polynomial(row, model.coefficients, x)
        bend_coordinate(leader, Ra, xa, Rb, xb, E, G, -weight * slope)
        bent = curvature(row, model.coefficients, x) * rate_along(E, leader.a, leader.b, tb, ta, f)
        add_gradient(G, leader.a, leader.b, tb, ta, f, -weight * bent)
        return
    Ra, xa, Rb, xb = ends_of(row, data, when)
    bend_row(row, Ra, xa, Rb, xb, motions_of(E, row.a, row.b), G, weight)
    if is_screw(row):
        # Its torque is -pitch n on b, n fixed to a, and the opposite on a.
        turn, _ = motion_of(E, row.b)
        t = cross(matvec(Ra, load3(row.n)), turn)
        add_to(G, row.a, t, ZERO3, -weight * row.pitch)
        add_to(G, row.b, t, ZERO3, weight * row.pitch)


@routine(allocates=False)
def add_equation(model, data, k, when, G, weight):
    """Add to G `weight` times the gradient of row k."""
    row, states, cstates = model.rows[k], data.bodies, data.coordinates
    if is_coupling(row):
        follower, leader = model.coordinates[row.coordinate], model.coordinates[row.leader]
        Ra, xa, Rb, xb = poses_at(states, follower.a, follower.b, when)
        _, tb, ta, f = coordinate(follower, cstates[row.coordinate].value, Ra, xa, Rb, xb)
        add_gradient(G, follower.a, follower.b, tb, ta, f, weight)
        Ra, xa, Rb, xb = poses_at(states, leader.a, leader.b, when)
        x, tb, ta, f = coordinate(leader, cstates[row.leader].value, Ra, xa, Rb, xb)
        _, slope = polynomial(row, model.coefficients, x)
        add_gradient(G, leader.a, leader.b, tb, ta, f, -weight * slope)
        return
    Ra, xa, Rb, xb = ends_of(row, data, when)
    _, tb, ta, f = equation(row, 0.0, Ra, xa, Rb, xb)
    add_gradient(G, row.a, row.b, tb, ta, f, weight)


@routine(allocates=False)
def row_cotangents(model, data, y, dt, E, G):
    """Gradients of the joints' impulses at the start, and of their equations at the end, by the poses."""
    bodies, rows, first = model.bodies, model.rows, model.graph.first
    for k in range(rows.shape[0]):
        row = rows[k]
        bend_equation(model, data, k, START, E, G, data.rows[k].lam)
        by_equation = -y[first[bodies.shape[0] + row.node] + row.local]
        if row.eab > NOT_LENT:
            ra, rb = lent(model.augment, bodies, row)
            Ra, xa, Rb, xb = ends_of(row, data, START)
            _, tb, ta, f = equation(row, 0.0, Ra, xa, Rb, xb)
            by_equation -= ra * rate_along(E, row.a, -1, tb, ta, f) + rb * rate_along(E, -1, row.b, tb, ta, f)
        add_equation(model, data, k, END, G, by_equation / dt)


# ------------------------------------------------------------------ momenta that closed loops hold


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
    """Angular velocity, in the body's directions, and velocity that a prescribed pose asks for at one end of a step."""
    i = row.goal + 12
    return (goals[i], goals[i + 1], goals[i + 2]), (goals[i + 3], goals[i + 4], goals[i + 5])


@routine(allocates=False)
def into_world(states, first, x, E):
    """E <- the motion x of the bodies, in the order of the graph, in the world's directions."""
    for i in range(states.shape[0]):
        j = first[i]
        t = matvec(load9(states[i].R), (x[j], x[j + 1], x[j + 2]))
        for c in range(3):
            E[i, c], E[i, 3 + c] = t[c], x[j + 3 + c]


@routine(allocates=False)
def project_back(model, data, back):
    """Bring `back.bars` to the momenta before `projection.project_momenta`; False where these have no solution.

    With M T - G' mu = P, G T = 0 (or a prescribed rate), momenta P + G' mu, and y = F^-T (0, G b) for their gradient b,
    the gradient by P is b + y_T, and that by the poses is that of (b + y_T) . G' mu - y_mu . G T - y_T . M T at fixed
    T, mu, b and y: M depends on the poses by drive inertias alone.
    """
    rows, states, first = model.rows, data.bodies, model.graph.first
    bars, G, rhs, y, n = back.bars, back.G0, data.fixed, back.y, model.bodies.shape[0]
    projection_matrix(model, data, data.factors.values)
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
            rhs[first[i] + c], G[i, c] = bars[1, i, c], 0.0
    for k in range(rows.shape[0]):
        y[first[n + rows[k].node] + rows[k].local] = work_of_row(model, data, k, rhs, first)
    for j in range(rhs.shape[0]):
        rhs[j] = y[j]
    solve_transposed(model.graph, data.factors, y, 1)
    refine(model.graph, data.factors, back.original, y, rhs, back.residual, 1, 1, singular < 0)
    into_world(states, first, y, back.twists)
    for i in range(n):
        for c in range(6):
            bars[1, i, c] += y[first[i] + c]
        t = matvec(load9(states[i].R), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2]))
        for c in range(3):
            back.E0[i, c], back.E0[i, 3 + c] = t[c], bars[1, i, 3 + c]
    for k in range(rows.shape[0]):
        row, s = rows[k], data.rows[k]
        at = first[n + row.node] + row.local
        by_rate = -y[at]
        for c in range(6):
            if row.ea >= 0:
                by_rate -= model.augment[row.node, 0] * s.wa[c] * y[first[row.a] + c]
            if row.eb >= 0:
                by_rate -= model.augment[row.node, 1] * s.wb[c] * y[first[row.b] + c]
        bend_equation(model, data, k, START, back.E0, G, data.dx[at])
        bend_equation(model, data, k, START, back.E1, G, by_rate)
        if row.goal >= 0 and not is_coupling(row):
            # `goal_rate` is the row's gradient times a motion of its body.
            Ra, xa, Rb, xb = ends_of(row, data, START)
            spin, speed = motion_of_goal(data.goals[0], row)
            bend_row(row, Ra, xa, Rb, xb, (ZERO3, ZERO3, matvec(Rb, spin), speed), G, y[at])
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.armature > 0.0 and c.kind == BALL:
            Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
            one, other = motions_of(back.E1, c.a, c.b), motions_of(back.twists, c.a, c.b)
            for j in range(3):
                own = -model.forces.dofs[c.iv + j].armature
                bend_ball(c, j, Ra, xa, Rb, xb, other, G, own * ball_rate(c, j, Ra, xa, Rb, xb, one))
                bend_ball(c, j, Ra, xa, Rb, xb, one, G, own * ball_rate(c, j, Ra, xa, Rb, xb, other))
        elif c.armature > 0.0:
            Ra, xa, Rb, xb = poses_at(states, c.a, c.b, START)
            _, tb, ta, f = coordinate(c, data.coordinates[k].value, Ra, xa, Rb, xb)
            rate, other = rate_along(back.E1, c.a, c.b, tb, ta, f), rate_along(back.twists, c.a, c.b, tb, ta, f)
            bend_coordinate(c, Ra, xa, Rb, xb, back.twists, G, -c.armature * rate)
            bend_coordinate(c, Ra, xa, Rb, xb, back.E1, G, -c.armature * other)
    for i in range(n):
        t = mattvec(load9(states[i].R), (G[i, 0], G[i, 1], G[i, 2]))
        for c in range(3):
            bars[0, i, c] += t[c]
            bars[0, i, 3 + c] += G[i, 3 + c]
    return True
