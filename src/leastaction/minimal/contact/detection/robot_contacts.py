"""Contacts, limits and dry friction of a robot: gaps, slip, and the Delassus matrix of the position phase.

A contact is a sphere on a body over a plane. Its impulse acts at the start of a step on the point of the sphere nearest
to the plane, the gap is that at the end of the step, and the slip is the displacement of the sphere's centre c along
the plane plus its rolling: c1 - c0 - y x (radius n), with the rotation vector y of the body (see docs/theory/contact.md
for these laws). The impulses thus enter the equations at the start of the step as p does, and

    W = E A^-1 D^T,

with the Newton matrix A, the wrenches D^T of unit impulses and the rows E, derivatives of gaps and slip by the motion
of the body. A is already factorised: a pass from a contact to the root gives the column of L^-1 D^T and the row of
E U^-1, and two contacts are coupled through the joints that carry both. The limits and the dry friction of a joint
have one row each.

Detected contacts, of any shapes, are in `detected_contacts` and `body_pairs`.

Initial penetrations, and positions beyond a limit, are resolved gradually: see `choose`.
"""

from leastaction._jit import inline, routine
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.contact.penetration.penetration_recovery import slight_overlap
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT, LOOP, TIE
from leastaction.contact.solver.cone_response import depth_of
from leastaction.contact.solver.islands import impulses
from leastaction.contact.solver.ncp_solver import list_impulses
from leastaction.minimal.contact.detection.body_pairs import detected_violation, push_detected, relate_detected
from leastaction.minimal.contact.detection.detected_contacts import find
from leastaction.minimal.contact.forces.spring_forces import kick_loop, loop_violation, relate_tie
from leastaction.minimal.contact.paths import pull_up, push_up
from leastaction.minimal.contact.row_vec6 import six, wrench
from leastaction.minimal.contact.solver.contact_response import compliance_of, remaining_overlap, soften_contact
from leastaction.minimal.contact.solver.island_motions import relate_islands
from leastaction.minimal.contact.solver.locked_joints import exclude_locked_friction
from leastaction.minimal.contact.solver.torsional_rolling import relate_turn, turn_violation, with_torque
from leastaction.minimal.contact.solver.waiting_contacts import has_to_wait, is_waiting
from leastaction.minimal.galerkin_bodies.rotational_energy import polynomial, turn_between
from leastaction.minimal.vec6 import plus, times
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, mattvec, matvec, scale3, sub3
from leastaction.spatial._series import inverse_jacobian_terms


@inline
def centre(contact, R_, x_):
    """Centre of a contact's sphere [m]."""
    return add3(load3(x_[contact.node]), matvec(load9(R_[contact.node]), load3(contact.arm)))


@inline
def gap(contact, R_, x_):
    """Distance of a contact's sphere from its plane [m], negative for penetration."""
    return dot3(load3(contact.normal), centre(contact, R_, x_)) - contact.offset


@inline
def tangents(contact):
    """The two tangents of a contact's plane."""
    return load3(contact.first), load3(contact.second)


@inline
def sliding(contact, data):
    """(arm of the contact point from the sphere's centre, rotation vector, displacement) of a contact in the step."""
    i, k = contact.node, data.now[0]
    y = turn_between(load9(data.R[k][i]), load9(data.R[1 - k][i]))
    o = scale3(-contact.radius, load3(contact.normal))
    moved = sub3(centre(contact, data.R[1 - k], data.x[1 - k]), centre(contact, data.R[k], data.x[k]))
    return o, y, add3(moved, cross(y, o))


@inline
def contact_gap(cone, side, data):
    """Gap of a contact or a limit at the end of the step [m or rad]."""
    if cone.kind == CONTACT:
        return gap(cone, data.R[1 - data.now[0]], data.x[1 - data.now[0]])
    q = data.q1[cone.iq]
    return q - cone.lower if side > 0.0 else cone.upper - q


@routine
def row_product(model, cone, row, column):
    """Product of a constraint row and a column, over the joints that carry its body; for a tie over all joints."""
    nodes, total, node = model.nodes, 0.0, cone.node
    if cone.kind >= TIE:
        for c in range(row.shape[0]):
            total += row[c] * column[c]
        return total
    while node >= 0:
        for c in range(nodes[node].iv, nodes[node].iv + nodes[node].nv):
            total += row[c] * column[c]
        node = nodes[node].parent
    return total


@inline
def gravity_drop(model, dt):
    """Displacement by gravity in a step [m]."""
    g = model.gravity
    return dt * dt * (abs(g[0]) + abs(g[1]) + abs(g[2]))


@inline
def take_side(data, cone, c, fall):
    """Choose the nearer of the two limits of constraint c at the end of the step, and set its required gap."""
    q0, q1 = data.q0[cone.iq], data.q1[cone.iq]
    low = q1 - cone.lower <= cone.upper - q1
    data.touch.side[c] = 1.0 if low else -1.0
    data.touch.start_gap[c] = q0 - cone.lower if low else cone.upper - q0
    data.touch.least[c] = min(0.0, data.touch.start_gap[c] + 0.5 * fall)


