"""Runs `backward.go_back` over the steps of a record, and lays out contacts anew where it asks for that."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.forces.arrays import force_gradients
from leastaction.integrators import FloatArray
from leastaction.maximal.arrays import plain
from leastaction.maximal.derivatives.arrays import VIRTUAL_TWIST, BackData
from leastaction.maximal.derivatives.backward import go_back, go_back_with_contact
from leastaction.maximal.derivatives.kept_steps import KeptSteps
from leastaction.maximal.derivatives.parted_steps import PartedSteps
from leastaction.maximal.derivatives.replay import PATIENT, Parts
from leastaction.maximal.derivatives.sensitivity import Bars
from leastaction.maximal.derivatives.solve_again import OTHERWISE
from leastaction.maximal.derivatives.solved_steps import BodyState
from leastaction.maximal.records import BALL, records
from leastaction.maximal.step.rollout import DONE, FULL, UNTIED

TRIES = 20
"""How often contacts are laid out anew for one step."""

NO_ROWS = (np.zeros((0, 0)), np.zeros((0, 0)))
"""Where only the bars are brought back."""

SCRATCH = ("E0", "E1", "G0", "G1", "GT", "GV", "push", "moved", "read", "twists", "by_velocity")


def pushes_bodies(stepper: Any) -> bool:
    """Whether any force or control acts on bodies."""
    forces = stepper.arrays.forces
    elements = (forces.wrenches, forces.penalties, forces.drags, forces.tendons, forces.balls)
    own = (
        forces.user is not None
        or stepper.arrays.resisting is not None
        or any(x is not None and len(x) for x in elements)
    )
    return own or bool((forces.drives.dof < 0).any())


def has_soft_balls(stepper: Any) -> bool:
    """Whether any ball or free joint has a spring, a damper or, between two bodies, drive inertia."""
    coordinates = stepper.arrays.coordinates
    balls = coordinates[coordinates.kind >= BALL]
    return bool(balls.damping.any() or balls.armature.any() or balls.stiffness.any())


class WayBack:
    """The way back over a piece of a run, as far as it is compiled.

    Args:
        parts: of a `MaximalStepper`.
        record: states of the run by name.
        start: state of the row from which the piece starts.
        row: number of that row.
        u: controls at the nodes of each step, shape (steps, nodes, nu).
        derivatives: by entries of parameters, see `KeptSteps`.
    """

    def __init__(
        self, parts: Parts, record: Any, start: BodyState, row: int, u: FloatArray, derivatives: Any = ()
    ) -> None:
        self.parts, self.row = parts, row
        self.stepper = s = parts.stepper_of(parts.lengths[0], PATIENT)
        rows = slice(row, row + len(u) + 1)
        names = ("rigid_poses", "momenta", "velocities", "q")
        self.poses, self.momenta, self.velocities, self.q = (np.array(record[name][rows]) for name in names)
        self.poses[0], self.momenta[0] = start.Z, start.P
        self.velocities[0] = start.V
        self.goals = np.array(record["goals"][rows]) if len(s.model.goals) else np.zeros((len(u) + 1, 0))
        self.u = np.array(u, order="C")
        self.parted = PartedSteps(parts.lengths, np.asarray(record["substeps"][rows][1:]), start.before)
        n, ends, nq = len(start.Z), self.parted.most + 1, self.q.shape[1]
        self.scratch: dict[str, Any] = {name: np.zeros((n, 6)) for name in SCRATCH} | {
            "part_poses": np.zeros((ends, n, 7)),
            "part_momenta": np.zeros((ends, n, 6)),
            "part_velocities": np.zeros((ends, n, 6)),
            "part_q": np.zeros((ends, nq)),
            "reached": np.zeros((3, n, 6)),
            "holds": np.zeros(2, np.int64),
            "cot": records(n, VIRTUAL_TWIST) if pushes_bodies(s) else None,
            "balls": True if has_soft_balls(s) else None,
        }
        if s.contact is not None:
            s.contact.now.known = 0
        self.kept = KeptSteps(s, self.parted, derivatives)
        self.by_parameters = np.zeros(len(derivatives))
        self.planned = False

    def jacobians(self) -> tuple[FloatArray, FloatArray] | None:
        """(A, B) of `leastaction.linearize` for the first step, which is the piece, or None: found otherwise."""
        n, (steps, nodes, nu) = self.parts.stepper.mechanism.nv, self.u.shape
        rows, (bq, bp) = (np.zeros((2 * n, 2 * n)), np.zeros((2 * n, nu))), np.zeros((2, steps + 1, n))
        bars, controls = Bars.zero(self.poses.shape[1]), np.zeros((steps, nodes, nu))
        left, _ = self.over(steps - 1, bars, bq, bp, controls, rows)
        return rows if left < 0 else None

    def over(
        self, last: int, bars: Bars, bq: FloatArray, bp: FloatArray, controls: FloatArray, rows: Any = NO_ROWS
    ) -> tuple[int, Bars]:
        """From the end of step `last` back as far as it goes: (the step that is left to do, -1 for none; the bars).

        Args:
            bq, bp: gradients by positions and momenta of the piece's rows.
            controls: gradients by the controls, to which is added.
            rows: where gradients of all that the first step ends with go instead, see `BackData`.
        """
        s, found = self.stepper, np.stack(bars)
        tries, wider = 0, 1.0
        if not self.planned and s.contact is not None and len(s.table.movers) > 1:
            self._plan(last, wider)
        self.planned = True
        read = np.array([bq, bp])
        read[:, : 1 if self.row == 0 else 0] = 0.0  # what is read off the start of a run is left to others
        while True:
            if s.contact is not None:
                s.contact.written[0] = 0
            back = plain(self._data(found, bq, bp, controls, rows))
            first = self.parted.since(last, self.kept.slots) if self.kept.derivatives else 0
            if s.contact is None:
                left, why = go_back(*s.problem, self.parts.places, back, first, last)
            else:
                touching = plain((s.near, s.contact))
                left, why = go_back_with_contact(*s.problem, *touching, self.parts.places, back, first, last)
            self.kept.add(self.by_parameters, self.u, last, int(left), *read)
            self.kept.add_impacts(self.by_parameters, int(left))
            if why == DONE and left >= 0:
                last, tries = int(left), 0
                continue
            tries = tries + 1 if left == last else 0
            if why in (DONE, OTHERWISE) or tries > TRIES:
                return int(left), Bars(*found)
            last = last if len(rows[0]) else int(left)
            for part in rows:
                part[:] = 0.0
            if why == FULL:
                s.room *= 2
                s._make_room()
            elif why == UNTIED:
                s._tie(True)
            else:
                wider = 2.0 * wider if tries else 1.0
                self._plan(int(left), wider)

    def _plan(self, k: int, wider: float) -> None:
        s, V = self.stepper, self.velocities[k]
        s.data.bodies.w, s.data.bodies.vc = V[:, :3], V[:, 3:]
        s._plan(self.poses[k], wider)

    def _data(self, bars: FloatArray, bq: FloatArray, bp: FloatArray, controls: FloatArray, rows: Any) -> BackData:
        values, contact = self.stepper.data.factors.values, self.stepper.contact
        contacts = 0 if contact is None else len(contact.contacts)
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
            rest=np.zeros(1),
            rests=np.zeros(len(rows[0])),
            fresh=self.row == 0,
            first_row=self.row == 0,
            bq=bq,
            bp=bp,
            bars=bars,
            controls=controls,
            **self.scratch,
            at=np.zeros(self.q.shape[1]),
            original=np.zeros(len(values)),
            residual=np.zeros(len(self.stepper.data.fixed)),
            y=np.zeros(len(self.stepper.data.fixed)),
            qa=np.zeros(18),
            qb=np.zeros(18),
            by_points=np.zeros((contacts, 3)),
            A=rows[0],
            B=rows[1],
            kept=np.zeros((len(rows[0]), *bars.shape)),
            kept_points=np.zeros((len(rows[0]), contacts, 3)),
            lifts=np.zeros((bq.shape[1], 6)),
            gram=np.zeros((6, 6)),
            right=np.zeros((6, 6)),
            newest=np.zeros(1, np.int64),
            grads=force_gradients(self.stepper.arrays.forces),
            slots=self.kept.room(),
            impacts=self.kept.impacts,
        )
