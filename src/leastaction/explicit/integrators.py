"""Settings of the explicit integrators on top of forward dynamics, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leastaction.errors import IntegratorError
from leastaction.explicit.arrays import CLASSICAL, EULER, HEUN, Tableau
from leastaction.explicit.stepper import AdaptiveStepper, RungeKuttaStepper, SemiImplicitStepper
from leastaction.integration.integrators import PENALTIES, Integrator


@dataclass(frozen=True)
class ExplicitEuler(Integrator):
    """Explicit Euler, order 1; gains energy. For comparison only."""

    tableau: ClassVar[Tableau] = EULER
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = RungeKuttaStepper


@dataclass(frozen=True)
class Heun(Integrator):
    """Heun's method, order 2."""

    tableau: ClassVar[Tableau] = HEUN
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = RungeKuttaStepper


@dataclass(frozen=True)
class RungeKutta(Integrator):
    """The classical Runge-Kutta method, order 4.

    Attributes:
        order: 1 (explicit Euler), 2 (Heun) or 4.
    """

    order: int = 4
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = RungeKuttaStepper

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order not in (1, 2, 4):
            raise IntegratorError(f"RungeKutta: order must be 1, 2 or 4, got {self.order!r}")

    @property
    def tableau(self) -> Tableau:
        """Of the order."""
        return {1: EULER, 2: HEUN, 4: CLASSICAL}[self.order]


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """Semi-implicit Euler, order 1: what most robot simulators use by default."""

    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = SemiImplicitStepper


@dataclass(frozen=True)
class DOP853(Integrator):
    """SciPy's adaptive Runge-Kutta method of order 8; controls are held constant over each step of the output.

    Attributes:
        rtol, atol: relative and absolute tolerance.
        max_steps: its own steps allowed within each step of the output; more raise `ConvergenceError`.
    """

    rtol: float = 1e-10
    atol: float = 1e-12
    max_steps: int = 10_000
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = AdaptiveStepper

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if not (isinstance(value, float | int) and 0.0 < value < 1.0):
                raise IntegratorError(f"DOP853: {name} must be between 0 and 1, got {value!r}")
        if not isinstance(self.max_steps, int) or self.max_steps < 1:
            raise IntegratorError(f"DOP853: max_steps must be at least 1, got {self.max_steps!r}")
