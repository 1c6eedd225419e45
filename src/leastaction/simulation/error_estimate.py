"""Steps of any length, and states as they come: what runs with an accuracy are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leastaction._display.progress import Progress
from leastaction.actuation.controls import control_at
from leastaction.dynamics.legendre import Velocities
from leastaction.errors import ConvergenceError
from leastaction.initial_state.start import Start
from leastaction.integration.first_steps import NO_CONTACTS
from leastaction.integration.integrators import Stepper
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.state_differences import PLACES, RATES, Differences
from leastaction.step_control.substeps import last_share
from leastaction.trajectory.trajectory import Trajectory

STROKES = 1000
"""Of the bar that shows progress."""


@dataclass(eq=False, slots=True)
class Node:
    """A state, and how a step came there.

    Attributes:
        q, second, v: positions, what the integrator solves for, and velocities.
        iterations: of the step before.
        contacts: of the step before, rows as in `Record.contacts`.
        u: controls of the step before, shape (nodes, nu); None: zero.
        divided: whether the integrator divided that step by itself: then it says nothing about its error.
    """

    q: FloatArray
    second: FloatArray
    v: FloatArray
    iterations: int = 0
    contacts: FloatArray = field(default_factory=lambda: NO_CONTACTS)
    u: FloatArray | None = None
    divided: bool = False


class Steps:
    """Single steps of any length from any state, of an integrator that needs nothing but a state."""

    def __init__(self, run: Start, controls: Any) -> None:
        self.first = run.stepper
        self.mechanism, self.actuation = run.stepper.mechanism, run.actuation
        self.controls, self.held = controls, None if callable(controls) else np.array(run.controls[0])
        self.single = self.first.first_steps()
        self.acts = len(self.first.acts) > 0
        self._velocities = Velocities(self.mechanism)

    def step(self, node: Node, t: float, dt: float, u: FloatArray | None = None) -> Node | None:
        """The state a step of dt [s] after a state at t [s]; None where it has no solution.

        Args:
            node, t, dt: see above.
            u: controls held over the step, shape (nu,); default those of the run.
        """
        record, single = self.single.record, self.single
        q, second = record.q, record.second
        q[0], second[0] = node.q, node.second
        own = single.u[0]
        own[:] = self._controls(t, dt) if u is None else self.actuation.clipped(u)
        if not single(dt, node.v) or not math.isfinite(q[1] @ q[1] + second[1] @ second[1]):
            return None
        extras = record.extras
        divided = self._is_divided(extras)
        iterations = int(extras["iterations"][1]) if "iterations" in extras else 0
        v = self._velocities.at(q[1], second[1]) if self.first.momentum else second[1].copy()
        log = single.contacts() if self.acts else NO_CONTACTS
        return Node(q[1].copy(), second[1].copy(), v, iterations, log, own.copy() if own.any() else None, divided)

    def _is_divided(self, extras: dict[str, Any]) -> bool:
        if "divided" in extras:
            return int(extras["divided"][1]) not in (0, 1)
        return "substeps" in extras and last_share(np.asarray(extras["substeps"])[1, -1]) != 1.0

    def _controls(self, t: float, dt: float) -> FloatArray:
        """Controls at the nodes of a step, shape (nodes, nu)."""
        if self.held is not None:
            return self.held
        times = [t + c * dt for c in self.first.control_nodes]
        return self.actuation.clipped(np.array([control_at(self.mechanism, self.controls(x), x) for x in times]))

    def forces(self, node: Node, t: float) -> FloatArray:
        """Generalised forces of the controls at a state, shape (nv,)."""
        u = self.held[0] if self.held is not None else control_at(self.mechanism, self.controls(t), t)
        return self.mechanism.generalized_forces(u, node.q) if u.any() else np.zeros(self.mechanism.nv)


class Rows:
    """States of a run as they come."""

    def __init__(self, first: Node, start: float) -> None:
        self.t, self.nodes = [start], [first]

    def add(self, t: float, node: Node) -> None:
        """A state, and the step that led there."""
        self.t.append(t)
        self.nodes.append(node)

    def trajectory(self, stepper: Stepper, accuracy: float, dt: float | None) -> Trajectory:
        """The run; dt: where all steps have this length [s]."""
        nodes, t = self.nodes, np.array(self.t)
        stored: dict[str, Any] = {"v": np.array([x.v for x in nodes]), "accuracy": np.array(accuracy)}
        if stepper.momentum:
            stored["p"] = np.array([x.second for x in nodes])
        stored["iterations"] = np.array([x.iterations for x in nodes], np.int64)
        if any(x.u is not None for x in nodes):
            zero = np.zeros((len(stepper.control_nodes), stepper.mechanism.nu))
            stored["u"] = np.array([zero if x.u is None else x.u for x in nodes[1:]])
        if "contacts" in stepper.acts:
            logs = [x.contacts.copy() for x in nodes[1:]]
            for k, log in enumerate(logs):
                log[:, 0] = k
            stored["contacts"] = np.concatenate([*logs, np.zeros((0, 10))])
        mean = float(np.diff(t).mean()) if len(t) > 1 else 1.0
        q, length = np.array([x.q for x in nodes]), mean if dt is None else float(dt)
        return Trajectory(stepper.mechanism, stepper.integrator, length, t, q, stored)


@dataclass(eq=False)
class Task:
    """What is to be run: see `accurate_run`.

    Attributes:
        end: time of the last state [s].
        every: time between the states that are recorded [s]; None: all.
    """

    steps: Steps
    rows: Rows
    accuracy: float
    end: float
    every: float | None
    controls: Any = None
    controller: Callable[[float, FloatArray, FloatArray], Any] | None = None
    bar: Progress | None = None


class StepChoice:
    """What both ways to choose steps have in common; `run` fills the rows and returns what went wrong."""

    def __init__(self, task: Task) -> None:
        self.task, self.steps, self.rows, self.accuracy = task, task.steps, task.rows, task.accuracy
        self.end, self.every, self.start = task.end, task.every, task.rows.t[0]
        self.differences, self.order = Differences(task.steps.mechanism), task.steps.first.order

    def say(self, t: float) -> None:
        """Move the bar."""
        if self.task.bar is not None and self.end > self.start:
            self.task.bar.update(int(STROKES * min(1.0, (t - self.start) / (self.end - self.start))))

    def run(self) -> ConvergenceError | None:
        """Fill the rows."""
        raise NotImplementedError

    def estimate(self, whole: Node, begin: Node, middle: Node, end: Node, velocities: bool = True) -> float:
        """Error of two halves of a step, of order r: their difference from the whole step over 2^r - 1."""
        found = self.differences.of(whole, begin, middle, end)
        return float(max(found[PLACES], found[RATES]) if velocities else found[PLACES]) / (2.0**self.order - 1.0)

    def failure(self, t: float, h: float) -> ConvergenceError:
        """The error for a step that cannot be made short enough."""
        own = type(self.steps.first.integrator).__name__
        return ConvergenceError(
            f"{own}: no step of {h:.3g} s or more from here has an error below {self.accuracy:g} per second; take a "
            "larger accuracy",
            step=len(self.rows.t) - 1,
            time=t,
        )
