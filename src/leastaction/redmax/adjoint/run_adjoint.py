"""Running the adjoint method over a recorded run, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction._jit.interruptible import interruptible
from leastaction._tuples import plain
from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Reversal
from leastaction.kinematics.reduced.expansion import WELD
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import ROLL
from leastaction.redmax.adjoint.arrays import ParameterGradients, ReverseData, RunGradients
from leastaction.redmax.adjoint.by_name import parameter_gradient
from leastaction.redmax.adjoint.chart_adjoint import pull_public, push_public
from leastaction.redmax.adjoint.run_gradients import Gradients
from leastaction.redmax.adjoint.stage_adjoint import close_first, reverse
from leastaction.redmax.arrays import ReducedRun
from leastaction.typing import FloatArray


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
        own = welded(stepper.mechanism, names)
        self.kept = stepper.kept
        if own is not None:
            stepper = stepper.integrator.prepare(own, stepper.dt)
            stepper.keep(self.kept)
        self.stepper, self.wanted, self.keeps_controls = stepper, bool(self.names), "controls" in names
        self.back = ReverseData.zeros(stepper.reduced, len(self.kept))
        self.grads = ParameterGradients.zeros(stepper.reduced)
        self.controls: list[FloatArray] = []
        self.drives = np.zeros(stepper.mechanism.nu)
        self.carried: tuple[FloatArray, FloatArray] | None = None

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """See `Reversal.piece`."""
        stepper, c = self.stepper, self.stepper.reduced.coordinates
        run = stepper.run_arrays(record)
        last = len(run.R) - 1
        BX, BV = np.zeros((last + 1, c.nr)), np.zeros((last + 1, c.nr))
        dq, dv = np.array(bq, order="C"), np.array(bs, order="C")
        pull_public(c.model.balls, c.model.index_v, run.R, run.RD, run.charts, dq, dv, BX, BV)
        if self.carried is not None:
            count = len(self.carried[0])
            BX[last + 1 - count :] += self.carried[0]
            BV[last + 1 - count :] += self.carried[1]
        U, BU = np.zeros((last, stepper.mechanism.nu)), np.zeros((last, stepper.mechanism.nu))
        U[row:] = u[:, 0]
        bars = RunGradients(BX, BV, U, BU, self.wanted)
        failed = self._reverse(stepper, run, record["divided"], bars, row, last)
        if failed >= 0:
            raise IntegratorError(
                f"the adjoint of step {first - row + failed} has no solution: its Newton matrix is singular"
            )
        self.carried = BX[: row + 1].copy(), BV[: row + 1].copy()
        self.drives += (U[row:] * BU[row:]).sum(axis=0)
        if self.keeps_controls:
            self.controls.append(BU[row:, None])
        self.first = run, U

    def _reverse(self, stepper: Any, run: ReducedRun, divided: Any, bars: RunGradients, first: int, last: int) -> int:
        """As the kernel `reverse`, substep by substep where steps were bisected."""
        problem = (*self._problem(stepper), tuple(run), *self._scratch(), tuple(bars))
        for step in first + np.flatnonzero(divided[first + 1 : last + 1])[::-1]:
            failed = interruptible(reverse, *problem, int(step) + 1, last)
            if failed < 0 and not self._reverse_parts(stepper, run, bars, int(step)):
                failed = int(step)
            if failed >= 0:
                return failed
            last = int(step)
        return interruptible(reverse, *problem, first, last)

    def _reverse_parts(self, stepper: Any, run: ReducedRun, bars: RunGradients, step: int) -> bool:
        """Turn row step + 1 of the gradients of a divided step into those by row step; False if H is singular."""
        u = bars.U[step]
        substeps = stepper.substeps(run, step, u[None])
        BX, BV, BU = np.zeros((2, len(bars.BX[0]))), np.zeros((2, len(bars.BV[0]))), np.zeros((1, len(u)))
        BX[0], BV[0] = bars.BX[step + 1], bars.BV[step + 1]
        for part, own in reversed(substeps):
            BX[1], BV[1], BX[0], BV[0] = BX[0], BV[0], 0.0, 0.0
            gradients = RunGradients(BX, BV, u[None], BU, bars.wanted)
            if self._reverse(part, own, own.divided, gradients, 0, 1) >= 0:
                return False
        bars.BX[step] += BX[0]
        bars.BV[step] += BV[0]
        bars.BU[step] += BU[0]
        return bool(substeps)

    def _problem(self, stepper: Any = None) -> tuple[Any, ...]:
        s = self.stepper if stepper is None else stepper
        return plain(s.reduced.model), tuple(s.settings), plain(s.data)

    def _scratch(self) -> tuple[Any, ...]:
        return plain(self.back), plain(self.grads)

    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """See `Reversal.finish`."""

        found = self.gradients(q)
        out = {"q": found.q, "v": found.v, **({"controls": found.controls} if self.keeps_controls else {})}
        return out | {name: parameter_gradient(found, self.mechanism, name) for name in self.names}

    def gradients(self, q: FloatArray) -> Gradients:
        """All gradients by the arrays that kernels read."""
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
        controls = np.concatenate(self.controls[::-1]) if self.controls else np.zeros((0, 1, m.nu))
        found = self.grads._replace(placements=self.grads.placements.copy())
        for k, ball in enumerate(c.model.balls):
            # The rest orientation of a ball's spring turns with the joint's frame.
            found.placements[ball.node, :3] += found.forces.balls[k, 9:]
        return Gradients(bq, bv, controls, found, stepper.reduced, self.drives)
