"""Kernels of recursive hybrid dynamics and of products with the inverse inertia (Sueda 2021, Algorithms 9 and 10).

Both are articulated-body recursions. As in `dynamics.recursions`, everything is written in the world frame, so that a
child's contribution is added to its parent's without a transform, and joints with several degrees of freedom are
eliminated one degree of freedom at a time, which equals the paper's block elimination. The paper's names: hat(M) is
`links.A`, hat(B) is `links.f`, Psi is `screws.h`.
"""

from leastaction._jit import entry, routine
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.recursions import (
    apply,
    armature_bias,
    articulate,
    from_rigid,
    load_articulated,
    minus_outer,
    respond,
    store_articulated,
    sum_articulated,
)
from leastaction.kinematics.sweeps import add_to, joint_acceleration, lift, parent_twist, positions, velocities
from leastaction.spatial import (
    add,
    axpy,
    cross_force,
    dot,
    load6,
    load_inertia,
    momentum,
    store6,
    sub,
)


@routine
def hybrid_recursion(model, data, v, given, acc, tau):
    """Algorithm 9 once positions and velocities are there.

    Args:
        model: a `DynamicsModel`.
        data: `DynamicsData`; links.f gives back the wrench that each node's joint transmits to it.
        v: velocities (nv,).
        given: (nv,), not 0 where the acceleration is given and the force is asked for.
        acc: accelerations (nv,): read where given, written elsewhere.
        tau: generalised forces (nv,): written where the acceleration is given, read elsewhere.
    """
    nodes, dofs, links, screws, external = model.nodes, model.dofs, data.links, data.screws, data.external
    for i in range(nodes.shape[0]):
        M = load_inertia(links[i].M)
        V = load6(links[i].v)
        store_articulated(links[i].A, from_rigid(M))
        store6(links[i].f, sub(cross_force(V, momentum(M, V)), load6(external[i])))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        X = load_articulated(links[i].A)
        f = load6(links[i].f)
        for k in range(node.iv + node.nv - 1, node.iv - 1, -1):
            S = load6(screws[k].S)
            U = apply(X, S)
            if given[k] != 0:
                f = axpy(acc[k], U, f)
                continue
            h = 1.0 / (dot(S, U) + dofs[k].armature)
            u = tau[k] - dot(S, f) - armature_bias(node, dofs, v, k - node.iv)
            store6(screws[k].U, U)
            screws[k].h, screws[k].u = h, u
            X = minus_outer(X, U, h)
            f = axpy(u * h, U, f)
        if node.parent >= 0:
            sum_articulated(links[node.parent].A, X)
            add_to(links[node.parent].f, add(f, apply(X, joint_acceleration(node, screws, v))))
    root = lift(model.gravity)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        a = add(parent_twist(links, node.parent, root, False), joint_acceleration(node, screws, v))
        for k in range(node.iv, node.iv + node.nv):
            if given[k] == 0:
                acc[k] = (screws[k].u - dot(load6(screws[k].U), a)) * screws[k].h
            a = axpy(acc[k], load6(screws[k].S), a)
        store6(links[i].a, a)
        F = add(apply(load_articulated(links[i].A), a), load6(links[i].f))
        store6(links[i].f, F)
        for k in range(node.iv, node.iv + node.nv):
            if given[k] != 0:
                bias = armature_bias(node, dofs, v, k - node.iv)
                tau[k] = dot(load6(screws[k].S), F) + dofs[k].armature * acc[k] + bias


@entry
def hybrid_dynamics(model, data, q, v, given, acc, tau):
    """Algorithm 9 from the state; see `hybrid_recursion`."""
    model, data = DynamicsModel(*model), DynamicsData(*data)
    positions(model.nodes, data.links, data.screws, q)
    velocities(model.nodes, data.links, data.screws, v)
    hybrid_recursion(model, data, v, given, acc, tau)


@entry
def inverse_factor(nodes, dofs, links, screws, q, diagonal, blocks):
    """Positions, then the first loop of Algorithm 10."""
    positions(nodes, links, screws, q)
    articulate(nodes, dofs, links, screws, diagonal, blocks)


@entry
def inverse_product(nodes, links, screws, X, Y):
    """Y = (M + P)^-1 X, row by row, both of shape (count, nv); `inverse_factor` must have run."""
    for r in range(X.shape[0]):
        respond(nodes, links, screws, X[r], Y[r])
