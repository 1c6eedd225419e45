"""Steppers of states (q, p) whose steps are bisected: what Python sees of it, and derivatives through all substeps."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from leastaction.integration.integrators import FloatArray, Stepper
from leastaction.integration.record import Record
from leastaction.step_control.bisection import FINEST, control_weights, interpolate_controls, substep_after


class Substep(NamedTuple):
    """A substep that was solved just now.

    Attributes:
        stepper: of its length; its data hold what was solved.
        record: of both its ends.
        u: its controls, shape (nodes, nu).
        index: the how-maniest it is of so many equal ones.
    """

    stepper: Any
    record: Record
    u: FloatArray
    index: int

    def solve(self) -> None:
        """Bring what was solved back to the data, after something else was."""
        self.stepper.solve(self.record["q"][0], self.record["p"][0], self.u)


class BisectingStepper(Stepper):
    """A stepper of states (q, p) that bisects steps which are not accepted, see `step_control.bisection`.

    Attributes:
        parts: how many of its steps make one of the user's.
    """

    momentum = True
    can = frozenset({"accuracy", "linearize", "parameters", "residual", "reverse"})
    parts = 1
    data: Any

    def __init__(self, integrator: Any, mechanism: Any, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self._shorter: dict[int, Self] = {1: self}

    # ------------------------------------------------------------------ what methods say

    @abstractmethod
    def run(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """As `Stepper.advance`, by whole steps; the step after those done was not accepted."""

    @abstractmethod
    def shorten(self) -> None:
        """Take over the step size of `self.dt`; what the stepper writes may be shared with one of another step size."""

    @abstractmethod
    def linearize_solved(self, record: Record, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step in `record`, solved by `run` just now, with the controls u (nodes, nu) held."""

    @abstractmethod
    def pull_back_solved(
        self, record: Record, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """`Stepper.pull_back_all` of that step."""

    @abstractmethod
    def parameter_jacobian_solved(self, record: Record, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """`Stepper.parameter_jacobian` of that step."""

    # ------------------------------------------------------------------ runs

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the Newton iterations of each step and how it was bisected, see `bisection`."""
        extras = {name: np.zeros(steps + 1, np.int64) for name in ("iterations", "divided")}
        return super().record(steps) | extras

    def shorter(self, substeps: int) -> Self:
        """A stepper with that part of the step size, which shares what this one writes."""
        if substeps not in self._shorter:
            part = copy.copy(self)
            part.parts, part.dt, part._shorter = substeps * self.parts, self.dt / substeps, {1: part}
            part.shorten()
            self._shorter[substeps] = part
        return self._shorter[substeps]

    @property
    def advice(self) -> str:
        """What to do about steps that cannot be solved."""
        return f"it was divided into up to {FINEST} parts; take a smaller dt"

    @property
    def no_solution(self) -> str:
        """Why a step failed, where nothing else is known."""
        return (
            f"the Newton updates did not fall below {self.integrator.tolerance:g} within "
            f"{self.integrator.max_iterations} iterations, or only with spurious energy; {self.advice} or a "
            "larger tolerance"
        )

    # ------------------------------------------------------------------ derivatives

    def held(self, u: FloatArray) -> FloatArray:
        """Controls as kernels take them, shape (nodes, nu)."""
        return np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)), order="C")

    def solve(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record | None:
        """The step from (q, p) with the controls u (nodes, nu), left in the data; None where it is not accepted."""
        record = self.record(1)
        record["q"][0], record["p"][0] = q, p
        return record if self.run(record, 0, 1, u[None]) == 1 else None

    def solve_whole(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record:
        """As `solve`, for what bisected steps do not have."""
        record = self.solve(q, p, u)
        if record is None:
            raise self.failure(0, self.record(1))
        return record

    def substeps(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Iterator[Substep]:
        """The substeps of the step from (q, p) with the controls u (nodes, nu), each solved when it is asked for."""
        substeps, substep, halvings = 1, 0, 1
        while substep < substeps:
            part, own = self.shorter(substeps), u.copy()
            interpolate_controls(u, np.array(self.control_nodes), substeps, substep, own)
            record = part.solve(q, p, own)
            if record is None and part.parts >= FINEST:
                raise self.failure(0, self.record(1))
            if record is not None:
                yield Substep(part, record, own, substep)
                q, p = record["q"][1], record["p"][1]
            substeps, substep, halvings = substep_after(substeps, substep, halvings, record is not None)

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with the controls u (nu,) held; see `leastaction.linearize`."""
        parts = self.substeps(q, p, self.held(u))
        first = next(parts)
        A, B = first.stepper.linearize_solved(first.record, first.u)
        for part in parts:
            own, by_controls = part.stepper.linearize_solved(part.record, part.u)
            A, B = own @ A, own @ B + by_controls
        return A, B

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """See `Stepper.pull_back`."""
        return self.pull_back_all(q, p, u, bar, ())[0]

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.pull_back_all`."""
        u = self.held(u)
        by_controls, by_parameters = np.zeros(u.shape), np.zeros(len(stencils))
        parts = list(self.substeps(q, p, u))
        for k, part in enumerate(reversed(parts)):
            if k > 0:
                part.solve()
            own, parameters = part.stepper.pull_back_solved(part.record, part.u, bar, stencils)
            weights = control_weights(self.control_nodes, part.stepper.parts // self.parts, part.index)
            by_controls += weights.T @ own
            by_parameters += parameters
        return by_controls, by_parameters

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `Stepper.parameter_jacobian`."""
        E = np.zeros((2 * self.mechanism.nv, len(stencils)))
        for part in self.substeps(q, p, self.held(u)):
            if part.stepper is not self:
                E = part.stepper.linearize_solved(part.record, part.u)[0] @ E
                part.solve()
            E = E + part.stepper.parameter_jacobian_solved(part.record, part.u, stencils)
        return E
