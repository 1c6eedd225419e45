"""A mechanism in maximal coordinates, as the flat record arrays that the kernels read.

Every rigid body (with what is welded to it) has its own pose; a joint is a handful of scalar equations between two
bodies (Bruedigam 2023, Appendix B: the rows that the selection matrix D picks from the two general constraint
functions), and the null-space matrix C gives its coordinates. Joints that these two functions cannot describe, such
as one that turns before it slides, become chains of simpler joints with massless bodies in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError, MechanismError
from leastaction.maximal.records import BALL, BODY, COORDINATE, FREE, HINGE, ROW, SLIDE, filled, records
from leastaction.maximal.step.damper_records import PATH_STATE, POINT_STATE
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import COUPLING, SCREW, angle_marks, joint_equations
from leastaction.mechanism.elements import JointActuator
from leastaction.mechanism.graph import WORLD
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.joints import Joint, Motion, Primitive
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.tree import DRIVE, NODE_POINT, PATH, WRENCH

SINGULAR = 1e-9
"""Bodies whose least inertia, relative to the mechanism's size, lies below this count as massless."""


@dataclass(eq=False)
class Model:
    """Flat arrays of one mechanism in maximal coordinates.

    Attributes:
        bodies: `BODY` records of the bodies that move.
        rows: `ROW` records, grouped by node.
        nodes: names of the groups of rows: joints and couplings.
        sizes: number of rows of each node.
        coordinates: `COORDINATE` records: those of the tree joints in the order of q, then those of loop joints that
            have springs, dampers or limits.
        coefficients: polynomials of the couplings.
        frames: for each name of a body (and the world) its index among `bodies` and the pose of its frame there.
        paths, points, wrenches, drives: as in `mechanism.tree.Tree`, with indices of `bodies`.
        pieces: the tree joints, in the order of the bodies they carry.
        augment: nodes whose equations are added to those of a massless child, see `assemble`.
        edges: pairs of graph nodes (bodies first, then groups of rows) that share a block.
        dampers: arrays of the springs and cables with damping, see `dampers`.
    """

    mechanism: Mechanism
    bodies: Any
    rows: Any
    nodes: list[str]
    sizes: list[int]
    coordinates: Any
    coefficients: NDArray[np.float64]
    frames: dict[str, tuple[int, Pose]]
    paths: Any
    points: Any
    wrenches: Any
    drives: Any
    augment: NDArray[np.float64]
    pieces: list[Piece]
    edges: list[tuple[int, int]] = field(default_factory=list)
    dampers: tuple[Any, ...] = ()

    @classmethod
    def compile(cls, mechanism: Mechanism) -> Model:
        """Flatten `mechanism`; refuses what maximal coordinates cannot run, by name."""
        for rolling in mechanism.rollings:
            raise IntegratorError(
                f"Maximal cannot run the rolling contact {rolling.name!r}; use Galerkin, or a shape with friction"
            )
        return _Compiler(mechanism).run()

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels know of the bodies and joints."""
        sizes = np.array(self.sizes, np.int64)
        return self.bodies, self.rows, self.coordinates, self.coefficients, sizes, self.augment, self.dampers

    def forces(self) -> tuple[Any, ...]:
        """What `impulses.add_impulses` knows of the forces, with scratch of its own."""
        t, nv = self.mechanism.tree, self.mechanism.nv
        acting = (t.nodes, t.dofs, t.rest, self.paths, self.points, self.wrenches, self.drives, t.gravity)
        return *acting, np.zeros((len(self.bodies), 6)), np.zeros(nv), np.zeros(nv)


@dataclass
class Piece:
    """One joint that the two general constraint functions describe: all of a joint, or a part of it.

    Attributes:
        joint: what it belongs to.
        primitives: its motions.
        first: of its degrees of freedom within the joint.
        first_q: of its coordinates within the joint.
        a, b: indices of the bodies, -1 for the world.
        Xa, Xb: the joint's frame in a and, moved, in b.
        loop: whether it closes a loop.
        iq, iv: where its coordinates begin in q and v; -1 for loops.
    """

    joint: Joint
    primitives: tuple[Primitive, ...]
    first: int
    first_q: int
    a: int
    Xa: Pose
    b: int
    Xb: Pose
    loop: bool = False
    iq: int = -1
    iv: int = -1


class _Compiler:
    def __init__(self, mechanism: Mechanism) -> None:
        self.m = mechanism
        self.parents: list[int] = []
        self.parts: list[list[tuple[Inertia, Pose]]] = []
        self.frames: dict[str, tuple[int, Pose]] = {WORLD: (-1, Pose())}
        self.pieces: list[Piece] = []

    def run(self) -> Model:
        m = self.m
        for body, joint in zip(m.bodies, m.joints, strict=True):
            a, Xa = self.frames[joint.parent]
            Xa = Xa * joint.placement
            if joint.primitives:
                a, Xa = self._chain(joint, a, Xa)
            else:
                Xa = Xa * joint.child_placement
            self.frames[body.name] = (a, Xa)
            if a >= 0:
                self.parts[a].append((body.inertia, Xa))
        bodies = self._bodies()
        for joint in m.loops:
            self._loop(joint)
        coordinates, first = self._coordinates()
        rows, sizes, names = self._rows(first, len(coordinates))
        coefficients = self._couplings(rows, sizes, names, coordinates)
        self._armature(bodies, coordinates)
        model = Model(
            mechanism=m,
            bodies=bodies,
            rows=filled(rows, ROW),
            nodes=names,
            sizes=sizes,
            coordinates=filled(coordinates, COORDINATE),
            coefficients=np.array(coefficients, dtype=float),
            frames=self.frames,
            paths=None,
            points=None,
            wrenches=self._wrenches(),
            drives=self._drives(),
            augment=np.zeros(len(sizes)),
            pieces=[piece for piece in self.pieces if not piece.loop],
        )
        model.paths, model.points = self._paths()
        self._edges(model)
        return model

    # ------------------------------------------------------------------ bodies and joints

    def _body(self, parent: int) -> int:
        self.parents.append(parent)
        self.parts.append([])
        return len(self.parts) - 1

    def _chain(self, joint: Joint, a: int, Xa: Pose) -> tuple[int, Pose]:
        """Make the bodies and pieces of a tree joint; (body, pose of the child's frame in it)."""
        groups = split(joint.primitives)
        k = kq = 0
        for group in groups:
            b = self._body(a)
            last = group is groups[-1]
            # The frame of a body is for now that of what the joint carries; `_bodies` moves it to the COM.
            Xb = joint.child_placement.inverse() if last else Pose()
            self.pieces.append(Piece(joint, group, k, kq, a, Xa, b, Xb))
            a, Xa = b, Pose()
            k, kq = k + sum(p.nv for p in group), kq + sum(p.nq for p in group)
        return a, Pose()

    def _bodies(self) -> Any:
        bodies = records(len(self.parts), BODY)
        shift = []
        for record, parent, parts in zip(bodies, self.parents, self.parts, strict=True):
            inertia = Inertia.from_parts(parts) if parts else Inertia()
            record.parent, record.mass, record.J = parent, inertia.mass, inertia.matrix.ravel()
            record.radius = np.sqrt(np.trace(inertia.matrix) / (2.0 * inertia.mass)) if inertia.mass > 0.0 else 0.0
            shift.append(Pose(tuple(-x for x in inertia.com)))
        typical = float(np.median(bodies.radius[bodies.radius > 0.0])) if (bodies.radius > 0.0).any() else 1.0
        bodies.radius = np.where(bodies.radius > 1e-3 * typical, bodies.radius, typical)
        self.frames = {n: (i, shift[i] * X) if i >= 0 else (i, X) for n, (i, X) in self.frames.items()}
        for piece in self.pieces:
            piece.Xa = shift[piece.a] * piece.Xa if piece.a >= 0 else piece.Xa
            piece.Xb = shift[piece.b] * piece.Xb
        return bodies

    def _loop(self, joint: Joint) -> None:
        a, Xa = self.frames[joint.parent]
        b, Xb = self.frames[joint.child]
        if len(split(joint.primitives)) > 1:
            raise MechanismError(
                f"joint {joint.name!r}: a composite joint that slides after it has turned cannot close a loop"
            )
        Xa, Xb = Xa * joint.placement, Xb * joint.child_placement.inverse()
        self.pieces.append(Piece(joint, joint.primitives, 0, 0, a, Xa, b, Xb, loop=True))

    def _armature(self, bodies: Any, coordinates: list[dict[str, Any]]) -> None:
        """Drive inertia of balls and free joints that hang on the world is part of the body's own inertia."""
        for c in coordinates:
            if c["kind"] not in (BALL, FREE):
                continue
            joint: Joint = c.pop("joint")
            first = c.pop("first")
            values = joint.armature[first : first + (3 if c["kind"] == BALL else 6)]
            if not any(values):
                continue
            if c["a"] >= 0:
                raise IntegratorError(
                    f"Maximal: joint {joint.name!r} has armature, which a {joint.kind} joint may only have on the world"
                )
            R, b = np.asarray(c["Rb"]).reshape(3, 3), bodies[c["b"]]
            b.J = (b.J.reshape(3, 3) + R @ np.diag(values[:3]) @ R.T).ravel()
            if c["kind"] == FREE and values[3]:
                if np.any(c["pb"]):
                    raise IntegratorError(
                        f"Maximal: joint {joint.name!r} has armature along x, y, z away from the body's COM"
                    )
                b.mass += values[3]

    # ------------------------------------------------------------------ equations and coordinates

    def _coordinates(self) -> tuple[list[dict[str, Any]], dict[int, int]]:
        """Coordinates of all pieces; and the index of the first one of each piece."""
        out: list[dict[str, Any]] = []
        first: dict[int, int] = {}
        offsets, iq, iv = {}, 0, 0
        for joint in self.m.joints:
            offsets[joint.name] = (iq, iv)
            iq, iv = iq + joint.nq, iv + joint.nv
        for index, piece in enumerate(self.pieces):
            first[index] = len(out)
            if not piece.loop:
                iq, iv = offsets[piece.joint.name]
                piece.iq, piece.iv = iq + piece.first_q, iv + piece.first
            out += _piece_coordinates(piece)
        return out, first

    def _rows(self, first: dict[int, int], count: int) -> tuple[list[dict[str, Any]], list[int], list[str]]:
        rows: list[dict[str, Any]] = []
        sizes: list[int] = []
        names: list[str] = []
        for index, piece in enumerate(self.pieces):
            p = piece
            equations, _ = joint_equations(p.joint.name, p.primitives, p.a, p.Xa, p.b, p.Xb)
            for local, row in enumerate(equations or ()):
                row = {k: v for k, v in row.items() if k not in ("n2", "w2")}
                if row["kind"] == SCREW:
                    turning = [k for k, x in enumerate(p.primitives) if x.motion == Motion.SCREW]
                    row["coordinate"] = first[index] + turning[0]
                rows.append({**row, "node": len(sizes), "local": local})
            sizes.append(len(equations or ()))
            names.append(piece.joint.name)
        return rows, sizes, names

    def _couplings(self, rows: Any, sizes: Any, names: Any, coordinates: Any) -> list[float]:
        coefficients: list[float] = []
        place = {c["iv"]: k for k, c in enumerate(coordinates) if c["iv"] >= 0}
        for coupling in self.m.couplings:
            follower, leader = (self.m.velocity_index(x) for x in (coupling.follower, coupling.leader))
            c, d = coordinates[place[follower]], coordinates[place[leader]]
            row = {"kind": COUPLING, "a": c["a"], "b": c["b"], "coordinate": place[follower], "leader": place[leader]}
            row |= {"first": len(coefficients), "count": len(coupling.coefficients), "node": len(sizes), "local": 0}
            if not {c["kind"], d["kind"]} <= {SLIDE, HINGE}:
                raise IntegratorError(f"Maximal: coupling {coupling.name!r} must tie joints with one axis")
            rows.append(row)
            coefficients += coupling.coefficients
            sizes.append(1)
            names.append(coupling.name)
        return coefficients

    # ------------------------------------------------------------------ graph

    def _edges(self, model: Model) -> None:
        """Which blocks of the Newton matrix exist; tells rows and coordinates their edges."""
        n = len(model.bodies)
        edges: dict[tuple[int, int], int] = {}

        def edge(i: int, j: int) -> int:
            if i < 0 or j < 0 or i == j:
                return -1
            return edges.setdefault((min(i, j), max(i, j)), len(edges))

        for row in model.rows:
            node = n + int(row.node)
            row.ea, row.eb, row.ea2, row.eb2 = edge(row.a, node), edge(row.b, node), -1, -1
            if row.kind == COUPLING:
                leader = model.coordinates[row.leader]
                row.ea2, row.eb2 = edge(leader.a, node), edge(leader.b, node)
        for c in model.coordinates:
            implicit = c.armature or c.damping.any() or c.friction or np.isfinite((c.lower, c.upper)).any()
            c.edge = edge(c.a, c.b) if implicit else -1
        self._augment(model, edge)
        for row in model.rows:
            row.eab = edge(row.a, row.b) if model.augment[row.node] else -1
        damped = model.paths[model.paths.damping > 0.0]
        states, between = records(len(damped), PATH_STATE), []
        for path, state in zip(damped, states, strict=True):
            nodes = model.points.node[path.first : path.first + path.count].tolist()
            state.first = len(between)
            between += [edge(i, j) for i in nodes for j in nodes]
        points = records(len(model.points), POINT_STATE)
        model.dampers = (damped, model.points, states, points, np.array(between, np.int64))
        model.edges = [pair for pair, _ in sorted(edges.items(), key=lambda item: item[1])]

    def _augment(self, model: Model, edge: Any) -> None:
        """Joints that carry a body without inertia lend it their equations, so that its block can be factored.

        Adding a multiple of the joint's equation to the body's changes no solution, and makes the block regular
        where the joint leaves free only directions with inertia.
        """
        mass = float(np.median(model.bodies.mass[model.bodies.mass > 0.0])) if (model.bodies.mass > 0.0).any() else 1.0
        for node, piece in enumerate(self.pieces):
            body = model.bodies[piece.b]
            least = np.linalg.eigvalsh(body.J.reshape(3, 3))[0]
            if not piece.loop and (body.mass <= 0.0 or least < SINGULAR * mass * body.radius**2):
                model.augment[node] = body.mass if body.mass > 0.0 else mass
                edge(piece.a, piece.b)

    # ------------------------------------------------------------------ forces

    def _paths(self) -> tuple[Any, Any]:
        chains = [((s.start, s.end), 0, s) for s in self.m.springs]
        chains += [(c.via, int(c.pulls_only), c) for c in self.m.cables]
        paths, points = [], []
        for via, pulls_only, element in chains:
            path = {name: getattr(element, name) for name in ("stiffness", "rest_length", "damping")}
            paths.append({**path, "first": len(points), "count": len(via), "pulls_only": pulls_only})
            for a in via:
                index, X = self.frames[a.body]
                points.append({"node": index, "p": X.apply(a.point)})
        return filled(paths, PATH), filled(points, NODE_POINT)

    def _wrenches(self) -> Any:
        out = []
        for w in self.m.wrenches:
            index, X = self.frames[w.body]
            turn = X.rotation if w.frame == "body" else np.eye(3)
            wrench = np.concatenate([turn @ w.wrench[:3], turn @ w.wrench[3:]])
            out.append({"node": index, "local": w.frame == "body", "point": X.apply(w.point), "wrench": wrench})
        return filled(out, WRENCH)

    def _drives(self) -> Any:
        drives = records(self.m.nu, DRIVE)
        drives.other = -1
        if not self.m.actuators:
            drives.dof, drives.gear = np.arange(self.m.nv), 1.0
        for record, a in zip(drives, self.m.actuators, strict=False):
            if isinstance(a, JointActuator):
                record.dof, record.gear = self.m.velocity_index(a.coordinate), a.gear
                continue
            record.dof = -1
            record.node, X = self.frames[a.body]
            force = X.rotation @ a.wrench[3:]
            record.wrench[:3] = X.rotation @ a.wrench[:3] + np.cross(X.position, force)
            record.wrench[3:] = force
        return drives


def split(primitives: tuple[Primitive, ...]) -> list[tuple[Primitive, ...]]:
    """Group primitives into joints of Table B.2 (with universal and screw joints): slides, then at most two turns."""
    groups: list[tuple[Primitive, ...]] = []
    group: tuple[Primitive, ...] = ()
    for p in primitives:
        if group and not _fits(group, p):
            groups.append(group)
            group = ()
        group = (*group, p)
    return [*groups, group] if group else groups


def _fits(group: tuple[Primitive, ...], p: Primitive) -> bool:
    slides = [x for x in group if x.motion == Motion.PRISMATIC]
    turns = [x for x in group if x.motion != Motion.PRISMATIC]
    if p.motion == Motion.PRISMATIC:
        return not turns and all(abs(np.dot(p.axis, x.axis)) < 1e-12 for x in slides)
    if p.motion == Motion.SPHERICAL:
        return not turns
    if p.motion == Motion.REVOLUTE:
        hinges = [x for x in turns if x.motion == Motion.REVOLUTE]
        if len(turns) != len(hinges) or len(turns) > 1:
            return False
        return not hinges or float(np.linalg.norm(np.cross(p.axis, hinges[0].axis))) > 1e-6
    return False  # a screw or a free motion is a joint of its own


def _piece_coordinates(piece: Piece) -> list[dict[str, Any]]:
    """The coordinates of a piece."""
    joint, Xa, Xb = piece.joint, piece.Xa, piece.Xb
    base = {"a": piece.a, "b": piece.b, "pa": Xa.position, "pb": Xb.position, "sign": 1.0, "edge": -1}
    base |= {"Ra": Xa.rotation.ravel(), "Rb": Xb.rotation.ravel(), "lower": -np.inf, "upper": np.inf}
    hinges = [p for p in piece.primitives if p.motion == Motion.REVOLUTE]
    out = []
    k, kq, iq, iv = piece.first, piece.first_q, piece.iq, piece.iv
    for p in piece.primitives:
        at = {"iq": iq, "iv": iv} if not piece.loop else {"iq": -1, "iv": -1}
        if p.motion in (Motion.SPHERICAL, Motion.FREE):
            c = {**base, **at, "kind": BALL if p.motion == Motion.SPHERICAL else FREE, "joint": joint, "first": k}
            c["damping"] = np.resize([*joint.damping[k : k + p.nv], 0.0, 0.0, 0.0], 6)
            acts = any(joint.damping[k : k + p.nv]) or any(joint.stiffness[k : k + p.nv])
            if piece.loop and acts:
                raise IntegratorError(
                    f"Maximal: a {joint.kind} joint that closes a loop ({joint.name!r}) has no spring"
                )
        else:
            c = {**base, **at, "kind": SLIDE if p.motion == Motion.PRISMATIC else HINGE}
            c |= _axis(p, hinges, Xa, Xb, base) | {"pitch": p.pitch}
            for name in ("armature", "friction", "lower", "upper"):
                c[name] = getattr(joint, name)[k]
            c["damping"] = (joint.damping[k], 0, 0, 0, 0, 0)
            c["rest"] = joint.rest[kq]
            c["stiffness"] = joint.stiffness[k] if piece.loop else 0.0
        out.append(c)
        k, kq, iq, iv = k + p.nv, kq + p.nq, iq + p.nq, iv + p.nv
    return out


def _axis(p: Primitive, hinges: list[Primitive], Xa: Pose, Xb: Pose, base: dict[str, Any]) -> dict[str, Any]:
    """Axis and zero marks of a slide or hinge."""
    Ra, Rb = Xa.rotation, Xb.rotation
    if p.motion == Motion.PRISMATIC:
        return {"n": Ra @ np.array(p.axis)}
    if len(hinges) < 2:
        return angle_marks(p.axis, Ra, Rb)
    first, second = (np.array(h.axis) for h in hinges)
    if p is hinges[0]:
        # The second axis, fixed in b, turns about the first one by the first angle.
        return {"n": Ra @ first, "n2": Ra @ _across(second, first), "w2": Rb @ second}
    # Seen from b, the first axis turns about the second one by minus the second angle.
    swap = {"a": base["b"], "b": base["a"], "pa": base["pb"], "pb": base["pa"], "sign": -1.0}
    return {**swap, "n": Rb @ second, "n2": Rb @ _across(first, second), "w2": Ra @ first}


def _across(v: Any, n: Any) -> Any:
    """The unit vector along the part of v across n."""
    u = v - n * (n @ v)
    return u / np.linalg.norm(u)
