"""Contact laws of a solved substep in both of its phases, and their derivatives.

In the position phase a contact with a normal impulse has three equations: the required gap, and stick or slip,

    gap + depth(lam_n) = least,   w + c lam_t = 0   or   lam_t = -mu lam_n w / |w|,

with its penetration depth and tangential compliance c (see `contact_response`, for soft contacts `laws.soft_contact`)
and the slip w along its tangents. In the momentum phase (see `momentum_phase`) the equations have the same form with
the impulses L of the whole substep, motions h N v1 and the compliance times L - 2 lam. Contacts with torsional or
rolling friction have three more equations in each phase, about normal and tangents. Sliding or rolling friction has one
equation along the impulse and one across it. The modes (active, stick or slip) are those of the solution.
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
    """Modes and coefficients of a substep with m contacts, t of them with torsional or rolling friction.

    Attributes:
        friction, spin, roll: coefficients, shape (m,).
        slides, spins, rolls: whether contacts do, shape (2, m): in the position phase, and in the momentum phase.
        pushes: whether contacts have a normal impulse in the momentum phase, shape (m,).
        creep: additional tangential compliance [m / (N s)], shape (2, m).
        compliance: of the contacts [m / (N s)], shape (m,); deepest: limit of the penetration [m].
        impulse_compliance, lag, end_compliance: of soft contacts, `laws.soft_contact`; zero where rigid, shape (m,).
        least: required gaps at the end [m], shape (m,); overlaps: whether they are remaining initial overlaps.
        gaps: at the start, of the solved substep [m], shape (m,).
        falls: see `contact_response.remaining_overlap`, two numbers [m].
        turn: index of the torques of each contact among the triples of impulses, or -1, shape (m,).
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
    """Row and column offsets in the matrix of a substep, with n joints.

    Attributes:
        n: joints; displacements at the end are the first unknowns, followed by the impulses of the position phase.
        velocities: first velocity at the end; also the first equation of momenta.
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
    """(depth, its slope, tangential compliance, its slope) of contact k at a normal impulse."""
    if modes.impulse_compliance[k] > 0.0:
        return modes.impulse_compliance[k] * push, modes.impulse_compliance[k], TANGENTIAL * modes.compliance[k], 0.0
    share = modes.deepest / (modes.deepest + modes.compliance[k] * push)
    soft = share * modes.compliance[k]
    return soft * push, share * soft, TANGENTIAL * soft, -TANGENTIAL * soft * soft / modes.deepest


@inline
def least_gap(modes, k, phi):
    """Required gap of contact k, at the gap phi at the start [m], and its slope by that.

    It is linearised at the solved substep, because other parameter values may remove slight overlaps.
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
    """Normal and tangential compliance of contact k in the momentum phase [m / (N s)], and their slopes by the impulse
    `push` of the position phase."""
    _, slope, creep, less = compliance_at(modes, k, push)
    if modes.impulse_compliance[k] > 0.0:
        return modes.end_compliance[k], 0.5 * creep, 0.0, 0.0
    share = modes.deepest / (modes.deepest + modes.compliance[k] * push)
    return 0.5 * slope, 0.5 * creep, -slope * share * modes.compliance[k] / modes.deepest, 0.5 * less


@inline
def along(f1, f2):
    """Unit vector along a tangential impulse."""
    size = sqrt(f1 * f1 + f2 * f2)
    return (f1 / size, f2 / size) if size > 0.0 else (1.0, 0.0)


@routine
def disc(out, at, lam, i, w, most, moves):
    """The two equations, from out[at] on, of friction lam[i], lam[i + 1] in a disc of radius `most` against motions w.

    Args:
        moves: whether it is on the disc's edge; without friction, `most` is negative.
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
    """Turn rows `row` and the next, with the derivatives of the motions w, into the derivatives of `disc`.

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
    """Replace an equation by that of a constant impulse."""
    for c in range(F.shape[1]):
        F[row, c] = 0.0
    F[row, column] = 1.0


@inline
def edge(coefficient, push):
    """Radius of the disc of friction; negative without friction."""
    return coefficient * push if coefficient > 0.0 else -1.0


@entry
def law_values(part, modes, values, impulses, out):
    """Residuals of the laws of all contacts.

    Args:
        part, modes: `Part` and `Modes` as plain tuples.
        values: of the contacts, shape (m, `contact_kernels.VALUES`).
        impulses: L of the whole substep along and about normal and tangents, shape (2, m, 3).
        out: of both phases: three per contact, then three per contact with torques; a pair of arrays.
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
    """Residual of torsional friction."""
    return torque - copysign(spin * push, torque) if spin == 0.0 or moves else w


@inline
def momentum_motion(part, modes, k, v, L):
    """Motions of contact k in the momentum phase along normal and tangents, including its compliance [m]."""
    normal, tangent, _, _ = momentum_compliance(modes, k, part.lam[k, 0])
    h, half, drift = part.h, part.lam[k], part.cones[k].drift
    w0 = h * v[RATE] + normal * (L[k, 0] - 2.0 * half[0])
    w1 = h * v[RATE + 1] + drift[0] + tangent * (L[k, 1] - 2.0 * half[1]) + modes.creep[1, k] * L[k, 1]
    w2 = h * v[RATE + 2] + drift[1] + tangent * (L[k, 2] - 2.0 * half[2]) + modes.creep[1, k] * L[k, 2]
    return w0, w1, w2


@entry
def position_law_slopes(part, modes, places, rows, F):
    """Fill in the derivatives of the laws of all contacts in the position phase, rows of the matrix F of a substep.

    Args:
        part, modes, places, rows: `Part`, `Modes`, `Places` and `Rows` as plain tuples.
    """
    part, modes, places, rows = Part(*part), Modes(*modes), Places(*places), Rows(*rows)
    for k in range(part.cones.shape[0]):
        own, turned = places.n + 3 * k, places.n + 3 * modes.turn[k]
        position_slopes(part, modes, places, rows, k, (own, own, turned, turned), F)


@entry
def momentum_law_slopes(part, modes, places, rows, impulses, F):
    """`position_law_slopes` for the momentum phase; impulses: as of `law_values`."""
    part, modes, places, rows = Part(*part), Modes(*modes), Places(*places), Rows(*rows)
    for k in range(part.cones.shape[0]):
        own, turned = places.impulses + 3 * k, places.impulses + 3 * modes.turn[k]
        at = own, own, places.n + 3 * k, turned, turned
        momentum_slopes(part, modes, places, rows, k, at, impulses, F)


@inline
def put(F, row, part, places, rows, k, value, scale):
    """Set row `row` of F to the derivative of a value of contact k by the joints, times a scale.

    Columns are those of joints at both ends, and at the end of the solution that detected the contact.
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
        at: its first row and the column of its first impulse; first row and column of its torques.
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
    """Derivative of the residual of torsional friction; push: column of the normal impulse."""
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
