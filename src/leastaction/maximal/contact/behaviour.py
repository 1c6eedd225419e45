"""What a solved cone of rigid contact does: it is open, sticks or slides.

The interior point method comes to rest a little above the end of the central path, where all of these are softened. How
little an impulse or a bound leaves is compared with the velocity that is left, both as velocities.
"""

import math

from leastaction._jit import inline
from leastaction.contact import cones as ip
from leastaction.maximal.step.cone_masses import inertia_of


@inline
def lightness(bodies, c, row):
    """Velocity that a unit impulse along a direction (0: normal, 1, 2: tangents) of a cone gives its bodies [1/kg].

    That of the bodies alone: joints only make it less.
    """
    first = 6 * row
    return inertia_of(bodies, c.a, c.da[first : first + 6]) + inertia_of(bodies, c.b, c.db[first : first + 6])


@inline
def across(bodies, c):
    """`lightness` along the tangents, the larger of both."""
    return max(lightness(bodies, c, 1), lightness(bodies, c, 2))


@inline
def is_open(bodies, c):
    """Whether a cone pushes with nothing: with its impulse, bodies would move by less than its slack."""
    return c.kind != ip.DRY and c.gam * lightness(bodies, c, 0) < c.s


@inline
def slides(bodies, c):
    """Whether friction is all that it can be: with what is left of it, bodies would move by less than they slide."""
    if c.kind == ip.LIMIT:
        return True
    beta = math.sqrt(c.beta[0] ** 2 + c.beta[1] ** 2)
    left = c.sigma if c.kind == ip.LINEAR else max(ip.friction_bound(c) - beta, 0.0)
    return left * across(bodies, c) < math.sqrt(c.y[0] ** 2 + c.y[1] ** 2)
