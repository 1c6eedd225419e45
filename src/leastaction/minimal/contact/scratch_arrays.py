"""Scratch arrays of `Minimal`: intermediate poses, momentum phase, locked joints, prescribed motions, impacts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.records import records
from leastaction.minimal.contact.robot_records import IMPACT_STATE
from leastaction.step_control.substeps import RECORDED

FloatArray = NDArray[np.floating]


class Between(NamedTuple):
    """Bodies at an intermediate time of a step, and their displacements.

    Attributes:
        q: joint positions, shape (nq,); x: joint displacement from the start, shape (nv,).
        R, centres, S: rotations, centres of mass [m] and joint screws there, shapes (bodies, 9), (bodies, 3), (nv, 6).
        ways: displacements of centres of mass and rotations over the step, with the velocities of its start and end,
            shape (2, bodies, 6).
    """

    q: FloatArray
    x: FloatArray
    R: FloatArray
    centres: FloatArray
    S: FloatArray
    ways: FloatArray


class MomentumPhase(NamedTuple):
    """Scratch of `momentum_phase`.

    Attributes:
        total: impulses of the whole substep, shape (m,).
        active, compliance, soft: of the constraints in the position phase, see `Touch`, shape (cones,).
        w, diagonal: motions of the impulses in the position phase, and the diagonal of W, shape (m,).
        N, Y: generalised unit impulses, and the same reduced (`joint_momenta.reduce`), shape (m, nv).
        off, y: momenta, and the same reduced, shape (nv,).
        W: factors of M plus the implicit end damping, as `RobotData.W`, shape (nv, 8).
        count: of active impulses, shape (1,).
    """

    total: FloatArray
    active: NDArray[np.int64]
    compliance: FloatArray
    soft: FloatArray
    w: FloatArray
    diagonal: FloatArray
    N: FloatArray
    Y: FloatArray
    off: FloatArray
    y: FloatArray
    W: FloatArray
    count: NDArray[np.int64]


class LockedJoints(NamedTuple):
    """Dry friction of joints outside of the contact problem, see `solver.locked_joints`.

    Attributes:
        state: 1 for a sticking joint, 2 or -2 for a sliding one, with the sign of the impulse; 0 for no friction or
            friction in the contact problem; shape (nv,).
        impulse: of those outside of the contact problem [N s or N m s], shape (nv,).
        changes: number of changes of a state, shape (nv,).
        goals: `Goals`; None where no motion is prescribed.
    """

    state: FloatArray
    impulse: FloatArray
    changes: FloatArray
    goals: Any = None


class Goals(NamedTuple):
    """Prescribed motions in the current step, see `solver.prescribed_joints`.

    Attributes:
        dofs: prescribed degrees of freedom, shape (count,).
        whole: their displacements in the whole step, as a tangent vector, shape (nv,).
        rates: their velocities at its start and end, shape (2, nv).
        shift: their displacements in the current substep; rate: velocities at its end, shape (nv,).
        v: prescribed velocities v_g whose momenta are subtracted, shape (nv,); p: these momenta.
        moves: 1 where constraint velocities include v_g, 0 for changes of velocities, shape (1,).
        back: impulses of drives in an impact, shape (nv,).
        twists: scratch, shape (bodies, 6).
        work: of the drives since the start of the run [J], shape (1,).
    """

    dofs: NDArray[np.int64]
    whole: FloatArray
    rates: FloatArray
    shift: FloatArray
    rate: FloatArray
    v: FloatArray
    p: FloatArray
    moves: FloatArray
    back: FloatArray
    twists: FloatArray
    work: FloatArray


class Impacts(NamedTuple):
    """Waiting contacts and scratch of impacts, see `joint_impacts`.

    Attributes:
        now: one `IMPACT_STATE` record.
        waiting, struck: whether a contact waits for its impact, and whether it impacts now, shape (cones,).
        ends: shares of the step at which its substeps end, see `step_control.substeps.record_substep`.
        lam: impulses of the last step, shape (m,).
        dp, dv: momenta and velocities, shape (nv,).
    """

    now: Any
    waiting: NDArray[np.int64]
    struck: NDArray[np.int64]
    ends: FloatArray
    lam: FloatArray
    dp: FloatArray
    dv: FloatArray


def between_arrays(bodies: int, nq: int, nv: int) -> Between:
    """Arrays for a number of bodies, joint positions and velocities."""
    return Between(*map(np.zeros, (nq, nv, (bodies, 9), (bodies, 3), (nv, 6), (2, bodies, 6))))


def locked_joint_arrays(nv: int, bodies: int, dofs: NDArray[np.int64], always: bool) -> LockedJoints:
    """`LockedJoints` with only prescribed joints locked; `Goals` without any of these only with `always`."""
    goals = None
    if len(dofs) or always:
        whole, shift, rate, v, p, back = np.zeros((6, nv))
        moves, work = np.ones(1), np.zeros(1)
        goals = Goals(dofs, whole, np.zeros((2, nv)), shift, rate, v, p, moves, back, np.zeros((bodies, 6)), work)
    state, impulse, changes = np.zeros((3, nv))
    return LockedJoints(state, impulse, changes, goals)


def momentum_arrays(cones: int, nv: int, m: int) -> MomentumPhase:
    """Arrays for a number of constraints, velocities and impulses."""
    (N, Y), (off, y), (total, w, diagonal) = np.zeros((2, m, nv)), np.zeros((2, nv)), np.zeros((3, m))
    (compliance, soft), W = np.zeros((2, cones)), np.zeros((nv, 8))
    active, count = np.zeros(cones, np.int64), np.zeros(1, np.int64)
    return MomentumPhase(total, active, compliance, soft, w, diagonal, N, Y, off, y, W, count)


def impact_arrays(cones: int, nv: int, m: int) -> Impacts:
    """Arrays for a number of constraints, velocities and impulses."""
    (waiting, struck), (dp, dv) = np.zeros((2, cones), np.int64), np.zeros((2, nv))
    return Impacts(records(1, IMPACT_STATE), waiting, struck, np.zeros(RECORDED), np.zeros(m), dp, dv)
