"""`Tree`: a mechanism as the flat record arrays that kernels read.

A node is one primitive motion of one joint (see `joints`): a revolute or screw, a prismatic, a ball or a free motion.
Joints with several axes become several nodes with massless links in between; bodies on fixed joints are merged into
the node that carries them. The frame of a node moves with it, and its z axis lies along the axis of its motion, so
kernels never see an axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.closure import Closure
from leastaction.mechanism.drives.servos import feedback
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.joints import SPLINES, Joint, Motion, Primitive, perpendicular, prismatic, spherical
from leastaction.mechanism.pose import Pose, quaternion_of_matrix

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism

NODE = np.dtype(
    [
        ("parent", "i8"),  # node that carries this one, -1 for the world
        ("kind", "i8"),  # Motion code; screws share REVOLUTE
        ("iq", "i8"),  # first entry in q
        ("iv", "i8"),  # first entry in v
        ("nv", "i8"),
        ("ball", "i8"),  # index among the ball joints, -1 for other nodes
        ("mass", "f8"),
        ("pitch", "f8"),  # advance per angle [m/rad]
        ("Rt", "f8", 9),  # placement in the parent node's frame at q = 0: rotation, row major
        ("pt", "f8", 3),  # ... and origin [m]
        ("com", "f8", 3),
        ("Ic", "f8", 6),  # about the COM: xx, xy, xz, yy, yz, zz
    ],
    align=True,
)
"""One record per node."""

DOF = np.dtype(
    [
        ("node", "i8"),
        ("armature", "f8"),
        ("damping", "f8"),
        ("stiffness", "f8"),
        ("servo", "f8"),  # how much of the stiffness is the feedback of servos, which steps take implicitly
        ("friction", "f8"),
        ("rest", "f8"),  # of the spring; for balls the rest orientation is in Tree.rest
        ("lower", "f8"),  # limits that push back ...
        ("upper", "f8"),
        ("limit_stiffness", "f8"),  # ... with a spring
        ("limit_damping", "f8"),  # ... and a damper
    ],
    align=True,
)
"""One record per degree of freedom."""

FRAME = np.dtype([("node", "i8"), ("R", "f8", 9), ("p", "f8", 3)], align=True)
"""A frame fixed to a node: rotation (row major) and origin [m] in the node's frame."""


class Span(NamedTuple):
    """Where a primitive motion of a joint ended up.

    Attributes:
        joint: the joint.
        primitive: its motion.
        first, count: its nodes.
        iy: first of their coordinates and degrees of freedom in the tree.
        iq, iv: first of its coordinates and degrees of freedom in the mechanism.
        offset: first of its degrees of freedom among those of the joint.
    """

    joint: Joint
    primitive: Primitive
    first: int
    count: int
    iy: int
    iq: int
    iv: int
    offset: int


@dataclass(frozen=True, eq=False)
class Tree:
    """Flat arrays of one mechanism.

    Attributes:
        nodes: `NODE` records, parents before children, depth first.
        dofs: `DOF` records, nv of them.
        bodies: `FRAME` records: the frame of each body of the mechanism.
        rest: rest positions of the joints' springs, shape (nq,).
        gravity: [m/s^2], shape (3,).
        free: first entries in q and v and ball index of the free joints that were split, shape (count, 3).
        closure: loops and couplings as scalar rows.
        nq, nv: numbers of coordinates and of degrees of freedom.
        spans: one per primitive motion of the joints.
        mechanism: what it was made of.
        frames: for each body its node (-1 for the world) and its pose in it.
    """

    nodes: Any
    dofs: Any
    bodies: Any
    rest: NDArray[np.float64]
    gravity: NDArray[np.float64]
    free: NDArray[np.int64]
    closure: Closure
    nq: int
    nv: int
    spans: tuple[Span, ...]
    mechanism: Mechanism
    frames: dict[str, tuple[int, Pose]]

    @classmethod
    def compile(cls, mechanism: Mechanism, *, split_free: bool = False, expand: Expansion | None = None) -> Tree:
        """Flatten `mechanism`.

        With `split_free` a free joint becomes three translations in the joint's frame followed by a ball, and its
        degrees of freedom come in that order: (x, y, z, wx, wy, wz).

        With `expand` each primitive becomes those that it gives; springs, dampers, drive inertias, limits and controls
        of primitives that change are left to the caller.
        """
        return _Compiler(mechanism, split_free, expand).run()

    @cached_property
    def _places(self) -> dict[str, tuple[int, NDArray[np.float64], NDArray[np.int64]]]:
        return {}

    def place(self, name: str) -> tuple[int, NDArray[np.float64], NDArray[np.int64]]:
        """Node of a frame or body (-1: the world), its pose there, (4, 4), and the degrees of freedom that move it."""
        if name not in self._places:
            frame = self.mechanism.frame(name)
            node, X = self.frames[frame.body]
            moving, i = [], node
            while i >= 0:
                record = self.nodes[i]
                moving += range(int(record.iv), int(record.iv + record.nv))
                i = int(record.parent)
            self._places[name] = node, (X * frame.pose).matrix, np.array(moving, np.int64)
        return self._places[name]


