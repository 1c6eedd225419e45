"""Where the robots of a batch start on a GPU: within limits and apart, as they do on the CPU."""

from __future__ import annotations

from leastaction.initial_state.start_limits import tendons_within_limits, within_limits, within_rigid_limits
from leastaction.integration.integrators import Stepper
from leastaction.mechanism.arguments import FloatArray
from leastaction.warn import Gathered


def moved_starts(stepper: Stepper, q: FloatArray) -> FloatArray:
    """Configurations (robots, nq) with joints within limits that act, and links apart; one warning of each sort."""
    if "limits" not in stepper.acts:
        return q
    stays, out, gathered = within_rigid_limits(stepper, q).tolist(), q.copy(), Gathered()
    with gathered.of(0):
        for k, start in enumerate(q):
            gathered.turn_to(k)
            if not stays[k]:
                start = tendons_within_limits(stepper, within_limits(stepper, start))
            out[k] = stepper.clear_start(start)
    gathered.give()
    return out
