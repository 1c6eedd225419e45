"""Explicit integrators on top of forward dynamics, to compare with.

All work on the configuration manifold: within a step, q = q_k + x with exponential coordinates x (Munthe-Kaas), so
that each keeps its order for ball and free joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction._finite import is_finite
from leastaction._jit import entry, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.forces.arrays import force_arrays
from leastaction.forces.passive import body_forces, clear, drive_forces, joint_forces, penalty_forces
from leastaction.integrators import PENALTIES, Integrator, Stepper, refuse_loops
from leastaction.kinematics.manifold import chart_rate, retract
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.record import Record

# Butcher tableaux: nodes c, rows of a, weights b. Every row of a only looks at the stage before it.
TABLEAUX = {
    "euler": ((0.0,), (0.0,), (1.0,)),
    "heun": ((0.0, 1.0), (0.0, 1.0), (0.5, 0.5)),
    "rk4": ((0.0, 0.5, 0.5, 1.0), (0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
}


@routine
def full_acceleration(arrays, links, screws, external, tau, q, v, u, acc):
    """Accelerations with all forces of the mechanism and of the controls u."""
    nodes, dofs, gravity, rest, paths, points, wrenches, drives, penalties = arrays
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)
    clear(external, tau)
    body_forces(paths, points, wrenches, links, external)
    penalty_forces(penalties, links, external)
    joint_forces(nodes, dofs, rest, q, v, tau)
    drive_forces(drives, links, u, external, tau)
    recursions.accelerations(nodes, dofs, gravity, links, screws, v, tau, external, acc)


@entry
def acceleration(arrays, links, screws, external, tau, q, v, u, acc):
    """One evaluation of the right-hand side."""
    full_acceleration(arrays, links, screws, external, tau, q, v, u, acc)


@entry
def runge_kutta(arrays, links, screws, external, tau, tableau, dt, U, Q, V, K, x, y, z):
    """Steps of an explicit Runge-Kutta method; K: scratch (stages, 2, nv). Gives back the steps done."""
    nodes = arrays[0]
    _, a, b = tableau
    stages = len(b)
    n = V.shape[1]
    for step in range(U.shape[0]):
        for s in range(stages):
            for k in range(n):
                x[k] = dt * a[s] * K[s - 1, 0, k] if s > 0 else 0.0
                y[k] = V[step, k] + (dt * a[s] * K[s - 1, 1, k] if s > 0 else 0.0)
            retract(nodes, Q[step], x, z)
            chart_rate(nodes, x, y, K[s, 0])
            full_acceleration(arrays, links, screws, external, tau, z, y, U[step, s], K[s, 1])
        finite = True
        for k in range(n):
            dx = 0.0
            dv = 0.0
            for s in range(stages):
                dx += b[s] * K[s, 0, k]
                dv += b[s] * K[s, 1, k]
            x[k] = dt * dx
            V[step + 1, k] = V[step, k] + dt * dv
            finite = finite and is_finite(V[step + 1, k])
        if not finite:
            return step
        retract(nodes, Q[step], x, Q[step + 1])
    return U.shape[0]


@entry
def semi_implicit(arrays, links, screws, external, tau, dt, U, Q, V, x, y):
    """Steps of semi-implicit (symplectic) Euler: the new velocity moves the configuration."""
    nodes = arrays[0]
    for step in range(U.shape[0]):
        full_acceleration(arrays, links, screws, external, tau, Q[step], V[step], U[step, 0], y)
        finite = True
        for k in range(V.shape[1]):
            V[step + 1, k] = V[step, k] + dt * y[k]
            x[k] = dt * V[step + 1, k]
            finite = finite and is_finite(V[step + 1, k])
        if not finite:
            return step
        retract(nodes, Q[step], x, Q[step + 1])
    return U.shape[0]


class _ExplicitStepper(Stepper):
    """Shared by the explicit methods: they store q and v."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        refuse_loops(integrator, mechanism)
        super().__init__(integrator, mechanism, dt)
        self.work = Workspace(mechanism)
        self.arrays = force_arrays(mechanism)
        n = mechanism.nv
        self.tau, self.x, self.y, self.z = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(mechanism.nq)
        self.common = (self.arrays, self.work.links, self.work.screws, self.work.external, self.tau)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        name = type(self.integrator).__name__
        message = f"{name}: the motion became infinite; take a smaller dt"
        return ConvergenceError(message, step=step, time=step * self.dt)


