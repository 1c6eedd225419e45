"""Single steps of `Minimal` of any length, each as the first of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._jit.batched_call import LengthCall
from leastaction._jit.bound import Bound
from leastaction.integration.first_steps import NO_CONTACTS, FirstSteps
from leastaction.integration.integrators import FloatArray

if TYPE_CHECKING:
    from leastaction.minimal.contact.stepper import GroundStepper


class GroundFirstSteps(FirstSteps):
    """See `FirstSteps`: one stepper with variable step length, which starts anew with each step."""

    stepper: GroundStepper

    def __init__(self, stepper: GroundStepper) -> None:
        super().__init__(stepper.with_dt(stepper.dt))  # with separate arrays
        self._pushing = self.stepper.cones.row[: len(self.stepper.bodies)].astype(np.int64)
        self._bind()

    def _bind(self) -> None:
        own, record = self.stepper, self.record
        touch = own.data.touch
        found = touch.found
        self._now: Any = None if found is None else found.now.view(np.ndarray)  # fields of a recarray are slow
        self._kept = (touch.lam, touch.kick, own.steady)
        u = self.u.reshape(1, own.mechanism.nu, 1)
        rows = *own.record_arrays(record), own.steady, *own.no_goals
        self._call = LengthCall(self._with_length, u, rows, False)

    def _with_length(self, dt: float) -> Bound:
        own = self.stepper
        # dt and whole change; `_replace` would take several times as long.
        return own.bound.holding(1, (dt, *own.settings[1:-1], dt))

    def __call__(self, dt: float, v: FloatArray) -> bool:
        """See `FirstSteps`."""
        own, now = self.stepper, self._now
        own.dt = dt
        own.data.v_last[:] = v
        own.data.v_older[:] = v
        for x in self._kept:
            x[...] = 0
        if now is not None:
            now["kept"], now["listed"], now["written"] = 0, -1, 0
        done, failed = self._call(dt)
        if failed and now is not None and now["full"][0]:
            own.make_more_room()
            self._bind()
            return self(dt, v)
        return done == 1

    def contacts(self) -> FloatArray:
        """See `FirstSteps`."""
        own, now, record = self.stepper, self._now, self.record
        impulses = record.extras["impulses"]
        pushes = len(self._pushing) > 0 and bool((impulses[1, self._pushing] > 0.0).any())
        written = 0 if now is None else int(now["written"][0])
        if not pushes and not written:
            return NO_CONTACTS
        found: Any = own.data.touch.found
        own.found_log = [] if found is None else [found.log[:written].copy()]
        own.log = [(0, 1, impulses, record.extras["places"])] if len(own.bodies) else []
        return own.logged_contacts()
