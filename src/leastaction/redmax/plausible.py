"""Steps that give energy from nowhere: `BDF` and `SDIRK2` damp, so they have left the motion."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leastaction._jit.walk import Walk
from leastaction.dynamics.legendre import Quantities
from leastaction.integrators import FloatArray
from leastaction.mechanism import Mechanism
from leastaction.record import Record

GAIN = 0.02
"""Share of the energy of a step that may come from nowhere."""


class Plausibility:
    """Tells which steps hold finite numbers and, without controls, give no energy from nowhere.

    Args:
        mechanism: the robot.
        passive: whether all its forces but the controls have a potential or resist; else energies are not looked at.
    """

    def __init__(self, mechanism: Mechanism, passive: bool) -> None:
        self.passive = passive
        self.energies = Quantities(mechanism) if passive else None

    def last(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """The last of the rows `first` ... `last` up to which all steps are plausible; u: their controls."""
        q, v = record["q"][first : last + 1], record["v"][first : last + 1]
        fine = np.isfinite(q[1:]).all(axis=1) & np.isfinite(v[1:]).all(axis=1)
        if self.energies is not None and fine.all():
            kinetic, potential = np.zeros((2, len(q)))
            self.energies.tell(q, v, (kinetic, potential, np.zeros((len(q), 6))))
            energy = kinetic + potential
            noise = 1e-9 * np.abs(energy[1:]) + 1e-12
            allowed = GAIN * (kinetic[1:] + kinetic[:-1] + np.abs(potential[1:] - potential[:-1])) + noise
            fine = (energy[1:] - energy[:-1] <= allowed) | u[: last - first].any(axis=(1, 2))
        wrong = np.flatnonzero(~fine)
        return first + int(wrong[0]) if len(wrong) else last

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], bool]:
        """Whether the step from a row is plausible, for who asks again and again; the arrays stay where they are."""
        q, v = record["q"], record["v"]
        if self.energies is None:
            return lambda first: math.isfinite(q[first + 1].dot(q[first + 1]) + v[first + 1].dot(v[first + 1]))
        out = np.zeros(2), np.zeros(2), np.zeros((2, 6))
        walk = Walk(self.energies.kernel, lambda row: (q[row : row + 2], v[row : row + 2], out))

        def plausible(first: int) -> bool:
            walk(first)
            (T0, T1), (U0, U1) = out[0].tolist(), out[1].tolist()
            allowed = GAIN * (T1 + T0 + abs(U1 - U0)) + 1e-9 * abs(T1 + U1) + 1e-12
            # Where not, numbers that are not finite among them, controls may have done it.
            gain = T1 + U1 - T0 - U0
            return gain <= allowed or self.last(record, first, first + 1, u) == first + 1

        return plausible
