"""Forward kinematics of a run's initial state: poses, twists and momenta of bodies from joint coordinates."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from leastaction.maximal.maximal_records import BALL, FREE, HINGE
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism
from leastaction.mechanism.joints import Motion
from leastaction.mechanism.pose import Pose, rotation_matrix
from leastaction.mechanism.pose_arrays import carried
from leastaction.typing import FloatArray

_Vector: TypeAlias = tuple[float, float, float]
_Quaternion: TypeAlias = tuple[float, float, float, float]
_Place: TypeAlias = tuple[_Vector, _Quaternion]

_ZERO: _Vector = (0.0, 0.0, 0.0)
_STILL: _Quaternion = (1.0, 0.0, 0.0, 0.0)
_WORLD: _Place = (_ZERO, _STILL)


def place(model: Model, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Poses (bodies, 7), twists (bodies, 6: angular in the body frame, velocity of the COM) and joint rates.

    Uses plain Python numbers: shooting methods call it at every step, where small NumPy arrays would dominate its time.

    Args:
        q: joint positions, shape (nq,).
        v: joint velocities, shape (nv,).
    """
    n, where, rate = len(model.bodies), q.tolist(), v.tolist()
    poses: list[_Place] = []
    spatial: list[tuple[_Vector, _Vector]] = []  # twists about the world's origin
    for piece in model.pieces:
        X, (w, c) = (poses[piece.a], spatial[piece.a]) if piece.a >= 0 else (_WORLD, (_ZERO, _ZERO))
        X = _after(X, (piece.Xa.position, piece.Xa.quaternion))
        iq, iv = piece.iq, piece.iv
        for p in piece.primitives:
            if p.motion in (Motion.SPHERICAL, Motion.FREE):
                free = p.motion == Motion.FREE
                X = _after(X, (tuple(where[iq : iq + 3]) if free else _ZERO, _unit(where[iq + p.nq - 4 : iq + p.nq])))
                turn = _turned(X[1], rate[iv : iv + 3])
                shift = _turned(X[1], rate[iv + 3 : iv + 6]) if free else _ZERO
                w, c = _plus(w, turn), _plus(c, _plus(shift, _cross(X[0], turn)))
            else:
                axis, x, angle = _turned(X[1], p.axis), where[iq], rate[iv]
                if p.motion == Motion.PRISMATIC:
                    c = _plus(c, axis, angle)
                    X = _after(X, (_plus(_ZERO, p.axis, x), _STILL))
                else:
                    c = _plus(c, _plus(_cross(X[0], axis), axis, p.pitch), angle)
                    w = _plus(w, axis, angle)
                    sine = math.sin(0.5 * x)
                    turn = (math.cos(0.5 * x), sine * p.axis[0], sine * p.axis[1], sine * p.axis[2])
                    X = _after(X, (_plus(_ZERO, p.axis, p.pitch * x), turn))
            iq, iv = iq + p.nq, iv + p.nv
        w0, x0, y0, z0 = piece.Xb.quaternion
        back = (w0, -x0, -y0, -z0)
        X = _after(X, (_turned(back, _plus(_ZERO, piece.Xb.position, -1.0)), back))
        poses.append((X[0], _unit(X[1])))
        spatial.append((w, c))
    coordinates = model.coordinates
    single = (coordinates.iv >= 0) & (coordinates.kind != BALL) & (coordinates.kind != FREE)
    rates = np.zeros(len(coordinates))
    rates[single] = v[coordinates.iv[single]]
    Z, twists = np.zeros((n, 7)), np.zeros((n, 6))
    for i, ((x, r), (w, c)) in enumerate(zip(poses, spatial, strict=True)):
        Z[i] = (*x, *r)
        twists[i] = (*_turned((r[0], -r[1], -r[2], -r[3]), w), *_plus(c, _cross(w, x)))
    return Z, twists, rates


def _plus(a: Any, b: Any, k: float = 1.0) -> _Vector:
    """a + k b."""
    return a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]


