"""The implicit integrators of Sueda 2021, Section 3.4, as settings, and the steppers that run them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction.dynamics.loops import check_closed, loop_jacobian
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.forces.user import PointForce
from leastaction.integrators import PENALTIES, FloatArray, Integrator, Reversal, Stepper
from leastaction.mechanism import Mechanism
from leastaction.record import Record
from leastaction.redmax.coordinates.charts import XYZ
from leastaction.redmax.coordinates.native import from_public, to_public
from leastaction.redmax.model import Reduced
from leastaction.redmax.step import linear_euler, rollout

CHARTS = ("euler", "exponential")


class ReducedStepper(Stepper):
    """Runs `BDF` and `SDIRK2`; keeps reduced coordinates beside the mechanism's own where they differ."""

    control_nodes = (1.0,)
    dense_nodes = False
    """Whether the work space holds a matrix of the nodes even without splines and exponential coordinates."""
    can = frozenset({"reverse"})
    carries = ("r", "rd", "chart", "multipliers")

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.reduced = Reduced(mechanism, exponential=integrator.chart == "exponential", forces=integrator.forces)
        self.settings = (float(integrator.tolerance), int(integrator.max_iterations))
        self.sizes = np.zeros(int(integrator.max_iterations))
        self.kept = np.zeros(len(self.reduced.tree.closure.rows), np.int64)
        self._arrange(np.arange(self.reduced.tree.closure.count))

    def _arrange(self, rows: Any) -> None:
        """Work space for the loop equations of the given rows."""
        red, c = self.reduced, self.reduced.tree.closure
        self.kept[:] = -1
        self.kept[rows] = np.arange(len(rows))
        n, m, nv = red.nr, len(rows), red.tree.nv
        blocks = nv if len(red.blocks) or self.dense_nodes else 0
        vectors = (np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(n))
        self.scratch = (
            np.zeros((n + m, n + m)),
            np.zeros(n + m, np.int64),
            np.zeros(n + m),
            np.zeros(n + m),
            np.zeros((3, blocks, blocks)),
            np.zeros(nv),
            vectors,
            np.zeros(n),
            np.zeros(n),
            np.zeros(m),
        )
        self.loops = (c.rows, c.coefficients, c.count, self.kept)
        self.problem = (red.model(), self.loops, red.workspace(), self.scratch)
        self.vectors = tuple(np.zeros(n) for _ in range(6))
        self.multipliers = m

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse open loops, and leave out loop equations that follow from the others."""
        if self.mechanism.is_tree:
            return q
        check_closed(self.mechanism, q)
        self._arrange(independent_rows(loop_jacobian(self.mechanism, q)[1]))
        return q

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with iterations, multipliers of loops [N or N m], stages and reduced coordinates."""
        red, n = self.reduced, self.reduced.nr
        out = super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}
        if self.multipliers:
            out["multipliers"] = np.zeros((steps + 1, self.multipliers))
        if not red.identical:
            out |= {"r": np.zeros((steps + 1, n)), "rd": np.zeros((steps + 1, n))}
            out["chart"] = np.full((steps + 1, len(red.balls)), -1 if red.exponential else XYZ)
        if self.method != rollout.BDF1:
            rows = steps + 1 if self.method == rollout.SDIRK2 else min(steps + 1, 2)
            out |= {"stage": np.zeros((rows, n)), "stage_rate": np.zeros((rows, n))}
            out["stage_multipliers"] = np.zeros((rows, self.multipliers))
        return out

    @property
    def method(self) -> int:
        """Code of the integrator for the kernel."""
        return self.integrator.method

    def start(self, record: Record) -> None:
        """Reduced coordinates of the first state."""
        from leastaction.redmax.coordinates.first_charts import best_start

        red = self.reduced
        if red.identical:
            return
        rows = slice(0, 1)
        record["chart"][0] = best_start(red, record["q"][0])
        state = (record["q"][rows], record["v"][rows], record["chart"][rows], record["r"][rows], record["rd"][rows])
        from_public(red.balls, red.index_q, red.index_v, *state)

    def arrays(self, record: Record) -> tuple[Any, ...]:
        """(R, RD, charts, RA, RDA, LA, multipliers) of a record."""
        rows, red = len(record["q"]), self.reduced
        same = red.identical
        r, rd = (record["q"], record["v"]) if same else (record["r"], record["rd"])
        charts = np.zeros((rows, 0), np.int64) if same else record["chart"]
        none = np.zeros((0, red.nr))
        multipliers = record.get("multipliers", np.zeros((rows, 0)))
        stages = (record.get(name, none) for name in ("stage", "stage_rate", "stage_multipliers"))
        return r, rd, charts, *stages, multipliers

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        if first == 0:
            self.start(record)
        u = np.array(u, order="C")
        steps = (self.method, self.problem, self.settings, self.dt, first, last, u)
        arrays = self.arrays(record)
        done = rollout.rollout(*steps, *arrays, record["iterations"], self.vectors, self.sizes)
        self.publish(record, first, done)
        return done

    def publish(self, record: Record, first: int, done: int) -> None:
        """The mechanism's own q and v of the states after `first`, where they differ from the reduced ones."""
        red = self.reduced
        if not red.identical:
            rows = slice(first + 1, done + 1)
            r, rd, charts = (x[rows] for x in self.arrays(record)[:3])
            to_public(red.balls, red.index_q, red.index_v, r, rd, charts, record["q"][rows], record["v"][rows])

    def reverse(self, names: Sequence[str]) -> Reversal:
        """See `Stepper.reverse`."""
        if "reverse" not in self.can:
            self.refuse("reverse")
        from leastaction.redmax.adjoint.runs import ReducedReversal

        return ReducedReversal(self, names)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        sizes = [float(x) for x in self.sizes if x > 0.0 or math.isnan(x)]
        name = type(self.integrator).__name__
        why = (
            f"the Newton updates did not fall below {self.integrator.tolerance:g} within "
            f"{self.integrator.max_iterations} iterations; take a smaller dt or a larger tolerance"
        )
        return ConvergenceError(f"{name}: {why}", step=step, residuals=sizes)


