"""The laws of the contacts of a solved part of a step, in both of its phases, and their derivatives.

In the position phase a contact that pushes with lam has three equations: its gap at the end is what it must be, and it
sticks or slides,

    gap + depth(lam_n) = least,   w + c lam_t = 0   or   lam_t = -mu lam_n w / |w|,

with its depth and compliance c (see `laws.compliance`, and `laws.soft_contact` for those that give way) and the motion
w along its tangents. In the momentum phase
(see `momentum_phase`) it is the same with the impulses L of the whole part, motions h N v1 and the compliance on
L - 2 lam. Contacts that resist spinning and rolling have three more in each, about normal and tangents. What slides or
rolls has one equation along the impulse and one across it. Which of them act is fixed by the solution.
"""

from __future__ import annotations

from math import copysign, sqrt
from typing import Any, NamedTuple

from leastaction._jit import entry, inline, routine
from leastaction.contact.laws.soft_contact import required_gap
from leastaction.contact.penetration.penetration_recovery import overlap_slope
from leastaction.contact.solver.cone_response import TANGENTIAL
from leastaction.minimal.contact.derivatives.contact_kernels import (
    GAP,
    RATE,
    SLIDE,
    START_GAP,
    TURN,
    TURN_RATE,
    Part,
    place_of,
)
from leastaction.minimal.contact.derivatives.contact_slopes import Rows
from leastaction.minimal.contact.solver.contact_response import remaining_overlap


class Modes(NamedTuple):
    """What acts in a part, with m contacts of which t resist turning.

    Attributes:
        friction, spin, roll: coefficients, shape (m,).
        slides, spins, rolls: which contacts do, shape (2, m): in the position phase, and in the momentum phase.
        pushes: which contacts push in the momentum phase, shape (m,).
        creep: how much more a contact creeps for each unit of friction [m / (N s)], shape (2, m).
        compliance: of the contacts [m / (N s)], shape (m,); deepest: depth that no impulse reaches [m].
        impulse_compliance, lag, end_compliance: of soft contacts, `laws.soft_contact`; zero where rigid, shape (m,).
        least: gaps at the end [m], shape (m,); overlaps: whether they are what is left of the overlaps at the start.
        gaps: at the start, of the solved part [m], shape (m,).
        falls: see `compliance.remaining_overlap`, two numbers [m].
        turn: place of the torques of each contact among the triples of impulses, or -1, shape (m,).
    """

    friction: Any
    spin: Any
    roll: Any
    slides: Any
    spins: Any
    rolls: Any
    pushes: Any
    creep: Any
    compliance: Any
    deepest: Any
    impulse_compliance: Any
    lag: Any
    end_compliance: Any
    least: Any
    overlaps: Any
    gaps: Any
    falls: Any
    turn: Any


class Places(NamedTuple):
    """Where equations and unknowns stand in the matrix of a part, with n joints.

    Attributes:
        n: joints; displacements at the end are the first unknowns, and the impulses of the position phase the next.
        velocities: first velocity at the end; the equations of momenta begin there, too.
        impulses: first impulse of the momentum phase.
        start: first column of the displacements at the start; late: of those at the ends of earlier solutions.
    """

    n: Any
    velocities: Any
    impulses: Any
    start: Any
    late: Any


@inline
def compliance_at(modes, k, push):
    """(depth, its slope, creep for each unit of friction, its slope) of contact k with a normal impulse."""
    if modes.impulse_compliance[k] > 0.0:
        return modes.impulse_compliance[k] * push, modes.impulse_compliance[k], TANGENTIAL * modes.compliance[k], 0.0
    share = modes.deepest / (modes.deepest + modes.compliance[k] * push)
    soft = share * modes.compliance[k]
    return soft * push, share * soft, TANGENTIAL * soft, -TANGENTIAL * soft * soft / modes.deepest


