"""What the bridges to PyTorch and JAX share: a simulation as a function of arrays, and its transposed Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.derivatives.adjoint import gradient
from leastaction.derivatives.ambient import from_tangent, to_tangent
from leastaction.derivatives.linearize import stepper_that
from leastaction.derivatives.turns import at_values
from leastaction.errors import IntegratorError
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters import parameter, with_parameters
from leastaction.simulate import simulate
from leastaction.start import number_of_steps
from leastaction.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class DifferentiableSimulation:
    """The function (q, v, controls, parameters ...) -> (positions, velocities); refuses at once what has no gradient.

    Attributes:
        mechanism: the robot.
        integrator: one with an adjoint.
        dt: time step [s].
        names: of the parameters of the mechanism, see `leastaction.adjoint`.
    """

    mechanism: Mechanism
    integrator: Integrator
    dt: float
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        stepper_that("reverse", self.mechanism, self.integrator, self.dt)
        for name in self.names:
            parameter(self.mechanism, name)

    def value(self, name: str) -> FloatArray:
        """A parameter of the mechanism as it is."""
        return parameter(self.mechanism, name)

    def check(self, values: Sequence[Any]) -> None:
        """Refuse values (arrays of any library) of other shapes than those of the parameters."""
        for name, value in zip(self.names, values, strict=True):
            expected = parameter(self.mechanism, name).shape
            if tuple(value.shape) != expected:
                raise IntegratorError(f"{name}: expected shape {expected}, got {tuple(value.shape)}")

    def controls(self, given: Any, steps: int | None, dtype: Any, zeros: Any) -> Any:
        """Controls of shape (steps, nu), zero where none are given: `zeros(shape, dtype)`."""
        steps = None if steps is None else number_of_steps(self.dt, None, steps)
        if given is None:
            if steps is None:
                raise IntegratorError("give either controls or steps")
            return zeros((steps, self.mechanism.nu), dtype=dtype)
        if given.ndim != 2 or given.shape[1] != self.mechanism.nu or steps not in (None, given.shape[0]):
            rows = "steps" if steps is None else steps
            shape = tuple(given.shape)
            raise IntegratorError(f"controls: expected shape ({rows}, {self.mechanism.nu}), got {shape}")
        return given

    def run(self, q: FloatArray, v: FloatArray, u: FloatArray, values: Sequence[FloatArray]) -> Trajectory:
        """Simulate; arrays of float64."""
        robot = with_parameters(self.mechanism, dict(zip(self.names, values, strict=True)))
        return simulate(robot, q, v, dt=self.dt, steps=len(u), controls=u, integrator=self.integrator)

    def pull_back(
        self, run: Trajectory, values: Sequence[FloatArray], bq: FloatArray, bv: FloatArray
    ) -> list[FloatArray]:
        """Gradients by q, v, controls and parameters from those by the entries of all positions and velocities."""
        dq = to_tangent(run.mechanism, run.q, bq)
        found = gradient(run, dq, bv, ["q", "v", "controls", *self.names])
        found = at_values(found, dict(zip(self.names, values, strict=True)))
        first = from_tangent(run.mechanism, run.q[0], found["q"])
        return [first, found["v"], found["controls"], *(np.asarray(found[name]) for name in self.names)]
