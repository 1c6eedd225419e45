"""Bearings: where the two sides of a joint touch, so that the load on the joint makes friction (Sueda 2021, 2.11).

No collision detection: each kind of joint has contact points at fixed places around it. They are bilateral, they
cannot come apart, so their impulses may have either sign and only their sizes count for friction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.kinematics.sweeps import PRISMATIC, REVOLUTE, SPHERICAL
from leastaction.mechanism import Mechanism, _check
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.contact.contact_rows import cross_rows

RING = 8
"""Contacts on each ring of a pin: friction then depends on the direction of the load by 8 % at most."""

REGULARIZATION = 1e-10
"""Of (2.125): of all impulses that carry the load, nearly the smallest."""


@dataclass(frozen=True)
class Bearing:
    """A joint whose friction grows with its load.

    A revolute joint is a pin in a bush, with contacts on two rings and a thrust face: a load F across it spreads around
    the pin, and its friction is 4/pi friction radius F within 4 %. A prismatic joint is a square rod in a guide, with
    contacts at its two ends; a spherical joint a ball in a socket. A joint with several axes has one bearing on each.

    Attributes:
        joint: name of the tree joint.
        friction: Coulomb coefficient.
        radius: of the pin or ball, or half the width of the rod [m].
        length: of the pin, or of the guide [m].
    """

    joint: str
    friction: float
    radius: float = 0.02
    length: float = 0.1

    def __post_init__(self) -> None:
        what = f"bearing of {_check.label(self.joint, 'joint of a bearing')!r}"
        object.__setattr__(self, "friction", _check.nonnegative(self.friction, f"{what}: friction"))
        for name in ("radius", "length"):
            object.__setattr__(self, name, _check.positive(getattr(self, name), f"{what}: {name}"))


def contact_points(kind: int, radius: float, length: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(points (rows, 3), normals (rows, 3), directions of slip (rows, 3)) in the node's frame, z along its motion."""
    points, normals, slips = [], [], []
    x, y, z = np.eye(3)
    ends = (-0.5 * length * z, 0.5 * length * z)
    if kind == REVOLUTE:
        for angle in 2.0 * np.pi / RING * np.arange(RING):
            n, side = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
            points += [radius * n + end for end in ends]
            normals += [n, n]
            slips += [side, side]
        for n, side in ((x, y), (-x, -y)):  # the thrust face
            points.append(radius * n)
            normals.append(z)
            slips.append(side)
    if kind == PRISMATIC:
        for n, side in ((x, y), (-x, -y), (y, -x), (-y, x)):
            corners = [radius * n + offset * side + end for offset in (-radius, radius) for end in ends]
            points += corners
            normals += [n] * len(corners)
            slips += [z] * len(corners)
    if kind == SPHERICAL:
        for n, a, b in ((x, y, z), (y, z, x), (z, x, y)):
            for side in (radius, -radius):  # opposite points, so that friction is a torque and no force
                points += [side * n, side * n]
                normals += [n, n]
                # The two rows of a point share its load.
                slips += [np.sign(side) * 2.0 * a, np.sign(side) * 2.0 * b]
    return np.array(points), np.array(normals), np.array(slips)


class Bearings:
    """All bearings of a mechanism, one for each node of their joints.

    Attributes:
        nodes: that they carry, shape (count,).
        dofs: degrees of freedom with friction, shape (rows,).
    """

    def __init__(self, mechanism: Mechanism, bearings: tuple[Bearing, ...]) -> None:
        nodes = mechanism.tree.nodes
        places: list[tuple[int, Bearing]] = []
        for bearing in bearings:
            if bearing.joint not in mechanism.joint_names:
                known = mechanism.joint(bearing.joint).name
                raise IntegratorError(f"bearing of {known!r}: bearings are on tree joints, this one closes a loop")
            names = set(mechanism.joint(bearing.joint).velocity_names())
            found = [i for i, node in enumerate(nodes) if mechanism.velocity_names[node.iv] in names]
            for i in found:
                if nodes[i].kind not in (REVOLUTE, PRISMATIC, SPHERICAL) or nodes[i].pitch != 0.0:
                    raise IntegratorError(
                        f"bearing of {bearing.joint!r}: bearings are for turning, sliding and ball joints"
                    )
                places.append((i, bearing))
        self.nodes = np.array([i for i, _ in places], np.int64)
        if len(set(self.nodes.tolist())) < len(self.nodes):
            raise IntegratorError("a joint has two bearings")
        self.friction = np.array([b.friction for _, b in places])
        self.contacts = [contact_points(int(nodes[i].kind), b.radius, b.length) for i, b in places]
        self.dofs = np.array([k for i, _ in places for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv)], np.int64)
        # One array for all, padded: contacts per bearing, and at most three degrees of freedom.
        most = max((len(points) for points, _, _ in self.contacts), default=0)
        self._solve, self._lever = np.zeros((len(places), most, 6)), np.zeros((len(places), most, 3))
        self._load, self._moves = np.zeros((len(places), 6)), np.zeros((len(places), 3), bool)
        for c, ((i, b), (points, normals, slips)) in enumerate(zip(places, self.contacts, strict=True)):
            N = np.concatenate([np.cross(points, normals), normals], axis=1)
            T = np.concatenate([np.cross(points, slips), slips], axis=1)
            S = _screws(int(nodes[i].kind))
            # Slip of each contact per unit velocity of each degree of freedom.
            self._lever[c, : len(N), : S.shape[1]] = b.friction * np.abs(T @ S)
            self._moves[c, : S.shape[1]] = True
            size = REGULARIZATION * np.trace(N @ N.T)
            self._solve[c, : len(N)] = np.linalg.solve(N @ N.T + size * np.eye(len(N)), N)
            # What the joint's own forces do along its motion is no load on the bearing.
            self._load[c] = 1.0 - S.sum(axis=1)

    def __len__(self) -> int:
        """Number of bearings."""
        return len(self.nodes)

    def bounds(self, links: Any) -> FloatArray:
        """Largest friction of each degree of freedom in `dofs` [N m or N] for the wrenches in links.f (2.125)."""
        R, p, F = links.R[self.nodes].reshape(-1, 3, 3), links.p[self.nodes], links.f[self.nodes]
        moment = F[:, :3] - cross_rows(p, F[:, 3:])
        local = np.concatenate([np.einsum("cji,cj->ci", R, x) for x in (moment, F[:, 3:])], axis=1) * self._load
        alpha = np.abs(np.einsum("cki,ci->ck", self._solve, local))
        return np.einsum("ck,ckd->cd", alpha, self._lever)[self._moves]


def _screws(kind: int) -> FloatArray:
    """Twists (6, nv) of unit velocities in the node's frame."""
    if kind == PRISMATIC:
        return np.eye(6)[:, 5:6]
    return np.eye(6)[:, :3] if kind == SPHERICAL else np.eye(6)[:, 2:3]