@inline
def least_gap(modes, k, phi):
    """Gap that contact k must have at the end, with the gap phi at the start [m], and its slope by that.

    It is a straight line through that of the solved part, since other values of a parameter may end slight overlaps.
    """
    if not modes.overlaps[k]:
        return modes.least[k], 0.0
    own = modes.gaps[k]
    if modes.impulse_compliance[k] > 0.0:
        least, slope = required_gap(own, modes.lag[k]), -modes.lag[k]
    else:
        fall, slight = modes.falls[0], modes.falls[1]
        least, slope = remaining_overlap(own, fall, slight), overlap_slope(own, fall, slight)
    return least + slope * (phi - own), slope


@inline
def momentum_compliance(modes, k, push):
    """By what the normal and the tangents of contact k give way in the momentum phase [m / (N s)], and the slopes of
    these by the impulse `push` of the position phase."""
    _, slope, creep, less = compliance_at(modes, k, push)
    if modes.impulse_compliance[k] > 0.0:
        return modes.end_compliance[k], 0.5 * creep, 0.0, 0.0
    share = modes.deepest / (modes.deepest + modes.compliance[k] * push)
    return 0.5 * slope, 0.5 * creep, -slope * share * modes.compliance[k] / modes.deepest, 0.5 * less


@inline
def along(f1, f2):
    """Direction of an impulse in a plane."""
    size = sqrt(f1 * f1 + f2 * f2)
    return (f1 / size, f2 / size) if size > 0.0 else (1.0, 0.0)


@routine
def disc(out, at, lam, i, w, most, moves):
    """The two equations, from out[at] on, of friction lam[i], lam[i + 1] against motions w on a disc of radius `most`.

    Args:
        moves: whether it is on the disc's edge; where there is no friction, `most` is negative.
    """
    if most < 0.0:
        out[at], out[at + 1] = lam[i], lam[i + 1]
    elif moves:
        a, b = along(lam[i], lam[i + 1])
        out[at], out[at + 1] = a * lam[i] + b * lam[i + 1] - most, -b * w[0] + a * w[1]
    else:
        out[at], out[at + 1] = w


@routine
def disc_slopes(F, row, column, lam, i, w, mu, push, moves):
    """Rows `row` and the next, which hold the derivatives of the motions w, become those of `disc`.

    Args:
        column: of the first impulse; push: of the normal one and its value.
    """
    if mu == 0.0:
        only(F, row, column)
        only(F, row + 1, column + 1)
    elif moves:
        a, b = along(lam[i], lam[i + 1])
        for c in range(F.shape[1]):
            F[row + 1, c] = -b * F[row, c] + a * F[row + 1, c]
            F[row, c] = 0.0
        F[row, push[0]], F[row, column], F[row, column + 1] = -mu, a, b
        more = sqrt(w[0] * w[0] + w[1] * w[1]) / (mu * push[1])
        F[row + 1, column] -= more * b
        F[row + 1, column + 1] += more * a


@inline
def only(F, row, column):
    """Make an equation say that an impulse does not change."""
    for c in range(F.shape[1]):
        F[row, c] = 0.0
    F[row, column] = 1.0


@inline
def edge(coefficient, push):
    """Radius of the disc of friction; negative where there is none."""
    return coefficient * push if coefficient > 0.0 else -1.0


