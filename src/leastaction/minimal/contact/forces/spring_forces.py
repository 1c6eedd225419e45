"""Springs, cables, tendons, drag and loops: forces between bodies in a step.

Half of each impulse acts at the start and half at the end of a step, computed from the motion between them: springs by
a discrete gradient (`length_springs`, `joint_forces`), dampers and drag by the mean velocities. The half at the start
thus depends on the end, and Newton's matrix has a rank-one term for each force, g0 b g1': the impulse along g0 falls by
b per unit of the length at the end, whose gradient is g1. For a tendon along one joint this is a number on the
diagonal. Other forces are constraints of kind `TIE` with impulses lam = -b w, which complete Newton's update and vanish
on convergence. The dependence of directions and arms on the end is neglected: it is proportional to the rotation of
a body in a step.

Loops and couplings are constraints of kind `LOOP`: impulses along their gradients at the start of the step make them
hold at its end, as for contacts.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import LOOP, TIE
from leastaction.forces import drags
from leastaction.forces.tendons import tendon_forces
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial, push
from leastaction.kinematics.loop_equations import coordinate_of
from leastaction.minimal.contact.forces.joint_forces import pull_in_joints, turn_slopes
from leastaction.minimal.contact.forces.length_springs import (
    gradient_at_end,
    mean_along,
    path_tension,
    pull_lengths,
    push_unit,
    tendon_tension,
)
from leastaction.minimal.contact.row_vec6 import accumulate, six
from leastaction.minimal.galerkin_bodies.rotational_energy import turn_between
from leastaction.minimal.vec6 import plus, times
from leastaction.spatial import cross, load3, load9, matvec, scale3, store3, store6, store9, sub3

SLACK, LEAST = 1e-9, 1e-12
"""Compliance of loops relative to their diagonal of W, and to the largest of these."""


@routine
def pull_by_controls(model, data, pulls):
    """Apply the controls in `data.u` that act on tendons."""
    if pulls is None or pulls.links.shape[1] == 0:
        return
    tendon_forces.set_pulls(model.forces.tendons, model.drives, pulls.modes.pull[0], data.u)


@routine
def place_start(model, data, pulls):
    """Set the poses of the bodies at the start of a step."""
    if pulls is None or pulls.links.shape[1] == 0:
        return
    for i in range(model.nodes.shape[0]):
        R, x, link = load9(data.R[data.now[0]][i]), load3(data.x[data.now[0]][i]), pulls.links[0, i]
        store9(link.R, R)
        store3(link.p, sub3(x, matvec(R, load3(model.nodes[i].com))))


@routine
def place_links(model, data, pulls, dt):
    """Set poses and mean twists of the bodies at both ends of the step."""
    for i in range(model.nodes.shape[0]):
        k, com = data.now[0], load3(model.nodes[i].com)
        R0, x0, R1, x1 = load9(data.R[k][i]), load3(data.x[k][i]), load9(data.R[1 - k][i]), load3(data.x[1 - k][i])
        w, v = scale3(1.0 / dt, turn_between(R0, R1)), scale3(1.0 / dt, sub3(x1, x0))
        one, two = pulls.links[0, i], pulls.links[1, i]
        store9(one.R, R0)
        store9(two.R, R1)
        store3(one.p, sub3(x0, matvec(R0, com)))
        store3(two.p, sub3(x1, matvec(R1, com)))
        store6(one.v, (w, sub3(v, cross(w, x0))))
        store6(two.v, (w, sub3(v, cross(w, x1))))


@routine
def pull(model, data, pulls, dt):
    """Set the generalised impulses at both ends of the step, their work over it [J], and their slopes by joints."""
    if pulls is None or pulls.links.shape[1] == 0:
        return
    forces, start, end = model.forces, pulls.start, pulls.end
    place_links(model, data, pulls, dt)
    tendon_forces.unwrap_angles(pulls.modes.items, data.q0)
    clear(pulls.external[0])
    clear(pulls.external[1])
    for c in range(start.shape[0]):
        start[c] = end[c] = pulls.slope[c] = 0.0
    pulls.work[0] = pull_lengths(model, data, pulls, dt)
    for k in range(2):
        drags.wrenches(forces.drags, pulls.links[k], pulls.external[k])
    pulls.work[0] += work_of_drags(forces.drags, pulls.links[0], dt)
    mean_along(model, data, pulls.external, 0.5 * dt, start, end)
    pulls.work[0] += pull_in_joints(model, data, pulls, dt)


@routine
def work_of_drags(some, links, dt):
    """Work of drag in the step [J], with the mean velocities."""
    work = 0.0
    for k in range(some.shape[0]):
        work += dt * drags.power(some[k], links)
    return work


@inline
def clear(external):
    """Set all wrenches to zero."""
    for i in range(external.shape[0]):
        for k in range(6):
            external[i, k] = 0.0


@routine
def slope_of_tie(model, data, pulls, k, axis, dt):
    """Minus the derivative of the impulse at the start by the length at the end [N s/m]; k, axis: see `ties`."""
    forces = model.forces
    many, paths = forces.tendons.shape[0], forces.paths.shape[0]
    if k < many:
        return 0.5 * dt * tendon_tension(model, data, pulls, k, dt)[1]
    if k < many + paths:
        path = forces.paths[k - many]
        if path.isotropic != 0:
            return 0.25 * dt * path.stiffness + 0.5 * path.damping
        return 0.5 * dt * path_tension(model, pulls, k - many, dt)[1]
    if k < many + paths + forces.drags.shape[0]:
        return 0.5 * drags.slope_along(forces.drags[k - many - paths], pulls.links[0], axis)
    return 1.0  # rows of ball joints include their stiffness


@routine
def push_tie(model, data, pulls, cone):
    """Generalised impulses of a unit impulse of a tie at the start of the step, into `tau`."""
    forces, k, tau = model.forces, cone.tie - model.forces.tendons.shape[0] - model.forces.paths.shape[0], pulls.tau
    clear(pulls.external[0])
    clear(pulls.external[1])
    for c in range(tau.shape[0]):
        tau[c] = pulls.unused[c] = 0.0
    if k >= forces.drags.shape[0]:
        tau[model.nodes[k - forces.drags.shape[0]].iv + cone.axis] = 1.0
        return
    if k >= 0:
        way = drags.relative_motion_frame(forces.drags[k], pulls.links[0], cone.axis)
        for end in range(2):
            drags.push_along(forces.drags[k], pulls.links[end], way, pulls.external[end])
    else:
        push_unit(model, pulls, cone)
    mean_along(model, data, pulls.external, 1.0, tau, pulls.unused)
    clear(pulls.external[0])


@routine
def tie_wrenches(model, data, pulls, cone, dt):
    """Gradient of the length of a tie at the end of the step, by the motions of bodies into `external`, or of joints
    into `tau`."""
    forces, k, tau = model.forces, cone.tie - model.forces.tendons.shape[0] - model.forces.paths.shape[0], pulls.tau
    clear(pulls.external[0])
    for c in range(tau.shape[0]):
        tau[c] = 0.0
    if k >= forces.drags.shape[0]:
        turn_slopes(model, data, model.nodes[k - forces.drags.shape[0]], cone.axis, 0.5 * dt, tau)
    elif k >= 0:
        way = drags.relative_motion_frame(forces.drags[k], pulls.links[0], cone.axis)
        drags.push_along(forces.drags[k], pulls.links[1], way, pulls.external[0])
    else:
        gradient_at_end(model, pulls, cone, pulls.external[0])


@routine
def loop_wrenches(model, pulls, cone, q, end):
    """Set `external` and `tau` to the unit force of a constraint row at one end of the step, with joint positions q;
    returns the constraint value there."""
    clear(pulls.external[0])
    for c in range(pulls.tau.shape[0]):
        pulls.tau[c] = 0.0
    return open_loop(model, pulls, model.closure.rows[cone.tie], q, pulls.links[end])


@routine
def open_loop(model, pulls, row, q, links):
    """`loop_wrenches` of a row: a loop has wrenches on two bodies, a coupling impulses along two joints."""
    if is_coupling(row):
        f, slope, _ = polynomial(row, model.closure.coefficients, coordinate_of(model.nodes, q, row.leader))
        pulls.tau[row.follower] += 1.0
        pulls.tau[row.leader] -= slope
        return coordinate_of(model.nodes, q, row.follower) - f
    h, W = evaluate(row, links)
    push(row, pulls.external[0], W, 1.0)
    return h


@routine
def loop_violation(model, data, pulls, cone):
    """Violation of a loop or coupling at the end of the step [m or rad]."""
    if pulls is None or pulls.links.shape[1] == 0:
        return 0.0
    return abs(loop_wrenches(model, pulls, cone, data.q1, 1))


@routine
def kick_loop(model, data, pulls, cone, lam, kick):
    """Add to `kick` the generalised impulse of a constraint row with impulse lam, at the start of the step."""
    if pulls is None or pulls.links.shape[1] == 0:
        return
    nodes, external, S_ = model.nodes, pulls.external[0], data.S[data.now[0]]
    loop_wrenches(model, pulls, cone, data.q0, 0)
    for i in range(nodes.shape[0] - 1, -1, -1):
        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            kick[c] += lam * (pulls.tau[c] + times(six(S_[c]), six(external[i])))
        if nodes[i].parent >= 0:
            accumulate(external[nodes[i].parent], 0, six(external[i]))


@routine
def regularize_loops(cones, touch, pulls):
    """Add a slight compliance to loops, whose rows may be linearly dependent or zero."""
    if pulls is None or pulls.links.shape[1] == 0:
        return
    active, W, most = touch.active, touch.W, 0.0
    for c in range(cones.shape[0]):
        if active[c] and cones[c].kind == LOOP:
            most = max(most, W[cones[c].row, cones[c].row])
    for c in range(cones.shape[0]):
        if active[c] and cones[c].kind == LOOP:
            W[cones[c].row, cones[c].row] += SLACK * W[cones[c].row, cones[c].row] + LEAST * most


@routine
def relate_tie(model, data, pulls, cone, c, dt):
    """Set row, column and w0 of a tie or a loop."""
    if pulls is None or pulls.links.shape[1] == 0:
        return
    touch, at = data.touch, cone.row
    if cone.kind == TIE:
        touch.lam[at] = touch.w[at] = 0.0
        touch.side[c] = slope_of_tie(model, data, pulls, cone.tie, cone.axis, dt)
        push_tie(model, data, pulls, cone)
        push_all(model, data, pulls.external[0], pulls.tau, touch.columns[at])
        tie_wrenches(model, data, pulls, cone, dt)
    else:
        loop_wrenches(model, pulls, cone, data.q0, 0)
        push_all(model, data, pulls.external[0], pulls.tau, touch.columns[at])
        touch.w[at] = loop_wrenches(model, pulls, cone, data.q1, 1)
    pull_all(model, data, pulls.external[0], pulls.tau, touch.rows[at])


@routine
def push_all(model, data, external, tau, column):
    """`paths.push_up` of wrenches on all bodies, which are overwritten, and of generalised impulses."""
    nodes, S0_, W_, col_ = model.nodes, data.S[data.now[0]], data.W, data.touch.col
    for i in range(nodes.shape[0] - 1, -1, -1):
        h = six(external[i])
        for c in range(nodes[i].iv + nodes[i].nv - 1, nodes[i].iv - 1, -1):
            column[c] = times(six(S0_[c]), h) + tau[c]
            h = plus(-W_[c, 6] * column[c], six(col_[c]), h)
        if nodes[i].parent >= 0:
            accumulate(external[nodes[i].parent], 0, h)


@routine
def pull_all(model, data, external, tau, row):
    """`paths.pull_up` of rows on the motions of all bodies, which are overwritten, and of the joints."""
    nodes, S1_, W_ = model.nodes, data.S[1 - data.now[0]], data.W
    for i in range(nodes.shape[0] - 1, -1, -1):
        h = six(external[i])
        for c in range(nodes[i].iv + nodes[i].nv - 1, nodes[i].iv - 1, -1):
            row[c] = W_[c, 6] * (times(six(S1_[c]), h) + tau[c])
            h = plus(-row[c], six(W_[c]), h)
        if nodes[i].parent >= 0:
            accumulate(external[nodes[i].parent], 0, h)


@inline
def with_pull(pulls, c, r, slope):
    """A residual and its slope including `pulls` at the start of the step."""
    if pulls is None or pulls.links.shape[1] == 0:
        return r, slope
    return r + pulls.start[c] - pulls.drives[0, c], slope + pulls.slope[c]


@inline
def with_pulls(pulls, c, r, last):
    """A residual and an end momentum including `pulls` at both ends of the step."""
    if pulls is None or pulls.links.shape[1] == 0:
        return r, last
    return r + pulls.start[c] - pulls.drives[0, c], last + pulls.end[c] + pulls.drives[1, c]


@inline
def pulls_of(touch):
    """`Pulls`, or None where the robot has no such forces."""
    if touch is None:
        return None
    return touch.pulls
