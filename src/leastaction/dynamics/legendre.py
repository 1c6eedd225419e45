"""Between velocities and momenta, and quantities along whole trajectories."""

from __future__ import annotations

import numpy as np

from leastaction._jit import entry
from leastaction._jit.batched_call import BatchedCall
from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.dynamics import recursions
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.entries import inverse_dynamics_derivatives
from leastaction.dynamics.origin_shift import free_trees, near_origin
from leastaction.dynamics.spline_quantities import spline_momenta, spline_quantities, spline_velocities
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import MechanismError
from leastaction.forces import total
from leastaction.forces.arrays import compact, named_forces, named_modes
from leastaction.kinematics.closure_kernels import soft_energy
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.drives.servos import feedback_energy, feedback_springs, servos
from leastaction.spatial import ZERO6, ad, add, dot, dot3, kinetic, load3, load6, load_inertia, store6
from leastaction.spatial import momentum as spatial_momentum

FAST, SINGULAR = 1e5, 1e-10
"""Velocities beyond the first [rad/s or m/s] are looked at again, without the directions in which the mass matrix is
smaller than this share of its largest."""


@entry
def solve_rows(model, data, Q, P, V, zero):
    """V = M(Q)^-1 P row by row: forward dynamics without gravity and motion."""
    model, data = DynamicsModel(*model), DynamicsData(*data)
    for r in range(Q.shape[0]):
        recursions.forward_dynamics(model, data, Q[r], zero, P[r], V[r])


@entry
def solve_velocity(model, data, trees, q, p, v, zero):
    """v = M(q)^-1 p of one state; False where a tree is far from the origin, or v is large."""
    model, data = DynamicsModel(*model), DynamicsData(*data)
    for i in range(trees.shape[0]):
        first = int(trees[i, 0])
        for k in range(first, first + 3):
            if abs(q[k]) > trees[i, 1]:
                return False
    recursions.forward_dynamics(model, data, q, zero, p, v)
    square = 0.0
    for k in range(v.shape[0]):
        square += v[k] * v[k]
    return square < FAST


@entry
def multiply_rows(model, data, Q, V, P, zero):
    """P = M(Q) V row by row: inverse dynamics without gravity and motion."""
    model, data = DynamicsModel(*model), DynamicsData(*data)
    for r in range(Q.shape[0]):
        recursions.inverse_dynamics(model, data, Q[r], zero, V[r], P[r])


@entry
def slope_rows(model, data, Q, V, W, twists, momenta, out):
    """out = gradient of w' M(q) v by q, along the tangent, row by row.

    Degree of freedom k carries its subtree along, whose bodies keep their motion relative to what carries it. So w' M v
    changes by -(S_k x w_parent) . h(v) - (S_k x v_parent) . h(w), with momenta h of the subtree.

    Args:
        twists, momenta: scratch, shape (2, nodes, 6).
    """
    model, data = DynamicsModel(*model), DynamicsData(*data)
    nodes, links, screws = model.nodes, data.links, data.screws
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        for c in range(2):
            velocities(nodes, links, screws, V[r] if c == 0 else W[r])
            for i in range(nodes.shape[0]):
                motion = load6(links[i].v)
                store6(twists[c, i], motion)
                store6(momenta[c, i], spatial_momentum(load_inertia(links[i].M), motion))
        for i in range(nodes.shape[0] - 1, -1, -1):
            node = nodes[i]
            for k in range(node.iv, node.iv + node.nv):
                out[r, k] = 0.0
            if node.parent < 0:
                continue
            for c in range(2):
                carrier, h = load6(twists[1 - c, node.parent]), load6(momenta[c, i])
                for k in range(node.iv, node.iv + node.nv):
                    out[r, k] -= dot(ad(load6(screws[k].S), carrier), h)
                for j in range(6):
                    momenta[c, node.parent, j] += momenta[c, i, j]


