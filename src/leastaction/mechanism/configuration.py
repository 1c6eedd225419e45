"""Configurations as points of a manifold: adding a tangent vector, taking differences, drawing at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism._check import real_array, shown
from leastaction.mechanism.joints import Motion
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


def _multiply(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of quaternions, shape (..., 4)."""
    w = a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1)
    xyz = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w[..., None], xyz], axis=-1)


def _exponential(w: FloatArray) -> FloatArray:
    """Unit quaternions of rotation vectors, shape (..., 3) -> (..., 4)."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    # sin(x/2)/x, by numpy's sinc(t) = sin(pi t)/(pi t), which is exact at zero.
    return np.concatenate([np.cos(0.5 * angle), 0.5 * np.sinc(angle / (2.0 * np.pi)) * w], axis=-1)


def rotation_vectors(q: FloatArray) -> FloatArray:
    """Rotation vectors of unit quaternions, at most pi long, shape (..., 4) -> (..., 3)."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    s = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(s, q[..., :1])
    ratio = np.divide(angle, s, out=np.full_like(s, 2.0), where=s > 1e-150)
    return ratio * q[..., 1:]


def _left_tangent(w: FloatArray, v: FloatArray) -> FloatArray:
    """Displacement of the origin for the twist (w, v) applied by the exponential map: V(w) v."""
    angle2 = (w * w).sum(-1, keepdims=True)
    small = angle2 < 1e-6
    safe = np.where(small, 1.0, angle2)
    angle = np.sqrt(safe)
    b = np.where(small, 0.5 - angle2 / 24.0 + angle2**2 / 720.0, (1.0 - np.cos(angle)) / safe)
    c = np.where(small, 1.0 / 6.0 - angle2 / 120.0 + angle2**2 / 5040.0, (angle - np.sin(angle)) / (safe * angle))
    wv = np.cross(w, v)
    return v + b * wv + c * np.cross(w, wv)


def _left_tangent_inverse(w: FloatArray, d: FloatArray) -> FloatArray:
    """The v with V(w) v = d."""
    angle2 = (w * w).sum(-1, keepdims=True)
    small = angle2 < 1e-4
    safe = np.where(small, 1.0, angle2)
    half = 0.5 * np.sqrt(safe)
    series = 1.0 / 12.0 + angle2 / 720.0 + angle2**2 / 30240.0
    with np.errstate(divide="ignore"):
        exact = (1.0 - half / np.tan(half)) / safe
    wd = np.cross(w, d)
    return d - 0.5 * wd + np.where(small, series, exact) * np.cross(w, wd)


def _rotate(q: FloatArray, a: FloatArray) -> FloatArray:
    """Vectors a (..., 3) turned by unit quaternions q (..., 4)."""
    t = 2.0 * np.cross(q[..., 1:], a)
    return a + q[..., :1] * t + np.cross(q[..., 1:], t)


def _conjugate(q: FloatArray) -> FloatArray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def checked(mechanism: Mechanism, value: Any, size: int, what: str) -> FloatArray:
    """Vectors of finite numbers of that size, shape (..., size), or `MechanismError`."""
    a = real_array(value)
    if a is None:
        raise MechanismError(f"{what}: expected {size} numbers for {mechanism.name!r}, got {shown(value)}")
    if a.shape[-1:] != (size,):
        raise MechanismError(f"{what}: expected shape (..., {size}) for {mechanism.name!r}, got {a.shape}")
    if not np.isfinite(a).all():
        raise MechanismError(f"{what}: expected finite numbers for {mechanism.name!r}")
    return a


def positions(mechanism: Mechanism, value: Any, what: str) -> FloatArray:
    """Configurations, shape (..., nq), with quaternions that are units within 1e-3."""
    q = checked(mechanism, value, mechanism.nq, what)
    for i in quaternions(mechanism) if mechanism.nq != mechanism.nv else ():
        if (np.abs(np.linalg.norm(q[..., i : i + 4], axis=-1) - 1.0) > 1e-3).any():
            name = mechanism.coordinate_names[i]
            raise MechanismError(f"{what}: the quaternion at {name!r} must have unit norm; normalize makes it so")
    return q


def _batches(a: FloatArray, b: FloatArray, names: str) -> tuple[int, ...]:
    """The shape of several configurations at once."""
    try:
        return np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise MechanismError(f"{names}: shapes {a.shape} and {b.shape} do not go together") from None


