"""Static and kinetic friction: which coefficient a contact has in a step.

Coulomb's law with two coefficients, mu_s >= mu_k: static for a contact that sticks, kinetic for one that slides. The
state (q, p) at the start of the step alone decides which of them applies, so that runs can be restarted: a contact
sticks if its features slip more slowly than `STICK` times the nominal step. Its coefficient is constant within the
step and friction opposes the slip in both cases, so that energy decreases. A sticking contact that is loaded beyond
mu_s begins to slip in this step and has mu_k from the next step on; a sliding contact that stops sticks from the next
step on.
"""

from leastaction._jit import inline

__all__ = ["STICK", "is_sticking"]

STICK = 1e-2
"""Largest slip velocity of a sticking contact over the nominal step [m/s^2]: 1e-4 m/s in steps of 0.01 s. Sticking
contacts creep by their compliance, at about 1e-8 m/s under their weight (`laws.compliance`); a contact that begins to
slip is faster than this after a step if its load exceeds static friction by 1e-2 N per kilogram."""


@inline
def is_sticking(slip, along, step):
    """Whether a contact with these slip velocities along both tangents [m/s] sticks; step: the nominal one [s]."""
    return slip * slip + along * along <= STICK * STICK * step * step
