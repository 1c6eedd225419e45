"""Bisection of rejected steps: its limits, and how a substep is restarted."""

from leastaction._jit import routine
from leastaction.contact.laws import cones as ip
from leastaction.step_control.bisection import FINEST as FINEST
from leastaction.step_control.bisection import LAST as LAST

JAMMED = 16
"""Up to FINEST substeps are needed by fast long chains, by loops that pass a singular configuration in contact, and by
bodies that jam for a moment. Coulomb's law need not have a solution: where a substep of that length fails, it is
solved with all contacts sticking (Painleve), or else without friction, where a solution always exists. Substeps that
fail even then are bisected on, up to LAST.

From JAMMED substeps on, a substep in which Newton with contacts fails, as for links that wedge each other, is solved
in this way before it is bisected again: so short a slip changes little, while jams would exhaust `max_work`. Without
this rule one of 20 runs each of `stack` and `drop_littledog` fails."""


@routine(allocates=False)
def touches(contact):
    """Whether the present substep has contacts, limits or dry friction."""
    if contact is None:
        return False
    return contact.now[0].count > 0


@routine(allocates=False)
def contact_failed(contact):
    """Whether the solver with contacts failed in the present substep."""
    if contact is None:
        return False
    return contact.now[0].failed > 0


@routine(allocates=False)
def reset_to_guess(data, contact):
    """Restore the initial guess of a failed substep, and disable the warm start from its contacts."""
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
    """Remove friction from all contacts of the substep."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind == ip.EXACT or c.kind == ip.LINEAR:
            c.kind, c.beta[0], c.beta[1] = ip.LIMIT, 0.0, 0.0
        if c.kind == ip.TURN:
            for i in range(6, 18):
                c.da[i] = c.db[i] = 0.0
