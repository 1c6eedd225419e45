"""Entry points of the classical dynamics: what Python calls."""

import math

from leastaction._finite import is_finite
from leastaction._jit import entry, routine
from leastaction.dynamics import derivatives, recursions
from leastaction.dynamics.applied_forces import mechanism_forces
from leastaction.dynamics.arrays import AppliedData, DynamicsData, DynamicsModel, SlopeData
from leastaction.forces.arrays import named_forces, named_modes
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.mechanism._check import LARGEST
from leastaction.mechanism.arguments import EXACT_NORM, UNIT_NORM
from leastaction.spatial import add3, cross, load3, load6, load9, matmul, mattvec, matvec, sub3

ORIGIN, WORLD, BODY = range(3)
"""Where the rows of a Jacobian are taken: the twist about the origin, or at a point in directions of world or body."""


@entry
def kinematics(nodes, links, screws, q, v):
    """Poses, screws and twists."""
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)


@entry
def inverse_dynamics(model, data, q, v, a, tau):
    """Inverse dynamics (RNEA)."""
    recursions.inverse_dynamics(DynamicsModel(*model), DynamicsData(*data), q, v, a, tau)


@entry
def mass_matrix(model, data, q, H):
    """Mass matrix (CRBA)."""
    recursions.mass_matrix(DynamicsModel(*model), DynamicsData(*data), q, H)


@routine
def is_valid_state(state):
    """Whether a state has finite numbers and unit quaternions; what is off by round-off is normalised.

    Args:
        state: (first entries of quaternions in q, `origin_shift.free_trees`, whether Python has checked it (1,), q, v,
            a).
    """
    balls, _, checked, q, v, a = state
    if checked[0]:
        return True
    for k in range(q.shape[0]):
        if not abs(q[k]) <= LARGEST:
            return False
    for k in range(v.shape[0]):
        if not (abs(v[k]) <= LARGEST and abs(a[k]) <= LARGEST):
            return False
    for i in range(balls.shape[0]):
        k = balls[i]
        norm = math.sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
        if abs(norm - 1.0) > UNIT_NORM:
            return False
        if abs(norm - 1.0) > EXACT_NORM:
            for j in range(k, k + 4):
                q[j] /= norm
    return True


@routine
def is_admissible(state):
    """`is_valid_state`, and no tree on a free joint is far from the origin."""
    trees, checked, q = state[1], state[2], state[3]
    for i in range(0 if checked[0] else trees.shape[0]):
        first = int(trees[i, 0])
        for k in range(first, first + 3):
            if abs(q[k]) > trees[i, 1]:
                return False
    return is_valid_state(state)


@entry
def checked_inverse_dynamics(model, data, state, tau):
    """tau (nv,) at a state, or False: Python has to look at it."""
    if not is_admissible(state):
        return False
    _, _, _, q, v, a = state
    recursions.inverse_dynamics(DynamicsModel(*model), DynamicsData(*data), q, v, a, tau)
    return True


@entry
def checked_forward_dynamics(model, data, state, acc):
    """acc (nv,) at a state whose last array are generalised forces; False where acc is not finite, either."""
    if not is_admissible(state):
        return False
    _, _, _, q, v, tau = state
    recursions.forward_dynamics(DynamicsModel(*model), DynamicsData(*data), q, v, tau, acc)
    finite = True
    for k in range(acc.shape[0]):
        finite = finite and is_finite(acc[k])
    return finite


@entry
def checked_mass_matrix(model, data, state, H):
    """H (nv, nv) at a state, or False."""
    if not is_admissible(state):
        return False
    for i in range(H.shape[0]):
        for j in range(H.shape[1]):
            H[i, j] = 0.0
    recursions.mass_matrix(DynamicsModel(*model), DynamicsData(*data), state[3], H)
    return True


@entry
def checked_body_poses(nodes, frames, links, screws, state, X):
    """Poses, screws and twists of the nodes, and X (bodies, 4, 4) of the frames fixed to them; or False."""
    if not is_valid_state(state):
        return False
    positions(nodes, links, screws, state[3])
    velocities(nodes, links, screws, state[4])
    for i in range(frames.shape[0]):
        R, p = load9(frames[i].R), load3(frames[i].p)
        if frames[i].node >= 0:
            carrier = load9(links[frames[i].node].R)
            R, p = matmul(carrier, R), add3(load3(links[frames[i].node].p), matvec(carrier, p))
        for r in range(3):
            X[i, r, 3], X[i, 3, r] = p[r], 0.0
            for c in range(3):
                X[i, r, c] = R[3 * r + c]
        X[i, 3, 3] = 1.0
    return True


@entry
def point_jacobian(nodes, screws, poses, point, node, body, frame, J):
    """J (6, nv) of the twist of a body on a node (-1: the world), at a point (3,) of it, by the screws that are there.

    frame: `ORIGIN`, `WORLD` or `BODY`.
    """
    for r in range(6):
        for k in range(J.shape[1]):
            J[r, k] = 0.0
    R, x = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), load3(point)
    if body >= 0:
        X = poses[body]
        R = (X[0, 0], X[0, 1], X[0, 2], X[1, 0], X[1, 1], X[1, 2], X[2, 0], X[2, 1], X[2, 2])
        x = add3((X[0, 3], X[1, 3], X[2, 3]), matvec(R, x))
    while node >= 0:
        for k in range(nodes[node].iv, nodes[node].iv + nodes[node].nv):
            w, v = load6(screws[k].S)
            if frame != ORIGIN:
                v = sub3(v, cross(x, w))
            if frame == BODY:
                w, v = mattvec(R, w), mattvec(R, v)
            for r in range(3):
                J[r, k], J[3 + r, k] = w[r], v[r]
        node = nodes[node].parent


@entry
def inverse_dynamics_derivatives(model, data, slopes, q, v, a, tau):
    """Inverse dynamics and its derivatives."""
    model, data = DynamicsModel(*model), DynamicsData(*data)
    derivatives.inverse_dynamics_derivatives(model, data, SlopeData(*slopes), q, v, a, tau)


@entry
def checked_passive_forces(forces, modes, data, state, tau):
    """tau (nv,): all generalised forces that the mechanism itself exerts at a state; or False."""
    if not is_valid_state(state):
        return False
    links, screws, external = data
    data = AppliedData(named_modes(modes), links, screws, external, tau)
    forces = named_forces(forces)
    mechanism_forces(forces, data, state[3], state[4])
    add_wrenches(forces.nodes, data.screws, data.external, tau)
    for i in range(external.shape[0]):  # which the recursions of other calls read
        for c in range(6):
            external[i, c] = 0.0
    return True


@entry
def project_wrenches(nodes, screws, external, tau):
    """`add_wrenches` for Python."""
    add_wrenches(nodes, screws, external, tau)


@routine
def add_wrenches(nodes, screws, external, tau):
    """Add to tau the generalised forces of world wrenches per node; screws must be there. Destroys `external`."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = external[i]
        for k in range(node.iv, node.iv + node.nv):
            S = screws[k].S
            for c in range(6):
                tau[k] += S[c] * f[c]
        if node.parent >= 0:
            for c in range(6):
                external[node.parent, c] += f[c]
