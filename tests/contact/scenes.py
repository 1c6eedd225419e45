"""Two shapes on two free bodies, and what the kernels say about them."""

import numpy as np
from scipy.spatial.transform import Rotation

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.contact_shapes import collect
from leastaction.contact.records import CONTACT, records
from leastaction.mechanism import MechanismBuilder, Pose

INERTIA = {"mass": 1.0, "inertia": 1.0}


class Scene:
    """Shape a on body 0 (or on the ground) and shape b on body 1; bodies with other frames than their shapes."""

    def __init__(self, a, b, *, ground=False):
        builder = MechanismBuilder("scene")
        for name, shape in (("a", a), ("b", b)):
            builder.body(name, **INERTIA)
            builder.free(name)
            builder.add_shape("world" if ground and name == "a" else name, shape)
        frames = {"a": (0, Pose((0.1, -0.2, 0.05))), "b": (1, Pose((-0.1, 0.1, 0.2)))}
        self.table = collect(builder.build(), frames)
        self.pairs = self.table.ground if ground else self.table.body_pairs()

    def find(self, poses, margin):
        """Contacts at the poses (2, 12)."""
        contacts = records(64, CONTACT)
        count = detect_all(self.table.shapes, self.pairs, poses, self.table.data, contacts, margin)
        assert count <= 64
        return contacts[:count]

    def shape_pose(self, poses, k):
        """Rotation (3, 3) and origin (3) of shape k in the world."""
        shape = self.table.shapes[k]
        R, p = shape.R.reshape(3, 3), shape.p
        if shape.body < 0:
            return R, p
        X = poses[shape.body]
        return X[:9].reshape(3, 3) @ R, X[:9].reshape(3, 3) @ p + X[9:]


def measure(contacts, poses):
    """Gaps (m), normals (m, 3) and points (m, 3)."""
    phi, n, x = np.zeros(len(contacts)), np.zeros((len(contacts), 3)), np.zeros((len(contacts), 3))
    measure_all(contacts, poses, phi, n, x)
    return phi, n, x


def pose(p, rotation=None):
    """A row (12) from a position and a rotation vector."""
    R = Rotation.from_rotvec((0, 0, 0) if rotation is None else rotation).as_matrix()
    return np.concatenate([R.ravel(), p])


def random_poses(random, spread):
    """Two random poses (2, 12) whose positions differ by up to `spread` in each direction."""
    return np.array(
        [pose(random.uniform(-spread, spread, 3) * k, Rotation.random(rng=random).as_rotvec()) for k in (0, 1)]
    )


def moved(poses, twists, h):
    """The poses after the time h with constant twists (2, 6), angular first, in the world."""
    out = poses.copy()
    for X, (w, v) in zip(out, twists.reshape(-1, 2, 3), strict=True):
        X[:9] = (Rotation.from_rotvec(h * w).as_matrix() @ X[:9].reshape(3, 3)).ravel()
        X[9:] += h * v
    return out
