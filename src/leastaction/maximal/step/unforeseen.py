"""Contacts with restitution that another impact closes within a step.

Newton's law needs the velocity before an impact. In a row of balls with small gaps the first one hits the second, and
this one the third, all in one step: at its start the second contact does not close, so it has no restitution, and what
closes its gap, h u = -phi, is lost: f phi / (2 h) with its impulse f. Shorter parts see the two impacts one after the
other. Balls that touch lose nothing: all impulses of the step obey one law (Moreau 1988: Unilateral contact and dry
friction in finite freedom dynamics), which conserves energy. So gaps that are too small for the shortest part obey it,
too, as if they were closed.
"""

from leastaction._jit import routine
from leastaction.contact import cones as ip
from leastaction.maximal.contact.bounces import energy_before, keep_share, share_now
from leastaction.maximal.contact.detection import BOUNCE, BOUNCING, approach, contact_wrenches
from leastaction.maximal.step.assembly import work
from leastaction.maximal.step.cone_masses import inertia_of
from leastaction.maximal.step.scales import speed_scale

APART = 256
"""Impacts that follow each other by less than this share of a step are one. Parts of steps are shorter than that."""

LOST, SLIGHT = 3e-4, 1e-5
"""Energy that contacts of a step may lose so, and one of them, relative to the kinetic energy before."""


@routine(allocates=False)
def unforeseen_impacts(bodies, states, settings, contact, dt):
    """(number of contacts that bounce from now on, energy that others lose relative to that before).

    Of contacts with restitution that impacts close in a solved step, and that did not close at its start. The first are
    on the central path again, as all others: to be solved anew.
    """
    lost, bouncing, energy = 0.0, 0, -1.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source < 0 or c.kind >= ip.DRY or c.gam <= 0.0 or c.side == BOUNCING:
            continue
        e = contact.contacts[c.source].restitution
        if e == 0.0:
            continue
        energy = energy_before(bodies, states) if energy < 0.0 else energy
        now = work(states, c.da[0:6], c.a) + work(states, c.db[0:6], c.b)
        own = -0.5 * e * e * c.gam * now
        if own <= SLIGHT * energy:
            continue
        # What closed it is no impact where gravity or motors do as much in a step.
        light = inertia_of(bodies, c.a, c.da) + inertia_of(bodies, c.b, c.db)
        slow = BOUNCE * speed_scale(settings, contact.now[0].push, 1.0 / light, dt) if light > 0.0 else 0.0
        hit = now - c.gam * light
        if approach(c, states) - hit <= slow:
            continue
        if -now * abs(dt) * APART < -hit * abs(settings.whole):
            rest = contact_wrenches(c, contact.contacts[c.source], states) - e * dt * approach(c, states)
            if rest > c.rest:
                bouncing += 1
                for j in range(k, contact.now[0].count):  # and its friction against turning, which stands behind it
                    if contact.cones[j].source == c.source:
                        contact.cones[j].rest, contact.cones[j].side = rest, BOUNCING
        else:
            lost += own
    if bouncing > 0:
        keep_share(states, settings, contact, share_now(contact), dt)
    return bouncing, lost / energy if energy > 0.0 else 0.0
