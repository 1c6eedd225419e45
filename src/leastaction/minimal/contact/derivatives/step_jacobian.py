"""Derivatives A and B of a whole step in one call, for steps that were solved without substeps.

It is a faster `substep_map.PartMap` for robots that are trees with joint actuators, contacts, limits and dry friction.
One factorisation of the position equations serves all columns of A and of the contact impulses, and the contact
equations are solved for the impulses alone, in both phases (Schur complements):

    dr/dq1 (Y, Z) = (-(dr/dq0, 1), D'),    (K - G1 Z) dl = -G0 - G1 Y,    dq1 = Y - Z dl
    (T N' + K_L) dL = -(W1 dq1 + W0 + W_l dl),    dp = dP + N' (dL - dl),    T = N_v (M + k)^-1

with p = (M + k) v, minus k v of dampers that are implicit at the end (`joint_momenta.end_damping_of`).
Controls act along joints, half an impulse at the start of the step and half at its end: their columns are sums of
those of p, plus the half at the end.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

from leastaction._jit import entry, inline, routine
from leastaction.contact.laws.soft_contact import soft_law
from leastaction.contact.penetration.penetration_recovery import slight_overlap
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT, PLAIN
from leastaction.linalg.many_columns import add_rows, factor_towards_root, solve_pivoted, substitute
from leastaction.minimal.contact.derivatives.contact_kernels import START_GAP, Part
from leastaction.minimal.contact.derivatives.contact_laws import Modes, Places, momentum_slopes, position_slopes
from leastaction.minimal.contact.derivatives.contact_slopes import (
    Joints,
    Rows,
    ends_of_contact,
    finish_kicks,
    put_columns,
    put_slopes,
)
from leastaction.minimal.contact.derivatives.step_matrices import StepMatrices, step_matrices
from leastaction.minimal.contact.joint_momenta import end_damping_of
from leastaction.minimal.contact.robot_records import GIVEN
from leastaction.minimal.contact.solver.contact_response import compliance_of, remaining_overlap

HOLD = 1e-10
"""Regularisation of impulses without compliance, relative to their diagonal, see `block_triangle`."""

DONE, OTHERWISE, FULL = 0, 1, 2
"""Return values of `step_jacobian`: done; not supported or singular; not enough room for impulses."""


class RobotParts(NamedTuple):
    """Arrays of a robot.

    Attributes:
        nodes, dofs, gravity, drives: as of `RobotModel`.
        owner: the body of each joint, shape (n,); reach: radius of each body [m], shape (b,).
    """

    nodes: Any
    dofs: Any
    gravity: Any
    drives: Any
    owner: Any
    reach: Any


class SolvedStep(NamedTuple):
    """Arrays of a step that the kernels have solved.

    Attributes:
        R, x, S, now: as of `RobotData`, which has advanced: its start is the end of the step.
        q, v: configuration at its start, velocities at its end.
        own, found: number of permanent constraints, and the `FOUND` record of the detected ones.
        cones, contacts: `ROBOT_CONE` records, and `CONTACT` records of the detected ones.
        active, side, least, soft_end: of the constraints, as of `Touch`; soft: `MomentumPhase.soft`.
        lam, total: impulses of both phases.
        w, diagonal: motions of the impulses and diagonal of W in the position phase; w_end, W_end: motions and the
            whole matrix W in the momentum phase.
    """

    R: Any
    x: Any
    S: Any
    now: Any
    q: Any
    v: Any
    own: Any
    found: Any
    cones: Any
    contacts: Any
    active: Any
    side: Any
    least: Any
    soft_end: Any
    soft: Any
    lam: Any
    total: Any
    w: Any
    diagonal: Any
    w_end: Any
    W_end: Any


class Work(NamedTuple):
    """Scratch arrays, with room for m contacts and e impulses.

    Attributes:
        matrices: `StepMatrices`; part, modes, rows: of m contacts, see there.
        S: world twists of the joints at the start and the end, shape (2, n, 6).
        which: index of each contact's constraint, shape (m,); impulses: of the whole step, shape (m, 3).
        stops: see `gather_stop`, shape (e, 7).
        local: equations of one contact, shape (6, 3 n + 6).
        D, N: generalised impulses of unit impulses at the start and at the end, shape (e, n).
        G0, G1: equations of the position phase by displacements at the start and the end, shape (e, n).
        W0, W1: the same of the momentum phase, and of the momenta that it begins with, shape (e, n).
        K: derivatives of a contact's equations by its own impulses: position phase, then momentum phase by the impulses
            of the momentum phase and of the position phase, shape (3, e, 3).
        by_rates: transposed equations of the momentum phase by velocities, then M^-1 times these, shape (n, e); T: its
            transpose, shape (e, n).
        square: shape (2, e, e); scale, column: shape (e,); along: shape (2 n + e,).
        X: unknowns of positions, shape (n, 2 n + e); changes: of impulses in both phases, shape (2, e, 2 n + nu).
        damping: k of each joint, shape (n,); rates: changes of velocities at the end, shape (n, 2 n + nu).
    """

    matrices: Any
    part: Any
    modes: Any
    rows: Any
    S: Any
    which: Any
    impulses: Any
    stops: Any
    local: Any
    D: Any
    N: Any
    G0: Any
    G1: Any
    W0: Any
    W1: Any
    K: Any
    by_rates: Any
    T: Any
    square: Any
    scale: Any
    column: Any
    along: Any
    X: Any
    changes: Any
    damping: Any
    rates: Any


@entry
def step_jacobian(robot, solved, work, dt, whole, A, B):
    """Fill A (2 n, 2 n) and B (2 n, nu) of a step solved without substeps; returns `DONE`, `OTHERWISE` or `FULL`.

    Args:
        robot, solved, work: `RobotParts`, `SolvedStep` and `Work` as plain tuples, with plain tuples in them.
        dt: length of the step [s]; whole: of the steps that contain it [s].
    """
    robot, solved, work = RobotParts(*robot), SolvedStep(*solved), Work(*work)
    matrices, rows, modes = StepMatrices(*work.matrices), Rows(*work.rows), Modes(*work.modes)
    m, stops = gather(robot, solved, work, dt)
    if m < 0:
        return -m
    for a in (matrices.start, matrices.end, matrices.last_start, matrices.last_end, matrices.M, matrices.heavier):
        clear(a)
    part = Part(*work.part)
    e, last = 3 * m + stops, solved.now[0]
    ends = turned_over(solved.R, last, part.R), turned_over(solved.x, last, part.x), turned_over(solved.S, last, work.S)
    step_matrices(robot.nodes, robot.dofs, robot.gravity, ends, solved.v, dt, matrices)
    if e > 0:
        contacts_of(robot, solved, work, part, modes, rows, matrices, (m, dt, whole))
        put_stops(work, stops, 3 * m, dt)
    damped = find_damping(robot, dt, work.damping)
    return DONE if solve(robot, work, matrices, (m, e, dt, damped), A, B) else OTHERWISE


@inline
def clear(a):
    """Set a matrix to zero."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.0


