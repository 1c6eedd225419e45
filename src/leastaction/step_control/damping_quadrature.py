"""Momenta of joints whose dampers are strong for the step, and the velocities that follow from them.

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
from leastaction.mechanism.drives.servos import driven_joints, feedback
from leastaction.step_control.substeps import last_share

ALL = slice(None)


class DampingInMomenta:
    """What of the dampers' impulses momenta hold, per velocity, at the ends of steps of one robot.

    Args:
        mechanism: the robot.
        dt: time step [s].
        springs: whether springs of joints pull from the middle of a step, as those of servos do.
        last: length of the last of the steps that one step is composed of, relative to it.
    """

    def __init__(self, mechanism: Mechanism, dt: float, springs: bool, last: float = 1.0) -> None:
        self.mechanism, self.dt, self.springs, self.last = mechanism, dt, springs, last

    def of(self, mechanism: Mechanism) -> DampingInMomenta:
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

    @property
    def damps(self) -> bool:
        """Whether there are dampers at all."""
        return bool(self._law[0].any())

    def after(self, h: float) -> FloatArray:
        """After a step, or part of one, of length h [s], shape (nv,)."""
        damping, servo, holds = self._law
        return np.maximum(0.5 * h * (damping - 0.5 * h * servo) - holds, 0.0)

    @cached_property
    def after_whole_step(self) -> FloatArray | None:
        """After a step that was not divided, shape (nv,); None where nothing is late."""
        late = self.after(self.last * self.dt)
        return late if late.any() else None

    def of_rows(self, rows: int, stored: Mapping[str, Any]) -> FloatArray | None:
        """At the rows of a run, shape (rows, nv); None where nothing is late.

        Args:
            rows: how many there are; a run starts with the first, unless "cuts" says that it was cut off there.
            stored: what a run stores of its substeps.
        """
        if self.after_whole_step is None:
            return None
        out = np.tile(self.after_whole_step, (rows, 1))
        if 0 not in np.asarray(stored.get("cuts", ())):
            out[0] = 0.0
        shares = last_shares(stored)
        if shares is not None:
            for k in np.flatnonzero(shares != 1.0):
                out[k] = self.after_substep(shares[k])
        return out

    def after_substep(self, share: float) -> FloatArray:
        """After a step whose last substep has this share of its length, shape (nv,); not a number: nobody knows it."""
        return np.zeros(self.mechanism.nv) if np.isnan(share) else self.after(self.last * self.dt * share)


def last_shares(stored: Mapping[str, Any], rows: slice = ALL) -> FloatArray | None:
    """Shares of the steps that their last substeps have, of rows of a record; None where it has no substeps."""
    if "substeps" in stored:
        return np.array([last_share(ends) for ends in np.asarray(stored["substeps"])[rows, -1]])
    if stored.get("divided") is None:
        return None
    parts = np.asarray(stored["divided"])[rows].astype(float)
    return np.where(parts < 0.0, np.nan, 1.0 / np.maximum(parts, 1.0))


def damping_in_momenta(integrator: Any, mechanism: Mechanism, dt: float) -> DampingInMomenta | None:
    """Those of the integrator's steps that hold something of dampers; None where they do not, or nobody knows it."""
    late = None if integrator is None else integrator.damping_in_momenta(mechanism, dt)
    return None if late is None or late.after_whole_step is None else late


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
                self._usual = Velocities(m, self._late.after_whole_step)

    def at(self, row: int, reached: bool) -> FloatArray:
        """v of a row (nv,), in an array that may be the record's; reached: by a step, rather than a start."""
        q, second = self._record.q[row], self._record.second[row]
        if not self.momentum:
            return second
        if not reached or self._late is None:
            return self._plain.at(q, second)
        shares = last_shares(self._record, slice(row, row + 1))
        share = 1.0 if shares is None else shares[0]
        if share == 1.0 and self._plain.mechanism.is_tree:
            return self._usual.at(q, second)
        late = self._late.after_substep(share)
        return velocities_of_rows(self._plain.mechanism, q[None], second[None], late[None])[0]
