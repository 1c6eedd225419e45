"""First guesses."""

from __future__ import annotations

import numpy as np

from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.actuators import Servo
from leastaction.typing import FloatArray


def resting_controls(mechanism: Mechanism, q: FloatArray) -> FloatArray:
    """Controls with which motors do not push at rest at q (rows, nq), shape (rows, nu): zero, or the servo's position.

    A servo with a target far away is at the limits of its force, where no derivative guides a search.
    """
    out = np.zeros((len(q), mechanism.nu))
    for k, a in enumerate(mechanism.actuators):
        if isinstance(a, Servo) and a.kp > 0.0 and a.push and a.coordinate in mechanism.coordinate_names:
            x = a.gear * q[:, mechanism.coordinate_index(a.coordinate)]
            out[:, k] = a.gear * a.kp * (x - a.rest) / a.push
    return out
