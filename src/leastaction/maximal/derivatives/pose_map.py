"""Between joints and bodies at one pose, differentiated: (q, p) to (z, P) and back, both ways in linear time."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.maximal.derivatives.arrays import PoseOutputs
from leastaction.maximal.derivatives.colours import Neighbours
from leastaction.maximal.derivatives.sensitivity_kernels import differentiate_pose
from leastaction.maximal.derivatives.solved_steps import BodyState
from leastaction.maximal.derivatives.sparse_blocks import Entries, Pushes, applied, factored, rotations, skew
from leastaction.maximal.prescribed import spread_goals

FloatArray = NDArray[np.float64]


class PoseMap:
    """Between joints and bodies at one pose: (q, p) and (z, P), their derivatives, and the projection of momenta.

    p = S' P with the twists S of the bodies per joint velocity; S is never formed, but run along the tree. Changes of
    bodies have the shape (bodies, 6) or (bodies, 6, m), those of joints (nv,) or (nv, m).

    Args:
        stepper: a `MaximalStepper`.
        neighbours: of its bodies.
        at: state of the bodies.
        ends: the two bodies of each degree of freedom, shape (nv, 2).
    """

    def __init__(self, stepper: Any, neighbours: Neighbours, at: BodyState, ends: NDArray[np.int64]) -> None:
        self.stepper, self.neighbours, self.at, self.Z = stepper, neighbours, at, at.Z
        self.parents = stepper.model.bodies.parent.tolist()
        n = self.n = len(at.Z)
        self.R = rotations(at.Z)
        self.B = np.zeros((n, 6, 6))
        self.B[:, :3, :3], self.B[:, 3:, :3] = self.R.transpose(0, 2, 1), -skew(at.Z[:, :3])
        self.B[:, (3, 4, 5), (3, 4, 5)] = 1.0
        self.ends, self.child = ends, ends.max(axis=1)

    def read(self, P: FloatArray, T: Any = None, mu: Any = None, colours: Any = None, model: Any = None) -> Any:
        """Run `differentiate_pose` for the momenta P; gives back `PoseOutputs` and the joint positions.

        Args:
            T: twists (bodies, 6), and mu: impulses of the rows; default zero.
            colours: what to differentiate by; default nothing.
            model: plain tuple of another model, in place of the stepper's.
        """
        s, n = self.stepper, self.n
        nv, size = s.mechanism.nv, self.neighbours.size
        T = np.zeros((n, 6)) if T is None else T
        mu = np.zeros(len(s.model.rows)) if mu is None else mu
        colours = self.neighbours.none if colours is None else colours
        H = self._subtrees(applied(self.B.transpose(0, 2, 1), P))
        q = self.at.q.copy()
        J, out = np.zeros((len(colours.outputs), 6)), np.zeros(size + nv)
        result = PoseOutputs(out, J, np.zeros(nv), np.zeros((nv, 6)), np.zeros((nv, 12)))
        own, _, data, *_ = s.problem
        s.data.goals[:] = spread_goals(s.model, self.at.goals)
        at = (self.Z, P, self.at.near, q, T, mu, H)
        differentiate_pose(own if model is None else model, data, at, tuple(colours), s.dt, tuple(result))
        return result, q

    # ------------------------------------------------------------------ along the tree

    def _subtrees(self, H: FloatArray) -> FloatArray:
        """Sums over subtrees, in place."""
        for i in range(self.n - 1, -1, -1):
            if self.parents[i] >= 0:
                H[self.parents[i]] += H[i]
        return H

    def _chains(self, x: FloatArray) -> FloatArray:
        """Sums over all that carry a body, and itself, in place."""
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                x[i] += x[parent]
        return x

    def _onto(self, columns: FloatArray, x: FloatArray) -> FloatArray:
        """Sums of columns (nv, 6) times x over the degrees of freedom of each body."""
        out = np.zeros((self.n, 6, *x.shape[1:]))
        np.add.at(out, self.child, np.einsum("ij,i...->ij...", columns, x))
        return out

    def move(self, dq: FloatArray) -> FloatArray:
        """dz = S dq."""
        return applied(self.B, self._chains(self._onto(self.screws, dq)))

    def gather(self, P: FloatArray) -> FloatArray:
        """S' P."""
        H = self._subtrees(applied(self.B.transpose(0, 2, 1), P))
        return np.einsum("ij,ij...->i...", self.screws, H[self.child])

    @cached_property
    def _lift(self) -> FloatArray:
        """Inverse of the screws along each joint, shape (nv, 6)."""
        lift = np.zeros_like(self.screws)
        order = np.argsort(self.child, kind="stable")
        for own in np.split(order, np.searchsorted(self.child[order], np.arange(1, self.n))):
            lift[own] = np.linalg.pinv(self.screws[own]).T
        return lift

    @cached_property
    def _B_inverse(self) -> FloatArray:
        out = np.zeros_like(self.B)
        out[:, :3, :3], out[:, 3:, :3], out[:, 3:, 3:] = self.R, skew(self.Z[:, :3]) @ self.R, np.eye(3)
        return out

    def spread(self, dp: FloatArray) -> FloatArray:
        """Some dP with S' dP = dp; which one does not matter, for joint impulses take up the rest."""
        H = self._onto(self._lift, dp)
        out = H.copy()
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                out[parent] -= H[i]
        return applied(self._B_inverse.transpose(0, 2, 1), out)

    def spread_transposed(self, bP: FloatArray) -> FloatArray:
        """Transpose of `spread`."""
        b = applied(self._B_inverse, bP)
        out = b.copy()
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                out[i] -= b[parent]
        return np.einsum("ij,ij...->i...", self._lift, out[self.child])

    # ------------------------------------------------------------------ derivatives

    def hold(self, P: FloatArray, project: bool, bend: bool = True) -> FloatArray:
        """Prepare the derivatives of q and p = S(z)' P; with `project` P are momenta that are still to be projected.

        Gives back the momenta that p is read off.

        Args:
            bend: whether derivatives of p by the pose are wanted.
        """
        s, n, size, sparsity = self.stepper, self.n, self.neighbours.size, self.neighbours.pose
        self.T, self.mu, self.projection = np.zeros((n, 6)), np.zeros(len(s.model.rows)), None
        bent = sparsity.colours if bend or project else None
        by_impulse = 0.0
        if project:
            # M T - G' mu = P, G T = 0, or a rate: momenta P + G' mu (`projection.project_momenta`).
            still, _ = self.read(P)
            self.projection = factored(s.ldu, s.data.factors.values, s.ldu.tolerance)
            right = np.zeros(size)
            right[self.neighbours.row_outputs] = -still.out[self.neighbours.row_outputs]
            right[: 6 * n] = P.reshape(-1)
            x = self.projection.solve(right, refinements=1)
            self.T, self.mu = x[: 6 * n].reshape(n, 6), x[self.neighbours.row_outputs]
            self.impulses = self._impulses()
            P = P + self.impulses.on_bodies(np.repeat(self.mu, 2)[:, None])
            pushed, _ = self.read(P, mu=self.mu, colours=bent)
            by_impulse = pushed.J
            self.pushed = Entries(sparsity, -by_impulse, size + s.mechanism.nv)
        self.P = P
        found, _ = self.read(P, self.T, colours=bent)
        self.p, self.screws = found.p, found.screws
        self.Jq = Pushes(n, self.ends, found.gradients.reshape(-1, 2, 1, 6))
        # Both have rows that are not theirs, the equations of a projection and the joint momenta: they are left aside.
        self.bent = Entries(sparsity, found.J, size + s.mechanism.nv)
        self.Kz = Entries(sparsity, found.J + by_impulse, size + s.mechanism.nv)
        return P

    @cached_property
    def turned(self) -> FloatArray:
        """Momenta about the world's origin by turns and shifts of the bodies at fixed P, shape (bodies, 6, 6)."""
        K = np.zeros((self.n, 6, 6))
        K[:, :3, :3], K[:, :3, 3:] = -self.R @ skew(self.P[:, :3]), -skew(self.P[:, 3:])
        return K

    def _impulses(self) -> Pushes:
        """G' at the pose just read: two pairs of bodies for each row, the second of them those of a leader."""
        s = self.stepper
        table, rows = s.model.rows, s.data.rows
        leader = s.model.coordinates[table.leader]
        bodies = np.stack([table.a, table.b, leader.a, leader.b], axis=1)
        bodies[np.stack([table.ea, table.eb, table.ea2, table.eb2], axis=1) < 0] = -1
        wrenches = np.stack([rows.wa, rows.wb, rows.wa2, rows.wb2], axis=1)
        return Pushes(self.n, bodies.reshape(-1, 2), wrenches.reshape(-1, 2, 1, 6))

    def positions(self, dz: FloatArray) -> FloatArray:
        """dq by dz."""
        return self.Jq.of_bodies(dz)[:, 0]

    def positions_transposed(self, bq: FloatArray) -> FloatArray:
        """Transpose of `positions`."""
        return self.Jq.on_bodies(bq[:, None])

    def momenta(self, dz: FloatArray) -> FloatArray:
        """dp by dz at fixed P, shape (nv, m)."""
        H = self._subtrees(applied(self.turned, dz))
        return self.bent.times(dz)[self.neighbours.size :] + np.einsum("ij,ijm->im", self.screws, H[self.child])

    def momenta_transposed(self, bp: FloatArray) -> FloatArray:
        """Transpose of `momenta`, of one gradient (nv,)."""
        twist = self._chains(self._onto(self.screws, bp))
        w = np.concatenate([np.zeros(self.neighbours.size), bp])
        return self.bent.transposed(w) + applied(self.turned.transpose(0, 2, 1), twist)

    def project(self, dz: FloatArray, dP: FloatArray, direct: Any = None) -> FloatArray:
        """Change of the projected momenta by that of poses and momenta, each shape (bodies, 6, m).

        Args:
            direct: changes of M T - G' mu and G T, and of G' mu, by something else: shapes (rows of the graph, m) and
                (bodies, 6, m).
        """
        if self.projection is None:
            return dP
        x = self._solved(dz, dP, None if direct is None else direct[0])
        dmu = np.repeat(x[self.neighbours.row_outputs], 2, axis=0)[:, None]
        pushed = self.pushed.times(dz)[: 6 * self.n].reshape(dP.shape)
        out = dP + self.impulses.on_bodies(dmu) + pushed
        return out if direct is None else out + direct[1]

    def velocities(self, dz: FloatArray, dP: FloatArray, direct: Any = None) -> FloatArray:
        """Change of the velocities (bodies, 6, m) that belong to the momenta held with `project`; see `project`."""
        return self._solved(dz, dP, direct)[: 6 * self.n].reshape(dP.shape)

    def _solved(self, dz: FloatArray, dP: FloatArray, direct: Any) -> FloatArray:
        """Changes of T and mu."""
        assert self.projection is not None
        b = self.Kz.times(dz)[: self.neighbours.size]
        if direct is not None:
            b = b + direct
        b[: 6 * self.n] -= dP.reshape(6 * self.n, -1)
        return -self.projection.solve(b, refinements=1)

    def velocities_transposed(self, bV: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients (by dz, by dP, by the equations) from that by the velocities, shape (bodies, 6)."""
        right = np.zeros(self.neighbours.size)
        right[: 6 * self.n] = bV.reshape(-1)
        return self._solved_transposed(right)

    def project_transposed(self, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients (by dz, by dP, by the equations) from that by the projected momenta, shape (bodies, 6)."""
        right = np.zeros(self.neighbours.size)
        right[self.neighbours.row_outputs] = self.impulses.of_bodies(b).reshape(-1, 2).sum(axis=1)
        bz, bP, y = self._solved_transposed(right)
        w = np.zeros(self.pushed.size)
        w[: 6 * self.n] = b.reshape(-1)
        return bz + self.pushed.transposed(w), b + bP, y

    def _solved_transposed(self, right: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        assert self.projection is not None
        y = -self.projection.solve_transposed(right, refinements=1)
        w = np.zeros(self.Kz.size)
        w[: len(y)] = y
        return self.Kz.transposed(w), -y[: 6 * self.n].reshape(self.n, 6), y