@inline
def turned_over(a, last, out):
    """Copy of `a` with the start of the step first and its end, a[last], second."""
    for i in range(a.shape[1]):
        for j in range(a.shape[2]):
            out[0, i, j], out[1, i, j] = a[1 - last, i, j], a[last, i, j]
    return out


@routine
def gather(robot, solved, work, dt):
    """Collect active contacts and stops into the records and impulses of `Work`; returns the number of each.

    The first is -`OTHERWISE` or -`FULL` where `step_jacobian` is to return these.
    """
    part, m, stops = Part(*work.part), 0, 0
    fall = dt * dt * (abs(robot.gravity[0]) + abs(robot.gravity[1]) + abs(robot.gravity[2]))
    for c in range(solved.own + solved.found[0].count):
        cone = solved.cones[c]
        if not solved.active[c]:
            continue
        at = cone.row
        push = solved.lam[at]
        if cone.kind == CONTACT:
            if not push > 0.0:
                continue
            if m == part.cones.shape[0]:
                return -FULL, 0
            if cone.width != PLAIN or (cone.found >= 0 and solved.contacts[cone.found].late > 0):
                return -OTHERWISE, 0
            part.cones[m] = cone
            part.of[m] = cone.found
            for k in range(3):
                part.lam[m, k] = push if k == 0 else solved.lam[at + k]
                part.more[m, k] = solved.total[at + k] - solved.lam[at + k]
                work.impulses[m, k] = solved.total[at + k]
            work.which[m] = c
            m += 1
        elif cone.kind == DRY or (cone.kind == LIMIT and push > 0.0):
            if stops == work.stops.shape[0]:
                return -FULL, 0
            if cone.kind == DRY and cone.friction == GIVEN:
                return -OTHERWISE, 0
            gather_stop(solved, cone, solved.side[c], work.stops[stops], dt, fall)
            stops += 1
        elif cone.kind != LIMIT:
            return -OTHERWISE, 0
    for j in range(stops):
        hold_once(work.stops, j, stops)
    if 3 * m + stops > work.D.shape[0]:
        return -FULL, 0
    return m, stops


