"""Steps that are not accepted are bisected: how far, and where a substep begins again."""

from leastaction._jit import routine
from leastaction.step_control.bisection import FINEST as FINEST

LAST = 32768
"""Most substeps of a step. Fast motions of long chains, loops that pass a singular configuration while they touch, and
bodies that jam between others for a moment need up to FINEST. Coulomb's law need not have a solution; where there is
none in one of these, all contacts slip in it and none bounces, as without friction there always is one. What fails even
then, as where light links between heavy ones snap taut within microseconds, is halved on, up to the LAST."""

JAMMED = 16
"""From so many parts on, contacts that Newton cannot solve, as those of links that wedge each other, slip in a part
that fails for it before it is halved again: so short a slip changes little, and jams would take all the work that there
is."""


@routine(allocates=False)
def is_jammed(contact):
    """Whether it is a step with contacts, and no judgement of its solution, that has failed."""
    if contact is None:
        return False
    return contact.now[0].count > 0 and contact.now[0].failed > 0


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
