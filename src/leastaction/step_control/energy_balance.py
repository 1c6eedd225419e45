"""The energy balance that decides whether a substep is accepted.

A substep takes a state with the kinetic energy T0 to one with T1, both of admissible momenta. With the work W of all
forces, by the quadrature that the substep itself uses, it gains T1 - T0 - W. Contacts and friction take energy and
joints have no power, so a gain above zero is an error of the discretisation, or a solution that no motion leads to;
where nothing touches, so is a loss. It shrinks with the third power of the substep in smooth motion, and is of the
order of the energy of half a kick of the forces where friction and forces act together (`docs/theory/contact.md`). So a
substep is accepted with a gain of at most

    TOLERANCE (max(T0, T1) + M (g h)^2 / 2)

and bisected else. The second term is the energy of what gravity adds to the velocities of the mass M within the substep
h: beside it the kinetic energy of what is nearly at rest is no measure.

Steps of `Galerkin`, `Midpoint`, `BDF` and `SDIRK2`, without contact, take TOLERANCE and measure otherwise: those of the
first two are symplectic, so that the error of their energy stays bounded although that of a step is not small, and the
others damp. `share_of_energy` of the energies in a step, T0 + T1 + |W|, is what they may gain, and the first two lose:
what is more comes from another solution of the equations than the motion leads to. Since gain and loss are bounded
alike, a step and the same one back in time are bisected alike, and the energy of a reversible motion does not drift.
"""

from leastaction._jit import inline, routine
from leastaction.mechanism import Mechanism

TOLERANCE = 1e-3
"""Largest gain of a substep, relative to its kinetic energy. At 1e-2 fast pendulums gain 7 % of their energy in 100
steps and 3 of 40 thrown robots with springs more than 2 % in one; at 1e-3 none does."""


@inline
def largest_gain(before, after, kick):
    """Most that a substep may gain [J] with the kinetic energies before and after it and that of a kick [J]."""
    return TOLERANCE * (max(before, after) + kick)


@inline
def is_balanced(gain, most, lossless):
    """Whether a substep is accepted that gains `gain` and may gain `most` [J]; lossless: whether it must not lose."""
    return gain <= most and (not lossless or gain >= -most)


SHARE, PER_BODY = 0.02, 0.2
"""Share of its kinetic energies and work by which the balance of a step may be off, and that of the energy of one body
in the mean. With 1e-3 in place of the first, a pendulum from 2 rad in 200 steps of 0.15 s at order 2 would have 194 of
them bisected in place of 57, for three times the iterations; of eight links in 500 steps of 0.01 s 27 in place of 2; at
order 4 none, as now. A long chain whose end cracks like a whip is wrong when the energy of one link is, though that is
little beside all others'."""

MANY = 32
"""With more bodies than this, the share of each is less in proportion: there are always some that whip about, in all
steps the same way, as the motion of a long chain gets rougher and rougher. Of 16 chains with 128 links from angles of
+-0.5 rad, in steps of 0.01 s, the worst error of the energy within 5 s is 0.08 of the largest kinetic one (0.15 without
this), for a fifth more iterations."""

NOISE = 100.0
"""Velocities are known to so many tolerances of the Newton updates per step."""


def share_of_energy(mechanism: Mechanism) -> float:
    """By which share of its energy a step of this mechanism may be off."""
    bodies = max(1, len(mechanism.bodies))
    return min(SHARE, PER_BODY / bodies * min(1.0, MANY / bodies))


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
def is_off_balance(floating, forces, energies, momenta, impulses, settings):
    """Whether a solved step between two momenta is off balance, as seen by who falls along with it.

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
    return not is_balanced(after - before - work, settings.energy * (before + after + abs(work)) + noise, True)
