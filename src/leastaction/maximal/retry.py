"""Recovery where the compiled loop of `Maximal` stops early: retry the step with larger arrays or a new broad phase."""

from __future__ import annotations

from typing import Any

from leastaction.integration.record import Record
from leastaction.maximal.arrays import ContactData
from leastaction.maximal.step.maximal_rollout import EXHAUSTED, FAILED, FULL, UNTIED

SHORT, LONG, WIDEST = 8, 64, 16.0
"""A broad phase that is valid for fewer steps than SHORT is followed by one with twice the margin, up to WIDEST times
the usual; one valid for more than LONG by one with half the margin. A broad phase takes as long as a few steps, and
near pairs that do not touch cost almost nothing."""

LOGGED = 256
"""Number of steps, each with the most contacts that the arrays hold, whose forces one call of the loop may log."""


def recover(stepper: Any, record: Record, at: int, why: int, cramped: bool) -> bool:
    """Prepare a retry of the step from row `at`, where the loop stopped; False where that is impossible.

    Args:
        stepper: a `MaximalStepper`.
        record, at: the run and the row.
        why: status of the loop.
        cramped: with FULL, whether the arrays are too small even with an empty log.
    """
    if why in (FAILED, EXHAUSTED):
        stepper.exhausted = why == EXHAUSTED
        return False
    data = stepper.data
    data.bodies.x, data.bodies.slope = data.start_guess[:, :6], data.start_guess[:, 6:]
    data.past[:] = data.start_past
    stepper._rewind(record, at)
    before = stepper.contact
    if before is not None and (why != FULL or cramped):
        before.now.kept = 0.0  # the factors do not belong to the impulses at the start
    if why == FULL:
        # FULL: the log, which is read and emptied; or the contact arrays, or the log for a single step.
        if cramped:
            stepper.room *= 2
            stepper._make_room()
    elif why == UNTIED:
        stepper._tie(stepper.planned)
        stepper.planned = True
    else:
        # A step that needs several broad phases gets wider ones, also across calls.
        if not stepper.planned:
            stepper.usual_width = width_after(stepper.usual_width, stepper.age)
        stepper.wider = 2.0 * stepper.wider if stepper.planned else stepper.usual_width
        stepper.planned, stepper.age = True, 0
        stepper._plan(record["rigid_poses"][at], stepper.wider)
    if before is not None and stepper.contact is not None:
        _restore_impulses(before, stepper.contact)
    return True


def width_after(width: float, age: int) -> float:
    """Margin factor of the next broad phase, from the last one and the number of steps for which it was valid."""
    if age < SHORT:
        return min(2.0 * width, WIDEST)
    return max(0.5 * width, 1.0) if age > LONG else width


def _restore_impulses(before: ContactData, contact: ContactData) -> None:
    """Restore the impulses from which the retried step warm-starts."""
    count = int(before.now[0].start)
    cones, impulses = contact.cones, before.start_impulses[:count]
    cones.key[:count], cones.gam[:count] = before.start_keys[:count], impulses[:, 0]
    cones.beta[:count] = impulses[:, 1:]
    contact.now.known = count
