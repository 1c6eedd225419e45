"""The small interface between the front door and the integrators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.mechanism import Mechanism

FloatArray = NDArray[np.float64]

PENALTIES = frozenset(
    ("penalty contact", "limit spring of joint", "isotropic spring", "cable without clipping"),
)
"""Parts of `Mechanism.special_parts` that are nothing but forces."""


@dataclass(frozen=True)
class Integrator:
    """Base of all integrators: small frozen settings; `prepare` makes the stepper that does the work."""

    stepper_class: ClassVar[Any] = None
    handles: ClassVar[frozenset[str]] = frozenset()
    """The kinds of `Mechanism.special_parts` that it can run."""

    def prepare(self, mechanism: Mechanism, dt: float) -> Stepper:
        """A stepper for `mechanism` with steps of `dt` [s]; refuses at once what it cannot run."""
        if not isinstance(dt, int | float | np.number) or not math.isfinite(dt) or dt <= 0.0:
            raise IntegratorError(f"dt must be a positive, finite time step [s], got {dt!r}")
        for what, name in mechanism.special_parts.items():
            if what not in self.handles:
                own = type(self).__name__
                raise IntegratorError(f"{own} cannot run the {what} {name!r}; use leastaction.BDF")
        return self.stepper_class(self, mechanism, float(dt))


class Stepper:
    """Runs one integrator on one mechanism with one dt; owns the work space, so one thread at a time.

    Attributes:
        control_nodes: fractions of a step at which controls are read.
        momentum: True when the integrator solves for (q, p), False when for (q, v).
        acts: what acts of "contacts" (with the ground), "limits" (rigid ones of joints) and "dry friction" (of joints).
        start_time: time of the first state [s].
    """

    control_nodes: tuple[float, ...] = (0.0,)
    momentum = False
    acts: frozenset[str] = frozenset()
    start_time = 0.0

    def __init__(self, integrator: Integrator, mechanism: Mechanism, dt: float) -> None:
        self.integrator: Any = integrator
        self.mechanism = mechanism
        self.dt = dt

    def record(self, steps: int) -> dict[str, FloatArray]:
        """Arrays of a run of `steps` steps: q, v or p, and what else the method has to tell, one row per time."""
        m = self.mechanism
        return {
            "q": np.zeros((steps + 1, m.nq)),
            "p" if self.momentum else "v": np.zeros((steps + 1, m.nv)),
        }

    def advance(self, record: dict[str, FloatArray], first: int, last: int, u: FloatArray) -> int:
        """Fill rows first + 1 ... last; gives back the last row that holds, `last` if all went well.

        Args:
            record: from `record`; row `first` is filled.
            first, last: steps.
            u: controls, shape (last - first, len(control_nodes), nu).
        """
        raise NotImplementedError

    def finish(self, record: dict[str, FloatArray]) -> None:
        """Complete the record at the end of a run."""

    def failure(self, step: int, record: dict[str, FloatArray]) -> ConvergenceError:
        """The error for a step that did not converge."""
        raise NotImplementedError

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Check (or adjust) the initial configuration."""
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Check (or, with `project`, adjust) the initial momentum."""
        return p


def refuse_loops(integrator: Any, mechanism: Mechanism) -> None:
    """Methods for trees refuse loops and couplings, and name a method that can."""
    name = type(integrator).__name__
    for joint in mechanism.loops:
        raise IntegratorError(f"{name} cannot close the loop joint {joint.name!r}; use leastaction.Galerkin")
    for coupling in mechanism.couplings:
        raise IntegratorError(f"{name} cannot keep the coupling {coupling.name!r}; use leastaction.Galerkin")
    for rolling in mechanism.rollings:
        raise IntegratorError(f"{name} cannot keep {rolling.name!r} rolling; use leastaction.Galerkin")
