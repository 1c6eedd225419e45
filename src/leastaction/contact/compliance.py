"""Compliance of contacts, limits and dry friction: what makes the impulses of redundant contacts unique.

Rigid contact leaves open how redundant contacts share a load. Where four corners of a face slide while the face spins,
the motion itself depends on that share, so a solver's choice would decide on the motion, on restarts and on
derivatives. With a compliance c [m/N] about zero,

    gap at the end of the step = -c (force)        slip = -c (force) while it sticks

the matrix of the contact problem is positive definite and impulses are unique: in the limit of small c they are those of
least norm. This is a diagonal added to the Delassus matrix (Carpentier et al. 2024, arXiv:2405.17020); the rigid limit is
exact.

The default follows from the nominal step h0 and the mass m behind a contact, c = `RELATIVE_COMPLIANCE` h0^2 / m: the
weight of a body presses it in by `RELATIVE_COMPLIANCE` times the distance that it falls in a step. It depends neither on
the pose nor on how a step is divided.
"""

from leastaction._jit import inline

__all__ = ["RELATIVE_COMPLIANCE", "compliance_of"]

RELATIVE_COMPLIANCE = 1e-5
"""c m / h0^2. A step of 0.01 s presses a body in by 1e-8 m under its weight and by 4e-7 m at an impact of 4 m/s."""


@inline
def compliance_of(mass, whole, dt):
    """Velocity that a unit of impulse over the time dt leaves [1/kg, or 1/(kg m^2) for an inertia in place of a mass].

    Args:
        mass: behind the contact [kg or kg m^2]; none has no compliance.
        whole: nominal step [s].
        dt: of the part of it [s].
    """
    share = whole / dt
    return RELATIVE_COMPLIANCE * share * share / mass if mass > 0.0 else 0.0
