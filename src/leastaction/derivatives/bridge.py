"""What the bridges to PyTorch and JAX share: a simulation as a function of arrays, and its transposed Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.batch.threads import on_all_cores
from leastaction.derivatives.adjoint import gradient
from leastaction.derivatives.ambient import from_tangent, to_tangent
from leastaction.derivatives.linearize import stepper_that
from leastaction.derivatives.rotation_gradients import at_values
from leastaction.errors import IntegratorError, LeastActionError, MechanismError
from leastaction.initial_state.start import number_of_steps
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters.parameters import parameter, with_parameters
from leastaction.simulation.simulate import simulate
from leastaction.trajectory.trajectory import Trajectory


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

    def check(self, values: Sequence[Any], robots: bool = False) -> None:
        """Refuse values (arrays of any library) of other shapes than those of the parameters; see `controls`."""
        for name, value in zip(self.names, values, strict=True):
            expected = parameter(self.mechanism, name).shape
            own = value.shape[max(0, value.ndim - len(expected)) :] if robots else value.shape
            if tuple(own) != expected:
                raise IntegratorError(f"{name}: expected shape {expected}, got {tuple(value.shape)}")

    def controls(self, given: Any, steps: int | None, dtype: Any, zeros: Any, robots: bool = False) -> Any:
        """Controls of shape (steps, nu), zero where none are given: `zeros(shape, dtype)`.

        With `robots` there may be axes of robots before these.
        """
        steps = None if steps is None else number_of_steps(self.dt, None, steps)
        if given is None:
            if steps is None:
                raise IntegratorError("give either controls or steps")
            return zeros((steps, self.mechanism.nu), dtype=dtype)
        axes = given.ndim == 2 or (robots and given.ndim > 2)
        if not axes or given.shape[-1] != self.mechanism.nu or steps not in (None, given.shape[-2]):
            rows = "steps" if steps is None else steps
            shape = tuple(given.shape)
            raise IntegratorError(f"controls: expected shape ({rows}, {self.mechanism.nu}), got {shape}")
        return given

    def run_all(self, arrays: Sequence[FloatArray]) -> tuple[list[Trajectory], FloatArray, FloatArray]:
        """Runs of many robots, on all cores, and their positions and velocities; see `run`.

        Args:
            arrays: q, v, controls and parameters, each with the same axes of robots first.
        """
        axes = arrays[0].shape[:-1]
        for name, x, size in zip("qv", arrays, (self.mechanism.nq, self.mechanism.nv), strict=False):
            if x.shape[-1:] != (size,):
                raise MechanismError(f"{name}: expected shape (..., {size}), got {x.shape}")
        robots = _by_robot(arrays, axes)
        if not robots:
            raise IntegratorError(f"there must be one robot or more, got axes {axes}")

        def one(k: int) -> Trajectory:
            q, v, u, *values = robots[k]
            try:
                return self.run(q, v, u, values)
            except LeastActionError as error:
                if axes:  # which of them
                    place = ", ".join(map(str, np.unravel_index(k, axes)))
                    error.args = (f"robot {place}: {error.args[0]}", *error.args[1:])
                raise

        runs = on_all_cores(one, range(len(robots)))
        q, v = np.stack([run.q for run in runs]), np.stack([run.v for run in runs])
        return runs, q.reshape(*axes, *q.shape[1:]), v.reshape(*axes, *v.shape[1:])

    def pull_back_all(
        self, runs: Sequence[Trajectory], arrays: Sequence[FloatArray], bars: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """`pull_back` of all runs: gradients by q, v, controls and parameters, shaped as `arrays`."""
        axes = arrays[0].shape[:-1]
        robots = zip(runs, _by_robot(arrays[3:], axes), _by_robot(bars, axes), strict=True)
        found = on_all_cores(lambda one: self.pull_back(one[0], one[1], one[2][0], one[2][1]), list(robots))
        return [np.stack(x).reshape(like.shape) for x, like in zip(zip(*found, strict=True), arrays, strict=True)]

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


def _by_robot(arrays: Sequence[FloatArray], axes: tuple[int, ...]) -> list[list[FloatArray]]:
    """The arrays of each robot, from ones with axes of robots first."""
    count = int(np.prod(axes))
    flat = [x.reshape(count, *x.shape[len(axes) :]) for x in arrays]
    return [[x[k] for x in flat] for k in range(count)]
