"""`HermiteSimpson` and `ImplicitTrapezoidal`: direct collocation run forward as an integrator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction.collocation.newton import rollout
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.forces.arrays import force_arrays
from leastaction.integrators import Integrator, Stepper, refuse_loops
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.record import Record


class CollocationStepper(Stepper):
    """Runs both methods: state (q, v), Newton to the integrator's tolerance."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        refuse_loops(integrator, mechanism)
        self.control_nodes = integrator.nodes
        self.arrays = force_arrays(mechanism)
        w = Workspace(mechanism)
        n, nq, count = mechanism.nv, mechanism.nq, len(self.control_nodes)
        self.work = (
            w.links,
            w.screws,
            w.external,
            np.zeros(n),
            *w.derivative_arrays(),
            np.zeros((n, n)),
            np.zeros((n, n)),
            np.zeros((n, n)),
            _has_curved_forces(mechanism),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.zeros(nq),
        )
        self.points = (np.zeros((count, 2, n)), np.zeros((count, 2, n)), np.zeros((count, nq)))
        size = (2 * n, 2 * n)
        matrices = (np.zeros((count, *size)), np.zeros(size), np.zeros(size))
        self.scratch = (np.zeros((2, n)), matrices, np.zeros((2 * n, 1)))
        self.settings = (float(integrator.tolerance), int(integrator.max_iterations))
        self.history = np.zeros(integrator.max_iterations + 1)

    def record(self, steps: int) -> Record:
        """Also the Newton iterations of each step."""
        return super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """Fill rows first + 1 ... last by the compiled loop."""
        rows = slice(first, last + 1)
        self.history[:] = 0.0
        done = rollout(
            self.arrays,
            self.work,
            self.points,
            self.scratch,
            u,
            self.dt,
            self.settings,
            self.history,
            record["q"][rows],
            record["v"][rows],
            record["iterations"][rows],
        )
        return first + done

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The defects of the Newton iterations go with the error."""
        method = self.integrator
        residuals = [float(x) for x in self.history if x > 0.0 or math.isnan(x)]
        return ConvergenceError(
            f"{type(method).__name__}: step {step + 1} did not converge to {method.tolerance:g} within "
            f"{method.max_iterations} iterations (last defect {residuals[-1] if residuals else 0.0:.3g}); "
            "take a smaller dt or a larger tolerance",
            step=step,
            residuals=residuals,
        )


def _has_curved_forces(mechanism: Mechanism) -> bool:
    """Whether a force is more than springs and dampers on joints with one axis, and motors."""
    t = mechanism.tree
    many = t.nodes.nv[t.dofs.node] > 1
    return bool(len(t.paths) or len(t.wrenches) or (t.drives.dof < 0).any() or (t.dofs.stiffness[many] != 0.0).any())


@dataclass(frozen=True)
class _Collocation(Integrator):
    """Settings of both methods."""

    tolerance: float = 1e-10
    max_iterations: int = 50
    nodes: ClassVar[tuple[float, ...]] = ()
    stepper_class: ClassVar[Any] = CollocationStepper

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not (isinstance(self.tolerance, float | int) and 0.0 < self.tolerance < 1.0):
            raise IntegratorError(f"{name}: tolerance must be between 0 and 1, got {self.tolerance!r}")
        if not isinstance(self.max_iterations, int) or self.max_iterations < 1:
            raise IntegratorError(f"{name}: max_iterations must be at least 1, got {self.max_iterations!r}")


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
