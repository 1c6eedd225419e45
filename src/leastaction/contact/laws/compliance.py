"""Compliance of contacts, limits and dry friction: what makes the impulses of redundant contacts unique.

Rigid contact leaves open how redundant contacts share a load. Where four corners of a face slide while the face spins,
the motion itself depends on that share, so a solver's choice would decide on the motion, on restarts and on
derivatives. With a compliance c [m/N] about zero,

    gap at the end of the step = -c F / (1 + c F / d)        slip = -c T while it sticks

the matrix of the contact problem is positive definite and impulses are unique: in the limit of small c they are those
of least norm. This is a diagonal added to the Delassus matrix (Carpentier et al. 2024, arXiv:2405.17020); the rigid
limit is exact.

with the forces F along the normal and T of friction. The default follows from the nominal step h0 and the mass m of all
that moves, c = `RELATIVE_COMPLIANCE` h0^2 / m: the weight of everything presses no contact in by more than
`RELATIVE_COMPLIANCE` times g h0^2, and leaves it no more speed than that over h0. A step adds no more than
d = `DEEPEST` h0^2 to the overlap that it starts with. Both depend neither on the pose nor on how a step is divided.
"""

__all__ = ["DEEPEST", "RELATIVE_COMPLIANCE", "default_compliance"]

RELATIVE_COMPLIANCE = 1e-6
"""c m / h0^2: a step of 0.01 s presses a body in by 1e-9 m under its weight and by 4e-8 m at an impact of 4 m/s. Of 40
cubes thrown on the ground, gradients that are off by more than 1e-4 of central differences, and the largest error 60
steps after a restart: 1 and 4e-10 with 1e-5, 1 and 1e-10 with 1e-6, 3 and 1e-8 with 1e-7, where round-off of gaps
decides on the split of loads."""


DEEPEST = 2e-3
"""Most that the compliance adds to an overlap, in units of h0^2 [m/s^2]: 2e-7 m in steps of 0.01 s. Springs and servos
that press with thousands of times the weight of their robot were up to 8e-6 m deep without it (20 of the `presses` of
the corpus), and are up to 3e-6 m with it (50 of them)."""


def default_compliance(mass: float, dt: float) -> float:
    """Compliance of a contact [m/N] for a total mass [kg] that moves, and a nominal step dt [s]."""
    return RELATIVE_COMPLIANCE * dt * dt / mass if mass > 0.0 else 0.0
