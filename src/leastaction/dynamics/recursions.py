"""Inverse dynamics (RNEA), mass matrix (CRBA) and forward dynamics (ABA) in the world frame.

Featherstone, Rigid Body Dynamics Algorithms, Tables 5.1, 6.2 and 7.1, rewritten for spatial coordinates of the
world: contributions of children are added without any transform. Joints with several degrees of freedom are
eliminated one degree of freedom at a time, which equals the block elimination.

model and data: anything with the fields of `DynamicsModel` and `DynamicsData`.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to, joint_acceleration, lift, parent_twist, positions, velocities
from leastaction.spatial import (
    ZERO6,
    add,
    add3,
    add_inertia,
    axpy,
    cross,
    cross_force,
    dot,
    load6,
    load_inertia,
    mattvec,
    matvec,
    momentum,
    store6,
    store_inertia,
    sub,
    symvec,
)


@inline
def armature_bias(node, dofs, v, j):
    """Force on degree of freedom j of a ball or free joint by the turning of its armature's momentum.

    The armature's energy is 1/2 sum a_j v_j^2 with v in the child's frame, so its momentum a v turns with the child:
    w x (a w) for the turns and, for free joints, a w x v for the shifts (Euler-Poincare equations).
    """
    if node.nv == 1:
        return 0.0
    n = node.iv
    w = (v[n], v[n + 1], v[n + 2])
    o = 0 if j < 3 else 3
    m = (
        dofs[n + o].armature * v[n + o],
        dofs[n + o + 1].armature * v[n + o + 1],
        dofs[n + o + 2].armature * v[n + o + 2],
    )
    return cross(w, m)[j - o]


@routine
def inverse_dynamics(model, data, q, v, a, tau):
    """tau = M a + bias - external wrenches (RNEA)."""
    positions(model.nodes, data.links, data.screws, q)
    velocities(model.nodes, data.links, data.screws, v)
    required_forces(model, data, v, a, tau)


@routine
def required_forces(model, data, v, a, tau):
    """`inverse_dynamics` once positions and velocities are there."""
    nodes, dofs, links, screws, external = model.nodes, model.dofs, data.links, data.screws, data.external
    root = lift(model.gravity)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        acc = add(parent_twist(links, node.parent, root, False), joint_acceleration(node, screws, v))
        for k in range(node.iv, node.iv + node.nv):
            acc = axpy(a[k], load6(screws[k].S), acc)
        store6(links[i].a, acc)
        M = load_inertia(links[i].M)
        V = load6(links[i].v)
        f = add(momentum(M, acc), cross_force(V, momentum(M, V)))
        store6(links[i].f, sub(f, load6(external[i])))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = load6(links[i].f)
        for k in range(node.iv, node.iv + node.nv):
            bias = armature_bias(node, dofs, v, k - node.iv)
            tau[k] = dot(load6(screws[k].S), f) + dofs[k].armature * a[k] + bias
        if node.parent >= 0:
            add_to(links[node.parent].f, f)


@routine
def composite_inertias(nodes, links):
    """Each node's inertia becomes that of its whole subtree."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        j = nodes[i].parent
        if j >= 0:
            store_inertia(links[j].M, add_inertia(load_inertia(links[j].M), load_inertia(links[i].M)))


@routine
def mass_matrix(model, data, q, H):
    """H = M(q), both triangles (CRBA); H must come zeroed."""
    nodes, dofs, links, screws = model.nodes, model.dofs, data.links, data.screws
    positions(nodes, links, screws, q)
    composite_inertias(nodes, links)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        C = load_inertia(links[i].M)
        for k in range(node.iv, node.iv + node.nv):
            f = momentum(C, load6(screws[k].S))
            for m in range(node.iv, k + 1):
                H[k, m] = dot(load6(screws[m].S), f)
                H[m, k] = H[k, m]
            H[k, k] += dofs[k].armature
            j = node.parent
            while j >= 0:
                for m in range(nodes[j].iv, nodes[j].iv + nodes[j].nv):
                    H[k, m] = dot(load6(screws[m].S), f)
                    H[m, k] = H[k, m]
                j = nodes[j].parent


# ---------------------------------------------------------------- articulated inertias: 21 numbers
# (A, B, C): angular-angular symmetric, angular-linear full, linear-linear symmetric.


@routine
def load_articulated(a):
    """Articulated inertia (6, 9, 6) from 21 entries."""
    return (
        (a[0], a[1], a[2], a[3], a[4], a[5]),
        (a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14]),
        (a[15], a[16], a[17], a[18], a[19], a[20]),
    )


@routine
def store_articulated(a, X):
    """Write an articulated inertia to 21 entries."""
    a[0], a[1], a[2], a[3], a[4], a[5] = X[0]
    a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14] = X[1]
    a[15], a[16], a[17], a[18], a[19], a[20] = X[2]


@routine
def from_rigid(M):
    """Articulated inertia of a rigid body (m, h, I)."""
    m, h, I = M
    return (I, (0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0), (m, 0.0, 0.0, m, 0.0, m))


