"""Derivatives of one step of `Maximal`, by the backward pass over a run of one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.derivatives.adjoint_sweep import BackwardPass, solver_of
from leastaction.maximal.derivatives.parameter_gradients import Derivative


class OneStep:
    """The step from (q, p) with the controls u at its nodes, shape (nodes, nu), and the backward pass over it.

    Args:
        stepper: a `MaximalStepper`.
        stencils: of parameters to differentiate by, see `leastaction.parameters.parameter_differences`.

    Attributes:
        q, p: at its end.
    """

    def __init__(self, stepper: Any, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any] = ()) -> None:
        self.n = stepper.mechanism.nv
        record = stepper.record(1)
        record["q"][0], record["p"][0] = q, p
        if stepper.advance(record, 0, 1, u[None]) < 1:
            raise stepper.failure(0, record)
        self.q, self.p = record["q"][1], record["p"][1]
        derivatives = [Derivative(stepper, stencil) for stencil in stencils]
        self.way = BackwardPass(stepper, solver_of(stepper), record, 0, u[None], derivatives)

    def jacobians(self) -> tuple[FloatArray, FloatArray]:
        """(A, B) of `leastaction.linearize`, for controls that are constant over the step."""
        found = self.way.jacobians()
        self._refuse_kinks()
        return found

    def _refuse_kinks(self) -> None:
        if self.way.kink:
            raise IntegratorError(self.way.kink)

    def backward(self, bq: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Gradients by q, by p, by the controls at the nodes and by parameters from those by (q', p')."""
        controls, bars = np.zeros(self.way.u.shape), np.zeros((2, 2, self.n))
        bars[0, 1], bars[1, 1] = bq, bp
        self.way.by_parameters[:] = 0.0
        self.way.over(None, bars[0], bars[1], controls)
        self._refuse_kinks()
        by_q, by_p = self.way.start.copy()
        return by_q, by_p, controls[0], self.way.by_parameters.copy()

    def by_parameters(self) -> FloatArray:
        """Derivatives of (q', p') by the parameters, shape (2 nv, entries)."""
        unit = np.eye(2 * self.n)
        return np.array([self.backward(row[: self.n], row[self.n :])[3] for row in unit])
