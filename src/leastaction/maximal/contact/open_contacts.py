"""Whether a solved cone of rigid contact is open.

The interior point method comes to rest a little above the end of the central path, where all is softened. How little an
impulse leaves is compared with the slack that is left, both as velocities.
"""

from leastaction._jit import inline
from leastaction.contact.laws import cones as ip
from leastaction.maximal.step.solver.contact_masses import inertia_of


@inline
def is_open(bodies, c):
    """Whether a cone pushes with nothing: with its impulse, bodies alone would move by less than its slack."""
    return c.kind != ip.DRY and c.gam * (inertia_of(bodies, c.a, c.da) + inertia_of(bodies, c.b, c.db)) < c.s
