"""Contacts of one step as rows of the joint velocities."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from leastaction.mechanism.arguments import FloatArray


@dataclass
class ContactRows:
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

    def __add__(self, more: ContactRows) -> ContactRows:
        """These contacts, then some more."""
        return ContactRows(*(np.concatenate([getattr(x, f.name) for x in (self, more)]) for f in fields(self)))

    def forces(self, alpha: FloatArray, beta: FloatArray) -> FloatArray:
        """Impulses (or forces) on the second bodies in the world, shape (count, 3), of their parts along N and T."""
        sides = self.tangent[:, 3:] * np.ravel(beta)[:, None]
        return self.normal[:, 3:] * alpha[:, None] + sides[0::2] + sides[1::2]


def contact_rows(
    S: FloatArray, moves: Any, x: FloatArray, n: FloatArray, sides: FloatArray, **others: Any
) -> ContactRows:
    """`ContactRows` of contacts at x with normals n (count, 3) and tangents `sides` (count, 2, 3).

    Args:
        S: screws (nv, 6).
        moves: whether each node (row) is moved by each degree of freedom (column).
        x, n, sides: in the world.
        **others: the other attributes of `ContactRows`.
    """
    across = sides.reshape(-1, 3)
    normal = np.concatenate([cross_rows(x, n), n], axis=1)
    tangent = np.concatenate([cross_rows(np.repeat(x, 2, axis=0), across), across], axis=1)
    still = np.concatenate([moves, np.zeros((1, moves.shape[1]), bool)]).astype(float)  # the last row: the world's
    relative = still[others["node"]] - still[others["other"]]
    N, T = (normal @ S.T) * relative, (tangent @ S.T) * np.repeat(relative, 2, axis=0)
    return ContactRows(N=N, T=T, point=x, normal=normal, tangent=tangent, **others)


def carried_by(tree: Any) -> Any:
    """Whether each node (row) is moved by each degree of freedom (column)."""
    moves = np.zeros((len(tree.nodes), tree.nv), bool)
    for i, node in enumerate(tree.nodes):
        if node.parent >= 0:
            moves[i] = moves[node.parent]
        moves[i, node.iv : node.iv + node.nv] = True
    return moves


def cross_rows(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross products of rows (n, 3); many times faster than NumPy's for short arrays."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[:, 0] = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    out[:, 1] = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    out[:, 2] = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return out
