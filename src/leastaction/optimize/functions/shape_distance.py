"""Signed distance between the shapes of two bodies, for plans that keep them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.contact_shapes import collect
from leastaction.contact.narrow_phase.convex_hulls import hull
from leastaction.contact.records import CONTACT, records
from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism, MechanismBuilder, Pose
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.shapes import Box, Mesh, Shape
from leastaction.optimize.functions.kinematic_functions import BodyPoint
from leastaction.optimize.functions.motion_functions import BoolArray, FloatArray, Function, Place, Values

OVERLAP = 1e-9
"""Distance of two hulls below which they count as overlapping, and contacts say how deep they are [m]."""

REACH = 1e6
"""Distance up to which shapes are looked at [m]: all of them."""


@dataclass
class ShapeDistance(Function):
    """Least signed distance [m] between two bodies; negative where they overlap.

    The distance of two convex shapes changes by the velocity of the points where they are nearest, along the normal, as
    these points do what makes it least. Where boxes and hulls overlap it is the least gap of their contacts.

    Attributes:
        first, second: names of bodies, or "world"; or of one shape of theirs, BODY/SHAPE.
    """

    first: str = ""
    second: str = ""
    has_curvatures: ClassVar[bool] = False

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        self.size = 1
        sides = [_shapes_of(mechanism, name, self.name) for name in (self.first, self.second)]
        (one, _), (other, _) = sides
        if one == other:
            raise ProblemError(f"{self.name}: both are body {one!r}; a body keeps its distance from itself")
        self.points = [self._origin(mechanism, body, steps) for body, _ in sides]
        self.corners: dict[str, FloatArray | None] = {}
        # A scene of two bodies, on which no filter of the robot acts.
        builder = MechanismBuilder("pair")
        for name, (_, shapes) in zip("ab", sides, strict=True):
            builder.body(name, mass=1.0, inertia=1.0)
            builder.free(name)
            owner = WORLD if self.points["ab".index(name)] is None else name
            for shape in shapes:
                label = f"{len(self.corners)}"
                self.corners[label] = _corners(shape)
                plain = replace(shape, groups=1, touches=1, collision=True, surface_velocity=None, name=label)
                builder.add_shape(owner, plain)
        self.table = collect(builder.build(), {"a": (0, Pose()), "b": (1, Pose())})
        grounded = any(point is None for point in self.points)
        self.pairs = self.table.ground if grounded else self.table.body_pairs()
        if not len(self.pairs):
            raise ProblemError(f"{self.name}: the distance between these shapes is not known")
        self._found: Any = records(16, CONTACT)
        named = [self.corners[name] for _, name in self.table.names]
        self.polytopes = {
            k: (one, other)
            for k, pair in enumerate(self.pairs)
            if (one := named[int(pair.a)]) is not None and (other := named[int(pair.b)]) is not None
        }

    @staticmethod
    def _origin(mechanism: Mechanism, body: str, steps: int) -> BodyPoint | None:
        """The frame of a body, or None of the world."""
        if body == WORLD:
            return None
        point = BodyPoint(body, body=body)
        point.prepare(mechanism, steps)
        return point

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        rows, n = len(place.q), self.mechanism.nv
        frames = [None if point is None else point.poses(place) for point in self.points]
        value, by_q = np.zeros((rows, 1)), np.zeros((rows, 1, n))
        poses = np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), (2, 1))
        for k in range(rows):
            for side, frame in enumerate(frames):
                if frame is not None:
                    X = frame[0][k]
                    poses[side, :9], poses[side, 9:] = X[:3, :3].ravel(), X[:3, 3]
            value[k], side, normal, x = self._nearest(poses)
            if slopes:
                by_q[k, 0] = self._rate(frames, k, side, normal, x)
        return Values(value, q=by_q if slopes else None)

    def _nearest(self, poses: FloatArray) -> tuple[float, tuple[int, int], FloatArray, FloatArray]:
        """Least distance, its two sides, and the normal from the first to the second at a point."""
        table = self.table
        while (count := detect_all(table.shapes, self.pairs, poses, table.data, self._found, REACH)) > len(self._found):
            self._found = records(count, CONTACT)
        found = self._found[:count]
        gaps, normals, points = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3))
        measure_all(found, poses, gaps, normals, points)
        nearest = [
            (float(gaps[k]), (int(found[k].a), int(found[k].b)), normals[k], points[k])
            for k in range(count)
            if int(found[k].pair) not in self.polytopes
        ]
        for k, (one, other) in self.polytopes.items():
            sides = tuple(int(table.shapes[int(i)].body) for i in (self.pairs[k].a, self.pairs[k].b))
            x, y = nearest_points(*(_placed(poses, i, c) for i, c in zip(sides, (one, other), strict=True)))
            apart = float(np.linalg.norm(y - x))
            if apart > OVERLAP:
                nearest.append((apart, (sides[0], sides[1]), (y - x) / apart, x))
                continue
            own = [j for j in range(count) if int(found[j].pair) == k]
            nearest += [(float(gaps[j]), (int(found[j].a), int(found[j].b)), normals[j], points[j]) for j in own]
        if not nearest:
            raise ProblemError(f"{self.name}: these shapes are farther than {REACH:g} m apart")
        return min(nearest, key=lambda one: one[0])

    def _rate(self, frames: list[Any], k: int, sides: tuple[int, int], normal: FloatArray, x: FloatArray) -> FloatArray:
        """Derivative by q along the tangent, shape (nv,): normal . (velocity of b - velocity of a)."""
        out = np.zeros(self.mechanism.nv)
        for sign, side in zip((-1.0, 1.0), sides, strict=True):
            frame = frames[side] if side >= 0 else None
            if frame is not None:
                X, J = frame[0][k], frame[1][k]
                lever = np.cross(J[:3], (x - X[:3, 3])[:, None], axis=0)
                out += sign * normal @ (J[3:] + lever)
        return out

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        moves = [point.columns() for point in self.points if point is not None]
        return {"q": np.logical_or.reduce(moves)[None]}


def _corners(shape: Shape) -> FloatArray | None:
    """Of a box or a hull in the body's frame [m], shape (n, 3); None of shapes that are round somewhere."""
    if isinstance(shape, Box):
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, 8).T
        local = signs * np.array(shape.size)
    elif isinstance(shape, Mesh):
        local = hull(shape).vertices
    else:
        return None
    return local @ shape.pose.rotation.T + np.array(shape.pose.position)


