"""Functions of where the links are: points, poses, distances, the centre of mass, momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from leastaction.dynamics.workspace import Workspace
from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.optimize.functions import argument_checks, knot_kinematics
from leastaction.optimize.functions.manifold_derivatives import even, left_jacobian, left_jacobian_slopes
from leastaction.optimize.functions.motion_functions import BoolArray, Curvature, FloatArray, Function, Place, Values


@dataclass
class BodyPoint(Function):
    """A point of a body in the world [m].

    Attributes:
        body: its name.
        point: in the body's frame [m].
    """

    body: str = ""
    point: Any = (0.0, 0.0, 0.0)
    has_curvatures: ClassVar[bool] = True

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        frame = mechanism.tree.bodies[mechanism.body_index(self.body)]
        self.frame = np.eye(4)
        self.frame[:3, :3], self.frame[:3, 3] = frame.R.reshape(3, 3), frame.p
        point = argument_checks.numbers(self.point, [(3,)], f"{self.name}: point [m]")
        self.frame[:3, 3] += self.frame[:3, :3] @ point
        self.node = int(frame.node)
        self.order = carrying(mechanism)
        self.workspace = Workspace(mechanism)
        self.size = 3

    def poses(self, place: Place) -> tuple[FloatArray, FloatArray]:
        """World from the frame at the point, shape (rows, 4, 4), and world twists (rows, 6, nv) about the point."""
        w, rows = self.workspace, len(place.q)
        poses, J = np.zeros((rows, 12)), np.zeros((rows, 6, self.mechanism.nv))
        offset = np.ascontiguousarray(self.frame[:3, 3])
        knot_kinematics.frame_rows(
            w.tree.nodes, w.links, w.screws, np.ascontiguousarray(place.q), self.node, offset, poses, J
        )
        X = np.zeros((rows, 4, 4))
        X[:, :3, :3] = poses[:, :9].reshape(-1, 3, 3) @ self.frame[:3, :3]
        X[:, :3, 3], X[:, 3, 3] = poses[:, 9:], 1.0
        return X, J

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        X, J = self.poses(place)
        return Values(X[:, :3, 3], q=J[:, 3:] if slopes else None)

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        return Curvature(self.point_hessian(self.poses(place)[1], bar))

    def point_hessian(self, J: FloatArray, bar: FloatArray) -> FloatArray:
        """Second derivatives (rows, nv, nv) of bar . point: what is farther out turns by w with what is nearer.

        bar . (w_a x v_b), with a the one that carries b; J: of `poses`.
        """
        pairs = np.einsum("kia,kib->kab", np.cross(bar[:, :, None], J[:, :3], axis=1), J[:, 3:]) * self.order
        return pairs + np.swapaxes(pairs, 1, 2)

    def columns(self) -> BoolArray:
        """Degrees of freedom that move the body."""
        out = np.zeros(self.mechanism.nv, bool)
        nodes, i = self.mechanism.tree.nodes, self.node
        while i >= 0:
            out[int(nodes[i].iv) : int(nodes[i].iv + nodes[i].nv)] = True
            i = int(nodes[i].parent)
        return out

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"q": np.tile(self.columns(), (self.size, 1))}


@dataclass
class BodyPose(BodyPoint):
    """How far a body's frame is from a wanted one: (rotation vector [rad] in the wanted frame, shift in the world [m]).

    Attributes:
        pose: the wanted pose, shape (4, 4), world from body; or a rotation alone, shape (3, 3).
    """

    pose: Any = None

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        wanted = argument_checks.numbers(self.pose, [(4, 4), (3, 3)], f"{self.name}: pose")
        R = wanted[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
            raise ProblemError(f"{self.name}: the upper left 3 x 3 block of the pose is no rotation")
        self.wanted = wanted
        self.size = 6 if wanted.shape == (4, 4) else 3

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        X, J = self.poses(place)
        R = self.wanted[:3, :3].T @ X[:, :3, :3]
        w = rotation_vectors(R)
        value, slope = w, None
        if slopes:
            # A turn J of the body in the world is R' J in the wanted frame, and moves w by J_l^-1(w).
            slope = np.asarray(np.linalg.solve(left_jacobian(w), self.wanted[:3, :3].T @ J[:, :3]), float)
        if self.size == 6:
            value = np.concatenate([w, X[:, :3, 3] - self.wanted[:3, 3]], axis=1)
            slope = None if slope is None else np.concatenate([slope, J[:, 3:]], axis=1)
        return Values(value, q=slope)

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        X, J = self.poses(place)
        wanted = self.wanted[:3, :3]
        w = rotation_vectors(wanted.T @ X[:, :3, :3])
        Jl = left_jacobian(w)
        slope = np.linalg.solve(Jl, wanted.T @ J[:, :3])
        back = np.asarray(np.linalg.solve(np.swapaxes(Jl, 1, 2), bar[:, :3, None])[:, :, 0], float)
        H = -np.swapaxes(slope, 1, 2) @ even(left_jacobian_slopes(w, back)) @ slope
        # The axis of what is farther out turns with what is nearer.
        turned = np.cross((back @ wanted.T)[:, :, None], J[:, :3], axis=1)
        pairs = np.einsum("kia,kib->kab", turned, J[:, :3]) * (self.order == 1.0)
        H += even(pairs)
        return Curvature(H + self.point_hessian(J, bar[:, 3:]) if self.size == 6 else H)


@dataclass
class Clearance(BodyPoint):
    """Distance [m] of a ball on a body from a ball in the world.

    Attributes:
        radius: of the ball about `point` on the body [m].
        center: of the obstacle [m].
        obstacle_radius: [m].
    """

    radius: float = 0.0
    center: Any = (0.0, 0.0, 0.0)
    obstacle_radius: float = 0.0

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        self.middle = argument_checks.numbers(self.center, [(3,)], f"{self.name}: center [m]")
        argument_checks.number(self.radius, f"{self.name}: body_radius [m]", least=0.0)
        argument_checks.number(self.obstacle_radius, f"{self.name}: radius [m]", least=0.0)
        self.size = 1

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        X, J = self.poses(place)
        d = X[:, :3, 3] - self.middle
        length = np.linalg.norm(d, axis=1, keepdims=True)
        value = length - self.radius - self.obstacle_radius
        if not slopes:
            return Values(value)
        normal = d / np.maximum(length, 1e-12)
        return Values(value, q=np.einsum("ki,kij->kj", normal, J[:, 3:])[:, None])

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        X, J = self.poses(place)
        d = X[:, :3, 3] - self.middle
        length = np.maximum(np.linalg.norm(d, axis=1, keepdims=True), 1e-12)
        normal, V = d / length, J[:, 3:]
        along = np.einsum("ki,kia->ka", normal, V)
        across = np.einsum("kia,kib->kab", V, V) - along[:, :, None] * along[:, None]
        return Curvature((bar / length)[:, :, None] * across + self.point_hessian(J, bar * normal))


@dataclass
class CenterOfMass(Function):
    """Centre of mass of all bodies in the world [m]."""

    has_curvatures: ClassVar[bool] = True

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        if mechanism.total_mass <= 0.0:
            raise ProblemError(f"{self.name}: {mechanism.name!r} has no mass")
        self.workspace = Workspace(mechanism)
        self.seen: Any = None
        self.share, self.fixed = float(mechanism.tree.nodes.mass.sum()) / mechanism.total_mass, np.zeros(3)
        for body, frame in zip(mechanism.bodies, mechanism.tree.bodies, strict=True):
            if frame.node < 0:
                middle = frame.p + frame.R.reshape(3, 3) @ np.array(body.inertia.com)
                self.fixed += body.inertia.mass / mechanism.total_mass * middle
        self.size = 3

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        if self.seen is None or not _same(self.seen[0], place.q):
            w, n = self.workspace, len(place.q)
            c, J = np.zeros((n, 3)), np.zeros((n, 3, self.mechanism.nv))
            q, mass = np.ascontiguousarray(place.q), self.mechanism.total_mass
            knot_kinematics.center_rows(w.tree.nodes, w.links, w.screws, q, w.external, mass, c, J)
            self.seen = (place.q, self.center(c), J)
        return Values(self.seen[1], q=self.seen[2])

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        w, nv = self.workspace, self.mechanism.nv
        H = self.room(len(bar), nv, nv)
        bar = np.ascontiguousarray(bar / self.mechanism.total_mass)
        knot_kinematics.center_hessian(w.tree.nodes, w.links, w.screws, np.ascontiguousarray(place.q), bar, H)
        return Curvature(H)

    def center(self, c: FloatArray) -> FloatArray:
        """Centre of mass of all bodies, from that of those that move: some may be fixed to the world."""
        return self.share * c + self.fixed

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"q": np.ones((3, self.mechanism.nv), bool)}


@dataclass
class CentroidalMomentum(CenterOfMass):
    """Momentum about the centre of mass: angular [kg m^2/s], linear [kg m/s] (Villanueva 2025, Eq. 79)."""

    where: ClassVar[str] = "steps"

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        nv, w = mechanism.nv, self.workspace
        scratch = w.external, np.zeros((nv, 6)), np.zeros((nv, 6)), np.zeros(nv)
        self.data = knot_kinematics.CentroidalData(w.tree.nodes, w.links, w.screws, *scratch)
        self.size = 6

    def momenta(self, q: FloatArray, v: FloatArray) -> knot_kinematics.MomentumRows:
        """See `momenta`; those of the last call are kept, since values and derivatives of both orders ask for them."""
        if self.seen is None or not (_same(self.seen[0], q) and _same(self.seen[1], v)):
            self.seen = (q, v, momenta(self.workspace, q, v, None if self.seen is None else self.seen[2]))
        return self.seen[2]

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        h, c, A, D = self.momenta(place.q, place.v)
        c = self.center(c)
        value = h.copy()
        value[:, :3] -= cross(c, h[:, 3:])
        if not slopes:
            return Values(value)
        A, D = A.copy(), D.copy()
        A[:, :3] -= skew(c) @ A[:, 3:]
        D[:, :3] += skew(h[:, 3:] / self.mechanism.total_mass) @ A[:, 3:] - skew(c) @ D[:, 3:]
        return Values(value, q=D, v=A)

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        nv, bar = self.mechanism.nv, np.ascontiguousarray(bar)
        rows = self.momenta(place.q, place.v)
        center, mass = self.center(rows.c), self.mechanism.total_mass
        H = self.room(len(bar), 2 * nv, 2 * nv)
        q, v = np.ascontiguousarray(place.q), np.ascontiguousarray(place.v)
        knot_kinematics.centroidal_hessian(self.data, q, v, bar, center, mass, rows, H)
        zeta = np.concatenate([bar[:, :3], bar[:, 3:] - cross(bar[:, :3], center)], axis=1)
        return Curvature(H, np.einsum("km,kmn->kn", zeta, rows.A))

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        full = np.ones((6, self.mechanism.nv), bool)
        return {"q": full, "v": full}


def carrying(mechanism: Mechanism) -> FloatArray:
    """1 where degree of freedom a carries b, 1/2 where both are of one joint, else 0; shape (nv, nv)."""
    nodes = mechanism.tree.nodes
    out = np.zeros((mechanism.nv, mechanism.nv))
    for i in range(len(nodes)):
        own, j = slice(int(nodes[i].iv), int(nodes[i].iv + nodes[i].nv)), i
        while j >= 0:
            out[int(nodes[j].iv) : int(nodes[j].iv + nodes[j].nv), own] = 1.0 if j != i else 0.5
            j = int(nodes[j].parent)
    return out


def _same(a: FloatArray, b: FloatArray) -> bool:
    return a is b or (a.shape == b.shape and bool((a == b).all()))


def cross(x: FloatArray, y: FloatArray) -> FloatArray:
    """x × y of rows; `numpy.cross` takes longer than all else here."""
    out = np.empty((len(x), 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, i] = x[:, j] * y[:, k] - x[:, k] * y[:, j]
    return out


def skew(x: FloatArray) -> FloatArray:
    """Matrices (rows, 3, 3) that take y to x × y."""
    out = np.zeros((len(x), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = x[:, 0], x[:, 1], x[:, 2]
    return out - np.swapaxes(out, 1, 2)


def momenta(
    w: Workspace, q: FloatArray, v: FloatArray, out: knot_kinematics.MomentumRows | None = None
) -> knot_kinematics.MomentumRows:
    """Momenta about the world's origin, centres of mass, and their derivatives; into `out` where that is as large."""
    n, nv, z = len(q), w.tree.nv, np.zeros
    if out is None or len(out.c) != n:
        out = knot_kinematics.MomentumRows(z((n, 6)), z((n, 3)), z((n, 6, nv)), z((n, 6, nv)))
    for array in out:
        array[:] = 0.0
    q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
    knot_kinematics.momentum_rows(w.tree.nodes, w.links, w.screws, q, v, w.external, out)
    return out


def rotation_vectors(R: FloatArray) -> FloatArray:
    """Rotation vectors [rad] of rotations (rows, 3, 3), at most pi long."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_rotvec()
