"""Single steps of any length, and states as they come: what runs with an accuracy are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from leastaction._display.progress import Progress
from leastaction.actuation.controls import control_at, control_table
from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.errors import ConvergenceError
from leastaction.initial_state.start import Start
from leastaction.integration.integrators import Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.joints import Motion
from leastaction.simulation.step_density import turning
from leastaction.step_control.damping_quadrature import RunVelocities, last_shares
from leastaction.trajectory.trajectory import Trajectory

LAST = slice(1, 2)
"""The row of a record of one step at which it ends."""

STROKES = 1000
"""Of the bar that shows progress."""


class Distance:
    """Between states: the largest difference, of angles [rad], lengths beyond 1 m relative to them, and velocities
    beyond 1 rad/s or m/s relative to the fastest of their kind."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism, self.plain = mechanism, mechanism.nq == mechanism.nv
        self.turns = turning(mechanism) == 1.0

    def __call__(self, one: Node, other: Node, velocities: bool = True) -> float:
        """How far two states are apart; NaN where one has no numbers."""
        dq = other.q - one.q if self.plain else self.mechanism.difference(one.q, other.q)
        far = np.where(self.turns, 1.0, max(1.0, float(np.abs(one.q).max(initial=0.0))))
        worst = float(np.abs(dq / far).max(initial=0.0))
        if velocities:
            for kind in (self.turns, ~self.turns):
                if kind.any():
                    fast = max(1.0, float(np.abs(one.v[kind]).max()))
                    worst = max(worst, float(np.abs(one.v[kind] - other.v[kind]).max()) / fast)
        return worst


def spatial_velocities(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> FloatArray:
    """v with those of free bodies along the world's axes: in a body's own they turn with it, whatever acts."""
    out = v.copy()
    for group in mechanism.coordinate_groups:
        if group.kind == Motion.FREE:
            R = Rotation.from_quat(q[group.iq + np.array([4, 5, 6, 3])])
            rows = slice(group.iv, group.iv + 6)
            out[rows] = R.apply(v[rows].reshape(2, 3)).ravel()
    return out


@dataclass(eq=False)
class Node:
    """A state, and how a step came there.

    Attributes:
        q, second, v: positions, what the integrator solves for, and velocities.
        iterations: of the step before.
        contacts: of the step before, rows as in `Record.contacts`.
        u: controls of the step before, shape (nodes, nu).
        divided: whether the integrator divided that step by itself: then it says nothing about its error.
    """

    q: FloatArray
    second: FloatArray
    v: FloatArray
    iterations: int = 0
    contacts: FloatArray = field(default_factory=lambda: np.zeros((0, 10)))
    u: FloatArray | None = None
    divided: bool = False


class Steps:
    """Single steps of any length from any state, of an integrator that needs nothing but a state."""

    def __init__(self, run: Start, controls: Any) -> None:
        self.first = run.stepper
        self.mechanism, self.actuation = run.stepper.mechanism, run.actuation
        self.controls, self.held = controls, None if callable(controls) else np.array(run.controls[0])
        self.known: dict[float, tuple[Stepper, RunVelocities, Any]] = {}
        self.counted = 0

    def _stepper(self, dt: float, keep: bool) -> tuple[Stepper, RunVelocities, Any]:
        own = self.known.get(dt)
        if own is None:
            stepper = self.first.with_dt(dt)
            record = stepper.record(1)
            own = stepper, RunVelocities(stepper, record), record
            if keep:
                self.known[dt] = own
        return own

    def step(self, node: Node, t: float, dt: float, u: FloatArray | None = None, keep: bool = False) -> Node | None:
        """The state a step of dt [s] after a state at t [s]; None where it has no solution.

        Args:
            node, t, dt: see above.
            u: controls held over the step, shape (nu,); default those of the run.
            keep: whether more steps of the same length will come.
        """
        stepper, velocities, record = self._stepper(dt, keep)
        stepper.start_time = t
        stepper.clear_contacts()
        own = self._controls(stepper, u)
        record.q[0], record.second[0] = node.q, node.second
        if stepper.late is not None:  # momenta hold no more of dampers than those of a start
            record.second[0] = momentum_of_velocity(self.mechanism, node.q[None], node.v[None])[0]
        self.counted += 1
        try:
            done = stepper.advance(record, 0, 1, own[None])
        except ConvergenceError:
            return None
        if done < 1 or not (np.isfinite(record.q[1]).all() and np.isfinite(record.second[1]).all()):
            return None
        counts = record.get("iterations")
        iterations = 0 if counts is None else int(counts[1])
        v = velocities.at(1, True).copy()
        log = stepper.logged_contacts() if stepper.acts else np.zeros((0, 10))
        shares = last_shares(record, LAST)
        divided = shares is not None and bool(shares[0] != 1.0)
        return Node(record.q[1].copy(), record.second[1].copy(), v, iterations, log, own, divided)

    def _controls(self, stepper: Stepper, u: FloatArray | None) -> FloatArray:
        if u is not None:
            return np.array(np.broadcast_to(self.actuation.clipped(u), (len(stepper.control_nodes), len(u))))
        if self.held is not None:
            return self.held
        return self.actuation.clipped(np.array(control_table(stepper, self.controls, 1)[0]))

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
        if any(x.u is not None and x.u.any() for x in nodes):
            stored["u"] = np.array([x.u for x in nodes[1:]])
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
        self.distance, self.order = Distance(task.steps.mechanism), task.steps.first.order

    def say(self, t: float) -> None:
        """Move the bar."""
        if self.task.bar is not None and self.end > self.start:
            self.task.bar.update(int(STROKES * min(1.0, (t - self.start) / (self.end - self.start))))

    def run(self) -> ConvergenceError | None:
        """Fill the rows."""
        raise NotImplementedError

    def estimate(self, whole: Node, halves: Node, velocities: bool = True) -> float:
        """Error of two halves of a step, of order r: their difference from the whole step over 2^r - 1."""
        return self.distance(halves, whole, velocities) / (2.0**self.order - 1.0)

    def failure(self, t: float, h: float) -> ConvergenceError:
        """The error for a step that cannot be made short enough."""
        own = type(self.steps.first.integrator).__name__
        return ConvergenceError(
            f"{own}: no step of {h:.3g} s or more from here has an error below {self.accuracy:g} per second; take a "
            "larger accuracy",
            step=len(self.rows.t) - 1,
            time=t,
        )
