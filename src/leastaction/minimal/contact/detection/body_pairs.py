"""Jacobians of contacts between two bodies: generalised impulses of a wrench pair, and relative motions.

A contact wrench acts on body b, its opposite on body a. Both are propagated towards the root, as in `robot_contacts`
for one body; from the first joint that carries both bodies on, the two paths are one.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_response import depth_of
from leastaction.contact.solver.islands import impulses
from leastaction.minimal.contact.detection.detected_contacts import gap_at
from leastaction.minimal.contact.paths import against, pull_both, push_both
from leastaction.minimal.contact.row_vec6 import six, wrench
from leastaction.minimal.contact.solver.torsional_rolling import relate_turn, turn_violation, with_torque
from leastaction.minimal.contact.solver.waiting_contacts import is_waiting
from leastaction.minimal.galerkin_bodies.rotational_energy import polynomial, turn_between
from leastaction.minimal.vec6 import ZEROS, times
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, mattvec, matvec, scale3, sub3
from leastaction.spatial._series import inverse_jacobian_terms


@inline
def moved_point(data, i, c, x):
    """Displacement of contact point x on body i in the step, the body's rotation vector, the arm x - c, the end of c.

    Args:
        c: point fixed to the body, see `contact.gap.material_points`; the arm from c to x does not rotate with it.
    """
    if i < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), c
    k, o = data.now[0], sub3(x, c)
    R0, R1 = load9(data.R[k][i]), load9(data.R[1 - k][i])
    y = turn_between(R0, R1)
    end = add3(load3(data.x[1 - k][i]), matvec(R1, mattvec(R0, sub3(c, load3(data.x[k][i])))))
    return add3(sub3(end, c), cross(y, o)), y, o, end


@inline
def row_along(i, t, y, o, end):
    """Gradient of the displacement of such a point along t by the end twist of its body."""
    if i < 0:
        return ZEROS
    e, _ = inverse_jacobian_terms(dot3(y, y))
    m = add3(cross(end, t), mattvec(polynomial(y, -0.5, e), cross(o, t)))
    return (m[0], m[1], m[2], t[0], t[1], t[2])


@routine
def slip(cone, data):
    """Slip of body b, including moving surfaces, along both tangents of a detected contact [m]."""
    x = load3(cone.arm)
    own = moved_point(data, cone.node, load3(cone.fixed), x)[0]
    moved = sub3(own, moved_point(data, cone.other, load3(cone.fixed_other), x)[0])
    return dot3(load3(cone.first), moved) + cone.drift[0], dot3(load3(cone.second), moved) + cone.drift[1]


@routine
def relate_both(model, data, cone, found, least):
    """Set rows, columns and w0 of a detected contact."""
    touch, i, j, at, x, S0_ = data.touch, cone.node, cone.other, cone.row, load3(cone.arm), data.S[data.now[0]]
    phi, n, end = gap_at(data, found.contacts[cone.found], at * 0 + 1)
    touch.w[at] = phi - least
    touch.w[at + 1], touch.w[at + 2] = slip(cone, data)
    h = wrench(n, end)
    pull_both(model, data, i, h, j, against(h), touch.rows[at])
    _, y, o, end_i = moved_point(data, i, load3(cone.fixed), x)
    _, z, p, end_j = moved_point(data, j, load3(cone.fixed_other), x)
    for k in range(3):
        f = load3(cone.normal if k == 0 else (cone.first if k == 1 else cone.second))
        g = wrench(f, x)
        push_both(model.nodes, S0_, data.W, touch.col, i, g, j, against(g), touch.columns[at + k])
        if k > 0:
            row, other = row_along(i, f, y, o, end_i), against(row_along(j, f, z, p, end_j))
            pull_both(model, data, i, row, j, other, touch.rows[at + k])
    relate_turn(model, data, touch.rolls, cone)


@routine
def relate_detected(model, data, found):
    """Set rows, columns and w0 of the active detected contacts."""
    for j in range(found.now[0].count):
        c = model.cones.shape[0] + j
        if data.touch.active[c]:
            relate_both(model, data, found.cones[c], found, data.touch.least[c])


@routine
def kick_both(model, data, i, h, j, kick):
    """Add the generalised impulses of a wrench h on body i and -h on body j; they cancel in joints that carry both."""
    nodes, S0_, sign = model.nodes, data.S[data.now[0]], 1.0
    while i != j:
        if i < j:
            i, j, sign = j, i, -sign
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            kick[k] += sign * times(six(S0_[k]), h)
        i = nodes[i].parent


@routine
def push_detected(model, data, found):
    """Add the impulses of detected contacts to the right-hand sides and `kick`."""
    if found is None:
        return
    touch, W_ = data.touch, data.W
    lam = touch.lam
    for j in range(found.now[0].count):
        c = model.cones.shape[0] + j
        cone = found.cones[c]
        at = cone.row
        if not touch.active[c] or lam[at] == 0.0:
            continue
        along = axpy3(lam[at + 1], load3(cone.first), scale3(lam[at], load3(cone.normal)))
        f = add3(along, scale3(lam[at + 2], load3(cone.second)))
        whole = with_torque(touch.rolls, cone, lam, wrench(f, load3(cone.arm)))
        kick_both(model, data, cone.node, whole, cone.other, touch.kick)
        for i in range(at, at + impulses(cone)):
            for k in range(W_.shape[0]):
                W_[k, 7] += lam[i] * touch.columns[i, k]


@routine
def detected_violation(model, data, found, worst):
    """Maximum of `worst` and the violation of the laws of detected contacts; see `robot_contacts.law_violation`."""
    if found is None:
        return worst
    touch, lam = data.touch, data.touch.lam
    for j in range(found.now[0].count):
        c = model.cones.shape[0] + j
        cone = found.cones[c]
        at = cone.row
        d = gap_at(data, found.contacts[j], at * 0 + 1)[0] - touch.least[c]
        if touch.active[c] and lam[at] > 0.0:
            depth, _, give = depth_of(lam[at], touch.compliance[c], touch.deepest[0], touch.impulse_compliance[c])
            worst = max(worst, abs(d + depth))
            most, f1, f2 = cone.friction * lam[at], lam[at + 1], lam[at + 2]
            if f1 * f1 + f2 * f2 < 0.999 * most * most:
                one, two = slip(cone, data)
                soft = give + touch.soft[c]
                worst = max(worst, abs(one + soft * f1), abs(two + soft * f2))
            worst = max(worst, turn_violation(data, touch.rolls, cone))
        elif d < 0.0 and not is_waiting(touch.impacts, c):
            worst = max(worst, -d)
            touch.active[c] = 1
    return worst
