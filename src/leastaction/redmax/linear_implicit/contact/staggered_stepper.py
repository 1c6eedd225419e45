"""Staggered projections: contacts and friction by turns (Sueda 2021, 2.11, Algorithms 7 and 8).

Algorithm 8 (BISP) with three liberties. Reactions of joints come from the recursion of inverse dynamics, which equals
(2.124) and the distribution to joints in one pass; (2.124) as printed lacks the term M_m dJ/dt v, and its reactions
would do work. External contacts enter that recursion as wrenches, so the second, unconstrained problem of (2.126)
is not needed. The friction problem (2.121) is posed in reduced coordinates, with T J and M_r: friction then feels
at once that joints hold, instead of learning it from one iteration to the next.

Where turns do not settle, contacts and friction are solved for together, with friction bounded by the load found
before, and the bounds go on by Anderson's acceleration. What they settle at is a fixed point of the turns as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leastaction.contact.qp import QuadraticProgram
from leastaction.dynamics import entries
from leastaction.errors import ConvergenceError
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.contact.anderson import Anderson
from leastaction.redmax.linear_implicit.contact.bearings import Bearings
from leastaction.redmax.linear_implicit.contact.contact_rows import ContactRows
from leastaction.redmax.linear_implicit.stepper import ConstrainedStepper, RunMemory, StepEquations
from leastaction.redmax.linear_implicit.system_assembly import push_rows

PATIENCE = 20
"""Staggered iterations after which contacts and friction are solved for together, with bounds from the load before.