@inline
def gather_stop(solved, cone, side, out, dt, fall):
    """Row of a limit or dry friction: joint, sign, whether it fixes its position, whether from the start on, whether it
    fixes its velocity, its impulse in the position phase, the bound of friction (-1 for limits)."""
    push, total = solved.lam[cone.row], solved.total[cone.row]
    dry, bound = cone.kind == DRY, dt * cone.friction
    sign = 1.0 if dry else side
    gap = solved.q[cone.iq] - cone.lower if sign > 0.0 else cone.upper - solved.q[cone.iq]
    out[0], out[1] = cone.dof, sign
    out[2] = not dry or abs(push) < 0.5 * bound
    out[3] = dry or gap + 0.5 * fall < 0.0
    out[4] = abs(total) < bound if dry else total > 0.0
    out[5], out[6] = push, 0.5 * bound if dry else -1.0


@inline
def hold_once(stops, j, count):
    """Deactivate one of two stops that fix the same joint, which rests on its limit with sticking friction: see
    `stop_laws.idle_stops`."""
    if stops[j, 6] < 0.0 or stops[j, 2] == 0.0:
        return
    for k in range(count):
        if stops[k, 6] < 0.0 and stops[k, 0] == stops[j, 0]:
            idle = k if abs(stops[j, 5] + stops[k, 1] * stops[k, 5]) <= stops[j, 6] else j
            stops[idle, 2] = 0.0


@routine
def contacts_of(robot, solved, work, part, modes, rows, matrices, sizes):
    """Equations of m contacts in both phases, into the rows of `Work`; adds derivatives of their generalised impulses
    to `StepMatrices`."""
    m, n, joints = sizes[0], matrices.start.shape[0], Joints(work.S, robot.owner, robot.nodes)
    find_modes(robot, solved, work, part, modes, sizes)
    for end in range(2):
        clear(rows.kick[end])
        clear(rows.kick_end[end])
    places, impulses = Places(n, n + 3, 2 * n + 3, 2 * n + 6, 0), (work.impulses, work.impulses)
    for k in range(m):
        for end in range(2):
            clear(rows.columns[end, k])
            clear(rows.slopes[end, k])
        at = ends_of_contact(part, k)
        put_slopes(part, joints, at, put_columns(part, joints, at, rows.columns, rows.path), rows)
        if modes.impulse_compliance[k] > 0.0 or rows.values[k, START_GAP] < 0.0:
            note_overlap(modes, k, rows.values[k, START_GAP])
        clear(work.local)
        position_slopes(part, modes, places, rows, k, (0, n, 0, n), work.local)
        momentum_slopes(part, modes, places, rows, k, (3, 2 * n + 3, n, 0, n), impulses, work.local)
        take_rows(work, rows, n, k)
    finish_kicks(part, joints, m, rows)
    for i in range(n):
        for j in range(n):
            matrices.start[i, j] += rows.kick[0, i, j]
            matrices.last_start[i, j] += rows.kick_end[0, i, j]
            matrices.last_end[i, j] += rows.kick_end[1, i, j]


