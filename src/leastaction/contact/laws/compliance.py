"""Compliance of contacts, limits and dry friction, which makes the impulses of redundant contacts unique.

In rigid contact the distribution of a load over redundant contacts is indeterminate. Where four corners of a face slide
while the face spins, even the motion depends on that distribution, so the solver's choice would affect the motion,
restarts and derivatives. With a compliance c [m/N] about zero,

    gap at the end of the step = -c F / (1 + c F / d)        slip = -c T while it sticks

with the normal force F and the friction T, the matrix of the contact problem is positive definite and the impulses are
unique: in the limit of small c they are the ones of least norm. This is a diagonal added to the Delassus matrix
(Carpentier et al. 2024, arXiv:2405.17020); the rigid limit is exact.

The default follows from the nominal step h0 and the mass m of all that moves, c = `RELATIVE_COMPLIANCE` h0^2 / m: under
the weight of everything a contact penetrates by at most `RELATIVE_COMPLIANCE` g h0^2, with a residual velocity of at
most this depth over h0. A step adds at most d = `DEEPEST` h0^2 to the penetration at its start. Both are independent of
the pose and of substeps.
"""

__all__ = ["DEEPEST", "RELATIVE_COMPLIANCE", "default_compliance"]

RELATIVE_COMPLIANCE = 1e-6
"""c m / h0^2: in a step of 0.01 s a body penetrates by 1e-9 m under its weight and by 4e-8 m at an impact of 4 m/s. For
40 cubes thrown on the ground, the number of gradients that differ by more than 1e-4 from central differences, and the
largest difference 60 steps after a restart: 1 and 4e-10 with 1e-5, 1 and 1e-10 with 1e-6, 3 and 1e-8 with 1e-7, where
round-off of gaps determines the load distribution."""


DEEPEST = 2e-3
"""Largest penetration that compliance adds, in units of h0^2 [m/s^2]: 2e-7 m in steps of 0.01 s. Springs and servos
that press with thousands of times the weight of their robot were up to 8e-6 m deep without it (20 of the `presses` of
the corpus), and are up to 3e-6 m with it (50 of them)."""


def default_compliance(mass: float, dt: float) -> float:
    """Compliance of a contact [m/N] for a total mass [kg] that moves, and a nominal step dt [s]."""
    return RELATIVE_COMPLIANCE * dt * dt / mass if mass > 0.0 else 0.0
