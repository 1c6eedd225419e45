"""The stepper for large trees with springs: conjugate gradients instead of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._tuples import plain
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integration.integrators import Stepper
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.arrays import LinearSettings, gradient_data, linear_model
from leastaction.redmax.linear_implicit.conjugate_gradients import preconditioned_rollout


class PreconditionedStepper(Stepper):
    """Large systems of springs by conjugate gradients with the O(n) inverse inertia as preconditioner."""

    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        limited = any(np.isfinite((*j.lower, *j.upper)).any() for j in mechanism.joints)
        shapes = any(shape.collision for body in mechanism.bodies for shape in body.shapes)
        touching = ((mechanism.contacts or shapes) and mechanism.ground) or mechanism.penalties or mechanism.tendons
        if not mechanism.is_tree or integrator.constraints or limited or touching:
            raise IntegratorError(
                f"solver='pcg' runs trees without loops, couplings, limits, constraints, contacts and tendons, which "
                f"{mechanism.name!r} has; use solver='dense'"
            )
        self.model = plain(linear_model(mechanism))
        self.settings = plain(LinearSettings(dt, float(integrator.tolerance)))
        self.data = plain(gradient_data(mechanism))

    def record(self, steps: int) -> Record:
        """q, v and the iterations of conjugate gradients."""
        record = super().record(steps)
        record["iterations"] = np.zeros(steps + 1, np.int64)
        return record

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        rows = slice(first, last + 1)
        states = record["q"][rows], record["v"][rows], record["iterations"][rows]
        return first + int(preconditioned_rollout(self.model, self.settings, self.data, u, *states))

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error of the step that failed."""
        return ConvergenceError("conjugate gradients did not converge; take a smaller dt, or solver='dense'", step=step)
