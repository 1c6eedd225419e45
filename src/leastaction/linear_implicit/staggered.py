"""Staggered projections: contacts and friction by turns (Sueda 2021, 2.11, Algorithms 7 and 8).

Algorithm 8 (BISP) with three liberties. Reactions of joints come from the recursion of inverse dynamics, which equals
(2.124) and the distribution to joints in one pass; (2.124) as printed lacks the term M_m dJ/dt v, and its reactions
would do work. External contacts enter that recursion as wrenches, so the second, unconstrained problem of (2.126)
is not needed. The friction problem (2.121) is posed in reduced coordinates, with T J and M_r: friction then feels
at once that joints hold, instead of learning it from one iteration to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction.contact.qp import QuadraticProgram
from leastaction.dynamics import entries
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integrators import PENALTIES, Integrator
from leastaction.linear_implicit import linear_step as implicit
from leastaction.linear_implicit.bearings import Bearing, Bearings
from leastaction.linear_implicit.constrained_euler import ConstrainedStepper, StepEquations, check_settings
from leastaction.linear_implicit.contact_qp import Touching
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.record import Record

LOAD_TOLERANCE = 1e-6
"""Relative change of friction bounds that counts as none."""


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
        self.friction_qp = QuadraticProgram(integrator.qp)
        self.rows = np.zeros((len(self.dofs), mechanism.nv))
        self.rows[np.arange(len(self.dofs)), self.dofs] = 1.0
        self.beta = np.zeros(len(self.dofs))
        self.beta_contacts: dict[int, FloatArray] = {}

    def record(self, steps: int) -> Record:
        """As `ConstrainedStepper.record`, and the friction of joints."""
        record = super().record(steps)
        record["joint_friction"] = np.zeros((steps + 1, self.mechanism.nv))
        # A run begins without memory of the one before.
        self.beta[:] = 0.0
        self.beta_contacts = {}
        return record

    def remembered(self, touch: Touching) -> FloatArray:
        """Friction impulses of the step before, shape (2 contacts,); zero for contacts that are new."""
        none = np.zeros(2)
        return np.concatenate([np.zeros(0), *(self.beta_contacts.get(k, none) for k in touch.key.tolist())])

    def remember(self, touch: Touching, beta: FloatArray) -> None:
        """Keep the friction impulses (2 contacts,) for the next step."""
        self.beta_contacts = dict(zip(touch.key.tolist(), beta.reshape(-1, 2), strict=True))

    def velocities(
        self, e: StepEquations, record: Record, k: int, q: FloatArray, v: FloatArray, u: FloatArray
    ) -> FloatArray:
        """See `ConstrainedStepper.velocities`."""
        method, p, touch = self.integrator, e.projection, e.touching
        count, joints = len(touch.N), len(self.dofs)
        C, least = e.reduced(np.concatenate([touch.N, e.limits])), np.concatenate([e.floor, e.least])
        R = e.reduced(np.concatenate([self.rows, touch.T]))
        YC, YR = p.response(C), p.response(R)
        HC, HR = C @ YC, R @ YR
        base = self.external(e)
        # Friction of the step before starts the iteration.
        beta = np.concatenate([self.beta, self.remembered(touch)])
        alpha, bounds, v1 = np.zeros(len(C)), np.zeros(0), p.v
        history: list[float] = []
        scale = float(np.sqrt(max(e.full(p.v) @ e.M @ e.full(p.v), v @ e.M @ v))) + 1e-12
        for iteration in range(method.max_iterations):
            before, v_old = bounds, v1
            vf = p.v + YR @ beta
            alpha = self._contact(C, HC, vf, least)
            v1 = vf + YC @ alpha
            bounds = self.bounds(e, base, q, v, e.full(v1), alpha, beta)
            if iteration:
                change = e.full(v1 - v_old)
                move = float(np.sqrt(max(change @ e.M @ change, 0.0))) / scale
                load = float(np.abs(bounds - before).max(initial=0.0) / max(bounds.max(initial=0.0), 1e-12))
                # How four feet share a load is known to seven digits only; what they do to the motion, to all.
                history.append(max(move, load if load > LOAD_TOLERANCE else 0.0))
                if history[-1] <= method.tolerance:
                    break
                if iteration > 20:  # bounds that chase each other are led to their middle
                    bounds = 0.5 * (bounds + before)
            if len(R) == 0:
                break
            beta = self.friction_qp.solve(HR, R @ (p.v + YC @ alpha), -bounds, bounds)
        else:
            raise ConvergenceError(
                "staggered projections did not converge; take a smaller dt or a larger tolerance", residuals=history
            )
        self.beta = beta[:joints]
        self.remember(touch, beta[joints:])
        record["iterations"][k + 1] = iteration + 1
        record["joint_friction"][k + 1, self.dofs] = self.beta / self.dt
        self.note(e, record, k, C.T @ alpha + R.T @ beta, alpha[:count], beta[joints:])
        return e.full(v1)

    def _contact(self, C: FloatArray, H: FloatArray, v: FloatArray, least: FloatArray) -> FloatArray:
        """Impulses (2.120) of contacts and limits, without the problem where nothing touches."""
        goal = C @ v - least
        if not (goal < 1e-12).any():
            return np.zeros(len(C))
        return self.qp.solve(H, goal)

    def external(self, e: StepEquations) -> FloatArray:
        """World wrenches (nodes, 6) of springs, wrenches and thrusters at the start of the step."""
        return self.work.external.copy()

    def bounds(
        self,
        e: StepEquations,
        base: FloatArray,
        q: FloatArray,
        v: FloatArray,
        v1: FloatArray,
        alpha: FloatArray,
        beta: FloatArray,
    ) -> FloatArray:
        """Largest impulses of friction under the present load: of joints, then two for each contact."""
        touch, dt = e.touching, self.dt
        sides = np.repeat(touch.friction * alpha[: len(touch.N)], 2)
        if len(self.bearings) == 0:
            return np.concatenate([self.dry, sides])
        w, t = self.work, self.mechanism.tree
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
            forces = np.zeros(self.closure[2])
            forces[self.kept] = e.projection.multipliers(impulse)[: len(self.kept)] / dt
            implicit.push_rows(*self.closure, w.links, forces, wrenches)
        a = (v1 - v) / dt
        entries.inverse_dynamics(t.nodes, t.dofs, t.gravity, w.links, w.screws, q, v, a, wrenches, self.tau)
        out = self.dry.copy()
        out[self.place] += dt * self.bearings.bounds(w.links)
        return np.concatenate([out, sides])


def _stepper(integrator: Any, mechanism: Mechanism, dt: float) -> ConstrainedStepper:
    if integrator.method == "bisp":
        return StaggeredStepper(integrator, mechanism, dt)
    from leastaction.linear_implicit.maximal_staggered import MaximalStaggeredStepper

    return MaximalStaggeredStepper(integrator, mechanism, dt)


@dataclass(frozen=True)
class StaggeredProjections(Integrator):
    """Linearly implicit Euler with friction of joints and contacts by staggered projections (Sueda 2021, 2.11).

    Dry friction of joints acts, bearings make friction that grows with the load of their joint, and what touches rubs
    (four-sided cone). All else is as in `ConstrainedEuler`.

    Attributes:
        bearings: joints whose friction grows with their load.
        method: "bisp" (Algorithm 8), or "sp" (Algorithm 7), which solves for the contacts of all bearings in maximal
            coordinates and is there to compare with; it runs trees of bodies on joints with bearings, and wants a
            tolerance of 1e-5.
        max_iterations, tolerance: of the staggered iteration; relative change of velocities and of friction bounds.
        constraints, stabilization, baumgarte, couplings, limits, qp, self_collision: see `ConstrainedEuler`.
    """

    bearings: tuple[Bearing, ...] = ()
    method: str = "bisp"
    max_iterations: int = 300
    tolerance: float = 1e-8
    constraints: tuple[Any, ...] = ()
    stabilization: str = "baumgarte"
    baumgarte: float = 5.0
    couplings: str = "constrain"
    limits: bool = True
    qp: str = "auto"
    self_collision: bool = False
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = staticmethod(_stepper)

    def __post_init__(self) -> None:
        check_settings(self)
        object.__setattr__(self, "bearings", tuple(self.bearings))
        if self.method not in ("bisp", "sp"):
            raise IntegratorError(f"StaggeredProjections: method must be 'bisp' or 'sp', got {self.method!r}")
