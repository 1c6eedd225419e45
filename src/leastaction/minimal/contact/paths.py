"""Tip-to-root passes of wrenches and rows on bodies through the factors of a joint-space matrix.

The paths of two bodies merge at the joints that carry both.
"""

from leastaction._jit import inline, routine
from leastaction.minimal.contact.row_vec6 import six
from leastaction.minimal.vec6 import plus, times


@inline
def push_through(nodes, S0_, W_, col_, i, h, column):
    """Wrench that a wrench h on body i becomes beyond its joint; stores its entries of L^-1 S0^T h in the column.

    Args:
        W_, col_: the factors: pivots in W_[:, 6] and columns, as of `body_sweeps.eliminate` and
            `joint_momenta.factor`.
    """
    for c in range(nodes[i].iv + nodes[i].nv - 1, nodes[i].iv - 1, -1):
        r = times(six(S0_[c]), h)
        column[c] = r
        h = plus(-W_[c, 6] * r, six(col_[c]), h)
    return h


@inline
def pull_through(model, data, i, k, row):
    """`push_through` of a row k on the motion of body i: its entries of k U^-1, divided by the pivots."""
    nodes, S1_, W_ = model.nodes, data.S[1 - data.now[0]], data.W
    for c in range(nodes[i].iv + nodes[i].nv - 1, nodes[i].iv - 1, -1):
        s = W_[c, 6] * times(k, six(S1_[c]))
        row[c] = s
        k = plus(-s, six(W_[c]), k)
    return k


@routine
def push_up(nodes, S0_, W_, col_, node, h, column):
    """L^-1 S0^T h of a wrench h on a body, along the joints that carry it; factors as in `push_through`."""
    while node >= 0:
        h = push_through(nodes, S0_, W_, col_, node, h, column)
        node = nodes[node].parent


@routine
def pull_up(model, data, node, k, row):
    """k U^-1 of a row k on the motion of a body, along the joints that carry it, divided by the pivots."""
    while node >= 0:
        k = pull_through(model, data, node, k, row)
        node = model.nodes[node].parent


@routine
def push_both(nodes, S0_, W_, col_, i, h, j, g, column):
    """L^-1 S0^T of wrenches h on body i and g on body j, along the joints that carry them."""
    while i != j:
        if i < j:
            i, h, j, g = j, g, i, h
        h = push_through(nodes, S0_, W_, col_, i, h, column)
        i = nodes[i].parent
    push_up(nodes, S0_, W_, col_, i, plus(1.0, g, h), column)


@routine
def pull_both(model, data, i, h, j, g, row):
    """h U^-1 + g U^-1 of rows on the motions of bodies i and j, divided by the pivots."""
    while i != j:
        if i < j:
            i, h, j, g = j, g, i, h
        h = pull_through(model, data, i, h, row)
        i = model.nodes[i].parent
    pull_up(model, data, i, plus(1.0, g, h), row)


@inline
def against(h):
    """Negative of a 6-vector."""
    return (-h[0], -h[1], -h[2], -h[3], -h[4], -h[5])


@routine
def rate_along(model, data, rates, i, h, j):
    """Velocity of body i relative to body j along a wrench h at the start, for joint velocities `rates`."""
    nodes, S0_, sign, rate = model.nodes, data.S[data.now[0]], 1.0, 0.0
    while i != j:
        if i < j:
            i, j, sign = j, i, -sign
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            rate += sign * rates[k] * times(six(S0_[k]), h)
        i = nodes[i].parent
    return rate