@entry
def law_values(part, modes, values, impulses, out):
    """Values of the laws of all contacts.

    Args:
        part, modes: `Part` and `Modes` as plain tuples.
        values: of the contacts, shape (m, `contact_kernels.VALUES`).
        impulses: L of the whole part along and about normal and tangents, shape (2, m, 3).
        out: of both phases: three for each contact, then three for each that resists turning; a pair of arrays.
    """
    part, modes = Part(*part), Modes(*modes)
    lam, torques, (first, second) = part.lam, part.torques, out
    L, T = impulses
    for k in range(part.cones.shape[0]):
        push, v, at = lam[k, 0], values[k], 3 * k
        depth, _, creep, _ = compliance_at(modes, k, push)
        first[at] = v[GAP] - least_gap(modes, k, v[START_GAP])[0] + depth
        soft = creep + modes.creep[0, k]
        w = v[SLIDE] + soft * lam[k, 1], v[SLIDE + 1] + soft * lam[k, 2]
        disc(first, at + 1, lam[k], 1, w, edge(modes.friction[k], push), modes.slides[0, k])
        if modes.turn[k] >= 0:
            at, w = 3 * modes.turn[k], (v[TURN + 1], v[TURN + 2])
            first[at] = about_normal(torques[k, 0], modes.spin[k], push, v[TURN], modes.spins[0, k])
            disc(first, at + 1, torques[k], 1, w, edge(modes.roll[k], push), modes.rolls[0, k])
        at, push, turned = 3 * k, L[k, 0], 3 * modes.turn[k]
        if not modes.pushes[k]:
            for i in range(3):
                second[at + i] = L[k, i]
                if turned >= 0:
                    second[turned + i] = T[k, i]
            continue
        w0, w1, w2 = momentum_motion(part, modes, k, v, L)
        second[at] = w0
        disc(second, at + 1, L[k], 1, (w1, w2), edge(modes.friction[k], push), modes.slides[1, k])
        if turned >= 0:
            w = part.h * v[TURN_RATE + 1], part.h * v[TURN_RATE + 2]
            second[turned] = about_normal(T[k, 0], modes.spin[k], push, part.h * v[TURN_RATE], modes.spins[1, k])
            disc(second, turned + 1, T[k], 1, w, edge(modes.roll[k], push), modes.rolls[1, k])


@inline
def about_normal(torque, spin, push, w, moves):
    """The equation of a torque about the normal."""
    return torque - copysign(spin * push, torque) if spin == 0.0 or moves else w


@inline
def momentum_motion(part, modes, k, v, L):
    """Motions of contact k in the momentum phase along normal and tangents, with what it gives way [m]."""
    normal, tangent, _, _ = momentum_compliance(modes, k, part.lam[k, 0])
    h, half, drift = part.h, part.lam[k], part.cones[k].drift
    w0 = h * v[RATE] + normal * (L[k, 0] - 2.0 * half[0])
    w1 = h * v[RATE + 1] + drift[0] + tangent * (L[k, 1] - 2.0 * half[1]) + modes.creep[1, k] * L[k, 1]
    w2 = h * v[RATE + 2] + drift[1] + tangent * (L[k, 2] - 2.0 * half[2]) + modes.creep[1, k] * L[k, 2]
    return w0, w1, w2


@entry
def position_law_slopes(part, modes, places, rows, F):
    """Fill in the derivatives of the laws of all contacts in the position phase, rows of the matrix F of a part.

    Args:
        part, modes, places, rows: `Part`, `Modes`, `Places` and `Rows` as plain tuples.
    """
    part, modes, places, rows = Part(*part), Modes(*modes), Places(*places), Rows(*rows)
    for k in range(part.cones.shape[0]):
        own, turned = places.n + 3 * k, places.n + 3 * modes.turn[k]
        position_slopes(part, modes, places, rows, k, (own, own, turned, turned), F)


@entry
def momentum_law_slopes(part, modes, places, rows, impulses, F):
    """The same for the momentum phase; impulses: as of `law_values`."""
    part, modes, places, rows = Part(*part), Modes(*modes), Places(*places), Rows(*rows)
    for k in range(part.cones.shape[0]):
        own, turned = places.impulses + 3 * k, places.impulses + 3 * modes.turn[k]
        at = own, own, places.n + 3 * k, turned, turned
        momentum_slopes(part, modes, places, rows, k, at, impulses, F)


@inline
def put(F, row, part, places, rows, k, value, scale):
    """Row `row` of F becomes the derivative of a value of contact k, times a scale, by the joints.

    They are those at both ends, and at the end of the solution that found the contact.
    """
    late = place_of(part, k) - 2
    for b in range(places.n):
        F[row, b] = scale * rows.slopes[1, k, b, value]
        F[row, places.start + b] = scale * rows.slopes[0, k, b, value]
        if late >= 0:
            F[row, places.late + late * places.n + b] = scale * rows.slopes[2, k, b, value]


