"""The steppers of `BDF`, `SDIRK2` and `LinearlyImplicitEuler`."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from leastaction._jit.batched_call import BatchedCall
from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.dynamics.loops import check_closed, loop_jacobian
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.forces.arrays import force_model
from leastaction.integration.integrators import FloatArray, Reversal, Stepper
from leastaction.integration.record import Record
from leastaction.kinematics.reduced.charts import XYZ
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.mechanism import Mechanism
from leastaction.redmax.arrays import ReducedRun, ReducedSettings
from leastaction.redmax.reduced_model import Reduced
from leastaction.redmax.step.energies import energies_of
from leastaction.redmax.step.linear_euler import linear_rollout
from leastaction.redmax.step.reduced_rollout import BDF1, SDIRK2, rollout
from leastaction.step_control.bisection import FINEST, substep_after


class ReducedStepper(Stepper):
    """Runs `BDF` and `SDIRK2`; keeps reduced coordinates beside the mechanism's own where they differ.

    Attributes:
        reduced: the compiled mechanism; steppers of other robots may share it.
        settings: for the kernels.
        data: state and scratch of this robot.
    """

    divides = True
    """Whether steps that are not accepted are bisected."""

    control_nodes = (1.0,)
    dense = False
    """Whether the data hold a matrix of the nodes even without splines, exponential coordinates and loops."""
    can = frozenset({"reverse"})
    carries = ("r", "rd", "chart", "multipliers")

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float, reduced: Reduced | None = None) -> None:
        super().__init__(integrator, mechanism, dt)
        self.reduced = self._compile() if reduced is None else reduced
        self.settings = ReducedSettings(
            method=int(integrator.method),
            dt=dt,
            tolerance=float(integrator.tolerance),
            max_iterations=int(integrator.max_iterations),
            stabilization=float(getattr(integrator, "stabilization", 0.0)),
            finest=FINEST if self.divides else 1,
        )
        if self.method != SDIRK2 or not self.reduced.count:  # earlier, velocities were not projected to loops
            self.lacking = frozenset({"divided"})
        self.keep(np.arange(self.reduced.count))

    def _compile(self) -> Reduced:
        own = self.integrator
        return Reduced(self.mechanism, exponential=own.chart == "exponential", forces=own.forces)

    def keep(self, rows: Any) -> None:
        """New data, with multipliers for the loop equations of the given rows."""
        self.kept = [int(k) for k in rows]
        self.data = self.reduced.data(rows, max_iterations=self.settings.max_iterations, dense=self.dense)
        self._kernel, self._shorter = self._bound(self.settings.finest), {}

    @property
    def method(self) -> int:
        """Code of the integrator for the kernels."""
        return self.settings.method

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse open loops, and leave out loop equations that follow from the others."""
        if self.mechanism.is_tree:
            return q
        check_closed(self.mechanism, q)
        self.keep(independent_rows(loop_jacobian(self.mechanism, q)[1]))
        return q

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with iterations, how steps were bisected, multipliers of loops [N or N m], stages and
        reduced coordinates."""
        c, n, m = self.reduced.coordinates, self.reduced.nr, len(self.kept)
        out = super().record(steps) | {"iterations": np.zeros(steps + 1, np.int64)}
        if self.divides:
            out["divided"] = np.zeros(steps + 1, np.int64)
        if m:
            out["multipliers"] = np.zeros((steps + 1, m))
        if not c.identical:
            out |= {"r": np.zeros((steps + 1, n)), "rd": np.zeros((steps + 1, n))}
            out["chart"] = np.full((steps + 1, len(c.model.balls)), -1 if c.exponential else XYZ)
        if self.method != BDF1:
            rows = steps + 1 if self.method == SDIRK2 else min(steps + 1, 2)
            out |= {"stage": np.zeros((rows, n)), "stage_rate": np.zeros((rows, n))}
            out["stage_multipliers"] = np.zeros((rows, m))
        return out

    def start(self, record: Record) -> None:
        """Reduced coordinates of the first state."""
        c = self.reduced.coordinates
        if not c.identical:
            record["chart"][0] = c.first_charts(record["q"][0])
            record["r"][:1], record["rd"][:1] = c.to_reduced(record["q"][:1], record["v"][:1], record["chart"][:1])

    def run_arrays(self, record: Record) -> ReducedRun:
        """The arrays of a record as kernels take them."""
        rows, n = len(record["q"]), self.reduced.nr
        same = self.reduced.coordinates.identical
        none = np.zeros((0, n))
        return ReducedRun(
            R=record["q"] if same else record["r"],
            RD=record["v"] if same else record["rd"],
            charts=np.zeros((rows, 0), np.int64) if same else record["chart"],
            RA=record.get("stage", none),
            RDA=record.get("stage_rate", none),
            LA=record.get("stage_multipliers", none),
            multipliers=record.get("multipliers", np.zeros((rows, 0))),
            iterations=record.get("iterations", np.zeros(rows, np.int64)),
            divided=record.get("divided", np.zeros(rows, np.int64)),
        )

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        if first == 0:
            self.start(record)
        run, u = self.run_arrays(record), np.array(u, order="C")
        done = self._kernel(tuple(run), first, last, u)
        self.publish(record, run, first, done)
        if done < last and self.divides:
            # What the whole step came to says more than its last substep.
            iterations = int(run.iterations[done + 1])
            self._bound(1)(tuple(run), done, done + 1, u[done - first : done - first + 1])
            run.iterations[done + 1] = iterations
        return done

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        run = self.run_arrays(record)
        arrays = tuple(run)
        walk = BatchedCall(self._kernel, lambda row: (arrays, row, row + 1, u))
        publish = self.reduced.coordinates.stride(run.R, run.RD, run.charts, record["q"], record["v"])

        def step(first: int) -> int:
            if first > 0 and walk(first) == first + 1:
                publish(first + 1)
                return first + 1
            return self.advance(record, first, first + 1, u)

        return step

    @cached_property
    def passive(self) -> bool:
        """Whether all forces but the controls have a potential or resist."""
        if self.integrator.forces or has_splines(self.mechanism):  # forces along splines are in another model
            return False
        return len(force_model(self.mechanism.tree).wrenches) == 0

    def _bound(self, finest: int) -> Bound:
        """The kernel of steps with at most so many substeps."""
        settings = self.settings._replace(finest=finest)
        reads, energies = energies_of(self) if self.divides else (None, None)
        control = (reads, plain(energies), tuple(self.substep_rows()))
        return Bound(rollout, plain(self.reduced.model), tuple(settings), plain(self.data), control)

    def substep_rows(self) -> ReducedRun:
        """Two rows of a run for substeps."""
        part = self._replaced(method=BDF1 if self.method == BDF1 else SDIRK2)
        return part.run_arrays(part.record(1))

    def _replaced(self, **settings: Any) -> Self:
        """A stepper with other settings, that shares the data."""
        other = copy.copy(self)
        other.settings = self.settings._replace(**settings)
        return other

    def shorter(self, substeps: int) -> Self:
        """A stepper of substeps that are not bisected; of SDIRK2 where this one, BDF2, looks back."""
        if substeps not in self._shorter:
            method = BDF1 if self.method == BDF1 else SDIRK2
            part = self._shorter[substeps] = self._replaced(dt=self.settings.dt / substeps, method=method)
            part._kernel = part._bound(1)
        return self._shorter[substeps]

    def substeps(self, run: ReducedRun, step: int, u: FloatArray) -> list[tuple[Self, ReducedRun]]:
        """(stepper, run of one step) of all substeps of a bisected step from a row of a run; [] if not found again.

        u: controls, shape (1, nu).
        """
        substeps, substep, halvings, out = 2, 0, 1, []
        state, row = run, step
        while substep < substeps:
            part = self.shorter(substeps)
            own = part.run_arrays(part.record(1))
            copy_state_rows(state, row, own)
            accepted = part._kernel(tuple(own), 0, 1, u[None]) == 1
            if accepted:
                out.append((part, own))
                state, row = own, 1
            elif substeps >= FINEST:
                return []
            substeps, substep, halvings = substep_after(substeps, substep, halvings, accepted)
        return out

    def publish(self, record: Record, run: ReducedRun, first: int, done: int) -> None:
        """The mechanism's own q and v of the states after `first`, where they differ from the reduced ones."""
        c = self.reduced.coordinates
        if not c.identical:
            rows = slice(first + 1, done + 1)
            record["q"][rows], record["v"][rows] = c.to_mechanism(run.R[rows], run.RD[rows], run.charts[rows])

    def reverse(self, names: Sequence[str]) -> Reversal:
        """See `Stepper.reverse`."""
        if "reverse" not in self.can:
            self.refuse("reverse")
        from leastaction.redmax.adjoint.run_adjoint import ReducedReversal

        return ReducedReversal(self, names)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        sizes = [float(x) for x in self.data.sizes if x > 0.0 or math.isnan(x)]
        name = type(self.integrator).__name__
        in_parts = f", not even in up to {FINEST} parts" if self.divides else ""
        why = (
            f"the Newton updates did not fall below {self.integrator.tolerance:g} within "
            f"{self.integrator.max_iterations} iterations{in_parts}; take a smaller dt or a larger tolerance"
        )
        return ConvergenceError(f"{name}: {why}", step=step, residuals=sizes)


