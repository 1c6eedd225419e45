"""Reversible steps by the density of the motion, for smooth motions, see `step_density`."""

from __future__ import annotations

import math

from leastaction.errors import ConvergenceError
from leastaction.integration.settings import MOST
from leastaction.simulation.error_estimate import Node, StepChoice
from leastaction.simulation.step_density import StepDensity, next_density

SAFETY = 0.85
"""Share of the permitted length that new steps have."""

EARLY = 50
"""Pairs of steps after which steps that were too accurate by far become longer, until first one is not."""

APART = 1.5
"""Difference between log rho and log Q at which the former starts anew from the latter."""


class Reversible(StepChoice):
    """Steps by the density of the motion, for smooth motions.

    Attributes:
        eps: length of a pair of steps where the density is 1 [s].
        density, before: log rho and length [s] of the pair before; None: at the start of a run.
        adapt: whether errors decide about eps.
        most: pairs of steps after which it ends at the latest.
    """

    eps = 0.0
    density: float | None = None
    before = 0.0
    adapt = True
    most = MOST

    def run(self) -> ConvergenceError | None:
        """See `StepChoice.run`."""
        mechanism, t, node = self.steps.mechanism, self.start, self.rows.nodes[0]
        meter = StepDensity(mechanism, self.order, 1.0 / max(self.end - t, 1e-9))
        recorded, quiet, grows = 1, 0, self.adapt
        for _ in range(self.most):
            if self.end - t <= 1e-12 * max(1.0, abs(self.end), abs(t)):
                break
            state, rate = meter.of(node.q, node.v, self.steps.forces(node, t))
            if not math.isfinite(state) or not math.isfinite(rate):
                state, rate = (0.0 if self.density is None else self.density), 0.0
            if self.eps == 0.0:
                self.eps = self._first_length(node, t) * math.exp(state)
            anew = self.density is None or (self.adapt and abs(self.density - state) > APART)
            last = state if anew or self.density is None else self.density
            while True:
                density = next_density(last, rate, self.eps, 0.0 if anew else self.before)
                h = self.eps * math.exp(-density)
                if h < 1e-13 * max(1.0, abs(t)):
                    return self.failure(t, h)
                cut = min(h, self.end - t)
                middle, after, error = self._pair(node, t, cut)
                if middle is not None and after is not None and not (self.adapt and error > self.accuracy * cut):
                    break
                if not self.adapt:
                    return self.failure(t, h)
                ratio = self.accuracy * cut / max(error, 1e-300)
                self.eps *= max(0.2, min(0.95, SAFETY * ratio ** (1.0 / self.order)))
                quiet, grows = 0, False
            recorded = self._record(t, cut, node, middle, after, recorded)
            quiet = quiet + 1 if error < 0.5 ** (self.order + 2) * self.accuracy * cut else 0
            if grows and quiet > EARLY:
                self.eps, quiet = 1.5 * self.eps, 0
            t, node, self.before, self.density = t + cut, after, h, density
            self.say(t)
        return None

    def _pair(self, node: Node, t: float, h: float) -> tuple[Node | None, Node | None, float]:
        """The two halves of a step of h, and the estimate of their error; infinite where one has no solution."""
        middle = self.steps.step(node, t, 0.5 * h)
        after = None if middle is None else self.steps.step(middle, t + 0.5 * h, 0.5 * h)
        if after is None or not self.adapt:
            return middle, after, math.inf if after is None else 0.0
        whole = self.steps.step(node, t, h)
        if whole is None or middle is None or whole.divided:
            return middle, after, math.inf
        error = self.estimate(whole, node, middle, after)
        return middle, after, error if error == error else math.inf

    def _first_length(self, node: Node, t: float) -> float:
        """Length of a pair of steps at the start whose error is half of what is allowed."""
        h, longest = min(0.01, self.end - t), self.end - t
        for _ in range(60):
            error = self._pair(node, t, h)[2] / (0.5 * self.accuracy * h)
            factor = min(4.0, max(0.1, (1.0 / max(error, 1e-12)) ** (1.0 / self.order))) if error < math.inf else 0.1
            new = min(longest, h * factor)
            if error <= 1.0 and new <= 1.5 * h:
                return h
            h = new
        return h

    def _record(self, t: float, h: float, node: Node, middle: Node, after: Node, recorded: int) -> int:
        """Write a pair of steps down, or what of it is asked for; how many states are recorded."""
        if self.every is None:
            self.rows.add(t + 0.5 * h, middle)
            self.rows.add(t + h, after)
            return recorded
        while True:
            due = self.start + recorded * self.every
            if due > t + h + 1e-9 * self.every:
                return recorded
            # A step of its own from the state before: as accurate as the run, which it leaves as it is.
            at, begun = (middle, t + 0.5 * h) if due > t + 0.5 * h else (node, t)
            rest = due - begun
            shown = at if rest <= 1e-12 * max(1.0, abs(due)) else self.steps.step(at, begun, rest)
            self.rows.add(due, after if shown is None else shown)
            recorded += 1
