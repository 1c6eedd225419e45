"""Where the compiled loop of `Maximal` stops early: the step begins again, with more room or a new plan."""

from __future__ import annotations

from typing import Any

from leastaction.integration.record import Record
from leastaction.maximal.arrays import ContactData
from leastaction.maximal.step.maximal_rollout import EXHAUSTED, FAILED, FULL, UNTIED

SHORT, LONG, WIDEST = 8, 64, 16.0
"""After a plan that holds for fewer steps than SHORT comes one that is twice as wide, up to WIDEST times the usual;
after one that holds for more than LONG, one that is half as wide. A plan takes as long as a few steps, and pairs that
are near but do not touch cost next to nothing."""

LOGGED = 256
"""Steps, each with as many contacts as there is room for, whose forces one call of the compiled loop may log."""


def recover(stepper: Any, record: Record, at: int, why: int, cramped: bool) -> bool:
    """See to it that the step from row `at`, where the loop stopped, can begin again; False: in vain.

    Args:
        stepper: a `MaximalStepper`.
        record, at: the run and the row.
        why: it stopped.
        cramped: whether, if for want of room, an empty log would not be enough of it.
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
        before.now.kept = 0.0  # no matrix belongs to the impulses of the start
    if why == FULL:
        # Of the log, which is then read and empty; or of contacts, or of the log by a single step.
        if cramped:
            stepper.room *= 2
            stepper._make_room()
    elif why == UNTIED:
        stepper._tie(stepper.planned)
        stepper.planned = True
    else:
        # A step that needs more than one plan gets wider ones, in whichever call the first of them was made.
        if not stepper.planned:
            stepper.usual_width = width_after(stepper.usual_width, stepper.age)
        stepper.wider = 2.0 * stepper.wider if stepper.planned else stepper.usual_width
        stepper.planned, stepper.age = True, 0
        stepper._plan(record["rigid_poses"][at], stepper.wider)
    if before is not None and stepper.contact is not None:
        _restore_impulses(before, stepper.contact)
    return True


def width_after(width: float, age: int) -> float:
    """How wide the next plan is to be, by the width of one and the number of steps for which it held."""
    if age < SHORT:
        return min(2.0 * width, WIDEST)
    return max(0.5 * width, 1.0) if age > LONG else width


def _restore_impulses(before: ContactData, contact: ContactData) -> None:
    """Let the step that begins again start from the impulses from which it began."""
    count = int(before.now[0].start)
    cones, impulses = contact.cones, before.start_impulses[:count]
    cones.key[:count], cones.gam[:count] = before.start_keys[:count], impulses[:, 0]
    cones.beta[:count] = impulses[:, 1:]
    contact.now.known = count