class _RungeKuttaStepper(_ExplicitStepper):
    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.tableau = TABLEAUX[integrator.tableau]
        self.control_nodes = self.tableau[0]
        self.K = np.zeros((len(self.control_nodes), 2, mechanism.nv))

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        rows = slice(first, last + 1)
        scratch = (self.K, self.x, self.y, self.z)
        q, v = record["q"][rows], record["v"][rows]
        return first + runge_kutta(*self.common, self.tableau, self.dt, u, q, v, *scratch)


class _SemiImplicitStepper(_ExplicitStepper):
    control_nodes = (0.0,)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        rows = slice(first, last + 1)
        return first + semi_implicit(*self.common, self.dt, u, record["q"][rows], record["v"][rows], self.x, self.y)


@dataclass(frozen=True)
class ExplicitEuler(Integrator):
    """Explicit Euler, order 1; gains energy. For comparison only."""

    tableau: ClassVar[str] = "euler"
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = _RungeKuttaStepper


@dataclass(frozen=True)
class Heun(Integrator):
    """Heun's method, order 2."""

    tableau: ClassVar[str] = "heun"
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = _RungeKuttaStepper


@dataclass(frozen=True)
class RungeKutta(Integrator):
    """The classical Runge-Kutta method, order 4.

    Attributes:
        order: 1 (explicit Euler), 2 (Heun) or 4.
    """

    order: int = 4
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = _RungeKuttaStepper

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order not in (1, 2, 4):
            raise IntegratorError(f"RungeKutta: order must be 1, 2 or 4, got {self.order!r}")

    @property
    def tableau(self) -> str:
        """Name of the tableau."""
        return {1: "euler", 2: "heun", 4: "rk4"}[self.order]


@dataclass(frozen=True)
class SemiImplicitEuler(Integrator):
    """Semi-implicit Euler, order 1: what most robot simulators use by default."""

    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = _SemiImplicitStepper


class _AdaptiveStepper(_ExplicitStepper):
    """SciPy's DOP853 from step to step; quaternions as plain variables, normalised on the way."""

    control_nodes = (0.0,)
    stuck = False

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        from scipy import integrate

        from leastaction.mechanism.configuration import normalize, quaternion_rate

        m, method = self.mechanism, self.integrator
        acc = np.zeros(m.nv)
        for step in range(first, last):
            # One step at a time: controls jump at the steps, and a jump inside an adaptive step costs dearly.
            def rate(t: float, y: FloatArray, u: FloatArray = u[step - first, 0]) -> FloatArray:
                q, v = normalize(m, y[: m.nq]), y[m.nq :]
                acceleration(*self.common, q, np.ascontiguousarray(v), u, acc)
                return np.concatenate([quaternion_rate(m, q, v), acc])

            y0 = np.concatenate([record["q"][step], record["v"][step]])
            solver = integrate.DOP853(rate, 0.0, y0, self.dt, rtol=method.rtol, atol=method.atol)
            for _ in range(method.max_steps):
                solver.step()
                if solver.status != "running":
                    break
            self.stuck = solver.status == "running"
            if solver.status != "finished" or not np.isfinite(solver.y).all():
                return step
            record["q"][step + 1] = normalize(m, solver.y[: m.nq])
            record["v"][step + 1] = solver.y[m.nq :]
        return last

    def failure(self, step: int, record: Record) -> ConvergenceError:
        if not self.stuck:
            return super().failure(step, record)
        message = (
            f"DOP853: more than max_steps = {self.integrator.max_steps} steps within dt = {self.dt:g} s; the motion "
            "is too stiff or too fast for rtol and atol"
        )
        return ConvergenceError(message, step=step, time=step * self.dt)


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
    stepper_class: ClassVar[Any] = _AdaptiveStepper

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if not (isinstance(value, float | int) and 0.0 < value < 1.0):
                raise IntegratorError(f"DOP853: {name} must be between 0 and 1, got {value!r}")
        if not isinstance(self.max_steps, int) or self.max_steps < 1:
            raise IntegratorError(f"DOP853: max_steps must be at least 1, got {self.max_steps!r}")
