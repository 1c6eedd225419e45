"""Joints that follow prescribed motions in `BDF` (Sueda 2021, Sections 2.8 and 2.9).

A prescribed coordinate is one more equation, r_k = q_p(t), that holds at the end of every stage, with a multiplier: the
force that the motion takes. In the kernels it is a coupling whose polynomial is a constant, which is set anew for each
stage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics.loops import check_closed, loop_jacobian
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import FloatArray, Stepper
from leastaction.integration.record import Record
from leastaction.kinematics.reduced.compiled import compiled_coordinates
from leastaction.mechanism import Mechanism
from leastaction.redmax.arrays import ReducedRun
from leastaction.redmax.linear_implicit.velocity_constraints import PrescribedMotion
from leastaction.redmax.reduced_model import Reduced
from leastaction.redmax.step.reduced_rollout import ALPHA, BDF1, BDF2
from leastaction.redmax.stepper import ReducedStepper, independent_rows

CLOSED = 1e-8
"""Largest difference from the prescribed motion that a run may start with [rad or m]."""


class DrivenStepper(ReducedStepper):
    """Runs `BDF` with prescribed motions, one stage after the other."""

    can = frozenset()
    divides = False
    stride = Stepper.stride

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        self.followed: tuple[PrescribedMotion, ...] = integrator.constraints
        for motion in self.followed:
            _check(integrator, mechanism, motion)
        self.dofs = [mechanism.velocity_index(m.name) for m in self.followed]
        self.entries = [mechanism.coordinate_index(m.name) for m in self.followed]
        super().__init__(integrator, mechanism, dt)

    def _compile(self) -> Reduced:
        own = self.integrator
        exponential = own.chart == "exponential"
        c = compiled_coordinates(self.mechanism, exponential).model
        node_of = {int(ir): int(iv) for ir, _, iv in c.plain if c.index_v[ir] >= 0}
        for motion, dof in zip(self.followed, self.dofs, strict=True):
            if dof not in node_of:
                raise IntegratorError(f"{motion.name!r}: prescribed motions are for hinges, sliders and screws")
        driven = tuple(node_of[dof] for dof in self.dofs)
        return Reduced(self.mechanism, exponential=exponential, forces=own.forces, driven=driven)

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse starts that are not on the prescribed motions, and open loops; leave out dependent equations."""
        goals = self.goals(self.start_time)
        for motion, k, goal in zip(self.followed, self.entries, goals, strict=True):
            if abs(q[k] - goal) > CLOSED:
                raise IntegratorError(
                    f"{motion.name!r} starts at {q[k]:g}, but its prescribed motion at {goal:g}; begin there"
                )
        if not self.mechanism.is_tree:
            check_closed(self.mechanism, q)
            A = np.concatenate([loop_jacobian(self.mechanism, q)[1], np.eye(self.mechanism.nv)[self.dofs]])
            self.keep(independent_rows(A))
        return q

    def goals(self, t: float) -> FloatArray:
        """Prescribed positions at time t [s]."""
        return np.array([float(motion.position(t)) for motion in self.followed])  # type: ignore[misc]

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        if first == 0:
            self.start(record)
        run, done = self.run_arrays(record), first
        while done < last:
            t = self.start_time + done * self.dt
            control = np.array(u[done - first : done - first + 1], order="C")
            double = self.method == BDF2 and done == 0
            step = self._two_stages if double else self._step
            if not step(run, done, t, control):
                break
            done += 1
        self.publish(record, run, first, done)
        return done

    def _step(self, run: ReducedRun, k: int, t: float, u: FloatArray) -> bool:
        """A step of one stage, at its end."""
        self._aim(t + self.dt)
        return self._kernel(tuple(run), k, k + 1, u) == k + 1

    def _two_stages(self, run: ReducedRun, k: int, t: float, u: FloatArray) -> bool:
        """The first step of BDF2 is one of SDIRK2 (Eqs. 3.66 to 3.74): each stage is one of BDF1."""
        x, v, chart = run.R[k], run.RD[k], run.charts[k]
        self._aim(t + ALPHA * self.dt)
        early = self._stage(x, v, chart, run.multipliers[k], u)
        if early is None:
            return False
        run.RA[k + 1], run.RDA[k + 1] = self._in_charts(early, chart)
        run.LA[k + 1] = early.multipliers[1]
        va = run.RDA[k + 1]
        self._aim(t + self.dt)
        P, Pv = x + (1.0 - ALPHA) * self.dt * va, v + (1.0 - ALPHA) / ALPHA * (va - v)
        end = self._stage(P, Pv, chart, run.LA[k + 1], u)
        if end is None:
            return False
        run.R[k + 1], run.RD[k + 1], run.charts[k + 1] = end.R[1], end.RD[1], end.charts[1]
        run.multipliers[k + 1] = end.multipliers[1]
        run.iterations[k + 1] = early.iterations[1] + end.iterations[1]
        return True

    def _aim(self, t: float) -> None:
        loops = self.data.loops
        assert loops is not None
        loops.coefficients[len(loops.coefficients) - len(self.followed) :] = self.goals(t)

    def _stage(self, P: FloatArray, Pv: FloatArray, chart: Any, lam: FloatArray, u: FloatArray) -> ReducedRun | None:
        """One stage of length alpha dt, as the second row of a run; None if it did not converge."""
        n, m = len(P), len(lam)
        none = np.zeros((0, n))
        R, RD, LAM = np.zeros((2, n)), np.zeros((2, n)), np.zeros((2, m))
        R[0], RD[0], LAM[0] = P, Pv, lam
        counts = np.zeros(2, np.int64), np.zeros(2, np.int64)
        run = ReducedRun(R, RD, np.array([chart, chart]), none, none, np.zeros((0, m)), LAM, *counts)
        own = self._replaced(method=BDF1, dt=ALPHA * self.dt)
        return run if own._bound(1)(tuple(run), 0, 1, u) == 1 else None

    def _in_charts(self, run: ReducedRun, chart: Any) -> tuple[FloatArray, FloatArray]:
        """Reduced coordinates and rates of a stage in given charts."""
        c, rows = self.reduced.coordinates, slice(1, 2)
        if c.identical or (run.charts[1] == chart).all():
            return run.R[1], run.RD[1]
        q, v = c.to_mechanism(run.R[rows], run.RD[rows], run.charts[rows])
        x, xd = c.to_reduced(q, v, np.array(chart)[None])
        return x[0], xd[0]


def _check(integrator: Any, mechanism: Mechanism, motion: Any) -> None:
    name = type(integrator).__name__
    if not isinstance(motion, PrescribedMotion):
        raise IntegratorError(
            f"{name} takes constraints of the kind PrescribedMotion(...), not {motion!r}; "
            "leastaction.ConstrainedEuler has others"
        )
    if motion.name in (loop.name for loop in mechanism.loops):
        raise IntegratorError(
            f"{name} prescribes joints of the tree, not {motion.name!r}, which closes a loop; "
            "use leastaction.ConstrainedEuler, or let another joint close it"
        )
    motion.check(mechanism)
    if motion.position is None:
        raise IntegratorError(
            f"{name}: the prescribed motion of {motion.name!r} needs its position, not only a velocity"
        )
