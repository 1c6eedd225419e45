"""The exact Newton matrix H = dg/dr + c1 dg/d(rd) + c2 dg/d(rdd) (Sueda 2021, Eqs. 3.65, 3.69, 3.74, 3.81).

The paper assembles H from dM/dq, K and D, which it makes of the tensors dJ/dq and dJd/dq. Here the derivatives of
inverse dynamics (Singh, Russell and Wensing 2022) give the same matrix in O(n d), d the depth of the tree: with the
three derivatives combined before any product, every pair of a coordinate and its ancestor costs three dot products.
"""

from leastaction._jit import routine
from leastaction.dynamics.derivatives import coriolis_matrices, times, times_transposed
from leastaction.dynamics.recursions import composite_inertias
from leastaction.forces import total
from leastaction.kinematics.reduced.lift import lower
from leastaction.kinematics.sweeps import lift as lift_world
from leastaction.kinematics.sweeps import parent_twist
from leastaction.redmax.step.columns import add_force_columns
from leastaction.redmax.step.reduced_ball_drives import add_drive_slopes
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
def screw_rates(gravity, data, c1, c2):
    """P1 = v_parent x S, and X = P1 + c1 S, Y = P2 + c1 (P1 + Sd) + c2 S with P2 = a_parent x S + v_parent x P1."""
    nodes, links, screws, rates = data.coordinates.nodes, data.links, data.screws, data.rates
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
def inertial_matrix(model, data, c1, c2, H):
    """Derivative of the inertial and joint forces by the coordinates of the nodes, c1 and c2 times those by rates.

    H (nv, nv) comes out complete, with zeros between branches. Links hold the inertias of subtrees.
    """
    nodes, dofs = data.coordinates.nodes, model.dofs
    links, screws, rates, B = data.links, data.screws, data.rates, data.B
    for i in range(dofs.shape[0]):
        for j in range(dofs.shape[0]):
            H[i, j] = 0.0
    screw_rates(model.gravity, data, c1, c2)
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
    for i in range(nodes.shape[0]):
        if nodes[i].nv != 1:
            continue
        k = nodes[i].iv
        dof = dofs[k]
        stiffness, damping = total.axis_slopes(dof, data.modes.limits[k], data.q[nodes[i].iq], data.v[k])
        H[k, k] += stiffness + c1 * damping + c2 * dof.armature


@routine
def _column(block, lift, c, c1, c2, A, tau):
    """tau = A0 x + A1 w + A2 s along the reduced coordinate c of a block, with A = (A0, A0 + A1, A0 + A2)."""
    for i in range(tau.shape[0]):
        total = 0.0
        for j in range(block.nv):
            k = block.iv + j
            w = lift.E[j, c] + c1 * lift.map[j, c]
            s = lift.F[j, c] + c1 * lift.G[j, c] + c2 * lift.map[j, c]
            total += A[0, i, k] * (lift.map[j, c] - w - s) + A[1, i, k] * w + A[2, i, k] * s
        tau[i] = total


@routine
def store_column(model, data, c):
    """Column c of data.H from data.column, one of the nodes: T^T times it."""
    lower(model, data.coordinates, data.column, data.change)
    for i in range(data.change.shape[0]):
        data.H[i, c] = data.change[i]


@routine
def _combine(blocks, model, data, r, rd, c1, c2):
    """data.H from the nodes' matrices data.parts = (A0, A0 + A1, A0 + A2) through the blocks."""
    if blocks is None:
        return
    plain, A, column, H = model.coordinates.plain, data.parts, data.column, data.H
    for p in range(plain.shape[0]):
        c, k = plain[p, 0], plain[p, 2]
        for i in range(column.shape[0]):
            column[i] = A[0, i, k] * (1.0 - c1 - c2) + A[1, i, k] * c1 + A[2, i, k] * c2
        store_column(model.coordinates, data, c)
    coords = model.forces.coords
    for b in range(blocks.shape[0]):
        block = blocks[b]
        for c in range(block.nr):
            _column(block, data.coordinates.lifts[b], c, c1, c2, A, column)
            store_column(model.coordinates, data, block.ir + c)
    for b in range(blocks.shape[0]):
        block, D2 = blocks[b], data.coordinates.lifts[b].D2
        for c in range(block.nr):
            for d in range(block.nr):
                for j in range(block.nv):
                    H[block.ir + c, block.ir + d] += D2[j, c, d] * data.tau[block.iv + j]
            k = block.ir + c
            stiffness, damping = total.axis_slopes(coords[k], data.modes.coords[k], r[k], rd[k])
            H[k, k] += stiffness + c1 * damping + c2 * coords[k].armature


@routine
def _through_blocks(blocks, model, data, r, rd, c1, c2):
    """data.H through the blocks where there are any, and whether there are."""
    if blocks is None:
        return False
    if blocks.shape[0] == 0:
        return False
    # The matrix of the nodes is affine in (c1, c2), so three of them give its parts.
    for part in range(3):
        first, second = 1.0 if part == 1 else 0.0, 1.0 if part == 2 else 0.0
        inertial_matrix(model, data, first, second, data.parts[part])
    _combine(blocks, model, data, r, rd, c1, c2)
    return True


@routine
def newton_matrix(model, data, r, rd, u, lam, c1):
    """The exact matrix data.H (nr + m, nr + m) at the state where `residual` ran last, with accelerations data.rdd.

    m: multipliers of loops.

    c1: inverse length of the stage; c2 is its square.
    """
    nodes, H, c2 = data.coordinates.nodes, data.H, c1 * c1
    for i in range(r.shape[0], H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = 0.0
            H[j, i] = 0.0
    coriolis_matrices(nodes, data.links, data.B)
    composite_inertias(nodes, data.links)
    if not _through_blocks(model.coordinates.blocks, model, data, r, rd, c1, c2):
        inertial_matrix(model, data, c1, c2, H)
    balls, blocks = model.coordinates.balls, model.coordinates.blocks
    add_drive_slopes(balls, blocks, data.coordinates, r, rd, data.rdd, c1, H)
    add_force_columns(model.wrenches, model, data, u, lam, c1)
