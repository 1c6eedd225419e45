"""The exact Newton matrix H = dg/dr + c1 dg/d(rd) + c2 dg/d(rdd) (Sueda 2021, Eqs. 3.65, 3.69, 3.74, 3.81).

The paper assembles H from dM/dq, K and D, which it makes of the tensors dJ/dq and dJd/dq. Here the derivatives of
inverse dynamics (Singh, Russell and Wensing 2022) give the same matrix in O(n d), d the depth of the tree: with the
three derivatives combined before any product, every pair of a coordinate and its ancestor costs three dot products.
"""

from leastaction._jit import routine
from leastaction.dynamics.derivatives import coriolis_matrices, times, times_transposed
from leastaction.dynamics.kinematics import lift as lift_world
from leastaction.dynamics.kinematics import parent_twist
from leastaction.dynamics.recursions import composite_inertias
from leastaction.spatial import (
    ZERO6,
    ad,
    add,
    axpy,
    cross_force,
    dot,
    load6,
    load_inertia,
    momentum,
    scale,
    store6,
)


@routine
def screw_rates(nodes, gravity, links, screws, rates, c1, c2):
    """P1 = v_parent x S, and X = P1 + c1 S, Y = P2 + c1 (P1 + Sd) + c2 S with P2 = a_parent x S + v_parent x P1."""
    root = lift_world(gravity)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        Vp = parent_twist(links, node.parent, ZERO6, True)
        ap = parent_twist(links, node.parent, root, False)
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            P1 = ad(Vp, S)
            P2 = add(ad(ap, S), ad(Vp, P1))
            store6(rates[k].P1, P1)
            store6(rates[k].X, axpy(c1, S, P1))
            store6(rates[k].Y, axpy(c2, S, axpy(c1, add(P1, load6(screws[k].Sd)), P2)))


@routine
def prepare_matrix(model, work):
    """Inertias of subtrees and their Coriolis matrices; `residual` must have run. Destroys the nodes' inertias."""
    coriolis_matrices(model[0], work[0], work[3])
    composite_inertias(model[0], work[0])


@routine
def inertial_matrix(model, work, c1, c2, H):
    """Derivative of the inertial forces by the coordinates of the nodes, once `prepare_matrix` has run.

    H (nv, nv) comes out complete, with zeros between branches.
    """
    nodes, dofs, gravity = model[0], model[1], model[2]
    links, screws, rates, B = work[0], work[1], work[2], work[3]
    for i in range(dofs.shape[0]):
        for j in range(dofs.shape[0]):
            H[i, j] = 0.0
    screw_rates(nodes, gravity, links, screws, rates, c1, c2)
    for j in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[j]
        C = load_inertia(links[j].M)
        f = load6(links[j].f)
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            column = add(scale(2.0, times(B[j], load6(rates[k].X))), momentum(C, load6(rates[k].Y)))
            t3 = scale(2.0, times_transposed(B[j], S))
            t4 = momentum(C, S)
            for m in range(node.iv, node.iv + node.nv):
                H[m, k] = dot(load6(screws[m].S), column)
            # The wrench of the subtree turns with this joint; the screws of its ancestors do not.
            column = add(column, cross_force(S, f))
            i = node.parent
            while i >= 0:
                for m in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                    H[m, k] = dot(load6(screws[m].S), column)
                    H[k, m] = dot(t3, load6(rates[m].X)) + dot(t4, load6(rates[m].Y))
                i = nodes[i].parent
    for k in range(dofs.shape[0]):
        H[k, k] += c2 * dofs[k].armature


@routine
def joint_matrix(model, work, c1, H):
    """Add springs, dampers and limits of the nodes' coordinates."""
    nodes, dofs = model[0], model[1]
    q = work[4][0]
    for i in range(nodes.shape[0]):
        if nodes[i].nv != 1:
            continue
        k = nodes[i].iv
        dof = dofs[k]
        H[k, k] += dof.stiffness + c1 * dof.damping
        if dof.limit_stiffness > 0.0 and (q[nodes[i].iq] < dof.lower or q[nodes[i].iq] > dof.upper):
            H[k, k] += dof.limit_stiffness + c1 * dof.limit_damping


@routine
def _column(block, c, c1, c2, A, tau):
    """tau = A0 x + A1 w + A2 s along the reduced coordinate c of a block, with A = (A0, A0 + A1, A0 + A2)."""
    for i in range(tau.shape[0]):
        total = 0.0
        for j in range(block.nv):
            k = block.iv + j
            w = block.E[j, c] + c1 * block.T[j, c]
            s = block.F[j, c] + c1 * block.G[j, c] + c2 * block.T[j, c]
            total += A[0, i, k] * (block.T[j, c] - w - s) + A[1, i, k] * w + A[2, i, k] * s
        tau[i] = total


@routine
def reduced_matrix(model, work, scratch, c1, c2, H):
    """H (nr, nr) of all that is not a body force, through the blocks of splines and exponential coordinates.

    `scratch`: (A, column) of shapes (3, nv, nv) and (nv,).
    """
    plain, blocks = model[3][0], model[3][1]
    A, column = scratch
    prepare_matrix(model, work)
    # The matrix is affine in (c1, c2), so three of them tell its parts.
    inertial_matrix(model, work, 0.0, 0.0, A[0])
    inertial_matrix(model, work, 1.0, 0.0, A[1])
    inertial_matrix(model, work, 0.0, 1.0, A[2])
    joint_matrix(model, work, 0.0, A[0])
    joint_matrix(model, work, 1.0, A[1])
    joint_matrix(model, work, 0.0, A[2])
    for p in range(plain.shape[0]):
        c, k = plain[p, 0], plain[p, 2]
        for i in range(column.shape[0]):
            column[i] = A[0, i, k] * (1.0 - c1 - c2) + A[1, i, k] * c1 + A[2, i, k] * c2
        _store_column(plain, blocks, column, H, c)
    tau = work[4][3]
    coords = model[4][7]
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for c in range(block.nr):
            _column(block, c, c1, c2, A, column)
            _store_column(plain, blocks, column, H, block.ir + c)
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for c in range(block.nr):
            for d in range(block.nr):
                for j in range(block.nv):
                    H[block.ir + c, block.ir + d] += block.D2[j, c, d] * tau[block.iv + j]
            k = block.ir + c
            H[k, k] += coords[k].stiffness + c1 * coords[k].damping + c2 * coords[k].armature


@routine
def _store_column(plain, blocks, column, H, c):
    """Column c of H from one of the nodes: T^T times it."""
    for p in range(plain.shape[0]):
        H[plain[p, 0], c] = column[plain[p, 2]]
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for d in range(block.nr):
            total = 0.0
            for j in range(block.nv):
                total += block.T[j, d] * column[block.iv + j]
            H[block.ir + d, c] = total


@routine
def limit_matrix(model, r, c1, H):
    """Add the limits of the coordinates of splines."""
    blocks, coords = model[3][1], model[4][7]
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            c = coords[k]
            if c.limit_stiffness > 0.0 and (r[k] < c.lower or r[k] > c.upper):
                H[k, k] += c.limit_stiffness + c1 * c.limit_damping
