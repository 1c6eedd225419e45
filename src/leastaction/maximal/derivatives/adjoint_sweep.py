"""Runs `adjoint_kernels.adjoint_sweep` over the steps of a record, and updates near pairs and graph where needed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError
from leastaction.forces.arrays import force_gradients
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.arrays import plain
from leastaction.maximal.coordinates.placement import momenta_of, place
from leastaction.maximal.derivatives.adjoint_kernels import adjoint_sweep, adjoint_sweep_with_contact
from leastaction.maximal.derivatives.arrays import VIRTUAL_TWIST, BackData
from leastaction.maximal.derivatives.parameter_gradients import Derivative
from leastaction.maximal.derivatives.resolve_substep import FOUND_LATE, OTHERWISE
from leastaction.maximal.derivatives.step_tape import StepTape
from leastaction.maximal.derivatives.substep_schedule import PartedSteps
from leastaction.maximal.kernel_variants import flag, has_soft_balls, pushes_bodies
from leastaction.maximal.maximal_records import BALL, FREE, records
from leastaction.maximal.step.maximal_rollout import DONE, FULL, UNTIED
from leastaction.step_control.substeps import UNKNOWN, ends_of

TRIES = 20
"""Most updates of near pairs or graph for one step."""

PATIENT = 5
"""Factor on `max_iterations` for steps that are solved again, as their initial guess may differ."""

NO_ROWS = (np.zeros((0, 0)), np.zeros((0, 0)))
"""Without rows: propagate the bars only."""

SCRATCH = ("E0", "E1", "G0", "G1", "GT", "GV", "push", "moved", "read", "twists", "by_velocity")

NO_DERIVATIVE = (
    "Maximal: step {step} of the run could not be solved again as it was the first time, so it has no derivative; take "
    "a smaller dt or a larger max_iterations"
)

LATE_CONTACTS = (
    "Maximal: step {step} of the run found contacts while it was solved whose points move over both bodies; there are "
    "no derivatives by parameters through it; take a smaller dt, or leastaction.Minimal"
)

BEGINS_AT_IMPACT = (
    "Maximal: the run begins at an impact, whose time depends on the state; its derivatives do not know that: begin a "
    "step before it, or take leastaction.Minimal"
)

TOO_FINE = "Maximal: step {step} was divided so finely that the run does not record its substeps; it has no derivative"


def solver_of(stepper: Any) -> Any:
    """Stepper that solves the substeps of another one again, with PATIENT times as many iterations."""
    if stepper.solver is not None:
        return stepper.solver
    own = stepper.integrator
    single = replace(own, order=min(own.order, 2), max_iterations=PATIENT * own.max_iterations)
    # Not by `prepare`: substeps of a composition may have negative length.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were issued when `stepper` was made
        s = type(stepper)(single, stepper.mechanism, float(stepper.substeps[0]) * stepper.dt)
    names = ("kappa", "whole", "balanced", "compliance", "angular_compliance", "response_smoothing")
    own = {name: getattr(stepper.settings, name) for name in names}
    s.acts, s.settings = stepper.acts, s.settings._replace(**own)
    s._plan(None)
    stepper.solver = s
    return s


def places_of(model: Any, nv: int) -> Any:
    """Coordinate of each degree of freedom of a model, and its index there, shape (nv, 2)."""
    places = np.zeros((nv, 2), np.int64)
    for k, c in enumerate(model.coordinates):
        if c.iv >= 0:
            for j in range(6 if c.kind == FREE else 3 if c.kind == BALL else 1):
                places[c.iv + j] = k, j
    return places


class BackwardPass:
    """The backward pass over a segment of a run.

    Args:
        stepper: the `MaximalStepper` of the run.
        solver: see `solver_of`.
        record: states of the run by name.
        row: index of the first row of the segment.
        u: controls at the nodes of each step, shape (steps, nodes, nu).
        derivatives: one per entry of the parameters, see `StepTape`.

    Attributes:
        start: gradients by the initial q and p of the run, shape (2, nv), if the segment begins it.
        by_parameters: gradients by the parameters so far.
        kink: see `Reversal.kink`.
    """

    def __init__(
        self, stepper: Any, solver: Any, record: Any, row: int, u: FloatArray, derivatives: Sequence[Derivative] = ()
    ) -> None:
        self.stepper, self.solver, self.row = stepper, solver, row
        rows, lengths = slice(row, row + len(u) + 1), (stepper.substeps * stepper.dt).tolist()
        names = ("rigid_poses", "momenta", "velocities", "q")
        self.poses, self.momenta, self.velocities, self.q = (np.array(record[name][rows]) for name in names)
        before = lengths[-1]
        if row == 0:
            self._place(record["q"][0], record["p"][0])
            before = 0.0
        elif record["substeps"][row, -1, 0] != UNKNOWN:
            before *= np.diff(np.append(0.0, ends_of(record["substeps"][row, -1])[0]))[-1]
        self.goals = np.array(record["goals"][rows]) if len(solver.model.goals) else np.zeros((len(u) + 1, 0))
        self.u = np.array(u, order="C")
        self.parted = PartedSteps(lengths, np.asarray(record["substeps"][rows][1:]), before)
        n, ends, nq, nv = self.poses.shape[1], self.parted.most + 1, self.q.shape[1], stepper.mechanism.nv
        self.start, self.places = np.zeros((2, nv)), places_of(solver.model, nv)
        self.scratch: dict[str, Any] = {name: np.zeros((n, 6)) for name in SCRATCH} | {
            "part_poses": np.zeros((ends, n, 7)),
            "part_momenta": np.zeros((ends, n, 6)),
            "part_velocities": np.zeros((ends, n, 6)),
            "part_q": np.zeros((ends, nq)),
            "reached": np.zeros((3, n, 6)),
            "summed": np.zeros((3, n, 6)),
            "holds": np.zeros(3, np.int64),
            "cot": records(n if pushes_bodies(solver.model) else 0, VIRTUAL_TWIST) if solver.whole else None,
            "balls": flag(has_soft_balls(solver.model), solver.whole),
        }
        if solver.contact is not None:
            solver.contact.now.known = 0
        self.kept = StepTape(solver, self.parted, derivatives)
        self.by_parameters = np.zeros(len(derivatives))
        self.planned, self.kink = False, ""
        self.rest = np.zeros(2)  # see `BackData.rest`; at first that of the segment after this one

    def _place(self, q: FloatArray, p: FloatArray) -> None:
        """Set the bodies of the first row from joint positions and momenta, as `MaximalStepper.begin` does."""
        s = self.stepper
        v = velocity_of_momentum(s.mechanism, q[None], p[None])[0] if p.any() else np.zeros(len(p))
        self.poses[0], twists, rates = place(s.model, q, v)
        self.momenta[0], self.velocities[0] = momenta_of(s.model, self.poses[0], twists, rates), twists
        fast = 0.5 * s.dt * np.linalg.norm(twists[:, :3], axis=1) > 0.9
        self.velocities[0, fast, :3] = 0.0

    def jacobians(self) -> tuple[FloatArray, FloatArray]:
        """(A, B) of `leastaction.linearize` for the step that is the segment."""
        n, (steps, nodes, nu) = self.stepper.mechanism.nv, self.u.shape
        rows, (bq, bp) = (np.zeros((2 * n, 2 * n)), np.zeros((2 * n, nu))), np.zeros((2, steps + 1, n))
        self.over(np.zeros((3, self.poses.shape[1], 6)), bq, bp, np.zeros((steps, nodes, nu)), rows)
        return rows

    def over(
        self, bars: FloatArray | None, bq: FloatArray, bp: FloatArray, controls: FloatArray, rows: Any = NO_ROWS
    ) -> FloatArray:
        """Gradients by the state at the start of the segment, shape (3, bodies, 6): poses, momenta, velocities before.

        Args:
            bars: the same at its end; None where the run ends there.
            bq, bp: gradients by positions and momenta of the segment's rows.
            controls: gradients by the controls, output; must be zero on entry.
            rows: output for the Jacobians of the first step in place of one gradient, see `BackData`.
        """
        s, last, found = self.solver, len(self.u) - 1, np.zeros((3, self.poses.shape[1], 6))
        ends, tries, wider = bars is None, 0, 1.0
        if bars is not None:
            found[:] = bars
        if not self.planned and s.contact is not None and len(s.table.movers) > 1:
            self._plan(last, wider)
        self.planned = True
        read = np.array([bq, bp])
        read[:, : 1 if self.row == 0 else 0] = 0.0  # the gradients by the initial q and p are added by others
        while True:
            if len(rows[0]):
                self.rest[:] = 0.0
            if s.contact is not None:
                s.contact.written[0] = 0
            back = plain(self._data(found, bq, bp, controls, rows, ends))
            first = self.parted.since(last, self.kept.slots) if self.kept.derivatives else 0
            if s.contact is None:
                left, why = adjoint_sweep(*s.problem, self.places, back, first, last)
            else:
                touching = plain((s.near, s.contact))
                left, why = adjoint_sweep_with_contact(*s.problem, *touching, self.places, back, first, last)
            left = int(left)
            if self.kept.derivatives and not len(rows[0]):
                self.kept.add(self.by_parameters, self.u, last, left, *read)
                self.kept.add_impacts(self.by_parameters, left)
                if ends and left < last:
                    self.kept.add_read(self.by_parameters, self._state(-1), *read[:, -1])
                if left < 0 and self.row == 0:
                    self.kept.add_start(self.by_parameters, self._state(0), found, self.start)
            if why == DONE and left < 0:
                if self.row == 0 and self.rest[1] > 0.0:
                    self.kink = BEGINS_AT_IMPACT
                return found
            ends = ends and left == last
            if why == DONE:
                last, tries = left, 0
                continue
            tries = tries + 1 if left == last else 0
            if why == FOUND_LATE:
                raise IntegratorError(LATE_CONTACTS.format(step=self.row + left))
            if why == OTHERWISE or tries > TRIES:
                recorded = self.parted.begins[left] < self.parted.begins[left + 1]
                raise IntegratorError((NO_DERIVATIVE if recorded else TOO_FINE).format(step=self.row + left))
            last = last if len(rows[0]) else left
            for part in rows:
                part[:] = 0.0
            if why == FULL:
                s.room *= 2
                s._make_room()
            elif why == UNTIED:
                s._tie(True)
            else:
                wider = 2.0 * wider if tries else 1.0
                self._plan(left, wider)

    def _state(self, row: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Poses, momenta and joint positions of a row."""
        return self.poses[row], self.momenta[row], self.q[row]

    def _plan(self, k: int, wider: float) -> None:
        s, V = self.solver, self.velocities[k]
        s.data.bodies.w, s.data.bodies.vc = V[:, :3], V[:, 3:]
        s._plan(self.poses[k], wider)

    def _data(self, bars: Any, bq: FloatArray, bp: FloatArray, controls: FloatArray, rows: Any, ends: bool) -> BackData:
        s = self.solver
        values, nv, contacts = s.data.factors.values, bq.shape[1], 0 if s.contact is None else len(s.contact.contacts)
        return BackData(
            poses=self.poses,
            momenta=self.momenta,
            velocities=self.velocities,
            q=self.q,
            goals=self.goals,
            u=self.u,
            begins=self.parted.begins,
            lengths=self.parted.lengths,
            before=self.parted.before,
            nodes=self.parted.nodes,
            shares=self.parted.shares,
            plastic=self.parted.plastic,
            hit=np.zeros((4, bars.shape[1], 7)),
            rest=self.rest,
            rests=np.zeros(len(rows[0])),
            fresh=self.row == 0,
            ends=ends,
            start=self.start.reshape(-1),
            none=np.zeros(nv),
            bq=bq,
            bp=bp,
            bars=bars,
            controls=controls,
            **self.scratch,
            at=np.zeros(self.q.shape[1]),
            original=np.zeros(len(values)),
            residual=np.zeros(len(s.data.fixed)),
            y=np.zeros(len(s.data.fixed)),
            qa=np.zeros(18),
            qb=np.zeros(18),
            by_points=np.zeros((contacts, 3)),
            A=rows[0],
            B=rows[1],
            kept=np.zeros((len(rows[0]), *bars.shape)),
            kept_points=np.zeros((len(rows[0]), contacts, 3)),
            lifts=np.zeros((nv, 6)),
            gram=np.zeros((6, 6)),
            right=np.zeros((6, 6)),
            newest=np.zeros(1, np.int64),
            grads=force_gradients(s.arrays.forces),
            slots=self.kept.room(),
            impacts=self.kept.impacts,
        )
