"""The stepper in maximal coordinates: the steps are those of `ConstrainedEuler` on the mechanism taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import ConvergenceError
from leastaction.integration.integrators import Stepper
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism, Pose
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.pose_arrays import carried
from leastaction.redmax.linear_implicit.maximal_coordinates.maximal_map import MaximalMap, taken_apart


class MaximalStepper(Stepper):
    """Steps the bodies of a mechanism one by one, tied by its joints; q and v are read off them."""

    acts = frozenset({"contacts"})
    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.apart = taken_apart(mechanism)
        self.map = MaximalMap(mechanism, self.apart)
        self.inner: Any = integrator.in_parts().prepare(self.apart, dt)

    def record(self, steps: int) -> Record:
        """q and v, the frames and twists of the bodies that they come from, and what the steps record."""
        inner = self.inner.record(steps)
        return super().record(steps) | {"body_frames": inner.q, "body_twists": inner.v, **inner.extras}

    def memory(self) -> Any:
        """See `Stepper.memory`."""
        return self.inner.memory()

    def restore_memory(self, memory: Any) -> None:
        """See `Stepper.restore_memory`."""
        self.inner.restore_memory(memory)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        m = self.mechanism
        self.inner.start_time = self.start_time
        inner = Record(record["body_frames"], v=record["body_twists"], extras=record.extras)
        for k in range(first, last):
            q, v = record["q"][k], record["v"][k]
            if k == 0:
                inner["q"][0], inner["v"][0] = self.map.poses(q), self.map.twists(q, v)
            control = u[k - first, 0]
            tau = m.generalized_forces(control, q) if control.any() else np.zeros(m.nv)
            wrenches = self.map.wrenches(q, tau)
            if self.inner.advance(inner, k, k + 1, wrenches[None, None]) <= k:
                return k
            record["q"][k + 1], record["v"][k + 1] = self.map.reduced(inner["q"][k + 1], inner["v"][k + 1], q)
        return last

    def finish(self, record: Record) -> None:
        """See `Stepper.finish`."""
        self.inner.finish(record)
        frames = record["body_frames"].reshape(len(record.q), -1, 7)[:, self.map.order]
        record.poses = np.stack(
            [carried(frames[:, i], Pose(b.inertia.com)) for i, b in enumerate(self.mechanism.bodies)], axis=1
        )
        if "contacts" in record:
            names = [*self.apart.body_names, "world"]
            index = np.array([self.mechanism.body_index(name) for name in names])
            record["contacts"][:, 1:3] = index[record["contacts"][:, 1:3].astype(int)]

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error of the step that failed."""
        return self.inner.failure(step, record)
