"""Jacobians from reduced to maximal velocities, and their derivatives (Sueda 2021, Algorithms 1, 2, 5, 6 and 11).

Maximal velocities are the twists of all bodies in their own frames, stacked: phi = J rd. With the screws S of the nodes
in the frame of a body and T the map of splines and exponential coordinates from reduced rates to those of nodes,

    J = S T,   dS_j / dy_m = [S_j, S_m] for every node m between j and the body, else 0,

so all derivatives follow from brackets of screws. The integrators never build them: they need only the products, which
are recursions over the nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.kinematics.reduced.lift_derivatives import block_derivatives
from leastaction.kinematics.reduced.state import State
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import state_vector, tangent
from leastaction.typing import FloatArray


def _bracket(a: FloatArray, b: FloatArray) -> FloatArray:
    """Lie bracket of twists along the last axis."""
    return np.concatenate(
        [np.cross(a[..., :3], b[..., :3]), np.cross(a[..., 3:], b[..., :3]) + np.cross(a[..., :3], b[..., 3:])], axis=-1
    )


def _to_frame(X: FloatArray, V: FloatArray) -> FloatArray:
    """World twists V (..., 6) in the frame X (4, 4)."""
    R, p = X[:3, :3], X[:3, 3]
    w = V[..., :3] @ R
    return np.concatenate([w, (V[..., 3:] + np.cross(V[..., :3], p)) @ R], axis=-1)


class _Screws:
    """Screws of the nodes above each body in its frame, shape (depth, 6), with their degrees of freedom in order."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.poses = state.body_poses()
        self.nodes = state.coordinates.tree.nodes

    def above(self, node: int) -> list[int]:
        """Degrees of freedom that move a node, from the root down."""
        out: list[int] = []
        while node >= 0:
            record = self.nodes[node]
            out = [*range(int(record.iv), int(record.iv + record.nv)), *out]
            node = int(record.parent)
        return out

    def of_body(self, b: int) -> tuple[list[int], FloatArray]:
        """(degrees of freedom above body b, their screws in its frame)."""
        dofs = self.above(int(self.state.coordinates.tree.bodies[b].node))
        return dofs, _to_frame(self.poses[b], np.array([self.state.motion.screws[k].S for k in dofs]).reshape(-1, 6))

    def order(self, j: int, m: int) -> bool:
        """Whether dof m changes the screw of dof j: it lies below, or turns the same ball."""
        return int(self.state.coordinates.tree.dofs[m].node) != int(self.state.coordinates.tree.dofs[j].node)


def _nodal(state: State, order: int) -> tuple[FloatArray, ...]:
    """J by the nodes' velocities and its first (and, with order 2, second) derivatives by their coordinates."""
    screws, n, bodies = _Screws(state), state.coordinates.tree.nv, len(state.coordinates.tree.bodies)
    J = np.zeros((bodies, 6, n))
    first = np.zeros((bodies, 6, n, n))
    second = np.zeros((bodies, 6, n, n, n)) if order > 1 else np.zeros(0)
    for b in range(bodies):
        dofs, S = screws.of_body(b)
        for a, j in enumerate(dofs):
            J[b, :, j] = S[a]
            for c in range(a, len(dofs)):
                m = dofs[c]
                bent = _bracket(S[a], S[c])
                if screws.order(j, m):
                    first[b, :, j, m] = bent
                if order > 1 and screws.order(j, m):
                    for d in range(a, len(dofs)):
                        first_of = _bracket(S[a], S[d]) if screws.order(j, dofs[d]) else np.zeros(6)
                        second_of = _bracket(S[c], S[d]) if d >= c and screws.order(m, dofs[d]) else np.zeros(6)
                        second[b, :, j, m, dofs[d]] = _bracket(first_of, S[c]) + _bracket(S[a], second_of)
    return J, first, second


def _maps(state: State) -> tuple[FloatArray, FloatArray, FloatArray]:
    """T (nv, nr), dT (nv, nr, nr) and d2T (nv, nr, nr, nr) of all coordinates."""
    red = state.coordinates
    n, nr = red.tree.nv, red.nr
    T, D, D2 = np.zeros((n, nr)), np.zeros((n, nr, nr)), np.zeros((n, nr, nr, nr))
    for ir, _, iv in red.model.plain:
        T[iv, ir] = 1.0
    for block in red.model.blocks:
        i, k = (slice(int(block[a]), int(block[a] + block[c])) for a, c in (("iv", "nv"), ("ir", "nr")))
        T[i, k], D[i, k, k], D2[i, k, k, k] = block_derivatives(red.model, block, state.r)
    return T, D, D2


def jacobian(mechanism: Mechanism, q: ArrayLike, *, chart: str = "euler") -> FloatArray:
    """J (6 bodies, nv): twists of all bodies, each in its own frame [rad/s, m/s], per unit of the reduced velocities.

    Reduced velocities are v, but of ball and free joints the rates of their coordinates inside `BDF`.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        chart: "euler" or "exponential", as for `BDF`.
    """
    state = State(mechanism, q, chart=chart)
    J, _, _ = _nodal(state, 1)
    return (J @ _maps(state)[0]).reshape(-1, state.coordinates.nr)


def jacobian_slopes(mechanism: Mechanism, q: ArrayLike, *, chart: str = "euler") -> FloatArray:
    """dJ/dr (6 bodies, nv, nv): entry (i, j, k) is the derivative of J[i, j] by reduced coordinate k (Algorithm 11)."""
    state = State(mechanism, q, chart=chart)
    J, first, _ = _nodal(state, 1)
    return _slopes(J, first, *_maps(state)[:2]).reshape(-1, state.coordinates.nr, state.coordinates.nr)


