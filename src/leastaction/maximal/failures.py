"""What may be the matter with a step of `Maximal` that has no solution."""

from __future__ import annotations

import math
from typing import Any

from leastaction.contact.penetration.penetration_messages import REMEDY
from leastaction.errors import ConvergenceError
from leastaction.integration.record import Record
from leastaction.maximal.contact.diagnosis import deepest_overlap, spinning_without_inertia
from leastaction.maximal.contact_graph import as_transforms


def failure_of(stepper: Any, step: int, record: Record) -> ConvergenceError:
    """The error of a step that failed.

    Args:
        stepper: a `MaximalStepper`, right after it.
        step: its number.
        record: of the run.
    """
    own = stepper.integrator
    residuals = [float(x) for x in stepper.data.history if x > 0.0 or math.isnan(x)]
    if stepper.exhausted:
        why = (
            f"the step took more than max_work = {own.work} Newton iterations in all its parts; take a smaller dt, "
            "masses that differ less, or a larger max_work"
        )
    elif any(math.isnan(x) for x in residuals):
        why = f"the Newton matrix is singular{_reason(stepper, step, record)}"
    else:
        why = (
            f"the Newton updates did not fall below {own.tolerance:g} m/s within {own.max_iterations} iterations; "
            f"take a smaller dt or a larger tolerance{_overlap(stepper, record) if step == 0 else ''}"
        )
    if names := stepper.mechanism.prescribed:
        why += f"; do the prescribed motions ({', '.join(names)}) leave room for what they push?"
    return ConvergenceError(f"Maximal: {why}", step=step, residuals=residuals)


def _reason(stepper: Any, step: int, record: Record) -> str:
    """What may be the matter with a step that has no solution, as the end of a sentence."""
    if light := spinning_without_inertia(stepper.model):
        return f"; body {light!r} has no moments of inertia, but may spin freely: give it some"
    overlap = _overlap(stepper, record) if step == 0 else ""
    return overlap or ("; is a loop in a singular configuration?" if stepper.loops else "")


def _overlap(stepper: Any, record: Record) -> str:
    """What overlaps most at the start, as the end of a sentence; empty where nothing does."""
    if stepper.contact is None:
        return ""
    overlap = deepest_overlap(stepper.table, as_transforms(record["rigid_poses"][0]))
    return f"; {overlap} at the start: {REMEDY}" if overlap else ""
