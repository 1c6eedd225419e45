"""From reduced coordinates r to those of the nodes, and back for forces.

Most coordinates are those of a node. Blocks are not: a spline gives the coordinates of three or six nodes from one or
two numbers, exponential coordinates give a ball's rotation. Each robot keeps for each block T = d(velocity)/d(rate),
and what it takes to differentiate it: with v = T rd and a = T rdd + Td rd,

    E = dv/dr,  F = da/dr,  G = da/d(rd),  D2 = dT/dr.
"""

import math

from leastaction._jit import inline, routine
from leastaction.kinematics.reduced.exponential_coordinates import ball_block
from leastaction.mechanism.joints import Motion

CURVE = int(Motion.SPLINE_CURVE)
SURFACE = int(Motion.SPLINE_SURFACE)


@inline
def _bases(s):
    """Values and three derivatives of the cumulative cubic basis functions 2, 3 and 4 (Sueda 2021, Eq. 2.72)."""
    value = ((5.0 + s * (3.0 + s * (s - 3.0))) / 6.0, (1.0 + s * (3.0 + s * (3.0 - 2.0 * s))) / 6.0, s * s * s / 6.0)
    first = (0.5 + s * (0.5 * s - 1.0), 0.5 + s * (1.0 - s), 0.5 * s * s)
    return value, first, (s - 1.0, 1.0 - 2.0 * s, s), (1.0, -2.0, 1.0)


@routine
def _place_segment(nodes, first, row):
    """Put the three screws of a segment of a curve in place, from node `first` on."""
    for j in range(3):
        node = nodes[first + j]
        node.kind = row.kind[j]
        node.pitch = row.pitch[j]
    for j in range(4):
        node = nodes[first + j]
        for c in range(9):
            node.Rt[c] = row.Rt[j, c]
        for c in range(3):
            node.pt[c] = row.pt[j, c]


@routine
def _curve(model, data, b, r, rd, rdd, q, v, a):
    block, lift = model.blocks[b], data.lifts[b]
    x = r[block.ir]
    whole = math.floor(x)
    segment = int(whole) % block.count
    row = model.segments[block.table + segment]
    if segment != lift.segment:
        _place_segment(data.nodes, block.node, row)
        lift.segment = segment
    b0, b1, b2, b3 = _bases(x - whole)
    xd, xdd = rd[block.ir], rdd[block.ir]
    for j in range(3):
        k = row.scale[j]
        q[block.iq + j] = k * b0[j]
        v[block.iv + j] = k * b1[j] * xd
        a[block.iv + j] = k * (b1[j] * xdd + b2[j] * xd * xd)
        lift.map[j, 0] = k * b1[j]
        lift.E[j, 0] = k * b2[j] * xd
        lift.F[j, 0] = k * (b2[j] * xdd + b3[j] * xd * xd)
        lift.G[j, 0] = 2.0 * k * b2[j] * xd
        lift.D2[j, 0, 0] = k * b2[j]


@inline
def _powers(x, order):
    """Derivative of the given order of (1, x, x^2, x^3)."""
    if order == 0:
        return (1.0, x, x * x, x * x * x)
    if order == 1:
        return (0.0, 1.0, 2.0 * x, 3.0 * x * x)
    if order == 2:
        return (0.0, 0.0, 2.0, 6.0 * x)
    return (0.0, 0.0, 0.0, 6.0)


@inline
def _bicubic(G, i, x, y, order_x, order_y):
    """A mixed derivative of polynomial i (Eq. 2.76)."""
    X, Y = _powers(x, order_x), _powers(y, order_y)
    total = 0.0
    for m in range(4):
        for n in range(4):
            total += G[i, m, n] * X[m] * Y[n]
    return total


@routine
def _surface(model, data, b, r, rd, rdd, q, v, a):
    block, lift, polynomials = model.blocks[b], data.lifts[b], model.polynomials
    x, y = r[block.ir], r[block.ir + 1]
    s = (rd[block.ir], rd[block.ir + 1])
    t = (rdd[block.ir], rdd[block.ir + 1])
    for j in range(6):
        i = block.table + j
        q[block.iq + j] = _bicubic(polynomials, i, x, y, 0, 0)
        velocity = 0.0
        acceleration = 0.0
        for c in range(2):
            lift.map[j, c] = _bicubic(polynomials, i, x, y, 1 - c, c)
            velocity += lift.map[j, c] * s[c]
            acceleration += lift.map[j, c] * t[c]
            e = 0.0
            f = 0.0
            for d in range(2):
                lift.D2[j, c, d] = _bicubic(polynomials, i, x, y, 2 - c - d, c + d)
                e += lift.D2[j, c, d] * s[d]
                f += lift.D2[j, c, d] * t[d]
                for k in range(2):
                    f += _bicubic(polynomials, i, x, y, 3 - c - d - k, c + d + k) * s[d] * s[k]
            lift.E[j, c], lift.F[j, c], lift.G[j, c] = e, f, 2.0 * e
            acceleration += e * s[c]
        v[block.iv + j] = velocity
        a[block.iv + j] = acceleration


@routine
def lift(model, data, r, rd, rdd, q, v, a):
    """Coordinates q, velocities v and accelerations a of the nodes (`CoordinateModel`, `CoordinateData`)."""
    plain = model.plain
    for k in range(plain.shape[0]):
        i, j = plain[k, 0], plain[k, 2]
        q[plain[k, 1]] = r[i]
        v[j] = rd[i]
        a[j] = rdd[i]
    _lift_blocks(model.blocks, model, data, r, rd, rdd, q, v, a)


@routine
def _lift_blocks(blocks, model, data, r, rd, rdd, q, v, a):
    if blocks is None:
        return
    for k in range(blocks.shape[0]):
        kind = blocks[k].kind
        if kind == CURVE:
            _curve(model, data, k, r, rd, rdd, q, v, a)
        elif kind == SURFACE:
            _surface(model, data, k, r, rd, rdd, q, v, a)
        else:
            ball_block(blocks[k], data.lifts[k], r, rd, rdd, q, v, a)


@routine
def lower(model, data, tau, g):
    """g = T^T tau: forces on the nodes as forces on the reduced coordinates."""
    plain = model.plain
    for k in range(plain.shape[0]):
        g[plain[k, 0]] = tau[plain[k, 2]]
    _lower_blocks(model.blocks, data.lifts, tau, g)


@routine
def _lower_blocks(blocks, lifts, tau, g):
    if blocks is None:
        return
    for k in range(blocks.shape[0]):
        block, T = blocks[k], lifts[k].map
        for c in range(block.nr):
            total = 0.0
            for j in range(block.nv):
                total += T[j, c] * tau[block.iv + j]
            g[block.ir + c] = total


@routine
def raise_direction(model, data, d, out):
    """out = T d: a change of the reduced coordinates as one of the nodes' along the tangent."""
    plain = model.plain
    for k in range(plain.shape[0]):
        out[plain[k, 2]] = d[plain[k, 0]]
    _raise_blocks(model.blocks, data.lifts, d, out)


@routine
def _raise_blocks(blocks, lifts, d, out):
    if blocks is None:
        return
    for k in range(blocks.shape[0]):
        block, T = blocks[k], lifts[k].map
        for j in range(block.nv):
            total = 0.0
            for c in range(block.nr):
                total += T[j, c] * d[block.ir + c]
            out[block.iv + j] = total
