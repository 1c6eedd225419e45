"""Kernels of recursive hybrid dynamics and of products with the inverse inertia (Sueda 2021, Algorithms 9 and 10).

Both are articulated-body recursions. As in `dynamics.recursions`, everything is written in the world frame, so that a
child's contribution is added to its parent's without a transform, and joints with several degrees of freedom are
eliminated one degree of freedom at a time, which equals the paper's block elimination. The paper's names: hat(M) is
`links.A`, hat(B) is `links.f`, Psi is `screws.h`.
"""

from leastaction._jit import entry, routine
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.recursions import (
    accelerations,
    apply,
    armature_bias,
    articulate,
    load_articulated,
    respond,
)
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.spatial import (
    add,
    dot,
    load6,
    store6,
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
    nodes, dofs, links, screws = model.nodes, model.dofs, data.links, data.screws
    accelerations(model, data, v, tau, acc, given)
    for i in range(nodes.shape[0]):
        node, a = nodes[i], load6(links[i].a)
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
