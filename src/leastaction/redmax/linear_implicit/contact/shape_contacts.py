"""Contacts of shapes, as `leastaction.contact` finds them, as rows of the velocity for the quadratic programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.contact_shapes import collect
from leastaction.contact.records import CONTACT, PLANE, records
from leastaction.mechanism import Mechanism, Pose
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.pose import quaternion_of_matrix
from leastaction.redmax.linear_implicit.arrays import LinearData
from leastaction.redmax.linear_implicit.contact.contact_rows import ContactRows, contact_rows

REACH = 2.0
"""A contact takes part when its gap is less than what its bodies cover in so many steps."""


class ShapeContacts:
    """Shapes of bodies on the ground and, if wanted, on each other; contact points on ground that is not a plane.

    What touches what is as with `Maximal`, see `contact.contact_shapes.collect`. Contact points on planes are left to
    `GroundContacts`.

    Args:
        mechanism: the robot.
        moves: whether each node (row) is moved by each degree of freedom (column).
        self_collision: whether bodies may touch each other.
    """

    def __init__(self, mechanism: Mechanism, moves: Any, self_collision: bool) -> None:
        tree = mechanism.tree
        frames = {}
        for name, body in zip(mechanism.body_names, tree.bodies, strict=True):
            pose = Pose(tuple(body.p.tolist()), quaternion_of_matrix(body.R.reshape(3, 3)))
            frames[name] = (int(body.node), pose)
        self.table = table = collect(mechanism, frames, bodies=self_collision)
        points = sum(frames[c.body][0] >= 0 for c in mechanism.contacts)
        on_plane = table.shapes.kind[table.ground.a] == PLANE
        is_point = table.ground.b >= len(table.shapes) - points
        self.ground = table.ground[~(on_plane & is_point)]
        self.moves = moves
        self.bodies = np.array([mechanism.body_index(body) for body, _ in table.names], np.int64)
        self.any = len(self.ground) > 0 or len(table.movers) > 1
        self.size = float(np.median(table.shapes.bound[table.movers])) if len(table.movers) else 0.0
        self._contacts: Any = records(64, CONTACT)

    def rows(self, data: LinearData, dt: float, fall: float) -> ContactRows:
        """Contacts within reach at the positions and velocities in the data.

        Args:
            data: with poses and twists of the nodes in place.
            dt: time step [s].
            fall: what gravity adds to a velocity in a step [m/s].
        """
        links, table = data.links, self.table
        poses = np.ascontiguousarray(np.concatenate([links.R, links.p], axis=1))
        margin = REACH * dt * (self._speed(links, poses) + fall) + 1e-3 * self.size
        pairs: Any = self.ground
        if len(table.movers) > 1:
            pairs = np.concatenate([self.ground, table.body_pairs(poses, margin)]).view(np.recarray)
        count = detect_all(table.shapes, pairs, poses, table.data, self._contacts, margin)
        if count > len(self._contacts):
            self._contacts = records(2 * count, CONTACT)
            detect_all(table.shapes, pairs, poses, table.data, self._contacts, margin)
        found = self._contacts[:count]
        gap, n, x = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3))
        measure_all(found, poses, gap, n, x)
        pair: Any = pairs[found.pair]
        bodies = np.column_stack([self.bodies[pair.a], self.bodies[pair.b]]).reshape(-1, 2)
        sides = _tangents(n)
        return contact_rows(
            data.screws.S,
            self.moves,
            x,
            n,
            sides,
            index=np.full(count, -1),
            key=found.key.copy(),
            gap=gap,
            friction=found.friction.copy(),
            restitution=found.restitution.copy(),
            node=found.b.copy(),
            other=found.a.copy(),
            bodies=bodies,
        )

    def _speed(self, links: Any, poses: FloatArray) -> float:
        """Bound on the speed of all points of shapes [m/s]; relative ones are up to twice as large."""
        shapes = self.table.shapes
        moving = np.flatnonzero(shapes.body >= 0)
        twists = links.v[shapes.body[moving]]
        centres = self.table.centres(poses)[moving]
        w = twists[:, :3]
        at = twists[:, 3:] + np.cross(w, centres)
        speeds = np.linalg.norm(at, axis=1) + np.linalg.norm(w, axis=1) * shapes.bound[moving]
        return float(speeds.max(initial=0.0))


def _tangents(n: FloatArray) -> FloatArray:
    """Two unit vectors across each normal (count, 3), shape (count, 2, 3)."""
    seed = np.eye(3)[np.argmin(np.abs(n), axis=1)] if len(n) else np.zeros((0, 3))
    first: Any = np.cross(n, seed)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second: Any = np.cross(n, first)
    return np.stack([first, second], axis=1)
