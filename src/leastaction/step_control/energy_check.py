"""Energy balance of a step: the kinetic energy changes by the work of its forces, or the step is not accepted.

The equations of a step that is too long for a fast motion have several solutions, or one that is far from the motion.
Those show by kinetic energy that no force accounts for, at any order and whatever forces act. The balance takes the
work from the quadrature of the step itself. Of methods that keep energies it bounds gain and loss alike, so that it is
the same for a step and for the same one back in time, and bisection does not make the energy drift; of those that damp
it bounds the gain.
"""

from leastaction._jit import inline, routine
from leastaction.mechanism import Mechanism

SHARE, PER_BODY = 0.02, 0.2
"""Share of its kinetic energies and work by which the balance of a step may be off, and that of the energy of one body
in the mean. Symplectic steps that are as long as a tenth of a period are off by less, at order 2 by up to 0.014 (a
pendulum from 2 rad, `tests/minimal/test_bisection.py`), and need no bisection: their energy error stays bounded. A long
chain whose end cracks like a whip is wrong when the energy of one link is, though that is little beside all others'."""

MANY = 32
"""With more bodies than this, the share of each is less in proportion: there are always some that whip about, in all
steps the same way, as the motion of a long chain gets rougher and rougher. Of 16 chains with 128 links from angles of
+-0.5 rad, in steps of 0.01 s, the worst error of the energy within 5 s is 0.08 of the largest kinetic one (0.15 without
this), for a fifth more iterations."""

NOISE = 100.0
"""Velocities are known to so many tolerances of the Newton updates per step."""


def energy_share(mechanism: Mechanism) -> float:
    """By which share of its energy a step of this mechanism may be off."""
    bodies = max(1, len(mechanism.bodies))
    return min(SHARE, PER_BODY / bodies * min(1.0, MANY / bodies))


@inline
def is_unbalanced(gain, before, after, work, allowed):
    """Whether a step gains more energy [J] than its balance allows.

    Args:
        gain: change of the kinetic energy less the work of all forces; its size, where losses count as well.
        before, after: kinetic energies at both ends.
        work: of all forces.
        allowed: (share of these energies, round-off [J]) by which it may be off. NaN is unbalanced.
    """
    share, noise = allowed
    return not gain <= share * (before + after + abs(work)) + noise


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


@routine
def balance_is_off(floating, forces, energies, momenta, impulses, settings):
    """Whether a solved step between two momenta is unbalanced, as seen by who falls along with it.

    Args:
        floating, forces: see `travel_energy`.
        energies: (kinetic energy before, after, work of all forces).
        momenta: those at both ends.
        impulses: sum of the sizes of momenta and impulses, for the round-off.
        settings: with `energy`, `tolerance`, `dt`.
    """
    before, after, work = energies
    fall, fall_next = travel_energy(floating, forces, momenta[0]), travel_energy(floating, forces, momenta[1])
    before, after, work = before - fall, after - fall_next, work - (fall_next - fall)
    noise = NOISE * settings.tolerance / settings.dt * impulses
    return is_unbalanced(abs(after - before - work), before, after, work, (settings.energy, noise))
