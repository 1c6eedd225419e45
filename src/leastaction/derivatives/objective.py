"""Objectives of simulations as functions of one vector, for `scipy.optimize.minimize` and its like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.actuation.controls import check_call
from leastaction.derivatives.adjoint import Objective, adjoint
from leastaction.derivatives.checkpoints import piecewise
from leastaction.derivatives.objective_value import ObjectiveValue
from leastaction.derivatives.rotation_gradients import at_values
from leastaction.derivatives.velocity_reversal import STATES
from leastaction.errors import IntegratorError
from leastaction.initial_state.start import initial_positions, initial_velocities, number_of_steps
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import label, number, positive, real_array, shown, vector
from leastaction.mechanism.arguments import FloatArray, robot, tangent
from leastaction.parameters.parameters import parameter, parameter_names, with_parameters
from leastaction.simulation.simulate import simulate
from leastaction.trajectory.trajectory import Trajectory
from leastaction.typing import Parameters


class SimulationObjective:
    """An objective of a simulation as a function of a vector of parameters, with its gradient.

    Example:
        >>> f = SimulationObjective(robot, la.BDF(order=2), objective, ["controls"], dt=0.01, steps=100)
        >>> scipy.optimize.minimize(f, f.start, jac=True)

    Attributes:
        start: the vector of the present values, shape (n,).
        evaluations: number of calls so far.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Integrator,
        objective: Objective,
        parameters: Iterable[str],
        *,
        penalty: Callable[[dict[str, FloatArray]], tuple[float, Mapping[str, ArrayLike]]] | None = None,
        scale: dict[str, float] | None = None,
        checkpoints: int | bool | None = None,
        **options: Any,
    ) -> None:
        """Collect what a simulation needs.

        Args:
            mechanism: the robot.
            integrator: any with an adjoint, as for `adjoint`.
            objective: of the trajectory, as for `adjoint`.
            parameters: names, as for `adjoint`.
            penalty: optional function of the dictionary of parameters that gives a value to add, and a dictionary of
                gradients; for effort, regularisation, ...
            scale: size of a unit of the vector for some parameters; default 1.
            checkpoints: as for `adjoint`.
            **options: as for `simulate`.
        """
        self.mechanism, self.integrator, self.objective = robot(mechanism), integrator, objective
        self.names, self.penalty, self.options = parameter_names(parameters), penalty, dict(options)
        if not self.names:
            raise IntegratorError("parameters: expected one name or more")
        check_call(objective, "objective", ("run",))
        if penalty is not None:
            check_call(penalty, "penalty", ("values",))
        self.checkpoints = checkpoints
        if "q" in self.names and mechanism.nq != mechanism.nv:
            raise IntegratorError("the initial positions of ball and free joints are no vector to optimise over")
        self.values = {name: self._present(name) for name in self.names}
        self.scales = self._scales({} if scale is None else scale)
        self.start = self.pack(self.values)
        self.evaluations = 0

    def _scales(self, scale: Any) -> dict[str, float]:
        if not isinstance(scale, Mapping) or not all(name in self.names for name in scale):
            raise IntegratorError(f"scale: expected sizes by names of parameters, got {shown(scale)}")
        return {name: positive(scale.get(name, 1.0), f"scale of {name!r}") for name in self.names}

    def _present(self, name: str) -> FloatArray:
        m, o = self.mechanism, self.options
        if name == "controls":
            steps = number_of_steps(o.get("dt", 0.01), o.get("duration"), o.get("steps"))
            given = o.get("controls")
            table = np.zeros(m.nu) if given is None else real_array(given)
            try:
                return np.array(np.broadcast_to(table, (steps, m.nu)), float)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                raise IntegratorError(f"controls: expected shape ({steps}, {m.nu}), got {shown(given)}") from None
        if name == "q":
            return initial_positions(m, o.get("q"))
        if name == "v":
            return initial_velocities(m, o.get("v"))
        if name == "p":
            return tangent(m, o.get("p"), "p")
        return parameter(m, name)

    def pack(self, values: Parameters) -> FloatArray:
        """The vector of given values."""
        pieces = []
        for name in self.names:
            numbers = real_array(values[name]) if isinstance(values, Mapping) and name in values else None
            if numbers is None or numbers.size != self.values[name].size or not np.isfinite(numbers).all():
                size = self.values[name].size
                raise IntegratorError(f"values: expected {size} finite numbers for {name!r}, got {shown(values)}")
            pieces.append(numbers.ravel() / self.scales[name])
        return np.concatenate(pieces)

    def unpack(self, x: ArrayLike) -> dict[str, FloatArray]:
        """The values of a vector."""
        total = sum(value.size for value in self.values.values())
        numbers = real_array(x)
        if numbers is None or numbers.shape != (total,) or not np.isfinite(numbers).all():
            got = shown(x) if numbers is None or numbers.shape == (total,) else f"shape {numbers.shape}"
            raise IntegratorError(f"x: expected {total} finite numbers, got {got}")
        out, k = {}, 0
        for name in self.names:
            size = self.values[name].size
            out[name] = numbers[k : k + size].reshape(self.values[name].shape) * self.scales[name]
            k += size
        return out

    def _case(self, x: Any) -> tuple[Mechanism, dict[str, Any]]:
        """The mechanism and the options of the simulation with the parameters x."""
        values = self.unpack(x)
        changed = with_parameters(self.mechanism, {k: v for k, v in values.items() if k not in STATES})
        return changed, self.options | {k: v for k, v in values.items() if k in STATES}

    def run(self, x: ArrayLike) -> Trajectory:
        """The simulation with the parameters x."""
        robot, options = self._case(x)
        return simulate(robot, integrator=self.integrator, **options)

    def __call__(self, x: ArrayLike) -> tuple[float, FloatArray]:
        """Value and gradient at x."""
        self.evaluations += 1
        robot, options = self._case(x)
        settings: dict[str, Any] = {"checkpoints": self.checkpoints, **options}
        value, total = adjoint(robot, self.integrator, self.objective, self.names, **settings)
        if self.penalty is not None:
            extra, slopes = self.penalty(self.unpack(x))
            value += extra
            total = {name: total[name] + np.asarray(slopes.get(name, 0.0)) for name in self.names}
        total = at_values(total, self.unpack(x))
        # Units: a step of one in x is a step of `scale` in the parameter.
        pieces = [np.ravel(np.broadcast_to(total[n], self.values[n].shape)) * self.scales[n] for n in self.names]
        return float(value), np.concatenate(pieces)


