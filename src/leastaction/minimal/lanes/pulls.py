"""Springs, cables and tendons in lanes: forces between bodies, by the kernels of `forces`.

A step takes half of their impulses at each of its ends, as the body-wise rule does: springs pull with the lengths
there, dampers with the mean velocities of the bodies, and the feedback of drives with the length in the middle of the
step. The latter two look at its end, so that Newton's matrix has a part of rank one for each of them, g0 b g1': an
impulse along the gradient g0 of the length at the start, b for each unit by which the length at the end grows. Of a
tendon along one joint it is a number on the diagonal. Others are cones, of kind `TIE`: impulses lam = -b w that
Newton's update adds to those of the lengths as they are, and which vanish when it has converged.

Equations of loops and couplings are cones of kind `LOOP`: with impulses along their gradients at the start of the step
they hold at its end, as those of contacts do.
"""

from leastaction._jit import inline, routine
from leastaction.forces import drags, isotropic_springs, paths, tendons, total
from leastaction.forces.arrays import modes_at
from leastaction.forces.tendon_lengths import length_and_rate
from leastaction.forces.tendon_records import HINGE, SLIDE
from leastaction.kinematics.closure import evaluate, is_coupling, polynomial, push
from leastaction.kinematics.loop_equations import coordinate_of
from leastaction.minimal.bodywise.turning import turn_between
from leastaction.minimal.lanes.joint_pulls import pull_in_joints
from leastaction.minimal.lanes.lane_records import LOOP, TIE
from leastaction.minimal.lanes.sixes import six
from leastaction.minimal.sixes import plus, times
from leastaction.spatial import cross, load3, load9, matvec, scale3, store3, store6, store9, sub3

SLACK, LEAST = 1e-9, 1e-12
"""Shares of the compliance of an equation of a loop, and of the softest of all, by which it gives way."""


@routine
def pull_by_controls(model, lane, pulls):
    """Let the controls in `lane.u` act on tendons."""
    if pulls is None:
        return
    for end in range(2):
        tendons.set_pulls(model.forces.tendons, model.drives, pulls.modes.pull[end], lane.u)


@routine
def place_start(model, lane, pulls):
    """Poses of the bodies at the start of a step."""
    if pulls is None:
        return
    for i in range(model.nodes.shape[0]):
        R, x, link = load9(lane.R[lane.now[0]][i]), load3(lane.x[lane.now[0]][i]), pulls.links[0, i]
        store9(link.R, R)
        store3(link.p, sub3(x, matvec(R, load3(model.nodes[i].com))))


@routine
def place_links(model, lane, pulls, dt):
    """Poses and twists of the bodies at both ends of the step."""
    for i in range(model.nodes.shape[0]):
        k, com = lane.now[0], load3(model.nodes[i].com)
        R0, x0, R1, x1 = load9(lane.R[k][i]), load3(lane.x[k][i]), load9(lane.R[1 - k][i]), load3(lane.x[1 - k][i])
        w, v = scale3(1.0 / dt, turn_between(R0, R1)), scale3(1.0 / dt, sub3(x1, x0))
        one, two = pulls.links[0, i], pulls.links[1, i]
        store9(one.R, R0)
        store9(two.R, R1)
        store3(one.p, sub3(x0, matvec(R0, com)))
        store3(two.p, sub3(x1, matvec(R1, com)))
        store6(one.v, (w, sub3(v, cross(w, x0))))
        store6(two.v, (w, sub3(v, cross(w, x1))))


@routine
def pull(model, lane, pulls, dt):
    """Impulses at both ends of the step, placed there, and their slopes by joints."""
    if pulls is None:
        return
    forces, modes = model.forces, pulls.modes
    place_links(model, lane, pulls, dt)
    tendons.look_near(modes.items, lane.q0)
    for k in range(forces.tendons.shape[0]):
        if forces.tendons[k].held != 0.0:  # see `bodywise.feedback`, at order 2
            one, _ = length_and_rate(forces.tendons[k], modes.items, pulls.links[0])
            two, _ = length_and_rate(forces.tendons[k], modes.items, pulls.links[1])
            modes.pull[0, k, 2], modes.pull[1, k, 2] = 0.5 * (two - one), 0.5 * (one - two)
    pull_along(model, lane.S[lane.now[0]], pulls, 0, dt, pulls.start)
    pull_along(model, lane.S[1 - lane.now[0]], pulls, 1, dt, pulls.end)
    for c in range(pulls.slope.shape[0]):
        pulls.slope[c] = 0.0
    pull_in_joints(model, lane, pulls, dt)
    for k in range(forces.tendons.shape[0]):
        item = modes.items[forces.tendons[k].first]
        if forces.tendons[k].count == 1 and (item.kind == HINGE or item.kind == SLIDE):
            pulls.slope[item.iv] += item.weight * item.weight * slope_of_tie(model, pulls, k, 0, dt)


