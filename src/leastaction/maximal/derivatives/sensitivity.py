"""Derivatives of a solved step and of what is read off a pose, as linear maps that work both ways in linear time.

At the solution x = (velocities, joint impulses) of F(x; z, P, u) = 0 the implicit function theorem gives

    dx = -F_x^-1 (F_z dz - dP - (dI/du) du)

with the Newton matrix F_x, which the graph factorises in linear time; contacts are eliminated from it as in Newton
(Bruedigam 2023, Section 5; Howell et al. 2022, Dojo, Section IV-E). Bodies vary by a turn in their own directions and a
shift in the world's: dz has six entries for each body.

What restitution asks of a step depends on the velocities V of the step before, so these are part of the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from leastaction.maximal.arrays import MaximalData, MaximalModel, contact_data, plain
from leastaction.maximal.contact.detection import BOUNCING
from leastaction.maximal.contact.features import add_moving_features
from leastaction.maximal.derivatives.arrays import Colours, SolvedStep, StepOutputs
from leastaction.maximal.derivatives.colours import Neighbours
from leastaction.maximal.derivatives.sensitivity_kernels import differentiate_step
from leastaction.maximal.derivatives.sparse_blocks import blocks, factored, places_of, rotations, sparse

FloatArray = NDArray[np.float64]

INDEPENDENT = 1e-13
"""Share of a loop's equations that must be left beside stiff contacts for them to count as independent; without loops
they are independent all the same."""


@dataclass(frozen=True, eq=False)
class BodyState:
    """State between two steps.

    Attributes:
        Z, P: poses (bodies, 7) and momenta (bodies, 6).
        q: joint positions, shape (nq,).
        near: coordinates of the model, which tell full turns.
        V: velocities (bodies, 6) of the step before: approach velocities, and the guess of the next step.
        fresh: whether a run starts here.
    """

    Z: FloatArray
    P: FloatArray
    q: FloatArray
    near: FloatArray
    V: FloatArray
    fresh: bool = False


@dataclass(frozen=True, eq=False)
class Solved:
    """One solved step, or part of a composed one.

    Attributes:
        stepper: holds the unknowns in its arrays, until it solves another step.
        start, end: states.
        V: velocities (bodies, 6) within the step.
        nodes: of the whole step's controls, which of them are those at both ends.
        u: controls there, shape (2, nu).
        model, data: what it was solved with; another plan has others.
        cones, contacts: the cones as they were solved (see `sensitivity_kernels.renew_cones` for `side`), and the
            contacts they belong to.
        impulses: of the rows.
    """

    stepper: Any
    start: BodyState
    V: FloatArray
    nodes: tuple[int, int]
    u: FloatArray
    model: MaximalModel
    data: MaximalData
    cones: Any
    contacts: Any
    impulses: FloatArray
    end: BodyState

    @property
    def count(self) -> int:
        """Number of cones."""
        return len(self.cones)

    def outputs(self, colours: Colours, J: FloatArray, model: MaximalModel, contacts: Any) -> tuple[StepOutputs, Any]:
        """Run `differentiate_step` with the arrays of a model, its graph apart; what it gives, and the cones."""
        s = self.stepper
        n, nu = len(self.V), s.mechanism.nu
        out = np.zeros(int(s.ldu.rows[-1]) + 3 * self.count + 12 * n)
        drives = (np.zeros(shape, kind) for shape, kind in 2 * (((nu, 2), np.int64), ((nu, 2, 6), float)))
        result = StepOutputs(out, J, *drives)
        at = SolvedStep(self.start.Z, self.start.P, self.V, self.start.near, self.start.q.copy(), self.u)
        self.data.rows.lam, self.data.bodies.x = self.impulses, self.start.V
        contact = contact_data(0, 0, 0, 0)._replace(cones=self.cones.copy(), contacts=contacts)
        contact.now.count = self.count
        model = model._replace(graph=self.model.graph)
        problem = plain((model, s.settings._replace(loops=None), self.data, contact, at, colours))
        differentiate_step(*problem, places_of(s.model, s.mechanism.nv), tuple(result))
        return result, contact.cones


class StepMap:
    """Derivative of a solved step by poses, momenta, velocities before and controls: matrices, and Newton's factors.

    Attributes:
        Fz, Fv: equations by the poses and by the velocities of the step before, cones eliminated.
        Ez, Ex: momenta at the end by poses and velocities.
        carried: state at the end, before momenta are projected on closed loops.
        push: impulses (bodies, 6) of the cones at the start; Qz, Qx, Qv: their derivatives.
        Tz, Tx: poses at the end by poses and velocities.
        U0, U1: impulses at the start and end per control.
    """

    def __init__(self, solved: Solved) -> None:
        self.solved = solved
        s = solved.stepper
        first = s.ldu.rows
        n, N, count, nu = len(solved.V), int(first[-1]), solved.count, s.mechanism.nu
        cones = solved.cones
        self.neighbours = Neighbours(s.model, first, zip(cones.a.tolist(), cones.b.tolist(), strict=True))
        entries = self.neighbours.step()
        J = np.zeros((len(entries.owner), 12))
        result, cones = solved.outputs(entries.colours, J, solved.model, solved.contacts)
        out = result.out
        add_moving_features(solved, entries, self.neighbours.none(), J)
        self.ldu = factored(s.ldu, solved.data.factors.values, self._dependent() if count else s.ldu.tolerance)
        self.body_rows = (first[:n, None] + np.arange(6)).ravel()
        self.size, self.cone_rows, self.end = N, slice(N, N + 3 * count), N + 3 * count
        self.D = self._wrenches(cones)
        shape = (len(out), 6 * n)
        Jz = sparse(entries, J[:, :6], shape)
        Jx = sparse(entries, J[:, 6:], shape)
        ends, pushed = self._sections(n)
        self.Fz, self.Ez, self.Ex = self._reduced(Jz), Jz[ends], Jx[ends]
        self.Qz, self.Qx = self._pushed(Jz, pushed), self._pushed(Jx, pushed)
        by_approach = self._by_approach(cones, solved.contacts, n)
        self.Fv, self.Qv = -self.D @ by_approach, self.D[self.body_rows] @ by_approach
        # Not those of the run, which may have been projected on closed loops: that comes at the end of a whole step.
        self.carried = replace(solved.end, P=out[ends].reshape(n, 6))
        self.push = out[pushed].reshape(n, 6)
        self.U0 = self._drives(result.start_bodies, result.start_columns, n, nu)
        self.U1 = self._drives(result.end_bodies, result.end_columns, n, nu)
        R, R1 = rotations(solved.start.Z), rotations(solved.end.Z)
        Tz, Tx = np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
        Tz[:, :3, :3] = R1.transpose(0, 2, 1) @ R
        Tx[:, :3, :3] = s.dt * solved.data.bodies.B.reshape(-1, 3, 3)
        Tz[:, 3:, 3:], Tx[:, 3:, 3:] = np.eye(3), s.dt * np.eye(3)
        self.Tz, self.Tx = blocks(Tz), blocks(Tx)

    def _sections(self, n: int) -> tuple[slice, slice]:
        """Where the outputs hold the momenta of n bodies at the end, and the cones' impulses on them."""
        middle = self.end + 6 * n
        return slice(self.end, middle), slice(middle, middle + 6 * n)

    def _wrenches(self, cones: Any) -> Any:
        """Unit wrenches of the cones: (N, 3 cones)."""
        rows, columns, data = [], [], []
        for k, c in enumerate(cones):
            for body, d in ((c.a, c.da), (c.b, c.db)):
                if body >= 0:
                    rows.append(np.tile(self.body_rows[6 * body : 6 * body + 6], 3))
                    columns.append(np.repeat(3 * k + np.arange(3), 6))
                    data.append(d.copy())
        if not rows:
            return csr_array((self.size, 3 * len(cones)))
        place = np.concatenate(rows), np.concatenate(columns)
        return coo_array((np.concatenate(data), place), shape=(self.size, 3 * len(cones))).tocsr()

    def _by_approach(self, cones: Any, contacts: Any, n: int) -> Any:
        """What the cones ask of their impulses by the velocities of the step before: (3 cones, 6 n).

        The slack s = (gap - rest) / dt falls by e v_n where restitution acts, and impulses change by -W of that.
        """
        rows, columns, data = [], [], []
        for k in np.flatnonzero((cones.source >= 0) & (cones.side == BOUNCING)):
            c = cones[k]
            e = contacts[c.source].restitution
            for body, d in ((c.a, c.da), (c.b, c.db)):
                if body >= 0:
                    rows.append(np.repeat(3 * k + np.arange(3), 6))
                    columns.append(np.tile(6 * body + np.arange(6), 3))
                    data.append(np.outer(-e * c.W[::3], d[:6]).ravel())
        if not rows:
            return csr_array((3 * len(cones), 6 * n))
        place = np.concatenate(rows), np.concatenate(columns)
        return coo_array((np.concatenate(data), place), shape=(3 * len(cones), 6 * n)).tocsr()

    @property
    def bounces(self) -> bool:
        """Whether restitution acts, so that velocities before count."""
        return self.Fv.nnz > 0

    def _dependent(self) -> float:
        """Share of a joint's equations beside stiff contacts below which they count as dependent."""
        return INDEPENDENT if self.solved.stepper.loops else 0.0

    def _drives(self, touched: Any, columns: Any, n: int, nu: int) -> Any:
        """Impulses per control: (6 n, nu)."""
        k, side = np.nonzero(touched >= 0)
        rows = 6 * touched[k, side][:, None] + np.arange(6)
        place = rows.ravel(), np.repeat(k, 6)
        return coo_array((columns[k, side].ravel(), place), shape=(6 * n, nu)).tocsr()

    def _reduced(self, change: Any) -> Any:
        """Change of the equations with the cones eliminated, from that of all outputs."""
        return change[: self.size] - self.D @ change[self.cone_rows]

    def _pushed(self, change: Any, at: slice) -> Any:
        """Change of the cones' impulses on the bodies, from that of all outputs; at: where these impulses stand."""
        return change[at] + self.D[self.body_rows] @ change[self.cone_rows]

    def forward(self, dz: Any, dP: Any, dV: Any, du: Any, direct: Any = None) -> tuple[FloatArray, ...]:
        """Changes (dz1, dP1, velocities, `push`), each shape (6 bodies, m).

        Args:
            dz, dP: at the start, shape (6 bodies, m).
            dV: of the velocities before, shape (6 bodies, m).
            du: of the controls at the nodes of the whole step, shape (nodes, nu, m).
            direct: change of all outputs by something else, shape (outputs, m).
        """
        start, end = self.solved.nodes
        b = self.Fz @ dz + self.Fv @ dV
        b[self.body_rows] -= dP + self.U0 @ du[start]
        if direct is not None:
            b = b + self._reduced(direct)
        dx = -self.ldu.solve(b, refinements=1)[self.body_rows]
        dP1 = self.Ez @ dz + self.Ex @ dx + self.U1 @ du[end]
        push = self.Qz @ dz + self.Qx @ dx + self.Qv @ dV
        if direct is not None:
            ends, pushed = self._sections(len(self.solved.V))
            dP1, push = dP1 + direct[ends], push + self._pushed(direct, pushed)
        return self.Tz @ dz + self.Tx @ dx, dP1, dx, push

    def backward(self, bz1: Any, bP1: Any, bV1: Any, push: Any) -> tuple[FloatArray, ...]:
        """Gradients by (dz, dP, dV, controls at the start, at the end) from those by (dz1, dP1, velocities, ...)."""
        right = np.zeros(self.size)
        right[self.body_rows] = self.Tx.T @ bz1 + self.Ex.T @ bP1 + bV1 + self.Qx.T @ push
        y = -self.ldu.solve_transposed(right, refinements=1)
        by_momenta = -y[self.body_rows]
        bz = self.Tz.T @ bz1 + self.Ez.T @ bP1 + self.Qz.T @ push + self.Fz.T @ y
        bV = self.Fv.T @ y + self.Qv.T @ push
        return bz, by_momenta, bV, self.U0.T @ by_momenta, self.U1.T @ bP1
