"""Dense derivatives of the body-wise equations: by displacements of joints at each node, and by controls.

Blocks of bodies are summed over subtrees; two joints, one of which carries the other, interact through the subtree of
the outer one (as in the composite rigid-body algorithm). Rows also rotate with their joints: dS_a = eta x S_a at their
own node. Body forces enter by products with `forces.total.wrench_slopes`, so that they may couple any two bodies.
"""

from leastaction._jit import inline, routine
from leastaction.forces import drives, total
from leastaction.forces.arrays import modes_at
from leastaction.kinematics.sweeps import add_to
from leastaction.minimal.galerkin_bodies.joint_velocities import joint_slopes
from leastaction.minimal.galerkin_bodies.loop_impulses import closure_columns
from leastaction.minimal.galerkin_bodies.node_twists import body_twists, twist_slope
from leastaction.minimal.galerkin_bodies.tendon_feedback import held_columns
from leastaction.minimal.galerkin_bodies.wrench_blocks import all_blocks
from leastaction.spatial import (
    ZERO6,
    ad,
    dot,
    load6,
    store6,
)


@routine
def hessian(model, settings, data, u, first):
    """H[j, a, k, b]: derivative of row (j, a) by the displacement of degree of freedom b at node k.

    u: controls, shape (nodes, nu). first: 0 for all nodes, 1 for the rows 0 ... s - 1 and columns 1 ... s of Newton's
    method. `body_residual` must have been called at the same Q, and `end_momentum` for all nodes.
    """
    dense = data.dense
    nodes, H, A = model.nodes, dense.H, dense.A
    last = model.rule.c.shape[0]
    rows = last - first
    all_blocks(model, settings, data, A)
    for j in range(rows):
        for a in range(H.shape[1]):
            for k in range(first, last):
                for b in range(H.shape[3]):
                    H[j, a, k, b] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        _own_columns(model, data, dense, i, first)
        if model.sprung or model.geared:
            _own_forces(model, settings, data, dense, i)
        parent = nodes[i].parent
        if parent >= 0:
            for a in range(A.shape[1]):
                for b in range(A.shape[2]):
                    A[parent, a, b] += A[i, a, b]
    if model.pushed:
        for j in range(rows):
            body_twists(model, settings, data, j)
            for k in range(first, last):
                _pushed_columns(model, settings, data, dense, j, k, u[j])
        held_columns(model.forces.tendons, model, settings, data, dense, first)
    closure_columns(model.closure, model, settings, data, dense, rows)


@routine
def _own_columns(model, data, dense, i, first):
    """Rows and columns of joint i with itself and all joints that carry it; A[i] contains the whole subtree."""
    nodes, S, H, A = model.nodes, data.S, dense.H, dense.A
    up, down = dense.up, dense.down
    last = S.shape[0]
    rows = last - first
    node = nodes[i]
    for a in range(node.iv, node.iv + node.nv):
        for j in range(rows):
            for k in range(first, last):
                for c in range(6):
                    t, u = 0.0, 0.0
                    for d in range(6):
                        t += A[i, 6 * j + c, 6 * k + d] * S[k, a, d]
                        u += S[j, a, d] * A[i, 6 * j + d, 6 * k + c]
                    up[j, k, c], down[j, k, c] = -t, -u  # change of F_j by a at k; of row (j, a) by twists at k
        other = i
        while other >= 0:
            for b in range(nodes[other].iv, nodes[other].iv + nodes[other].nv):
                for j in range(rows):
                    for k in range(first, last):
                        t, u = 0.0, 0.0
                        for c in range(6):
                            t += S[j, b, c] * up[j, k, c]
                            u += down[j, k, c] * S[k, b, c]
                        if other != i:
                            H[j, b, k, a] += t
                        H[j, a, k, b] += u
                    # The row of a rotates with every joint that carries it.
                    H[j, a, j, b] += dot(ad(load6(S[j, b]), load6(S[j, a])), load6(data.bodies[j, i].F))
            other = nodes[other].parent


@routine
def _own_forces(model, settings, data, dense, i):
    """Add forces and armatures in joint i."""
    node = model.nodes[i]
    n, nv = node.iv, node.nv
    joint_slopes(model, settings, data, i)
    for j in range(data.S.shape[0]):
        for k in range(data.S.shape[0]):
            for a in range(nv):
                for b in range(nv):
                    dense.H[j, n + a, k, n + b] += data.local[j * nv + a, k * nv + b]


@routine
def _pushed_columns(model, settings, data, dense, j, k, u):
    """Add the effect of body forces at node j to columns at node k."""
    nodes, S, bodies = model.nodes, data.S, data.bodies[j]
    T, dV, out = dense.T, dense.dV, dense.out
    weight = settings.dt * model.rule.w[j]
    for b in range(S.shape[1]):
        owner = model.dofs[b].node
        for i in range(nodes.shape[0]):
            # Parents come first, because a body moves when its parent does.
            parent = nodes[i].parent
            dense.moves[i] = i == owner or (parent >= 0 and dense.moves[parent])
            eta = load6(S[k, b]) if dense.moves[i] else ZERO6
            store6(T[i], eta if j == k else ZERO6)
            store6(dV[i], twist_slope(model, settings, data, i, j, k, eta) if dense.moves[i] else ZERO6)
            store6(out[i], ZERO6)
        total.wrench_slopes(model.forces, modes_at(data.modes, j), bodies, T, dV, out)
        drives.slopes(model.forces.drives, bodies, u, T, out)
        _add_rows(model, data, dense, j, k, b, weight)


@inline
def _add_rows(model, data, dense, j, k, b, weight):
    """Add weight times S . (wrenches in `out`, summed over subtrees) to column (k, b) of the rows at node j."""
    for i in range(model.nodes.shape[0] - 1, -1, -1):
        node = model.nodes[i]
        F = load6(dense.out[i])
        for a in range(node.iv, node.iv + node.nv):
            dense.H[j, a, k, b] += weight * dot(load6(data.S[j, a]), F)
        if node.parent >= 0:
            add_to(dense.out[node.parent], F)


@routine
def control_slopes(model, settings, data):
    """C[j, a, c]: derivative of row (j, a) by control c at node j."""
    dense = data.dense
    nodes, C, out = model.nodes, dense.C, dense.out
    for j in range(C.shape[0]):
        weight = settings.dt * model.rule.w[j]
        for c in range(C.shape[2]):
            for k in range(dense.unit.shape[0]):
                dense.unit[k] = 1.0 if k == c else 0.0
            for i in range(nodes.shape[0]):
                store6(out[i], ZERO6)
            for a in range(C.shape[1]):
                data.tau[a] = 0.0
            drives.joint_forces(model.forces.drives, dense.unit, 1.0, data.tau)
            drives.wrenches(model.forces.drives, data.bodies[j], dense.unit, out)
            total.control_wrenches(model.forces, modes_at(data.modes, j), data.bodies[j], dense.unit, out)
            for i in range(nodes.shape[0] - 1, -1, -1):
                node = nodes[i]
                F = load6(out[i])
                for a in range(node.iv, node.iv + node.nv):
                    C[j, a, c] = weight * (dot(load6(data.S[j, a]), F) + data.tau[a])
                if node.parent >= 0:
                    add_to(out[node.parent], F)
