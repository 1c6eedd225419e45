"""Single steps of `Maximal` in sequence, with all arguments that stay the same prepared once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leastaction._jit.batched_call import BatchedCall
from leastaction.integration.integrators import FloatArray
from leastaction.integration.record import Record
from leastaction.maximal.retry import recover
from leastaction.maximal.step.maximal_rollout import DONE


def stride_of(stepper: Any, record: Record, u: FloatArray) -> Callable[[int], int]:
    """See `Stepper.stride`; steps that need preparation or recovery go through `MaximalStepper.advance`."""

    def arguments(row: int) -> tuple[Any, ...]:
        return tuple(stepper.rows(record, row, row + 1)), u, stepper.substeps, True

    walk, given, last = BatchedCall(stepper.rollout, arguments), len(stepper.model.goals) > 0, u[0, -1]

    def step(first: int) -> int:
        nonlocal walk
        if first == 0 or given:
            return stepper.advance(record, first, first + 1, u)
        if walk.bound is not stepper.rollout:  # graph or near pairs have changed
            walk = BatchedCall(stepper.rollout, arguments)
        if stepper.unread >= 0:
            stepper.read_log()
        contact = stepper.contact
        if contact is not None:
            contact.written[0] = 0
        _, why = walk(first)
        if why != DONE:
            stepper.exhausted = False
            return stepper.advance(record, first, first + 1, u) if recover(stepper, record, first, why, True) else first
        stepper.planned, stepper.reached = False, (first + 1, last)
        stepper.age += 1
        stepper.unread = first if contact is not None else -1
        return first + 1

    return step
