"""The feedback of servos: a spring and a damper of the joint that each of them drives.

A servo exerts gear (gain u - kp (gear x - rest) - kv gear dx/dt). The part with u is a drive like any other; the rest
is a spring of stiffness gear^2 kp, with a rest position, and a damper gear^2 kv, so every formulation knows it. Those
that take springs explicitly are told what stiffness is a servo's (`servo` of `tree.DOF`), and take that implicitly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism.actuators import Servo
from leastaction.mechanism.joints import Joint, Motion
from leastaction.mechanism.muscles import Muscle
from leastaction.mechanism.tendons import drives_tendon, has_range

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism

FloatArray = NDArray[np.float64]


class Feedback(NamedTuple):
    """What servos do at each degree of freedom: -stiffness x + pull - damping dx/dt; arrays of shape (nv,)."""

    stiffness: FloatArray
    damping: FloatArray
    pull: FloatArray


def servos(mechanism: Mechanism) -> list[Servo]:
    """The servos of joints among the actuators; those with force ranges and those of tendons are forces of tendons."""
    own = [a for a in mechanism.actuators if isinstance(a, Servo)]
    return [a for a in own if not has_range(a) and not drives_tendon(mechanism, a)]


def feedback(mechanism: Mechanism) -> Feedback:
    """The feedback of all servos."""
    out = Feedback(*np.zeros((3, mechanism.nv)))
    for servo in servos(mechanism):
        k = mechanism.velocity_index(servo.coordinate)
        out.stiffness[k] += servo.gear**2 * servo.kp
        out.damping[k] += servo.gear**2 * servo.kv
        out.pull[k] += servo.gear * servo.kp * servo.rest
    return out


def check_servos(mechanism: Mechanism) -> None:
    """Refuse servos and muscles of ball and free joints, which have no one position."""
    axes = [group.iv for group in mechanism.coordinate_groups if group.nv == 1]
    for servo in (a for a in mechanism.actuators if isinstance(a, Servo | Muscle) and not drives_tendon(mechanism, a)):
        if mechanism.velocity_index(servo.coordinate) not in axes:
            what = type(servo).__name__.lower()
            raise MechanismError(
                f"{what} {servo.name!r}: {servo.coordinate!r} is part of a ball or free joint; {what}s drive joints "
                "with one axis"
            )


def driven_joints(mechanism: Mechanism) -> tuple[Joint, ...]:
    """The tree joints with the feedback of their servos among their springs and dampers."""
    if not servos(mechanism):
        return mechanism.joints
    back, out, iv = feedback(mechanism), [], 0
    for joint in mechanism.joints:
        own = slice(iv, iv + joint.nv)
        iv += joint.nv
        if not (back.stiffness[own].any() or back.damping[own].any()):
            out.append(joint)
            continue
        stiffness = np.array(joint.stiffness) + back.stiffness[own]
        changes: dict[str, Any] = {
            "stiffness": tuple(stiffness.tolist()),
            "damping": tuple((np.array(joint.damping) + back.damping[own]).tolist()),
            "rest": _rest(joint, stiffness, back.pull[own]),
        }
        out.append(replace(joint, **changes))
    return tuple(out)


def _rest(joint: Joint, stiffness: FloatArray, pull: FloatArray) -> tuple[float, ...]:
    """Where the joint's own springs and those of servos hold each other."""
    rest, iq, iv = list(joint.rest), 0, 0
    for p in joint.primitives:
        if p.motion not in (Motion.SPHERICAL, Motion.FREE):
            for j in range(p.nv):
                if stiffness[iv + j] > joint.stiffness[iv + j]:
                    own = joint.stiffness[iv + j] * rest[iq + j]
                    rest[iq + j] = float((own + pull[iv + j]) / stiffness[iv + j])
        iq, iv = iq + p.nq, iv + p.nv
    return tuple(rest)


class FeedbackSprings(NamedTuple):
    """Springs that `driven_joints` have and the joints have not: places in q, and for both stiffness and rest, (k,)."""

    at: NDArray[np.int64]
    driven: FloatArray
    driven_rest: FloatArray
    own: FloatArray
    own_rest: FloatArray

    def energy(self, Q: FloatArray) -> FloatArray:
        """What they store more than those of the joints [J], for rows of q, shape (rows,)."""
        X = Q[:, self.at]
        more = self.driven * (X - self.driven_rest) ** 2 - self.own * (X - self.own_rest) ** 2
        return np.asarray(0.5 * more.sum(axis=1), float)


def feedback_springs(mechanism: Mechanism) -> FeedbackSprings:
    """The springs of servos."""
    found, first = [], 0
    for joint, driven in zip(mechanism.joints, mechanism.driven_joints, strict=True):
        iq = iv = 0
        for p in joint.primitives:
            if p.motion not in (Motion.SPHERICAL, Motion.FREE):
                for j in range(p.nv):
                    both = [(of.stiffness[iv + j], of.rest[iq + j]) for of in (driven, joint)]
                    if both[0] != both[1]:
                        found.append((first + iq + j, *both[0], *both[1]))
            iq, iv = iq + p.nq, iv + p.nv
        first += joint.nq
    table = np.array(found, float).reshape(-1, 5).T
    return FeedbackSprings(table[0].astype(np.int64), *table[1:])


def feedback_energy(mechanism: Mechanism, Q: FloatArray) -> FloatArray | float:
    """What the springs of `driven_joints` store more than those of the joints [J], for rows of q, shape (rows,)."""
    return feedback_springs(mechanism).energy(Q) if servos(mechanism) else 0.0
