"""`HermiteSimpson` and `ImplicitTrapezoidal`: direct collocation run forward as an integrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leastaction.collocation.stepper import CollocationStepper
from leastaction.integration.integrators import Integrator


@dataclass(frozen=True)
class _Collocation(Integrator):
    """Settings of both methods."""

    tolerance: float = 1e-10
    max_iterations: int = 50
    nodes: ClassVar[tuple[float, ...]] = ()
    stepper_class: ClassVar[Any] = CollocationStepper
    # Not what touches and lets go: no polynomial fits the acceleration across a bend or a jump.
    handles: ClassVar[frozenset[str]] = frozenset(("isotropic spring", "cable without clipping", "tendon of joints"))


@dataclass(frozen=True)
class ImplicitTrapezoidal(_Collocation):
    """Implicit trapezoidal rule on (q, v), order 2. For comparison.

    Attributes:
        tolerance: size of the Newton update [rad, m, rad/s or m/s] at which a step counts as solved.
        max_iterations: Newton iterations allowed.
    """

    nodes: ClassVar[tuple[float, ...]] = (0.0, 1.0)


@dataclass(frozen=True)
class HermiteSimpson(_Collocation):
    """Hermite-Simpson collocation on (q, v), order 4: what trajectory optimisers use (Fan 2018, Section 5.3).

    Attributes:
        tolerance: size of the Newton update [rad, m, rad/s or m/s] at which a step counts as solved.
        max_iterations: Newton iterations allowed.
    """

    nodes: ClassVar[tuple[float, ...]] = (0.0, 0.5, 1.0)
