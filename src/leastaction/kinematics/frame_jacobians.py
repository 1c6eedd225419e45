"""Poses and Jacobians of named frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.kinematics.loop_equations import loop_equations
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray, configuration, robot

FRAMES = ("world", "body", "origin")
"""Of the rows of a Jacobian."""


class Placement:
    """Where everything is at one configuration: poses of nodes and screws of joints.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
    """

    def __init__(self, mechanism: Mechanism, q: Any) -> None:
        tree = robot(mechanism).tree
        self.mechanism, self.tree = mechanism, tree
        links, screws = np.zeros(len(tree.nodes), LINK), np.zeros(tree.nv, JOINT_SCREW)
        # Fields of plain arrays: attributes of records take microseconds each.
        self._R, self._p, self._S = links["R"].reshape(-1, 3, 3), links["p"], screws["S"].T
        c = tree.closure
        # Without equations of loops.
        records = c.rows, c.coefficients, 0, links.view(np.recarray), screws.view(np.recarray)
        loop_equations(tree.nodes, *records, configuration(mechanism, q), np.zeros(0), np.zeros((0, mechanism.nv)))

    def pose(self, name: str) -> FloatArray:
        """World from the frame, or body, of that name, shape (4, 4)."""
        node, X, _ = self.tree.place(name)
        out = np.eye(4)
        if node >= 0:
            out[:3, :3], out[:3, 3] = self._R[node], self._p[node]
        return out @ X

    def jacobian(self, name: str, frame: str = "world") -> FloatArray:
        """Jacobian of the twist of the frame, or body, of that name, shape (6, nv); see `frame_jacobian`."""
        J, k = np.zeros((6, self.tree.nv)), self.tree.place(name)[2]
        J[:, k] = self._S[:, k]
        if frame == "origin":
            return J
        X = self.pose(name)
        J[3:] += _crossed(J[:3], X[:3, 3])
        return J if frame == "world" else np.concatenate([X[:3, :3].T @ J[:3], X[:3, :3].T @ J[3:]])


def _crossed(w: FloatArray, x: FloatArray) -> FloatArray:
    """w x x of the columns of w, shape (3, n)."""
    a, b, c = x.tolist()
    return np.array([[0.0, c, -b], [-c, 0.0, a], [b, -a, 0.0]]) @ w


def frame_pose(mechanism: Mechanism, q: ArrayLike, name: str) -> FloatArray:
    """Pose of a named frame: world from frame, shape (4, 4).

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        name: of a frame (see `Frame`), or of a body.
    """
    robot(mechanism).frame(name)
    return Placement(mechanism, q).pose(name)


def frame_jacobian(mechanism: Mechanism, q: ArrayLike, name: str, *, frame: str = "world") -> FloatArray:
    """Jacobian of the twist (angular, linear) of a named frame, shape (6, nv): twist = J v.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        name: of a frame (see `Frame`), or of a body.
        frame: "world": angular velocity, and velocity of the frame's origin, in directions of the world; "body": the
            same in directions of the frame; "origin": the spatial twist about the world's origin.
    """
    robot(mechanism).frame(name)
    if not isinstance(frame, str) or frame not in FRAMES:
        raise MechanismError(f"frame must be 'world', 'body' or 'origin', got {shown(frame)}")
    return Placement(mechanism, q).jacobian(name, frame)
