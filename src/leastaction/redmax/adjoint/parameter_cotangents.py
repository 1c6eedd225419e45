"""Gradients of minus z . g by parameters of joints, and through the nodes by rates and placements.

The adjoint method adds them to those of the objective (Sueda 2021, Eq. 3.90).
"""

from leastaction._jit import routine
from leastaction.forces import drives, total
from leastaction.kinematics.sweeps import add_to
from leastaction.redmax.adjoint.loop_cotangents import loop_cotangents
from leastaction.redmax.step.columns import has_wrenches
from leastaction.spatial import ZERO6, add, coAd_inv, cross_force, dot, load3, load6, load9, store6, sub


@routine
def add_joint_gradients(model, data, r, rd, z, out):
    """Add to `out` (nr, 8) the gradients by the properties of each reduced coordinate.

    They are stiffness, rest, damping, armature, lower and upper limit, their stiffness and damping.
    """
    plain, modes = model.coordinates.plain, data.modes.limits
    for p in range(plain.shape[0]):
        k, j = plain[p, 0], plain[p, 2]
        total.axis_cotangents(model.dofs[j], modes[j], z[k], r[k], rd[k], out[k])
        out[k, 3] -= z[k] * data.rdd[k]
    _add_block_gradients(model.coordinates.blocks, model.forces.coords, data, r, rd, z, out)


@routine
def _add_block_gradients(blocks, coords, data, r, rd, z, out):
    if blocks is None:
        return
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            total.axis_cotangents(coords[k], data.modes.coords[k], z[k], r[k], rd[k], out[k])
            out[k, 3] -= z[k] * data.rdd[k]


@routine
def add_gravity_gradient(nodes, cot, out):
    """Add the gradient by gravity, shape (3,)."""
    for i in range(nodes.shape[0]):
        if nodes[i].parent < 0:
            for c in range(3):
                out[c] += cot[i].alpha[3 + c]


@routine
def wrench_cotangents(wrenches, model, data, back, grads, u, lam):
    """Subtract from back.vn the gradient of E by the nodes' velocities; add those by placements and parameters.

    E is the virtual power of the wrenches on all nodes less z . h of the loops. The inertial part of the gradients by
    placements moves every wrench rigidly with its node, so that is taken off here.
    """
    if wrenches is None:
        return
    if not has_wrenches(wrenches, model, u) and model.forces.balls.shape[0] == 0:
        return
    nodes, links, screws, cot = data.coordinates.nodes, data.links, data.screws, back.cot
    GT, GV = data.T, data.dV
    for i in range(nodes.shape[0]):
        store6(GT[i], ZERO6)
        store6(GV[i], ZERO6)
    total.wrench_cotangents(model.forces, data.modes, links, cot, GT, GV, grads.forces)
    drives.cotangents(model.forces.drives, links, u, cot, GT)
    loop_cotangents(model.loops, data, back, lam, grads.rows)
    for i in range(nodes.shape[0] - 1, -1, -1):
        # A moved placement moves all behind it, and turns its twist relative to what carries it.
        B, F = load6(GV[i]), load6(data.external[i])
        A = add(load6(GT[i]), add(cross_force(load6(cot[i].W), F), cross_force(load6(links[i].v), B)))
        store6(GT[i], A)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        A, B = load6(GT[i]), load6(GV[i])
        for k in range(node.iv, node.iv + node.nv):
            back.vn[k] -= dot(load6(screws[k].S), B)
        if node.parent >= 0:
            p = node.parent
            add_to(GT[p], A)
            add_to(GV[p], B)
            A = sub(A, cross_force(load6(links[p].v), B))
            A = coAd_inv((load9(links[p].R), load3(links[p].p)), A)
        add_to(grads.placements[i], A)
