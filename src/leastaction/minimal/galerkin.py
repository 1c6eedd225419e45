"""`Galerkin` and `Midpoint`: variational integrators in joint coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction.dynamics.explicit import force_arrays, refuse_loops
from leastaction.dynamics.kinematics import LINK
from leastaction.dynamics.kinematics import SCREW as CLASSICAL_SCREW
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integrators import FloatArray, Integrator, Stepper
from leastaction.mechanism import Mechanism
from leastaction.minimal import entries
from leastaction.minimal.rules import MIDPOINT, Rule, lobatto
from leastaction.minimal.workspace import Workspace, records

SOLVERS = ("auto", "sparse", "recursive", "dense")


class VariationalStepper(Stepper):
    """Runs `Galerkin` and `Midpoint`: state (q, p), Newton to the integrator's tolerance."""

    momentum = True

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        refuse_loops(integrator, mechanism)
        rule = integrator.rule
        self.rule = rule
        self.control_nodes = tuple(rule[0].tolist()) if len(rule[0]) == len(rule[1]) else (0.5,)
        w = Workspace(mechanism, rule)
        self.work = w
        n, nv = len(mechanism.tree.nodes), mechanism.nv
        self.classical = (
            records(n, LINK),
            records(nv, CLASSICAL_SCREW),
            np.zeros((n, 6)),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(3),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(mechanism.nq),
        )
        self.history = np.zeros(integrator.max_iterations + 1)
        self.settings = (float(integrator.tolerance), int(integrator.max_iterations))
        self.solver_name = choose_solver(integrator.solver, w)
        self.solver = solver_arrays(self.solver_name, w)
        self.rollout = getattr(entries, f"rollout_{self.solver_name}")

    def record(self, steps: int) -> dict[str, FloatArray]:
        return super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}

    def advance(self, record: dict[str, FloatArray], first: int, last: int, u: FloatArray) -> int:
        w, rows = self.work, slice(first, last + 1)
        done = self.rollout(
            w.model,
            force_arrays(self.mechanism),
            w.tree.free,
            self.rule,
            w.work,
            w.var,
            self.solver,
            self.classical,
            u,
            self.dt,
            self.settings,
            np.zeros(w.nv),
            w.dx,
            self.history,
            record["q"][rows],
            record["p"][rows],
            record["iterations"][rows],
        )
        return first + done

    def failure(self, step: int, record: dict[str, FloatArray]) -> ConvergenceError:
        name = type(self.integrator).__name__
        residuals = [float(x) for x in self.history if x > 0.0 or math.isnan(x)]
        return ConvergenceError(
            f"{name}: step {step + 1} did not converge to {self.integrator.tolerance:g} within "
            f"{self.integrator.max_iterations} iterations (last residual {residuals[-1] if residuals else 0.0:.3g}); "
            "take a smaller dt or a larger tolerance",
            step=step,
            residuals=residuals,
        )


def choose_solver(name: str, w: Workspace) -> str:
    """The solver for the Newton direction; "auto" counts the work of the two exact ones."""
    if name != "auto":
        return name
    if len(w.tree.paths) or (w.tree.wrenches.local == 0).any():
        return "dense"
    arrays = w.sparse_arrays()[0]
    depth = arrays[0].astype(float)
    s = w.s
    factor = (2.0 / 1.0) * float(((s * (depth + 1)) ** 2).sum()) * s
    assemble = 12.0 * w.Q * s * s * float(depth.sum() + w.nv)
    recursive = w.nv * s * 3.0 * w.mz * w.mf + len(w.tree.nodes) * 2.0 * w.mz * w.mf
    return "sparse" if factor + assemble < recursive else "recursive"


def solver_arrays(name: str, w: Workspace) -> tuple[Any, ...]:
    """Arrays of a solver for the Newton direction."""
    if name == "recursive":
        return w.recursion_arrays()
    arrays, anc = w.sparse_arrays()
    size = w.s * w.nv
    return arrays, anc, np.zeros(size) if name == "sparse" else np.zeros((size, size))


def _check(integrator: Any) -> None:
    name = type(integrator).__name__
    if not (isinstance(integrator.tolerance, float | int) and 0.0 < integrator.tolerance < 1.0):
        raise IntegratorError(f"{name}: tolerance must be between 0 and 1, got {integrator.tolerance!r}")
    if int(integrator.max_iterations) < 1:
        raise IntegratorError(f"{name}: max_iterations must be at least 1, got {integrator.max_iterations!r}")
    if integrator.solver not in SOLVERS:
        raise IntegratorError(f"{name}: solver must be one of {', '.join(SOLVERS)}, got {integrator.solver!r}")


@dataclass(frozen=True)
class Galerkin(Integrator):
    """Galerkin variational integrator of any even order (Fan 2018): symplectic, keeps momenta, no energy drift.

    Interpolation and quadrature at order/2 + 1 Lobatto points: order 2 is the trapezoidal, order 4 the Simpson
    variational integrator. Ball and free joints have no singular orientation.

    Attributes:
        order: 2, 4, 6, ...
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        solver: "auto", "sparse" (tree-sparse LDU), "recursive" (O(n)) or "dense" (LAPACK).
    """

    order: int = 2
    tolerance: float = 1e-10
    max_iterations: int = 200
    solver: str = "auto"
    stepper_class: ClassVar[Any] = VariationalStepper

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order < 2 or self.order % 2 or self.order > 24:
            raise IntegratorError(f"Galerkin: order must be 2, 4, 6, ... up to 24, got {self.order!r}")
        _check(self)

    @property
    def rule(self) -> Rule:
        """Control points, weights and differentiation matrix."""
        return lobatto(self.order // 2)


@dataclass(frozen=True)
class Midpoint(Integrator):
    """Variational integrator of the midpoint rule, order 2 (the rule of DMOC, Villanueva 2025).

    Attributes:
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        solver: "auto", "sparse" (tree-sparse LDU), "recursive" (O(n)) or "dense" (LAPACK).
    """

    tolerance: float = 1e-10
    max_iterations: int = 200
    solver: str = "auto"
    stepper_class: ClassVar[Any] = VariationalStepper

    def __post_init__(self) -> None:
        _check(self)

    @property
    def rule(self) -> Rule:
        """Control points, weights and differentiation matrix."""
        return MIDPOINT
