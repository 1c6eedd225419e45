"""Steps that are not accepted are bisected: how far, and where a substep begins again."""

from leastaction._jit import routine
from leastaction.contact.laws import cones as ip
from leastaction.step_control.bisection import FINEST as FINEST
from leastaction.step_control.bisection import LAST as LAST

JAMMED = 16
"""Fast motions of long chains, loops that pass a singular configuration while they touch, and bodies that jam between
others for a moment need up to FINEST substeps. Coulomb's law need not have a solution; where none is found in one of
these, all contacts stick in it where that solves it (Painleve), or else slip and none bounces, as without friction
there always is one. What fails even then is halved on, up to the LAST.

From so many substeps on, contacts that Newton cannot solve, as those of links that wedge each other, do so in one that
fails for it before it is halved again: so short a slip changes little, and jams would take all the work that there
is: of 20 runs each of `stack` and `drop_littledog` one fails without it."""


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
def reset_to_guess(data, contact):
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


@routine(allocates=False)
def drop_friction(contact):
    """Take friction from all contacts."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind == ip.EXACT or c.kind == ip.LINEAR:
            c.kind, c.beta[0], c.beta[1] = ip.LIMIT, 0.0, 0.0
        if c.kind == ip.TURN:
            for i in range(6, 18):
                c.da[i] = c.db[i] = 0.0
