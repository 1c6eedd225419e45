"""Torsional and rolling friction in the contact problem: torques about the normal and the tangents of a contact.

With the normal impulse lam they obey laws of Coulomb's type: |lam_n| <= spin lam, |lam_t| <= roll lam.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import PLAIN
from leastaction.contact.solver.cone_response import GIVING, add, disc_rows, stiffness, within

SPIN, ROLL = 3, 4
"""Offsets of the impulses about the normal and about the tangents among the impulses of a contact."""


@inline
def spin_compliance(W, o):
    """Return the angular compliance about the normal, at least `GIVING` times the normal compliance."""
    return max(W[o + SPIN, o + SPIN], GIVING * W[o, o])


@inline
def projected_torques(cone, touch):
    """Return the three torque impulses of a contact, all others fixed, projected on their bounds."""
    W, w, lam, o = touch.W, touch.w, touch.lam, cone.row
    most = cone.spin * lam[o]
    spin = min(most, max(-most, lam[o + SPIN] - w[o + SPIN] / spin_compliance(W, o)))
    k = stiffness(W, o, o + ROLL)
    one, two = lam[o + ROLL] - w[o + ROLL] / k, lam[o + ROLL + 1] - w[o + ROLL + 1] / k
    share = within(one, two, cone.roll * lam[o])
    return spin, share * one, share * two


@routine
def sweep_turn(cone, touch, rolls, n, relax):
    """Gauss-Seidel update of the torque impulses of a contact; returns the change of its displacements."""
    if rolls is None or not rolls:
        return 0.0
    if cone.width == PLAIN:
        return 0.0
    moved, lam = 0.0, touch.lam
    spin, one, two = projected_torques(cone, touch)
    for k, new in ((SPIN, spin), (ROLL, one), (ROLL + 1, two)):
        at = cone.row + k
        e = relax * (new - lam[at])
        if e != 0.0:
            lam[at] += e
            add(touch, n, at, e)
            moved += abs(touch.W[at, at] * e)
    return moved


@routine
def violation_of_turn(cone, touch, rolls):
    """Return the residual of the laws of torsional and rolling friction [rad]."""
    if rolls is None or not rolls:
        return 0.0
    if cone.width == PLAIN:
        return 0.0
    W, lam, o = touch.W, touch.lam, cone.row
    spin, one, two = projected_torques(cone, touch)
    rolled = abs(lam[o + ROLL] - one) + abs(lam[o + ROLL + 1] - two)
    return max(spin_compliance(W, o) * abs(lam[o + SPIN] - spin), stiffness(W, o, o + ROLL) * rolled)


@routine
def turn_rows(cone, touch, rolls, i, low, high):
    """Replace the sticking rows i + 3 ... i + 5 of a contact by sliding rows where it spins or rolls."""
    if rolls is None or not rolls:
        return
    if cone.width == PLAIN:
        return
    W, w, lam, M, d, o = touch.W, touch.w, touch.lam, touch.M, touch.d, cone.row
    new, most = lam[o + SPIN] - w[o + SPIN] / spin_compliance(W, o), cone.spin * max(lam[o], 0.0)
    if abs(new) > most:
        way = 1.0 if new > 0.0 else -1.0
        for j in range(low, high):
            M[i + SPIN, j] = 0.0
        M[i + SPIN, i + SPIN] = 1.0
        M[i + SPIN, i] = -way * cone.spin
        d[i + SPIN] = way * most - lam[o + SPIN]
    disc_rows(touch, o, ROLL, cone.roll, i, low, high)


@routine
def clip_turn(cone, touch, rolls, new, i):
    """Project the changes of torques from row i on for the normal impulse `new`; returns the next row."""
    if rolls is None or not rolls:
        return i
    if cone.width == PLAIN:
        return i
    lam, d, at = touch.lam, touch.d, cone.row + SPIN
    most = cone.spin * new
    d[i] = min(most, max(-most, lam[at] + d[i])) - lam[at]
    one, two = lam[at + 1] + d[i + 1], lam[at + 2] + d[i + 2]
    share = within(one, two, cone.roll * new)
    d[i + 1], d[i + 2] = share * one - lam[at + 1], share * two - lam[at + 2]
    return i + 3
