"""The feedback of servos: a spring and a damper of the joint that each of them drives.

A servo exerts gear (gain u - kp (gear x - rest) - kv gear dx/dt). The part with u is a drive like any other; the rest
is a spring of stiffness gear^2 kp, with a rest position, and a damper gear^2 kv, so every formulation knows it. Those
that take springs explicitly know what stiffness is a servo's (`servo` of `tree.DOF`), and take that implicitly.

Servos of a ball joint see gear times one component of its rotation vector phi, and turn about that axis of the child.
Together they turn by -K phi, K diagonal. With k about every axis that is the spring of a ball joint, of energy
k |phi|^2 / 2; any other K has no energy (a closed path gives or takes work), and is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism.configuration import rotation_vectors
from leastaction.mechanism.drives.actuators import Servo
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.drives.tendons import drives_tendon, has_range
from leastaction.mechanism.joints import Joint, Motion
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


class Feedback(NamedTuple):
    """What servos do at each degree of freedom: -(stiffness + turning) x + pull - damping dx/dt; arrays of shape (nv,).

    Attributes:
        stiffness: of joints with one axis.
        damping: of all joints.
        pull: of joints with one axis.
        turning: of ball joints, x being a component of the rotation vector.
    """

    stiffness: FloatArray
    damping: FloatArray
    pull: FloatArray
    turning: FloatArray


def servos(mechanism: Mechanism) -> list[Servo]:
    """The servos of joints among the actuators; those with force ranges and those of tendons are forces of tendons."""
    own = [a for a in mechanism.actuators if isinstance(a, Servo)]
    return [a for a in own if not has_range(a) and not drives_tendon(mechanism, a)]


def feedback(mechanism: Mechanism) -> Feedback:
    """The feedback of all servos."""
    out = Feedback(*np.zeros((4, mechanism.nv)))
    balls = {iv for first in _balls(mechanism) for iv in range(first, first + 3)}
    for servo in servos(mechanism):
        k = mechanism.velocity_index(servo.coordinate)
        (out.turning if k in balls else out.stiffness)[k] += servo.gear**2 * servo.kp
        out.damping[k] += servo.gear**2 * servo.kv
        out.pull[k] += servo.gear * servo.kp * servo.rest
    return out


def _balls(mechanism: Mechanism) -> dict[int, int]:
    """First degrees of freedom of the ball joints, and the first of their coordinates."""
    return {group.iv: group.iq for group in mechanism.coordinate_groups if group.kind == Motion.SPHERICAL}


def check_servos(mechanism: Mechanism) -> None:
    """Refuse servos and muscles of what has no position along one axis, and those of balls that are no spring."""
    axes = [group.iv for group in mechanism.coordinate_groups if group.nv == 1]
    balls = [iv + c for iv in _balls(mechanism) for c in range(3)]
    for servo in (a for a in mechanism.actuators if isinstance(a, Servo | Muscle) and not drives_tendon(mechanism, a)):
        k, what = mechanism.velocity_index(servo.coordinate), type(servo).__name__.lower()
        if k in axes:
            continue
        if isinstance(servo, Muscle) or k not in balls:
            raise MechanismError(
                f"{what} {servo.name!r}: {servo.coordinate!r} is part of a ball or free joint; {what}s drive joints "
                f"with one axis{'' if isinstance(servo, Muscle) else ', and servos ball joints'}"
            )
        if servo.rest or servo.force_limits is not None:
            raise MechanismError(f"servo {servo.name!r} of a ball joint: neither a rest position nor force limits")
    _check_balls(mechanism)


def _check_balls(mechanism: Mechanism) -> None:
    """Refuse feedback of ball joints that has no energy: see the head of this file."""
    turning = feedback(mechanism).turning
    iv = 0
    for joint in mechanism.joints:
        first, nv, iq = iv, 0, 0
        for p in joint.primitives:
            k, own = turning[first + nv :][: p.nv], joint.stiffness[nv : nv + p.nv]
            if p.motion == Motion.SPHERICAL and k.any():
                if not np.allclose(k, k[0], rtol=1e-9, atol=0.0):
                    raise MechanismError(
                        f"joint {joint.name!r}: servos of a ball joint need the same gear^2 kp about all its axes, got "
                        f"{', '.join(f'{x:g}' for x in k)}"
                    )
                if any(own) and any(joint.rest[iq + 1 : iq + 4]):
                    raise MechanismError(f"joint {joint.name!r}: servos pull to zero, and its own springs elsewhere")
            nv, iq = nv + p.nv, iq + p.nq
        iv += joint.nv


def driven_joints(mechanism: Mechanism) -> tuple[Joint, ...]:
    """The tree joints with the feedback of their servos among their springs and dampers."""
    if not servos(mechanism):
        return mechanism.joints
    back, out, iv = feedback(mechanism), [], 0
    for joint in mechanism.joints:
        own = slice(iv, iv + joint.nv)
        iv += joint.nv
        if not any(x[own].any() for x in (back.stiffness, back.damping, back.turning)):
            out.append(joint)
            continue
        stiffness = np.array(joint.stiffness) + back.stiffness[own] + back.turning[own]
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
        elif p.motion == Motion.SPHERICAL and stiffness[iv] > joint.stiffness[iv]:
            rest[iq : iq + 4] = [1.0, 0.0, 0.0, 0.0]
        iq, iv = iq + p.nq, iv + p.nv
    return tuple(rest)


class FeedbackSprings(NamedTuple):
    """Springs that `driven_joints` have and the joints have not.

    Attributes:
        at: places in q of the joints with one axis, and for both kinds of joints stiffness and rest, shape (k,).
        balls: place in q of each ball joint, and how much stiffer servos make it.
    """

    at: NDArray[np.int64]
    driven: FloatArray
    driven_rest: FloatArray
    own: FloatArray
    own_rest: FloatArray
    balls: tuple[tuple[int, float], ...]

    def energy(self, Q: FloatArray) -> FloatArray:
        """What they store more than those of the joints [J], for rows of q, shape (rows,)."""
        X = Q[:, self.at]
        more = self.driven * (X - self.driven_rest) ** 2 - self.own * (X - self.own_rest) ** 2
        energy = np.asarray(0.5 * more.sum(axis=1), float)
        for iq, stiffness in self.balls:
            energy = energy + 0.5 * stiffness * (rotation_vectors(Q[:, iq : iq + 4]) ** 2).sum(axis=1)
        return energy


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
    turning = feedback(mechanism).turning
    balls = tuple((iq, float(turning[iv])) for iv, iq in _balls(mechanism).items() if turning[iv])
    return FeedbackSprings(table[0].astype(np.int64), table[1], table[2], table[3], table[4], balls)


def feedback_energy(mechanism: Mechanism, Q: FloatArray) -> FloatArray | float:
    """What the springs of `driven_joints` store more than those of the joints [J], for rows of q, shape (rows,)."""
    return feedback_springs(mechanism).energy(Q) if servos(mechanism) else 0.0
