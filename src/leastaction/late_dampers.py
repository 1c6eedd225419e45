"""Momenta of joints whose dampers are strong for the step, and the velocities that they tell.

Steps of order 2 take half of what forces do at each end, but of a damper no more at the end than the joint stands
(`mobility.HOLDS`): what is beyond, `late`, acts at the start of the step. With a force f, the velocity v- of the step
before and its length h, a single joint of inertia M and damping d has

    p = M v- + h f / 2 - (h d / 2 - late) v-    and in steady motion, where f = d v,    p = (M + late) v

so p is not the momentum of the motion alone: M^-1 p would be h f / (2 M), whatever the damper holds of f. The
velocity is (M + late)^-1 p. It is exact in steady motion and, where the force jumps and M / d is short for the step,
f / d after one step, as it should be. Where nothing is late it is M^-1 p, as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from leastaction.dynamics.legendre import Velocities
from leastaction.dynamics.mobility import HOLDS, mobility_at_home, own_springs
from leastaction.dynamics.run_velocities import velocities_of_rows
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.servos import driven_joints, feedback
from leastaction.step_control.bisection import lengths_of


class LateDampers:
    """What of the dampers' impulses momenta hold, per velocity, at the ends of steps of one robot.

    Args:
        mechanism: the robot.
        dt: time step [s].
        springs: whether springs of joints pull from the middle of a step, as those of servos do.
        last: length of the last of the steps that one step is composed of, relative to it.
    """

    def __init__(self, mechanism: Mechanism, dt: float, springs: bool, last: float = 1.0) -> None:
        self.mechanism, self.dt, self.springs, self.last = mechanism, dt, springs, last

    def of(self, mechanism: Mechanism) -> LateDampers:
        """The same of another robot."""
        return type(self)(mechanism, self.dt, self.springs, self.last)

    @cached_property
    def _law(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Damping, stiffness that acts from the middle of a step, and most that a joint stands, each shape (nv,)."""
        m = self.mechanism
        damping = np.concatenate([np.zeros(0), *(joint.damping for joint in driven_joints(m))])
        single = np.zeros(m.nv, bool)
        single[[group.iv for group in m.coordinate_groups if group.nv == 1]] = True
        damping = np.where(single, damping, 0.0)
        if not damping.any():
            return damping, damping, np.full(m.nv, np.inf)
        mobility, servo = mobility_at_home(m), feedback(m).stiffness
        return (
            damping,
            servo + own_springs(m) if self.springs else servo,
            HOLDS / mobility,
        )

    def after(self, h: float) -> FloatArray:
        """After a step, or part of one, of length h [s], shape (nv,)."""
        damping, servo, holds = self._law
        return np.maximum(0.5 * h * (damping - 0.5 * h * servo) - holds, 0.0)

    @cached_property
    def usual(self) -> FloatArray | None:
        """After a step that was not divided, shape (nv,); None where nothing is late."""
        late = self.after(self.last * self.dt)
        return late if late.any() else None

    def of_rows(self, rows: int, stored: Mapping[str, Any]) -> FloatArray | None:
        """At the rows of a run, shape (rows, nv); None where nothing is late.

        Args:
            rows: how many there are; a run starts with the first, unless "cuts" says that it was cut off there.
            stored: what a run stores, "divided" of it.
        """
        if self.usual is None:
            return None
        out = np.tile(self.usual, (rows, 1))
        if 0 not in np.asarray(stored.get("cuts", ())):
            out[0] = 0.0
        divided = stored.get("divided")
        if divided is not None:
            parts = np.asarray(divided).reshape(rows, -1)[:, -1]
            for k in np.flatnonzero(parts):
                out[k] = self.after_parts(int(parts[k]), np.ndim(divided) > 1)
        return out

    def after_parts(self, divided: int, bits: bool) -> FloatArray:
        """After a divided step, shape (nv,).

        Args:
            divided: how, as runs store it; -1 stands for so many parts that nobody knows.
            bits: whether it tells all parts, see `bisection.LONGEST`; else it is their number.
        """
        if divided == -1:
            return np.zeros(self.mechanism.nv)
        part = lengths_of(divided)[-1] if bits else 1.0 / divided
        return self.after(self.last * self.dt * part)


def late_dampers(integrator: Any, mechanism: Mechanism, dt: float) -> LateDampers | None:
    """Those of the integrator's steps that hold something of dampers; None where they do not, or nobody knows it."""
    late = None if integrator is None else integrator.late_dampers(mechanism, dt)
    return None if late is None or late.usual is None else late


class RunVelocities:
    """Velocities at one row of a growing record after another; not for two threads at once.

    Args:
        stepper: whose record it is.
        record: of which rows are filled one by one.
        mechanism: the robot, where the stepper's has more actuators; default that of the stepper.
    """

    def __init__(self, stepper: Any, record: Any, mechanism: Mechanism | None = None) -> None:
        self.momentum, self._record = stepper.momentum, record
        m = mechanism or stepper.mechanism
        if self.momentum:
            self._late = stepper.late
            self._plain = self._usual = Velocities(m)
            if self._late is not None:
                self._usual = Velocities(m, self._late.usual)

    def at(self, row: int, reached: bool) -> FloatArray:
        """v of a row (nv,), in an array that may be the record's; reached: by a step, rather than a start."""
        q, second = self._record.q[row], self._record.second[row]
        if not self.momentum:
            return second
        if not reached or self._late is None:
            return self._plain.at(q, second)
        divided = np.atleast_1d(self._record["divided"][row])
        if not divided[-1] and self._plain.mechanism.is_tree:
            return self._usual.at(q, second)
        late = (
            self._late.usual
            if not divided[-1]
            else self._late.after_parts(int(divided[-1]), self._record["divided"].ndim > 1)
        )
        return velocities_of_rows(self._plain.mechanism, q[None], second[None], late[None])[0]
