"""Acceptance of substeps by their energy balance.

A substep takes a state with the kinetic energy T0 to one with T1, both of admissible momenta. With the work W of all
forces, by the quadrature that the substep itself uses, it gains T1 - T0 - W. Contacts and friction dissipate energy and
joints have no power, so a positive gain is a discretisation error, or a spurious solution; without contact, so is a
loss. In smooth motion the gain is of third order in the substep; where friction and forces act together, it is of the
order of the energy of half the forces' impulse (`docs/theory/contact.md`). A substep is therefore accepted with a gain
of at most

    TOLERANCE (max(T0, T1) + M (g h)^2 / 2)

and bisected otherwise. The second term is the kinetic energy by which gravity changes the mass M within the substep h:
it sets the scale for bodies that are nearly at rest.

Steps of `Galerkin`, `Midpoint`, `BDF` and `SDIRK2` without contact have another bound: the first two are symplectic, so
their energy error stays bounded although that of one step is not small, and the others dissipate. They may gain a share
of the energies in a step, T0 + T1 + |W| (`share_of_energy`; the last two: `SHARE`), and the first two may lose as much:
a larger error indicates a spurious solution of the equations. Since gain and loss have the same bound, a step and its
time reversal are bisected alike, and the energy of a reversible motion does not drift.
"""

from leastaction._jit import inline, routine
from leastaction.mechanism import Mechanism

TOLERANCE = 1e-3
"""Largest gain of a substep, relative to its kinetic energy. At 1e-2 fast pendulums gain 7 % of their energy in 100
steps, and 3 of 40 thrown robots with springs gain more than 2 % in one; at 1e-3 none does."""


@inline
def largest_gain(before, after, kick):
    """Largest admissible gain of a substep [J], from the kinetic energies at its ends and that of gravity's impulse."""
    return TOLERANCE * (max(before, after) + kick)


@inline
def is_balanced(gain, most, lossless):
    """Whether a substep with this gain [J] is accepted; most: bound [J]; lossless: whether it also bounds the loss."""
    return gain <= most and (not lossless or gain >= -most)


SHARE, PER_BODY = 0.02, 0.2
"""Largest energy error of a step, relative to its kinetic energies and work, and relative to the mean energy of one
body. With 1e-3 in place of the first, a pendulum from 2 rad in 200 steps of 0.15 s at order 2 would have 194 of them
bisected in place of 57, for three times the iterations; of eight links in 500 steps of 0.01 s 27 in place of 2; at
order 4 none in both cases. When the end of a long chain cracks like a whip, an error of the size of one link's energy
is large, though it is small relative to the total."""

MANY = 32
"""Above this number of bodies, the share of each is reduced in proportion: in a long chain some links always move fast,
with systematic errors as the motion gets rougher. For 16 chains with 128 links from angles of +-0.5 rad, in steps of
0.01 s, the worst error of the energy within 5 s is 0.08 of the largest kinetic one (0.15 without this), for a fifth
more iterations."""

NOISE = 100.0
"""Error of velocities, in tolerances of the Newton updates per step."""


def share_of_energy(mechanism: Mechanism) -> float:
    """Largest energy error of a step of this mechanism, relative to its energies."""
    bodies = max(1, len(mechanism.bodies))
    return min(SHARE, PER_BODY / bodies * min(1.0, MANY / bodies))


@routine
def travel_energy(floating, forces, p):
    """Translational kinetic energy [J] of trees on which only gravity acts, from the momenta p (nv,).

    A frame that falls with such a tree does not contain this energy. `floating`: see `arrays.floating_trees`;
    `forces`: generalised forces at points of the step, shape (any, nv).
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
    """Whether a solved step violates the energy balance, in the frame that falls with the mechanism.

    Args:
        floating, forces: see `travel_energy`.
        energies: (kinetic energy before, after, work of all forces) [J].
        momenta: momenta at both ends.
        impulses: sum of the magnitudes of momenta and impulses, for the round-off.
        settings: with `energy`, `tolerance`, `dt`.
    """
    before, after, work = energies
    fall, fall_next = travel_energy(floating, forces, momenta[0]), travel_energy(floating, forces, momenta[1])
    before, after, work = before - fall, after - fall_next, work - (fall_next - fall)
    noise = NOISE * settings.tolerance / settings.dt * impulses
    return not is_balanced(after - before - work, settings.energy * (before + after + abs(work)) + noise, True)
