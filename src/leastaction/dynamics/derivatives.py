"""Analytic first derivatives of inverse dynamics in O(n d), d the depth of the tree.

Singh, Russell and Wensing, Efficient Analytical Derivatives of Rigid-Body Dynamics using Spatial Vector Algebra,
RA-L 2022, Algorithm 1, in the world frame. Derivatives with respect to q are along the tangent of
`Mechanism.integrate`, so they hold for ball and free joints as well.
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.dynamics.recursions import composite_inertias, inverse_dynamics
from leastaction.kinematics.sweeps import lift, parent_twist
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    ad,
    add,
    cross,
    cross_force,
    dot,
    load6,
    load_inertia,
    momentum,
    scale,
    scale3,
    store6,
    sub,
)

RATES = np.dtype([("P1", "f8", 6), ("P2", "f8", 6), ("W", "f8", 6)], align=True)
"""Per degree of freedom: v_parent x S, its rate with a_parent x S, and their partner P1 + Sd for velocities."""


@inline
def unit(k):
    """Unit twist k of 6."""
    if k < 3:
        return ((1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0), ZERO3)
    return (ZERO3, (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0))


@inline
def times(B, V):
    """6x6 array times a twist."""
    x = (V[0][0], V[0][1], V[0][2], V[1][0], V[1][1], V[1][2])
    r0 = r1 = r2 = r3 = r4 = r5 = 0.0
    for k in range(6):
        r0 += B[0, k] * x[k]
        r1 += B[1, k] * x[k]
        r2 += B[2, k] * x[k]
        r3 += B[3, k] * x[k]
        r4 += B[4, k] * x[k]
        r5 += B[5, k] * x[k]
    return ((r0, r1, r2), (r3, r4, r5))


@inline
def times_transposed(B, V):
    """Transposed 6x6 array times a twist."""
    x = (V[0][0], V[0][1], V[0][2], V[1][0], V[1][1], V[1][2])
    r0 = r1 = r2 = r3 = r4 = r5 = 0.0
    for k in range(6):
        r0 += B[k, 0] * x[k]
        r1 += B[k, 1] * x[k]
        r2 += B[k, 2] * x[k]
        r3 += B[k, 3] * x[k]
        r4 += B[k, 4] * x[k]
        r5 += B[k, 5] * x[k]
    return ((r0, r1, r2), (r3, r4, r5))


@routine
def coriolis_matrices(nodes, links, B):
    """B of each node's subtree: twice B is the derivative of the velocity-product wrench (their Eq. 8)."""
    for i in range(nodes.shape[0]):
        M = load_inertia(links[i].M)
        V = load6(links[i].v)
        h = momentum(M, V)
        for k in range(6):
            e = unit(k)
            c = sub(cross_force(V, momentum(M, e)), momentum(M, ad(V, e)))
            c = scale(0.5, add(c, cross_force(e, h)))
            B[i, 0, k], B[i, 1, k], B[i, 2, k] = c[0]
            B[i, 3, k], B[i, 4, k], B[i, 5, k] = c[1]
    for i in range(nodes.shape[0] - 1, -1, -1):
        j = nodes[i].parent
        if j >= 0:
            for r in range(6):
                for c in range(6):
                    B[j, r, c] += B[i, r, c]


@routine
def inverse_dynamics_derivatives(model, data, slopes, q, v, a, tau):
    """tau (nv,) and its derivatives by q and v, see `SlopeData`.

    External wrenches must be zero: their own derivatives are not in here.
    """
    nodes, dofs, links, screws = model.nodes, model.dofs, data.links, data.screws
    rates, B, dq, dv = slopes.rates, slopes.B, slopes.dq, slopes.dv
    inverse_dynamics(model, data, q, v, a, tau)
    coriolis_matrices(nodes, links, B)
    composite_inertias(nodes, links)
    root = lift(model.gravity)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        Vp = parent_twist(links, node.parent, ZERO6, True)
        ap = parent_twist(links, node.parent, root, False)
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            P1 = ad(Vp, S)
            store6(rates[k].P1, P1)
            store6(rates[k].P2, add(ad(ap, S), ad(Vp, P1)))
            store6(rates[k].W, add(P1, load6(screws[k].Sd)))
    for j in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[j]
        C = load_inertia(links[j].M)
        f = load6(links[j].f)
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            P1 = load6(rates[k].P1)
            t1 = add(scale(2.0, times(B[j], P1)), momentum(C, load6(rates[k].P2)))
            t2 = add(scale(2.0, times(B[j], S)), momentum(C, load6(rates[k].W)))
            t3 = scale(2.0, times_transposed(B[j], S))
            t4 = momentum(C, S)
            for m in range(node.iv, node.iv + node.nv):
                Sm = load6(screws[m].S)
                dq[m, k] = dot(Sm, t1)
                dv[m, k] = dot(Sm, t2)
            # The wrench of the subtree turns with this joint; the screws of its ancestors do not.
            t1 = add(t1, cross_force(S, f))
            i = node.parent
            while i >= 0:
                for m in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                    Sm = load6(screws[m].S)
                    dq[m, k] = dot(Sm, t1)
                    dv[m, k] = dot(Sm, t2)
                    dq[k, m] = dot(t3, load6(rates[m].P1)) + dot(t4, load6(rates[m].P2))
                    dv[k, m] = dot(t3, Sm) + dot(t4, load6(rates[m].W))
                i = nodes[i].parent
        if node.nv > 1:
            _armature_slopes(node, dofs, v, dv)


@inline
def _armature_slopes(node, dofs, v, dv):
    """Add the derivative of `recursions.armature_bias` by the velocities of a ball or free joint."""
    n = node.iv
    w = (v[n], v[n + 1], v[n + 2])
    for o in range(0, node.nv, 3):
        m = (
            dofs[n + o].armature * v[n + o],
            dofs[n + o + 1].armature * v[n + o + 1],
            dofs[n + o + 2].armature * v[n + o + 2],
        )
        for k in range(3):
            e = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            by_turn = cross(e, m)
            by_own = scale3(dofs[n + o + k].armature, cross(w, e))
            for j in range(3):
                dv[n + o + j, n + k] += by_turn[j]
                dv[n + o + j, n + o + k] += by_own[j]
