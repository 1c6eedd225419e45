"""Delassus matrix and free motions of the contact problem in joint coordinates, island by island."""

from leastaction._jit import inline, routine
from leastaction.contact.solver.islands import fill_delassus


@inline
def add_motion(w, j, rows, W_, spans, t):
    """Add the motion of impulse j's contact that the right-hand sides of tree t cause."""
    if t >= 0:
        for c in range(spans[t, 0], spans[t, 1]):
            w[j] += rows[j, c] * W_[c, 7]


@routine
def relate_islands(touch, islands, n, W_):
    """Set w0 and the Delassus matrix W of the n active impulses, see `robot_contacts.relate`."""
    which, one, two, spans = touch.which, islands.one, islands.two, islands.spans
    for a in range(n):
        add_motion(touch.w, which[a], touch.rows, W_, spans, one[a])
        add_motion(touch.w, which[a], touch.rows, W_, spans, two[a])
    fill_delassus(touch, islands, n)
