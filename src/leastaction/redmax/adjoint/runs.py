"""Running the adjoint method over a recorded run, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian
from leastaction.errors import IntegratorError
from leastaction.kinematics.reduced.expansion import WELD
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import ROLL
from leastaction.redmax.adjoint.arrays import ParameterGradients, ReverseData, RunGradients
from leastaction.redmax.adjoint.chart_slopes import pull_public, push_public
from leastaction.redmax.adjoint.stages import close_first, reverse
from leastaction.redmax.arrays import plain
from leastaction.redmax.model import Reduced

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of an objective; those by parameters only where these were asked for.

    Attributes:
        q: by the first positions along the tangent, shape (nv,).
        v: by the first velocities, shape (nv,).
        controls: shape (steps, nu); empty where they were not asked for.
        parameters: by the numbers that kernels read.
        reduced: the compiled mechanism that nodes are numbered by.
    """

    q: FloatArray
    v: FloatArray
    controls: FloatArray
    parameters: ParameterGradients
    reduced: Reduced


def welded(mechanism: Mechanism, names: Iterable[str]) -> Mechanism | None:
    """The same mechanism with nodes for fixed joints, where `names` ask for placements of some; else None."""
    asked = {name.partition(":")[2] for name in names if name.startswith(("position:", "rotation:"))}
    fixed = [joint.name for joint in mechanism.joints if not joint.primitives]
    if not asked.intersection(fixed):
        return None
    joints = (replace(j, kind="composite", primitives=(WELD,)) if j.name in fixed else j for j in mechanism.joints)
    return mechanism.replace(joints=tuple(joints))


class Reversal:
    """Turns gradients by states into gradients by the first state, controls and parameters, last steps first."""

    def __init__(self, stepper: Any, names: Iterable[str], *, parameters: bool, controls: bool) -> None:
        """Allocate.

        Args:
            stepper: that made the run, after its `prepare_start`.
            names: of the parameters.
            parameters: whether any belongs to the mechanism.
            controls: whether gradients by controls are to be kept.
        """
        own = welded(stepper.mechanism, names)
        self.kept = stepper.kept
        if own is not None:
            stepper = stepper.integrator.prepare(own, stepper.dt)
            stepper.keep(self.kept)
        self.stepper, self.wanted, self.keeps_controls = stepper, parameters, controls
        self.back = ReverseData.zeros(stepper.reduced, len(self.kept))
        self.grads = ParameterGradients.zeros(stepper.reduced)
        self.controls: list[FloatArray] = []
        self.carried: tuple[FloatArray, FloatArray] | None = None

    def piece(self, record: dict[str, Any], first: int, at: int, u: FloatArray, dq: FloatArray, dv: FloatArray) -> None:
        """Go back over the steps of a record that follow its row `first`.

        Args:
            record: with as many rows before `first` as the integrator looks back.
            first: row from which its steps start.
            at: number of the step that starts there.
            u: controls of its steps, shape (steps, nu).
            dq, dv: gradients by the states of all rows, shape (rows, nv), zero for those that belong to other pieces.
        """
        stepper, c = self.stepper, self.stepper.reduced.coordinates
        run = stepper.run_arrays(record)
        last = len(run.R) - 1
        BX, BV = np.zeros((last + 1, c.nr)), np.zeros((last + 1, c.nr))
        dq, dv = np.array(dq, order="C"), np.array(dv, order="C")
        pull_public(c.model.balls, c.model.index_v, run.R, run.RD, run.charts, dq, dv, BX, BV)
        if self.carried is not None:
            rows = len(self.carried[0])
            BX[last + 1 - rows :] += self.carried[0]
            BV[last + 1 - rows :] += self.carried[1]
        U, BU = np.zeros((last, stepper.mechanism.nu)), np.zeros((last, stepper.mechanism.nu))
        U[first:] = u
        bars = RunGradients(BX, BV, U, BU, self.wanted)
        failed = reverse(*self._problem(), tuple(run), *self._scratch(), tuple(bars), first, last)
        if failed >= 0:
            raise IntegratorError(
                f"the adjoint of step {at - first + failed} has no solution: its Newton matrix is singular"
            )
        self.carried = BX[: first + 1].copy(), BV[: first + 1].copy()
        if self.keeps_controls:
            self.controls.append(BU[first:])
        self.first = run, U

    def _problem(self) -> tuple[Any, ...]:
        s = self.stepper
        return plain(s.reduced.model), tuple(s.settings), plain(s.data)

    def _scratch(self) -> tuple[Any, ...]:
        return tuple(self.back), tuple(self.grads)

    def finish(self, q: FloatArray) -> Gradients:
        """All gradients, after the piece that starts at the first state, which is q (nq)."""
        stepper, c = self.stepper, self.stepper.reduced.coordinates
        m, (run, U) = stepper.mechanism, self.first
        if self.carried is None:
            raise IntegratorError("there is nothing to differentiate")
        BX, BV = self.carried
        bq, bv = np.zeros(m.nv), np.zeros(m.nv)
        push_public(c.model.balls, c.model.index_v, run.R[0], run.RD[0], run.charts[0], BX[0], BV[0], bq, bv)
        if self.wanted and self.kept:
            # Where a placement opens a loop, the first state follows by the least change, as `close_loops` does.
            A = loop_jacobian(m, q)[1][self.kept]
            mu = np.linalg.pinv(A, rcond=RANK_TOLERANCE).T @ bq
            mu[stepper.reduced.rows.kind[self.kept] == ROLL] = 0.0
            model, _, data = self._problem()
            u = U[0] if len(U) else np.zeros(m.nu)
            close_first(model, data, tuple(run), *self._scratch(), u, mu)
        controls = np.concatenate(self.controls[::-1]) if self.controls else np.zeros((0, m.nu))
        return Gradients(bq, bv, controls, self.grads, stepper.reduced)
