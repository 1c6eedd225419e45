"""Steps that have no plausible solution are divided: each half is a step of the same method, and may be divided again.

The equations of a step that is too long for a fast motion may have no solution near the motion, or others that are
nearer to where Newton starts. How a step is divided depends on the state at its start and on its controls alone, so a
run that is taken up at one of its states goes on as before, and derivatives of a step find the same parts again.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from leastaction.integrators import FloatArray, Stepper
from leastaction.record import Record
from leastaction.step_parts import LONGEST as LONGEST

FINEST = 1024
"""Most parts that a step is divided into."""


def joined(first: int, second: int) -> int:
    """The number that tells how a step was halved, from those of its halves."""
    if first < 0 or second < 0:
        return -1
    bits = "".join(f"{half:b}"[1:] if half else "0" for half in (first, second))
    number = int("11" + bits, 2)
    return number if number < LONGEST else -1


def halves_of_controls(nodes: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Weights W (nodes, nodes) of both halves of a step: controls at their nodes are W u, by interpolation of u."""
    c = np.array(nodes)
    out = []
    for start in (0.0, 0.5):
        at = start + 0.5 * c
        W = np.ones((len(c), len(c)))
        for j in range(len(c)):
            for k in range(len(c)):
                if k != j:
                    W[:, j] *= (at - c[k]) / (c[j] - c[k])
        out.append(W)
    return out[0], out[1]


class HalvingStepper(Stepper):
    """A stepper of states (q, p) whose steps are divided where they have no plausible solution.

    Attributes:
        parts: how many of its steps make one of the user's.
    """

    momentum = True
    can = frozenset({"linearize", "parameters", "residual", "reverse"})
    parts = 1
    data: Any

    # ------------------------------------------------------------------ what methods say

    @abstractmethod
    def run(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """As `Stepper.advance`, by whole steps; the step after those done has no plausible solution."""

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
        """As `Stepper.record`, with the Newton iterations of each step and how it was divided, see `step_parts`."""
        extras = {name: np.zeros(steps + 1, np.int64) for name in ("iterations", "divided")}
        return super().record(steps) | extras

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        # A fresh array always has the same type; views with other strides would be compiled anew.
        u = np.array(u, order="C")
        done = self.run(record, first, last, u)
        while done < last and self._divide(record, done, u[done - first]):
            done = self.run(record, done + 1, last, u[done + 1 - first :]) if done + 1 < last else last
        return done

    def _divide(self, record: Record, step: int, u: FloatArray) -> bool:
        """Solve a step with the controls u (nodes, nu) in two halves; False: in vain."""
        half = self.half
        if half is None:
            return False
        history, pair = self.data.history.copy(), half.record(2)
        pair["q"][0], pair["p"][0] = record["q"][step], record["p"][step]
        done = half.advance(pair, 0, 2, np.stack(self.halves(u)))
        record["iterations"][step + 1] += pair["iterations"].sum()
        if done < 2:
            self.data.history[:] = history  # what the whole step came to tells more than its last part
            return False
        divided = pair["divided"]
        divided[2] = joined(int(divided[1]), int(divided[2]))
        for name in pair.states():
            if name == "multipliers":  # each step writes both ends
                record[name][step] = pair[name][0]
            if name != "iterations":
                record[name][step + 1] = pair[name][2]
        return True

    @cached_property
    def half(self) -> Self | None:
        """A stepper with half the step size, that shares what this one writes; None if there is no finer one."""
        if self.parts >= FINEST:
            return None
        half = copy.copy(self)
        half.parts, half.dt = 2 * self.parts, 0.5 * self.dt
        half.shorten()
        return half

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray]:
        return halves_of_controls(self.control_nodes)

    def halves(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Controls of both halves of a step, from its own ones (nodes, nu); those that are held stay the same."""
        first, second = (u[:1] + W @ (u - u[:1]) for W in self._weights)
        return first, second

    @property
    def advice(self) -> str:
        """What to do about steps that cannot be solved."""
        return f"it was divided into up to {FINEST} parts; take a smaller dt"

    @property
    def no_solution(self) -> str:
        """Why a step failed, where nothing else is known."""
        return (
            f"the Newton updates did not fall below {self.integrator.tolerance:g} within "
            f"{self.integrator.max_iterations} iterations, or only where energy comes from nowhere; {self.advice} or a "
            "larger tolerance"
        )

    # ------------------------------------------------------------------ derivatives

    def held(self, u: FloatArray) -> FloatArray:
        """Controls as kernels take them, shape (nodes, nu)."""
        return np.array(np.broadcast_to(u, (len(self.control_nodes), self.mechanism.nu)), order="C")

    def solve(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record | None:
        """The step from (q, p) with the controls u (nodes, nu), left in the data; None where it must be divided."""
        record = self.record(1)
        record["q"][0], record["p"][0] = q, p
        if self.run(record, 0, 1, u[None]) == 1:
            return record
        if self.half is None:
            raise self.failure(0, record)
        return None

    def solve_whole(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Record:
        """As `solve`, for what divided steps do not have."""
        record = self.solve(q, p, u)
        if record is None:
            raise self.failure(0, self.record(1))
        return record

    def middle(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[Self, FloatArray, FloatArray]:
        """(stepper of the halves, q, p in the middle) of a divided step with the controls u (nodes, nu)."""
        half = self.half
        assert half is not None
        record = half.record(1)
        record["q"][0], record["p"][0] = q, p
        if half.advance(record, 0, 1, self.halves(u)[0][None]) < 1:
            raise self.failure(0, record)
        return half, record["q"][1], record["p"][1]

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with the controls u (nu,) held; see `leastaction.linearize`."""
        controls = self.held(u)
        record = self.solve(q, p, controls)
        if record is not None:
            return self.linearize_solved(record, controls)
        half, q2, p2 = self.middle(q, p, controls)
        A, B = half.linearize(q, p, u)
        A2, B2 = half.linearize(q2, p2, u)
        return A2 @ A, A2 @ B + B2

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """See `Stepper.pull_back`."""
        return self.pull_back_all(q, p, u, bar, ())[0]

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.pull_back_all`."""
        u = self.held(u)
        record = self.solve(q, p, u)
        if record is not None:
            return self.pull_back_solved(record, u, bar, stencils)
        half, q2, p2 = self.middle(q, p, u)
        (first, second), (W, W2) = self.halves(u), self._weights
        by_controls2, by_parameters2 = half.pull_back_all(q2, p2, second, bar, stencils)
        by_controls, by_parameters = half.pull_back_all(q, p, first, bar, stencils)
        return W.T @ by_controls + W2.T @ by_controls2, by_parameters + by_parameters2

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `Stepper.parameter_jacobian`."""
        controls = self.held(u)
        record = self.solve(q, p, controls)
        if record is not None:
            return self.parameter_jacobian_solved(record, controls, stencils)
        half, q2, p2 = self.middle(q, p, controls)
        A2 = half.linearize(q2, p2, u)[0]
        first = half.parameter_jacobian(q, p, u, stencils)
        return A2 @ first + half.parameter_jacobian(q2, p2, u, stencils)
