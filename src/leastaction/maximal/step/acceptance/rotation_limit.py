"""The rotation limit of a substep.

The angular momentum of a body that rotates by an angle a in a substep is J sin(a) / dt along its axis (Bruedigam 2023,
Eq. 16), which has its maximum at a quarter turn. Only below that is it one-to-one; solutions beyond rotate faster the
less momentum they have, and are spurious. So substeps in which a body with mass rotates further are bisected; where
the velocities of the substep before predict it, already before they are solved.
"""

from leastaction._jit import routine

QUARTER = 0.7071
"""Largest |dt w / 2| of a body with mass: sin(a / 2) for a quarter turn."""

EXPECTED = 0.25
"""The same bound for the velocities before, half a radian. It affects the work of a step, not which one is accepted:
without it `spin` takes 80 iterations a step (50), `chain` 86 (54), `swings` 156 (130; corpus, 10 seeds)."""


@routine(allocates=False)
def rotates_too_far(bodies, states, dt):
    """Whether a body with mass rotates by more than a quarter turn in a solved substep."""
    most = 0.0
    for i in range(bodies.shape[0]):
        s = states[i]
        if bodies[i].mass > 0.0:
            most = max(most, s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2)
    return 0.25 * dt * dt * most > QUARTER * QUARTER


@routine(allocates=False)
def would_rotate_too_far(bodies, states, dt):
    """Whether a body with mass would rotate beyond EXPECTED with the velocities of the substep before."""
    most = 0.0
    for i in range(bodies.shape[0]):
        x = states[i].x
        if bodies[i].mass > 0.0:
            most = max(most, x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    return 0.25 * dt * dt * most > EXPECTED * EXPECTED
