"""Steps that are far too long for the motion, said in a warning after the run."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import AccuracyWarning
from leastaction.integration.integrators import Stepper
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.error_estimate import Node
from leastaction.simulation.state_differences import PLACES, Differences
from leastaction.step_control.bisection import lengths_of
from leastaction.step_control.substeps import RECORDED, UNKNOWN
from leastaction.trajectory.trajectory import Trajectory
from leastaction.warn import warn

TOO_FAR = 0.05
"""Error per second of a single step [rad, or m relative to lengths beyond 1 m] at which a run says so."""

LOOKED_AT = 8
"""Steps with that much motion that are looked at, besides."""

MOVED = 0.3
"""Motion in a step [rad or m] below which nobody looks at its error."""

PROPOSED = 1e-3
"""Accuracy of the time step that a warning names."""


MOSTLY = 0.5
"""Share of the steps without contact whose division by the integrator is worth a word."""


def warn_of_long_steps(stepper: Stepper, run: Trajectory) -> None:
    """Say that steps of a run are far too long for its motion, and which would not be; of steps without contact.

    Looks at some of the steps with much motion, and those with most of it and most iterations; and at how many the
    integrator had to divide. Where the warning is ignored, none are looked at: that takes some 0.1 s.
    """
    if _is_ignored():
        return
    if "accuracy" not in stepper.can or stepper.order < 2 or not run.steps or not stepper.momentum:
        return
    u = run.stored.get("u")
    if u is not None and u.shape[1] > 1 and np.ptp(u, axis=1).any():
        return
    moved, free = np.abs(np.diff(run.q, axis=0)).max(axis=1, initial=0.0), np.ones(run.steps, bool)
    free[run.stored.get("contacts", np.zeros((0, 10)))[:, 0].astype(int)] = False
    far = np.flatnonzero(free & (moved > MOVED))
    if not len(far):
        return
    divided = int(_divided(run)[free].sum())
    mostly = divided > MOSTLY * free.sum()
    if stepper.acts and not mostly:
        return
    distance = Differences(run.mechanism)
    worst, where, longest = 0.0, int(far[0]), run.dt
    some = far[np.linspace(0, len(far) - 1, LOOKED_AT).astype(int)]
    for k in {int(far[np.argmax(moved[far])]), int(far[np.argmax(run.iterations[1:][far])]), *some.tolist()}:
        part = _first_substep(run, k, bool(stepper.acts))
        error = _error_of_step(stepper, run, k, run.dt * part, distance) / part
        if error > worst:
            worst, where, longest = error, k, run.dt * part
    if mostly:
        size = f"the integrator had to divide {divided} of {free.sum()}"
    elif worst > TOO_FAR:
        size = f"that at t = {run.t[where]:g} s alone leaves an error of "
        size += f"{'more than 1' if worst > 1.0 else f'{worst:.2g}'} rad or m per second"
    else:
        return
    h = longest
    for _ in range(HALVINGS):
        h *= 0.5
        if _error_of_step(stepper, run, where, h, distance) <= PROPOSED * h:
            break
    warn(
        f"steps of dt = {run.dt:g} s are too long for {run.mechanism.name!r}: {size}; errors of {PROPOSED:g} per "
        f"second need dt = {h:.2g} s at t = {run.t[where]:g} s, or accuracy={PROPOSED:g} in place of dt",
        AccuracyWarning,
    )


def _is_ignored() -> bool:
    """Whether Python's filters of warnings ignore this one, wherever it comes from and whatever it says."""
    for action, message, category, module, _ in warnings.filters:
        if issubclass(AccuracyWarning, category) and (message, module) == (None, None):
            return action == "ignore"
    return False


HALVINGS = 16
"""Of the step of a run, in search of one that is short enough."""


def _divided(run: Trajectory) -> NDArray[np.bool_]:
    """Which steps the integrator divided, shape (steps,)."""
    if "divided" in run.stored:
        return np.asarray(run.stored["divided"][1:] != 0)
    first = np.abs(run.stored["substeps"][1:, 0, 0])
    return np.asarray((first != 0.0) & (first != 1.0))


def _first_substep(run: Trajectory, k: int, counted: bool) -> float:
    """Length of the first substep of step k, relative to what it is without bisection; the mean of all where that is
    not known.

    Args:
        run, k: see above.
        counted: whether the run stores the number of substeps, else how each was bisected.
    """
    if "divided" in run.stored:
        divided = int(run.stored["divided"][k + 1])
        return 1.0 / max(1, divided) if counted else lengths_of(max(1, divided))[0]
    first = float(run.stored["substeps"][k + 1, 0, 0])  # of the first part of a composition
    return 1.0 / RECORDED if first == UNKNOWN else abs(first) if 0.0 < abs(first) < 1.0 else 1.0


def _error_of_step(stepper: Stepper, run: Trajectory, k: int, h: float, distance: Differences) -> float:
    """Error of a step of h [s] from state k of a run, estimated from two halves; infinite where one has no solution."""
    second, u = run.stored["p"], run.stored.get("u")
    held = np.zeros((len(stepper.control_nodes), run.mechanism.nu)) if u is None else np.array(u[k])

    def after(q: FloatArray, p: FloatArray, length: float) -> Node | None:
        own = stepper.with_dt(length)
        record = own.record(1)
        record.q[0], record.second[0] = q, p
        if own.advance(record, 0, 1, held[None]) < 1 or not np.isfinite(record.q[1]).all():
            return None
        return Node(record.q[1], record.second[1], record.second[1])

    whole, middle = after(run.q[k], second[k], h), after(run.q[k], second[k], 0.5 * h)
    halves = None if middle is None else after(middle.q, middle.second, 0.5 * h)
    if whole is None or halves is None:
        return math.inf
    return float(distance.of(whole, halves, halves, halves)[PLACES]) / (2.0**stepper.order - 1.0)