def _slopes(J: FloatArray, first: FloatArray, T: FloatArray, D: FloatArray) -> FloatArray:
    return np.einsum("bijm,jc,md->bicd", first, T, T) + np.einsum("bij,jcd->bicd", J, D)


def jacobian_rate(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, *, chart: str = "euler") -> FloatArray:
    """dJ/dt (6 bodies, nv) at velocities v [rad/s or m/s], shape (nv,) (Algorithm 2)."""
    state = State(mechanism, q, v, chart=chart)
    J, first, _ = _nodal(state, 1)
    return (_slopes(J, first, *_maps(state)[:2]) @ state.rd).reshape(-1, state.coordinates.nr)


def jacobian_rate_slopes(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, *, chart: str = "euler") -> FloatArray:
    """d(dJ/dt)/dr (6 bodies, nv, nv) at fixed reduced velocities (Algorithm 11)."""
    state = State(mechanism, q, v, chart=chart)
    J, first, second = _nodal(state, 2)
    T, D, D2 = _maps(state)
    w, rate, change = T @ state.rd, D @ state.rd, np.einsum("mcd,c->md", D, state.rd)
    out = np.einsum("bijmk,jc,m,kd->bicd", second, T, w, T)
    out += np.einsum("bijm,jcd,m->bicd", first, D, w) + np.einsum("bijm,jc,md->bicd", first, T, change)
    out += np.einsum("bijm,jc,md->bicd", first, rate, T) + np.einsum("bij,jcde,e->bicd", J, D2, state.rd)
    return out.reshape(-1, state.coordinates.nr, state.coordinates.nr)


def jacobian_product(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, x: ArrayLike, *, chart: str = "euler"
) -> tuple[FloatArray, FloatArray]:
    """(J x, dJ/dt x), each (6 bodies,), in O(n) without building J (Algorithm 5).

    Args:
        mechanism: the robot.
        q, v: the state, shapes (nq,) and (nv,).
        x: reduced velocities, shape (nv,).
        chart: as for `BDF`.
    """
    state = State(mechanism, q, v, chart=chart)
    t = state.coordinates.tree
    T, D, _ = _sparse_maps(state)
    x = tangent(mechanism, x, "x")
    y, yd = T(x), D(x)
    n = len(t.nodes)
    W, Wd = np.zeros((n, 6)), np.zeros((n, 6))
    for i, node in enumerate(t.nodes):
        V = state.motion.links[i].v
        if node.parent >= 0:
            W[i], Wd[i] = W[node.parent], Wd[node.parent]
        for k in range(int(node.iv), int(node.iv + node.nv)):
            S = state.motion.screws[k].S
            W[i] += y[k] * S
            Wd[i] += yd[k] * S + y[k] * _bracket(V, S)
    poses = state.body_poses()
    out, rate = np.zeros((len(t.bodies), 6)), np.zeros((len(t.bodies), 6))
    for b, frame in enumerate(t.bodies):
        if frame.node >= 0:
            V = state.motion.links[frame.node].v
            out[b] = _to_frame(poses[b], W[frame.node])
            # The body's frame turns too: d/dt (Ad^-1 W) = Ad^-1 (dW/dt - V x W).
            rate[b] = _to_frame(poses[b], Wd[frame.node] - _bracket(V, W[frame.node]))
    return out.ravel(), rate.ravel()


def jacobian_transposed_product(
    mechanism: Mechanism, q: ArrayLike, y: ArrayLike, *, chart: str = "euler"
) -> FloatArray:
    """J^T y, shape (nv,), of wrenches y on all bodies in their own frames, (6 bodies,), in O(n) (Algorithm 6)."""
    state = State(mechanism, q, chart=chart)
    t = state.coordinates.tree
    poses = state.body_poses()
    wrenches = state_vector(mechanism, y, 6 * len(t.bodies), "y").reshape(-1, 6)
    F = np.zeros((len(t.nodes), 6))
    for b, frame in enumerate(t.bodies):
        if frame.node >= 0:
            R, p = poses[b][:3, :3], poses[b][:3, 3]
            force = R @ wrenches[b, 3:]
            F[frame.node] += np.concatenate([R @ wrenches[b, :3] + np.cross(p, force), force])
    tau = np.zeros(t.nv)
    for i in range(len(t.nodes) - 1, -1, -1):
        node = t.nodes[i]
        for k in range(int(node.iv), int(node.iv + node.nv)):
            tau[k] = state.motion.screws[k].S @ F[i]
        if node.parent >= 0:
            F[node.parent] += F[i]
    return _sparse_maps(state)[2](tau)


def _sparse_maps(state: State) -> tuple[Any, Any, Any]:
    """Functions x -> T x, x -> (dT/dt) x and tau -> T^T tau."""
    red = state.coordinates
    plain = red.model.plain
    blocks = []
    for block in red.model.blocks:
        i, k = (slice(int(block[a]), int(block[a] + block[c])) for a, c in (("iv", "nv"), ("ir", "nr")))
        T, D, _ = block_derivatives(red.model, block, state.r)
        blocks.append((i, k, T, D @ state.rd[k]))

    def up(x: FloatArray) -> FloatArray:
        out = np.zeros(red.tree.nv)
        out[plain[:, 2]] = x[plain[:, 0]]
        for i, k, T, _ in blocks:
            out[i] = T @ x[k]
        return out

    def rate(x: FloatArray) -> FloatArray:
        out = np.zeros(red.tree.nv)
        for i, k, _, Td in blocks:
            out[i] = Td @ x[k]
        return out

    def down(tau: FloatArray) -> FloatArray:
        out = np.zeros(red.nr)
        out[plain[:, 0]] = tau[plain[:, 2]]
        for i, k, T, _ in blocks:
            out[k] = T.T @ tau[i]
        return out

    return up, rate, down
