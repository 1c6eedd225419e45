"""Common base of the steppers of `Galerkin` and `Midpoint`: runs, and residuals of one step from those of many."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.batched_call import SOON, BatchedCall
from leastaction._jit.bound import Bound
from leastaction.integration.bisecting_stepper import BisectingStepper
from leastaction.integration.first_steps import FirstSteps, PlainFirstSteps
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.step_control.bisection import FINEST

ROLLOUT = "rollout with"
"""Prefix of the names of step kernels."""


class ActionStepper(BisectingStepper):
    """A stepper that provides the rows of its discrete action by `horizon_rows` and `horizon_blocks`.

    Attributes:
        written: arrays of the record that its rollout writes, in that order.
    """

    settings: Any
    written: tuple[str, ...] = ("q", "p", "iterations", "divided")

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self._kernels: dict[str, Bound] = {}
        self._others: dict[int, tuple[Mechanism, Any]] = {}
        self.order = int(integrator.order)

    @abstractmethod
    def compiled(self, mechanism: Mechanism) -> Any:
        """The kernel arrays of a mechanism."""

    @abstractmethod
    def make_rollout(self, settings: Any) -> Bound:
        """The kernel (model, settings, data, controls, rows of `written`) of many steps; it returns the number done."""

    def rollout(self, finest: int) -> Bound:
        """That kernel with all arguments but controls and rows bound, for at most `finest` substeps of a step."""
        name = f"{ROLLOUT} {finest} substeps"
        if name not in self._kernels:
            self._kernels[name] = self.make_rollout(self.settings._replace(finest=finest))
        return self._kernels[name]

    def run(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `BisectingStepper.run`."""
        return self._roll(record, first, last, u, 1)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        # A fresh array always has the same type; views with other strides would be compiled anew.
        u = np.array(u, order="C")
        done = self._roll(record, first, last, u, FINEST)
        if done < last:
            # The residuals of the whole step say more than those of its last substep.
            iterations = int(record["iterations"][done + 1])
            self.run(record, done, done + 1, u[done - first : done - first + 1])
            record["iterations"][done + 1] = iterations
        return done

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        arrays = [record[name] for name in self.written]
        walk = BatchedCall(self.rollout(FINEST), lambda row: (u, *(x[row : row + 2] for x in arrays)))
        return lambda first: first + 1 if walk(first) == 1 else self.advance(record, first, first + 1, u)

    def chunk_runner(self, states: Mapping[str, NDArray[Any]], u: FloatArray) -> Callable[[int], int] | None:
        """See `Stepper.chunk_runner`."""
        arrays = [states[name] for name in self.written]
        return BatchedCall(self.rollout(FINEST), lambda k: (u[k], *(x[k] for x in arrays)), SOON)

    def first_steps(self) -> FirstSteps:
        """See `Stepper.first_steps`."""
        rollout = self.rollout(FINEST)
        settings = rollout.first[1]
        return PlainFirstSteps(self, lambda dt: rollout.holding(1, settings._replace(dt=dt)), self.written)

    def _roll(self, record: Record, first: int, last: int, u: FloatArray, finest: int) -> int:
        rows = slice(first, last + 1)
        return first + self.rollout(finest)(u, *(record[name][rows] for name in self.written))

    def shorten(self) -> None:
        """See `BisectingStepper.shorten`."""
        self.settings = self.settings._replace(dt=self.dt)
        self._kernels = {}

    def with_dt(self, dt: float) -> Self:
        """See `Stepper.with_dt`; kernels stay bound to arrays that both share."""
        self.rollout(FINEST)
        part, kernels = copy.copy(self), self._kernels
        part.dt, part._shorter = dt, {1: part}
        part.shorten()
        rollouts = {name: kernel for name, kernel in kernels.items() if name.startswith(ROLLOUT)}
        part._kernels = {name: k.holding(1, k.first[1]._replace(dt=dt)) for name, k in rollouts.items()}
        return part

    def other(self, mechanism: Mechanism) -> Any:
        """`compiled` of a mechanism with another value of a parameter, cached because many steps use it."""
        kept = self._others.get(id(mechanism))
        if kept is None:
            kept = self._others[id(mechanism)] = (
                mechanism,
                self.compiled(mechanism),
            )  # stored, so that its id stays unique
        return kept[1]

    def residual(self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray) -> FloatArray:
        """See `Stepper.residual`."""
        rows = np.zeros((1, len(x) + 1, self.mechanism.nv))
        self.horizon_rows(self._control_points(q, x), self.held(u)[None], self.dt, rows)
        rows[0, 0] += p
        return rows[0]

    def residual_blocks(
        self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """See `Stepper.residual_blocks`."""
        points, n = len(x) + 1, self.mechanism.nv
        rows, D = np.zeros((1, points, n)), np.zeros((1, points, n, points, n))
        C = np.zeros((1, points, n, len(self.control_nodes), self.mechanism.nu))
        self.horizon_blocks(self._control_points(q, x), self.held(u)[None], self.dt, rows, D, C)
        rows[0, 0] += p
        return rows[0], D[0], C[0]

    def _control_points(self, q: FloatArray, x: FloatArray) -> FloatArray:
        """Configurations displaced from q by 0 and x, shape (s + 1, nq)."""
        return np.concatenate([q[None], self.mechanism.integrate(q, x)])
