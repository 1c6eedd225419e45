"""Single steps of any length from any state, each as the first of a run: what runs with an accuracy are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._jit.batched_call import LengthCall
from leastaction._jit.bound import Bound
from leastaction.errors import ConvergenceError

if TYPE_CHECKING:
    from leastaction.integration.integrators import FloatArray, Stepper

LENGTHS = 64
"""Lengths of which steppers are kept."""

NO_CONTACTS = np.zeros((0, 10))
"""Rows of a step in which nothing touches."""


class FirstSteps:
    """Steps from row 0 of `record` to its row 1, with a stepper for each length.

    Attributes:
        stepper: of the last step.
        record: of one step; who calls fills row 0.
        u: controls of the step, shape (1, nodes, nu); who calls fills them.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper, self.record = stepper, stepper.record(1)
        self.u = np.zeros((1, len(stepper.control_nodes), stepper.mechanism.nu))
        self._known: dict[float, Stepper] = {}

    def __call__(self, dt: float, v: FloatArray) -> bool:
        """Whether a step of dt [s] was solved.

        Args:
            dt: see above.
            v: velocities at its start, shape (nv,).
        """
        own = self._known.get(dt)
        if own is None:
            if len(self._known) == LENGTHS:
                self._known.clear()
            own = self._known[dt] = self.stepper.with_dt(dt)
        own.clear_contacts()
        self.stepper = own
        try:
            return own.advance(self.record, 0, 1, self.u) == 1
        except ConvergenceError:
            return False

    def contacts(self) -> FloatArray:
        """Contacts of the last step, rows as in `Record.contacts`."""
        return self.stepper.logged_contacts() if self.stepper.acts else NO_CONTACTS


class PlainFirstSteps(FirstSteps):
    """Of steppers that keep nothing from step to step: one compiled call each.

    Args:
        stepper: see `FirstSteps`.
        bound: the loop over steps bound with a length [s], which gives back how many it has done.
        written: names of the arrays of a record that it takes after the controls.
    """

    def __init__(self, stepper: Stepper, bound: Callable[[float], Bound], written: tuple[str, ...]) -> None:
        super().__init__(stepper)
        self._call: Any = LengthCall(bound, self.u, *(self.record[name] for name in written))

    def __call__(self, dt: float, v: FloatArray) -> bool:
        """See `FirstSteps`."""
        return self._call(dt) == 1
