"""`Plan`: what a batch is to do, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


@dataclass(frozen=True, eq=False)
class Plan:
    """The arguments of `leastaction.batch.simulate` as its devices take them.

    Attributes:
        mechanism: the robot.
        mechanisms: the robots one by one where parameters differ, else empty.
        integrator: of all of them.
        q, v: their states, shapes (robots, nq) and (robots, nv).
        u: controls, shape (steps or 1, nu, robots or 1).
        policy: writes the controls of a step, or None where `u` are.
        policy_parameters: its numbers, shape (k, robots or 1).
        dt: time step [s].
        steps: how many.
        every: how many of them from one recorded state to the next.
        dtype: of all numbers.
        workers: threads on the CPU, or None.
        contacts: that a robot on a GPU has room for, or None.
        motions: prescribed ones by name, of all robots, or None.
    """

    mechanism: Mechanism
    mechanisms: tuple[Mechanism, ...]
    integrator: Integrator
    q: FloatArray
    v: FloatArray
    u: FloatArray
    policy: Callable[..., None] | None
    policy_parameters: FloatArray
    dt: float
    steps: int
    every: int
    dtype: np.dtype[Any]
    workers: int | None
    motions: Any = None
    contacts: int | None = None

    @property
    def t(self) -> FloatArray:
        """Times of the recorded states [s]."""
        return self.dt * self.every * np.arange(self.steps // self.every + 1, dtype=float)

    def momenta(self) -> FloatArray:
        """Momenta at the start, shape (robots, nv)."""
        if not self.mechanisms:
            return momentum_of_velocity(self.mechanism, self.q, self.v)
        rows = zip(self.mechanisms, self.q, self.v, strict=True)
        return np.concatenate([momentum_of_velocity(m, q[None], v[None]) for m, q, v in rows])
