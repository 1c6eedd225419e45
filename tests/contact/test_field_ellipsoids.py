"""Ellipsoids touch a height field where the ellipsoid, made a unit ball, touches its triangles."""

import numpy as np
import pytest

from leastaction.contact.records import ROUND_ON_PLANE, ROUND_ON_TRIANGLE
from leastaction.mechanism import Ellipsoid, HeightField
from tests.contact.scenes import Scene, measure, random_poses

SPACING = 0.2
HEIGHTS = 0.15 * np.random.default_rng(5).normal(size=(16, 15))


def triangles(heights, spacing):
    """All triangles (n, 3, 3) of a field."""
    m, n = heights.shape
    x, y = (np.arange(m) - 0.5 * (m - 1)) * spacing, (np.arange(n) - 0.5 * (n - 1)) * spacing
    p = np.stack(np.broadcast_arrays(x[:, None], y, heights), axis=-1)
    a, b, c, d = p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]
    return np.concatenate([np.stack(corners, axis=2).reshape(-1, 3, 3) for corners in ((a, b, c), (a, c, d))])


def nearest(T):
    """Least distance of triangles (n, 3, 3) from the origin: of corners, edges, and planes with their foot inside."""
    best = np.linalg.norm(T, axis=2).min()
    for k in range(3):
        a, e = T[:, k], T[:, (k + 1) % 3] - T[:, k]
        t = np.clip(-(a * e).sum(1) / (e * e).sum(1), 0.0, 1.0)
        best = min(best, np.linalg.norm(a + t[:, None] * e, axis=1).min())
    n = np.cross(T[:, 1] - T[:, 0], T[:, 2] - T[:, 0])
    n /= np.linalg.norm(n, axis=1)[:, None]
    s = (n * T[:, 0]).sum(1)
    inside = np.ones(len(T), bool)
    for k in range(3):
        a, e = T[:, k], T[:, (k + 1) % 3] - T[:, k]
        inside &= (np.cross(e, s[:, None] * n - a) * n).sum(1) >= 0.0
    return min([best, *np.abs(s[inside])])


@pytest.mark.parametrize("radii", [(0.3, 0.1, 0.2), (0.05, 0.04, 0.4), (0.5, 0.5, 0.06)])
def test_gap_is_zero_where_it_touches(radii):
    scene, T = Scene(HeightField(HEIGHTS, SPACING), Ellipsoid(radii), ground=True), triangles(HEIGHTS, SPACING)
    random, kinds = np.random.default_rng(7), set()
    for _ in range(60):
        poses = random_poses(random, 0.8)

        def scaled(z, poses=poses):
            poses[1, 11] = z
            R, p = scene.shape_pose(poses, 1)
            return nearest((T - p) @ R / np.array(radii))

        low, high = -2.0, 2.0  # lowered until it touches
        z = np.linspace(high, low, 401)
        k = next(k for k, value in enumerate(z) if scaled(value) < 1.0)
        low, high = z[k], z[k - 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if scaled(middle) > 1.0 else (middle, high)
        poses[1, 11] = high
        contacts = scene.find(poses, 0.02)
        phi, _, _ = measure(contacts, poses)
        assert phi.min() == pytest.approx(0.0, abs=1e-9)
        kinds.add(int(contacts.kind[phi.argmin()]))
    assert kinds == {ROUND_ON_PLANE, ROUND_ON_TRIANGLE}
