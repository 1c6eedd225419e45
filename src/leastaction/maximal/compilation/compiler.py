"""Compile a mechanism to the arrays of its model in maximal coordinates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.mobility import mobility_at_home
from leastaction.errors import IntegratorError, MechanismError
from leastaction.forces.arrays import (
    ForceModel,
    compact,
    force_model,
    force_records,
    forceless,
    resisting,
    together,
    without_limits,
)
from leastaction.forces.points import zeroed
from leastaction.forces.tendons import tendon_records
from leastaction.forces.wrenches import WRENCH
from leastaction.maximal.arrays import SIZES
from leastaction.maximal.compilation.armature import add_ball_drives
from leastaction.maximal.compilation.immobile_bodies import free_locked
from leastaction.maximal.compilation.joint_pieces import Piece, piece_coordinates, split
from leastaction.maximal.compilation.massless_bodies import NO_MASS, rotors
from leastaction.maximal.compilation.spring_blocks import groups, tying
from leastaction.maximal.compilation.tendon_blocks import sprung_lengths, with_lengths
from leastaction.maximal.compilation.tendon_limits import ropes
from leastaction.maximal.maximal_records import (
    BALL,
    BODY,
    COORDINATE,
    FRAME,
    FREE,
    GOAL,
    HINGE,
    JOINT_ROW,
    NOT_LENT,
    ROPE,
    SLIDE,
    VALUE,
    filled,
    records,
)
from leastaction.maximal.model import Model
from leastaction.maximal.prescribed import COLUMNS
from leastaction.mechanism import Mechanism
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.closure import COUPLING, SCREW, joint_equations
from leastaction.mechanism.drives.servos import driven_joints
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.joints import Joint, Motion
from leastaction.mechanism.pose import Pose
from leastaction.typing import FloatArray

FREEDOMS = {SLIDE: 1, HINGE: 1, BALL: 3, FREE: 6}
"""Degrees of freedom of each kind of coordinate."""

SINGULAR = 1e-9
"""Bodies with a smaller least moment of inertia, relative to median mass times radius squared, count as massless."""

NO_ROOM = 1e-9
"""Joints whose range between the limits is smaller [rad or m] are locked."""

LEAST = 1e-9
"""Inertia of massless bodies in the Newton matrix, relative to others: far too small to affect an update."""


def compile_model(mechanism: Mechanism) -> Model:
    """Compile `mechanism`; raises `IntegratorError` for elements that maximal coordinates do not support."""
    for rolling in mechanism.rollings:
        raise IntegratorError(
            f"Maximal cannot run the rolling contact {rolling.name!r}; use Galerkin, or a shape with friction"
        )
    return free_locked(_Compiler(mechanism).run())


class _Compiler:
    def __init__(self, mechanism: Mechanism) -> None:
        self.m = mechanism
        self.parents: list[int] = []
        self.parts: list[list[tuple[Inertia, Pose]]] = []
        self.frames: dict[str, tuple[int, Pose]] = {WORLD: (-1, Pose())}
        self.pieces: list[Piece] = []
        self.weightless: list[Piece] = []  # free joints with armature along x, y, z
        self.goals: list[dict[str, Any]] = []
        self.locked = False
        self.axes: tendon_records.Axes = {}
        self.rotors: NDArray[np.bool_] = np.zeros(0, bool)

    def run(self) -> Model:
        m = self.m
        for body, joint in zip(m.bodies, m.driven_joints, strict=True):
            a, Xa = self.frames[joint.parent]
            Xa = Xa * joint.pose
            if joint.primitives:
                a, Xa = self._chain(joint, a, Xa)
            else:
                Xa = Xa * joint.child_pose
            self.frames[body.name] = (a, Xa)
            if a >= 0:
                self.parts[a].append((body.inertia, Xa))
        bodies = self._bodies()
        for joint in m.loops:
            self._loop(joint)
        coordinates, first = self._coordinates()
        rows, sizes, names = self._rows(first, len(coordinates))
        coefficients = self._couplings(rows, sizes, names, coordinates)
        coefficients += self._prescribed(rows, sizes, names, coordinates, len(coefficients))
        coefficients += self._locks(rows, sizes, names, coordinates, len(coefficients))
        add_ball_drives(bodies, coordinates)
        model = Model(
            mechanism=m,
            bodies=bodies,
            rows=filled([{"goal": -1} | row for row in rows], JOINT_ROW),
            nodes=names,
            sizes=sizes,
            coordinates=filled(coordinates, COORDINATE),
            coefficients=np.array(coefficients, dtype=float),
            frames=self.frames,
            forces=self._forces(coordinates),
            augment=np.zeros((len(sizes), 2)),
            pieces=[piece for piece in self.pieces if not piece.loop],
            goals=filled(self.goals, GOAL),
            locked=self.locked,
        )
        self._edges(model)
        return model

    # ------------------------------------------------------------------ bodies and joints

    def _body(self, parent: int) -> int:
        self.parents.append(parent)
        self.parts.append([])
        return len(self.parts) - 1

    def _chain(self, joint: Joint, a: int, Xa: Pose) -> tuple[int, Pose]:
        """Create the bodies and pieces of a tree joint; (index of its last body, pose of the child's frame in it)."""
        groups = split(joint.primitives)
        k = kq = 0
        for group in groups:
            b = self._body(a)
            last = group is groups[-1]
            # A body's frame is at first that of what the joint carries; `_bodies` moves it to the COM.
            Xb = joint.child_pose.inverse() if last else Pose()
            self.pieces.append(Piece(joint, group, k, kq, a, Xa, b, Xb))
            if group[0].motion is Motion.FREE and joint.armature[k + 3] > 0.0:
                self.parts[b].append((Inertia(joint.armature[k + 3]), Xb))  # a point mass at the joint
                self.weightless.append(self.pieces[-1])
            a, Xa = b, Pose()
            k, kq = k + sum(p.nv for p in group), kq + sum(p.nq for p in group)
        return a, Pose()

    def _bodies(self) -> Any:
        bodies = records(len(self.parts), BODY)
        shift = []
        for record, parent, parts in zip(bodies, self.parents, self.parts, strict=True):
            inertia = Inertia.from_parts(parts) if parts else Inertia()
            record.parent, record.mass, record.J = parent, inertia.mass, inertia.matrix.ravel()
            spread = max(float(np.trace(inertia.matrix)), 0.0)
            record.radius = np.sqrt(spread / (2.0 * inertia.mass)) if inertia.mass > 0.0 else 0.0
            shift.append(Pose(tuple(-x for x in inertia.com)))
        self.rotors = rotors(bodies, self.pieces, self.frames)
        known = bodies.radius[(bodies.radius > 0.0) & ~self.rotors]
        typical = float(np.median(known)) if len(known) else 1.0
        bodies.radius = np.where((bodies.radius > 1e-3 * typical) & ~self.rotors, bodies.radius, typical)
        bodies.mass[self.rotors & (bodies.mass < NO_MASS * bodies.mass.max(initial=0.0))] = 0.0
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
        Xa, Xb = Xa * joint.pose, Xb * joint.child_pose.inverse()
        self.pieces.append(Piece(joint, joint.primitives, 0, 0, a, Xa, b, Xb, loop=True))

    # ------------------------------------------------------------------ equations and coordinates

    def _coordinates(self) -> tuple[list[dict[str, Any]], dict[int, int]]:
        """Coordinates of all pieces, and the index of the first coordinate of each piece."""
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
            out += piece_coordinates(piece)
        own, self.m = ropes(self.m, self.frames, out)
        out += own
        springs = self.m.tree.dofs
        damps = any(any(joint.damping) or any(joint.limit_damping) for joint in driven_joints(self.m))
        for c in out:
            single = c["iv"] >= 0 and c["kind"] in (SLIDE, HINGE)
            if c["iv"] >= 0:
                own = springs[c["iv"] : c["iv"] + FREEDOMS[c["kind"]]]
                c["stiffness"] = own.stiffness.max()
                c["rest"] = own.rest[0] if single else 0.0
            c["inertia"] = 1.0 / self._mobility[c["iv"]] if single and damps else np.inf
        return out, first

    @cached_property
    def _mobility(self) -> FloatArray:
        """Diagonal of the inverse joint-space inertia matrix at home, shape (nv,)."""
        return mobility_at_home(self.m)

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
            _pass_limits(c, d, coupling.coefficients)
        return coefficients

    def _prescribed(self, rows: Any, sizes: Any, names: Any, coordinates: Any, first: int) -> list[float]:
        """Equations of prescribed motions: one for a coordinate, six for a body, those of a weld to a moving frame."""
        place = {c["iv"]: k for k, c in enumerate(coordinates) if c["iv"] >= 0}
        coefficients: list[float] = []
        at = column = 0
        for name in self.m.prescribed:
            kind = VALUE if name in self.m.velocity_names else FRAME
            if kind == VALUE:
                k = place[self.m.velocity_index(name)]
                c = coordinates[k]
                # Like a lock, with the value from `MaximalData.goals` in place of the constant.
                row = {"kind": COUPLING, "a": c["a"], "b": c["b"], "coordinate": k, "leader": k, "count": 1}
                new = [row | {"first": first + len(coefficients), "local": 0}]
                coefficients.append(0.0)
                c["lower"], c["upper"] = -np.inf, np.inf
            else:
                b = self.frames[name][0]
                equations, _ = joint_equations(name, (), -1, Pose(), b, Pose())
                own = [{k: v for k, v in row.items() if k not in ("n2", "w2")} for row in equations or ()]
                new = [row | {"local": local} for local, row in enumerate(own)]
            rows += [row | {"node": len(sizes), "goal": at} for row in new]
            sizes.append(len(new))
            names.append(name)
            self.goals.append({"kind": kind, "first": column, "at": at})
            at, column = at + SIZES[kind], column + COLUMNS[kind]
        self.locked = self.locked or bool(self.goals)
        return coefficients

    def _locks(self, rows: Any, sizes: Any, names: Any, coordinates: Any, first: int) -> list[float]:
        """Equations that lock coordinates whose limits leave no range, as there is no interior between the limits.

        Each is a coupling of a coordinate with itself, by a constant polynomial.
        """
        coefficients: list[float] = []
        for k, c in enumerate(coordinates):
            if c["kind"] in (ROPE, SLIDE, HINGE) and c["upper"] - c["lower"] < NO_ROOM:
                row = {"kind": COUPLING, "a": c["a"], "b": c["b"], "coordinate": k, "leader": k, "count": 1}
                rows.append(row | {"first": first + len(coefficients), "node": len(sizes), "local": 0})
                coefficients.append(0.5 * (c["lower"] + c["upper"]))
                sizes.append(1)
                names.append(self.m.velocity_names[c["iv"]] if c["iv"] >= 0 else "lock")
                c["lower"], c["upper"] = -np.inf, np.inf
                self.locked = True
        return coefficients

    # ------------------------------------------------------------------ graph

    def _edges(self, model: Model) -> None:
        """Collect the blocks of the Newton matrix as edges; sets the edges of rows and coordinates."""
        n = len(model.bodies)
        edges: dict[tuple[int, int], int] = {}
        needed: set[tuple[int, int]] = set()

        def seldom(i: int, j: int) -> int:
            if i < 0 or j < 0 or i == j:
                return -1
            return edges.setdefault((min(i, j), max(i, j)), len(edges))

        def edge(i: int, j: int) -> int:
            needed.add((min(i, j), max(i, j)))
            return seldom(i, j)

        for row in model.rows:
            node = n + int(row.node)
            row.ea, row.eb, row.ea2, row.eb2 = edge(row.a, node), edge(row.b, node), -1, -1
            if row.kind == COUPLING:
                leader = model.coordinates[row.leader]
                row.ea2, row.eb2 = edge(leader.a, node), edge(leader.b, node)
        for c in model.coordinates:
            implicit = (
                c.armature or c.stiffness or c.damping.any() or c.friction or np.isfinite((c.lower, c.upper)).any()
            )
            implicit = implicit or (c.iv >= 0 and model.forces.dofs[c.iv].limit_damping > 0.0)
            c.edge = edge(c.a, c.b) if implicit else -1
        self._augment(model, edge)
        for row in model.rows:
            row.eab = edge(row.a, row.b) if model.augment[row.node].any() else NOT_LENT
        points = model.forces.points
        paths = tying(model.forces.paths)
        with_lengths(model, sprung_lengths(self.m, model.forces, self.axes), edge, seldom)
        model.paths = paths
        tied, first = [], []
        for path in paths:
            nodes = points.node[path.first : path.first + path.count].tolist()
            first.append(len(tied))
            tied += [edge(i, j) for i in nodes for j in nodes]
        model.tied, model.tied_first = np.array(tied, np.int64), np.array(first, np.int64)
        acting = resisting(model.forces)
        model.resisting = forceless(model.forces) if acting is None else acting
        bodies = model.resisting.touched.tolist()
        joined = set() if acting is None else together(acting)
        often = set() if acting is None else together(without_limits(acting))

        def tie(i: int, j: int) -> int:
            pair = min(i, j), max(i, j)
            return -1 if pair not in joined else edge(i, j) if pair in often else seldom(i, j)

        ties = [[tie(i, j) for j in bodies] for i in bodies]
        ties += _apart(bodies, resisting(model.forces._replace(tendons=model.forces.tendons[:0])))
        model.resisting_edges = np.array(ties, np.int64).reshape(len(ties), len(bodies))
        # The step computes the forces of these springs itself, by discrete gradients.
        model.springs, dofs = model.forces.dofs, model.forces.dofs.copy()
        dofs.stiffness = 0.0
        model.forces = model.forces._replace(paths=model.forces.paths[:0], dofs=dofs)
        model.edges = [pair for pair, _ in sorted(edges.items(), key=lambda item: item[1])]
        model.slack = frozenset(edges) - needed
        model.bodies.group = groups(n, model.edges)

    def _augment(self, model: Model, edge: Any) -> None:
        """Augment the equations of a body without inertia by those of its joints, so that its block is regular.

        Adding a multiple of a joint's equation to the body's changes no solution. The body's own joint and those it
        carries have no common free direction, so the block is regular in any elimination order; contacts of carried
        bodies may require it to be eliminated first. Where two of their axes align, the body could spin between them;
        its inertia `least`, which enters the Newton matrix only, keeps the block regular.
        """
        bodies = model.bodies
        known = bodies.mass[(bodies.mass > 0.0) & ~self.rotors]
        mass = float(np.median(known)) if len(known) else 1.0
        least = np.array([np.linalg.eigvalsh(b.J.reshape(3, 3))[0] for b in bodies])
        light = (bodies.mass <= 0.0) | self.rotors | (least < SINGULAR * mass * bodies.radius**2)
        own = np.where((bodies.mass > 0.0) & ~self.rotors, bodies.mass, mass)
        carries = np.isin(np.arange(len(bodies)), bodies.parent)
        bodies.behind, bodies.least = own, np.where(light & carries, LEAST * own, 0.0)
        for node, piece in enumerate(self.pieces):
            for side, body in enumerate((piece.a, piece.b)):
                if not piece.loop and body >= 0 and light[body]:
                    model.augment[node, side] = own[body]
                    edge(piece.a, piece.b)

    # ------------------------------------------------------------------ forces

    def _forces(self, coordinates: list[dict[str, Any]]) -> ForceModel:
        """Force model, with indices of `bodies` in place of the tree's nodes."""
        self.axes = _axes(self.m, coordinates)
        forces = force_model(self.m.tree)._replace(**force_records(self.m, self.frames, self.axes))
        if not self.weightless:
            return forces
        held = zeroed(len(self.weightless), WRENCH)  # armature has no weight: compensate gravity on it
        for record, piece in zip(held, self.weightless, strict=True):
            record.node, record.point = piece.b, piece.Xb.position
            record.wrench[3:] = -piece.joint.armature[piece.first + 3] * np.array(self.m.gravity)
        return compact(forces._replace(wrenches=np.concatenate([forces.wrenches, held]).view(np.recarray)))


def _axes(mechanism: Mechanism, coordinates: list[dict[str, Any]]) -> tendon_records.Axes:
    """Data with which tendons measure the joints with one axis."""
    out = {}
    limits = [(low, high) for j in mechanism.joints for low, high in zip(j.lower, j.upper, strict=True)]
    for c in coordinates:
        if c["kind"] not in (SLIDE, HINGE) or c["iv"] < 0:
            continue
        kind = tendon_records.SLIDE if c["kind"] == SLIDE else tendon_records.HINGE
        ends = {"kind": kind, "node": c["b"], "other": c["a"], "near": tendon_records.middle(*limits[c["iv"]])}
        ends |= {"iq": c["iq"], "iv": c["iv"]}
        out[c["iv"]] = ends | {name: c[name] for name in ("sign", "n", "n2", "w2", "pa", "pb") if name in c}
    return out


def _pass_limits(follower: dict[str, Any], leader: dict[str, Any], coefficients: Any) -> None:
    """Convert limits of the follower of a linear coupling to limits of its leader, as both at once are redundant."""
    if len(coefficients) > 2 or len(coefficients) < 2 or coefficients[1] == 0.0:
        return
    ends = sorted((bound - coefficients[0]) / coefficients[1] for bound in (follower["lower"], follower["upper"]))
    lower, upper = max(leader["lower"], ends[0]), min(leader["upper"], ends[1])
    if lower <= upper + NO_ROOM:
        leader["lower"], leader["upper"] = lower, max(lower, upper)
        follower["lower"], follower["upper"] = -np.inf, np.inf


def _apart(bodies: list[int], forces: ForceModel | None) -> list[list[int]]:
    """Partition bodies into sets in which no two act on the same body by `forces`. A set is a list that gives, for each
    body, the index of the member that acts on it, or -1."""
    if forces is None:
        return []
    joined, acting = together(forces), set(forces.touched.tolist())
    sets: list[list[int]] = []
    for j, body in enumerate(bodies):
        if body not in acting:
            continue
        own = [k for k, i in enumerate(bodies) if k == j or (min(i, body), max(i, body)) in joined]
        fitting = next((s for s in sets if all(s[k] < 0 for k in own)), None)
        if fitting is None:
            fitting = [-1] * len(bodies)
            sets.append(fitting)
        for k in own:
            fitting[k] = j
    return sets