@routine
def position_slopes(part, modes, places, rows, k, at, F):
    """Rows of contact k in the position phase.

    Args:
        at: its first row and the column of its first impulse; those of its torques.
    """
    (row, own, turned_row, turned), lam, v, n = at, part.lam[k], rows.values[k], places.n
    _, deeper, creep, less = compliance_at(modes, k, lam[0])
    put(F, row, part, places, rows, k, GAP, 1.0)
    F[row, own] = deeper
    if modes.overlaps[k]:
        _, slope = least_gap(modes, k, v[START_GAP])
        for b in range(n):
            F[row, b] -= slope * rows.slopes[1, k, b, START_GAP]
            F[row, places.start + b] -= slope * rows.slopes[0, k, b, START_GAP]
    soft = creep + modes.creep[0, k]
    for i in range(1, 3):
        put(F, row + i, part, places, rows, k, SLIDE + i - 1, 1.0)
        F[row + i, own + i] = soft
        F[row + i, own] = less * lam[i]
    w = v[SLIDE] + soft * lam[1], v[SLIDE + 1] + soft * lam[2]
    disc_slopes(F, row + 1, own + 1, lam, 1, w, modes.friction[k], (own, lam[0]), modes.slides[0, k])
    if modes.turn[k] < 0:
        return
    torques = part.torques[k]
    for i in range(3):
        put(F, turned_row + i, part, places, rows, k, TURN + i, 1.0)
    spin_slopes(F, turned_row, turned, torques[0], modes.spin[k], own, modes.spins[0, k])
    w = v[TURN + 1], v[TURN + 2]
    disc_slopes(F, turned_row + 1, turned + 1, torques, 1, w, modes.roll[k], (own, lam[0]), modes.rolls[0, k])


@inline
def spin_slopes(F, row, column, torque, spin, push, moves):
    """The row of a torque about the normal; push: column of the normal impulse."""
    if spin == 0.0 or moves:
        only(F, row, column)
        F[row, push] = -copysign(spin, torque)


@routine
def momentum_slopes(part, modes, places, rows, k, at, impulses, F):
    """Rows of contact k in the momentum phase.

    Args:
        at: its first row, the columns of its first impulse in this phase and in the position phase; first row and
            column of its torques.
    """
    L, T = impulses[0][k], impulses[1][k]
    (row, own, half, turned_row, turned), n = at, places.n
    if not modes.pushes[k]:
        for i in range(3):
            only(F, row + i, own + i)
            if modes.turn[k] >= 0:
                only(F, turned_row + i, turned + i)
        return
    normal, tangent, steeper, less = momentum_compliance(modes, k, part.lam[k, 0])
    for i in range(3):
        put(F, row + i, part, places, rows, k, RATE + i, part.h)
        for b in range(n):
            F[row + i, places.velocities + b] = part.h * rows.columns[1, k, i, b]
        give = normal if i == 0 else tangent
        F[row + i, own + i] = give + (modes.creep[1, k] if i > 0 else 0.0)
        F[row + i, half + i] -= 2.0 * give
        F[row + i, half] += (steeper if i == 0 else less) * (L[i] - 2.0 * part.lam[k, i])
    _, w1, w2 = momentum_motion(part, modes, k, rows.values[k], impulses[0])
    disc_slopes(F, row + 1, own + 1, L, 1, (w1, w2), modes.friction[k], (own, L[0]), modes.slides[1, k])
    if modes.turn[k] < 0:
        return
    for i in range(3):
        put(F, turned_row + i, part, places, rows, k, TURN_RATE + i, part.h)
        for b in range(n):
            F[turned_row + i, places.velocities + b] = part.h * rows.columns[1, k, 3 + i, b]
    spin_slopes(F, turned_row, turned, T[0], modes.spin[k], own, modes.spins[1, k])
    v = rows.values[k]
    w = part.h * v[TURN_RATE + 1], part.h * v[TURN_RATE + 2]
    disc_slopes(F, turned_row + 1, turned + 1, T, 1, w, modes.roll[k], (own, L[0]), modes.rolls[1, k])