@routine
def find_modes(robot, solved, work, part, modes, sizes):
    """Fill `Modes` of m contacts, see `substep_map.modes_of`; `overlaps` follows once gaps are computed."""
    m, dt, whole = sizes
    g = abs(robot.gravity[0]) + abs(robot.gravity[1]) + abs(robot.gravity[2])
    modes.falls[0] = dt * dt * g
    modes.falls[1] = slight_overlap(whole * whole * g, whole)
    for k in range(m):
        cone, c = part.cones[k], work.which[k]
        at = cone.row
        modes.friction[k] = cone.friction
        a, b = solved.diagonal[at + 1], solved.diagonal[at + 2]
        modes.slides[0, k] = slides(cone, solved.lam, solved.w, at, max(a, b))
        a, b = solved.W_end[at + 1, at + 1], solved.W_end[at + 2, at + 2]
        modes.slides[1, k] = slides(cone, solved.total, solved.w_end, at, max(a, b))
        modes.pushes[k] = solved.total[at] > 0.0
        modes.creep[0, k], modes.creep[1, k] = solved.soft[c], solved.soft_end[c]
        modes.compliance[k] = compliance_of(cone.mass, whole, dt)
        modes.impulse_compliance[k] = modes.lag[k] = modes.end_compliance[k] = 0.0
        if cone.compliance > 0.0:
            law = soft_law(cone.compliance, cone.relaxation, dt)
            modes.impulse_compliance[k], modes.lag[k], modes.end_compliance[k] = law
        modes.least[k], modes.overlaps[k] = solved.least[c], False


@inline
def slides(cone, lam, w, at, k):
    """Whether a contact slides, by lam - w / k as in the solver."""
    k = k if k > 0.0 else 1.0
    x, y = lam[at + 1] - w[at + 1] / k, lam[at + 2] - w[at + 2] / k
    return sqrt(x * x + y * y) > cone.friction * (1.0 + 1e-9) * lam[at]


@inline
def note_overlap(modes, k, phi):
    """Set whether the required gap of contact k is the remainder of the start gap phi; `substep_map.overlaps`."""
    modes.gaps[k] = phi
    if modes.impulse_compliance[k] > 0.0:
        kept = -modes.lag[k] * min(phi, 0.0)
        modes.overlaps[k] = kept != 0.0 and abs(modes.least[k] - kept) <= 1e-6 * abs(kept)
    elif phi < 0.0 and modes.least[k] < 0.0:
        kept = remaining_overlap(phi, modes.falls[0], modes.falls[1])
        modes.overlaps[k] = abs(modes.least[k] - kept) <= 1e-6 * abs(kept)


@routine
def take_rows(work, rows, n, k):
    """Copy the equations of contact k from `Work.local`."""
    local, last = work.local, 2 * n + 6
    for i in range(3):
        e = 3 * k + i
        for b in range(n):
            work.D[e, b], work.N[e, b] = rows.columns[0, k, i, b], rows.columns[1, k, i, b]
            work.G1[e, b], work.G0[e, b] = local[i, b], local[i, last + b]
            work.W1[e, b], work.W0[e, b] = local[3 + i, b], local[3 + i, last + b]
            work.by_rates[b, e] = local[3 + i, n + 3 + b]
        for j in range(3):
            work.K[0, e, j] = local[i, n + j]
            work.K[1, e, j], work.K[2, e, j] = local[3 + i, 2 * n + 3 + j], local[3 + i, n + j]


@routine
def put_stops(work, stops, first, dt):
    """Set the equations of stops in both phases, from row `first` on."""
    for k in range(stops):
        e, stop = first + k, work.stops[k]
        dof, sign = int(stop[0]), stop[1]
        for b in range(work.D.shape[1]):
            work.D[e, b] = work.N[e, b] = work.G1[e, b] = work.G0[e, b] = 0.0
            work.W1[e, b] = work.W0[e, b] = work.by_rates[b, e] = 0.0
        for j in range(3):
            work.K[0, e, j] = work.K[1, e, j] = work.K[2, e, j] = 0.0
        work.D[e, dof] = work.N[e, dof] = sign
        if stop[2] != 0.0:
            work.G1[e, dof] = sign
            if stop[3] != 0.0:
                work.G0[e, dof] = -sign
        else:
            work.K[0, e, 0] = 1.0
        if stop[4] != 0.0:
            work.by_rates[dof, e] = dt * sign
        else:
            work.K[1, e, 0] = 1.0


