"""Backward pass over runs of `Maximal`: one transposed solve per phase of a step, for any number of controls.

The state of a run is the poses and momenta of the bodies; joint positions and momenta are computed from them.

A parameter enters the equations of every step, the velocities at its nodes, and the conversion from bodies to joints.
With the gradients W by all of these at fixed unknowns, from the backward pass, its gradient is the sum of
W' d(equations)/d(parameter): a few evaluations for each step, no solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.integration.integrators import FloatArray, Reversal
from leastaction.maximal.derivatives.adjoint_sweep import BackwardPass, solver_of
from leastaction.maximal.derivatives.parameter_gradients import Derivative
from leastaction.parameters.parameter_differences import by_name, stencils

CONTROLS = "controls"


class MaximalReversal(Reversal):
    """See `Reversal`.

    Args:
        stepper: a `MaximalStepper`, after its `prepare_start`.
        names: as for `Stepper.reverse`.
    """

    def __init__(self, stepper: Any, names: Sequence[str]) -> None:
        self.stepper, self.solver = stepper, solver_of(stepper)
        self.names = [name for name in names if name != CONTROLS]
        found = [stencil for name in self.names for stencil in stencils(stepper.mechanism, name)]
        self.derivatives = [Derivative(stepper, stencil) for stencil in found]
        self.by_parameters = np.zeros(len(found))
        self.keeps_controls = CONTROLS in names
        self.controls: list[FloatArray] = []
        self.bars: FloatArray | None = None
        self.rest = np.zeros(2)  # of the segment after the next one, see `BackData`
        nv = stepper.mechanism.nv
        self.before = np.zeros((2, 0, nv))  # gradients by q and p of states of the previous segment
        self.first = np.zeros((2, nv))

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """See `Reversal.piece`."""
        bars, controls, count = np.stack([bq, bs]), np.zeros(u.shape), self.before.shape[1]
        bars[:, bars.shape[1] - 1 - count : bars.shape[1] - 1] += self.before
        if len(u):
            way = BackwardPass(self.stepper, self.solver, record, row, u, self.derivatives)
            way.rest[:] = self.rest
            self.bars = way.over(self.bars, bars[0, row:], bars[1, row:], controls)
            self.by_parameters += way.by_parameters
            self.first, self.rest, self.kink = way.start, way.rest, way.kink
        if row == 0:
            self.first = self.first + bars[:, 0]
        self.before = bars[:, :row].copy()
        if self.keeps_controls:
            self.controls.append(controls)

    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """See `Reversal.finish`."""
        m = self.stepper.mechanism
        out = {"q": self.first[0].copy(), "p": self.first[1].copy()}
        out["q"][prescribed_freedoms(m)] = 0.0  # a run starts at the prescribed positions
        if self.keeps_controls:
            shape = (0, len(self.stepper.control_nodes), m.nu)
            out[CONTROLS] = np.concatenate([*self.controls[::-1], np.zeros(shape)])
        return out | by_name(m, self.names, self.by_parameters)
