"""Contacts of a mechanism's contact points with planes of the ground."""

from __future__ import annotations

import numpy as np

from leastaction.mechanism import Mechanism, Plane
from leastaction.redmax.linear_implicit.arrays import LinearData
from leastaction.redmax.linear_implicit.contact.contact_rows import ContactRows, carried_by, contact_rows


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

    def rows(self, data: LinearData, reach: float) -> ContactRows:
        """Contacts nearer than `reach` [m] at the positions in the data."""
        links = data.links[self._node]
        x = np.einsum("cij,cj->ci", links.R.reshape(-1, 3, 3), self._point) + links.p
        n = self._frame[:, :, 2]
        gap = np.einsum("ci,ci->c", n, x - self._origin) - self._radius
        near = np.flatnonzero((gap < reach) & (self._node >= 0))
        away = np.full(len(near), -1)
        return contact_rows(
            data.screws.S,
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
