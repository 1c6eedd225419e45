"""Static and kinetic friction: which coefficient a contact has in a step.

Coulomb's law with two coefficients, mu_s >= mu_k: the static one where a contact sticks, the kinetic one where it
slides. Which of them holds is decided at the start of a step by the state (q, p) there alone, so that runs go on from
their states as before: a contact whose features slip over each other more slowly than `STICK` times the nominal step
sticks. Within the step it has one coefficient, and friction opposes the slip whichever it is, so that energies fall. A
contact that sticks and is pulled by more than mu_s begins to slip in this step, and has mu_k from the next one on; one
that slides and stops sticks from the next one on.
"""

from leastaction._jit import inline

__all__ = ["STICK", "is_sticking"]

STICK = 1e-2
"""Slip of contacts that stick, over the nominal step [m/s^2]: 1e-4 m/s in steps of 0.01 s. Contacts that stick creep by
their compliance, at some 1e-8 m/s under their weight (`laws.compliance`), and what begins to slip is faster than
this after a step if it is pulled by 1e-2 N for each kilogram more than the static friction."""


@inline
def is_sticking(slip, along, step):
    """Whether a contact with these slips along both tangents [m/s] sticks; step: the nominal one [s]."""
    return slip * slip + along * along <= STICK * STICK * step * step
