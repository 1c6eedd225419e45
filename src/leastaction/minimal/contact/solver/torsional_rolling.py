"""Friction against spinning and rolling: what torques about normal and tangents of a contact do, and what they resist.

How far the two bodies of a contact turn against each other in a step is w = f (y - z), with their turns y and z and the
normal or a tangent f at its start. The torques act there, with the laws

    |lam_n| <= spin lam,   |lam_t| <= roll lam

of Coulomb's kind, with the impulse lam along the normal: `friction` solves for all of them.
"""

from leastaction._jit import inline, routine
from leastaction.minimal.contact.paths import against, pull_both, push_both
from leastaction.minimal.contact.robot_records import PLAIN
from leastaction.minimal.contact.solver.contact_response import GIVING, add, disc_rows, stiffness, within
from leastaction.minimal.galerkin_bodies.rotational_energy import polynomial, turn_between
from leastaction.minimal.vec6 import ZEROS, plus
from leastaction.spatial import ZERO3, add3, dot3, load3, load9, mattvec, scale3, sub3
from leastaction.spatial._series import inverse_jacobian_terms

SPIN, ROLL = 3, 4
"""Where the impulses about the normal and about the tangents are among those of a contact."""


@inline
def torque(t):
    """Wrench of a torque."""
    return (t[0], t[1], t[2], 0.0, 0.0, 0.0)


@inline
def with_torque(rolls, cone, lam, h):
    """A wrench with the torques of a contact."""
    if rolls is None or not rolls:
        return h
    if cone.width == PLAIN:
        return h
    at = cone.row + SPIN
    t = add3(scale3(lam[at + 1], load3(cone.first)), scale3(lam[at + 2], load3(cone.second)))
    return plus(1.0, torque(add3(t, scale3(lam[at], load3(cone.normal)))), h)


@inline
def turn_of(data, i):
    """How far a body turns in the step."""
    if i < 0:
        return ZERO3
    return turn_between(load9(data.R[data.now[0]][i]), load9(data.R[1 - data.now[0]][i]))


@inline
def row_about(i, f, y):
    """How the turn y of a body along f goes with its motion at the end."""
    if i < 0:
        return ZEROS
    e, _ = inverse_jacobian_terms(dot3(y, y))
    return torque(mattvec(polynomial(y, -0.5, e), f))


@routine
def relate_turn(model, data, rolls, cone):
    """Rows, columns and w0 of spinning and rolling at a contact."""
    if rolls is None or not rolls:
        return
    if cone.width == PLAIN:
        return
    touch, i, j = data.touch, cone.node, cone.other
    y, z = turn_of(data, i), turn_of(data, j)
    for k in range(3):
        at, f = cone.row + SPIN + k, load3(cone.normal if k == 0 else (cone.first if k == 1 else cone.second))
        touch.w[at] = dot3(f, sub3(y, z))
        push_both(model, data, i, torque(f), j, against(torque(f)), touch.columns[at])
        pull_both(model, data, i, row_about(i, f, y), j, against(row_about(j, f, z)), touch.rows[at])


@routine
def turn_violation(data, rolls, cone):
    """By how much a contact spins or rolls that holds [rad]."""
    if rolls is None or not rolls:
        return 0.0
    if cone.width == PLAIN:
        return 0.0
    lam, o, missed = data.touch.lam, cone.row, 0.0
    y = sub3(turn_of(data, cone.node), turn_of(data, cone.other))
    if abs(lam[o + SPIN]) < 0.999 * cone.spin * lam[o]:
        missed = abs(dot3(load3(cone.normal), y))
    f1, f2, most = lam[o + ROLL], lam[o + ROLL + 1], cone.roll * lam[o]
    if f1 * f1 + f2 * f2 < 0.999 * most * most:
        missed = max(missed, abs(dot3(load3(cone.first), y)), abs(dot3(load3(cone.second), y)))
    return missed


# ------------------------------------------------------------------ the laws, see `friction`


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
