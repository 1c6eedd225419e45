"""Forces of servos that have limits, as a function of the motion.

A servo at a limit of its force depends on nothing, and no derivative leads a search back. So where the law is
read in the middles of steps alone, plans take it without limits and keep its force between them as a constraint: what
keeps to that moves as the servo with its limits does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.actuators import Servo
from leastaction.optimize.functions.motion_constraints import Constraint
from leastaction.optimize.functions.motion_functions import BoolArray, Curvature, FloatArray, Function, Place, Values


def limited_servos(mechanism: Mechanism) -> list[tuple[int, Servo]]:
    """Numbers of the actuators, and servos, of joints, whose force has limits."""
    return [
        (k, a)
        for k, a in enumerate(mechanism.actuators)
        if isinstance(a, Servo) and a.force_limits is not None and a.coordinate in mechanism.velocity_names
    ]


def without_limits(mechanism: Mechanism) -> Mechanism:
    """The robot with servos of joints that push as hard as their controls say."""
    free = {k: replace(a, force_limits=None) for k, a in limited_servos(mechanism)}
    return mechanism.replace(actuators=tuple(free.get(k, a) for k, a in enumerate(mechanism.actuators)))


def force_limits(mechanism: Mechanism) -> Constraint:
    """Forces of `limited_servos` between their limits."""
    limits = np.array([a.force_limits for _, a in limited_servos(mechanism)])
    return Constraint(ServoForce("force of the servo"), limits[:, 0], limits[:, 1])


@dataclass
class ServoForce(Function):
    """What limited servos push with before their gears, gain u - kp (gear q - rest) - kv gear v [N m or N]."""

    where: ClassVar[str] = "steps"
    has_curvatures: ClassVar[bool] = True

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        servos = limited_servos(mechanism)
        self.size, self.names = len(servos), tuple(a.name for _, a in servos)
        self.by_q, self.by_v = np.zeros((2, self.size, mechanism.nv))
        self.by_u, self.rest = np.zeros((self.size, mechanism.nu)), np.zeros(self.size)
        self.entries = np.zeros(self.size, int)
        for row, (k, a) in enumerate(servos):
            at = mechanism.velocity_index(a.coordinate)
            self.entries[row] = mechanism.coordinate_index(a.coordinate)
            self.by_q[row, at], self.by_v[row, at] = -a.kp * a.gear, -a.kv * a.gear
            self.by_u[row, k] = a.push / a.gear if a.gear else 0.0
            self.rest[row] = a.kp * a.rest

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        rows = len(place.q)
        held = place.q[:, self.entries] * self.by_q.sum(axis=1)
        value = self.rest + held + place.v @ self.by_v.T + place.u @ self.by_u.T
        if not slopes:
            return Values(value)
        q, v, u = (np.broadcast_to(J, (rows, *J.shape)) for J in (self.by_q, self.by_v, self.by_u))
        return Values(value, q=q, v=v, u=u)

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"q": self.by_q != 0.0, "v": self.by_v != 0.0, "u": self.by_u != 0.0}

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        return Curvature(None, bar @ self.by_v)
