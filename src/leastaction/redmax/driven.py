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
from leastaction.integrators import FloatArray
from leastaction.linear_implicit.constraints import PrescribedMotion
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import CLOSURE_ROW, COUPLING
from leastaction.record import Record
from leastaction.redmax.coordinates.native import from_public, to_public
from leastaction.redmax.integrators import ReducedStepper, independent_rows
from leastaction.redmax.step import rollout

CLOSED = 1e-8
"""Largest difference from the prescribed motion that a run may start with [rad or m]."""


class DrivenStepper(ReducedStepper):
    """Runs `BDF` with prescribed motions, one stage after the other."""

    can = frozenset()

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        red, c = self.reduced, self.reduced.tree.closure
        node_of = {int(ir): int(iv) for ir, _, iv in red.plain if red.index_v[ir] >= 0}
        extra: Any = np.zeros(len(integrator.constraints), CLOSURE_ROW)
        for k, motion in enumerate(integrator.constraints):
            dof = mechanism.velocity_index(_checked(integrator, mechanism, motion).name)
            if dof not in node_of:
                raise IntegratorError(f"{motion.name!r}: prescribed motions are for hinges, sliders and screws")
            first = len(c.coefficients) + k
            extra[k]["kind"], extra[k]["first"], extra[k]["count"] = COUPLING, first, 1
            extra[k]["follower"] = extra[k]["leader"] = node_of[dof]
        self.own = c.count  # equations of the mechanism itself
        self.first = len(c.coefficients)
        c.rows = np.concatenate([c.rows[: c.count], extra, c.rows[c.count :]]).view(np.recarray)
        c.coefficients = np.concatenate([c.coefficients, np.zeros(len(extra))])
        c.count += len(extra)
        self.motions: tuple[PrescribedMotion, ...] = integrator.constraints
        self.dofs = [mechanism.velocity_index(m.name) for m in self.motions]
        self.entries = [mechanism.coordinate_index(m.name) for m in self.motions]
        self.kept = np.zeros(len(c.rows), np.int64)
        self._arrange(np.arange(c.count))

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Refuse starts that are not on the prescribed motions, and open loops; leave out dependent equations."""
        goals = self.goals(self.start_time)
        for motion, k, goal in zip(self.motions, self.entries, goals, strict=True):
            if abs(q[k] - goal) > CLOSED:
                raise IntegratorError(
                    f"{motion.name!r} starts at {q[k]:g}, but its prescribed motion at {goal:g}; begin there"
                )
        if not self.mechanism.is_tree:
            check_closed(self.mechanism, q)
            A = np.concatenate([loop_jacobian(self.mechanism, q)[1], np.eye(self.mechanism.nv)[self.dofs]])
            self._arrange(independent_rows(A))
        return q

    def goals(self, t: float) -> FloatArray:
        """Prescribed positions at time t [s]."""
        return np.array([float(motion.position(t)) for motion in self.motions])  # type: ignore[misc]

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        if first == 0:
            self.start(record)
        arrays = self.arrays(record)
        for k in range(first, last):
            t = self.start_time + k * self.dt
            control = np.array(u[k - first : k - first + 1], order="C")
            double = self.method == rollout.BDF2 and k == 0
            step = self._two_stages if double else self._step
            if not step(record, arrays, k, t, control):
                self.publish(record, first, k)
                return k
        self.publish(record, first, last)
        return last

    def _step(self, record: Record, arrays: Any, k: int, t: float, u: FloatArray) -> bool:
        """A step of one stage, at its end."""
        self._aim(t + self.dt)
        steps = (self.method, self.problem, self.settings, self.dt, k, k + 1, u)
        return rollout.rollout(*steps, *arrays, record["iterations"], self.vectors, self.sizes) == k + 1

    def _two_stages(self, record: Record, arrays: Any, k: int, t: float, u: FloatArray) -> bool:
        """The first step of BDF2 is one of SDIRK2 (Eqs. 3.66 to 3.74): each stage is one of BDF1."""
        R, RD, charts, RA, RDA, LA, multipliers = arrays
        x, v, chart, a = R[k], RD[k], charts[k], rollout.ALPHA
        self._aim(t + a * self.dt)
        early = self._stage(x, v, chart, multipliers[k], u)
        if early is None:
            return False
        RA[k + 1], RDA[k + 1] = self._in_charts(early, chart)
        LA[k + 1] = early[3]
        va = RDA[k + 1]
        self._aim(t + self.dt)
        end = self._stage(x + (1.0 - a) * self.dt * va, v + (1.0 - a) / a * (va - v), chart, LA[k + 1], u)
        if end is None:
            return False
        R[k + 1], RD[k + 1], charts[k + 1], multipliers[k + 1] = end[:4]
        record["iterations"][k + 1] = early[4] + end[4]
        return True

    def _aim(self, t: float) -> None:
        self.reduced.tree.closure.coefficients[self.first :] = self.goals(t)

    def _stage(self, P: FloatArray, Pv: FloatArray, chart: Any, lam: FloatArray, u: FloatArray) -> Any:
        """(r, rd, charts, multipliers, iterations) of one stage of length alpha dt, or None."""
        R, RD, LAM = np.zeros((2, len(P))), np.zeros((2, len(P))), np.zeros((2, len(lam)))
        charts, its = np.array([chart, chart]), np.zeros(2, np.int64)
        R[0], RD[0], LAM[0] = P, Pv, lam
        none = np.zeros((0, len(P)))
        length = rollout.ALPHA * self.dt
        steps = (rollout.BDF1, self.problem, self.settings, length, 0, 1, u)
        stages = (none, none, np.zeros((0, len(lam))))
        if rollout.rollout(*steps, R, RD, charts, *stages, LAM, its, self.vectors, self.sizes) < 1:
            return None
        return R[1], RD[1], charts[1], LAM[1], its[1]

    def _in_charts(self, state: Any, chart: Any) -> tuple[FloatArray, FloatArray]:
        """Reduced coordinates and rates of a stage in given charts."""
        r, rd, own = state[:3]
        red = self.reduced
        if red.identical or (own == chart).all():
            return r, rd
        m = self.mechanism
        Q, V, x, xd = np.zeros((1, m.nq)), np.zeros((1, m.nv)), np.zeros((1, red.nr)), np.zeros((1, red.nr))
        to_public(red.balls, red.index_q, red.index_v, r[None], rd[None], own[None], Q, V)
        from_public(red.balls, red.index_q, red.index_v, Q, V, np.array(chart)[None], x, xd)
        return x[0], xd[0]


def _checked(integrator: Any, mechanism: Mechanism, motion: Any) -> PrescribedMotion:
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
    return motion
