"""Steps linearized in one call, without the objects of `substep_map`."""

from __future__ import annotations

from typing import Any

import numpy as np

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
from leastaction.typing import FloatArray

ROOM = 12
"""Initial capacity for impulses."""


def is_plain(model: RobotModel, nu: int) -> bool:
    """Whether `step_jacobian` supports a robot: a tree with joint actuators, without forces between bodies."""
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
        stepper: a `GroundStepper`, used by this object only.
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
            R=data.R,
            x=data.x,
            S=data.S,
            now=data.now,
            q=touch.q_start,
            v=touch.v,
            own=len(cones),
            found=now,
            cones=every[0],
            contacts=every[1],
            active=touch.active,
            side=touch.side,
            least=touch.least,
            soft_end=touch.soft,
            soft=phase.soft,
            lam=touch.lam,
            total=phase.total,
            w=phase.w,
            diagonal=phase.diagonal,
            w_end=touch.w,
            W_end=touch.W,
        )
        self._make_room(ROOM)
        own, u = self.stepper, self.u.reshape(1, self.u.shape[2], 1)
        arguments = u, (*own.record_arrays(self.record), own.steady, *own.no_goals), False
        self._step = BatchedCall(own.bound, lambda row: arguments)

    def at(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """A (2 nv, 2 nv) and B (2 nv, nu) of the step from q and p with controls u; the next call overwrites them.

        None where the step has substeps, impacts or contacts added late, or no solution.
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
        return (self.A, self.B) if self.differentiate() else None

    @property
    def end(self) -> tuple[FloatArray, FloatArray]:
        """q and p at the end of the last solved step."""
        return self.record["q"][1], self.record["p"][1]

    def differentiate(self) -> bool:
        """Fill A and B of the solved step; False where contacts were added late, or the equations are singular."""
        while (code := self._differentiate(1)) == FULL:
            self._make_room(4 * self.room)
        return bool(code != OTHERWISE)

    def _make_room(self, room: int) -> None:
        """Allocate arrays for `room` impulses."""
        self.room = room
        work, outputs = work_arrays(self.robot, self.solved.contacts, self.settings, room), (self.A, self.B)
        lengths = float(self.settings.dt), float(self.settings.whole)
        call = Bound(step_jacobian, *plain((self.robot, self.solved, work)), *lengths)
        self._differentiate = BatchedCall(call, lambda row: outputs)


def work_arrays(robot: RobotParts, contacts: Any, settings: Any, e: int) -> Work:
    """Arrays with room for e impulses, and as many contacts as these require."""
    n, b, nu, m = len(robot.dofs), len(robot.nodes), len(robot.drives), e // 3

    def zeros(*shape: int) -> FloatArray:
        return np.zeros(shape)

    matrices = StepMatrices(
        start=zeros(n, n),
        end=zeros(n, n),
        last_start=zeros(n, n),
        last_end=zeros(n, n),
        M=zeros(n, n),
        heavier=zeros(n, n),
        y=zeros(b, 3),
        e=zeros(b),
        twists=zeros(b, 6),
        turning=zeros(n, 6),
        blocks=zeros(4, b, 36),
        wrenches=zeros(3, b, 6),
    )
    part = Part(
        cones=records(m, ROBOT_CONE),
        contacts=contacts,
        of=np.zeros(m, np.int64),
        R=zeros(2, b, 9),
        x=zeros(2, b, 3),
        y=matrices.y,
        e=matrices.e,
        lam=zeros(m, 3),
        torques=zeros(m, 3),
        more=zeros(m, 3),
        more_torques=zeros(m, 3),
        twists=matrices.twists,
        reach=robot.reach,
        h=float(settings.dt),
    )
    modes = Modes(
        friction=zeros(m),
        spin=zeros(m),
        roll=zeros(m),
        slides=np.zeros((2, m), bool),
        spins=np.zeros((2, m), bool),
        rolls=np.zeros((2, m), bool),
        pushes=np.zeros(m, bool),
        creep=zeros(2, m),
        compliance=zeros(m),
        deepest=DEEPEST * settings.whole**2,
        impulse_compliance=zeros(m),
        lag=zeros(m),
        end_compliance=zeros(m),
        least=zeros(m),
        overlaps=np.zeros(m, bool),
        gaps=zeros(m),
        falls=zeros(2),
        turn=np.full(m, -1),
    )
    rows = Rows(
        values=zeros(m, VALUES),
        columns=zeros(2, m, 6, n),
        slopes=zeros(2, m, n, VALUES),
        kick=zeros(2, n, n),
        kick_end=zeros(2, n, n),
        moved=zeros(2, 6, 12),
        D=zeros(2, 2, 6, VALUES),
        path=np.zeros((n, 2), np.int64),
        total=zeros(n, 12),
    )
    return Work(
        matrices=matrices,
        part=part,
        modes=modes,
        rows=rows,
        S=zeros(2, n, 6),
        which=np.zeros(m, np.int64),
        impulses=zeros(m, 3),
        stops=zeros(e, 7),
        local=zeros(6, 3 * n + 6),
        D=zeros(e, n),
        N=zeros(e, n),
        G0=zeros(e, n),
        G1=zeros(e, n),
        W0=zeros(e, n),
        W1=zeros(e, n),
        K=zeros(3, e, 3),
        by_rates=zeros(n, e),
        T=zeros(e, n),
        square=zeros(2, e, e),
        scale=zeros(e),
        column=zeros(e),
        along=zeros(2 * n + e),
        X=zeros(n, 2 * n + e),
        changes=zeros(2, e, 2 * n + nu),
        damping=zeros(n),
        rates=zeros(n, 2 * n + nu),
    )
