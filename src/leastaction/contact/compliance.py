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

Surfaces may be soft: users give contacts a compliance C [m/N] of their own, which adds to that one, without a bound.
Such a contact is a spring F = -gap / C that only pushes. A step of h with half of its impulse in each phase, l = h F/2,
has

    0 <= l,  gap(q1) + (2 C / h) l >= 0,  one of them zero                        positions
    0 <= L,  gap(q1) + h rate(q1, v1) + (2 C / h) L >= 0,  one of them zero       momenta

so that it rests without a velocity, pressed in by C F to the digit, and C -> 0 is rigid contact without restitution.
Forces are those at the end of the step, and one step ahead of it: the spring is damped with a time constant of about h,
which makes it of first order, and stable however stiff it is. Its energy, gap^2 / (2 C), is part of the energy balance
of a step, but not of the potential energy of a run.
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