@routine
def choose(model, data, dt, whole):
    """Choose the initially active constraints: dry friction, previously loaded ones, those the first guess closes.

    A loaded constraint may be far away in the first guess, such as that of a link that slides along a wall; Newton
    would diverge without it. Initial penetrations are resolved gradually, at the rate of free fall. `whole` is the
    length of the step that contains this substep of dt.
    """
    cones, touch, fall = model.cones, data.touch, gravity_drop(model, dt)
    slight = slight_overlap(gravity_drop(model, whole), whole)
    touch.deepest[0] = DEEPEST * whole * whole
    for c in range(cones.shape[0]):
        cone = cones[c]
        touch.least[c], near = 0.0, True
        if cone.kind == CONTACT:
            first = gap(cone, data.R[data.now[0]], data.x[data.now[0]])
            touch.start_gap[c], touch.least[c] = first, remaining_overlap(first, fall, slight)
            touch.compliance[c] = compliance_of(cone.mass, whole, dt)
            soften_contact(touch, cone, c, dt)
            near = gap(cone, data.R[1 - data.now[0]], data.x[1 - data.now[0]]) - touch.least[c] <= fall
            near = near or touch.lam[cone.row] > 0.0
            near = not has_to_wait(model, touch.impacts, cone, c, first, whole) and near
        elif cone.kind == LIMIT:
            side = touch.side[c]
            take_side(data, cone, c, fall)
            near = contact_gap(cone, touch.side[c], data) <= fall or (
                touch.lam[cone.row] > 0.0 and side == touch.side[c]
            )
        elif cone.kind == TIE:
            touch.lam[cone.row] = 0.0
        touch.active[c] = near
        if not near:
            for k in range(cone.row, cone.row + impulses(cone)):
                touch.lam[k] = 0.0
    exclude_locked_friction(cones, touch, touch.joints)
    find(model, data, model.shapes, touch.found, (dt, whole), (fall, slight))


@routine
def relate_contact(model, data, cone, least):
    """Set rows, columns and w0 of a contact."""
    touch, i, n, at = data.touch, cone.node, load3(cone.normal), cone.row
    S0_, W_, col_ = data.S[data.now[0]], data.W, touch.col
    o, y, moved = sliding(cone, data)
    t, s = tangents(cone)
    R1_, x1_ = data.R[1 - data.now[0]], data.x[1 - data.now[0]]
    begun = add3(centre(cone, data.R[data.now[0]], data.x[data.now[0]]), o)
    ended = centre(cone, R1_, x1_)
    e, _ = inverse_jacobian_terms(dot3(y, y))
    turn = polynomial(y, -0.5, e)  # derivative of y by the end rotation
    touch.w[at] = gap(cone, R1_, x1_) - least
    touch.w[at + 1], touch.w[at + 2] = dot3(t, moved), dot3(s, moved)
    push_up(model.nodes, S0_, W_, col_, i, wrench(n, begun), touch.columns[at])
    push_up(model.nodes, S0_, W_, col_, i, wrench(t, begun), touch.columns[at + 1])
    push_up(model.nodes, S0_, W_, col_, i, wrench(s, begun), touch.columns[at + 2])
    pull_up(model, data, i, wrench(n, ended), touch.rows[at])
    m = add3(cross(ended, t), mattvec(turn, cross(o, t)))
    pull_up(model, data, i, (m[0], m[1], m[2], t[0], t[1], t[2]), touch.rows[at + 1])
    m = add3(cross(ended, s), mattvec(turn, cross(o, s)))
    pull_up(model, data, i, (m[0], m[1], m[2], s[0], s[1], s[2]), touch.rows[at + 2])
    relate_turn(model, data, touch.rolls, cone)


@routine
def relate_stop(model, data, cone, side, least):
    """Set row, column and w0 of a limit or of dry friction."""
    touch, c = data.touch, cone.dof
    S0_, W_, col_ = data.S[data.now[0]], data.W, touch.col
    D = W_[c, 6]
    if cone.kind == LIMIT:
        q = data.q1[cone.iq]
        touch.w[cone.row] = (q - cone.lower if side > 0.0 else cone.upper - q) - least
    else:
        side = 1.0
        touch.w[cone.row] = data.q1[cone.iq] - data.q0[cone.iq]
    column, row, parent = touch.columns[cone.row], touch.rows[cone.row], model.nodes[cone.node].parent
    column[c], row[c] = side, side * D
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    push_up(model.nodes, S0_, W_, col_, parent, plus(-D * side, six(col_[c]), none), column)
    pull_up(model, data, parent, plus(-D * side, six(W_[c]), none), row)