@routine
def pull_along(model, S_, pulls, end, dt, out):
    """out: half of the impulses of the step along the joints, by the forces at one of its ends."""
    nodes, external = model.nodes, pulls.external
    clear(external)
    total.wrenches(model.forces, modes_at(pulls.modes, end), pulls.links[end], external)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        for c in range(node.iv, node.iv + node.nv):
            out[c] = 0.5 * dt * times(six(S_[c]), six(external[i]))
        if node.parent >= 0:
            for k in range(6):
                external[node.parent, k] += external[i, k]


@inline
def clear(external):
    """No wrenches."""
    for i in range(external.shape[0]):
        for k in range(6):
            external[i, k] = 0.0


@routine
def slope_of_tie(model, pulls, k, axis, dt):
    """By how much the impulse at the start falls where the length at the end grows [N s/m]; k, axis: see `ties`."""
    forces, modes, links = model.forces, modes_at(pulls.modes, 0), pulls.links[0]
    if k >= forces.tendons.shape[0] + forces.paths.shape[0]:
        return 0.5 * drags.slope_along(forces.drags[k - forces.tendons.shape[0] - forces.paths.shape[0]], links, axis)
    if k >= forces.tendons.shape[0]:
        j = k - forces.tendons.shape[0]
        if forces.paths[j].isotropic != 0:
            return 0.5 * forces.paths[j].damping
        length, rate = paths.length_and_rate(forces.paths[j], forces.points, links)
        return 0.5 * paths.tension_slopes(forces.paths[j], modes.paths[j], length, rate)[1]
    tendon = forces.tendons[k]
    length, rate = length_and_rate(tendon, modes.items, links)
    _, damping, free = tendons.tension_slopes(tendon, modes.tendons[k], modes.pull[k], length, rate)
    return 0.25 * dt * tendon.held * free + 0.5 * damping


@routine
def stretch(model, pulls, cone, q, end):
    """Into `external` and `tau`: what a unit force along a tie or an equation is, at one end of the step, where the
    joints are at q; gives back the value of the equation there."""
    forces, links, k = model.forces, pulls.links[end], cone.tie
    clear(pulls.external)
    for c in range(pulls.tau.shape[0]):
        pulls.tau[c] = 0.0
    if cone.kind == LOOP:
        return open_loop(model, pulls, model.closure.rows[k], q, links)
    if k >= forces.tendons.shape[0] + forces.paths.shape[0]:
        drag = forces.drags[k - forces.tendons.shape[0] - forces.paths.shape[0]]
        drags.push_along(drag, links, drags.way_along(drag, pulls.links[0], cone.axis), pulls.external)
    elif k >= forces.tendons.shape[0]:
        path = forces.paths[k - forces.tendons.shape[0]]
        if path.isotropic != 0:
            isotropic_springs.push_along(path, forces.points, links, cone.axis, pulls.external)
        else:
            paths.push(path, forces.points, links, -1.0, pulls.external)
    else:
        tendons.push(forces.tendons[k], pulls.modes.items, links, 1.0, pulls.external)
    return 0.0


@routine
def open_loop(model, pulls, row, q, links):
    """`stretch` of an equation: a loop has wrenches on two bodies, a coupling impulses along two joints."""
    if is_coupling(row):
        f, slope, _ = polynomial(row, model.closure.coefficients, coordinate_of(model.nodes, q, row.leader))
        pulls.tau[row.follower] += 1.0
        pulls.tau[row.leader] -= slope
        return coordinate_of(model.nodes, q, row.follower) - f
    h, W = evaluate(row, links)
    push(row, pulls.external, W, 1.0)
    return h


@routine
def miss_loop(model, lane, pulls, cone):
    """By how much a loop is open at the end of the step as it is [m or rad]."""
    if pulls is None:
        return 0.0
    return abs(stretch(model, pulls, cone, lane.q1, 1))


