"""VJPs of the joint equations: of their impulses at the start of a step, and their values at its end.

Rows of screws and couplings are functions of coordinates, so their gradients are sums over these.
"""

from leastaction._jit import inline, routine
from leastaction.maximal.derivatives.constraint_hessians import (
    add_coordinate_hessian,
    add_gradient,
    add_row_hessian,
    add_to,
    motion_of,
    motions_of,
    poses_at,
    rate_along,
)
from leastaction.maximal.maximal_records import NOT_LENT
from leastaction.maximal.step.block_parts import lent
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.joint_rows import coordinate, equation, goal_frame, is_coupling, is_screw, polynomial
from leastaction.spatial import ZERO3, cross, load3, matvec


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
    """Poses of the bodies of a row, at the START or END of the step, or of a prescribed frame and its body."""
    Ra, xa, Rb, xb = poses_at(data.bodies, row.a, row.b, when)
    if row.goal >= 0:
        Ra, xa = goal_frame(data.goals[when], row)
    return Ra, xa, Rb, xb


@routine(allocates=False)
def add_equation_hessian(model, data, k, when, E, G, weight):
    """Add to G `weight` times the derivative along E of the gradient of row k; for a screw the transpose of that."""
    row, states, cstates = model.rows[k], data.bodies, data.coordinates
    if is_coupling(row):
        follower, leader = model.coordinates[row.coordinate], model.coordinates[row.leader]
        Ra, xa, Rb, xb = poses_at(states, follower.a, follower.b, when)
        add_coordinate_hessian(follower, Ra, xa, Rb, xb, E, G, weight)
        Ra, xa, Rb, xb = poses_at(states, leader.a, leader.b, when)
        x, tb, ta, f = coordinate(leader, cstates[row.leader].value, Ra, xa, Rb, xb)
        _, slope = polynomial(row, model.coefficients, x)
        add_coordinate_hessian(leader, Ra, xa, Rb, xb, E, G, -weight * slope)
        bent = curvature(row, model.coefficients, x) * rate_along(E, leader.a, leader.b, tb, ta, f)
        add_gradient(G, leader.a, leader.b, tb, ta, f, -weight * bent)
        return
    Ra, xa, Rb, xb = ends_of(row, data, when)
    add_row_hessian(row, Ra, xa, Rb, xb, motions_of(E, row.a, row.b), G, weight)
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
    """Gradients by the poses of the joints' impulses at the start, and of their equations at the end."""
    bodies, rows, first = model.bodies, model.rows, model.graph.first
    for k in range(rows.shape[0]):
        row = rows[k]
        add_equation_hessian(model, data, k, START, E, G, data.rows[k].lam)
        by_equation = -y[first[bodies.shape[0] + row.node] + row.local]
        if row.eab > NOT_LENT:
            ra, rb = lent(model.augment, bodies, row)
            Ra, xa, Rb, xb = ends_of(row, data, START)
            _, tb, ta, f = equation(row, 0.0, Ra, xa, Rb, xb)
            by_equation -= ra * rate_along(E, row.a, -1, tb, ta, f) + rb * rate_along(E, -1, row.b, tb, ta, f)
        add_equation(model, data, k, END, G, by_equation / dt)
