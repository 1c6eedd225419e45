"""The joints of an MJCF body: its tree joint, and those of the massless bodies before it.

MuJoCo moves a body by X prod_k T(p_k) exp(a_k (q_k - ref_k)) T(-p_k), with axes a_k and anchors p_k in the body's frame
at q = ref. A joint here is pose prod_k exp(b_k q_k) child_pose. So X is the pose of the body at q = ref, and a_k, p_k
are the axis and the origin of primitive k seen from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leastaction.errors import FormatError
from leastaction.mechanism import Inertia, Joint, Mechanism, Pose, Primitive
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.joints import Motion

KNOWN = (Motion.REVOLUTE, Motion.PRISMATIC, Motion.SPHERICAL, Motion.FREE)


@dataclass
class Axis:
    """One MuJoCo joint.

    Attributes:
        joint: that it is part of.
        primitive: its motion.
        name: in the file.
        iq, iv: its first coordinate and degree of freedom within `joint`.
        ref: position in the file's pose, of a hinge or slide.
        direction, anchor: in the body's frame.
    """

    joint: Joint
    primitive: Primitive
    name: str
    iq: int
    iv: int
    ref: float = 0.0
    direction: tuple[float, ...] = (0.0, 0.0, 1.0)
    anchor: tuple[float, ...] = (0.0, 0.0, 0.0)

    def value(self, name: str) -> tuple[float, ...]:
        """A property of its degrees of freedom."""
        return getattr(self.joint, name)[self.iv : self.iv + self.primitive.nv]

    @property
    def rest(self) -> tuple[float, ...]:
        """Where its spring rests."""
        return self.joint.rest[self.iq : self.iq + self.primitive.nq]

    @property
    def home(self) -> tuple[float, ...]:
        """Where it starts."""
        return self.joint.home[self.iq : self.iq + self.primitive.nq]

    @property
    def started(self) -> tuple[float, ...]:
        """Its coordinates in the file's pose."""
        if self.primitive.motion == Motion.SPHERICAL:
            return 1.0, 0.0, 0.0, 0.0
        return self.home if self.primitive.motion == Motion.FREE else (self.ref,)

    def turned(self) -> Pose:
        """Its motion in the file's pose."""
        if not self.ref:
            return Pose()
        if self.primitive.motion == Motion.REVOLUTE:
            return Pose.from_axis_angle(self.primitive.axis, self.ref)
        return Pose(tuple((self.ref * np.array(self.primitive.axis)).tolist()))


class Chain(NamedTuple):
    """Where a body sits in the file's pose, and the joints that move it."""

    parent: str
    pose: Pose
    axes: list[Axis]


