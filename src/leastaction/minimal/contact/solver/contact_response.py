"""Compliance of contacts, motions that impulses bring about, and discs of friction.

Corners of a rigid face share its load in many ways. As long as they stick, the motion is the same with all of them;
where the face slides and also spins, it is not, and the rigid model has many solutions. A compliance c makes the loads
a function of the state: a contact with the force F is closed where

    gap + c F / (1 + c F / d) = 0,    c = COMPLIANCE dt^2 / m,    d = DEEPEST dt^2,

with the nominal time step dt and the mass m of the trees of joints that touch (of two: the reduced mass). No force is
deeper than d, and below some 200 m / s^2 times the mass it is c F. Contacts stick where they slip by
-TANGENTIAL c T / (1 + c F / d) with the friction T.
This is nearly the distribution of least norm, that of equal springs. The derivative of a step has the same compliance,
so that it is that of the solution which the solver finds. c is constant: parts of a divided step have the same law of
force, with c / h for each unit of an impulse in a part of length h.
"""

from leastaction._jit import inline, routine
from leastaction.contact.laws.soft_contact import required_gap, soft_law
from leastaction.contact.penetration.penetration_recovery import overlap_left

COMPLIANCE = 1e-5
"""Compliance of a contact in units of dt^2 / m.

Of 40 cubes that tumble over the ground for 80 steps of 0.01 s, the gradients of none by the initial velocity are off by
more than 1e-3 of central differences, and so many by more than 1e-4: 5 with 1e-6, none with 1e-5 or 1e-4."""


@inline
def compliance_of(mass, whole, dt):
    """How far a contact gives way for each unit of an impulse in a part, dt long, of a step of length `whole`."""
    return COMPLIANCE * whole * whole / (mass * dt) if mass > 0.0 else 0.0


@routine
def soften_contact(touch, cone, c, dt):
    """What a contact gives way by in a part of length dt, and the gap that it must have, see `laws.soft_contact`."""
    touch.impulse_compliance[c] = touch.lag[c] = touch.end_compliance[c] = 0.0
    if cone.compliance > 0.0:
        touch.impulse_compliance[c], touch.lag[c], touch.end_compliance[c] = soft_law(
            cone.compliance, cone.relaxation, dt
        )
        touch.least[c] = required_gap(touch.start_gap[c], touch.lag[c])


@inline
def remaining_overlap(phi, fall, slight):
    """`overlap_left` of a part of a step in which gravity moves things by `fall` [m].

    An overlap of less than `slight`, see `slight_overlap`, is none.
    """
    return overlap_left(phi, fall, slight)
