"""Derivatives of the equations of motion y' = f(y) within a step, y = (x, v).

x are exponential coordinates about the configuration q_k at the start of the step, so that

    x' = dexp^-1(x) v,   v' = a(q_k + x, v, u).

The derivatives are exact for joints with one axis. For ball and free joints that of dexp^-1(x) v is its
series up to the first power of x, and the forces of springs on ball and free joints, of springs between
bodies, cables, wrenches and thrusters are differentiated by differences: both cost an iteration now and then.
"""

from leastaction._jit import inline, routine
from leastaction.dynamics.applied_forces import applied_forces
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel, SlopeData
from leastaction.dynamics.derivatives import inverse_dynamics_derivatives, unit
from leastaction.dynamics.entries import project_wrenches
from leastaction.dynamics.recursions import mass_matrix
from leastaction.forces.total import clear
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import FREE
from leastaction.linalg.dense import solve_in_place
from leastaction.spatial import (
    ZERO3,
    ad,
    add,
    axpy,
    block_apply,
    block_apply_transposed,
    scale,
    se3_right_jacobian,
    se3_right_jacobian_inv,
)

STEP = 1e-5
"""Central differences of forces [rad or m]."""


@inline
def joint_twist(node, a):
    """The entries of a ball or free joint in the tangent vector a, as a twist in the child's frame."""
    k = node.iv
    w = (a[k], a[k + 1], a[k + 2])
    if node.kind == FREE:
        return (w, (a[k + 3], a[k + 4], a[k + 5]))
    return (w, ZERO3)


@inline
def flat(V):
    """The 6 numbers of a twist."""
    return V[0] + V[1]


@routine
def chart_slopes(nodes, x, v, F):
    """Upper half of F, shape (2 nv, 2 nv): derivatives of dexp^-1(x) v with respect to x and v."""
    n = x.shape[0]
    for i in range(nodes.shape[0]):
        node = nodes[i]
        k = node.iv
        if node.nv == 1:
            F[k, n + k] = 1.0
            continue
        X, V = joint_twist(node, x), joint_twist(node, v)
        K = se3_right_jacobian_inv(X)
        bent = ad(X, V)
        for j in range(node.nv):
            e = unit(j)
            # v + 1/2 [x, v] + 1/12 [x, [x, v]], differentiated along e
            twice = add(ad(e, bent), ad(X, ad(e, V)))
            slope = flat(axpy(0.5, ad(e, V), scale(1.0 / 12.0, twice)))
            column = flat(block_apply(K, e))
            for m in range(node.nv):
                F[k + m, k + j] = slope[m]
                F[k + m, n + k + j] = column[m]


@routine
def generalized_forces(model, data, q, v, u, tau):
    """Generalised forces (nv,) of springs, dampers, wrenches and the controls u."""
    forces = model.forces
    applied_forces(forces, data, q, v, u)
    for k in range(tau.shape[0]):
        tau[k] = data.tau[k]
    project_wrenches(forces.nodes, data.screws, data.external, tau)


@routine
def add_force_slopes(model, data, q, v, u, G):
    """Add the derivatives of the forces along the tangent of q and along v to G, shape (nv, 2 nv)."""
    up, down, d, z = data.up, data.down, data.d, data.z
    nodes, dofs = model.forces.nodes, model.forces.dofs
    n = v.shape[0]
    if not model.curved:
        for k in range(n):
            G[k, k] -= dofs[k].stiffness
            G[k, n + k] -= dofs[k].damping
        return
    for j in range(n):
        for sign in (1.0, -1.0):
            d[j] = sign * STEP
            retract(nodes, q, d, z)
            out = up if sign > 0.0 else down
            generalized_forces(model, data, z, v, u, out)
        d[j] = 0.0
        for k in range(n):
            G[k, j] += (up[k] - down[k]) / (2.0 * STEP)
    # Forces are linear in v, so any step is exact; but for drag, whose slope over a unit of speed is near enough.
    generalized_forces(model, data, q, v, u, down)
    for j in range(n):
        for k in range(n):
            d[k] = v[k]
        d[j] += 1.0
        generalized_forces(model, data, q, d, u, up)
        for k in range(n):
            G[k, n + j] += up[k] - down[k]
    for k in range(n):
        d[k] = 0.0


@routine
def rate_slopes(model, data, q, y, u, acc, F):
    """F = df/dy, shape (2 nv, 2 nv), at y = (x, v), where the configuration is q and the acceleration acc."""
    nodes = model.forces.nodes
    x, v = y[0], y[1]
    G = F[v.shape[0] :]
    force_slopes(model, data, q, v, u, acc, G)
    solve_in_place(data.M, G)
    _along_chart(nodes, x, G)
    chart_slopes(nodes, x, v, F)


@routine
def force_slopes(model, data, q, v, u, acc, G):
    """What forces less M acc change along the tangent of q and along v, G (nv, 2 nv), and the mass matrix data.M."""
    external, tau, dq, dv, M = data.external, data.tau, data.dq, data.dv, data.M
    n = v.shape[0]
    tree = DynamicsModel(model.forces.nodes, model.forces.dofs, model.gravity)
    work = DynamicsData(data.links, data.screws, external)
    clear(external, tau)
    inverse_dynamics_derivatives(tree, work, SlopeData(data.rates, data.B, dq, dv), q, v, acc, tau)
    for k in range(n):
        for j in range(n):
            M[k, j] = 0.0
            G[k, j] = -dq[k, j]
            G[k, n + j] = -dv[k, j]
    add_force_slopes(model, data, q, v, u, G)
    mass_matrix(tree, work, q, M)


@inline
def _along_chart(nodes, x, A):
    """From derivatives along the tangent of q to those along x: times the right Jacobian at x."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.nv == 1:
            continue
        k = node.iv
        J = se3_right_jacobian(joint_twist(node, x))
        for r in range(A.shape[0]):
            row = flat(block_apply_transposed(J, joint_twist(node, A[r])))
            for j in range(node.nv):
                A[r, k + j] = row[j]
