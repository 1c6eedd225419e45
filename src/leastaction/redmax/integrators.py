"""The implicit integrators of Sueda 2021, Section 3.4, as settings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from leastaction.errors import IntegratorError
from leastaction.forces.user import PointForce
from leastaction.integration.integrators import PENALTIES, Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice
from leastaction.redmax.linear_implicit.velocity_constraints import PrescribedMotion
from leastaction.redmax.prescribed_coordinates import DrivenStepper
from leastaction.redmax.step import reduced_rollout
from leastaction.redmax.stepper import LinearStepper, ReducedStepper

CHART_KINDS = ("euler", "exponential")


def _stepper(integrator: Any, mechanism: Mechanism, dt: float) -> ReducedStepper:
    return (DrivenStepper if integrator.constraints else ReducedStepper)(integrator, mechanism, dt)


def _check(integrator: Any) -> None:
    name = type(integrator).__name__
    if not isinstance(integrator.forces, tuple) or not all(isinstance(f, PointForce) for f in integrator.forces):
        raise IntegratorError(f"{name}: forces must be a tuple of leastaction.forces.PointForce")
    choice(integrator.chart, CHART_KINDS, f"{name}: chart", IntegratorError)


@dataclass(frozen=True)
class BDF(Integrator):
    """Backward differentiation formulas in reduced coordinates (Sueda 2021, 3.4): stiff forces, any joint, loops.

    All forces are taken at the end of the step, with the exact Newton matrix. Order 1 is implicit Euler and damps
    motion strongly; order 2 starts with one step of `SDIRK2`. Controls are those at the end of a step. A step that does
    not converge or gains energy is divided, those of order 2 into steps of `SDIRK2`; see `run.stored["divided"]`.

    Attributes:
        order: 1 or 2.
        tolerance: relative error of positions and velocities at which a step counts as solved.
        max_iterations: Newton iterations allowed.
        chart: coordinates of ball and free joints inside a run: "euler", twelve charts of Euler angles with automatic
            changes, or "exponential".
        forces: forces of the user's own, see `leastaction.forces.PointForce`.
        constraints: joints that follow given positions, `leastaction.redmax.PrescribedMotion`; they hold at the end of
            each step, and the forces that it takes are the last of `run.stored["multipliers"]`.
    """

    order: int = 2
    tolerance: float = 1e-12
    max_iterations: int = 100
    chart: str = "euler"
    forces: tuple[PointForce, ...] = ()
    constraints: tuple[PrescribedMotion, ...] = ()
    handles: ClassVar[frozenset[str]] = PENALTIES | {"spline joint"}
    stepper_class: ClassVar[Any] = staticmethod(_stepper)

    def __post_init__(self) -> None:
        if not isinstance(self.constraints, tuple | list):
            raise IntegratorError(f"BDF: constraints must be several in a tuple, got {self.constraints!r}")
        object.__setattr__(self, "constraints", tuple(self.constraints))
        if self.order not in (1, 2):
            raise IntegratorError(f"BDF: order must be 1 or 2, got {self.order!r}")
        _check(self)

    @property
    def method(self) -> int:
        """Code for the kernel."""
        return (reduced_rollout.BDF1, reduced_rollout.BDF2)[self.order - 1]


@dataclass(frozen=True)
class SDIRK2(Integrator):
    """Singly diagonally implicit Runge-Kutta method of order 2 in reduced coordinates (Sueda 2021, Eq. 3.66).

    L-stable, two implicit stages per step; controls are held at those of the end of the step. With loops, couplings and
    rolling the velocities at the end of each stage are projected, without which Runge-Kutta methods fall to order 1.

    Attributes:
        tolerance: relative error of positions and velocities at which a stage counts as solved.
        max_iterations: Newton iterations allowed.
        chart: as for `BDF`.
        forces: forces of the user's own, see `leastaction.forces.PointForce`.
    """

    tolerance: float = 1e-12
    max_iterations: int = 100
    chart: str = "euler"
    forces: tuple[PointForce, ...] = ()
    handles: ClassVar[frozenset[str]] = PENALTIES | {"spline joint"}
    stepper_class: ClassVar[Any] = ReducedStepper

    def __post_init__(self) -> None:
        _check(self)

    @property
    def method(self) -> int:
        """Code for the kernel."""
        return reduced_rollout.SDIRK2


@dataclass(frozen=True)
class LinearlyImplicitEuler(Integrator):
    """Linearly implicit Euler, order 1 (Sueda 2021, 2.5): springs and dampers implicit, one linear system per step.

    Attributes:
        stabilization: rate at which open loops close [1/s] (Baumgarte, Eq. 1.97).
        chart: coordinates of ball and free joints inside a run, as for `BDF`.
        forces: forces of the user's own, see `leastaction.forces.PointForce`.
    """

    stabilization: float = 5.0
    chart: str = "exponential"
    forces: tuple[PointForce, ...] = ()
    tolerance: ClassVar[float] = 0.5
    max_iterations: ClassVar[int] = 1
    method: ClassVar[int] = reduced_rollout.BDF1
    handles: ClassVar[frozenset[str]] = PENALTIES | {"spline joint"}
    stepper_class: ClassVar[Any] = LinearStepper

    def __post_init__(self) -> None:
        _check(self)
        if not (isinstance(self.stabilization, float | int) and 0.0 <= self.stabilization < math.inf):
            raise IntegratorError(f"LinearlyImplicitEuler: stabilization must be a rate, got {self.stabilization!r}")
