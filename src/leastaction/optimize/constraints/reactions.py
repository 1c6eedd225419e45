"""Forces that hold a robot, as unknowns: multipliers of closed loops, of feet on the ground and of contact points.

At a control point of a step the force f acts with the impulse w dt A(q)' F f on the configuration there (Fan 2018,
Eq. 6): A is the Jacobian of scalar equations between two bodies (`mechanism.closure`), F says which of them each force
drives, and w is the share of the control point in the time of a step. Steps share their ends, and the force there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.api import mass_matrix
from leastaction.dynamics.workspace import Workspace
from leastaction.mechanism import Mechanism
from leastaction.optimize.constraints.reaction_hessians import contracted
from leastaction.optimize.constraints.reaction_kernels import ReactionData, ReactionModel, reaction_rows
from leastaction.optimize.transcriptions.layout import quadrature
from leastaction.optimize.transcriptions.sparsity import Pattern
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.chain_rule import Motion
    from leastaction.optimize.transcriptions.transcription import Transcription

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass
class Reaction:
    """Forces of one kind, one set of them at each of some control points.

    Attributes:
        name: what messages call them.
        rows: equations that they keep or drive, `CLOSURE_ROW` records.
        points: numbers of the control points at which they act: all of some steps, one after the other.
        labels: of the forces.
        lower, upper: their bounds, shape (forces,).
        drives: F, shape (equations, forces).
        coefficients: polynomials of couplings.
        holds: whether the equations hold wherever the forces act.
    """

    name: str
    rows: Any
    points: IntArray
    labels: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    drives: FloatArray
    coefficients: FloatArray = field(default_factory=lambda: np.zeros(0))
    holds: bool = True
    index: IntArray = field(init=False, repr=False)
    """Their places in z, shape (points, forces)."""

    def bind(self, owner: Transcription, index: IntArray) -> None:
        """Find the pattern of the Jacobian, and the shares of the control points in time."""
        self.owner, self.index = owner, index
        self.workspace = Workspace(owner.mechanism)
        self.reads, self.curvature = patterns(owner.mechanism, self.rows, self.coefficients)
        self.shares = shares(owner.points, (len(self.points) - 1) // owner.s)
        self._seen: tuple[Any, bool, Any] = (None, False, None)
        self._slopes: tuple[Any, Any] = (None, None)

    def equations(self, motion: Motion, slopes: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values (points, m), Jacobians (points, m, nv) and, with `slopes`, theirs (points, m, nv, nv)."""
        seen, with_slopes, out = self._seen
        if seen is motion and (with_slopes or not slopes):
            return out
        out = evaluate(self.workspace, self.rows, self.coefficients, motion.q[self.points], slopes)
        self._seen = (motion, slopes, out)
        return out

    def jacobian_slopes(self, q: FloatArray) -> FloatArray:
        """Derivatives of the Jacobians at configurations q (points, nq), shape (points, m, nv, nv)."""
        return evaluate(self.workspace, self.rows, self.coefficients, q, True)[2]

    def forces(self, z: FloatArray) -> FloatArray:
        """Shape (points, forces)."""
        return z[self.index]

    def impulses(self, motion: Motion) -> FloatArray:
        """What they add to the rows of the control points, shape (points, nv)."""
        _, A, _ = self.equations(motion, False)
        lam = (motion.dt * self.shares)[:, None] * (self.forces(motion.z) @ self.drives.T)
        return (lam[:, None] @ A)[:, 0]

    def slopes(self, motion: Motion) -> tuple[FloatArray, FloatArray]:
        """Derivatives of `impulses` along the tangents (points, nv, nv) and by the forces (points, nv, forces)."""
        if self._slopes[0] is not motion:
            _, A, dA = self.equations(motion, True)
            w = (motion.dt * self.shares)[:, None]
            by_f = w[:, :, None] * (np.swapaxes(A, 1, 2) @ self.drives)
            self._slopes = (motion, (contracted(w * (self.forces(motion.z) @ self.drives.T), dA), by_f))
        return self._slopes[1]


