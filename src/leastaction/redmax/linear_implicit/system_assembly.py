"""The linearly implicit step as a dense system: (M + dt D - dt^2 K) v1 = M v0 + dt (f + D v0) (Sueda 2021, 2.86).

K = df/dq and D = -df/dv of joint springs, dampers and limits, of all body forces of section 1.9 but gravity, and of
springs in loops; gravity, Coriolis forces and controls are explicit, as in the paper. The matrix has the maximal
stiffness J^T K_m J with the forces differentiated in the frames of their bodies, which is not symmetric.
"""

from leastaction._jit import entry, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.applied_forces import mechanism_forces
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.forces import total
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, push, soft_force
from leastaction.kinematics.loop_equations import add_row
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import add_to
from leastaction.redmax.linear_implicit.arrays import LinearSettings, named_data, named_model
from leastaction.redmax.linear_implicit.closure_rows import balanced, balanced_equations
from leastaction.spatial import ZERO6, ad, cross_force, dot, load6, scale3, store6


@routine
def _project(nodes, screws, out, k, scale, A):
    """Add scale * J^T out to column k of A, for world wrenches out (nodes, 6), which are destroyed."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        F = load6(out[i])
        for m in range(node.iv, node.iv + node.nv):
            A[m, k] += scale * dot(load6(screws[m].S), F)
        if node.parent >= 0:
            add_to(out[node.parent], F)


@routine
def body_force_terms(model, settings, data):
    """Add to A -dt^2 K of body forces, and to D their D, column by column; data.own: the wrenches of these forces."""
    forces, links, screws, dt = model.forces, data.links, data.screws, settings.dt
    nodes, T, dV, slope = forces.nodes, data.T, data.dV, data.slope
    damped = total.resists(forces)
    for k in range(data.A.shape[0]):
        S = load6(screws[k].S)
        for i in range(nodes.shape[0]):
            # Subtrees are contiguous, but a child knows its parent anyway: what carries the parent carries it.
            parent = nodes[i].parent
            carried = i == forces.dofs[k].node or (parent >= 0 and slope[parent, 0] != 0.0)
            slope[i, 0] = 1.0 if carried else 0.0
            store6(T[i], S if carried else ZERO6)
            store6(dV[i], ad(S, load6(links[i].v)) if carried else ZERO6)
        for i in range(nodes.shape[0]):
            # The paper's K_m is taken in the body's frame, which turns away under a force that does not (1.43).
            F = cross_force(load6(T[i]), load6(data.own[i]))
            store6(slope[i], (scale3(-1.0, F[0]), scale3(-1.0, F[1])))
        total.wrench_slopes(forces, data.modes, links, T, dV, slope)
        _project(nodes, screws, slope, k, -dt * dt, data.A)
        if damped:
            for i in range(nodes.shape[0]):
                store6(dV[i], load6(T[i]))
                store6(T[i], ZERO6)
                store6(slope[i], ZERO6)
            total.wrench_slopes(forces, data.modes, links, T, dV, slope)
            _project(nodes, screws, slope, k, -1.0, data.D)


@routine
def soft_row_terms(model, settings, data):
    """Add to A -dt^2 K of springs in loops, and to D the dampers' D."""
    nodes, links, screws, dt = model.forces.nodes, data.links, data.screws, settings.dt
    A, D, G = data.A, data.D, data.row
    for i in range(model.count, model.rows.shape[0]):
        row = model.rows[i]
        _, W = evaluate(row, links)
        for k in range(G.shape[1]):
            G[0, k] = 0.0
        add_row(nodes, screws, row.b, W, 1.0, G, 0)
        add_row(nodes, screws, row.a, W, -1.0, G, 0)
        for k in range(G.shape[1]):
            for j in range(G.shape[1]):
                A[j, k] += dt * dt * row.stiffness * G[0, k] * G[0, j]
                D[j, k] += row.damping * G[0, k] * G[0, j]


@routine
def joint_terms(forces, data, q, v, dt):
    """Add to A -dt^2 K of joint springs and limits, and to D the D of their dampers."""
    for i in range(forces.nodes.shape[0]):
        node = forces.nodes[i]
        for k in range(node.iv, node.iv + node.nv):
            stiffness, damping = forces.dofs[k].stiffness, forces.dofs[k].damping
            if node.nv == 1:
                stiffness, damping = total.axis_slopes(forces.dofs[k], data.modes.limits[k], q[node.iq], v[k])
            data.A[k, k] += dt * dt * stiffness
            data.D[k, k] += damping


@routine
def explicit_forces(model, data, q, v, u, f):
    """f = all generalised forces less Coriolis and centrifugal ones, loops left open.

    data.own gets the wrenches of body forces, data.external those of drives and of springs in loops as well.
    """
    forces, links, external = model.forces, data.links, data.external
    total.set_pulls(forces, data.modes, u)
    mechanism_forces(forces, data, q, v)
    for i in range(forces.nodes.shape[0]):
        store6(data.own[i], load6(external[i]))
    total.drive_forces(forces, links, u, external, data.tau)
    for i in range(model.count, model.rows.shape[0]):
        h, W = evaluate(model.rows[i], links)
        push(model.rows[i], external, W, soft_force(model.rows[i], links, h, W))
    tree = DynamicsModel(forces.nodes, forces.dofs, model.gravity)
    recursions.required_forces(tree, DynamicsData(links, data.screws, external), v, data.zero, f)
    for k in range(v.shape[0]):
        f[k] = data.tau[k] - f[k]


@entry
def assemble(model, settings, data, q, v, u):
    """M, A = M + dt D - dt^2 K, b = M v + dt (f + D v); loop equations h and their Jacobian G; all into data."""
    model, settings, data = named_model(*model), LinearSettings(*settings), named_data(*data)
    forces, links, screws, dt = model.forces, data.links, data.screws, settings.dt
    M, A, D, b = data.M, data.A, data.D, data.b
    n = v.shape[0]
    explicit_forces(model, data, q, v, u, b)
    balanced_equations(model, data, q)
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
            D[i, j] = 0.0
    tree = DynamicsModel(forces.nodes, forces.dofs, model.gravity)
    recursions.mass_matrix(tree, DynamicsData(links, screws, data.external), q, M)
    for i in range(n):
        for j in range(n):
            A[i, j] = M[i, j]
    joint_terms(forces, data, q, v, dt)
    if total.has_wrenches(forces):
        body_force_terms(model, settings, data)
    soft_row_terms(model, settings, data)
    for i in range(n):
        b[i] *= dt
        for j in range(n):
            b[i] += (M[i, j] + dt * D[i, j]) * v[j]
            A[i, j] += dt * D[i, j]


@entry
def push_rows(rows, twins, links, forces, external):
    """Add to external (nodes, 6) the wrenches of loop equations with multipliers `forces` (count,)."""
    for c in range(forces.shape[0]):
        if not is_coupling(rows[c]):
            _, W = balanced(rows[c], twins[c], links)
            push(rows[c], external, W, forces[c])


@entry
def moved(nodes, q, x, out):
    """out = q moved by the tangent vector x."""
    retract(nodes, q, x, out)