@routine
def apply(X, V):
    """Articulated inertia times twist."""
    A, B, C = X
    return (add3(symvec(A, V[0]), matvec(B, V[1])), add3(mattvec(B, V[0]), symvec(C, V[1])))


@routine
def minus_outer(X, U, k):
    """X - k U U^T."""
    A, B, C = X
    a, b = U
    x, y, z = k * a[0], k * a[1], k * a[2]
    s, t, u = k * b[0], k * b[1], k * b[2]
    return (
        (A[0] - x * a[0], A[1] - x * a[1], A[2] - x * a[2], A[3] - y * a[1], A[4] - y * a[2], A[5] - z * a[2]),
        (
            B[0] - x * b[0],
            B[1] - x * b[1],
            B[2] - x * b[2],
            B[3] - y * b[0],
            B[4] - y * b[1],
            B[5] - y * b[2],
            B[6] - z * b[0],
            B[7] - z * b[1],
            B[8] - z * b[2],
        ),
        (C[0] - s * b[0], C[1] - s * b[1], C[2] - s * b[2], C[3] - t * b[1], C[4] - t * b[2], C[5] - u * b[2]),
    )


@routine
def sum_articulated(a, X):
    """Add an articulated inertia to 21 entries."""
    A, B, C = X
    for k in range(6):
        a[k] += A[k]
        a[15 + k] += C[k]
    for k in range(9):
        a[6 + k] += B[k]


@inline
def is_given(given, k):
    """Whether the acceleration of degree of freedom k is given; where none is, `given` is None."""
    if given is None:
        return False
    return given[k] != 0


@routine
def accelerations(model, data, v, tau, acc, given=None):
    """Accelerations from generalised forces and external wrenches (ABA), once positions and velocities are there.

    Those that are `given` (nv,), not 0, are read from acc, and their forces are not (Sueda 2021, Algorithm 9).
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
            if is_given(given, k):
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
            if not is_given(given, k):
                acc[k] = (screws[k].u - dot(load6(screws[k].U), a)) * screws[k].h
            a = axpy(acc[k], load6(screws[k].S), a)
        store6(links[i].a, a)


@routine
def articulate(nodes, dofs, links, screws, diagonal, blocks):
    """Articulated inertias of all nodes, and U and D of all degrees of freedom, once positions are there.

    With implicit terms P it is the first loop of Algorithm 10 of Sueda 2021.

    Args:
        nodes, dofs: of the tree.
        links, screws: work space.
        diagonal: P of the joints, added to the diagonal of the mass matrix (nv,); infinite holds a joint; None: no P.
        blocks: P of the bodies, symmetric and about the world's origin, as the 21 numbers of an articulated inertia;
            shape (nodes, 21), or (0, 21) where there are none; None with `diagonal`.
    """
    for i in range(nodes.shape[0]):
        store_articulated(links[i].A, from_rigid(load_inertia(links[i].M)))
        if blocks is not None:  # noqa: SIM102 (None prunes what is below)
            if blocks.shape[0] > 0:
                sum_articulated(links[i].A, load_articulated(blocks[i]))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        X = load_articulated(links[i].A)
        for k in range(node.iv + node.nv - 1, node.iv - 1, -1):
            S = load6(screws[k].S)
            U = apply(X, S)
            D = dot(S, U) + dofs[k].armature
            if diagonal is not None:
                D += diagonal[k]
            h = 1.0 / D
            store6(screws[k].U, U)
            screws[k].h = h
            X = minus_outer(X, U, h)
        if node.parent >= 0:
            sum_articulated(links[node.parent].A, X)


@routine
def respond(nodes, links, screws, x, y):
    """y = (M + P)^-1 x, both (nv,), by what `articulate` has left; y may be x.

    Second and third loop of Algorithm 10 of Sueda 2021. f of the links: the accelerations (or twists) that go with y.
    """
    for i in range(nodes.shape[0]):
        store6(links[i].f, ZERO6)
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = load6(links[i].f)
        for k in range(node.iv + node.nv - 1, node.iv - 1, -1):
            u = (x[k] - dot(load6(screws[k].S), f)) * screws[k].h
            screws[k].u = u
            f = axpy(u, load6(screws[k].U), f)
        if node.parent >= 0:
            add_to(links[node.parent].f, f)
    for i in range(nodes.shape[0]):
        node = nodes[i]
        a = load6(links[node.parent].f) if node.parent >= 0 else ZERO6
        for k in range(node.iv, node.iv + node.nv):
            y[k] = screws[k].u - dot(load6(screws[k].U), a) * screws[k].h
            a = axpy(y[k], load6(screws[k].S), a)
        store6(links[i].f, a)


@routine
def forward_dynamics(model, data, q, v, tau, acc):
    """Accelerations from the state and generalised forces (ABA)."""
    positions(model.nodes, data.links, data.screws, q)
    velocities(model.nodes, data.links, data.screws, v)
    accelerations(model, data, v, tau, acc)
