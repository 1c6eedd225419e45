"""Derivatives of steps at one state after another."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics.workspace import given
from leastaction.integration.integrators import FloatArray, Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import state_vector


class Linearizer:
    """Derivatives of steps by a stepper that is used for nothing else.

    Attributes:
        mechanism: the robot.
        lower, upper: limits of what acts, which u follows between them, shape (nu,).
    """

    def __init__(self, mechanism: Mechanism, stepper: Stepper) -> None:
        self.mechanism, self.stepper = mechanism, stepper
        self.lower, self.upper = limits_of(mechanism)

    def at(self, q: FloatArray, p: FloatArray, u: Any, out: Any = None) -> tuple[FloatArray, FloatArray]:
        """See `linearize`, for a state that is known to be good."""
        u = np.zeros(len(self.lower)) if u is None else state_vector(self.mechanism, u, len(self.lower), "u")
        acting = np.minimum(np.maximum(u, self.lower), self.upper)
        A, B = self.stepper.linearize(q, p, acting)
        follows = acting == u
        if not follows.all():
            B = B * follows
        if out is None:
            return A, B
        given(A, out[0])
        given(B, out[1])
        return out[0], out[1]


def limits_of(mechanism: Mechanism) -> tuple[FloatArray, FloatArray]:
    """Least and largest control of each actuator that follow u; infinite of those with an activation."""
    limits = [(a.lower, a.upper) if a.activation is None else (-np.inf, np.inf) for a in mechanism.actuators]
    lower, upper = np.full((2, mechanism.nu), [[-np.inf], [np.inf]])
    for k, (low, high) in enumerate(limits):
        lower[k], upper[k] = low, high
    return lower, upper
