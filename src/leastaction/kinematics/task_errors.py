"""Kernels of inverse kinematics: errors of tasks at a configuration, and how they change with it."""

from leastaction._jit import routine
from leastaction.kinematics.closure_kernels import frame
from leastaction.kinematics.loop_equations import equations
from leastaction.kinematics.manifold import displacement
from leastaction.kinematics.sweeps import positions
from leastaction.kinematics.task_arrays import PLACE, POSTURE
from leastaction.spatial import (
    EYE,
    add3,
    cross,
    left_jacobian_inv,
    load3,
    load6,
    load9,
    matmul,
    matmult,
    matvec,
    rot_log,
    scale3,
    sub3,
)


@routine
def place_errors(model, data, task, errors, J):
    """Of a frame: the rotation vector from where it is to be, and the distance of its origin."""
    nodes, screws, first, i = model.nodes, data.screws, task.first, task.node
    Rn, pn = frame(data.links, i)
    R, p = matmul(Rn, load9(task.Rf)), add3(pn, matvec(Rn, load3(task.pf)))
    at, slope = first, EYE
    if task.turned:
        # R = exp(phi) target, and dR = w x R.
        phi = rot_log(matmult(R, load9(task.R)))
        slope = left_jacobian_inv(phi)
        errors[first], errors[first + 1], errors[first + 2] = phi
        at += 3
    store_asked(task, sub3(p, load3(task.p)), errors, at)
    while i >= 0:
        node = nodes[i]
        for k in range(node.iv, node.iv + node.nv):
            (w, v), column = load6(screws[k].S), J[k]
            if task.turned:
                column[first], column[first + 1], column[first + 2] = matvec(slope, w)
            store_asked(task, add3(v, cross(w, p)), column, at)
        i = node.parent


@routine
def store_asked(task, x, out, at):
    """Entries of x (3) that count, one after another from out[at] on."""
    if task.asked[0]:
        out[at] = x[0]
        at += 1
    if task.asked[1]:
        out[at] = x[1]
        at += 1
    if task.asked[2]:
        out[at] = x[2]


@routine
def posture_errors(model, task, q, errors, J):
    """Of all joints: how far they are from a posture."""
    first = task.first
    displacement(model.nodes, q, model.postures[task.node], errors, first)
    # The tangent at q and that at the posture differ by terms of second order, where the error is small.
    for k in range(task.count):
        errors[first + k] = -errors[first + k]
        J[k, first + k] = 1.0


@routine
def mass_errors(model, data, task, errors, J):
    """Of the centre of mass."""
    nodes, links, screws, masses, moments = model.nodes, data.links, data.screws, data.masses, data.moments
    x, share = load3(model.mass), 1.0 / model.mass[3]
    for i in range(nodes.shape[0]):
        masses[i] = nodes[i].mass
        R, p = frame(links, i)
        moment = scale3(masses[i], add3(p, matvec(R, load3(nodes[i].com))))
        moments[i, 0], moments[i, 1], moments[i, 2] = moment
        x = add3(x, moment)
    store_asked(task, sub3(scale3(share, x), load3(task.p)), errors, task.first)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, moment = nodes[i], load3(moments[i])
        for k in range(node.iv, node.iv + node.nv):
            w, v = load6(screws[k].S)
            pushed = add3(scale3(masses[i], v), cross(w, moment))
            store_asked(task, scale3(share, pushed), J[k], task.first)
        if node.parent >= 0:
            masses[node.parent] += masses[i]
            for c in range(3):
                moments[node.parent, c] += moments[i, c]


@routine
def evaluate(model, data, state, whole):
    """Errors at `state.q`; returns the sum of squares of all, and the largest of what must be reached.

    Args:
        whole: whether tasks count that need not be reached.
    """
    nodes, tasks, q, errors, e, J, h = model.nodes, model.tasks, state.q, state.errors, state.e, state.J, state.h
    positions(nodes, data.links, data.screws, q)
    equations(nodes, model.rows, model.coefficients, model.count, data.links, data.screws, q, h, state.A)
    cost = worst = 0.0
    for c in range(h.shape[0]):
        cost += h[c] * h[c]
        worst = max(worst, abs(h[c]))
    for k in range(J.shape[0]):
        for r in range(J.shape[1]):
            J[k, r] = 0.0
    for t in range(tasks.shape[0]):
        task = tasks[t]
        if task.kind == PLACE:
            place_errors(model, data, task, errors, J)
        elif task.kind == POSTURE:
            posture_errors(model, task, q, errors, J)
        else:
            mass_errors(model, data, task, errors, J)
        weight = task.weight if whole or task.required else 0.0
        for r in range(task.first, task.first + task.count):
            if task.required:
                worst = max(worst, abs(errors[r]))
            e[r] = weight * errors[r]
            cost += e[r] * e[r]
            for k in range(J.shape[0]):
                J[k, r] *= weight
    return cost, worst
