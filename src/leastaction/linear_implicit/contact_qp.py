"""Contacts of a mechanism's contact points with planes, and the quadratic programs of all contacts' impulses.

Sueda 2021, Sections 1.11 (contact), 1.13 (friction in a single quadratic program, after Anitescu and Hart) and 2.8
(joint limits). Impulses are positive where they push apart: v = A^-1 (b + N'alpha + T'beta). The paper's Eq. 1.99 has
the opposite sign of alpha, which does not fit its own Eqs. 1.94 and 1.98.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from leastaction.contact.qp import QuadraticProgram
from leastaction.dynamics.workspace import Workspace
from leastaction.linear_implicit.bearings import cross_rows
from leastaction.linear_implicit.projection import Projection
from leastaction.mechanism import Mechanism, Plane
from leastaction.mechanism.arguments import FloatArray


@dataclass
class Touching:
    """Contacts that may act in one step.

    Attributes:
        index: which pair of a contact point and a plane they are, shape (count,); -1 for contacts of shapes.
        key: a number that the same contact has again in the next step, shape (count,).
        N: rows of the normal velocities, shape (count, nv).
        T: rows of the tangential velocities, two for each contact, shape (2 count, nv).
        gap: distances [m], shape (count,).
        friction, restitution: coefficients, shape (count,).
        node: that is pushed along the normal, shape (count,).
        other: that is pushed back, -1 for the world, shape (count,).
        bodies: indices of the two bodies, -1 for the world; forces are on the second; shape (count, 2).
        point: where they are in the world [m], shape (count, 3).
        normal, tangent: world wrenches (x cross n, n) of unit impulses, shapes (count, 6) and (2 count, 6).
    """

    index: Any
    key: Any
    N: FloatArray
    T: FloatArray
    gap: FloatArray
    friction: FloatArray
    restitution: FloatArray
    node: Any
    other: Any
    bodies: Any
    point: FloatArray
    normal: FloatArray
    tangent: FloatArray

    def __add__(self, more: Touching) -> Touching:
        """These contacts, then some more."""
        return Touching(*(np.concatenate([getattr(x, f.name) for x in (self, more)]) for f in fields(self)))

    def forces(self, alpha: FloatArray, beta: FloatArray) -> FloatArray:
        """Impulses (or forces) on the second bodies in the world, shape (count, 3), of their parts along N and T."""
        sides = self.tangent[:, 3:] * np.ravel(beta)[:, None]
        return self.normal[:, 3:] * alpha[:, None] + sides[0::2] + sides[1::2]


def touching_rows(
    S: FloatArray, moves: Any, x: FloatArray, n: FloatArray, sides: FloatArray, **others: Any
) -> Touching:
    """`Touching` of contacts at x with normals n (count, 3) and tangents `sides` (count, 2, 3).

    Args:
        S: screws (nv, 6).
        moves: whether each node (row) is moved by each degree of freedom (column).
        x, n, sides: in the world.
        **others: the other attributes of `Touching`.
    """
    across = sides.reshape(-1, 3)
    normal = np.concatenate([cross_rows(x, n), n], axis=1)
    tangent = np.concatenate([cross_rows(np.repeat(x, 2, axis=0), across), across], axis=1)
    still = np.concatenate([moves, np.zeros((1, moves.shape[1]), bool)]).astype(float)  # the last row: the world's
    relative = still[others["node"]] - still[others["other"]]
    N, T = (normal @ S.T) * relative, (tangent @ S.T) * np.repeat(relative, 2, axis=0)
    return Touching(N=N, T=T, point=x, normal=normal, tangent=tangent, **others)


class GroundContacts:
    """Pairs of a contact point and a plane of the ground.

    Args:
        mechanism: the robot; its contact points act against all planes among its ground shapes.

    Attributes:
        names: of the pairs' contact points.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        planes = [shape for shape in mechanism.ground if shape.collision and isinstance(shape, Plane)]
        tree = mechanism.tree
        pairs = [(c, plane) for c in mechanism.contacts for plane in planes]
        count = len(pairs)
        self.names = tuple(c.name for c, _ in pairs)
        self._node, self._body = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._point, self._frame, self._origin = np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros((count, 3))
        for k, (c, plane) in enumerate(pairs):
            self._body[k] = mechanism.body_index(c.body)
            body = tree.bodies[self._body[k]]
            self._node[k] = body.node
            self._point[k] = body.p + body.R.reshape(3, 3) @ np.array(c.point)
            self._frame[k], self._origin[k] = plane.pose.rotation, plane.pose.position
        self._radius = np.array([c.radius for c, _ in pairs])
        self._friction, self._restitution = (
            np.array([max(getattr(c, name), getattr(plane, name) or 0.0) for c, plane in pairs])
            for name in ("friction", "restitution")
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
        away = np.full(len(near), -1)
        return touching_rows(
            work.screws.S,
            self.moves,
            x[near] - self._radius[near, None] * n[near],
            n[near],
            self._frame[near][:, :, :2].transpose(0, 2, 1),
            index=near,
            key=-1 - near,
            gap=gap[near],
            friction=self._friction[near],
            restitution=self._restitution[near],
            node=self._node[near],
            other=away,
            bodies=np.column_stack([away, self._body[near]]),
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
