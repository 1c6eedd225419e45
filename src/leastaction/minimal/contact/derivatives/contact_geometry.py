"""Contacts of a solved step: where they are at both ends, and how that changes with the joints at its start.

Balls over planes are moved by their bodies alone. Gaps, normals and points of other contacts are differentiated by
central differences of order 4 in the poses of their two bodies; where faces touch, the points at which their outlines
cross are found again at each of these poses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.entries import detect_all, material_points_of, measure_all
from leastaction.contact.narrow_phase.feature_kinds import are_moving
from leastaction.contact.records import CONTACT, records
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.derivatives.smooth_equations import Placed
from leastaction.parameter_differences import CENTRAL

FloatArray = NDArray[np.float64]

STEP, SMALL = 1e-4, 1e-6
"""Displacements of central differences [rad; lengths relative to the reach of a body]; where faces may switch."""

OFFSETS, WEIGHTS = np.array(CENTRAL).T


class Touching(NamedTuple):
    """Contacts that push, m of them.

    Attributes:
        node, other: bodies that the normals point to and away from, -1 for the world.
        phi, n, t, s, x: gaps [m], normals, tangents and points at the start of the step.
        fixed: points that go with both bodies (`contact.gap.material_points`) at the start, shape (m, 2, 3).
        end, n1, x1: gaps, normals and points at its end.
        belts: velocities of the surfaces of both bodies along their shapes, in the world at the start, shape (m, 2, 3).
    """

    node: NDArray[np.int64]
    other: NDArray[np.int64]
    phi: FloatArray
    n: FloatArray
    t: FloatArray
    s: FloatArray
    x: FloatArray
    fixed: FloatArray
    end: FloatArray
    n1: FloatArray
    x1: FloatArray
    belts: FloatArray


class Changes(NamedTuple):
    """How `phi`, `n`, `x`, `fixed`, `end`, `n1` and `x1` of contacts change with the joints at the start, where their
    features were found: (m, nv), (m, 3, nv), (m, 2, 3, nv) ...; `twist`: turn of the tangents about the normal, beside
    that by which they follow it the shortest way, (m, nv)."""

    phi: FloatArray
    n: FloatArray
    x: FloatArray
    fixed: FloatArray
    end: FloatArray
    n1: FloatArray
    x1: FloatArray
    twist: FloatArray


def measured(contacts: Any, poses: FloatArray) -> FloatArray:
    """Gap, normal and point of each `CONTACT` record at the poses (bodies, 12), shape (m, 7)."""
    phi, n, x = np.zeros(len(contacts)), np.zeros((len(contacts), 3)), np.zeros((len(contacts), 3))
    measure_all(contacts, poses, phi, n, x)
    return np.concatenate([phi[:, None], n, x], axis=1)


def placed_at_start(contacts: Any, poses: FloatArray) -> FloatArray:
    """`measured`, and the points that go with both bodies, shape (m, 13)."""
    fixed = np.zeros((len(contacts), 2, 3))
    material_points_of(contacts, poses, fixed)
    return np.concatenate([measured(contacts, poses), fixed.reshape(-1, 6)], axis=1)


def touching(cones: Any, contacts: Any, placed: Placed) -> Touching:
    """The contacts of cones; `contacts` are the `CONTACT` records of those that were looked for, in their order."""
    count = len(cones)
    node, normals = np.asarray(cones.node), np.array(cones.normal)
    phi, end = np.zeros(count), np.zeros(count)
    n, n1, x, x1 = normals.copy(), normals.copy(), np.zeros((count, 3)), np.zeros((count, 3))
    fixed = np.zeros((count, 2, 3))
    plain = np.flatnonzero(cones.found < 0)
    if len(plain):
        i, arm, offset = node[plain], np.array(cones.arm)[plain], np.asarray(cones.offset)[plain]
        first, last = ((placed.R[e, i] @ arm[:, :, None])[:, :, 0] + placed.x[e, i] for e in (0, 1))
        phi[plain] = (n[plain] * first).sum(axis=1) - offset
        end[plain] = (n[plain] * last).sum(axis=1) - offset
        x[plain] = first - np.asarray(cones.radius)[plain, None] * n[plain]
        x1[plain], fixed[plain, 0] = last, first
    rest = np.flatnonzero(cones.found >= 0)
    if len(rest):
        start, last = placed_at_start(contacts, placed.poses(0)), measured(contacts, placed.poses(1))
        phi[rest], n[rest], x[rest], fixed[rest] = (
            start[:, 0],
            start[:, 1:4],
            start[:, 4:7],
            start[:, 7:].reshape(-1, 2, 3),
        )
        end[rest], n1[rest], x1[rest] = last[:, 0], last[:, 1:4], last[:, 4:]
    # Tangents follow the normal the shortest way, wherever they point.
    t = np.array(cones.first)
    t = t - (t * n).sum(axis=1, keepdims=True) * n
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    s = np.cross(n, t)
    s *= np.where((s * cones.second).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    belts = np.zeros((count, 2, 3))
    for k, contact in zip(rest, contacts, strict=True):
        if contact.belt:
            for side, i, way in ((0, contact.b, contact.belt_b), (1, contact.a, contact.belt_a)):
                belts[k, side] = way if i < 0 else placed.R[0, i] @ way
    return Touching(node, np.asarray(cones.other), phi, n, t, s, x, fixed, end, n1, x1, belts)


def changes(
    cones: Any, contacts: Any, placed: Placed, moved: FloatArray, shapes: RobotShapes | None, moving: bool = True
) -> Changes:
    """How contacts change with the joints at the start of the step.

    Args:
        cones, contacts: as for `touching`.
        moved: of bodies by the joints at the start, see `smooth_equations.bodies_by_joints`.
        shapes: what may touch beside balls over planes.
        moving: whether features are found there; else they stay fixed to their bodies.
    """
    m, nv = len(cones), moved.shape[2]
    one, three = (m, nv), (m, 3, nv)
    out = Changes(*map(np.zeros, (one, three, three, (m, 2, 3, nv), one, three, three, one)))
    plain = np.flatnonzero(cones.found < 0)
    if len(plain):
        i = np.asarray(cones.node)[plain]
        arm = placed.R[0, i] @ np.array(cones.arm)[plain][:, :, None]
        J = moved[i]
        out.x[plain] = out.fixed[plain, 0] = J[:, 3:] + np.cross(J[:, :3], arm, axis=1)
        out.phi[plain] = (np.array(cones.normal)[plain][:, :, None] * out.x[plain]).sum(axis=1)
    rest = np.flatnonzero(cones.found >= 0)
    if len(rest):
        assert shapes is not None
        by_poses = by_poses_of_bodies(contacts, placed, shapes)
        if moving:
            add_moving_features(contacts, placed, shapes, by_poses)
        sides = np.stack([np.asarray(cones.other)[rest], np.asarray(cones.node)[rest]], axis=1)
        J = np.where((sides >= 0)[:, :, None, None], moved[sides], 0.0)
        found = np.einsum("msac,msan->mcn", by_poses, J)
        out.phi[rest], out.n[rest], out.x[rest] = found[:, 0], found[:, 1:4], found[:, 4:7]
        out.fixed[rest] = found[:, 7:13].reshape(-1, 2, 3, nv)
        out.end[rest], out.n1[rest], out.x1[rest] = found[:, 13], found[:, 14:17], found[:, 17:]
    return out


def displaced(pose: FloatArray, axis: int, by: float) -> FloatArray:
    """Poses (..., 12) turned about (axis 0, 1, 2) their origins or shifted along (3, 4, 5) an axis of the world."""
    out = pose.copy()
    if axis >= 3:
        out[..., 9 + axis - 3] += by
        return out
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[a, a], R[a, b], R[b, a], R[b, b] = np.cos(by), -np.sin(by), np.sin(by), np.cos(by)
    out[..., :9] = (R @ pose[..., :9].reshape(*pose.shape[:-1], 3, 3)).reshape(*pose.shape[:-1], 9)
    return out


def by_poses_of_bodies(contacts: Any, placed: Placed, shapes: RobotShapes) -> FloatArray:
    """Derivatives of (`placed_at_start`, `measured` at the end) by turns and shifts of both bodies, (m, 2, 6, 20).

    Features stay fixed to their bodies, so those at the end do not change.
    """
    m, start = len(contacts), placed.poses(0)
    sides = np.stack([contacts.a, contacts.b], axis=1)
    own = np.where((sides >= 0)[:, :, None], start[sides], np.append(np.eye(3).ravel(), np.zeros(3)))
    reach = np.where(sides >= 0, shapes.reach[sides], 1.0)
    poses = np.tile(own[:, None, None, None], (1, 2, 6, 4, 1, 1))
    for k in range(2):
        for axis in range(6):
            for j, offset in enumerate(OFFSETS):
                for c in range(m):
                    by = STEP * offset * (reach[c, k] if axis >= 3 else 1.0)
                    poses[c, k, axis, j, k] = displaced(own[c, k], axis, by)
    tiled = np.repeat(contacts, 48)
    index = 2 * np.arange(len(tiled))
    tiled["a"] = np.where(tiled["a"] >= 0, index, -1)
    tiled["b"] = np.where(tiled["b"] >= 0, index + 1, -1)
    values = placed_at_start(tiled.view(np.recarray), np.ascontiguousarray(poses.reshape(-1, 12)))
    values, out = values.reshape(m, 2, 6, 4, 13), np.zeros((m, 2, 6, 20))
    out[..., :13] = np.einsum("j,mkajc->mkac", WEIGHTS, values) / STEP
    out[:, :, 3:] /= reach[:, :, None, None]
    return out


def found_again(contacts: Any, shapes: RobotShapes, poses: FloatArray) -> tuple[Any, NDArray[np.bool_]]:
    """The same contacts looked for at other poses (bodies, 12), or of other shapes; and which were found."""
    out, there = contacts.copy(), np.zeros(len(contacts), bool)
    pairs = shapes.pairs[np.unique(contacts.pair)]
    # More than the gaps: what is found beyond the contacts wanted is left aside.
    margin = 2.0 * float(np.abs(measured(contacts, poses)[:, 0]).max(initial=0.0)) + 1e-3
    found = records(8 * len(contacts) + 16, CONTACT)
    while (count := detect_all(shapes.shapes, pairs, poses, shapes.table, found, margin)) > len(found):
        found = records(count, CONTACT)
    keys = {int(key): k for k, key in enumerate(found.key[:count])}
    for k, key in enumerate(contacts.key):
        if int(key) in keys:
            out[k], there[k] = found[keys[int(key)]], True
    for name in ("pair", "belt", "belt_a", "belt_b"):
        out[name] = contacts[name]
    return out, there


def add_moving_features(contacts: Any, placed: Placed, shapes: RobotShapes, by_poses: FloatArray) -> None:
    """Replace the derivatives of contacts whose points are found elsewhere as bodies move; see `by_poses_of_bodies`."""
    kinds = shapes.shapes.kind[np.stack([shapes.pairs.a[contacts.pair], shapes.pairs.b[contacts.pair]])]
    moving = np.flatnonzero(are_moving(kinds))
    if not len(moving):
        return
    own, start, last = contacts[moving], placed.poses(0), placed.poses(1)
    sides = np.stack([own.a, own.b], axis=1)
    for i in np.unique(sides[sides >= 0]):
        for axis in range(6):
            h = SMALL * (float(shapes.reach[i]) if axis >= 3 else 1.0)
            slope, kept = np.zeros((len(own), 20)), np.ones(len(own), bool)
            for offset, weight in CENTRAL:
                poses = start.copy()
                poses[i] = displaced(start[i], axis, offset * h)
                again, there = found_again(own, shapes, poses)
                slope[:, :13] += weight / h * placed_at_start(again, poses)
                slope[:, 13:] += weight / h * measured(again, last)
                kept &= there
            for side in range(2):
                at = np.flatnonzero(kept & (sides[:, side] == i))
                by_poses[moving[at], side, axis] = slope[at]
