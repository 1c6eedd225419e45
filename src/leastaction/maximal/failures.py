"""Error messages for steps of `Maximal` that fail."""

from __future__ import annotations

import math
from typing import Any

from leastaction.contact.penetration.penetration_messages import contacts_of_failed_step
from leastaction.errors import ConvergenceError
from leastaction.integration.record import Record
from leastaction.maximal.contact_graph import as_transforms
from leastaction.maximal.model import Model


def failure_of(stepper: Any, step: int, record: Record) -> ConvergenceError:
    """The error of a step that failed.

    Args:
        stepper: a `MaximalStepper`, right after the failure.
        step: its number.
        record: of the run.
    """
    own = stepper.integrator
    residuals = [float(x) for x in stepper.data.history if x > 0.0 or math.isnan(x)]
    if stepper.exhausted:
        why = (
            f"the step took more than max_work = {own.work} Newton iterations in all its parts; take a smaller dt, "
            f"masses that differ less, or a larger max_work{_contacts(stepper, step, record)}"
        )
    elif any(math.isnan(x) for x in residuals):
        why = f"the Newton matrix is singular{_reason(stepper, step, record)}"
    else:
        why = (
            f"the Newton updates did not fall below {own.tolerance:g} m/s within {own.max_iterations} iterations; "
            f"take a smaller dt or a larger tolerance{_contacts(stepper, step, record)}"
        )
    if names := stepper.mechanism.prescribed:
        why += f"; do the prescribed motions ({', '.join(names)}) leave room for what they push?"
    return ConvergenceError(f"Maximal: {why}", step=step, residuals=residuals)


def _reason(stepper: Any, step: int, record: Record) -> str:
    """Possible reason why a step has no solution, as the end of a sentence."""
    if light := _spinning_without_inertia(stepper.model):
        return f"; body {light!r} has no moments of inertia, but may spin freely: give it some"
    return _contacts(stepper, step, record) or ("; is a loop in a singular configuration?" if stepper.loops else "")


def _contacts(stepper: Any, step: int, record: Record) -> str:
    """Overlaps at the start, or contacts at the start of a later step, as the end of a sentence; empty if none."""
    if stepper.contact is None:
        return ""
    return contacts_of_failed_step(stepper.table, as_transforms(record["rigid_poses"][step]), step)


def _spinning_without_inertia(model: Model) -> str:
    """Name of a body that may spin freely without moments of inertia; empty if there is none."""
    for body, joint in zip(model.mechanism.bodies, model.mechanism.joints, strict=True):
        if joint.kind in ("free", "spherical") and not model.bodies[model.frames[body.name][0]].J.any():
            return body.name
    return ""
