"""Steps bisected until their errors fit, for motions with impacts, slipping, and controls that jump."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from leastaction.actuation.controls import control_at
from leastaction.errors import ConvergenceError
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.error_estimate import Node, StepChoice
from leastaction.simulation.state_differences import BEND, FIRST_CHANGE, SECOND_CHANGE

LONGEST = 0.1
"""Longest step [s] where things may touch."""

IMPACT = 0.1
"""Time [s] whose share of errors an impact may take: those of steps with one are as small as the steps are short, and
errors per second would not shrink."""

SHORT = 1e-4
"""Steps [s] below which velocities with contacts are what the tolerances of positions make of them, and only these are
compared."""

FINEST = 0.1
"""Shortest step, in units of the time that the error of an impact may take at 1 m/s; what error it has is accepted."""

LEVELS = 40
"""How often a longest step can be halved."""

ROUND_OFF = 2e-9
"""Error of a step [rad or m] below which it is the rest that solvers leave."""


KINK = 1.0 / 12.0
"""Error of a step in which friction acts, in units of its length and of how the changes of velocities in its halves
differ: that of methods of order 2 in smooth motion. What comes to rest, or slips from rest, does so for all of a step,
in whole and halves, which agree: there it is up to three times as large, once."""


def same_contacts(one: Node, other: Node) -> bool:
    """Whether the same bodies touched at as many points in two steps."""
    if len(one.contacts) != len(other.contacts):
        return False
    return not len(one.contacts) or np.array_equal(one.contacts[:, 1:3], other.contacts[:, 1:3])


class Bisected(StepChoice):
    """On the dyadic grid of a longest step."""

    def run(self) -> ConvergenceError | None:
        """See `StepChoice.run`."""
        total = self.end - self.start
        whole = min(total, LONGEST) if self.every is None else self.every
        count = max(1, math.ceil(total / whole - 1e-9))
        whole = total / count if self.every is None else whole
        self.level = max(0, math.ceil(math.log2(whole / LONGEST)))  # the least of a part that is tried
        node, least = self.rows.nodes[0], self.level
        for k in range(count):
            t = self.start + k * whole
            found = self._whole(node, t, whole, least, self._controls_of(k, t, node))
            if isinstance(found, ConvergenceError):
                return found
            node = found
            self.say(t + whole)
        return None

    @cached_property
    def _dry(self) -> bool:
        """Whether joints have dry friction that the integrator lets act."""
        step = self.steps
        return "dry friction" in step.first.acts and any(any(j.friction) for j in step.mechanism.joints)

    def _rubs(self, *states: Node) -> bool:
        """Whether friction may have acted in the steps before these states."""
        return self._dry or any(len(x.contacts) for x in states)

    def _controls_of(self, k: int, t: float, node: Node) -> FloatArray | None:
        m = self.steps.mechanism
        if self.task.controller is not None:
            return control_at(m, self.task.controller(t, node.q.copy(), node.v.copy()), t)
        return (
            np.asarray(self.task.controls, float)[k]
            if self.task.controls is not None and np.ndim(self.task.controls) > 1
            else None
        )

    def _whole(self, node: Node, t0: float, whole: float, least: int, u: FloatArray | None) -> Node | ConvergenceError:
        """All parts of a longest step, on its dyadic grid."""
        at, iterations, logs = 0, 0, []  # in units of whole / 2^LEVELS
        coarse: Node | None = None
        while at < 1 << LEVELS:
            width = 1 << (LEVELS - self.level)
            h, t = math.ldexp(whole, -self.level), t0 + math.ldexp(whole, -LEVELS) * at
            coarse = coarse or self.steps.step(node, t, h, u)
            middle = self.steps.step(node, t, 0.5 * h, u)
            after = None if middle is None else self.steps.step(middle, t + 0.5 * h, 0.5 * h, u)
            last = h < 2.0 * FINEST * self.accuracy * IMPACT or self.level >= LEVELS - 1
            if middle is None or after is None:
                if last:
                    return self.failure(t, h)
                self.level, coarse = self.level + 1, middle
                continue
            error, hits = math.inf, False
            if coarse is not None:
                changed = [not same_contacts(*both) for both in ((node, middle), (middle, after), (after, coarse))]
                hits = any(changed)
                error = self.estimate(coarse, node, middle, after, not hits and (h > SHORT or not self.steps.acts))
                found = self.differences.found
                for new, change in zip(changed, (FIRST_CHANGE, SECOND_CHANGE), strict=False):
                    # Whole and halves put an impact where they begin, and so agree: it may be anywhere. And where the
                    # whole was divided, it is the halves.
                    if new or coarse.divided:
                        error = max(error, 0.25 * h * float(found[change]))
                if not hits and self._rubs(middle, after):
                    error = max(error, KINK * h * float(found[BEND]))
            allowed = max(self.accuracy * max(h, IMPACT if hits else 0.0), ROUND_OFF)
            if not error <= allowed and not last:
                self.level, coarse = self.level + 1, middle
                continue
            if self.every is None:
                self.rows.add(t + 0.5 * h, middle)
                self.rows.add(t + h, after)
            else:
                iterations += middle.iterations + after.iterations
                for log in (middle.contacts, after.contacts):
                    shares = log.copy()
                    shares[:, 6:9] *= 0.5 * h / whole
                    logs.append(shares)
            at, node, coarse = at + width, after, None
            if self.level > least and at % (2 * width) == 0 and error < 0.5 ** (self.order + 2) * allowed:
                self.level -= 1
        if self.every is not None:
            contacts = np.concatenate([*logs, np.zeros((0, 10))])
            self.rows.add(t0 + whole, Node(node.q, node.second, node.v, iterations, contacts, node.u))
        return node
