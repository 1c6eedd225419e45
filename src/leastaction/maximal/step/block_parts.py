"""Building blocks of the Newton system: wrenches on bodies, and blocks in the flat array of matrix values."""

from leastaction._jit import inline
from leastaction.mechanism.closure import DOT
from leastaction.spatial import load9, mattvec


@inline
def store_wrench(w, states, body, t, f, sign):
    """Write the wrench (torque t about the COM, force sign f) to w, the torque in the body frame at the start."""
    if body >= 0:
        t = mattvec(load9(states[body].R), t)
    w[0], w[1], w[2] = t
    w[3], w[4], w[5] = sign * f[0], sign * f[1], sign * f[2]


@inline
def end_row(states, body, t, f, sign):
    """Derivative (6) by (w, v) of a value at the end of the step whose gradient there is (t, sign f)."""
    if body < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    s = states[body]
    t = mattvec(load9(s.E), t)
    return t[0], t[1], t[2], sign * f[0], sign * f[1], sign * f[2]


@inline
def work(states, w, body):
    """w . (w, v) of a body: the rate of the value whose gradient is w."""
    if body < 0:
        return 0.0
    s = states[body]
    rate = w[0] * s.w[0] + w[1] * s.w[1] + w[2] * s.w[2]
    return rate + w[3] * s.vc[0] + w[4] * s.vc[1] + w[5] * s.vc[2]


@inline
def push(states, body, w, k):
    """Subtract the impulse k w from the residual of a body."""
    if body >= 0:
        add_six(states[body].r, 0, w, -k)


@inline
def add_kick(kicks, body, w, k):
    """Add the impulse k w on a body to a row of `MaximalData.kicks`."""
    if body >= 0:
        for c in range(6):
            kicks[body, c] += k * w[c]


@inline
def add_six(X, at, w, k):
    """X[at : at + 6] += k w. Reads all values before writing any, so that the compiler vectorises it."""
    a, b, c = X[at] + k * w[0], X[at + 1] + k * w[1], X[at + 2] + k * w[2]
    d, e, f = X[at + 3] + k * w[3], X[at + 4] + k * w[4], X[at + 5] + k * w[5]
    X[at], X[at + 1], X[at + 2], X[at + 3], X[at + 4], X[at + 5] = a, b, c, d, e, f


@inline
def add_outer(values, at, u, w, k):
    """Add k u w' to the 6 x 6 block at `at`."""
    u = k * u[0], k * u[1], k * u[2], k * u[3], k * u[4], k * u[5]
    w = w[0], w[1], w[2], w[3], w[4], w[5]
    add_six(values, at, w, u[0])
    add_six(values, at + 6, w, u[1])
    add_six(values, at + 12, w, u[2])
    add_six(values, at + 18, w, u[3])
    add_six(values, at + 24, w, u[4])
    add_six(values, at + 30, w, u[5])


@inline
def add_pair(graph, values, tie, ua, ub, wa, wb, k):
    """Add k (ua, ub) (wa, wb)' to the blocks of two bodies (either may be the world).

    Args:
        tie: record with the bodies a and b and the graph edge between them.
    """
    a, b = tie.a, tie.b
    if a >= 0:
        add_outer(values, graph.diagonal[a], ua, wa, k)
    if b >= 0:
        add_outer(values, graph.diagonal[b], ub, wb, k)
    if tie.edge >= 0:
        i, j = (0, 1) if a < b else (1, 0)
        add_outer(values, graph.offsets[tie.edge, i], ua, wb, k)
        add_outer(values, graph.offsets[tie.edge, j], ub, wa, k)


@inline
def lent(augment, bodies, row):
    """Factors by which a joint row is added to the equations of its bodies a and b; see `MaximalModel.augment`."""
    ra, rb = augment[row.node, 0], augment[row.node, 1]
    if row.kind == DOT:
        ra, rb = ra * bodies[row.a].radius ** 2, rb * bodies[row.b].radius ** 2
    return ra, rb


@inline
def lend(graph, values, row, wa, wb, ea, eb, ra, rb):
    """Add the blocks of an augmentation row: ra wa and rb wb times its gradients ea, eb by the velocities."""
    i, j = (0, 1) if row.a < row.b else (1, 0)
    if ra > 0.0:
        add_outer(values, graph.diagonal[row.a], wa, ea, ra)
        add_outer(values, graph.offsets[row.eab, i], wa, eb, ra)
    if rb > 0.0:
        add_outer(values, graph.diagonal[row.b], wb, eb, rb)
        if row.eab >= 0:
            add_outer(values, graph.offsets[row.eab, j], wb, ea, rb)


@inline
def place_row(values, offsets, edge, m, local, w, e):
    """Add the blocks of one row and one body: column -w to (body, node), row e to (node, body)."""
    if edge >= 0:
        column, row = offsets[edge, 0] + local, offsets[edge, 1] + 6 * local
        for c in range(6):
            values[column + m * c] -= w[c]
        add_six(values, row, e, 1.0)
