"""Poses and twists of the named bodies along a run."""

from __future__ import annotations

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.pose import Pose
from leastaction.typing import FloatArray


def poses_of_q(mechanism: Mechanism, q: FloatArray) -> FloatArray:
    """COM frames of all bodies, shape (times, bodies, 7), from joint positions, shape (times, nq).

    Quaternions do not jump to their opposite.
    """
    from leastaction.dynamics import body_poses

    out = np.zeros((len(q), len(mechanism.bodies), 7))
    coms = np.array([body.inertia.com for body in mechanism.bodies]).reshape(-1, 3)
    for k, row in enumerate(q):
        X = body_poses(mechanism, row)
        out[k, :, :3] = np.einsum("bij,bj->bi", X[:, :3, :3], coms) + X[:, :3, 3]
        out[k, :, 3:] = [Pose.from_matrix(x).quaternion for x in X]
        if k:
            out[k, (out[k, :, 3:] * out[k - 1, :, 3:]).sum(axis=1) < 0.0, 3:] *= -1.0
    return out


def body_frames(mechanism: Mechanism, poses: FloatArray) -> FloatArray:
    """Poses of all bodies (times, bodies, 4, 4) from those of their COM frames (times, bodies, 7)."""
    w, x, y, z = np.moveaxis(poses[..., 3:], -1, 0)
    out = np.zeros((*poses.shape[:2], 4, 4))
    out[..., 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1)
    out[..., 1, :3] = np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1)
    out[..., 2, :3] = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    coms = np.array([body.inertia.com for body in mechanism.bodies]).reshape(-1, 3)
    out[..., :3, 3] = poses[..., :3] - np.einsum("tbij,bj->tbi", out[..., :3, :3], coms)
    out[..., 3, 3] = 1.0
    return out


def force_on_body(mechanism: Mechanism, log: FloatArray, steps: int, body: str, other: str | None) -> FloatArray:
    """Sum of the logged contact forces on a body and all that is welded to it, shape (steps, 3) [N].

    Args:
        mechanism: the robot.
        log: rows (step, two bodies, point, force on the second, gap), shape (n, 10).
        steps: of the run.
        body: name of the body.
        other: name of the only other body that counts; None: all.
    """
    own, others = _welded(mechanism, body), None if other is None else _welded(mechanism, other)
    if other == body:
        raise MechanismError(f"contact_force: {body!r} does not touch itself; name another body, or none for all")
    out = np.zeros((steps, 3))
    for sign, mine, its in ((1.0, 2, 1), (-1.0, 1, 2)):
        rows = np.isin(log[:, mine], own) & ~np.isin(log[:, its], own)
        if others is not None:
            rows &= np.isin(log[:, its], others)
        np.add.at(out, log[rows, 0].astype(int), sign * log[rows, 6:9])
    return out


def _welded(mechanism: Mechanism, body: str) -> list[int]:
    """Indices of the bodies that fixed joints make one with a body, its own among them; -1 is the world."""
    roots: list[int] = []
    for i, (joint, parent) in enumerate(zip(mechanism.joints, mechanism.parents, strict=True)):
        roots.append((roots[parent] if parent >= 0 else -1) if joint.nv == 0 else i)
    k = mechanism.body_index(body)
    root = roots[k] if k >= 0 else -1
    return [i for i in range(-1, len(roots)) if (roots[i] if i >= 0 else -1) == root]


def twists_of_velocity(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> FloatArray:
    """Twists of the COM frames, in their own directions, shape (times, bodies, 6)."""
    from leastaction.dynamics import body_twists

    coms = np.array([body.inertia.com for body in mechanism.bodies]).reshape(-1, 3)
    out = np.zeros((len(q), len(mechanism.bodies), 6))
    for k in range(len(q)):
        out[k] = body_twists(mechanism, q[k], v[k])
        out[k, :, 3:] += np.cross(out[k, :, :3], coms)
    return out
