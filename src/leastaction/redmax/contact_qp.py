"""Contacts of a mechanism's contact points with the ground, and the quadratic programs of their impulses.

Sueda 2021, Sections 1.11 (contact), 1.13 (friction in a single quadratic program, after Anitescu and Hart) and 2.8
(joint limits). Impulses are positive where they push apart: v = A^-1 (b + N'alpha + T'beta). The paper's Eq. 1.99 has
the opposite sign of alpha, which does not fit its own Eqs. 1.94 and 1.98.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.dynamics.workspace import FloatArray, Workspace
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism, Plane
from leastaction.redmax.bearings import cross_rows
from leastaction.redmax.projection import Projection
from leastaction.redmax.qp import QuadraticProgram


@dataclass
class Touching:
    """Contacts that may act in one step.

    Attributes:
        index: which of all pairs they are, shape (count,).
        N: rows of the normal velocities, shape (count, nv).
        T: rows of the tangential velocities, two for each contact, shape (2 count, nv).
        gap: distances [m], shape (count,).
        friction, restitution: coefficients, shape (count,).
        node: that carries the contact point, shape (count,).
        normal, tangent: world wrenches (x cross n, n) of unit impulses, shapes (count, 6) and (2 count, 6).
    """

    index: Any
    N: FloatArray
    T: FloatArray
    gap: FloatArray
    friction: FloatArray
    restitution: FloatArray
    node: Any
    normal: FloatArray
    tangent: FloatArray


class GroundContacts:
    """Pairs of a contact point and a plane of the ground.

    Args:
        mechanism: the robot; its contact points act against all planes among its ground shapes.

    Attributes:
        names: of the pairs' contact points.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        planes = []
        for shape in mechanism.ground if mechanism.contacts else ():
            if not shape.collision:
                continue
            if not isinstance(shape, Plane):
                raise IntegratorError(
                    f"ground {shape.name or shape.kind!r}: contact points act against planes here, not a {shape.kind}"
                )
            planes.append(shape.pose)
        tree = mechanism.tree
        pairs = [(c, pose) for c in mechanism.contacts for pose in planes]
        count = len(pairs)
        self.names = tuple(c.name for c, _ in pairs)
        self._node = np.zeros(count, np.int64)
        self._point, self._frame, self._origin = np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros((count, 3))
        for k, (c, pose) in enumerate(pairs):
            body = tree.bodies[mechanism.body_index(c.body)]
            self._node[k] = body.node
            self._point[k] = body.p + body.R.reshape(3, 3) @ np.array(c.point)
            self._frame[k], self._origin[k] = pose.rotation, pose.position
        self._radius, self._friction, self._restitution = (
            np.array([getattr(c, name) for c, _ in pairs]) for name in ("radius", "friction", "restitution")
        )
        self.moves = carried_by(tree)

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.names)

    def touching(self, work: Workspace, reach: float) -> Touching:
        """Contacts nearer than `reach` [m] at the positions in the work space."""
        links = work.links[self._node]
        x = np.einsum("cij,cj->ci", links.R.reshape(-1, 3, 3), self._point) + links.p
        n = self._frame[:, :, 2]
        gap = np.einsum("ci,ci->c", n, x - self._origin) - self._radius
        near = np.flatnonzero((gap < reach) & (self._node >= 0))
        at = x[near] - self._radius[near, None] * n[near]
        normal = np.concatenate([cross_rows(at, n[near]), n[near]], axis=1)
        sides = self._frame[near][:, :, :2].transpose(0, 2, 1).reshape(-1, 3)
        tangent = np.concatenate([cross_rows(np.repeat(at, 2, axis=0), sides), sides], axis=1)
        node = self._node[near]
        S = work.screws.S.T
        return Touching(
            near,
            (normal @ S) * self.moves[node],
            (tangent @ S) * np.repeat(self.moves[node], 2, axis=0),
            gap[near],
            self._friction[near],
            self._restitution[near],
            node,
            normal,
            tangent,
        )


def carried_by(tree: Any) -> Any:
    """Whether each node (row) is moved by each degree of freedom (column)."""
    moves = np.zeros((len(tree.nodes), tree.nv), bool)
    for i, node in enumerate(tree.nodes):
        if node.parent >= 0:
            moves[i] = moves[node.parent]
        moves[i, node.iv : node.iv + node.nv] = True
    return moves


def approach_bounds(gap: FloatArray, speed: FloatArray, restitution: FloatArray, dt: float, gamma: float) -> FloatArray:
    """Least normal velocities [m/s] of a step: contacts close no further than the gap, and bounce where they hit.

    Args:
        gap: distances [m], shape (count,).
        speed: normal velocities before the step [m/s], shape (count,).
        restitution: Newton's coefficients, shape (count,).
        dt: time step [s].
        gamma: rate at which penetration is taken back [1/s] (1.97).
    """
    floor = np.where(gap > 0.0, -gap / dt, -gamma * gap)
    return np.maximum(floor, np.where((gap <= -dt * speed) & (speed < 0.0), -restitution * speed, -np.inf))


def contact_impulses(projection: Projection, N: FloatArray, least: FloatArray, qp: QuadraticProgram) -> Any:
    """(impulses (count,), velocities (nv,)) of N v >= least without friction (1.94, 1.98, 2.112)."""
    if len(N) == 0:
        return np.zeros(0), projection.v
    Y = projection.response(N)
    alpha = qp.solve(N @ Y, N @ projection.v - least)
    return alpha, projection.v + Y @ alpha


def single_qp(
    projection: Projection,
    N: FloatArray,
    least: FloatArray,
    T: FloatArray,
    friction: FloatArray,
    qp: QuadraticProgram,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(alpha (count,), beta (2 friction contacts,), v (nv,)) of contact and friction in one problem (1.103).

    The four-sided cone of 1.100. The first len(friction) rows of N have friction. Sliding contacts rise a little,
    which is the price of the convex problem.
    """
    count, rough = len(N), len(friction)
    if count == 0:
        return np.zeros(0), np.zeros(0), projection.v
    C = np.concatenate([N, T, -T])
    Y = projection.response(C)
    goal = np.concatenate([least, np.zeros(2 * len(T))])
    E = np.zeros((rough, len(C)))  # 1.101: mu alpha - sum of the four beta
    for k in range(rough):
        E[k, k] = friction[k]
        E[k, [count + 2 * k, count + 2 * k + 1, count + len(T) + 2 * k, count + len(T) + 2 * k + 1]] = -1.0
    x = qp.solve(C @ Y, C @ projection.v - goal, C=E if rough else None)
    beta = x[count : count + len(T)] - x[count + len(T) :]
    return x[:count], beta, projection.v + Y @ x