def reach(body: str, point: ArrayLike, target: ArrayLike, *, step: int = -1, weight: float = 1.0) -> Objective:
    """Objective weight / 2 |x - target|^2 of a point of a body at a step (Sueda 2021, Eq. 3.82).

    Args:
        body: name of the body.
        point: in its frame [m], 3 numbers.
        target: in the world [m], 3 numbers.
        step: index of the state, -1 for the last.
        weight: of the square [1/m^2].

    Returns:
        An objective for `adjoint`; objectives of this kind can be added and scaled, and what they give of a run is an
        `ObjectiveValue`, which can be, too.
    """
    label(body, "body")
    point, target = np.array(vector(point, 3, "point")), np.array(vector(target, 3, "target"))
    weight = number(weight, "weight")
    if not isinstance(step, int | np.integer) or isinstance(step, bool):
        raise IntegratorError(f"step: expected the index of a state, got {shown(step)}")

    @piecewise
    def objective(run: Trajectory, first: int, steps: int) -> ObjectiveValue:
        from leastaction.dynamics import body_jacobian, body_poses

        if not -steps - 1 <= step <= steps:
            raise IntegratorError(f"step: there is no state {step} in a run of {steps} steps")
        row = step % (steps + 1) - first
        if not 0 <= row < len(run):
            return ObjectiveValue(0.0)
        m, q = run.mechanism, run.q[row]
        poses = body_poses(m, q)
        X = poses[m.body_index(body)]
        x = X[:3, :3] @ point + X[:3, 3]
        miss = x - target
        dq = np.zeros((len(run), m.nv))
        dq[row] = weight * body_jacobian(m, q, body, point=point)[3:].T @ miss

        def direct(name: str) -> Any:
            """The point moves with the placements of the joints that carry it."""
            kind, _, part = name.partition(":")
            chain = (*m.ancestors[m.body_index(body)], m.body_index(body))
            carried = [m.joints[k] for k in chain if m.joints[k].name == part]
            if kind not in ("position", "rotation") or not carried:
                return 0.0
            parent = m.body_index(carried[0].parent)
            R, p = (np.eye(3), np.zeros(3)) if parent < 0 else (poses[parent][:3, :3], poses[parent][:3, 3])
            if kind == "position":
                return weight * R.T @ miss
            lever = x - (R @ np.array(carried[0].pose.position) + p)
            return weight * R.T @ np.cross(lever, miss)

        return ObjectiveValue(0.5 * weight * float(miss @ miss), dq, None, direct)

    return objective