@routine
def kick_loop(model, lane, pulls, cone, lam, kick):
    """Add to `kick` what an impulse along an equation does along the joints, at the start of the step."""
    if pulls is None:
        return
    nodes, external, S_ = model.nodes, pulls.external, lane.S[lane.now[0]]
    stretch(model, pulls, cone, lane.q0, 0)
    for i in range(nodes.shape[0] - 1, -1, -1):
        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            kick[c] += lam * (pulls.tau[c] + times(six(S_[c]), six(external[i])))
        if nodes[i].parent >= 0:
            add_six(external[nodes[i].parent], six(external[i]))


@routine
def slacken_loops(cones, touch, pulls):
    """Let equations give way a little: some may say what others do, or what nothing could change."""
    if pulls is None:
        return
    active, W, most = touch.active, touch.W, 0.0
    for c in range(cones.shape[0]):
        if active[c] and cones[c].kind == LOOP:
            most = max(most, W[cones[c].row, cones[c].row])
    for c in range(cones.shape[0]):
        if active[c] and cones[c].kind == LOOP:
            W[cones[c].row, cones[c].row] += SLACK * W[cones[c].row, cones[c].row] + LEAST * most


@routine
def relate_tie(model, lane, pulls, cone, c, dt):
    """Row, column and w0 of a tie or an equation."""
    if pulls is None:
        return
    touch, at = lane.touch, cone.row
    if cone.kind == TIE:
        touch.lam[at], touch.side[c] = 0.0, slope_of_tie(model, pulls, cone.tie, cone.axis, dt)
    stretch(model, pulls, cone, lane.q0, 0)
    push_all(model, lane, pulls.external, pulls.tau, touch.columns[at])
    touch.w[at] = stretch(model, pulls, cone, lane.q1, 1)
    pull_all(model, lane, pulls.external, pulls.tau, touch.rows[at])


@routine
def push_all(model, lane, external, tau, column):
    """`paths.push_up` of wrenches on all bodies, which are used up, and of impulses along the joints."""
    nodes, S0_, W_, col_ = model.nodes, lane.S[lane.now[0]], lane.W, lane.touch.col
    for i in range(nodes.shape[0] - 1, -1, -1):
        h = six(external[i])
        for c in range(nodes[i].iv + nodes[i].nv - 1, nodes[i].iv - 1, -1):
            column[c] = times(six(S0_[c]), h) + tau[c]
            h = plus(-W_[c, 6] * column[c], six(col_[c]), h)
        if nodes[i].parent >= 0:
            add_six(external[nodes[i].parent], h)


@routine
def pull_all(model, lane, external, tau, row):
    """`paths.pull_up` of rows on the motions of all bodies, which are used up, and of the joints."""
    nodes, S1_, W_ = model.nodes, lane.S[1 - lane.now[0]], lane.W
    for i in range(nodes.shape[0] - 1, -1, -1):
        h = six(external[i])
        for c in range(nodes[i].iv + nodes[i].nv - 1, nodes[i].iv - 1, -1):
            row[c] = W_[c, 6] * (times(six(S1_[c]), h) + tau[c])
            h = plus(-row[c], six(W_[c]), h)
        if nodes[i].parent >= 0:
            add_six(external[nodes[i].parent], h)


@inline
def add_six(out, h):
    """Add six numbers to a row."""
    out[0], out[1], out[2] = out[0] + h[0], out[1] + h[1], out[2] + h[2]
    out[3], out[4], out[5] = out[3] + h[3], out[4] + h[4], out[5] + h[5]


@inline
def with_pull(pulls, c, r, slope):
    """A residual and its slope with what acts at the start of the step."""
    if pulls is None:
        return r, slope
    return r + pulls.start[c] - pulls.drives[0, c], slope + pulls.slope[c]


@inline
def momenta_of_drive(pulls, c):
    """Momenta of the drive of a ball or a free joint along c at both ends of the step."""
    if pulls is None:
        return 0.0, 0.0
    return pulls.drives[0, c], pulls.drives[1, c]


@inline
def with_pulls(pulls, c, r, last):
    """A residual and a momentum at the end with what acts at both ends of the step."""
    if pulls is None:
        return r, last
    return r + pulls.start[c] - pulls.drives[0, c], last + pulls.end[c] + pulls.drives[1, c]


@inline
def pulls_of(touch):
    """`Pulls`, or None where nothing pulls."""
    if touch is None:
        return None
    return touch.pulls
