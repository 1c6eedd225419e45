"""How clipped points of contact move over their body: the record's closed form against finding them at other poses."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from leastaction.contact.records import POINT_ON_PLANE
from leastaction.mechanism import Box, Capsule, Cylinder, Mesh, Plane
from tests.contact.scenes import Scene, pose

CUBE = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
WEDGE = Mesh(0.2 * CUBE * (1.0, 1.3, 0.5) + 0.05 * (CUBE[:, 2:] > 0) * CUBE)
PAIRS = {
    "box, box": (Box((0.5, 0.4, 0.2)), Box((0.3, 0.6, 0.2)), True),
    "box, mesh": (Box((0.5, 0.4, 0.2)), WEDGE, True),
    "mesh, mesh": (WEDGE, WEDGE, True),
    "box, cylinder": (Box((0.5, 0.4, 0.2)), Cylinder(0.3, 0.2), True),
    "cylinder, mesh": (Cylinder(0.3, 0.2), WEDGE, True),
    "cylinder, cylinder": (Cylinder(0.3, 0.2), Cylinder(0.25, 0.2), True),
    "mesh, capsule": (WEDGE, Capsule(0.1, 0.8), True),
    "plane, cylinder": (Plane(), Cylinder(0.3, 0.2), True),
    "plane, box": (Plane(), Box((0.5, 0.4, 0.2)), False),
}
STEP = 1e-6


def placed(random, scene, b, height):
    """Two poses, the second shape on the first with a slight tilt, aside so that outlines cross; a capsule lies."""
    lying = np.array([0.5 * np.pi, 0.0, 0.0]) if isinstance(b, Capsule) else np.zeros(3)
    turn = Rotation.from_rotvec([*random.uniform(-0.005, 0.005, 2), random.uniform(-1.0, 1.0)])
    turn = turn * Rotation.from_rotvec(lying)
    own, other = scene.table.shapes
    at = own.p + [*random.uniform(-0.2, 0.2, 2), height] - turn.as_matrix() @ other.p
    return np.array([pose(np.zeros(3)), pose(at, turn.as_rotvec())])


def displaced(X, delta, turn):
    """The pose (12) of a body that moves by delta and turns about its origin."""
    R = Rotation.from_rotvec(turn).as_matrix() @ X[:9].reshape(3, 3)
    return np.concatenate([R.ravel(), X[9:] + delta])


@pytest.mark.parametrize("name", PAIRS)
def test_points_move_over_their_body_as_their_record_says(name):
    a, b, moves = PAIRS[name]
    ground, random, largest, checked = isinstance(a, Plane), np.random.default_rng(5), 0.0, 0
    scene = Scene(a, b, ground=ground)
    for _ in range(60):
        poses = placed(random, scene, b, 0.105 if ground else 0.205)
        delta, turn = random.normal(size=(2, 3))
        found = []
        for sign in (0.0, 1.0, -1.0):
            other = poses.copy()
            # On the ground it is the body that moves: what counts is the motion of the first seen from the second.
            other[1] = displaced(poses[1], -sign * STEP * delta, -sign * STEP * turn)
            found.append({c.key: c for c in scene.find(other, 0.1)})
        for key, c in found[0].items():
            if c.kind != POINT_ON_PLANE or not (key in found[1] and key in found[2]):
                continue
            body = c.a if c.flip else c.b
            X = poses[body] if body >= 0 else pose(np.zeros(3))
            R = X[:9].reshape(3, 3)
            # Motion of the first body's point beside the second's, seen from the second.
            x, sign = R @ c.w + X[9:], 1.0 if body == 1 else -1.0
            seen = sign * R.T @ (delta + np.cross(turn, x - poses[1][9:]))
            expected = c.R.reshape(3, 3) @ seen + c.z * (c.n @ (sign * R.T @ turn))
            slope = (found[1][key].w - found[2][key].w) / (2 * STEP)
            np.testing.assert_allclose(slope, expected, atol=2e-6 * max(1.0, np.abs(expected).max() ** 2))
            largest, checked = max(largest, np.abs(expected).max()), checked + 1
    assert checked > 20
    assert (largest > 0.1) == moves
