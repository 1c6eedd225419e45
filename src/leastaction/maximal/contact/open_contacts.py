"""Whether a solved cone of rigid contact is open.

The interior point method stops slightly before the end of the central path, where slack and impulse are both positive.
So the velocity that the impulse causes is compared with the slack.
"""

from leastaction._jit import inline
from leastaction.contact.laws import cones as ip
from leastaction.maximal.step.solver.contact_masses import inertia_of


@inline
def is_open(bodies, c):
    """Whether a cone is open: its impulse would change the velocity of its free bodies by less than its slack."""
    return c.kind != ip.DRY and c.gam * (inertia_of(bodies, c.a, c.da) + inertia_of(bodies, c.b, c.db)) < c.s