@routine
def solve(robot, work, matrices, sizes, A, B):
    """Solve the equations of both phases, see the head of the file; returns False where they are singular."""
    (m, e, _, damped), n, X = sizes, matrices.start.shape[0], work.X
    lam, total = work.changes[0], work.changes[1]
    for i in range(n):
        for j in range(n):
            X[i, j], X[i, n + j] = -matrices.start[i, j], 0.0
        X[i, n + i] = -1.0
        for k in range(e):
            X[i, 2 * n + k] = work.D[k, i]
    if not factor_towards_root(matrices.end):
        return False
    substitute(matrices.end, X, 2 * n + e)
    if e > 0 and not solve_positions(work, m, e, n, lam):
        return False
    for i in range(n):
        for j in range(2 * n):
            A[i, j] = X[i, j]
            A[n + i, j] = matrices.last_start[i, j] if j < n else 0.0
        add_rows(1.0, matrices.last_end[i], 0, n, X, 2 * n, A[n + i])
    if e > 0:
        if not solve_momenta(robot, work, matrices, sizes, lam, total):
            return False
        for k in range(e):
            for c in range(2 * n):
                lam[k, c] = total[k, c] - lam[k, c]
        for i in range(n):
            for k in range(e):
                work.column[k] = work.N[k, i]
            add_rows(1.0, work.column, 0, e, lam, 2 * n, A[n + i])
    put_controls(robot, work, matrices, sizes, A, B)
    return not damped or take_out_damping(robot, work, matrices, sizes, A, B)


