"""Running the adjoint method over a recorded run, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian
from leastaction.errors import IntegratorError
from leastaction.integrators import Reversal
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import ROLL
from leastaction.redmax.adjoint.inverse_dynamics_cotangents import COTANGENT
from leastaction.redmax.adjoint.stages import reverse
from leastaction.redmax.coordinates.chart_slopes import pull_public, push_public
from leastaction.redmax.coordinates.expansion import WELD
from leastaction.redmax.model import Reduced, records

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of an objective; all but the first three only where parameters were asked for.

    Attributes:
        q: by the first positions along the tangent, shape (nv,).
        v: by the first velocities, shape (nv,).
        controls: shape (steps, 1, nu); empty where they were not asked for.
        inertias: by each node's mass, first moment and inertia about its origin, in its frame, shape (nodes, 10).
        placements: by displacements of each node's placement, twists in its parent's frame, shape (nodes, 6).
        coordinates: by stiffness, rest, damping, armature, lower and upper limit, stiffness and damping of the limits
            of each degree of freedom, shape (nv, 8).
        paths: by stiffness, rest length and damping of springs, then cables, shape (count, 3).
        wrenches: of constant wrenches, shape (count, 6).
        gravity: shape (3,).
        balls: by stiffness and damping of each ball, and turns of its rest in its own frame, shape (balls, 9).
        penalties: by stiffness, damping, friction, stiction and origin of each penalty point, shape (count, 7).
        points: by the points of springs and cables in their nodes' frames, shape (count, 3).
        spots: by the penalty points in their nodes' frames, shape (count, 3).
        rows: by displacements of the placement of each row of a loop (a twist in its parent node's frame), and by
            stiffness, damping and rest of soft rows, shape (rows, 9).
        reduced: the arrays that nodes are numbered by.
    """

    q: FloatArray
    v: FloatArray
    controls: FloatArray
    inertias: FloatArray
    placements: FloatArray
    coordinates: FloatArray
    paths: FloatArray
    wrenches: FloatArray
    gravity: FloatArray
    balls: FloatArray
    penalties: FloatArray
    points: FloatArray
    spots: FloatArray
    rows: FloatArray
    reduced: Reduced


def welded(mechanism: Mechanism, names: Iterable[str]) -> Mechanism | None:
    """The same mechanism with nodes for fixed joints, where `names` ask for placements of some; else None."""
    asked = {name.partition(":")[2] for name in names if name.startswith(("position:", "rotation:"))}
    fixed = [joint.name for joint in mechanism.joints if not joint.primitives]
    if not asked.intersection(fixed):
        return None
    joints = (replace(j, kind="composite", primitives=(WELD,)) if j.name in fixed else j for j in mechanism.joints)
    return mechanism.replace(joints=tuple(joints))