@entry
def quantities_rows(model, data, Q, V, out):
    """Kinetic and potential energies (T, U) and spatial momenta about the world's origin (H) row by row.

    Args:
        model: (forces, gravity, rows of loops, number of their equations).
        data: (modes of the forces, links, screws, tau).
        Q, V: positions and velocities, one row per time.
        out: (T, U, H), shapes (rows,), (rows,) and (rows, 6).
    """
    plain_forces, gravity, rows, count = model
    plain_modes, links, screws, tau = data
    forces, modes = named_forces(plain_forces), named_modes(plain_modes)
    T, U, H = out
    nodes, dofs = forces.nodes, forces.dofs
    g = load3(gravity)
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        velocities(nodes, links, screws, V[r])
        t = 0.0
        u = total.joint_forces(forces, modes, Q[r], V[r], tau) + total.energy(forces, modes, links, Q[r])
        u += soft_energy(rows, count, links)
        h = ZERO6
        for i in range(nodes.shape[0]):
            M = load_inertia(links[i].M)
            W = load6(links[i].v)
            t += kinetic(M, W)
            u -= dot3(g, M[1])
            h = add(h, spatial_momentum(M, W))
        for k in range(dofs.shape[0]):
            t += 0.5 * dofs[k].armature * V[r, k] * V[r, k]
        T[r] = t
        U[r] = u
        H[r, 0], H[r, 1], H[r, 2] = h[0]
        H[r, 3], H[r, 4], H[r, 5] = h[1]


def _rows(mechanism: Mechanism, Q: FloatArray, V: FloatArray, what: str) -> tuple[FloatArray, FloatArray]:
    """Positions and velocities (or momenta) of the same times, in the one layout that kernels are compiled for."""
    Q, V = np.ascontiguousarray(Q, np.float64), np.ascontiguousarray(V, np.float64)
    rows = len(Q) if Q.ndim else 0
    for values, size, name in ((Q, mechanism.nq, "q"), (V, mechanism.nv, what)):
        if values.shape != (rows, size):
            raise MechanismError(f"{name}: expected shape ({rows}, {size}) for {mechanism.name!r}, got {values.shape}")
    return Q, V


