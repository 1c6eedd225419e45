"""Motions that impulses bring about, island by island: the Delassus matrix of joint coordinates."""

from leastaction._jit import inline, routine
from leastaction.contact.solver.islands import multiply_packed, pack


@inline
def add_motion(w, j, rows, W_, spans, t):
    """Add what the right-hand sides of a tree move impulse j's contact by."""
    if t >= 0:
        for c in range(spans[t, 0], spans[t, 1]):
            w[j] += rows[j, c] * W_[c, 7]


@routine
def relate_islands(touch, islands, n, W_):
    """w0 and W of the n impulses that take part: see `contacts.relate`."""
    which, one, two, spans = touch.which, islands.one, islands.two, islands.spans
    for a in range(n):
        add_motion(touch.w, which[a], touch.rows, W_, spans, one[a])
        add_motion(touch.w, which[a], touch.rows, W_, spans, two[a])
    for b in range(n):
        k, s, t = which[b], one[b], two[b]
        low, high, many = islands.low[k], islands.high[k], pack(islands, touch.columns[k])
        multiply_packed(touch.rows, which, low, high, islands, many, touch.W[k])
        for a in range(low, high if spans.shape[0] > 1 else low):
            if not ((s >= 0 and (one[a] == s or two[a] == s)) or (t >= 0 and (one[a] == t or two[a] == t))):
                touch.W[which[a], k] = 0.0  # the range of the other one may end before this one
