"""The stepper of direct collocation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from leastaction._jit.batched_call import BatchedCall
from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.collocation.arrays import CollocationSettings, collocation_data, collocation_model
from leastaction.collocation.collocation_horizon import accelerations
from leastaction.collocation.collocation_newton import rollout
from leastaction.errors import ConvergenceError
from leastaction.integration.integrators import Stepper, refuse_loops
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


class CollocationStepper(Stepper):
    """Runs both methods: state (q, v), Newton to the integrator's tolerance."""

    can = frozenset({"accelerations"})

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        refuse_loops(integrator, mechanism)
        self.control_nodes = integrator.nodes
        self.model = plain(collocation_model(mechanism))
        self.settings = plain(CollocationSettings(dt, float(integrator.tolerance), int(integrator.max_iterations)))
        data = collocation_data(mechanism, len(self.control_nodes), integrator.max_iterations)
        self.history, self.data = data.history, plain(data)
        self._rollout = Bound(rollout, self.model, self.settings, self.data)

    def record(self, steps: int) -> Record:
        """Also the Newton iterations of each step."""
        return super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """Fill rows first + 1 ... last by the compiled loop."""
        rows = slice(first, last + 1)
        self.history[:] = 0.0
        states = record["q"][rows], record["v"][rows], record["iterations"][rows]
        return first + self._rollout(u, *states)

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        arrays = [record[name] for name in ("q", "v", "iterations")]
        walk = BatchedCall(self._rollout, lambda row: (u, *(x[row : row + 2] for x in arrays)))

        def step(first: int) -> int:
            self.history[:] = 0.0
            return first + walk(first)

        return step

    def accelerations(self, q: FloatArray, v: FloatArray, u: FloatArray, slopes_too: bool) -> tuple[Any, Any]:
        """See `Stepper.accelerations`."""
        n, nu = v.shape[1], u.shape[1]
        q, v, u = (np.ascontiguousarray(x) for x in (q, v, u))
        A, G = np.zeros_like(v), np.zeros((len(q) if slopes_too else 0, n, 2 * n + nu))
        accelerations(self.model, self.data, q, v, u, np.zeros(nu), A, G)
        return A, G if slopes_too else None

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The defects of the Newton iterations go with the error."""
        method = self.integrator
        residuals = [float(x) for x in self.history if x > 0.0 or math.isnan(x)]
        return ConvergenceError(
            f"{type(method).__name__}: step {step + 1} did not converge to {method.tolerance:g} within "
            f"{method.max_iterations} iterations (last defect {residuals[-1] if residuals else 0.0:.3g}); "
            "take a smaller dt or a larger tolerance",
            step=step,
            residuals=residuals,
        )