def momentum_of_velocity(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> FloatArray:
    """p = M(q) v for each row, shape (rows, nv): the Legendre transform."""
    Q, V = _rows(mechanism, Q, V, "v")
    if has_splines(mechanism):
        return spline_momenta(mechanism, Q, V)
    w = Workspace(mechanism)
    P, zero = np.zeros_like(V), np.zeros(mechanism.nv)
    multiply_rows(w.weightless, w.data, near_origin(free_trees(w.tree), Q), V, P, zero)
    return P


def momentum_slopes(mechanism: Mechanism, Q: FloatArray, V: FloatArray, W: FloatArray) -> FloatArray:
    """Gradient of w' M(q) v by q along the tangent, for each row, shape (rows, nv)."""
    (Q, V), (_, W) = _rows(mechanism, Q, V, "v"), _rows(mechanism, Q, W, "w")
    w, n = Workspace(mechanism), len(mechanism.tree.nodes)
    out, Q = np.zeros_like(V), near_origin(free_trees(w.tree), Q)
    slope_rows(w.weightless, w.data, Q, V, W, np.zeros((2, n, 6)), np.zeros((2, n, 6)), out)
    return out


def velocity_of_momentum(mechanism: Mechanism, Q: FloatArray, P: FloatArray) -> FloatArray:
    """v = M(q)^-1 p for each row, shape (rows, nv): the inverse Legendre transform.

    Where M(q) is singular, as of joints with massless bodies between them whose axes lie in one line, the least of the
    velocities that have this momentum.
    """
    Q, P = _rows(mechanism, Q, P, "p")
    if has_splines(mechanism):
        return spline_velocities(mechanism, Q, P)
    w = Workspace(mechanism)
    model, Q = w.weightless, near_origin(free_trees(w.tree), Q)
    V, zero = np.zeros_like(P), np.zeros(mechanism.nv)
    solve_rows(model, w.data, Q, P, V, zero)
    for k in np.flatnonzero(~(np.abs(V) < FAST).all(axis=1)):
        M = np.zeros((mechanism.nv, mechanism.nv))
        multiply_rows(model, w.data, np.tile(Q[k], (mechanism.nv, 1)), np.eye(mechanism.nv), M, zero)
        V[k] = np.linalg.pinv(0.5 * (M + M.T), rcond=SINGULAR, hermitian=True) @ P[k]
    return V


def quantities(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(kinetic energy [J], potential energy [J], spatial momentum about the origin (rows, 6)) for each row."""
    Q, V = _rows(mechanism, Q, V, "v")
    if has_splines(mechanism):
        T, U, H = spline_quantities(mechanism, Q, V)
        return T, U - feedback_energy(mechanism, Q), H
    T, U, H = np.zeros(len(Q)), np.zeros(len(Q)), np.zeros((len(Q), 6))
    Quantities(mechanism).evaluate(Q, V, (T, U, H))
    return T, U - feedback_energy(mechanism, Q), H


class Quantities:
    """Energies and momenta of a mechanism, for who asks again and again; not for two threads at once."""

    def __init__(self, mechanism: Mechanism) -> None:
        w = Workspace(mechanism)
        t = w.tree
        model = (plain(compact(w.forces)), t.gravity, t.closure.rows, t.closure.count)
        self.kernel = Bound(quantities_rows, model, (plain(w.modes), w.links, w.screws, w.tau))
        self._trees = free_trees(t)

    def evaluate(self, Q: FloatArray, V: FloatArray, out: tuple[FloatArray, FloatArray, FloatArray]) -> None:
        """Fill out = (kinetic energy, potential energy with the feedback of servos [J], spatial momentum (rows, 6))."""
        self.kernel(Q, V, out)
        near = near_origin(self._trees, Q)
        if near is not Q:  # potentials and momenta are those of the place
            self.kernel(near, V, (out[0], np.zeros_like(out[1]), np.zeros_like(out[2])))


class Velocities:
    """v = M(q)^-1 p at one state after another, for who asks again and again; not for two threads at once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        w, n = Workspace(mechanism), mechanism.nv
        self._q, self._p, self._v = np.zeros(mechanism.nq), np.zeros(n), np.zeros(n)
        self._plain, self._trees = not has_splines(mechanism), free_trees(w.tree)
        first, state = (w.weightless, w.data), (self._q, self._p, self._v, np.zeros(n))
        self._solve = Bound(solve_velocity, *first, self._trees, *state)
        self._solve_anywhere = Bound(solve_velocity, *first, self._trees[:0].copy(), *state)

    def at(self, q: FloatArray, p: FloatArray) -> FloatArray:
        """As `velocity_of_momentum` has it, at q (nq,) with p (nv,): shape (nv,)."""
        if self._plain:
            self._q[:], self._p[:] = q, p
            if self._solve():
                return self._v.copy()
            self._q[:] = near_origin(self._trees, q)
            if self._solve_anywhere():
                return self._v.copy()
        return velocity_of_momentum(self.mechanism, q[None], p[None])[0]


class Momenta:
    """p = M(q) v and its derivative by q, at one state after another; not for two threads at once."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self._plain = mechanism, not has_splines(mechanism)
        w, n = Workspace(mechanism), mechanism.nv
        self._q, self._v, self._p, self._rest = (
            np.zeros((1, mechanism.nq)),
            np.zeros((1, n)),
            np.zeros((1, n)),
            np.zeros(n),
        )
        self._slopes = w.slopes()
        self._trees = free_trees(w.tree)
        self._multiply = Bound(multiply_rows, w.weightless, w.data)
        self._derive = Bound(inverse_dynamics_derivatives, w.weightless, w.data, plain(self._slopes))

    def at(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """As `momentum_of_velocity` has it, at q (nq,) with v (nv,): shape (nv,)."""
        if not self._plain:
            return momentum_of_velocity(self.mechanism, q[None], v[None])[0]
        self._q[0], self._v[0] = near_origin(self._trees, q), v
        self._multiply(self._q, self._v, self._p, self._rest)
        return self._p[0].copy()

    def slope(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """d(M v)/dq along the tangent, shape (nv, nv), by inverse dynamics without gravity and motion.

        The array is used again by the next call.
        """
        self._q[0], self._v[0], self._slopes.dq[:] = near_origin(self._trees, q), v, 0.0
        self._derive(self._q[0], self._rest, self._v[0], self._p[0])
        return self._slopes.dq


class Energies:
    """Kinetic and potential energy at one state after another, for who asks again and again; not for two threads."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self._plain = mechanism, not has_splines(mechanism)
        self._q, self._v = np.zeros((1, mechanism.nq)), np.zeros((1, mechanism.nv))
        self._out = np.zeros(1), np.zeros(1), np.zeros((1, 6))
        if self._plain:
            arguments, self._trees = (self._q, self._v, self._out), free_trees(mechanism.tree)
            self._walk = BatchedCall(Quantities(mechanism).kernel, lambda row: arguments)
        self._springs = feedback_springs(mechanism) if servos(mechanism) else None

    def at(self, q: FloatArray, v: FloatArray) -> float:
        """Sum of both [J] at q (nq,) with v (nv,)."""
        if not self._plain or (len(self._trees) and near_origin(self._trees, q) is not q):
            T, U, _ = quantities(self.mechanism, q[None], v[None])
            return float(T[0] + U[0])
        self._q[0], self._v[0] = q, v
        self._walk(1)
        energy = float(self._out[0][0] + self._out[1][0])
        return energy if self._springs is None else energy - float(self._springs.energy(self._q)[0])
