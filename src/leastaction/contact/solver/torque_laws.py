"""Friction against spinning and rolling in the contact problem: torques about normal and tangents of a contact.

Beside the impulse lam along the normal, they obey laws of Coulomb's kind: |lam_n| <= spin lam, |lam_t| <= roll lam.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import PLAIN
from leastaction.contact.solver.cone_response import GIVING, add, disc_rows, stiffness, within

SPIN, ROLL = 3, 4
"""Where the impulses about the normal and about the tangents are among those of a contact."""


@inline
def spin_compliance(W, o):
    """Compliance about the normal, or a little of that along it where that is larger."""
    return max(W[o + SPIN, o + SPIN], GIVING * W[o, o])


@inline
def projected_torques(cone, touch):
    """The three torques of a contact while all others hold: projected on what the impulse along its normal allows."""
    W, w, lam, o = touch.W, touch.w, touch.lam, cone.row
    most = cone.spin * lam[o]
    spin = min(most, max(-most, lam[o + SPIN] - w[o + SPIN] / spin_compliance(W, o)))
    k = stiffness(W, o, o + ROLL)
    one, two = lam[o + ROLL] - w[o + ROLL] / k, lam[o + ROLL + 1] - w[o + ROLL + 1] / k
    share = within(one, two, cone.roll * lam[o])
    return spin, share * one, share * two


@routine
def sweep_turn(cone, touch, rolls, n, relax):
    """Spinning and rolling in one sweep of Gauss-Seidel; returns the change of the motions."""
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
    """By how much the laws of spinning and rolling are missed, as turns [rad]."""
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
    """Replace the equations i + 3 ... i + 5 of impulses, which say that a contact holds, where it spins or rolls."""
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
    """Shorten the changes of torques from i on such that they are allowed with `new` along the normal; the next i."""
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
