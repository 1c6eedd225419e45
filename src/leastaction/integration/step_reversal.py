"""Going back over runs whose whole state between two steps is (q, p), one step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.integration.integrators import FloatArray, Reversal, Stepper
from leastaction.parameters.parameter_differences import by_name, stencils

CONTROLS = "controls"


class StepReversal(Reversal):
    """Chains `Stepper.pull_back` over the steps of a run.

    Args:
        stepper: after its `prepare_start`.
        names: as for `Stepper.reverse`.
    """

    def __init__(self, stepper: Stepper, names: Sequence[str]) -> None:
        self.stepper = stepper
        m = stepper.mechanism
        self.names = [name for name in names if name != CONTROLS]
        self.stencils = [stencil for name in self.names for stencil in stencils(m, name)]
        self.by_parameters = np.zeros(len(self.stencils))
        self.keeps_controls = CONTROLS in names
        self.controls: list[FloatArray] = []
        self.carried = np.zeros((0, 2 * m.nv))

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """See `Reversal.piece`."""
        Q, P = record["q"], record["p"]
        bars = np.hstack([bq, bs])
        bars[len(bars) - len(self.carried) :] += self.carried
        controls = np.zeros(u.shape)
        for k in range(len(u) - 1, -1, -1):
            at = row + k
            bar = bars[at + 1].copy()
            controls[k], by_parameters = self.pull_back(Q[at], P[at], u[k], bar)
            self.by_parameters += by_parameters
            bars[at] += bar
        self.carried = bars[: row + 1].copy()
        if self.keeps_controls:
            self.controls.append(controls)

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> tuple[FloatArray, Any]:
        """`Stepper.pull_back`; with gradients by the entries of all parameters, where there are any."""
        if not self.stencils:
            return self.stepper.pull_back(q, p, u, bar), 0.0
        return self.stepper.pull_back_all(q, p, u, bar, self.stencils)

    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """See `Reversal.finish`."""
        m = self.stepper.mechanism
        bar = self.carried[0] if len(self.carried) else np.zeros(2 * m.nv)
        out = {"q": bar[: m.nv].copy(), "p": bar[m.nv :].copy()}
        if self.keeps_controls:
            shape = (0, len(self.stepper.control_nodes), m.nu)
            out[CONTROLS] = np.concatenate([*self.controls[::-1], np.zeros(shape)])
        return out | by_name(m, self.names, self.by_parameters)
