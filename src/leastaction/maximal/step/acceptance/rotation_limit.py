"""The rotation bound of a substep.

The angular momentum of a body that turns by an angle a in a substep is J sin(a) / dt along its axis (Bruedigam 2023,
Eq. 16): it grows up to a quarter turn and falls beyond. Only up to there it is one-to-one; solutions beyond turn the
faster the less momentum they have, and no motion leads to them. So substeps in which a body with mass turns further are
bisected, and before anything is solved where the velocities of the substep before say so.
"""

from leastaction._jit import routine

QUARTER = 0.7071
"""Largest |dt w / 2| of a body with mass, sin(a / 2) for a turn by a quarter."""

EXPECTED = 0.25
"""The same by the velocities before, half a radian. It decides how much work a step takes, not which one is accepted:
without it `spin` takes 80 iterations a step (50), `chain` 86 (54), `swings` 156 (130; corpus, 10 seeds)."""


@routine(allocates=False)
def rotates_too_far(bodies, states, dt):
    """Whether a body with mass turns by more than a quarter turn in a solved substep."""
    most = 0.0
    for i in range(bodies.shape[0]):
        s = states[i]
        if bodies[i].mass > 0.0:
            most = max(most, s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2)
    return 0.25 * dt * dt * most > QUARTER * QUARTER


@routine(allocates=False)
def would_rotate_too_far(bodies, states, dt):
    """Whether one would with the velocities of the substep before."""
    most = 0.0
    for i in range(bodies.shape[0]):
        x = states[i].x
        if bodies[i].mass > 0.0:
            most = max(most, x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    return 0.25 * dt * dt * most > EXPECTED * EXPECTED
