"""Reverse mode through inverse dynamics in O(n): gradients of z . g by rates, accelerations, inertias and placements.

For the virtual velocities z of the nodes let W be the nodes' virtual twists. Then z . tau = sum over nodes of
W . (M A + V x* M V - external), with the twists V and accelerations A (gravity included). A change of the velocity or
of the geometry above a subtree acts on all of it alike, so two sums over subtrees suffice:

    alpha = sum of M W,   beta = sum of V x* M W - W x* M V - M (V x W).
"""

from leastaction._jit import inline, routine
from leastaction.forces import total
from leastaction.kinematics.sweeps import add_to
from leastaction.kinematics.sweeps import lift as lift_world
from leastaction.spatial import (
    ZERO6,
    Ad_inv,
    ad,
    add,
    add3,
    axpy,
    coAd_inv,
    cross,
    cross_force,
    dot,
    dot3,
    load3,
    load6,
    load9,
    load_inertia,
    momentum,
    neg,
    store6,
    sub,
)


@routine
def keep_inertias(links, cot):
    """Copy the nodes' inertias before the Newton matrix overwrites them."""
    for i in range(links.shape[0]):
        for c in range(10):
            cot[i].M[c] = links[i].M[c]


@routine
def cotangents(model, data, back):
    """back.vn, back.an: gradients of back.zn . tau by the nodes' velocities and accelerations; fills back.cot."""
    nodes, dofs, links, screws = data.coordinates.nodes, model.dofs, data.links, data.screws
    cot, z, yv, ya = back.cot, back.zn, back.vn, back.an
    for i in range(nodes.shape[0]):
        node = nodes[i]
        W = ZERO6
        if node.parent >= 0:
            W = load6(cot[node.parent].W)
        for k in range(node.iv, node.iv + node.nv):
            W = axpy(z[k], load6(screws[k].S), W)
        store6(cot[i].W, W)
        M, V = load_inertia(cot[i].M), load6(links[i].v)
        MW = momentum(M, W)
        store6(cot[i].alpha, MW)
        b = sub(cross_force(V, MW), cross_force(W, momentum(M, V)))
        store6(cot[i].beta, sub(b, momentum(M, ad(V, W))))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        alpha, beta = load6(cot[i].alpha), load6(cot[i].beta)
        V = load6(links[i].v)
        both = V
        if node.parent >= 0:
            both = add(V, load6(links[node.parent].v))
            add_to(cot[node.parent].alpha, alpha)
            add_to(cot[node.parent].beta, beta)
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            ya[k] = dot(S, alpha) + dofs[k].armature * z[k]
            yv[k] = dot(S, beta) + dot(alpha, ad(both, S))


@routine
def add_joint_dampers(model, data, back):
    """Add the dampers of joints and of their limits to the gradient by the velocities."""
    nodes, dofs = data.coordinates.nodes, model.dofs
    for i in range(nodes.shape[0]):
        node = nodes[i]
        for k in range(node.iv, node.iv + node.nv):
            damping = dofs[k].damping
            if node.nv == 1:
                damping = total.axis_slopes(dofs[k], data.modes.limits[k], data.q[node.iq], data.v[k])[1]
            back.vn[k] += damping * back.zn[k]


@inline
def _symmetric(a, b, k):
    """Gradient of a . J b by entry k of the symmetric J (xx, xy, xz, yy, yz, zz)."""
    if k == 0:
        return a[0] * b[0]
    if k == 1:
        return a[0] * b[1] + a[1] * b[0]
    if k == 2:
        return a[0] * b[2] + a[2] * b[0]
    if k == 3:
        return a[1] * b[1]
    if k == 4:
        return a[1] * b[2] + a[2] * b[1]
    return a[2] * b[2]


@inline
def _inertia_row(out, sign, x, y):
    """Add sign times the gradient of x . I y by the inertia (m, h, J), the wrench I y = (J w + h x v, m v + w x h)."""
    out[0] += sign * dot3(x[1], y[1])
    h = add3(cross(y[1], x[0]), cross(x[1], y[0]))
    for c in range(3):
        out[1 + c] += sign * h[c]
    for c in range(6):
        out[4 + c] += sign * _symmetric(x[0], y[0], c)


@routine
def add_inertia_gradients(links, cot, weight, out):
    """Add weight times the gradients by the inertias of the nodes in their own frames (m, h, J), shape (nodes, 10)."""
    for i in range(links.shape[0]):
        X = (load9(links[i].R), load3(links[i].p))
        W, A, V = Ad_inv(X, load6(cot[i].W)), Ad_inv(X, load6(links[i].a)), Ad_inv(X, load6(links[i].v))
        _inertia_row(out[i], weight, W, A)
        _inertia_row(out[i], weight, neg(ad(V, W)), V)


@routine
def add_placement_gradients(gravity, data, cot, weight, out):
    """Add weight times the gradients by displacements of the nodes' placements, twists in their parents' frames."""
    nodes, links = data.coordinates.nodes, data.links
    for i in range(nodes.shape[0]):
        j = nodes[i].parent
        W, V, A = ZERO6, ZERO6, lift_world(gravity)
        if j >= 0:
            W, V, A = load6(cot[j].W), load6(links[j].v), load6(links[j].a)
        alpha = load6(cot[i].alpha)
        beta = sub(load6(cot[i].beta), cross_force(V, alpha))
        F = add(cross_force(W, load6(links[i].f)), add(cross_force(A, alpha), cross_force(V, beta)))
        if j >= 0:
            F = coAd_inv((load9(links[j].R), load3(links[j].p)), F)
        for c in range(3):
            out[i, c] -= weight * F[0][c]
            out[i, 3 + c] -= weight * F[1][c]
