"""Where the robots of a batch start on a GPU: within limits and apart, as they do on the CPU."""

from __future__ import annotations

import numpy as np

from leastaction.initial_state.start_limits import moved_alike, within_rigid_limits
from leastaction.integration.integrators import Stepper
from leastaction.mechanism.arguments import FloatArray
from leastaction.warn import Gathered


def moved_starts(stepper: Stepper, q: FloatArray) -> FloatArray:
    """Configurations (robots, nq) with joints within limits that act, and links apart; one warning of each sort.

    All are looked at by compiled code; Python moves those alone that have to be moved.
    """
    if "limits" not in stepper.acts:
        return q
    if len(q) > 1 and (q == q[0]).all():
        return np.repeat(moved_starts(stepper, q[:1]), len(q), axis=0)
    gathered, out = Gathered(), q.copy()
    with gathered.of(0):
        beyond = np.flatnonzero(~within_rigid_limits(stepper, q))
        if len(beyond):
            out[beyond] = moved_alike(stepper, q[beyond], beyond, gathered)
        for k in np.flatnonzero(stepper.overlapping(out)).tolist():
            gathered.turn_to(k)
            out[k] = stepper.clear_start(out[k])
    gathered.give()
    return out
