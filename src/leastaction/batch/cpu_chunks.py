"""Several robots of a batch that one thread runs without much of Python between two of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from leastaction.actuation.actuation import Actuation
from leastaction.batch.batch_plan import Plan
from leastaction.initial_state.start_limits import within_rigid_limits
from leastaction.integration.integrators import Stepper
from leastaction.mechanism.arguments import FloatArray

ROBOTS, NUMBERS = 32, 2**18
"""Most robots at once, and most numbers of their states."""

SHARES = 4
"""A thread takes a part of what is left for it, one in so many: many robots at first, single ones in the end."""


def robots_at_once(plan: Plan, threads: int) -> int:
    """Most robots that a thread takes."""
    m = plan.mechanism
    fit = NUMBERS // ((plan.steps + 1) * (m.nq + m.nv))
    return max(1, min(ROBOTS, fit, len(plan.q) // (SHARES * threads)))


def shares(first: int, robots: int, most: int, threads: int) -> list[range]:
    """What threads take one after the other of the robots from `first` on, no more than `most` at once."""
    out = []
    while first < robots:
        size = max(1, min(most, (robots - first) // (SHARES * threads)))
        out.append(range(first, first + size))
        first += size
    return out


class RobotChunk:
    """Room for the runs of several robots, and the stepper of a thread that fills it.

    Args:
        plan: of the batch; no policy, no motions, the same mechanism for all.
        stepper: whose `Stepper.chunk_runner` does it.
        count: most robots at once.
        second: momenta or velocities at the start, shape (robots, nv).

    Attributes:
        run: all steps of a robot, by its number in the fleet; None where the stepper has no fleet.
        stays: whether robots start within the limits of their joints, shape (robots,).
    """

    def __init__(self, plan: Plan, stepper: Stepper, count: int, second: FloatArray) -> None:
        self.plan, self.second = plan, second
        count = max(count, 4)  # by the first of them it is seen how arrays follow each other
        one = stepper.record(plan.steps)
        self.states = {name: np.zeros((count, *x.shape), x.dtype) for name, x in one.states().items()}
        self.others = self.states["p" if stepper.momentum else "v"]
        self.actuation = Actuation(plan.mechanism, plan.dt, stepper.control_nodes)
        self.nodes = len(stepper.control_nodes)
        self.shared = plan.u.shape[2] == 1
        if self.shared:
            table = self._controls(0)
            self.u: Any = as_strided(table, (count, *table.shape), (0, *table.strides))
        else:
            self.u = np.zeros((count, plan.steps, self.nodes, plan.mechanism.nu))
        self.run = stepper.chunk_runner(self.states, self.u)
        self.stays = within_rigid_limits(stepper, plan.q)

    def _controls(self, robot: int) -> FloatArray:
        """That act in each step, shape (steps, nodes, nu)."""
        u = self.plan.u[:, :, robot]
        table = np.broadcast_to(u[:, None], (self.plan.steps, self.nodes, u.shape[1]))
        if not self.actuation.plain:
            table, _ = self.actuation.run(table, self.actuation.start(None))
        return np.array(table, order="C")

    def advance(self, robots: range, Q: FloatArray, S: FloatArray, iterations: Any) -> list[int]:
        """All steps of these robots into Q (robots of the batch, rows, nq), S (..., nv) and `iterations`.

        Returns those with a step that does not hold; of these nothing is written.
        """
        q, count, every = self.states["q"], len(robots), self.plan.every
        first = robots.start
        q[:count, 0], self.others[:count, 0] = self.plan.q[first : robots.stop], self.second[first : robots.stop]
        if not self.shared:
            for k, robot in enumerate(robots):
                self.u[k] = self._controls(robot)
        run, stays, steps = self.run, self.stays[first : robots.stop].tolist(), self.plan.steps
        assert run is not None
        good = np.array([stays[k] and run(k) == steps for k in range(count)])
        kept = np.flatnonzero(good)
        Q[first + kept], S[first + kept] = q[kept, ::every], self.others[kept, ::every]
        if "iterations" in self.states:
            iterations[first + kept] = self.states["iterations"][kept].sum(axis=1)
        return (first + np.flatnonzero(~good)).tolist()