@routine
def relate(model, data, found, dt):
    """Set W and w0 of the active constraints, after the elimination."""
    cones, touch, W_ = model.cones, data.touch, data.W
    for c in range(cones.shape[0]):
        if touch.active[c]:
            if cones[c].kind == CONTACT:
                relate_contact(model, data, cones[c], touch.least[c])
            elif cones[c].kind >= TIE:
                relate_tie(model, data, touch.pulls, cones[c], c, dt)
            else:
                relate_stop(model, data, cones[c], touch.side[c], touch.least[c])
    if found is not None:
        relate_detected(model, data, found)
        relate_islands(touch, found.islands, list_impulses(model.cones, touch, found), W_)
        return
    for a in range(cones.shape[0]):
        if not touch.active[a]:
            continue
        for j in range(cones[a].row, cones[a].row + impulses(cones[a])):
            i = cones[a].node
            if cones[a].kind >= TIE:
                for c in range(W_.shape[0]):
                    touch.w[j] += touch.rows[j, c] * W_[c, 7]
                i = -1
            while i >= 0:
                for c in range(model.nodes[i].iv, model.nodes[i].iv + model.nodes[i].nv):
                    touch.w[j] += touch.rows[j, c] * W_[c, 7]
                i = model.nodes[i].parent
            for b in range(cones.shape[0]):
                if touch.active[b]:
                    for k in range(cones[b].row, cones[b].row + impulses(cones[b])):
                        touch.W[k, j] = row_product(model, cones[a], touch.rows[j], touch.columns[k])


@routine
def push(model, data):
    """Add the impulses to the right-hand sides, and their generalised impulses to `kick`."""
    cones, touch, W_ = model.cones, data.touch, data.W
    nodes, lam = model.nodes, touch.lam
    for c in range(touch.kick.shape[0]):
        touch.kick[c] = 0.0
    for c in range(cones.shape[0]):
        cone = cones[c]
        at, i = cone.row, cone.node
        if not touch.active[c] or lam[at] == 0.0:
            continue
        last = at + 1
        if cone.kind == CONTACT:
            last = at + impulses(cone)
            t, s = tangents(cone)
            n = load3(cone.normal)
            f = axpy3(lam[at + 2], s, axpy3(lam[at + 1], t, scale3(lam[at], n)))
            r = axpy3(-cone.radius, n, matvec(load9(data.R[data.now[0]][i]), load3(cone.arm)))
            whole = with_torque(touch.rolls, cone, lam, wrench(f, add3(load3(data.x[data.now[0]][i]), r)))
            while i >= 0:
                for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                    touch.kick[k] += times(six(data.S[data.now[0]][k]), whole)
                i = nodes[i].parent
        elif cone.kind >= TIE:
            for k in range(W_.shape[0]):
                W_[k, 7] += lam[at] * touch.columns[at, k]
            if cone.kind == LOOP:
                kick_loop(model, data, touch.pulls, cone, lam[at], touch.kick)
            continue
        else:
            touch.kick[cone.dof] += lam[at] * (touch.side[c] if cone.kind == LIMIT else 1.0)
        i = cone.node
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                for j in range(at, last):
                    W_[k, 7] += lam[j] * touch.columns[j, k]
            i = nodes[i].parent
    push_detected(model, data, touch.found)


@routine
def law_violation(model, data, dt):
    """Largest violation of the contact laws at the end of the step [m or rad]; activates violated constraints.

    For constraints with an impulse: the gap, and the slip where they stick. For others: the penetration of their
    plane, or the distance beyond the nearer limit.
    """
    cones, touch, worst, fall = model.cones, data.touch, 0.0, gravity_drop(model, dt)
    lam = touch.lam
    for c in range(cones.shape[0]):
        cone = cones[c]
        at = cone.row
        if cone.kind >= TIE:
            if cone.kind == LOOP:
                worst = max(worst, loop_violation(model, data, touch.pulls, cone))
            continue
        if cone.kind == DRY:
            if touch.active[c] and abs(lam[at]) < 0.999 * 0.5 * dt * cone.friction:
                worst = max(worst, abs(data.q1[cone.iq] - data.q0[cone.iq]))
            continue
        if cone.kind == LIMIT and not (touch.active[c] and lam[at] > 0.0):
            take_side(data, cone, c, fall)
        d = contact_gap(cone, touch.side[c], data) - touch.least[c]
        if touch.active[c] and lam[at] > 0.0:
            if cone.kind == LIMIT:
                worst = max(worst, abs(d))
            else:
                depth, _, slip = depth_of(lam[at], touch.compliance[c], touch.deepest[0], touch.impulse_compliance[c])
                worst = max(worst, abs(d + depth))
                most, f1, f2 = cone.friction * lam[at], lam[at + 1], lam[at + 2]
                if f1 * f1 + f2 * f2 < 0.999 * most * most:
                    _, _, moved = sliding(cone, data)
                    t, s = tangents(cone)
                    soft = slip + touch.soft[c]
                    worst = max(worst, abs(dot3(t, moved) + soft * f1), abs(dot3(s, moved) + soft * f2))
                worst = max(worst, turn_violation(data, touch.rolls, cone))
        elif d < 0.0 and not is_waiting(touch.impacts, c):
            worst = max(worst, -d)
            touch.active[c] = True
    return detected_violation(model, data, touch.found, worst)