Where friction holds what contacts push apart (a penetration that is to be taken back, say), each turn undoes the other
but for a tiny rise of the load, and the load that overcomes friction is hundreds of turns away."""

LOAD_TOLERANCE = 1e-6
"""Relative change of friction bounds that counts as none."""


@dataclass
class StaggeredMemory(RunMemory):
    """As `RunMemory`, with the friction of the step before, which starts the iteration of the next.

    Attributes:
        friction_qp: solver of the friction problems.
        joint_qp: solver of the problems of contacts and friction together.
        joints: friction impulses of joints, shape (joint rows,).
        contacts_by_key: friction impulses of contacts (2,) by their keys.
    """

    friction_qp: QuadraticProgram = field(default_factory=QuadraticProgram)
    joint_qp: QuadraticProgram = field(default_factory=QuadraticProgram)
    joints: FloatArray = field(default_factory=lambda: np.zeros(0))
    contacts_by_key: dict[int, FloatArray] = field(default_factory=dict)

    def of_contacts(self, contacts: ContactRows) -> FloatArray:
        """Friction impulses of the step before, shape (2 contacts,); zero for contacts that are new."""
        none = np.zeros(2)
        return np.concatenate([np.zeros(0), *(self.contacts_by_key.get(k, none) for k in contacts.key.tolist())])

    def keep(self, joints: FloatArray, contacts: ContactRows, beta: FloatArray) -> None:
        """Keep the friction impulses of joints, and of contacts (2 contacts,), for the next step."""
        self.joints = joints
        self.contacts_by_key = dict(zip(contacts.key.tolist(), beta.reshape(-1, 2), strict=True))


class StaggeredStepper(ConstrainedStepper):
    """Algorithm 8, with external constraints."""

    acts = frozenset({"contacts", "limits", "dry friction"})

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.bearings = Bearings(mechanism, integrator.bearings)
        dry = mechanism.tree.dofs.friction
        self.dofs = np.union1d(self.bearings.dofs, np.flatnonzero(dry)).astype(np.int64)
        self.dry = dt * dry[self.dofs]
        self.place = np.searchsorted(self.dofs, self.bearings.dofs)
        self.rows = np.zeros((len(self.dofs), mechanism.nv))
        self.rows[np.arange(len(self.dofs)), self.dofs] = 1.0

    def new_memory(self) -> StaggeredMemory:
        """See `ConstrainedStepper.new_memory`."""
        qp, friction_qp, joint_qp = (QuadraticProgram(self.integrator.qp) for _ in range(3))
        return StaggeredMemory(qp, friction_qp=friction_qp, joint_qp=joint_qp, joints=np.zeros(len(self.dofs)))

    def record(self, steps: int) -> Record:
        """As `ConstrainedStepper.record`, and the friction of joints."""
        record = super().record(steps)
        record["joint_friction"] = np.zeros((steps + 1, self.mechanism.nv))
        return record

    def velocities(self, e: StepEquations, record: Record, k: int) -> FloatArray:
        """See `ConstrainedStepper.velocities`."""
        method, memory, p, touch = self.integrator, self.carried, e.projection, e.contacts
        count, joints = len(touch.N), len(self.dofs)
        C, least = e.reduced(np.concatenate([touch.N, e.limits])), np.concatenate([e.floor, e.least])
        R = e.reduced(np.concatenate([self.rows, touch.T]))
        YC, YR = p.response(C), p.response(R)
        HC, HR = C @ YC, R @ YR
        H, goal = np.block([[HC, C @ YR], [R @ YC, HR]]), np.concatenate([C @ p.v - least, R @ p.v])
        base = self.external(e)
        # Friction of the step before starts the iteration.
        beta = np.concatenate([memory.joints, memory.of_contacts(touch)])
        alpha, bounds, v1 = np.zeros(len(C)), np.zeros(0), p.v
        history: list[float] = []
        scale = float(np.sqrt(max(e.full(p.v) @ e.M @ e.full(p.v), e.v @ e.M @ e.v))) + 1e-12
        anderson = Anderson()
        for iteration in range(method.max_iterations):
            before, v_old = bounds, v1
            if iteration < PATIENCE:
                alpha = self._contact(C, HC, p.v + YR @ beta, least)
            else:
                alpha, beta = self.together(H, goal, np.zeros(len(C)), bounds)
            v1 = p.v + YR @ beta + YC @ alpha
            bounds = self.bounds(e, base, e.full(v1), alpha, beta)
            if iteration:
                change = e.full(v1 - v_old)
                move = float(np.sqrt(max(change @ e.M @ change, 0.0))) / scale
                load = float(np.abs(bounds - before).max(initial=0.0) / max(bounds.max(initial=0.0), 1e-12))
                # How four feet share a load is known to seven digits only; what they do to the motion, to all.
                history.append(max(move, load if load > LOAD_TOLERANCE else 0.0))
                if history[-1] <= method.tolerance:
                    break
            if len(R) == 0:
                break
            if iteration < PATIENCE:
                beta = memory.friction_qp.solve(HR, R @ (p.v + YC @ alpha), -bounds, bounds)
            else:
                bounds = np.maximum(anderson.next(before, bounds), 0.0)
        else:
            raise ConvergenceError(
                "staggered projections did not converge; take a smaller dt or a larger tolerance", residuals=history
            )
        memory.keep(beta[:joints], touch, beta[joints:])
        record["iterations"][k + 1] = iteration + 1
        record["joint_friction"][k + 1, self.dofs] = beta[:joints] / self.dt
        self.note(e, record, k, C.T @ alpha + R.T @ beta, alpha[:count], beta[joints:])
        return e.full(v1)

    def _contact(self, C: FloatArray, H: FloatArray, v: FloatArray, least: FloatArray) -> FloatArray:
        """Impulses (2.120) of contacts and limits, without the problem where nothing touches."""
        goal = C @ v - least
        if not (goal < 1e-12).any():
            return np.zeros(len(C))
        return self.carried.qp.solve(H, goal)

    def together(self, H: Any, goal: FloatArray, lower: FloatArray, bounds: FloatArray) -> tuple[FloatArray, ...]:
        """Impulses of contacts, from `lower` on, and of friction within given bounds, in one problem.

        Args:
            H: Delassus matrix of contacts, then friction.
            goal: its linear term.
            lower: least impulses of contacts, 0 or minus infinity.
            bounds: largest ones of friction.
        """
        limits = np.concatenate([lower, -bounds]), np.concatenate([np.full(len(lower), np.inf), bounds])
        x = self.carried.joint_qp.solve(H, goal, *limits)
        return x[: len(lower)], x[len(lower) :]

    def external(self, e: StepEquations) -> FloatArray:
        """World wrenches (nodes, 6) of springs, wrenches and thrusters at the start of the step."""
        return self.data.external.copy()

    def bounds(
        self, e: StepEquations, base: FloatArray, v1: FloatArray, alpha: FloatArray, beta: FloatArray
    ) -> FloatArray:
        """Largest impulses of friction under the present load: of joints, then two for each contact."""
        touch, dt = e.contacts, self.dt
        sides = np.repeat(touch.friction * alpha[: len(touch.N)], 2)
        if len(self.bearings) == 0:
            return np.concatenate([self.dry, sides])
        d, t = self.data, self.mechanism.tree
        joints = len(self.dofs)
        wrenches = base.copy()
        for node, sign in ((touch.node, 1.0 / dt), (touch.other, -1.0 / dt)):
            moving = node >= 0
            np.add.at(wrenches, node[moving], (sign * touch.normal * alpha[: len(touch.N), None])[moving])
            rubs, both = sign * touch.tangent * beta[joints:, None], np.repeat(moving, 2)
            np.add.at(wrenches, np.repeat(node, 2)[both], rubs[both])
        if len(self.kept):
            impulse = e.reduced(np.concatenate([touch.N, e.limits])).T @ alpha
            impulse += e.reduced(np.concatenate([self.rows, touch.T])).T @ beta
            forces = np.zeros(self.model.count)
            forces[self.kept] = e.projection.multipliers(impulse)[: len(self.kept)] / dt
            push_rows(self.model.rows, self.model.twins, d.links, forces, wrenches)
        a = (v1 - e.v) / dt
        tree = (t.nodes, t.dofs, t.gravity)
        entries.inverse_dynamics(tree, (d.links, d.screws, wrenches), e.q, e.v, a, d.tau)
        out = self.dry.copy()
        out[self.place] += dt * self.bearings.bounds(d.links)
        return np.concatenate([out, sides])
