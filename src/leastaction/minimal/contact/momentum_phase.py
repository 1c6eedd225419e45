"""Momentum phase of a step: the momentum at its end that satisfies the contact laws of velocities.

The position phase (`steps.attempt`) solves for q1 from the momentum p0, with constraint impulses l0 at the start of the
step, and yields P = D2 L_d + f, the momentum at the end without constraint impulses there. The constraints that are
closed at the end (contacts, limits, dry friction, loops) then change it to

    p1 = P + N' (L - l0),    v1 = M^-1 p1,

with the constraint Jacobian N at q1, such that the impulses L of the whole step satisfy complementarity with the
velocities v1, 0 <= L_n, N_n v1 >= 0, L_n N_n v1 = 0, and Coulomb's law, with friction in the disc of L_n against the
slip. The state of a run is (q, p) without contact impulses; those only warm-start the next step. (RATTLE with
inequalities: Andersen 1983; Moreau 1988 for the impulses of a whole step.)

At rest L is twice l0. Contacts are compliant by k (L - 2 l0) / dt, with the derivative k of their penetration by the
impulse in the position phase (see `contact_response`), so that loads are unique and resting bodies have no velocity.
Soft contacts add a damper at the end of the step in the same way (see `laws.soft_contact`).
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT, LOOP, PLAIN, TIE
from leastaction.contact.solver.cone_response import depth_of
from leastaction.contact.solver.islands import impulses, multiply_packed, pack, range_of
from leastaction.contact.solver.ncp_solver import list_impulses, solve_all_cones
from leastaction.contact.solver.torque_laws import ROLL, SPIN
from leastaction.minimal.contact.detection.body_pairs import kick_both
from leastaction.minimal.contact.detection.detected_contacts import gap_at
from leastaction.minimal.contact.elastic_contacts import cones_of
from leastaction.minimal.contact.forces.spring_forces import kick_loop, place_start, regularize_loops
from leastaction.minimal.contact.joint_momenta import factor, reduce, solve
from leastaction.minimal.contact.paths import against, push_both, push_up
from leastaction.minimal.contact.row_vec6 import six, wrench
from leastaction.minimal.contact.solver.locked_joints import (
    begin_momenta,
    hold_momenta,
    holds_any,
    is_excluded,
    slide_momenta,
)
from leastaction.minimal.contact.solver.prescribed_joints import (
    count_again,
    count_from,
    goals_in,
    prescribed_motion,
    rate_of,
)
from leastaction.minimal.contact.solver.torsional_rolling import torque
from leastaction.minimal.vec6 import ZEROS, plus
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, matvec, scale3


@routine
def solve_momenta(model, data, touch, dt, tolerance):
    """Momentum phase of a substep of length dt; its end is already the start of the robot (`advance`).

    Returns whether `phase.W` contains the factors of the mass matrix there.
    """
    if touch is None:
        return False
    phase, joints, some = touch.phase, touch.joints, False
    for k in range(touch.lam.shape[0]):
        phase.total[k], phase.w[k] = touch.lam[k], touch.w[k]
    keep_slopes(model, touch)
    begin_momenta(joints)
    if close_some(model, touch, touch.found) or holds_any(joints):
        some, left = True, 1
        while left > 0:
            slide_momenta(model, data, touch, joints, dt)
            count_from(model, data, goals_in(joints), rate_of(goals_in(joints)), dt, data.p)
            relate_momenta(model, data, touch, dt, dt)
            solve_all_cones(model, touch, touch.found, dt, tolerance)
            change_momenta(data, touch)
            left = update_locked_friction(model, data, touch, joints, dt, tolerance)
        count_again(goals_in(joints), data.p)
    for c in range(touch.active.shape[0]):
        touch.active[c], touch.compliance[c] = phase.active[c], phase.compliance[c]
    return some


@routine
def keep_slopes(model, touch):
    """Store the diagonal of W of the constraints in the position phase in `phase.diagonal`."""
    cones, count = cones_of(model, touch.found)
    for c in range(count):
        if touch.active[c]:
            for k in range(cones[c].row, cones[c].row + impulses(cones[c])):
                touch.phase.diagonal[k] = touch.W[k, k]


@routine
def update_locked_friction(model, data, touch, joints, dt, tolerance):
    """Update friction of locked joints; returns how many change state, after which the impulses are solved again."""
    if joints is None or not holds_any(joints):
        return 0
    phase = touch.phase
    solve(model, data, phase.W, data.p, data.dx)
    left = hold_momenta(model, data, touch, joints, dt, phase.W, data.dx, tolerance)
    if left > 0:
        for k in range(touch.lam.shape[0]):
            phase.total[k] = touch.lam[k]
    return left


@inline
def is_closed(cone, c, touch):
    """Whether a constraint takes part in the momentum phase."""
    if not touch.active[c] or cone.kind == TIE:
        return False
    if cone.kind == CONTACT or cone.kind == LIMIT:
        return touch.lam[cone.row] > 0.0
    return True


@routine
def close_some(model, touch, found):
    """Set `active` for the momentum phase and clear the compliances, which W contains then; whether any is active."""
    phase, some = touch.phase, False
    for c in range(touch.active.shape[0]):
        phase.active[c], phase.compliance[c], phase.soft[c] = touch.active[c], touch.compliance[c], touch.soft[c]
        closed = c < model.cones.shape[0] and is_closed(model.cones[c], c, touch)
        closed = closed and not is_excluded(touch.joints, model.cones[c])
        touch.active[c], touch.compliance[c] = closed, 0.0
        some = some or closed
    return close_detected(model, touch, found) or some


@routine
def close_detected(model, touch, found):
    """`close_some` of detected contacts."""
    some = False
    if found is None:
        return some
    for c in range(model.cones.shape[0], model.cones.shape[0] + found.now[0].count):
        touch.active[c] = touch.phase.active[c]
        touch.active[c] = is_closed(found.cones[c], c, touch)
        some = some or touch.active[c] != 0
    return some


@routine
def relate_momenta(model, data, touch, dt, length):
    """Set rows N, the motions `w` [m or rad] in a time of dt with L = 0 and the Delassus matrix W; `lam` becomes L.

    Args:
        length: of the step that ends here [s], see `joint_momenta.end_damping_of`; 0 for an impact.
    """
    phase, found, lam = touch.phase, touch.found, touch.lam
    n, N, Y, which, nv = list_impulses(model.cones, touch, found), phase.N, phase.Y, touch.which, data.p.shape[0]
    place_start(model, data, touch.pulls)
    factor(model, data, phase.W, length, touch.joints)
    for c in range(model.cones.shape[0]):
        if touch.active[c]:
            find_directions(model, data, phase, model.cones[c], c)
    find_detected_directions(model, data, phase, found)
    for k in range(nv):
        phase.off[k] = data.p[k]
    for i in range(n):
        j = which[i]
        for k in range(nv):
            phase.off[k] -= lam[j] * N[j, k]
    reduce(model, data, phase.W, phase.off, phase.y)
    for k in range(nv):
        phase.y[k] *= dt * phase.W[k, 6]
    for i in range(n):
        j, moved = which[i], 0.0
        for k in range(nv):
            moved += Y[j, k] * phase.y[k]
        touch.w[j] = moved + dt * prescribed_motion(touch.joints, N[j])
    fill_symmetric(touch, phase, found, n, dt)
    for c in range(model.cones.shape[0]):
        if touch.active[c]:
            add_contact_compliance(touch, model.cones[c], c)
    add_detected_compliance(model, touch, found)
    regularize_loops(model.cones, touch, touch.pulls)
    phase.count[0] = n
    for i in range(n):
        lam[which[i]] *= 2.0


@routine
def fill_symmetric(touch, phase, found, n, dt):
    """Fill the symmetric matrix W of the n active impulses from products of its upper triangle."""
    Y, W, which, row = phase.Y, touch.W, touch.which, phase.off
    for b in range(n):
        k = which[b]
        low, high = range_of(found, k, n)
        for c in range(row.shape[0]):
            row[c] = dt * phase.W[c, 6] * Y[k, c]
        multiply_rows(found, Y, which, b, high, row, W[k])
        for a in range(b + 1, high):
            W[which[a], k] = W[k, which[a]]
        for a in range(low, b):
            if range_of(found, which[a], n)[1] <= b:
                W[k, which[a]] = 0.0  # impulse a is not coupled to impulse k


@inline
def multiply_rows(found, Y, which, low, high, row, out):
    """out[j] = Y[j] @ row for each impulse j of `which` from low to high."""
    if found is not None:
        multiply_packed(Y, which, low, high, found.islands, pack(found.islands, row), out)
        return
    for a in range(low, high):
        total = 0.0
        for k in range(row.shape[0]):
            total += row[k] * Y[which[a], k]
        out[which[a]] = total


@routine
def add_contact_compliance(touch, cone, c):
    """Add the compliance of a contact to W and w, see the head of the file."""
    if cone.kind != CONTACT:
        return
    o, phase = cone.row, touch.phase
    _, slope, slip = depth_of(touch.lam[o], phase.compliance[c], touch.deepest[0], touch.impulse_compliance[c])
    for k in range(PLAIN):
        more = 0.5 * (slope if k == 0 else slip)
        if k == 0 and phase.compliance[c] > 0.0 and touch.impulse_compliance[c] > 0.0:
            more = touch.end_compliance[c]
        touch.W[o + k, o + k] += more
        touch.w[o + k] -= 2.0 * more * touch.lam[o + k]
    for k in range(2):
        touch.w[o + 1 + k] += cone.drift[k]


@routine
def add_detected_compliance(model, touch, found):
    """`add_contact_compliance` of detected contacts."""
    if found is None:
        return
    for c in range(model.cones.shape[0], model.cones.shape[0] + found.now[0].count):
        if touch.active[c]:
            add_contact_compliance(touch, found.cones[c], c)


@routine
def change_momenta(data, touch):
    """Set p1 and store the impulses of the whole step in `total`; restores `lam` of the position phase."""
    phase, lam, which = touch.phase, touch.lam, touch.which
    for i in range(phase.count[0]):
        j = which[i]
        total, half = lam[j], phase.total[j]
        for k in range(data.p.shape[0]):
            data.p[k] += (total - half) * phase.N[j, k]
        phase.total[j], lam[j] = total, half


@routine
def find_detected_directions(model, data, phase, found):
    """`find_directions` of detected contacts."""
    if found is None:
        return
    for c in range(model.cones.shape[0], model.cones.shape[0] + found.now[0].count):
        if data.touch.active[c]:
            find_directions(model, data, phase, found.cones[c], c)


@inline
def frame_of(cone, data, found):
    """Normal, tangents and point of a contact at the current poses; tangents are projected from those of the cone."""
    if found is None:
        return frame_of_ball(cone, data)
    if cone.found < 0:
        return frame_of_ball(cone, data)
    _, n, x = gap_at(data, found.contacts[cone.found], cone.found * 0)
    t = load3(cone.first)
    t = axpy3(-dot3(t, n), n, t)
    t = scale3(1.0 / dot3(t, t) ** 0.5, t)
    s = cross(n, t)
    if dot3(s, load3(cone.second)) < 0.0:
        s = scale3(-1.0, s)
    return n, t, s, x


@inline
def frame_of_ball(cone, data):
    """`frame_of` of a sphere over a plane."""
    i, n = cone.node, load3(cone.normal)
    x = add3(load3(data.x[data.now[0]][i]), matvec(load9(data.R[data.now[0]][i]), load3(cone.arm)))
    return n, load3(cone.first), load3(cone.second), axpy3(-cone.radius, n, x)


@routine
def find_directions(model, data, phase, cone, c):
    """Generalised unit impulses of a constraint, into N, and the same reduced by the factors of M, into Y."""
    touch, N, Y, at = data.touch, phase.N, phase.Y, cone.row
    for k in range(at, at + impulses(cone)):
        for j in range(N.shape[1]):
            N[k, j] = Y[k, j] = 0.0
    if cone.kind == LOOP:
        kick_loop(model, data, touch.pulls, cone, 1.0, N[at])
        reduce(model, data, phase.W, N[at], Y[at])
    elif cone.kind == CONTACT:
        n, t, s, x = frame_of(cone, data, touch.found)
        find_direction(model, data, phase, cone, wrench(n, x), at)
        find_direction(model, data, phase, cone, wrench(t, x), at + 1)
        find_direction(model, data, phase, cone, wrench(s, x), at + 2)
        find_turns(model, data, phase, touch.rolls, cone, (n, t, s))
    else:
        S_, W, k = data.S[data.now[0]], phase.W, cone.dof
        N[at, k] = Y[at, k] = 1.0 if cone.kind == DRY else touch.side[c]
        lost = plus(-W[k, 6] * N[at, k], six(W[k]), ZEROS)
        push_up(model.nodes, S_, W, W, model.nodes[cone.node].parent, lost, Y[at])


@routine
def find_direction(model, data, phase, cone, h, k):
    """`find_directions` of impulse k of a contact, whose unit wrench is h."""
    S_, W, i, j = data.S[data.now[0]], phase.W, cone.node, cone.other
    kick_both(model, data, i, h, j, phase.N[k])
    push_both(model.nodes, S_, W, W, i, h, j, against(h), phase.Y[k])


@routine
def find_turns(model, data, phase, rolls, cone, frame):
    """`find_directions` of torsional and rolling friction, about the normal and the tangents."""
    if rolls is None or not rolls:
        return
    if cone.width == PLAIN:
        return
    n, t, s = frame
    find_direction(model, data, phase, cone, torque(n), cone.row + SPIN)
    find_direction(model, data, phase, cone, torque(t), cone.row + ROLL)
    find_direction(model, data, phase, cone, torque(s), cone.row + ROLL + 1)