def integrate(mechanism: Mechanism, q: Any, dv: Any) -> FloatArray:
    """See `Mechanism.integrate`."""
    q, dv = positions(mechanism, q, "q"), checked(mechanism, dv, mechanism.nv, "dv")
    shape = _batches(q, dv, "q, dv")
    out = np.broadcast_to(q, (*shape, mechanism.nq)).copy()
    for node in mechanism.coordinate_groups:
        i, k = int(node.iq), int(node.iv)
        if node.nv == 1:
            out[..., i] += dv[..., k]
            continue
        w = dv[..., k : k + 3]
        if node.kind == Motion.FREE:
            turned = _rotate(out[..., i + 3 : i + 7], _left_tangent(w, dv[..., k + 3 : k + 6]))
            out[..., i : i + 3] += turned
            i += 3
        r = _multiply(out[..., i : i + 4], _exponential(w))
        out[..., i : i + 4] = r / np.linalg.norm(r, axis=-1, keepdims=True)
    return out


def difference(mechanism: Mechanism, q0: Any, q1: Any) -> FloatArray:
    """See `Mechanism.difference`."""
    q0, q1 = positions(mechanism, q0, "q0"), positions(mechanism, q1, "q1")
    shape = _batches(q0, q1, "q0, q1")
    out = np.zeros((*shape, mechanism.nv))
    for node in mechanism.coordinate_groups:
        i, k = int(node.iq), int(node.iv)
        if node.nv == 1:
            out[..., k] = q1[..., i] - q0[..., i]
            continue
        j = i + 3 if node.kind == Motion.FREE else i
        back = _conjugate(q0[..., j : j + 4])
        w = rotation_vectors(_multiply(back, q1[..., j : j + 4]))
        out[..., k : k + 3] = w
        if node.kind == Motion.FREE:
            d = _rotate(back, q1[..., i : i + 3] - q0[..., i : i + 3])
            out[..., k + 3 : k + 6] = _left_tangent_inverse(w, d)
    return out


def quaternions(mechanism: Mechanism) -> list[int]:
    """Where the quaternions of ball and free joints start in q."""
    nodes = mechanism.coordinate_groups
    return [int(n.iq) + (3 if n.kind == Motion.FREE else 0) for n in nodes if n.nv > 1]


def normalize(mechanism: Mechanism, q: Any) -> FloatArray:
    """See `Mechanism.normalize`."""
    q = checked(mechanism, q, mechanism.nq, "q")
    for i in quaternions(mechanism):
        norm = np.linalg.norm(q[..., i : i + 4], axis=-1, keepdims=True)
        if (norm == 0.0).any():
            raise MechanismError(f"q: the quaternion at {mechanism.coordinate_names[i]!r} is zero")
        q[..., i : i + 4] /= norm
    return q


def random_configuration(mechanism: Mechanism, rng: np.random.Generator, scale: float) -> FloatArray:
    """See `Mechanism.random_configuration`."""
    q: list[float] = []
    for joint in mechanism.joints:
        k = 0
        for p in joint.primitives:
            if p.motion == Motion.SPLINE_CURVE:
                q.append(rng.uniform(0.0, len(p.frames)))
            elif p.motion == Motion.SPLINE_SURFACE:
                q += rng.uniform(0.0, 1.0, 2).tolist()
            elif p.nv == 1:
                reach = scale if p.motion == Motion.PRISMATIC else np.pi * scale
                low, high = max(joint.lower[k], -reach), min(joint.upper[k], reach)
                # Limits may lie outside the range altogether: then they decide.
                low, high = (low, high) if low <= high else (joint.lower[k], joint.upper[k])
                q.append(rng.uniform(low, high))
            else:
                r = rng.normal(size=4)
                translation = rng.uniform(-scale, scale, 3).tolist() if p.motion == Motion.FREE else []
                q += [*translation, *(r / np.linalg.norm(r)).tolist()]
            k += p.nv
    return np.array(q)


def quaternion_rate(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> FloatArray:
    """dq/dt for velocities v: quaternions change by q * (0, omega) / 2, positions of free joints by the turned v."""
    out = np.zeros(mechanism.nq)
    for node in mechanism.coordinate_groups:
        i, k = int(node.iq), int(node.iv)
        if node.nv == 1:
            out[i] = v[k]
            continue
        if node.kind == Motion.FREE:
            out[i : i + 3] = _rotate(q[i + 3 : i + 7], v[k + 3 : k + 6])
            i += 3
        out[i : i + 4] = 0.5 * _multiply(q[i : i + 4], np.array([0.0, *v[k : k + 3]]))
    return out
