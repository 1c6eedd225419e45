"""Runs with an accuracy in place of a time step: each step is compared with its two halves, which are the run.

Where the motion is smooth, a reversible controller (`step_density`) chooses the steps; the errors that are found decide
only about `eps`, which is fixed after a while, so that energy stays bounded for as long as the run goes on. Where
bodies touch or controls change, which may jump, steps are bisected until the error fits: that finds impacts, changes of
slip, and jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leastaction._display.progress import Progress
from leastaction._jit.interruptible import interruptible
from leastaction.dynamics.run_velocities import RunVelocities
from leastaction.errors import IntegratorError
from leastaction.initial_state.start import number_of_steps, start_run
from leastaction.initial_state.unsupported_features import warn_of_limits
from leastaction.integration.integrators import Integrator
from leastaction.integration.settings import is_number
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.bisected_steps import Bisected
from leastaction.simulation.error_estimate import STROKES, Node, Rows, Steps, Task
from leastaction.simulation.reversible_steps import Reversible
from leastaction.trajectory.trajectory import Trajectory

FINEST_ACCURACY, COARSEST_ACCURACY = 1e-12, 0.1
"""Between these lies what can be asked for: below, round-off is larger, above, estimates say nothing."""

ABRUPT = frozenset(
    {"penalty contact", "limit spring of joint", "limit of tendon", "force range of servo", "force range of tendon"}
)
"""Forces that begin and end at a place, or have an edge there; steps are bisected around these."""


def check_accuracy(accuracy: Any) -> float:
    """`accuracy` as a number, or `IntegratorError`."""
    if not is_number(accuracy) or not FINEST_ACCURACY <= accuracy <= COARSEST_ACCURACY:
        bounds = f"from {FINEST_ACCURACY:g} to {COARSEST_ACCURACY:g}"
        raise IntegratorError(f"accuracy must be a relative error per second {bounds}, got {shown(accuracy)}")
    return float(accuracy)


def accurate_run(
    mechanism: Mechanism,
    integrator: Integrator | None,
    accuracy: Any,
    dt: float | None,
    options: dict[str, Any],
    controls: Any,
    controller: Callable[[float, FloatArray, FloatArray], Any] | None,
    progress: bool | None,
) -> Trajectory:
    """A run whose errors are smaller than `accuracy` per second, see `leastaction.simulate`.

    Args:
        mechanism, integrator, accuracy, dt, controls, controller, progress: as there.
        options: the other arguments of `start_run`.
    """
    accuracy = check_accuracy(accuracy)
    duration, steps = options.pop("duration"), options.pop("steps")
    if dt is None:
        if steps is not None or duration is None:
            raise IntegratorError("accuracy: give the duration [s], or dt [s], the time between states, and steps")
        if not is_number(duration) or duration <= 0.0:
            raise IntegratorError(f"accuracy: duration must be a positive, finite time [s], got {shown(duration)}")
        if controller is not None or np.ndim(controls) > 1:
            raise IntegratorError("accuracy: controls that are sampled need dt [s], the time between samples")
    elif is_number(dt) and dt > 0.0:
        steps = number_of_steps(dt, duration, steps)
        duration = steps * dt
        if np.ndim(controls) > 1 and np.shape(controls) != (steps, mechanism.nu):
            raise IntegratorError(f"controls: expected shape ({steps}, {mechanism.nu}), got {np.shape(controls)}")
    sampled = controller is not None or np.ndim(controls) > 1
    run = start_run(
        mechanism, integrator, dt=0.01 if dt is None else dt, steps=1, controls=None if sampled else controls, **options
    )
    stepper = run.stepper
    if "accuracy" not in stepper.can:
        stepper.refuse("accuracy")
    if run.actuation.active or stepper.motions is not None:
        what = "actuators with activations" if run.actuation.active else "prescribed motions"
        raise IntegratorError(f"accuracy: {what} need steps of one length; give dt alone")
    begun = RunVelocities(stepper, run.first)
    node = Node(run.first.q[0].copy(), run.first.second[0].copy(), begun.at(0).copy())
    rows = Rows(node, stepper.start_time)
    smooth = stepper.momentum and not stepper.acts and not ABRUPT.intersection(mechanism.special_parts)
    way = Reversible if smooth and not sampled and not callable(controls) else Bisected
    with Progress(STROKES, progress) as bar:
        task = Task(Steps(run, controls), rows, accuracy, stepper.start_time + duration, dt, controls, controller, bar)
        error = interruptible(way(task).run) if steps != 0 else None
    out: Trajectory = rows.trajectory(stepper, accuracy, dt)
    if error is not None:
        error.trajectory = out
        raise error
    if "limits" not in stepper.acts:
        warn_of_limits(out)
    return out
