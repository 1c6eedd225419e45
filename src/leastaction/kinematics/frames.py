"""Poses and Jacobians of named frames, and of the centre of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.kinematics.loop_equations import loop_equations
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray, configuration, robot

FRAMES = ("world", "body", "origin")
"""Of the rows of a Jacobian."""


class Placement:
    """Where everything is at one configuration: poses of nodes, screws of joints, and how far loops are open.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
    """

    def __init__(self, mechanism: Mechanism, q: Any) -> None:
        tree = robot(mechanism).tree
        self.mechanism, self.tree = mechanism, tree
        self.links: Any = np.zeros(len(tree.nodes), LINK).view(np.recarray)
        self.screws: Any = np.zeros(tree.nv, JOINT_SCREW).view(np.recarray)
        c = tree.closure
        self.gaps, self.gap_jacobian = np.zeros(c.count), np.zeros((c.count, mechanism.nv))
        records = c.rows, c.coefficients, c.count, self.links, self.screws
        loop_equations(tree.nodes, *records, configuration(mechanism, q), self.gaps, self.gap_jacobian)

    def pose(self, name: str) -> FloatArray:
        """World from the frame, or body, of that name, shape (4, 4)."""
        frame = self.mechanism.frame(name)
        node, X = self.tree.frames[frame.body]
        out = np.eye(4)
        if node >= 0:
            out[:3, :3], out[:3, 3] = self.links[node].R.reshape(3, 3), self.links[node].p
        return out @ (X * frame.pose).matrix

    def jacobian(self, name: str, frame: str = "world") -> FloatArray:
        """Jacobian of the twist of the frame, or body, of that name, shape (6, nv); see `frame_jacobian`."""
        node, _ = self.tree.frames[self.mechanism.frame(name).body]
        J = self._screws_above(node)
        if frame == "origin":
            return J
        X = self.pose(name)
        J[3:] += np.cross(J[:3].T, X[:3, 3]).T
        return J if frame == "world" else np.concatenate([X[:3, :3].T @ J[:3], X[:3, :3].T @ J[3:]])

    def center_of_mass(self) -> tuple[FloatArray, FloatArray]:
        """Centre of mass in the world [m], shape (3,), and its Jacobian, shape (3, nv)."""
        x, J, total = np.zeros(3), np.zeros((3, self.tree.nv)), 0.0
        for i, node in enumerate(self.tree.nodes):
            if node.mass > 0.0:
                link = self.links[i]
                c = link.R.reshape(3, 3) @ node.com + link.p
                S = self._screws_above(i)
                x, total = x + node.mass * c, total + node.mass
                J += node.mass * (S[3:] + np.cross(S[:3].T, c).T)
        for body in self.mechanism.bodies:  # of bodies that are welded to the world
            node, X = self.tree.frames[body.name]
            if node < 0:
                x, total = x + body.inertia.mass * np.array(X.apply(body.inertia.com)), total + body.inertia.mass
        if total <= 0.0:
            raise MechanismError(f"mechanism {self.mechanism.name!r} has no mass, so no centre of mass")
        return x / total, J / total

    def _screws_above(self, node: int) -> FloatArray:
        J = np.zeros((6, self.tree.nv))
        while node >= 0:
            record = self.tree.nodes[node]
            k = slice(int(record.iv), int(record.iv + record.nv))
            J[:, k] = self.screws.S[k].T
            node = int(record.parent)
        return J


def frame_pose(mechanism: Mechanism, q: Any, name: str) -> FloatArray:
    """Pose of a named frame: world from frame, shape (4, 4).

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        name: of a frame (see `Frame`), or of a body.
    """
    robot(mechanism).frame(name)
    return Placement(mechanism, q).pose(name)


def frame_jacobian(mechanism: Mechanism, q: Any, name: str, *, frame: str = "world") -> FloatArray:
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
