"""Is the solution of a step one that the motion leads to? Its energy tells.

The equations of a step that is too long for a fast motion have several solutions, or one that is far from the motion.
Those show by kinetic energy that no force accounts for, at any order and whatever forces act. What is looked at is the
same for a step and for the same one back in time, so what is done about it does not make energy drift.
"""

from leastaction._jit import inline, routine
from leastaction.mechanism import Mechanism

PLAUSIBLE, PER_BODY = 0.02, 0.2
"""Share of its kinetic energy that a mechanism may get from nowhere within a step, and that of the energy of one body
in the mean. Pendulums with steps of a tenth of their period stay below; a long chain whose end cracks like a whip is
wrong when the energy of one link is, though that is little beside all others'."""

MANY = 32
"""With more bodies than this, the share of each is less in proportion: there are always some that whip about, in all
steps the same way, as the motion of a long chain gets rougher and rougher. Of 16 chains with 128 links from angles of
+-0.5 rad, in steps of 0.01 s, the worst error of the energy within 5 s is 0.08 of the largest kinetic one (0.15 without
this), for a fifth more iterations."""

NOISE = 100.0
"""Velocities are known to so many tolerances of the Newton updates per step."""


def plausible_share(mechanism: Mechanism) -> float:
    """How much may come from nowhere in a step of this mechanism; see `is_implausible`."""
    bodies = max(1, len(mechanism.bodies))
    return min(PLAUSIBLE, PER_BODY / bodies * min(1.0, MANY / bodies))


@routine
def travel_energy(floating, forces, p):
    """Kinetic energy [J] of the travel of whole trees that only gravity pushes, with the momenta p (nv,).

    Whoever falls with such a tree does not see it. `floating`: see `arrays.floating_trees`; `forces`: generalised
    forces at points of the step, shape (any, nv).
    """
    energy = 0.0
    for k in range(floating.shape[0]):
        n = int(floating[k, 0])
        driven = False
        for j in range(forces.shape[0]):
            for c in range(6):
                driven = driven or forces[j, n + c] != 0.0
        if not driven:
            energy += 0.5 * (p[n + 3] ** 2 + p[n + 4] ** 2 + p[n + 5] ** 2) / floating[k, 1]
    return energy


@inline
def is_implausible(before, after, work, impulses, settings):
    """Whether the kinetic energy [J] changed in a step by something else than the work of its forces.

    What counts is the share of the kinetic energies at both ends and the work between them. `impulses`: sum of the
    sizes of momenta and impulses, for the noise. NaN is implausible.
    """
    noise = NOISE * settings.tolerance / settings.dt * impulses
    return not abs(after - before - work) <= settings.plausible * (before + after + abs(work)) + noise
