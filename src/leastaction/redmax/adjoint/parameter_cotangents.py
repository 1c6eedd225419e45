"""Gradients of minus z . g by parameters of joints, and through the nodes by rates and placements.

The adjoint method adds them to those of the objective (Sueda 2021, Eq. 3.90).
"""

from leastaction._jit import inline, routine
from leastaction.forces.passive import limit_gap, limit_slopes
from leastaction.forces.touch import touch
from leastaction.kinematics.sweeps import add_to
from leastaction.redmax.adjoint.force_cotangents import body_force_cotangents, clear_cotangents
from leastaction.redmax.adjoint.loop_cotangents import loop_cotangents
from leastaction.redmax.step.columns import has_wrenches
from leastaction.spatial import add, coAd_inv, cross_force, dot, load3, load6, load9, store6, sub


@inline
def _joint_row(out, dof, rest, z, q, v, a):
    """Gradients by stiffness, rest, damping, armature, lower and upper limit, their stiffness and damping."""
    out[0] -= z * (q - rest)
    out[1] += z * dof.stiffness
    out[2] -= z * v
    out[3] -= z * a
    side, d = limit_gap(dof, q)
    acts, share, _ = touch(dof.mode, d)
    if acts:
        out[4 if side > 0.0 else 5] += z * limit_slopes(dof, q, v)[0]
        out[6] -= z * side * d
        out[7] -= z * share * v


@routine
def add_joint_gradients(model, r, rd, rdd, z, out):
    """Add to `out` (nr, 8) the gradients by the properties of each reduced coordinate, see `_joint_row`."""
    dofs = model[1]
    plain, blocks, rest, coords = model[3][0], model[3][1], model[4][0], model[4][7]
    for p in range(plain.shape[0]):
        k = plain[p, 0]
        _joint_row(out[k], dofs[plain[p, 2]], rest[plain[p, 1]], z[k], r[k], rd[k], rdd[k])
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            _joint_row(out[k], coords[k], coords[k].rest, z[k], r[k], rd[k], rdd[k])


@routine
def add_gravity_gradient(nodes, cot, out):
    """Add the gradient by gravity, shape (3,)."""
    for i in range(nodes.shape[0]):
        if nodes[i].parent < 0:
            for c in range(3):
                out[c] += cot[i].alpha[3 + c]


@routine
def wrench_cotangents(model, loops, work, cot, u, lam, z, nr, vn, grads):
    """Subtract from vn (nv) the gradient of E by the nodes' velocities; add those by placements and parameters.

    E is the virtual power of the wrenches on all nodes less z . h of the loops. The inertial part of the gradients by
    placements moves every wrench rigidly with its node, so that is taken off here.
    """
    if not has_wrenches(model, loops, u) and model[4][5].shape[0] == 0:
        return
    nodes, links, screws = model[0], work[0], work[1]
    external, GT, GV, scratch = work[5]
    clear_cotangents(GT, GV)
    body_force_cotangents(model, work, cot, u, GT, GV, grads)
    if loops[0].shape[0] > 0:
        loop_cotangents(loops, links, cot, lam, z, nr, GT, GV, scratch[0], grads[10])
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        # A moved placement moves all behind it, and turns its twist relative to what carries it.
        B = load6(GV[i])
        A = add(load6(GT[i]), add(cross_force(load6(cot[i].W), load6(external[i])), cross_force(load6(links[i].v), B)))
        store6(GT[i], A)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        A, B = load6(GT[i]), load6(GV[i])
        for k in range(node.iv, node.iv + node.nv):
            vn[k] -= dot(load6(screws[k].S), B)
        if node.parent >= 0:
            p = node.parent
            add_to(GT[p], A)
            add_to(GV[p], B)
            A = sub(A, cross_force(load6(links[p].v), B))
            A = coAd_inv((load9(links[p].R), load3(links[p].p)), A)
        add_to(grads[1][i], A)
