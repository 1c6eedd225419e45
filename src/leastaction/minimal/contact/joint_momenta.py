"""Momenta and velocities of a robot at its configuration: p = M(q) v and its inverse, by recursion over the tree."""

from leastaction._jit import inline, routine
from leastaction.minimal.contact.blocks import NO_BLOCK, column_of, gather, has_inertia, leave, with_body, without_joint
from leastaction.minimal.contact.row_vec6 import accumulate, plus_stored, six
from leastaction.minimal.contact.solver.locked_joints import is_locked
from leastaction.minimal.vec6 import ZEROS, plus, times
from leastaction.spatial import load3, load9, load_sym, matmul, matmult


@inline
def turned(Ic, R):
    """The rotational inertia of a body in the world's axes (9)."""
    I9 = (Ic[0], Ic[1], Ic[2], Ic[1], Ic[3], Ic[4], Ic[2], Ic[4], Ic[5])
    return matmul(R, matmult(I9, R))


@inline
def end_damping_of(dof, dt):
    """Damping k of a joint at the end of a step of length dt that is implicit in the end velocity [N s/m or N m s].

    Half of the impulse of a damper d acts at each end of a step, with the mean rate r. Where h d / 2 exceeds the
    inertia m of the joint, the impulse at the end would reverse its motion; so k = h d / 2 - m of it is multiplied by
    the velocity v1 at the end in place of r,

        M v1 = P + k (r - v1),    (M + k) v1 = P + k r.

    A single joint of that inertia under a force f then has v1 = f / d, and 0 without a force, at any h d / m;
    in steady motion v1 = r. Where h d / 2 < m, k is zero and the step is of order 2. The momentum is M v1 always.
    """
    return max(0.5 * dt * (dof.damping - 0.5 * dt * dof.servo) - dof.holds, 0.0)


@routine
def take_out_end_damping(model, dt, v, p):
    """Convert p = (M + k) v to M v, see `end_damping_of`."""
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        if node.nv == 1:
            p[node.iv] -= end_damping_of(model.dofs[node.iv], dt) * v[node.iv]


@routine
def momenta(model, data, v, out):
    """out = M v, with bodies placed at q0; overwrites the poses at the end of a step with body twists."""
    momenta_of_velocities(model, data, ZEROS, v, 0.0, data.R[1 - data.now[0]], out)


@routine
def momenta_of_velocities(model, data, ground, v, dt, twists, out):
    """out = (M + k) v plus the momenta of bodies when the ground moves with a twist (6).

    Args:
        dt: length of the step that ends here, whose dampers may be implicit (`end_damping_of`); 0 for M alone.
        twists: scratch, a row for each body.
    """
    nodes, dofs, slots, branch_sums = model.nodes, model.dofs, model.slots, data.branch_sums
    R_, x_, S_ = data.R[data.now[0]], data.x[data.now[0]], data.S[data.now[0]]
    for i in range(nodes.shape[0]):
        node = nodes[i]
        V = ground if node.parent < 0 else six(twists[node.parent])
        for c in range(node.iv, node.iv + node.nv):
            V = plus(v[c], six(S_[c]), V)
        t = twists[i]
        t[0], t[1], t[2], t[3], t[4], t[5] = V
    for k in range(model.branches):
        for c in range(6):
            branch_sums[k, c] = 0.0
    H = ZEROS  # momentum of the subtree
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if slots[i] >= 0:
            H = plus_stored(branch_sums[slots[i]], 0, H)
        if has_inertia(node):
            x = load3(x_[i])
            own = with_body(NO_BLOCK, turned(load_sym(node.Ic), load9(R_[i])), node.mass, x, x)
            H = plus(1.0, column_of(own, six(twists[i])), H)
        for c in range(node.iv, node.iv + node.nv):
            out[c] = times(six(S_[c]), H) + dofs[c].armature * v[c]
            if node.nv == 1:
                out[c] += end_damping_of(dofs[c], dt) * v[c]
        if node.parent != i - 1:
            if node.parent >= 0:
                accumulate(branch_sums[slots[node.parent]], 0, H)
            H = ZEROS


@routine
def velocities(model, data, p, out):
    """out = M^-1 p, with bodies placed at q0."""
    factor(model, data, data.W, 0.0, None)
    solve(model, data, data.W, p, out)


@routine
def factor(model, data, W, dt, joints):
    """Factorise M + k (`momenta_of_velocities`), with bodies at q0, from leaves to root as in `eliminate`.

    Args:
        W: the factors, as in `RobotData.W`.
        joints: `LockedJoints`, whose locked joints have no velocity; None for M + k itself.
    """
    nodes, dofs, slots, branch_sums = model.nodes, model.dofs, model.slots, data.branch_sums
    R_, x_, S_ = data.R[data.now[0]], data.x[data.now[0]], data.S[data.now[0]]
    for k in range(model.branches):
        for c in range(36):
            branch_sums[k, c] = 0.0
    A = NO_BLOCK
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if slots[i] >= 0:
            A = gather(branch_sums[slots[i]], A)
        if has_inertia(node):
            x = load3(x_[i])
            A = with_body(A, turned(load_sym(node.Ic), load9(R_[i])), node.mass, x, x)
        for c in range(node.iv + node.nv - 1, node.iv - 1, -1):
            S = six(S_[c])
            col = column_of(A, S)
            own = dofs[c].armature + (end_damping_of(dofs[c], dt) if node.nv == 1 else 0.0)
            D = 0.0 if is_locked(joints, c) else 1.0 / (times(S, col) + own)
            w = W[c]
            w[0], w[1], w[2], w[3], w[4], w[5] = col
            w[6] = D
            A = without_joint(A, col, col, D)
        if node.parent != i - 1:
            if node.parent >= 0:
                leave(branch_sums[slots[node.parent]], A)
            A = NO_BLOCK


@routine
def reduce(model, data, W, p, out):
    """out = L^-1 p with the factors L D^-1 L' of M + k that `factor` has stored in W, the entries of D in W[:, 6].

    The product of two such vectors, weighted by D, is that of (M + k)^-1.
    """
    nodes, slots, branch_sums, S_ = model.nodes, model.slots, data.branch_sums, data.S[data.now[0]]
    for k in range(model.branches):
        for c in range(6):
            branch_sums[k, c] = 0.0
    b = ZEROS
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if slots[i] >= 0:
            b = plus_stored(branch_sums[slots[i]], 0, b)
        for c in range(node.iv + node.nv - 1, node.iv - 1, -1):
            out[c] = p[c] - times(six(S_[c]), b)
            b = plus(W[c, 6] * out[c], six(W[c]), b)
        if node.parent != i - 1:
            if node.parent >= 0:
                accumulate(branch_sums[slots[node.parent]], 0, b)
            b = ZEROS


@routine
def solve(model, data, W, p, out):
    """out = (M + k)^-1 p with the factors that `factor` has stored in W.

    Stores the residuals p - (M + k) v of locked joints in W[:, 7].
    """
    nodes, slots, branch_sums, S_ = model.nodes, model.slots, data.branch_sums, data.S[data.now[0]]
    reduce(model, data, W, p, out)
    V = ZEROS
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if node.parent < 0:
            V = ZEROS
        elif node.parent != i - 1:
            V = six(branch_sums[slots[node.parent]])
        for c in range(node.iv, node.iv + node.nv):
            w = W[c]
            w[7] = out[c] - times(six(w), V)
            out[c] = w[7] * w[6]
            V = plus(out[c], six(S_[c]), V)
        if slots[i] >= 0:
            row = branch_sums[slots[i]]
            row[0], row[1], row[2], row[3], row[4], row[5] = V