class Chains:
    """The MuJoCo joints of all bodies.

    Attributes:
        absorbed: massless bodies in a row of joints, which MJCF does without.
        axes: joints of the file by names of degrees of freedom, with the number of the degree within the joint.
        shift: pose of each body's frame in the frame that the file has for it.
    """

    def __init__(self, robot: Mechanism, error: Callable[[str, str, str], FormatError]) -> None:
        self.robot = robot
        self.error = error
        self.carrier = dict(zip(robot.body_names, robot.joints, strict=True))
        self.absorbed = self._absorbed()
        self.axes: dict[str, tuple[Axis, int]] = {}
        self.shift = {WORLD: Pose()}
        self._chains = {name: self._chain(name) for name in robot.body_names if name not in self.absorbed}

    def of(self, body: str) -> Chain:
        """That of one body."""
        return self._chains[body]

    def all_axes(self) -> list[Axis]:
        """All joints of the file, in the order of q."""
        return [axis for chain in self._chains.values() for axis in chain.axes]

    def _absorbed(self) -> set[str]:
        robot = self.robot
        ends = [a for s in robot.springs for a in (s.start, s.end)] + [a for c in robot.cables for a in c.via]
        used = {a.body for a in ends} | {b for pair in robot.excluded_contacts for b in pair}
        used |= {x.body for kind in (robot.contacts, robot.frames) for x in kind}
        used |= {getattr(a, "body", "") for a in robot.actuators} | {s.target for s in robot.sensors}
        used |= {s.reference for s in robot.sensors} | {b for loop in robot.loops for b in (loop.parent, loop.child)}
        found = set()
        for body, joint in zip(robot.bodies, robot.joints, strict=True):
            carried = [j for j in robot.joints if j.parent == body.name]
            row = len(carried) == 1 and joint.nv and carried[0].nv and Motion.FREE not in _motions(joint, carried[0])
            if row and body.inertia == Inertia() and not body.shapes and body.name not in used:
                found.add(body.name)
        return found

    def _chain(self, body: str) -> Chain:
        row = [self.carrier[body]]
        while row[0].parent in self.absorbed:
            row.insert(0, self.carrier[row[0].parent])
        axes = [axis for joint in row for axis in self._axes(joint)]
        motions = [axis.primitive.motion for axis in axes]
        balls = [k for k, motion in enumerate(motions) if motion == Motion.SPHERICAL]
        if balls and set(motions[balls[0] + 1 :]) - {Motion.PRISMATIC}:
            raise self.error("joint", axes[balls[0]].name, "that a ball is followed by another turn")
        for axis in axes:
            if axis.primitive.nq == 1:
                axis.ref = axis.home[0]
        parent = row[0].parent
        if Motion.FREE in motions:
            return self._free(body, row, axes)
        tails = self._tails(row, axes)
        whole = self._product(row, axes)
        # The frame in which a ball's quaternion is written is that of the body.
        shift = Pose(quaternion=tails[balls[-1]].quaternion) if balls else Pose()
        self.shift[body] = shift
        back = shift.inverse() if not shift.is_identity else shift
        for axis, tail in zip(axes, tails, strict=True):
            seen = (tail * back).inverse()
            turned = seen.quaternion != (1.0, 0.0, 0.0, 0.0)
            if turned:
                axis.direction = tuple((seen.rotation @ np.array(axis.primitive.axis)).tolist())
            axis.anchor = seen.position
        return Chain(parent, self.shift[parent] * whole * back, axes)

    def _free(self, body: str, row: list[Joint], axes: list[Axis]) -> Chain:
        joint = row[0]
        if len(axes) > 1 or joint.parent != WORLD or not joint.pose.is_identity:
            raise self.error("joint", joint.name, "that a free joint starts elsewhere than from the world's frame")
        self.shift[body] = joint.child_pose
        return Chain(WORLD, Pose(joint.home[:3], joint.home[3:]), axes)

    def _axes(self, joint: Joint) -> list[Axis]:
        axes, iq, iv = [], 0, 0
        names = joint.velocity_names()
        for k, primitive in enumerate(joint.primitives):
            if primitive.motion not in KNOWN:
                raise self.error("joint", joint.name, f"that a joint is {joint.kind}")
            whole = primitive.motion in (Motion.SPHERICAL, Motion.FREE)
            name = (joint.motions[k] if joint.motions else joint.name) if whole else names[iv]
            axes.append(Axis(joint, primitive, name, iq, iv, direction=primitive.axis))
            self.axes |= {names[iv + j]: (axes[-1], j) for j in range(primitive.nv)}
            iq, iv = iq + primitive.nq, iv + primitive.nv
        return axes

    def _product(self, row: list[Joint], axes: list[Axis]) -> Pose:
        """Pose of the body in its parent's frame in the file's pose."""
        whole = Pose()
        for joint in row:
            whole = whole * joint.pose
            for axis in axes:
                whole = whole * axis.turned() if axis.joint is joint else whole
            whole = whole * joint.child_pose
        return whole

    def _tails(self, row: list[Joint], axes: list[Axis]) -> list[Pose]:
        """For each joint of the file the pose of the body in the frame in which its axis is given."""
        tails, tail = [], Pose()
        for joint in reversed(row):
            tail = joint.child_pose * tail
            for axis in reversed([axis for axis in axes if axis.joint is joint]):
                tail = axis.turned() * tail
                tails.insert(0, tail)
            tail = joint.pose * tail
        return tails


def _motions(*joints: Joint) -> list[Motion]:
    return [p.motion for joint in joints for p in joint.primitives]
