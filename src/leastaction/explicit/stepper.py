"""Steppers of the explicit methods; all store q and v."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.batched_call import SOON, BatchedCall
from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.errors import ConvergenceError
from leastaction.explicit.arrays import EULER, ExplicitSettings, Tableau, explicit_data, explicit_model
from leastaction.explicit.runge_kutta import acceleration, runge_kutta, semi_implicit
from leastaction.integration.first_steps import FirstSteps, PlainFirstSteps
from leastaction.integration.integrators import Stepper, refuse_loops
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


class ExplicitStepper(Stepper):
    """Shared by the explicit methods: model, settings and data, none of which remembers anything from step to step."""

    tableau: Tableau = EULER
    _entry: Any = None

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        refuse_loops(integrator, mechanism)
        super().__init__(integrator, mechanism, dt)
        self.model = plain(explicit_model(mechanism))
        self.settings = plain(ExplicitSettings(dt, self.tableau))
        self.data = plain(explicit_data(mechanism, len(self.tableau.nodes)))
        self._kernel = Bound(self._entry, self.model, self.settings, self.data)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        return first + self._kernel(u, record["q"][first : last + 1], record["v"][first : last + 1])

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        q, v = record["q"], record["v"]
        walk = BatchedCall(self._kernel, lambda row: (u, q[row : row + 2], v[row : row + 2]))
        return lambda first: first + walk(first)

    def first_steps(self) -> FirstSteps:
        """See `Stepper.first_steps`."""
        return PlainFirstSteps(self, self._with_length, ("q", "v"))

    def _with_length(self, dt: float) -> Bound:
        return self._kernel.holding(1, plain(ExplicitSettings(dt, self.tableau)))

    def chunk_runner(self, states: Mapping[str, NDArray[Any]], u: FloatArray) -> Callable[[int], int] | None:
        """See `Stepper.chunk_runner`."""
        q, v = states["q"], states["v"]
        return BatchedCall(self._kernel, lambda k: (u[k], q[k], v[k]), SOON)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        name = type(self.integrator).__name__
        message = f"{name}: the motion became infinite; take a smaller dt"
        return ConvergenceError(message, step=step, time=step * self.dt)


class RungeKuttaStepper(ExplicitStepper):
    """Methods with a tableau."""

    can = frozenset({"accuracy"})
    _entry = staticmethod(runge_kutta)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        self.tableau, self.order = integrator.tableau, len(integrator.tableau.nodes)
        self.control_nodes = self.tableau.nodes
        super().__init__(integrator, mechanism, dt)


class SemiImplicitStepper(ExplicitStepper):
    """Semi-implicit Euler."""

    can, order = frozenset({"accuracy"}), 1
    control_nodes = (0.0,)
    _entry = staticmethod(semi_implicit)


class AdaptiveStepper(ExplicitStepper):
    """SciPy's DOP853 from step to step; quaternions as plain variables, normalised on the way."""

    control_nodes = (0.0,)
    stuck = False
    stride, chunk_runner, first_steps = Stepper.stride, Stepper.chunk_runner, Stepper.first_steps

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        from scipy import integrate

        from leastaction.mechanism.configuration import normalize, quaternion_rate

        m, method = self.mechanism, self.integrator
        acc = np.zeros(m.nv)
        for step in range(first, last):
            # One step at a time: controls jump at the steps, and a jump inside an adaptive step costs dearly.
            def rate(t: float, y: FloatArray, u: FloatArray = u[step - first, 0]) -> FloatArray:
                q, v = normalize(m, y[: m.nq]), y[m.nq :]
                acceleration(self.model, self.data, q, np.ascontiguousarray(v), u, acc)
                return np.concatenate([quaternion_rate(m, q, v), acc])

            y0 = np.concatenate([record["q"][step], record["v"][step]])
            solver = integrate.DOP853(rate, 0.0, y0, self.dt, rtol=method.rtol, atol=method.atol)
            for _ in range(method.max_steps):
                solver.step()
                if solver.status != "running":
                    break
            self.stuck = solver.status == "running"
            if solver.status != "finished" or not np.isfinite(solver.y).all():
                return step
            record["q"][step + 1] = normalize(m, solver.y[: m.nq])
            record["v"][step + 1] = solver.y[m.nq :]
        return last

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        if not self.stuck:
            return super().failure(step, record)
        message = (
            f"DOP853: more than max_steps = {self.integrator.max_steps} steps within dt = {self.dt:g} s; the motion "
            "is too stiff or too fast for rtol and atol"
        )
        return ConvergenceError(message, step=step, time=step * self.dt)
