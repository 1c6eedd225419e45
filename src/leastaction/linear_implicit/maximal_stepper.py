"""The stepper in maximal coordinates: the steps are those of `ConstrainedEuler` on the mechanism taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import ConvergenceError
from leastaction.integrators import Stepper
from leastaction.linear_implicit.maximal_map import MaximalMap, taken_apart
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


class MaximalStepper(Stepper):
    """Steps the bodies of a mechanism one by one, tied by its joints; q and v are read off them."""

    acts = frozenset({"contacts"})
    control_nodes = (1.0,)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.apart = taken_apart(mechanism)
        self.map = MaximalMap(mechanism, self.apart)
        self.inner: Any = integrator.in_parts().prepare(self.apart, dt)

    def record(self, steps: int) -> dict[str, FloatArray]:
        """q and v, the poses and twists they come from, and what the steps tell."""
        record = super().record(steps)
        inner = self.inner.record(steps)
        record["poses"], record["twists"] = inner.pop("q"), inner.pop("v")
        return record | inner

    def advance(self, record: dict[str, FloatArray], first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        m = self.mechanism
        self.inner.start_time = self.start_time
        inner = {**record, "q": record["poses"], "v": record["twists"]}
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

    def finish(self, record: dict[str, FloatArray]) -> None:
        """See `Stepper.finish`."""
        self.inner.finish(record)
        if "contacts" in record:
            names = [*self.apart.body_names, "world"]
            index = np.array([self.mechanism.body_index(name) for name in names])
            record["contacts"][:, 1:3] = index[record["contacts"][:, 1:3].astype(int)]

    def failure(self, step: int, record: dict[str, FloatArray]) -> ConvergenceError:
        """The error of the step that failed."""
        return self.inner.failure(step, record)