@routine
def put_own(work, m, e, which, S):
    """Add `Work.K` to the matrix of all impulses, and regularise impulses without compliance."""
    for k in range(e):
        given, own = S[k, k], work.K[which, k, 0]
        if k < 3 * m:
            first = k - k % 3
            own = work.K[which, k, k - first]
            for j in range(3):
                S[k, first + j] += work.K[which, k, j]
        else:
            S[k, k] += own
        if k >= 3 * m or not work.part[0][k // 3].mass > 0.0:
            S[k, k] += HOLD * abs(given)
        if given == 0.0 and own == 0.0:
            S[k, k] = 1.0  # an impulse without effect, such as friction between bodies on rails


@routine
def solve_positions(work, m, e, n, lam):
    """Changes of impulses and displacements in the position phase."""
    X, S = work.X, work.square[0]
    for k in range(e):
        row = work.along
        for c in range(2 * n + e):
            row[c] = 0.0
        add_rows(-1.0, work.G1[k], 0, n, X, 2 * n + e, row)
        for c in range(2 * n):
            lam[k, c] = row[c] - (work.G0[k, c] if c < n else 0.0)
        for j in range(e):
            S[k, j] = row[2 * n + j]
    put_own(work, m, e, 0, S)
    if not solve_pivoted(S, e, lam, 2 * n, work.scale):
        return False
    for i in range(n):
        for k in range(e):
            work.column[k] = X[i, 2 * n + k]
        add_rows(-1.0, work.column, 0, e, lam, 2 * n, X[i])
    return True


@routine
def solve_momenta(robot, work, matrices, sizes, lam, total):
    """Changes of impulses in the momentum phase."""
    (m, e, dt, _), n = sizes, matrices.start.shape[0]
    nu = work.changes.shape[2] - 2 * n
    S, W, T, X = work.square[0], work.square[1], work.T, work.X
    if not factor_towards_root(matrices.M):
        return False
    substitute(matrices.M, work.by_rates, e)
    for i in range(n):
        for j in range(n):
            matrices.heavier[i, j] = matrices.last_end[i, j] - matrices.heavier[i, j]
    for j in range(e):
        for k in range(e):
            W[j, k] = 0.0
        add_rows(1.0, work.N[j], 0, n, work.by_rates, e, W[j])
        for i in range(n):
            T[j, i] = work.by_rates[i, j]
    for k in range(e):
        for j in range(e):
            S[k, j] = W[j, k]
    for k in range(e):
        for j in range(e):
            W[k, j] = -S[k, j]
        for j in range(3 if k < 3 * m else 0):
            W[k, k - k % 3 + j] += work.K[2, k, j]
        add_rows(1.0, T[k], 0, n, matrices.heavier, n, work.W1[k])
        add_rows(1.0, T[k], 0, n, matrices.last_start, n, work.W0[k])
        for c in range(2 * n + nu):
            total[k, c] = -work.W0[k, c] if c < n else 0.0
        add_rows(-1.0, work.W1[k], 0, n, X, 2 * n, total[k])
        add_rows(-1.0, W[k], 0, e, lam, 2 * n, total[k])
        for c in range(nu):
            drive = robot.drives[c]
            total[k, 2 * n + c] = -0.5 * dt * drive.gear * T[k, drive.dof]
    put_own(work, m, e, 1, S)
    return solve_pivoted(S, e, total, 2 * n + nu, work.scale)


@routine
def put_controls(robot, work, matrices, sizes, A, B):
    """Fill B, but for the end damping of its momenta."""
    (_, e, dt, _), n, total = sizes, matrices.start.shape[0], work.changes[1]
    for c in range(B.shape[1]):
        drive = robot.drives[c]
        push = 0.5 * dt * drive.gear
        for i in range(2 * n):
            B[i, c] = push * A[i, n + drive.dof]
        B[n + drive.dof, c] += push
    for k in range(e):
        for i in range(n):
            f = work.N[k, i]
            if f != 0.0:
                for c in range(B.shape[1]):
                    B[n + i, c] += f * total[k, 2 * n + c]


@routine
def find_damping(robot, dt, out):
    """Set k of each joint; returns whether any is positive."""
    some = False
    for c in range(out.shape[0]):
        single = robot.nodes[robot.owner[c]].nv == 1
        out[c] = end_damping_of(robot.dofs[c], dt) if single else 0.0
        some = some or out[c] > 0.0
    return some


@routine
def take_out_damping(robot, work, matrices, sizes, A, B):
    """Convert the rows of momenta from (M + k) v to M v; False where M + k is singular."""
    (_, e, dt, _), n, nu, V = sizes, matrices.start.shape[0], B.shape[1], work.rates
    if e == 0:
        if not factor_towards_root(matrices.M):
            return False
        for i in range(n):
            for j in range(n):
                matrices.heavier[i, j] = matrices.last_end[i, j] - matrices.heavier[i, j]
    for i in range(n):
        for c in range(2 * n + nu):
            V[i, c] = A[n + i, c] if c < 2 * n else 0.0
        add_rows(1.0, matrices.heavier[i], 0, n, work.X, 2 * n, V[i])
        add_rows(-1.0, matrices.last_end[i], 0, n, work.X, 2 * n, V[i])
        for k in range(e):
            for c in range(2 * n, 2 * n + nu):
                V[i, c] += work.N[k, i] * work.changes[1, k, c]
    for c in range(nu):
        V[robot.drives[c].dof, 2 * n + c] += 0.5 * dt * robot.drives[c].gear
    substitute(matrices.M, V, 2 * n + nu)
    for i in range(n):
        if work.damping[i] > 0.0:
            for c in range(2 * n):
                A[n + i, c] -= work.damping[i] * V[i, c]
    # The effect of a control by the momentum at the start is a sum of columns of A, which are converted by now.
    for c in range(nu):
        drive = robot.drives[c]
        push = 0.5 * dt * drive.gear
        for i in range(n):
            B[n + i, c] -= work.damping[i] * (push * V[i, n + drive.dof] + V[i, 2 * n + c])
    return True