def evaluate(
    w: Workspace, rows: Any, coefficients: FloatArray, q: FloatArray, slopes: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values, Jacobians and their derivatives at configurations q (points, nq); see `Reaction.equations`."""
    P, m, n = len(q), len(rows), w.tree.nv
    h, A, dA = np.zeros((P, m)), np.zeros((P, m, n)), np.zeros((P if slopes else 0, m, n, n))
    model = ReactionModel(w.tree.nodes, rows, coefficients)
    data = ReactionData(w.links, w.screws, np.zeros(n, np.int64))
    reaction_rows(model, data, np.ascontiguousarray(q), h, A, dA)
    return h, A, dA


def patterns(mechanism: Mechanism, rows: Any, coefficients: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Which degrees of freedom move which equations (m, nv), and which two change them together (m, nv, nv).

    Both are symmetric in the latter, and found at random configurations: kinematics are analytic, so what vanishes
    there vanishes everywhere.
    """
    rng = np.random.default_rng(3)
    q = np.stack([mechanism.random_configuration(rng) for _ in range(3)])
    _, A, dA = evaluate(Workspace(mechanism), rows, coefficients, q, True)
    curvature = np.abs(dA).max(axis=0) > 1e-12
    return np.abs(A).max(axis=0) > 1e-12, curvature | np.swapaxes(curvature, 1, 2)


def shares(points: tuple[float, ...], steps: int) -> FloatArray:
    """How much of a step each control point of some steps stands for; those between two steps for both."""
    w, s = quadrature(np.array(points)), len(points) - 1
    out = np.zeros(s * steps + 1)
    for k in range(steps):
        out[s * k : s * k + s + 1] += w
    return out


class Reactions:
    """All reactions of a transcription in its dynamics.

    The impulse at a control point joins the row of the step that ends there, the first one that of the step after it.
    """

    def __init__(self, owner: Transcription, all_: list[Reaction]) -> None:
        self.owner, self.all = owner, all_
        self._places: dict[int, tuple[IntArray, IntArray]] = {}

    def __bool__(self) -> bool:
        return bool(self.all)

    def place(self, r: Reaction) -> tuple[IntArray, IntArray]:
        """Step and row of the control points of a reaction."""
        if id(r) not in self._places:
            s = self.owner.s
            step = np.maximum((r.points - 1) // s, r.points[0] // s)
            self._places[id(r)] = step, r.points - s * step
        return self._places[id(r)]

    def related(self, out: BoolArray) -> None:
        """Degrees of freedom that meet in an equation."""
        for r in self.all:
            for reads in r.reads:
                out |= reads[:, None] & reads

    def add(self, motion: Motion, rows: FloatArray) -> None:
        """Add the impulses to the rows (steps, s + 1, nv) of all steps."""
        for r in self.all:
            rows[self.place(r)] += r.impulses(motion)

    def add_rates(self, motion: Motion, rates: FloatArray) -> None:
        """Add their derivatives by the final time."""
        for r in self.all:
            rates[self.place(r)] += r.impulses(motion) / (motion.dt * self.owner.steps)

    def add_slopes(self, motion: Motion, D: FloatArray) -> None:
        """Add their derivatives along the tangents to the blocks (steps, s + 1, nv, s + 1, nv) of all steps."""
        for r in self.all:
            k, a = self.place(r)
            D[k, a, :, a] += r.slopes(motion)[0]

    def add_pattern(self, pattern: Pattern, kept: IntArray) -> None:
        """Nonzeros by the forces."""
        self.tickets = []
        for r in self.all:
            numbers = kept[self.place(r)]
            i, f = np.nonzero((r.reads.T.astype(float) @ np.abs(r.drives)) > 0)
            self.tickets.append((pattern.add(numbers[:, i], r.index[:, f]), (i, f)))

    def close_pattern(self, pattern: Pattern) -> None:
        """Where they are."""
        self.slots = [(pattern.slots(ticket), where) for ticket, where in self.tickets]

    def jacobian(self, motion: Motion, values: FloatArray) -> None:
        """Derivatives by the forces."""
        for r, (slots, (i, f)) in zip(self.all, self.slots, strict=True):
            values[slots] = r.slopes(motion)[1][:, i, f]

    def couplings(self) -> list[tuple[IntArray, IntArray]]:
        """Pairs of unknowns that meet in second derivatives; see `Transcription.dynamics_couplings`."""
        layout = self.owner.layout
        out = []
        for r in self.all:
            out.append((r.index[:, :, None], layout.q[r.points][:, None, :]))
            if layout.duration >= 0:
                out.append((r.index, np.array(layout.duration)))
        return out

    def fit_momenta(self, q: FloatArray, p: FloatArray) -> None:
        """Take from momenta p (knots, nv) what would break equations: p + A' nu with A M^-1 p = 0, in place."""
        s, last = self.owner.s, self.owner.steps
        for k in range(len(p)):
            rows = []
            for r in self.all:
                # At a knot where a foot lands or leaves, what holds in the step after it counts.
                beside = s * k + 1 if k < last else s * k - 1
                if r.holds and np.isin((s * k, beside), r.points).all():
                    rows.append(evaluate(r.workspace, r.rows, r.coefficients, q[k : k + 1], False)[1][0])
            if rows:
                A, M = np.concatenate(rows), mass_matrix(self.owner.mechanism, q[k])
                Y = np.linalg.solve(M, A.T)
                p[k] -= A.T @ np.linalg.lstsq(A @ Y, Y.T @ p[k], rcond=1e-12)[0]

    def guess(self, z: FloatArray) -> None:
        """Let feet and contacts carry the weight of the robot between them."""
        pressing = np.zeros(self.owner.s * self.owner.steps + 1)
        carrying = [(r, k) for r in self.all for k, label in enumerate(r.labels) if label in ("z", "normal")]
        for r, _ in carrying:
            pressing[r.points] += 1.0
        for r, k in carrying:
            z[r.index[:, k]] = self.weight / pressing[r.points]

    @property
    def weight(self) -> float:
        """Of the robot [N]; its mass where there is no gravity."""
        m = self.owner.mechanism
        return m.total_mass * (float(np.linalg.norm(m.gravity)) or 1.0)

    def named_forces(self, z: FloatArray) -> dict[str, FloatArray]:
        """Forces at the knots by name, shape (steps + 1, forces); zero where they do not act."""
        s, count = self.owner.s, self.owner.s * self.owner.steps + 1
        impulses: dict[str, FloatArray] = {}
        times: dict[str, FloatArray] = {}
        for r in self.all:  # a foot may stand several times, and two stretches may share a knot
            name = f"forces of {r.name}"
            impulses.setdefault(name, np.zeros((count, len(r.labels))))[r.points] += r.shares[:, None] * r.forces(z)
            times.setdefault(name, np.zeros((count, 1)))[r.points, 0] += r.shares
        return {name: (f / np.maximum(times[name], 1e-12))[::s] for name, f in impulses.items()}
