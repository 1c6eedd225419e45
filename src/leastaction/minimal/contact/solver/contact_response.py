"""Compliance of contacts: a regularisation that makes contact forces unique.

The corners of a rigid face share its load in many ways. While they stick, the motion is the same for all of them; where
the face slides and spins, it is not, and the rigid model has many solutions. A compliance c makes the loads a function
of the state: a contact with the normal force F is closed where

    gap + c F / (1 + c F / d) = 0,    c = COMPLIANCE dt^2 / m,    d = DEEPEST dt^2,

with the nominal time step dt and the mass m of the kinematic trees in contact (for two: the reduced mass). Penetration
is at most d; below a force of some 200 m / s^2 times the mass it is c F. Sticking contacts creep by
-TANGENTIAL c T / (1 + c F / d) with the friction T.
This is nearly the distribution of least norm, that of equal springs. The derivatives of a step include the compliance,
so that they belong to the solution that the solver finds. c does not depend on the substep: all substeps have the same
force law, with a compliance of c / h per unit of impulse in a substep of length h.
"""

from leastaction._jit import inline, routine
from leastaction.contact.laws.soft_contact import required_gap, soft_law
from leastaction.contact.penetration.penetration_recovery import overlap_left

COMPLIANCE = 1e-5
"""Compliance of a contact in units of dt^2 / m.

40 cubes tumble over the ground for 80 steps of 0.01 s: no gradient by the initial velocity differs by more than 1e-3
from central differences; by more than 1e-4 differ 5 with 1e-6, none with 1e-5 or 1e-4."""


@inline
def compliance_of(mass, whole, dt):
    """Penetration per unit of impulse [m/(N s)] of a contact in a substep dt of a step of length `whole`."""
    return COMPLIANCE * whole * whole / (mass * dt) if mass > 0.0 else 0.0


@routine
def soften_contact(touch, cone, c, dt):
    """Set the compliances of a soft contact in a substep of dt and its required gap, see `laws.soft_contact`."""
    touch.impulse_compliance[c] = touch.lag[c] = touch.end_compliance[c] = 0.0
    if cone.compliance > 0.0:
        touch.impulse_compliance[c], touch.lag[c], touch.end_compliance[c] = soft_law(
            cone.compliance, cone.relaxation, dt
        )
        touch.least[c] = required_gap(touch.start_gap[c], touch.lag[c])


@inline
def remaining_overlap(phi, fall, slight):
    """`overlap_left` at the end of a substep in which gravity moves bodies by `fall` [m].

    Overlaps of less than `slight`, see `slight_overlap`, count as none.
    """
    return overlap_left(phi, fall, slight)
