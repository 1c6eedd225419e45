"""Wrenches on the bodies with their stiffness and damping matrices, in body frames (Sueda 2021, 1.9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastaction._jit import entry
from leastaction._tuples import plain
from leastaction.errors import MechanismError
from leastaction.forces import drives, total
from leastaction.kinematics.reduced.state import State
from leastaction.mechanism import Mechanism
from leastaction.redmax.arrays import named_data, named_model
from leastaction.redmax.reduced_model import Reduced
from leastaction.redmax.step.columns import wrench_changes
from leastaction.typing import FloatArray


@entry
def node_wrenches(model, data, u, derivative, out):
    """Wrenches of the body forces on all nodes, or their change for the displacements and twist changes in `data`."""
    model, data = named_model(model), named_data(data)
    if derivative:
        wrench_changes(model.forces, data, u, out)
    else:
        total.set_pulls(model.forces, data.modes, u)
        total.wrenches(model.forces, data.modes, data.links, out)
        drives.wrenches(model.forces.drives, data.links, u, out)


def body_forces(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Wrenches of springs, cables, constant wrenches and penalty contacts, with K = df/dE and D = df/d(phi).

    Args:
        mechanism: the robot; no body may be fixed to another.
        q: joint positions, shape (nq,).
        v: joint velocities, shape (nv,); default rest.

    Returns:
        f, shape (6 bodies,): torque and force on each body in its frame, about its origin [N m, N];
        K, shape (6 bodies, 6 bodies): by displacements of the bodies, twists in their frames [rad, m], at fixed twists;
        D, shape (6 bodies, 6 bodies): by the bodies' twists in their frames.
    """
    state, red = State(mechanism, q, v, chart="exponential"), Reduced(mechanism, exponential=True)
    frames, nodes = red.tree.bodies, len(red.tree.nodes)
    if (frames.node < 0).any() or len(np.unique(frames.node)) < len(frames):
        raise MechanismError("body_forces: bodies that are welded to others have no wrench of their own")
    data = red.data()._replace(links=state.motion.links)
    T, dV, out, u = data.T, data.dV, data.dF, np.zeros(mechanism.nu)
    arrays = plain(red.model), plain(data)
    poses, n = state.body_poses(), len(frames)
    external = np.zeros((nodes, 6))
    node_wrenches(*arrays, u, False, external)
    f = np.concatenate([_in_body(poses[b], external[frames[b].node]) for b in range(n)])
    K, D = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
    for b in range(n):
        node = int(frames[b].node)
        for c in range(6):
            xi = _to_world(poses[b], np.eye(6)[c])
            for matrix, displacement, change in (
                (K, xi, _bracket(xi, state.motion.links[node].v)),
                (D, np.zeros(6), xi),
            ):
                T[:], dV[:], out[:] = 0.0, 0.0, 0.0
                T[node], dV[node] = displacement, change
                node_wrenches(*arrays, u, True, out)
                out[node] -= _cross_force(displacement, external[node])  # the frame of the body moves with it
                matrix[:, 6 * b + c] = np.concatenate([_in_body(poses[k], out[frames[k].node]) for k in range(n)])
    return f, K, D


def _bracket(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.concatenate([np.cross(a[:3], b[:3]), np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:])])


def _cross_force(a: FloatArray, f: FloatArray) -> FloatArray:
    return np.concatenate([np.cross(a[:3], f[:3]) + np.cross(a[3:], f[3:]), np.cross(a[:3], f[3:])])


def _to_world(X: FloatArray, V: FloatArray) -> FloatArray:
    w = X[:3, :3] @ V[:3]
    return np.concatenate([w, X[:3, :3] @ V[3:] + np.cross(X[:3, 3], w)])


def _in_body(X: FloatArray, F: FloatArray) -> FloatArray:
    R = X[:3, :3].T
    return np.concatenate([R @ (F[:3] - np.cross(X[:3, 3], F[3:])), R @ F[3:]])
