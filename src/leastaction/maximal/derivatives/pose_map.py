"""Between joints and bodies at one pose, differentiated: (q, p) to (z, P) and back, both ways in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from leastaction.maximal.arrays import plain
from leastaction.maximal.derivatives.arrays import PoseInputs, PoseOutputs
from leastaction.maximal.derivatives.colours import Neighbours
from leastaction.maximal.derivatives.sensitivity import BodyState
from leastaction.maximal.derivatives.sensitivity_kernels import differentiate_pose
from leastaction.maximal.derivatives.sparse_blocks import blocks, factored, places_of, rotations, skew, sparse

FloatArray = NDArray[np.float64]


class PoseMap:
    """Between joints and bodies at one pose: (q, p) and (z, P), their derivatives, and the projection of momenta.

    p = S' P with the twists S of the bodies per joint velocity; S is never formed, but run along the tree.
    """

    def __init__(self, stepper: Any, neighbours: Neighbours, at: BodyState) -> None:
        self.stepper, self.neighbours, self.Z, self.near = stepper, neighbours, at.Z, at.near
        self.q, Z = at.q.copy(), at.Z
        self.parents = stepper.model.bodies.parent.tolist()
        n = len(Z)
        R, X = rotations(Z), skew(Z[:, :3])
        B, inverse = np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
        B[:, :3, :3], B[:, 3:, :3], B[:, 3:, 3:] = R.transpose(0, 2, 1), -X, np.eye(3)
        inverse[:, :3, :3], inverse[:, 3:, :3], inverse[:, 3:, 3:] = R, X @ R, np.eye(3)
        self.B, self.B_inverse, self.R = blocks(B), blocks(inverse), R
        self.read(np.zeros((n, 6)))
        self._tree()

    def _tree(self) -> None:
        """Twists of the joints as a matrix (nv, 6 n), its inverse along each joint, and gradients of coordinates."""
        s, n = self.stepper, len(self.Z)
        nv = s.mechanism.nv
        place = places_of(s.model, nv)
        a, b = s.model.coordinates.a[place[:, 0]], s.model.coordinates.b[place[:, 0]]
        child = np.maximum(a, b)
        rows = np.repeat(np.arange(nv), 6)
        columns = (6 * child[:, None] + np.arange(6)).ravel()
        self.screws = coo_array((self.twists.ravel(), (rows, columns)), shape=(nv, 6 * n)).tocsr()
        inverse = np.zeros((nv, 6))
        for own in np.split(np.argsort(child, kind="stable"), np.searchsorted(np.sort(child), np.arange(1, n))):
            inverse[own] = np.linalg.pinv(self.twists[own]).T
        self.lift = coo_array((inverse.ravel(), (columns, rows)), shape=(6 * n, nv)).tocsr()
        parts = []
        for body, gradient in ((a, self.gradients[:, :6]), (b, self.gradients[:, 6:])):
            k = np.flatnonzero(body >= 0)
            columns = (6 * body[k][:, None] + np.arange(6)).ravel()
            parts.append(coo_array((gradient[k].ravel(), (np.repeat(k, 6), columns)), shape=(nv, 6 * n)).tocsr())
        self.Jq = parts[0] + parts[1]

    def read(self, P: FloatArray, T: Any = None, mu: Any = None, colours: Any = None, arrays: Any = None) -> Any:
        """Run `differentiate_pose` for the momenta P; gives back (outputs, entries of the Jacobian).

        Args:
            colours: what to differentiate by; default nothing.
            arrays: of another model, in place of the stepper's.
        """
        s, n = self.stepper, len(self.Z)
        nv, size = s.mechanism.nv, int(s.ldu.rows[-1])
        T = np.zeros((n, 6)) if T is None else T
        mu = np.zeros(len(s.model.rows)) if mu is None else mu
        colours = self.neighbours.none() if colours is None else colours
        self.H = self._subtrees((self.B.T @ P.ravel()).reshape(n, 6, 1)).reshape(n, 6)
        model = s.arrays if arrays is None else arrays._replace(graph=s.arrays.graph)
        at = PoseInputs(self.Z, P, self.near, self.q, T, mu, self.H)
        out, J = np.zeros(size + nv), np.zeros((len(colours.outputs), 6))
        result = PoseOutputs(out, J, np.zeros(nv), np.zeros((nv, 6)), np.zeros((nv, 12)))
        differentiate_pose(*plain((model, s.data, at, colours)), s.dt, tuple(result))
        self.p, self.twists, self.gradients = result.p, result.screws, result.gradients
        return out, J

    # ------------------------------------------------------------------ along the tree

    def _subtrees(self, H: FloatArray) -> FloatArray:
        H = H.copy()
        for i in range(len(H) - 1, -1, -1):
            if self.parents[i] >= 0:
                H[self.parents[i]] += H[i]
        return H

    def _shape(self, x: FloatArray) -> FloatArray:
        return x.reshape(len(self.Z), 6, -1)

    def move(self, dq: FloatArray) -> FloatArray:
        """dz = S dq, shapes (nv, m) and (6 bodies, m)."""
        twist = self._shape(self.screws.T @ dq)
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                twist[i] += twist[parent]
        return self.B @ twist.reshape(6 * len(self.Z), *dq.shape[1:])

    def gather(self, P: FloatArray) -> FloatArray:
        """S' P, shapes (6 bodies, m) and (nv, m)."""
        return self.screws @ self._subtrees(self._shape(self.B.T @ P)).reshape(6 * len(self.Z), *P.shape[1:])

    def spread(self, dp: FloatArray) -> FloatArray:
        """Some dP with S' dP = dp; which one does not matter, for joint impulses take up the rest."""
        H = self._shape(self.lift @ dp)
        out = H.copy()
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                out[parent] -= H[i]
        return self.B_inverse.T @ out.reshape(6 * len(self.Z), *dp.shape[1:])

    def spread_transposed(self, bP: FloatArray) -> FloatArray:
        """Transpose of `spread`."""
        b = self._shape(self.B_inverse @ bP)
        out = b.copy()
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                out[i] -= b[parent]
        return self.lift.T @ out.reshape(6 * len(self.Z), *bP.shape[1:])

    # ------------------------------------------------------------------ derivatives

    def hold(self, P: FloatArray, project: bool) -> FloatArray:
        """Prepare the derivatives of p = S(z)' P; with `project` P are momenta that are still to be projected.

        Gives back the momenta that p is read off.
        """
        s, n = self.stepper, len(self.Z)
        size = int(s.ldu.rows[-1])
        self.body_rows = (s.ldu.rows[:n, None] + np.arange(6)).ravel()
        entries = self.neighbours.pose()
        shape = (size + s.mechanism.nv, 6 * n)
        self.T, self.mu, self.projection = np.zeros((n, 6)), np.zeros(len(s.model.rows)), None
        if project:
            # M T - G' mu = P, G T = 0: momenta P + G' mu (`projection.project_momenta`).
            self.read(P)
            self.projection = factored(s.ldu, s.data.factors.values, s.ldu.tolerance)
            right = np.zeros(size)
            right[self.body_rows] = P.ravel()
            x = self.projection.solve(right, refinements=1)
            self.T, self.mu = x[self.body_rows].reshape(n, 6), x[self.neighbours.row_outputs]
            self.impulses = self._impulses()
            P = P + (self.impulses @ self.mu).reshape(n, 6)
            _, by_impulse = self.read(P, mu=self.mu, colours=entries.colours)
            by_impulse = sparse(entries, by_impulse, shape)[:size]
            self.pushed = -by_impulse[self.body_rows]
        self.P = P
        _, J = self.read(P, self.T, colours=entries.colours)
        J = sparse(entries, J, shape)
        self.bent, self.Kz = J[size:], J[:size]
        if project:
            self.Kz = self.Kz + by_impulse
        K = np.zeros((n, 6, 6))
        K[:, :3, :3], K[:, :3, 3:] = -self.R @ skew(P[:, :3]), -skew(P[:, 3:])
        self.turned = blocks(K)
        return P

    def _impulses(self) -> Any:
        """G' (6 n, rows) at the pose just read."""
        s, n = self.stepper, len(self.Z)
        model, rows = s.model, s.data.rows
        rest = model.coordinates[model.rows.leader]
        ends = ((model.rows.a, model.rows.ea, rows.wa), (model.rows.b, model.rows.eb, rows.wb))
        ends += ((rest.a, model.rows.ea2, rows.wa2), (rest.b, model.rows.eb2, rows.wb2))
        total = csr_array((6 * n, len(rows)))
        for body, edge, w in ends:
            k = np.flatnonzero(edge >= 0)
            place = (6 * body[k][:, None] + np.arange(6)).ravel(), np.repeat(k, 6)
            total = total + coo_array((w[k].ravel(), place), shape=total.shape).tocsr()
        return total

    def momenta(self, dz: FloatArray) -> FloatArray:
        """dp by dz at fixed P, shape (nv, m)."""
        H = self._subtrees(self._shape(self.turned @ dz)).reshape(6 * len(self.Z), *dz.shape[1:])
        return self.bent @ dz + self.screws @ H

    def momenta_transposed(self, bp: FloatArray) -> FloatArray:
        """Transpose of `momenta`."""
        twist = self._shape(self.screws.T @ bp)
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                twist[i] += twist[parent]
        return self.bent.T @ bp + self.turned.T @ twist.reshape(6 * len(self.Z), *bp.shape[1:])

    def project(self, dz: FloatArray, dP: FloatArray, direct: Any = None) -> FloatArray:
        """Change of the projected momenta by that of poses and momenta, each shape (6 bodies, m).

        Args:
            direct: changes of M T - G' mu and G T, and of G' mu, by something else: shapes (rows of the graph, m) and
                (6 bodies, m).
        """
        if self.projection is None:
            return dP
        b = self.Kz @ dz
        if direct is not None:
            b = b + direct[0]
        b[self.body_rows] -= dP
        dmu = -self.projection.solve(b, refinements=1)[self.neighbours.row_outputs]
        out = dP + self.impulses @ dmu + self.pushed @ dz
        return out if direct is None else out + direct[1]

    def velocities(self, dz: FloatArray, dP: FloatArray, direct: Any = None) -> FloatArray:
        """Change of the velocities (6 bodies, m) that belong to the momenta held with `project`; see `project`."""
        assert self.projection is not None
        b = self.Kz @ dz
        if direct is not None:
            b = b + direct
        b[self.body_rows] -= dP
        return -self.projection.solve(b, refinements=1)[self.body_rows]

    def velocities_transposed(self, bV: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients (by dz, by dP) from that by the velocities, each shape (6 bodies,)."""
        assert self.projection is not None
        right = np.zeros(int(self.projection.rows[-1]))
        right[self.body_rows] = bV
        y = -self.projection.solve_transposed(right, refinements=1)
        return self.Kz.T @ y, -y[self.body_rows]

    def project_transposed(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients (by dz, by dP) from that by the projected momenta, each shape (6 bodies,)."""
        if self.projection is None:
            return np.zeros_like(b), b
        right = np.zeros(int(self.projection.rows[-1]))
        right[self.neighbours.row_outputs] = self.impulses.T @ b
        y = -self.projection.solve_transposed(right, refinements=1)
        return self.Kz.T @ y + self.pushed.T @ b, b - y[self.body_rows]
