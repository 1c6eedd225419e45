"""Motions that impulses bring about, island by island: the contact problem of joint coordinates."""

from leastaction._jit import inline, routine
from leastaction.contact.solver.islands import fill_delassus


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
    fill_delassus(touch, islands, n)