class ReducedReversal(Reversal):
    """Runs `BDF` and `SDIRK2` backwards.

    Args:
        stepper: that made the run, after its `prepare_start`.
        names: as for `Stepper.reverse`.
    """

    def __init__(self, stepper: Any, names: Sequence[str]) -> None:
        self.mechanism = stepper.mechanism
        self.names = [name for name in names if name != "controls"]
        parameters, controls = bool(self.names), "controls" in names
        own = welded(stepper.mechanism, names)
        self.kept = [int(k) for k in np.flatnonzero(stepper.kept >= 0)]
        if own is not None:
            stepper = stepper.integrator.prepare(own, stepper.dt)
            stepper._arrange(self.kept)
        self.stepper, self.parameters, self.keeps_controls = stepper, parameters, controls
        red = stepper.reduced
        t, n = red.tree, red.nr
        size = n + stepper.multipliers
        nodal = tuple(np.zeros(t.nv) for _ in range(3))
        self.back = (records(len(t.nodes), COTANGENT), nodal, np.zeros(size), np.zeros(n), np.zeros(n))
        self.vectors = tuple(np.zeros(n) for _ in range(12))
        self.grads = (
            np.zeros((len(t.nodes), 10)),
            np.zeros((len(t.nodes), 6)),
            np.zeros((n, 8)),
            np.zeros((len(t.paths), 3)),
            np.zeros((len(t.wrenches), 6)),
            np.zeros(3),
            np.zeros((len(red.balls), 9)),
            np.zeros((len(t.penalties), 7)),
            np.zeros((len(t.points), 3)),
            np.zeros((len(t.penalties), 3)),
            np.zeros((len(t.closure.rows), 9)),
        )
        self.controls: list[FloatArray] = []
        self.carried: tuple[FloatArray, FloatArray] | None = None

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """See `Reversal.piece`."""
        stepper, red = self.stepper, self.stepper.reduced
        arrays = stepper.arrays(record)
        R, RD, charts = arrays[:3]
        last = len(R) - 1
        BX, BV = np.zeros((last + 1, red.nr)), np.zeros((last + 1, red.nr))
        dq, dv = np.array(bq, order="C"), np.array(bs, order="C")
        pull_public(red.balls, red.index_v, R, RD, charts, dq, dv, BX, BV)
        if self.carried is not None:
            count = len(self.carried[0])
            BX[last + 1 - count :] += self.carried[0]
            BV[last + 1 - count :] += self.carried[1]
        U, BU = np.zeros((last, stepper.mechanism.nu)), np.zeros((last, stepper.mechanism.nu))
        U[row:] = u[:, 0]
        self._reverse(row, last, U, arrays, BX, BV, BU, np.zeros(0), first - row)
        self.carried = BX[: row + 1].copy(), BV[: row + 1].copy()
        if self.keeps_controls:
            self.controls.append(BU[row:, None])
        self.first = (arrays, U)

    def _reverse(
        self, first: int, last: int, U: Any, arrays: Any, BX: Any, BV: Any, BU: Any, mu: FloatArray, shift: int
    ) -> None:
        s = self.stepper
        run = (s.method, s.problem, self.back, s.dt, first, last, U)
        failed = reverse(*run, *arrays, BX, BV, BU, self.vectors, self.parameters, self.grads, mu)
        if failed >= 0:
            raise IntegratorError(
                f"the adjoint of step {shift + failed} has no solution: its Newton matrix is singular"
            )

    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """See `Reversal.finish`."""
        from leastaction.redmax.adjoint.by_name import parameter_gradient

        found = self.gradients(q)
        out = {"q": found.q, "v": found.v, **({"controls": found.controls} if self.keeps_controls else {})}
        return out | {name: parameter_gradient(found, self.mechanism, name) for name in self.names}

    def gradients(self, q: FloatArray) -> Gradients:
        """All gradients by the arrays that kernels read."""
        stepper, red = self.stepper, self.stepper.reduced
        m, (arrays, U) = stepper.mechanism, self.first
        R, RD, charts = arrays[:3]
        if self.carried is None:
            raise IntegratorError("there is nothing to differentiate")
        BX, BV = self.carried
        bq, bv = np.zeros(m.nv), np.zeros(m.nv)
        push_public(red.balls, red.index_v, R[0], RD[0], charts[0], BX[0], BV[0], bq, bv)
        if self.parameters and stepper.multipliers:
            # Where a placement opens a loop, the first state follows by the least change, as `close_loops` does.
            A = loop_jacobian(m, q)[1][self.kept]
            mu = np.linalg.pinv(A, rcond=RANK_TOLERANCE).T @ bq
            mu[red.tree.closure.rows.kind[self.kept] == ROLL] = 0.0
            none = np.zeros((1, red.nr))
            U = U if len(U) else np.zeros((1, m.nu))
            self._reverse(0, 0, U, arrays, none, none, U, mu, 0)
        controls = np.concatenate(self.controls[::-1]) if self.controls else np.zeros((0, 1, m.nu))
        return Gradients(bq, bv, controls, *self.grads, red)