def _placed(poses: FloatArray, side: int, points: FloatArray) -> FloatArray:
    """Points of a side in the world."""
    return points if side < 0 else points @ poses[side, :9].reshape(3, 3).T + poses[side, 9:]


def nearest_points(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest points of two convex hulls, given by corners (n, 3) and (m, 3); the same where they overlap.

    Shares of the corners of each hull are not negative and add up to one: least squares with heavy rows for the sums,
    then exactly for the corners that have a share.
    """
    centre = one.mean(axis=0)
    A, B = one - centre, other - centre
    heavy = 1e3 * max(float(np.abs(A).max()), float(np.abs(B).max()))
    rows = np.zeros((5, len(A) + len(B)))
    rows[:3, : len(A)], rows[:3, len(A) :] = A.T, -B.T
    rows[3, : len(A)], rows[4, len(A) :] = heavy, heavy
    shares = nnls(rows, np.array([0.0, 0.0, 0.0, heavy, heavy]))[0]
    used = np.flatnonzero(shares > 0.0)
    # Stationary for given sums: [R'R C'; C 0] [shares; multipliers] = [0; 1].
    R, C = rows[:3, used], rows[3:, used] / heavy
    system = np.block([[R.T @ R, C.T], [C, np.zeros((2, 2))]])
    shares[used] = np.linalg.lstsq(system, np.concatenate([np.zeros(len(used)), np.ones(2)]), rcond=None)[0][:-2]
    return shares[: len(A)] @ A + centre, shares[len(A) :] @ B + centre


def _shapes_of(mechanism: Mechanism, name: str, what: str) -> tuple[str, list[Shape]]:
    """(Body that carries it, shapes) of a body, or of one shape BODY/SHAPE."""
    if not isinstance(name, str):
        raise ProblemError(f"{what}: expected the name of a body, got {name!r:.80}")
    body, _, own = (name, "", "") if name in (WORLD, *mechanism.body_names) else name.partition("/")
    if body not in (WORLD, *mechanism.body_names):
        raise ProblemError(f"{what}: there is no body {body!r}")
    shapes = mechanism.ground if body == WORLD else mechanism.bodies[mechanism.body_index(body)].shapes
    chosen = [s for k, s in enumerate(shapes) if (own in (s.name, str(k)) if own else s.collision)]
    if not chosen and shapes and not own:
        first = shapes[0].name or "0"
        raise ProblemError(
            f"{what}: no shape of body {body!r} collides; name one of them, such as {body + '/' + first!r}"
        )
    if not chosen:
        names = ", ".join(s.name or str(k) for k, s in enumerate(shapes)) or "none"
        raise ProblemError(f"{what}: body {body!r} has no such shape to keep apart; there is {names}")
    return body, chosen
