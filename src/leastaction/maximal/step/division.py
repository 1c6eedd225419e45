"""Steps that Newton cannot solve are divided: how far, how that is told, and where a part begins again."""

import numpy as np

from leastaction._jit import inline, routine

FINEST, LAST = 1024, 32768
"""Most parts that a step is divided into where Newton fails: fast motions of long chains, loops that pass a singular
configuration while they touch, or bodies that jam between others, for a moment. It is halved, and a half that fails is
halved again. Coulomb's law need not have a solution; where there is none in one of the finest parts, all contacts slip
in it and none bounces, as without friction there always is one. What fails even then, as where light links between
heavy ones snap taut within microseconds, is halved on, up to the LAST."""

JAMMED = 16
"""From so many parts on, contacts that Newton cannot solve, as those of links that wedge each other, slip in a part
that fails for it before it is halved again: so short a slip changes little, and jams would take all the work that there
is."""

LONGEST = 1 << 61
"""How a step was halved is told by a number: after a leading 1, bit by bit, 1 for a part that failed and was halved and
0 for one that was solved, in order of time (`step_parts.lengths_of`); 0 for a step that was not halved. Where the
number would be larger than this, -n for n equal parts, as those of steps that follow stiff springs are, and -1 for
others."""


SOLVED_PART, HALVED = np.int64(0), np.int64(1)
"""The bits of that number. NumPy's integers, since kernels are compiled anew for each literal."""


@inline
def with_bit(told, bit):
    """A bit more of how a step was halved."""
    return 2 * told + bit if 0 < told < LONGEST else -1


@routine(allocates=False)
def touches(contact):
    """Whether the present substep has contacts, limits or dry friction."""
    if contact is None:
        return False
    return contact.now[0].count > 0


@routine(allocates=False)
def contact_failed(contact):
    """Whether it is Newton with contacts that has failed."""
    if contact is None:
        return False
    return contact.now[0].failed > 0


@routine(allocates=False)
def forget_failure(data, contact):
    """Back to the guess with which a failed step began; no warm start from its contacts."""
    states, rowstates = data.bodies, data.rows
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            s.w[c], s.vc[c] = s.x[c], s.x[3 + c]
    for k in range(rowstates.shape[0]):
        rowstates[k].lam = 0.0
    if contact is not None:
        contact.now[0].known = 0