def _cross(a: Any, b: Any) -> _Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _turned(r: Any, a: Any) -> _Vector:
    """Vector a rotated by the unit quaternion r."""
    t = _cross(r[1:], a)
    t = (2.0 * t[0], 2.0 * t[1], 2.0 * t[2])
    return _plus(_plus(a, t, r[0]), _cross(r[1:], t))


def _unit(r: Any) -> _Quaternion:
    k = 1.0 / math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    return k * r[0], k * r[1], k * r[2], k * r[3]


def _after(X: _Place, Y: Any) -> _Place:
    """Composition X Y of two transforms."""
    (x, a), (y, b) = X, Y
    turn = (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )
    return _plus(x, _turned(a, y)), turn


def poses_of_bodies(model: Model, mechanism: Mechanism, Z: FloatArray) -> FloatArray:
    """COM frames of all bodies, shape (times, bodies, 7), from those Z of rigid ones with their welded bodies."""
    if [model.frames[name][0] for name in mechanism.body_names] == list(range(len(model.bodies))):
        return Z  # no bodies are welded
    world = np.tile([0.0, 0, 0, 1, 0, 0, 0], (len(Z), 1))
    out = np.zeros((len(Z), len(mechanism.bodies), 7))
    for i, body in enumerate(mechanism.bodies):
        index, X = model.frames[body.name]
        out[:, i] = carried(Z[:, index] if index >= 0 else world, X * Pose(body.inertia.com))
    return out


def momenta_of(model: Model, Z: FloatArray, twists: FloatArray, rates: FloatArray) -> FloatArray:
    """Momenta (bodies, 6) of the given twists and joint rates, including armature."""
    bodies, coordinates = np.asarray(model.bodies), model.coordinates
    spins = np.einsum("ijk,ik->ij", bodies["J"].reshape(-1, 3, 3), twists[:, :3])
    P = np.hstack([spins, bodies["mass"][:, None] * twists[:, 3:]])
    for k in np.flatnonzero((coordinates.armature != 0.0) & (rates != 0.0)):
        c = coordinates[k]
        _add_drive(c, Z, P, c.armature * rates[k])
    for c in coordinates[(coordinates.armature != 0.0) & (coordinates.kind == BALL)]:
        _add_ball_drive(c, model.forces.dofs.armature[c.iv : c.iv + 3], Z, twists, P)
    return P


def _add_ball_drive(c: Any, armature: FloatArray, Z: FloatArray, twists: FloatArray, P: FloatArray) -> None:
    """Add the momentum of a ball joint's armature about the axes of the child to its two bodies."""
    a_to_b = rotation_matrix(Z[c.b, 3:]).T @ rotation_matrix(Z[c.a, 3:])
    joint = c.Rb.reshape(3, 3)
    impulse = joint @ (armature * (joint.T @ (twists[c.b, :3] - a_to_b @ twists[c.a, :3])))
    P[c.b, :3] += impulse
    P[c.a, :3] -= a_to_b.T @ impulse


def _add_drive(c: Any, Z: FloatArray, P: FloatArray, impulse: float) -> None:
    """Add the impulse of an armature along a coordinate to its two bodies."""
    Ra, xa = _pose(Z, c.a)
    Rb, xb = _pose(Z, c.b)
    n = Ra @ c.n
    if c.kind == HINGE:
        w = Rb @ c.w2
        across = w - n * (w @ n)
        t = c.sign * (n - across * (w @ n) / (across @ across))
        tb, ta, f = t, -t, np.zeros(3)
    else:
        x = xb + Rb @ c.pb
        tb, ta, f = np.cross(x - xb, n), -np.cross(x - xa, n), n
    if c.b >= 0:
        P[c.b] += impulse * np.concatenate([Rb.T @ tb, f])
    if c.a >= 0:
        P[c.a] += impulse * np.concatenate([Ra.T @ ta, -f])


def _pose(Z: FloatArray, i: int) -> tuple[Any, Any]:
    if i < 0:
        return np.eye(3), np.zeros(3)
    return rotation_matrix(Z[i, 3:]), Z[i, :3]
