"""Steps linearized in one call, without the objects of `substep_map`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.batched_call import BatchedCall
from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.contact.records import CONTACT as CONTACT_RECORD
from leastaction.contact.records import records
from leastaction.contact.solver.cone_kinds import LOOP, TURNING
from leastaction.minimal.contact.arrays import RobotData, RobotModel
from leastaction.minimal.contact.derivatives.contact_kernels import VALUES, Part
from leastaction.minimal.contact.derivatives.contact_laws import Modes
from leastaction.minimal.contact.derivatives.contact_slopes import Rows
from leastaction.minimal.contact.derivatives.step_jacobian import (
    FULL,
    OTHERWISE,
    RobotParts,
    SolvedStep,
    Work,
    step_jacobian,
)
from leastaction.minimal.contact.derivatives.step_matrices import StepMatrices
from leastaction.minimal.contact.robot_records import FOUND, GIVEN, ROBOT_CONE

FloatArray = NDArray[np.float64]

ROOM = 12
"""Impulses that there is room for at first."""


def is_plain(model: RobotModel, nu: int) -> bool:
    """Whether `step_jacobian` knows a robot: a tree whose drives push along joints, without forces between bodies."""
    cones, shapes = model.cones, model.shapes
    if cones is None or (model.forces is not None and len(model.forces.nodes)):
        return False
    if model.closure is not None and model.closure.count:
        return False
    turning = shapes is not None and bool(((shapes.pairs.spin > 0.0) | (shapes.pairs.roll > 0.0)).any())
    if turning or (cones.width == TURNING).any() or (cones.kind == LOOP).any() or (cones.friction == GIVEN).any():
        return False
    return len(model.drives) == nu and bool((model.drives.dof >= 0).all())


class Linearization:
    """A and B of steps, of robots that are `is_plain`.

    Args:
        stepper: a `GroundStepper`, for nothing else.
    """

    def __init__(self, stepper: Any) -> None:
        self.stepper, self.settings = stepper, stepper.settings
        n, nu = stepper.mechanism.nv, stepper.mechanism.nu
        self.record, self.u = stepper.record(1), np.zeros((1, 1, nu))
        self.A, self.B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, nu))
        self._prepare()

    def _prepare(self) -> None:
        """Bind the arrays of the stepper."""
        model: RobotModel = self.stepper.model
        data: RobotData = self.stepper.data
        self.data, cones = data, self.stepper.cones
        found, touch = data.touch.found, data.touch
        every = cones, records(0, CONTACT_RECORD)
        now, every = (records(1, FOUND), every) if found is None else (found.now, (found.cones, found.contacts))
        nodes, dofs = model.nodes, model.dofs
        reach = np.ones(len(nodes)) if model.shapes is None else np.array(model.shapes.reach, float)
        owner = np.array(dofs.node, np.int64)
        self.robot = RobotParts(nodes, dofs, model.gravity, model.drives, owner, np.where(reach > 0.0, reach, 1.0))
        phase = touch.phase
        self.solved = SolvedStep(
            *(data.R, data.x, data.S, data.now, touch.q_start, touch.v, len(cones), now, *every),
            *(touch.active, touch.side, touch.least, touch.soft, phase.soft, touch.lam, phase.total),
            *(phase.w, phase.diagonal, touch.w, touch.W),
        )
        self._make_room(ROOM)
        own, u = self.stepper, self.u.reshape(1, self.u.shape[2], 1)
        arguments = u, (*own.record_arrays(self.record), own.steady, *own.no_goals), False
        self._step = BatchedCall(own.bound, lambda row: arguments)

    def at(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """A (2 nv, 2 nv) and B (2 nv, nu) of the step from q and p with controls u, in arrays that the next call uses.

        None where the step is divided, has impacts or contacts found late, or has no solution.
        """
        s, record = self.stepper, self.record
        record["q"][0], record["p"][0], self.u[0, 0] = q, p, u
        s.begin(record)
        done, failed = self._step(1)
        if failed and self.data.touch.found is not None and self.data.touch.found.now[0].full:
            s.make_more_room()
            self._prepare()
            return self.at(q, p, u)
        impacts = self.data.touch.impacts
        if done == 0 or record["divided"][1] or (impacts is not None and impacts.now[0].hits):
            return None
        while (code := self._differentiate(1)) == FULL:
            self._make_room(4 * self.room)
        return None if code == OTHERWISE else (self.A, self.B)

    def _make_room(self, room: int) -> None:
        """Arrays for so many impulses."""
        self.room = room
        work, outputs = work_arrays(self.robot, self.solved.contacts, self.settings, room), (self.A, self.B)
        lengths = float(self.settings.dt), float(self.settings.whole)
        call = Bound(step_jacobian, *plain((self.robot, self.solved, work)), *lengths)
        self._differentiate = BatchedCall(call, lambda row: outputs)


def work_arrays(robot: RobotParts, contacts: Any, settings: Any, e: int) -> Work:
    """Arrays with room for e impulses, and so many contacts as have these."""
    n, b, nu, m = len(robot.dofs), len(robot.nodes), len(robot.drives), e // 3

    def zeros(*shape: int) -> FloatArray:
        return np.zeros(shape)

    square = [zeros(n, n) for _ in range(6)]
    own = zeros(b, 3), zeros(b), zeros(b, 6), zeros(n, 6), zeros(4, b, 36), zeros(3, b, 6)
    matrices = StepMatrices(*square, *own)
    poses = zeros(2, b, 9), zeros(2, b, 3), matrices.y, matrices.e
    impulses = (zeros(m, 3) for _ in range(4))  # the torques among them are none
    cones = records(m, ROBOT_CONE), contacts, np.zeros(m, np.int64)
    part = Part(*cones, *poses, *impulses, matrices.twists, robot.reach, float(settings.dt))
    modes = Modes(
        *(zeros(m), zeros(m), zeros(m), np.zeros((2, m), bool), np.zeros((2, m), bool), np.zeros((2, m), bool)),
        *(np.zeros(m, bool), zeros(2, m), zeros(m), DEEPEST * settings.whole**2, zeros(m), zeros(m), zeros(m)),
        *(zeros(m), np.zeros(m, bool), zeros(2), np.full(m, -1)),
    )
    rows = Rows(
        *(zeros(m, VALUES), zeros(2, m, 6, n), zeros(2, m, n, VALUES), zeros(2, n, n), zeros(2, n, n)),
        *(zeros(2, 6, 12), zeros(2, 2, 6, VALUES), np.zeros((n, 2), np.int64), zeros(n, 12)),
    )
    along = [zeros(e, n) for _ in range(6)]
    return Work(
        *(matrices, part, modes, rows, zeros(2, n, 6), np.zeros(m, np.int64), zeros(m, 3), zeros(e, 7)),
        *(zeros(6, 3 * n + 6), *along, zeros(3, e, 3), zeros(n, e), zeros(e, n), zeros(2, e, e)),
        *(zeros(e), zeros(e), zeros(2 * n + e)),
        *(zeros(n, 2 * n + e), zeros(2, e, 2 * n + nu), zeros(n), zeros(n, 2 * n + nu)),
    )
