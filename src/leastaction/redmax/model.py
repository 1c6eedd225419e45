"""`Reduced`: a mechanism as the flat arrays that the kernels of this package read."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError
from leastaction.forces.user import user_arrays
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import COUPLING
from leastaction.mechanism.elements import JointActuator
from leastaction.mechanism.joints import SPLINES, Motion
from leastaction.mechanism.pose import Pose, quaternion_of_matrix
from leastaction.mechanism.tree import DOF, DRIVE, NODE_POINT, PROPERTIES, Span, Tree
from leastaction.redmax.coordinates.charts import AXES, BALL, XYZ
from leastaction.redmax.coordinates.expansion import SEGMENT, expand, segments, surface_polynomials
from leastaction.redmax.coordinates.lift import BLOCK

FloatArray = NDArray[np.float64]

RATE = np.dtype([("P1", "f8", 6), ("X", "f8", 6), ("Y", "f8", 6)], align=True)
"""Per degree of freedom: v_parent x S, and its partners in the Newton matrix."""


def records(count: int, dtype: np.dtype) -> Any:
    """Zeroed records."""
    return np.zeros(count, dtype).view(np.recarray)


class Reduced:
    """A mechanism in reduced coordinates r with nodes of one axis each; not for two threads at once.

    Attributes:
        mechanism: the robot.
        tree: its nodes after expansion, see `expansion`; a copy of its own, since charts rewrite placements.
        nr: number of reduced coordinates: nv, for balls the angles of a chart.
        plain: (reduced coordinate, coordinate, degree of freedom) of the nodes that are copied, shape (count, 3).
        blocks: `lift.BLOCK` records of splines and of balls in exponential coordinates.
        balls: `charts.BALL` records of balls in Euler angles.
        coords: `DOF` records of the reduced coordinates of splines; zero for others.
        drives: `DRIVE` records, nu of them.
        index_q, index_v: for each reduced coordinate its entry in the mechanism's q and v; -1 for balls.
    """

    def __init__(self, mechanism: Mechanism, *, exponential: bool = False, forces: tuple[Any, ...] = ()) -> None:
        self.mechanism = mechanism
        self.exponential = exponential
        self.tree = t = Tree.compile(mechanism, expand=partial(expand, exponential=exponential))
        self.nr = mechanism.nv
        plain: list[tuple[int, int, int]] = []
        self._balls: list[dict[str, Any]] = []
        self._blocks: list[dict[str, Any]] = []
        self._tables: list[Any] = []
        self._polynomials: list[FloatArray] = []
        self.index_q = np.full(self.nr, -1)
        self.index_v = np.full(self.nr, -1)
        self.coords = records(self.nr, DOF)
        self._drive_of: dict[int, dict[str, Any]] = {}
        for span in t.spans:
            plain += self._span(span)
        self.plain = np.array(plain, np.int64).reshape(-1, 3)
        self.balls = _filled(self._balls, BALL)
        self.blocks = _filled(self._blocks, BLOCK)
        self.table = np.concatenate(self._tables).view(np.recarray) if self._tables else records(0, SEGMENT)
        self.polynomials = np.concatenate([np.zeros((0, 4, 4)), *self._polynomials])
        self.drives = self._drives()
        self.user = user_arrays(forces, t.bodies, mechanism.body_index, NODE_POINT)
        self._number_couplings(plain)

    # ------------------------------------------------------------------ compiling

    def _span(self, span: Span) -> list[tuple[int, int, int]]:
        """Note one primitive; gives back its plain coordinates. Reduced coordinates are numbered as v."""
        motion, ir = span.primitive.motion, span.iv
        iq = int(self.tree.nodes[span.first].iq)
        if motion in SPLINES:
            self._spline(span, ir, iq)
            return []
        if motion == Motion.WELD:
            return []
        if motion not in (Motion.SPHERICAL, Motion.FREE):
            self.index_q[ir], self.index_v[ir] = span.iq, span.iv
            self._drive_of[span.iv] = {"dof": ir}
            return [(ir, iq, span.iy)]
        shifts = 3 if motion == Motion.FREE else 0
        first, weld = span.first + shifts, span.first + span.count - 1
        other = int(self.tree.nodes[span.first].parent)
        self._refuse_armature(span, shifts)
        for j in range(span.primitive.nv):
            wrench = np.zeros(6)
            wrench[j] = 1.0
            self._drive_of[span.iv + j] = {"dof": -1, "node": weld, "other": other, "wrench": wrench}
        for j in range(shifts):
            dof = self.tree.dofs[span.iy + j]
            for name in PROPERTIES:
                dof[name] = getattr(span.joint, name)[span.offset + 3 + j]
            dof.rest = self.tree.rest[iq + j] = span.joint.rest[span.offset + j]
        # Shifts come first in r, turns behind them.
        start, where = ir + shifts, self._rest_of(span) + shifts
        ball = {
            "node": first,
            "child": weld,
            "ir": start,
            "shift": ir if shifts else -1,
            "iq": span.iq + shifts,
            "iv": span.iv,
            "other": int(self.tree.nodes[first].parent),
            "stiffness": span.joint.stiffness[span.offset : span.offset + 3],
            "damping": span.joint.damping[span.offset : span.offset + 3],
            "rest": span.joint.rest[where : where + 4],
        }
        copied = [(ir + j, iq + j, span.iy + j) for j in range(shifts)]
        if self.exponential:
            self._exponential_ball(span, ball, iq + shifts, span.iy + shifts)
            return copied
        A = _axis_matrix(AXES[XYZ][0])
        ball |= {"chart": XYZ, "base": (self.tree.nodes[first].Rt.reshape(3, 3) @ A.T).ravel()}
        self._balls.append(ball)
        return [*copied, *((start + j, iq + shifts + j, span.iy + shifts + j) for j in range(3))]

    @staticmethod
    def _rest_of(span: Span) -> int:
        """Where the rest position of a primitive starts in its joint's."""
        k = 0
        for p, _ in span.joint.by_primitive(span.joint.stiffness):
            if p is span.primitive:
                break
            k += p.nq
        return k

    def _exponential_ball(self, span: Span, ball: dict[str, Any], iq: int, iv: int) -> None:
        self._blocks.append(
            {
                "kind": int(Motion.SPHERICAL),
                "ir": ball["ir"],
                "nr": 3,
                "iq": iq,
                "iv": iv,
                "nv": 3,
                "node": ball["node"],
                "segment": -1,
            }
        )
        # Springs and dampers act as torques between the two bodies, as for balls in Euler angles.
        self.tree.dofs.stiffness[iv : iv + 3] = self.tree.dofs.damping[iv : iv + 3] = 0.0
        self._balls.append(ball | {"chart": -1, "base": self.tree.nodes[ball["node"]].Rt})

    def _refuse_armature(self, span: Span, shifts: int) -> None:
        if any(span.joint.armature[span.offset : span.offset + 3]):
            raise IntegratorError(f"joint {span.joint.name!r}: a ball with a drive inertia; use leastaction.Galerkin")

    def _spline(self, span: Span, ir: int, iq: int) -> None:
        p, node = span.primitive, self.tree.nodes[span.first]
        block = {
            "kind": int(p.motion),
            "ir": ir,
            "nr": p.nv,
            "iq": iq,
            "iv": span.iy,
            "node": span.first,
            "segment": -1,
        }
        if p.motion == Motion.SPLINE_CURVE:
            base = Pose(tuple(node.pt), quaternion_of_matrix(node.Rt.reshape(3, 3)))
            first = sum(len(x) for x in self._tables)
            self._tables.append(segments(p.frames, base))
            block |= {"nv": 3, "table": first, "count": len(p.frames)}
        else:
            first = sum(len(x) for x in self._polynomials)
            self._polynomials.append(surface_polynomials(p.controls))
            block |= {"nv": 6, "table": first, "count": 6}
        self._blocks.append(block)
        where = self._rest_of(span)
        for j in range(p.nv):
            self.index_q[ir + j], self.index_v[ir + j] = span.iq + j, span.iv + j
            self._drive_of[span.iv + j] = {"dof": ir + j}
            coord = self.coords[ir + j]
            for name in PROPERTIES:
                coord[name] = getattr(span.joint, name)[span.offset + j]
            coord.rest = span.joint.rest[where + j]

    def _drives(self) -> Any:
        m = self.mechanism
        if not m.actuators:
            return _filled([{"gear": 1.0} | self._drive_of[k] for k in range(m.nv)], DRIVE)
        rows: list[dict[str, Any]] = []
        for a in m.actuators:
            if isinstance(a, JointActuator):
                drive = dict(self._drive_of[m.velocity_index(a.coordinate)])
                if "wrench" in drive:
                    drive["wrench"] = a.gear * drive["wrench"]
                rows.append(drive | {"gear": a.gear})
                continue
            frame = self.tree.bodies[m.body_index(a.body)]
            R = frame.R.reshape(3, 3)
            force = R @ np.array(a.wrench[3:])
            torque = R @ np.array(a.wrench[:3]) + np.cross(frame.p, force)
            wrench = np.concatenate([torque, force])
            rows.append({"dof": -1, "node": int(frame.node), "other": -1, "wrench": wrench})
        return _filled(rows, DRIVE)

    def _number_couplings(self, plain: list[tuple[int, int, int]]) -> None:
        """Couplings know their coordinates by the mechanism's v: number them as the nodes'."""
        node_of = {ir: iv for ir, _, iv in plain}
        rows = self.tree.closure.rows
        for k in np.flatnonzero(rows.kind == COUPLING):
            for name in ("follower", "leader"):
                if int(rows[k][name]) not in node_of:
                    raise IntegratorError(
                        f"coupling {self.tree.closure.names[k]!r}: splines cannot be coupled; use hinges and sliders"
                    )
                rows[k][name] = node_of[int(rows[k][name])]

    # ------------------------------------------------------------------ what kernels get

    @property
    def identical(self) -> bool:
        """Whether r, rd are the mechanism's q, v."""
        return len(self.balls) == 0

    def model(self) -> tuple[Any, ...]:
        """Arrays of the mechanism: see `residual.residual`."""
        t = self.tree
        lifting = (self.plain, self.blocks, self.table, self.polynomials)
        forces = (t.rest, t.paths, t.points, t.wrenches, t.penalties, self.balls, self.drives, self.coords, self.user)
        return t.nodes, t.dofs, t.gravity, lifting, forces

    def workspace(self) -> tuple[Any, ...]:
        """Scratch of the recursions."""
        t = self.tree
        n, nv = len(t.nodes), t.nv
        links, screws = records(n, LINK), records(nv, JOINT_SCREW)
        rates, B = records(nv, RATE), np.zeros((n, 6, 6))
        nodal = (np.zeros(t.nq), np.zeros(nv), np.zeros(nv), np.zeros(nv))
        wrenches = (np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((n, 6)))
        return links, screws, rates, B, nodal, wrenches


def _filled(rows: list[dict[str, Any]], dtype: np.dtype) -> Any:
    out = records(len(rows), dtype)
    for record, values in zip(out, rows, strict=True):
        for name, value in values.items():
            record[name] = value
    return out


def _axis_matrix(k: int) -> FloatArray:
    """Rotation whose third column is the coordinate axis k, as in `charts.axis_frame`."""
    return np.roll(np.eye(3), k + 1, axis=0) if k < 2 else np.eye(3)