class LinearStepper(ReducedStepper):
    """Runs `LinearlyImplicitEuler`."""

    dense_nodes = True
    can = frozenset()

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        for rolling in mechanism.rollings:
            raise IntegratorError(f"LinearlyImplicitEuler cannot keep {rolling.name!r} rolling; use leastaction.BDF")
        super().__init__(integrator, mechanism, dt)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        if first == 0:
            self.start(record)
        R, RD, charts, _, _, _, multipliers = self.arrays(record)
        steps = (self.problem, self.dt, float(self.integrator.stabilization), first, last, np.array(u, order="C"))
        done = linear_euler.rollout(*steps, R, RD, charts, multipliers, np.zeros(self.reduced.nr))
        self.publish(record, first, done)
        return done

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        message = "LinearlyImplicitEuler: the motion became infinite or its matrix singular; take a smaller dt"
        return ConvergenceError(message, step=step)


def _stepper(integrator: Any, mechanism: Mechanism, dt: float) -> ReducedStepper:
    if not integrator.constraints:
        return ReducedStepper(integrator, mechanism, dt)
    from leastaction.redmax.driven import DrivenStepper

    return DrivenStepper(integrator, mechanism, dt)


def independent_rows(A: FloatArray) -> Any:
    """Indices of loop equations that tell all of them, given their Jacobian A (rows, nv)."""
    from scipy.linalg import qr

    if len(A) == 0:
        return np.arange(0)
    factors: Any = qr(A.T, mode="r", pivoting=True)
    R, order = factors[0], factors[1]
    diagonal = np.abs(np.diag(R))
    return np.sort(order[: int((diagonal > 1e-9 * diagonal[0]).sum())])


def _check(integrator: Any) -> None:
    name = type(integrator).__name__
    if not (isinstance(integrator.tolerance, float | int) and 0.0 < integrator.tolerance < 1.0):
        raise IntegratorError(f"{name}: tolerance must be between 0 and 1, got {integrator.tolerance!r}")
    if not isinstance(integrator.max_iterations, int) or integrator.max_iterations < 1:
        raise IntegratorError(f"{name}: max_iterations must be at least 1, got {integrator.max_iterations!r}")
    if not isinstance(integrator.forces, tuple) or not all(isinstance(f, PointForce) for f in integrator.forces):
        raise IntegratorError(f"{name}: forces must be a tuple of leastaction.forces.PointForce")
    if integrator.chart not in CHARTS:
        raise IntegratorError(f"{name}: chart must be one of {', '.join(CHARTS)}, got {integrator.chart!r}")


@dataclass(frozen=True)
class BDF(Integrator):
    """Backward differentiation formulas in reduced coordinates (Sueda 2021, 3.4): stiff forces, any joint, loops.

    All forces are taken at the end of the step, with the exact Newton matrix. Order 1 is implicit Euler and damps
    motion strongly; order 2 starts with one step of `SDIRK2`. Controls are those at the end of a step.

    Attributes:
        order: 1 or 2.
        tolerance: relative size of the Newton update at which a step counts as solved.
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
    constraints: tuple[Any, ...] = ()
    handles: ClassVar[frozenset[str]] = PENALTIES | {"spline joint"}
    stepper_class: ClassVar[Any] = staticmethod(_stepper)

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", tuple(self.constraints))
        if self.order not in (1, 2):
            raise IntegratorError(f"BDF: order must be 1 or 2, got {self.order!r}")
        _check(self)

    @property
    def method(self) -> int:
        """Code for the kernel."""
        return (rollout.BDF1, rollout.BDF2)[self.order - 1]


@dataclass(frozen=True)
class SDIRK2(Integrator):
    """Singly diagonally implicit Runge-Kutta method of order 2 in reduced coordinates (Sueda 2021, Eq. 3.66).

    L-stable, two implicit stages per step; controls are held at those of the end of the step. With loops and couplings
    it falls to order 1 in the velocities, as Runge-Kutta methods do with constraints; `BDF` of order 2 does not.

    Attributes:
        tolerance: relative size of the Newton update at which a stage counts as solved.
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
        return rollout.SDIRK2


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
    method: ClassVar[int] = rollout.BDF1
    handles: ClassVar[frozenset[str]] = PENALTIES | {"spline joint"}
    stepper_class: ClassVar[Any] = LinearStepper

    def __post_init__(self) -> None:
        _check(self)
        if not (isinstance(self.stabilization, float | int) and 0.0 <= self.stabilization < math.inf):
            raise IntegratorError(f"LinearlyImplicitEuler: stabilization must be a rate, got {self.stabilization!r}")
