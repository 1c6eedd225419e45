"""Bodies and joints of a compiled MuJoCo model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.formats._files import Notes
from leastaction.formats.mjcf._mjcf_text import limits
from leastaction.mechanism import Inertia, MechanismBuilder, Pose, Primitive, joints, solid_sphere
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.gravity_compensation import compensation

FREE, BALL, SLIDE, HINGE = range(4)
"""Values of mjtJoint."""

MOCAP_MASS, MOCAP_RADIUS = 1.0, 0.1
"""Of mocap bodies without mass [kg, m]."""


def pose(position: Any, quaternion: Any) -> Pose:
    """A pose from MuJoCo's arrays; its quaternions are scalar first, too."""
    return Pose(position.tolist(), quaternion.tolist())


def shift(position: Any) -> Pose:
    """A translation."""
    return Pose(position.tolist())


class Names:
    """Names of MuJoCo's objects, made up where there are none, never used twice."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._next: dict[str, int] = {}  # where the search for a free variant goes on

    def unique(self, name: str) -> str:
        """`name`, or a variant of it that is still free."""
        candidate, k = name, self._next.get(name, 2)
        while candidate in self.taken:
            candidate, k = f"{name}_{k}", k + 1
        self.taken.add(candidate)
        self._next[name] = k
        return candidate


class Bodies:
    """Adds bodies and joints to a builder.

    Attributes:
        bodies: our name of each MuJoCo body; the first is the world.
        coordinates: our coordinate name of each hinge or slide, by MuJoCo's joint number.
        balls: our joint name of each ball, by MuJoCo's joint number.
        joint_names: names in use for joints.
    """

    def __init__(
        self, model: Any, builder: MechanismBuilder, notes: Notes, composite: bool, mocap: bool = True
    ) -> None:
        self.m = model
        self.builder = builder
        self.notes = notes
        self.composite = composite
        self.mocap = mocap
        # Names that the file gives come first, made-up ones must avoid them.
        body_names, self.joint_names = Names(), Names()
        given = [model.body(i).name for i in range(model.nbody)]
        body_names.taken.update(given)
        self.body_names = body_names
        self.bodies = [WORLD] + [given[i] or body_names.unique(f"body{i}") for i in range(1, model.nbody)]
        self.joint_names.taken.update(model.joint(j).name for j in range(model.njnt))
        self.coordinates: dict[int, str] = {}
        self.balls: dict[int, str] = {}

    def read(self) -> None:
        """Add them all, and gravity."""
        m = self.m
        self.builder.gravity = tuple(m.opt.gravity.tolist())
        for medium in ("wind", "density", "viscosity"):
            if np.any(getattr(m.opt, medium)):
                self.notes.add("the surrounding medium", medium)
        for i in range(1, m.nbody):
            self._body(i)
        if self.mocap:  # last, so that q begins with qpos
            for i in np.flatnonzero(m.body_mocapid >= 0):
                self._mocap(int(i))

    def _body(self, i: int) -> None:
        m, name = self.m, self.bodies[i]
        inertia = Inertia(float(m.body_mass[i]), (0, 0, 0), m.body_inertia[i])
        self.builder.body(name, inertia=inertia.moved(pose(m.body_ipos[i], m.body_iquat[i])))
        self._gravity_compensation(i)
        parent = self.bodies[m.body_parentid[i]]
        X = pose(m.body_pos[i], m.body_quat[i])
        first = int(m.body_jntadr[i])
        numbers = range(first, first + int(m.body_jntnum[i]))
        if m.body_mocapid[i] >= 0 and self.mocap:
            return
        if not numbers:
            self.builder.fixed(self.joint_names.unique(f"{name}_fixed"), parent, name, pose=X)
        elif len(numbers) > 1 and self.composite and (together := self._together(numbers)):
            self._composite(numbers, together, parent, name, X)
        else:
            for j in numbers:
                joint = self._joint_name(j, name)
                last = j == numbers[-1]
                child = name if last else self.builder.body(self.body_names.unique(f"{name}_{joint}"))
                self._joint(j, joint, parent, child, X)
                parent, X = child, Pose()

    def _gravity_compensation(self, i: int) -> None:
        """A force against gravity at the centre of mass, a share of the weight; nothing pushes on mocap bodies."""
        m, share = self.m, float(self.m.body_gravcomp[i])
        if share * float(m.body_mass[i]) * np.any(m.opt.gravity) and m.body_mocapid[i] < 0:
            com, gravity = tuple(m.body_ipos[i].tolist()), tuple(m.opt.gravity.tolist())
            self.builder.add(compensation(self.bodies[i], float(m.body_mass[i]), com, share, gravity))

    def _mocap(self, i: int) -> None:
        """A body whose pose is given from outside: on a free joint, with a mass that only energies know."""
        m, name = self.m, self.bodies[i]
        if not (m.body_mass[i] > 0.0 and (m.body_inertia[i] > 0.0).all()):
            self.builder.set_inertia(name, solid_sphere(MOCAP_MASS, MOCAP_RADIUS))
        home = (*m.body_pos[i].tolist(), *m.body_quat[i].tolist())
        self.builder.free(name, name=self.joint_names.unique(f"{name}_mocap"), home=home)
        self.builder.prescribe(name)

    def _joint_name(self, j: int, body: str) -> str:
        ending = "free" if self.m.jnt_type[j] == FREE else "joint"
        return self.m.joint(j).name or self.joint_names.unique(f"{body}_{ending}")

    # ------------------------------------------------------------------ joints

    def _joint(self, j: int, name: str, parent: str, child: str, X: Pose) -> None:
        """One MuJoCo joint. The body turns about the anchor by q - ref: X T(p) exp(a q) exp(-a ref) T(-p)."""
        m = self.m
        type_, anchor = m.jnt_type[j], m.jnt_pos[j]
        primitive = self._primitive(j)
        options = self._properties([j], name)
        kind = {FREE: "free", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}[type_]
        if type_ in (SLIDE, HINGE):
            options["axis"] = primitive.axis
            self.coordinates[j] = name
        if type_ == BALL:
            self.balls[j] = name
        if type_ == FREE:
            # Its coordinates are the pose in the world.
            self.builder.joint(name, kind, parent, child, **options)
            return
        ref = float(m.qpos0[m.jnt_qposadr[j]]) if type_ in (SLIDE, HINGE) else 0.0
        if type_ == SLIDE:
            placement, back = X, shift(-ref * np.array(primitive.axis))
        else:
            turned_back = Pose.from_axis_angle(primitive.axis, -ref) if ref else Pose()
            placement, back = X * shift(anchor), turned_back * shift(-anchor)
        self.builder.joint(name, kind, parent, child, pose=placement, child_pose=back, **options)

    def _primitive(self, j: int) -> Primitive:
        type_, axis = self.m.jnt_type[j], tuple(self.m.jnt_axis[j].tolist())
        if type_ == FREE:
            return joints.free()
        if type_ == BALL:
            return joints.spherical()
        return joints.prismatic(axis) if type_ == SLIDE else joints.revolute(axis)

    def _together(self, numbers: range) -> tuple[list[Primitive], Pose, Pose] | None:
        """A body's joints in a row as one product of primitives in one frame, if all turn about one point.

        The refs' constant motions are moved behind the primitives, which turns the axes behind them. Given back are
        the primitives, their frame, and the pose of the body in the moved frame.
        """
        m, back = self.m, Pose()
        parts: list[Primitive] = []
        points, axes = [], []
        for j in numbers:
            type_, ref, anchor = m.jnt_type[j], float(m.qpos0[m.jnt_qposadr[j]]), m.jnt_pos[j]
            if type_ == BALL:
                if not np.allclose(back.rotation, np.eye(3), atol=1e-12):
                    return None  # its quaternion would be another
                parts.append(joints.spherical())
                points.append(back.apply(anchor))
                axes.append(None)
                continue
            given = np.array(self._primitive(j).axis)
            axis = tuple((back.rotation @ given).tolist()) if ref or back != Pose() else tuple(given.tolist())
            if type_ == SLIDE:
                parts.append(joints.prismatic(axis))
                back = back * shift(-ref * given) if ref else back
                continue
            parts.append(joints.revolute(axis))
            points.append(back.apply(anchor))
            axes.append(np.array(axis))
            if ref:
                back = back * shift(anchor) * Pose.from_axis_angle(tuple(given.tolist()), -ref) * shift(-anchor)
        meeting = _common_point(np.array(points).reshape(-1, 3), axes)
        return None if meeting is None else (parts, shift(meeting), shift(-meeting) * back)

    def _composite(
        self, numbers: range, together: tuple[list[Primitive], Pose, Pose], parent: str, body: str, X: Pose
    ) -> None:
        parts, frame, back = together
        name = self.joint_names.unique(body)
        motions = []
        for j in numbers:
            motions.append(self._joint_name(j, body))
            (self.balls if self.m.jnt_type[j] == BALL else self.coordinates)[j] = motions[-1]
        options = {"pose": X * frame, "child_pose": back, "motions": motions, **self._properties(numbers, name)}
        self.builder.joint(name, "composite", parent, body, parts=parts, **options)

    @property
    def force_ranges(self) -> dict[str, tuple[float, float]]:
        """Least and largest force of all actuators together on a hinge or slide, by our coordinate names [N m or N]."""
        limited = (j for j in self.coordinates if self.m.jnt_actfrclimited[j])
        return {self.coordinates[j]: limits(self.m.jnt_actfrcrange[j]) for j in limited}

    def _properties(self, numbers: Sequence[int], name: str) -> dict[str, Any]:
        """Limits and dynamics of joints in a row, one entry per degree of freedom."""
        m = self.m
        names = ("lower", "upper", "effort_limit", "stiffness", "damping", "friction", "armature")
        values: dict[str, list[float]] = {key: [] for key in (*names, "rest", "home")}
        for j in numbers:
            nv = {FREE: 6, BALL: 3}.get(int(m.jnt_type[j]), 1)
            nq = {FREE: 7, BALL: 4}.get(int(m.jnt_type[j]), 1)
            v, q = m.jnt_dofadr[j], m.jnt_qposadr[j]
            low, high = limits(m.jnt_range[j]) if m.jnt_limited[j] else (-np.inf, np.inf)
            if nv > 1 and m.jnt_limited[j]:
                self.notes.add("limits of ball joints", name)
                low, high = -np.inf, np.inf
            effort = float(np.abs(m.jnt_actfrcrange[j]).max()) if m.jnt_actfrclimited[j] else np.inf
            stiffness = float(m.jnt_stiffness[j])
            for key, value in zip(names[:4], (low, high, effort, stiffness), strict=True):
                values[key] += [float(value)] * nv
            # MuJoCo has the same value for all axes of a joint, so their order does not matter.
            damping = m.dof_damping[v : v + nv]
            if (damping < 0.0).any() and not self.builder.strict:
                self.notes.add("dampers that would drive their joints (negative damping)", name)
                damping = np.maximum(damping, 0.0)
            values["damping"] += damping.tolist()
            values["friction"] += m.dof_frictionloss[v : v + nv].tolist()
            values["armature"] += m.dof_armature[v : v + nv].tolist()
            values["rest"] += m.qpos_spring[q : q + nq].tolist()
            values["home"] += m.qpos0[q : q + nq].tolist()
            for array, index in (("jnt_stiffnesspoly", j), ("dof_dampingpoly", v)):
                if np.any(getattr(m, array, np.zeros((index + 1, 1)))[index]):
                    self.notes.add("nonlinear stiffness and damping of joints", name)
        if not any(values["stiffness"]):
            del values["rest"]
        return values


def _common_point(points: Any, axes: list[Any]) -> Any:
    """The point nearest to the first that lies on all axes (None: a point, not an axis); None if there is none."""
    if len(points) == 0:
        return np.zeros(3)
    x = points[0]
    if np.any(points != x):
        across = [np.eye(3) if a is None else np.eye(3) - np.outer(a, a) for a in axes]
        rows, sides = np.concatenate(across), np.concatenate([P @ (p - x) for P, p in zip(across, points, strict=True)])
        x = x + np.linalg.lstsq(rows, sides, rcond=1e-9)[0]
        size = 1e-12 * max(1.0, float(np.abs(points).max()))
        if any(np.abs(P @ (p - x)).max() > size for P, p in zip(across, points, strict=True)):
            return None
    return x
