"""Loop and coupling equations in joint coordinates: values and Jacobian."""

from leastaction._jit import entry, routine
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial
from leastaction.kinematics.sweeps import positions
from leastaction.spatial import dot, load6


@routine
def equations(nodes, rows, coefficients, count, links, screws, q, h, A):
    """Values h (count,) of the loop equations and their Jacobian A (count, nv), with positions in place."""
    for c in range(count):
        row = rows[c]
        for k in range(A.shape[1]):
            A[c, k] = 0.0
        if is_coupling(row):
            # Coordinates of joints with one axis: find them by their velocity index.
            x = coordinate_of(nodes, q, row.leader)
            f, slope, _ = polynomial(row, coefficients, x)
            h[c] = coordinate_of(nodes, q, row.follower) - f
            A[c, row.follower] += 1.0
            A[c, row.leader] -= slope
            continue
        h[c], W = evaluate(row, links)
        add_row(nodes, screws, row.b, W, 1.0, A, c)
        add_row(nodes, screws, row.a, W, -1.0, A, c)


@routine
def coordinate_of(nodes, q, k):
    """Position coordinate of a degree of freedom of a joint with one axis."""
    for i in range(nodes.shape[0]):
        if nodes[i].iv == k:
            return q[nodes[i].iq]
    return 0.0


@routine
def add_row(nodes, screws, node, W, sign, A, c):
    """Add sign * (work of the wrench W on a node) to row c of A."""
    i = node
    while i >= 0:
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            A[c, k] += sign * dot(load6(screws[k].S), W)
        i = nodes[i].parent


@entry
def loop_equations(nodes, rows, coefficients, count, links, screws, q, h, A):
    """Positions, then `equations`."""
    positions(nodes, links, screws, q)
    equations(nodes, rows, coefficients, count, links, screws, q, h, A)