class LinearStepper(ReducedStepper):
    """Runs `LinearlyImplicitEuler`."""

    divides = False
    dense = True
    can = frozenset()

    def _bound(self, finest: int) -> Bound:
        """See `ReducedStepper._bound`; there are no substeps."""
        return Bound(linear_rollout, plain(self.reduced.model), tuple(self.settings), plain(self.data))

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        for rolling in mechanism.rollings:
            raise IntegratorError(f"LinearlyImplicitEuler cannot keep {rolling.name!r} rolling; use leastaction.BDF")
        super().__init__(integrator, mechanism, dt)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        message = "LinearlyImplicitEuler: the motion became infinite or its matrix singular; take a smaller dt"
        return ConvergenceError(message, step=step)


def copy_state_rows(run: ReducedRun, row: int, out: ReducedRun) -> None:
    """A row of a run becomes the first of another."""
    for name in ("R", "RD", "charts", "multipliers"):
        getattr(out, name)[0] = getattr(run, name)[row]


def independent_rows(A: FloatArray) -> Any:
    """Indices of loop equations that imply all of them, given their Jacobian A (rows, nv)."""
    from scipy.linalg import qr

    if len(A) == 0:
        return np.arange(0)
    factors: Any = qr(A.T, mode="r", pivoting=True)
    R, order = factors[0], factors[1]
    diagonal = np.abs(np.diag(R))
    return np.sort(order[: int((diagonal > 1e-9 * diagonal[0]).sum())])