def _records(count: int, dtype: np.dtype) -> Any:
    return np.zeros(count, dtype).view(np.recarray)


def _axis_frame(primitive: Primitive) -> Pose:
    """A pose whose z axis is the primitive's axis; exact for coordinate axes."""
    if primitive.motion in (Motion.SPHERICAL, Motion.FREE):
        return Pose()
    first, second = perpendicular(primitive.axis)
    return Pose((0, 0, 0), quaternion_of_matrix(np.column_stack([first, second, primitive.axis])))


Expansion = Callable[[Primitive], tuple[Primitive, ...]]
"""What a primitive motion is made of."""

PROPERTIES = ("armature", "damping", "stiffness", "friction", "lower", "upper", "limit_stiffness", "limit_damping")

_SPLIT = (prismatic("x"), prismatic("y"), prismatic("z"), spherical())


class _Compiler:
    def __init__(self, mechanism: Mechanism, split_free: bool, expand: Expansion | None) -> None:
        self.m = mechanism
        self.split_free = split_free
        self.expand = expand
        self.spans: list[Span] = []
        self.body_frame: dict[str, tuple[int, Pose]] = {WORLD: (-1, Pose())}
        self.parts: list[list[tuple[Inertia, Pose]]] = []
        self.free_nodes: list[tuple[int, int]] = []  # (first entry in v, ball) of the free joints that were split

    def run(self) -> Tree:
        m = self.m
        primitives = [self._primitives(joint) for joint in m.driven_joints]
        total = sum(len(parts) for parts in primitives)
        nq, nv = (sum(getattr(p, n) for parts in primitives for p in parts) for n in ("nq", "nv"))
        nodes, dofs = _records(total, NODE), _records(nv, DOF)
        rest = np.zeros(nq)
        own_q = own_v = 0
        k = iq = iv = 0
        for body, joint, parts in zip(m.bodies, m.driven_joints, primitives, strict=True):
            node, X = self.body_frame[joint.parent]
            X = X * joint.pose
            jq, jv = iq, iv
            self._note_spans(joint, k, iv, own_q, own_v)
            own_q, own_v = own_q + joint.nq, own_v + joint.nv
            for primitive in parts:
                align = _axis_frame(primitive)
                self._node(nodes[k], node, primitive, X * align, iq, iv)
                dofs.node[iv : iv + primitive.nv] = k
                node, X = k, align.inverse()
                k, iq, iv = k + 1, iq + primitive.nq, iv + primitive.nv
                self.parts.append([])
            if self.split_free:
                self._note_free(joint, k, iv)
            for name in PROPERTIES:
                dofs[name][jv:iv] = self._reordered(joint, getattr(joint, name))
            rest[jq:iq] = self._rest(joint)
            X = X * joint.child_pose
            self.body_frame[body.name] = (node, X)
            if node >= 0:
                self.parts[node].append((body.inertia, X))
        for record, parts in zip(nodes, self.parts, strict=True):
            inertia = Inertia.from_parts(parts) if parts else Inertia()
            record.mass, record.com, record.Ic = inertia.mass, inertia.com, inertia.moments
            if record.nv == 1:
                dofs[record.iv].rest = rest[record.iq]
        if self.expand is None:
            dofs.servo = feedback(m).stiffness
        balls = nodes.kind == Motion.SPHERICAL
        nodes.ball = np.where(balls, np.cumsum(balls) - 1, -1)
        return Tree(
            nodes=nodes,
            dofs=dofs,
            bodies=self._bodies(),
            rest=rest,
            gravity=np.array(m.gravity),
            free=np.array([(nodes[i].iq - 3, iv, nodes[i].ball) for iv, i in self.free_nodes], np.int64).reshape(-1, 3),
            closure=Closure(m, self.body_frame),
            nq=nq,
            nv=nv,
            spans=tuple(self.spans),
            mechanism=m,
            frames=self.body_frame,
        )

    def _primitives(self, joint: Joint) -> tuple[Primitive, ...]:
        if self.expand is not None:
            return tuple(x for p in joint.primitives for x in self.expand(p))
        if any(p.motion in SPLINES for p in joint.primitives):
            raise MechanismError(
                f"joint {joint.name!r} is a spline: of the dynamics only leastaction.redmax knows it, and the "
                "integrators BDF, SDIRK2 and LinearlyImplicitEuler"
            )
        if not self.split_free:
            return joint.primitives
        return tuple(x for p in joint.primitives for x in (_SPLIT if p.motion == Motion.FREE else (p,)))

    def _note_free(self, joint: Joint, k: int, iv: int) -> None:
        """Remember where the free motions of a joint whose last node is k - 1 ended up."""
        for p in reversed(joint.primitives):
            if p.motion == Motion.FREE:
                self.free_nodes.append((iv - 6, k - 1))
            k -= 4 if p.motion == Motion.FREE else 1
            iv -= p.nv

    def _note_spans(self, joint: Joint, k: int, iy: int, iq: int, iv: int) -> None:
        """Remember where the primitives of a joint go, whose first node is k."""
        offset = 0
        for p in joint.primitives:
            parts = (p,) if self.expand is None else self.expand(p)
            self.spans.append(Span(joint, p, k, len(parts), iy, iq, iv + offset, offset))
            k, iy = k + len(parts), iy + sum(x.nv for x in parts)
            iq, offset = iq + p.nq, offset + p.nv

    def _rest(self, joint: Joint) -> list[float]:
        """Rest positions of the joint's nodes; zero for those of primitives that were expanded."""
        if self.expand is None:
            return list(joint.rest)
        out: list[float] = []
        k = 0
        for p in joint.primitives:
            parts = self.expand(p)
            size = sum(x.nq for x in parts)
            own = list(joint.rest[k : k + p.nq])
            out += own if parts == (p,) else [0.0] * size
            k += p.nq
        return out

    def _reordered(self, joint: Joint, values: tuple[float, ...]) -> list[float]:
        """Values per degree of freedom, with those of free joints translation first where these are split."""
        if self.expand is not None:
            return [
                x
                for p, own in joint.by_primitive(values)
                for x in (own if self.expand(p) == (p,) else [0.0] * sum(y.nv for y in self.expand(p)))
            ]
        out: list[float] = []
        k = 0
        for p in joint.primitives:
            own = values[k : k + p.nv]
            out += [*own[3:], *own[:3]] if self.split_free and p.motion == Motion.FREE else own
            k += p.nv
        return out

    @staticmethod
    def _node(record: Any, parent: int, primitive: Primitive, X: Pose, iq: int, iv: int) -> None:
        record.parent, record.iq, record.iv, record.nv = parent, iq, iv, primitive.nv
        # A screw is a revolute with an advance.
        record.kind = Motion.REVOLUTE if primitive.motion == Motion.SCREW else primitive.motion
        record.pitch = primitive.pitch
        record.Rt, record.pt = X.rotation.ravel(), X.position

    def _bodies(self) -> Any:
        frames = _records(len(self.m.bodies), FRAME)
        for record, name in zip(frames, self.m.body_names, strict=True):
            node, X = self.body_frame[name]
            record.node, record.R, record.p = node, X.rotation.ravel(), X.position
        return frames
