"""`ReducedCoordinates`: the joints of a mechanism as nodes of one axis each, and the coordinates r that move them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.batched_call import BatchedCall
from leastaction._jit.bound import Bound
from leastaction.errors import IntegratorError
from leastaction.kinematics.reduced.arrays import (
    BALL_CHART,
    LIFT,
    LIFT_BLOCK,
    SPLINE_SEGMENT,
    CoordinateData,
    CoordinateModel,
    filled,
    records,
)
from leastaction.kinematics.reduced.charts import AXES, XYZ
from leastaction.kinematics.reduced.expansion import expand, segments, surface_polynomials
from leastaction.kinematics.reduced.first_charts import first_charts
from leastaction.kinematics.reduced.native import from_public, to_public
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import robot
from leastaction.mechanism.closure import COUPLING
from leastaction.mechanism.joints import SPLINES, Motion
from leastaction.mechanism.pose import Pose, quaternion_of_matrix
from leastaction.mechanism.tree import PROPERTIES, Span, Tree
from leastaction.typing import FloatArray


class ReducedCoordinates:
    """A mechanism in reduced coordinates r with nodes of one axis each. Read only: any number of robots share it.

    Attributes:
        mechanism: the robot.
        exponential: whether balls are in exponential coordinates, not in Euler angles.
        tree: its nodes after expansion, see `expansion`; balls in the chart XYZ.
        nr: number of reduced coordinates: nv, for balls the angles of a chart.
        model: what kernels read.
    """

    def __init__(self, mechanism: Mechanism, *, exponential: bool = False) -> None:
        self.mechanism = mechanism
        self.exponential = exponential
        self.tree = Tree.compile(mechanism, expand=partial(expand, exponential=exponential))
        self.nr = mechanism.nv
        self._balls: list[dict[str, Any]] = []
        self._blocks: list[dict[str, Any]] = []
        self._tables: list[Any] = []
        self._polynomials: list[FloatArray] = []
        index = np.full((2, self.nr), -1)
        plain = [row for span in self.tree.spans for row in self._span(span, index)]
        self.model = CoordinateModel(
            plain=np.array(plain, np.int64).reshape(-1, 3),
            blocks=filled(self._blocks, LIFT_BLOCK),
            segments=np.concatenate(self._tables).view(np.recarray) if self._tables else records(0, SPLINE_SEGMENT),
            polynomials=np.concatenate([np.zeros((0, 4, 4)), *self._polynomials]),
            balls=filled(self._balls, BALL_CHART),
            index_q=index[0].copy(),
            index_v=index[1].copy(),
        )
        self._number_couplings({ir: iv for ir, _, iv in plain})

    # ------------------------------------------------------------------ compiling

    def _span(self, span: Span, index: Any) -> list[tuple[int, int, int]]:
        """Note one primitive; returns its plain coordinates. Reduced coordinates are numbered as v."""
        motion, ir = span.primitive.motion, span.iv
        iq = int(self.tree.nodes[span.first].iq)
        if motion in SPLINES:
            self._spline(span, ir, iq)
            for j in range(span.primitive.nv):
                index[:, ir + j] = span.iq + j, span.iv + j
            return []
        if motion == Motion.WELD:
            return []
        if motion not in (Motion.SPHERICAL, Motion.FREE):
            index[:, ir] = span.iq, span.iv
            return [(ir, iq, span.iy)]
        shifts = 3 if motion == Motion.FREE else 0
        first, weld = span.first + shifts, span.first + span.count - 1
        armature = span.joint.armature[span.offset : span.offset + 3]
        if any(armature) and has_splines(self.mechanism):
            kind = "ball" if motion == Motion.SPHERICAL else "free joint"
            raise IntegratorError(f"joint {span.joint.name!r}: a {kind} with a drive inertia, beside spline joints")
        for j in range(shifts):
            dof = self.tree.dofs[span.iy + j]
            for name in PROPERTIES:
                dof[name] = getattr(span.joint, name)[span.offset + 3 + j]
            dof.rest = self.tree.rest[iq + j] = span.joint.rest[span.offset + j]
        # Shifts come first in r, turns behind them.
        start = ir + shifts
        ball = {
            "node": first,
            "child": weld,
            "ir": start,
            "shift": ir if shifts else -1,
            "iq": span.iq + shifts,
            "iv": span.iv,
            "other": int(self.tree.nodes[first].parent),
            "armature": armature,
        }
        copied = [(ir + j, iq + j, span.iy + j) for j in range(shifts)]
        base = self.tree.nodes[first].Rt
        if self.exponential:
            self._balls.append(ball | {"exponential": 1, "frame": base})
            self._exponential_ball(ball, iq + shifts, span.iy + shifts)
            return copied
        self._balls.append(ball | {"frame": (base.reshape(3, 3) @ _axis_matrix(AXES[XYZ][0]).T).ravel()})
        return [*copied, *((start + j, iq + shifts + j, span.iy + shifts + j) for j in range(3))]

    def _exponential_ball(self, ball: dict[str, Any], iq: int, iv: int) -> None:
        kind = int(Motion.SPHERICAL)
        block = {"kind": kind, "ir": ball["ir"], "nr": 3, "iq": iq, "iv": iv, "nv": 3, "node": ball["node"]}
        self._blocks.append(block)
        # Springs, dampers and drives act as torques between the two bodies, as for balls in Euler angles.
        for name in ("stiffness", "damping", "armature"):
            self.tree.dofs[name][iv : iv + 3] = 0.0

    def _spline(self, span: Span, ir: int, iq: int) -> None:
        p, node = span.primitive, self.tree.nodes[span.first]
        block = {"kind": int(p.motion), "ir": ir, "nr": p.nv, "iq": iq, "iv": span.iy, "node": span.first}
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

    def _number_couplings(self, node_of: dict[int, int]) -> None:
        """Couplings know their coordinates by the mechanism's v: number them as the nodes'."""
        rows = self.tree.closure.rows
        for k in np.flatnonzero(rows.kind == COUPLING):
            for name in ("follower", "leader"):
                if int(rows[k][name]) not in node_of:
                    raise IntegratorError(
                        f"coupling {self.tree.closure.names[k]!r}: splines cannot be coupled; use hinges and sliders"
                    )
                rows[k][name] = node_of[int(rows[k][name])]

    # ------------------------------------------------------------------ what one robot needs

    @property
    def identical(self) -> bool:
        """Whether r, rd are the mechanism's q, v."""
        return len(self._balls) == 0

    def data(self) -> CoordinateData:
        """Data of one robot, with all balls in the chart XYZ."""
        lifts = records(len(self._blocks), LIFT)
        lifts.segment = -1
        moving = len(self._balls) + len(self._blocks) > 0
        charts = np.full(len(self._balls), -1 if self.exponential else XYZ)
        return CoordinateData(self.tree.nodes.copy() if moving else self.tree.nodes, charts, lifts)

    def first_charts(self, q: FloatArray) -> NDArray[np.int64]:
        """Good charts of the balls at the mechanism's q, shape (balls,)."""
        charts = np.zeros(len(self._balls), np.int64)
        first_charts(self.model.balls, q, charts)
        return charts

    def to_reduced(self, Q: FloatArray, V: FloatArray, charts: Any = None) -> tuple[FloatArray, FloatArray]:
        """Reduced coordinates and rates of rows of states, in given charts or all in good ones of the first row."""
        if self.identical:
            return Q, V
        R, RD = np.zeros((len(Q), self.nr)), np.zeros((len(Q), self.nr))
        if charts is None:
            charts = np.broadcast_to(self.first_charts(Q[0]), (len(Q), len(self._balls))).copy()
        from_public(self.model.balls, self.model.index_q, self.model.index_v, Q, V, charts, R, RD)
        return R, RD

    def to_mechanism(self, R: FloatArray, RD: FloatArray, charts: Any) -> tuple[FloatArray, FloatArray]:
        """The mechanism's q and v of rows of reduced states in given charts."""
        if self.identical:
            return R, RD
        Q, V = np.zeros((len(R), self.mechanism.nq)), np.zeros((len(R), self.mechanism.nv))
        to_public(self.model.balls, self.model.index_q, self.model.index_v, R, RD, charts, Q, V)
        return Q, V

    def stride(self, R: FloatArray, RD: FloatArray, charts: Any, Q: FloatArray, V: FloatArray) -> Callable[[int], Any]:
        """`to_mechanism` of a row of R, RD and charts into that of Q and V, for who asks again and again."""
        if self.identical:
            return lambda row: None
        arrays, m = (R, RD, charts, Q, V), self.model
        bound = Bound(to_public, m.balls, m.index_q, m.index_v)
        return BatchedCall(bound, lambda row: tuple(x[row : row + 1] for x in arrays))


@lru_cache(maxsize=32)
def compiled_coordinates(mechanism: Mechanism, exponential: bool = False) -> ReducedCoordinates:
    """The reduced coordinates of a mechanism, compiled once; for states from outside, see `coordinates_in`."""
    return ReducedCoordinates(mechanism, exponential=exponential)


def coordinates_in(chart: Any, mechanism: Any) -> ReducedCoordinates:
    """The reduced coordinates of a mechanism in a chart, "euler" or "exponential"; refuses all else."""
    if not isinstance(chart, str) or chart not in ("euler", "exponential"):
        raise IntegratorError(f"chart must be 'euler' or 'exponential', got {shown(chart)}")
    return compiled_coordinates(robot(mechanism), chart == "exponential")


def has_splines(mechanism: Mechanism) -> bool:
    """Whether a mechanism has spline joints: then its nodes move by its reduced coordinates alone."""
    return "spline joint" in robot(mechanism).special_parts


def _axis_matrix(k: int) -> FloatArray:
    """Rotation whose third column is the coordinate axis k, as in `charts.axis_frame`."""
    return np.roll(np.eye(3), k + 1, axis=0) if k < 2 else np.eye(3)
