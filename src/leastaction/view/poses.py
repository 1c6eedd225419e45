"""Where the bodies of a run are, at many states at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import LeastActionError
from leastaction.mechanism import Mechanism
from leastaction.typing import FloatArray


def body_frames(mechanism: Mechanism, q: Any) -> FloatArray:
    """Poses of the bodies' frames for each row of q [rad or m], shape (rows, nq).

    Returns:
        Position [m] and unit quaternion (w, x, y, z), world from body, shape (rows, bodies, 7).
    """
    from leastaction.dynamics import body_poses, entries
    from leastaction.dynamics.workspace import Workspace
    from leastaction.kinematics.reduced.compiled import has_splines
    from leastaction.mechanism.arguments import configuration

    if has_splines(mechanism):
        X = np.array([body_poses(mechanism, row) for row in np.atleast_2d(np.asarray(q, float))])
        return np.concatenate([X[..., :3, 3], quaternions(X[..., :3, :3])], axis=-1)
    # `dynamics.body_poses` of every row, without making its work space anew for each.
    w = Workspace(mechanism)
    frames = w.tree.bodies
    rows, zero = np.atleast_2d(np.asarray(q, float)), np.zeros(mechanism.nv)
    R, p = np.zeros((len(rows), len(w.links) + 1, 3, 3)), np.zeros((len(rows), len(w.links) + 1, 3))
    R[:, -1] = np.eye(3)  # the last one is the world: `node` is -1 for what is welded to it
    for k, row in enumerate(rows):
        entries.kinematics(w.tree.nodes, w.links, w.screws, configuration(mechanism, row), zero)
        R[k, :-1], p[k, :-1] = w.links.R.reshape(-1, 3, 3), w.links.p
    R, p = R[:, frames.node], p[:, frames.node]
    out = np.empty((len(rows), len(frames), 7))
    out[..., :3] = p + np.einsum("rbij,bj->rbi", R, frames.p)
    out[..., 3:] = quaternions(R @ frames.R.reshape(-1, 3, 3))
    return out


def frames_of_run(run: Any, states: Any) -> FloatArray:
    """Poses of the bodies' frames at some states of a run, shape (states, bodies, 7).

    A run may carry `com_poses`, shape (steps + 1, bodies, 7), of frames at the bodies' centres of mass, in the order of
    `mechanism.bodies`; they are used as they are. For other runs the poses follow from q.
    """
    mechanism, states = run.mechanism, np.asarray(states)
    poses = getattr(run, "com_poses", None)
    if poses is None:
        return body_frames(mechanism, np.asarray(run.q)[states])
    poses = np.array(np.asarray(poses, float)[states])
    if poses.shape != (len(states), len(mechanism.bodies), 7):
        expected = f"(steps + 1, {len(mechanism.bodies)}, 7)"
        raise LeastActionError(f"poses of {mechanism.name!r}: expected shape {expected}, got {np.shape(run.com_poses)}")
    com = np.array([body.inertia.com for body in mechanism.bodies])
    poses[..., :3] -= rotate(poses[..., 3:], com)
    return poses


def rotate(quaternion: Any, vector: Any) -> FloatArray:
    """Vectors turned by unit quaternions (w, x, y, z); shapes (..., 4) and (..., 3) are broadcast."""
    w, u = quaternion[..., :1], quaternion[..., 1:]
    vector = np.asarray(vector, float)
    t = 2.0 * np.cross(u, vector)
    return vector + w * t + np.cross(u, t)


def transform(poses: Any, points: Any) -> FloatArray:
    """Points of frames in the world [m]; shapes (..., 7) and (..., 3) are broadcast."""
    return poses[..., :3] + rotate(poses[..., 3:], points)


def quaternions(R: Any) -> FloatArray:
    """Unit quaternions (w, x, y, z) of rotation matrices, shape (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    if R.size == 0:
        return np.zeros((*R.shape[:-2], 4))
    xyzw = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat()
    return np.roll(xyzw, 1, axis=1).reshape(*R.shape[:-2], 4)
