"""Bodies on the ground: cubes, balls, boards, and how deep they are in each other."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere

G = 9.81


def cubes(count=1, *, size=0.5, mass=1.0, friction=0.5, restitution=None, slope=0.0, gravity=G):
    """Free cubes c0, c1, ... over a plane that goes down along x by an angle [rad]."""
    b = MechanismBuilder("cubes", gravity=(0, 0, -gravity))
    for i in range(count):
        shape = Box((size,) * 3, friction=friction, restitution=restitution)
        b.body(f"c{i}", mass=mass, inertia=mass * size**2 / 6, shapes=shape)
        b.free(f"c{i}")
    b.add_shape("world", Plane(friction=friction, pose=Pose((0, 0, 0), turn(slope))))
    return b.build()


def turn(angle):
    """Quaternion of a turn about y."""
    return math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0


def balls(count, *, radius=0.1, mass=1.0, gravity=G, ground=True, **surface):
    """Free balls s0, s1, ... of one size."""
    b = MechanismBuilder("balls", gravity=(0, 0, -gravity))
    for i in range(count):
        b.body(f"s{i}", mass=mass, shapes=Sphere(radius, **surface))
        b.free(f"s{i}")
    if ground:
        b.add_shape("world", Plane())
    return b.build()


def ball_chain(count, *, radius=0.1, friction=0.5):
    """Balls in a row, each tied to the next by a ball joint where they touch."""
    b = MechanismBuilder("ball chain")
    for i in range(count):
        b.body(f"s{i}", mass=1.0, shapes=Sphere(radius, friction=friction))
        if i == 0:
            b.free("s0")
        else:
            ends = {"position": (radius, 0, 0), "child_pose": Pose((radius, 0, 0))}
            b.spherical(f"j{i}", f"s{i - 1}", f"s{i}", **ends)
    b.add_shape("world", Plane(friction=friction))
    return b.build()


def placed(robot, *positions, angle=0.0):
    """Configuration with the free bodies at these positions, all turned by an angle about y."""
    return np.concatenate([[*x, *turn(angle)] for x in positions])


def separation(a, b):
    """Signed distance [m] of two boxes (rotation, centre, half edges) by the 15 axes; exact if negative."""
    axes = [*a[0].T, *b[0].T]
    for u in a[0].T:
        for w in b[0].T:
            n = np.cross(u, w)
            if np.linalg.norm(n) > 1e-6:
                axes.append(n / np.linalg.norm(n))
    n = np.array(axes)
    return np.max(np.abs(n @ (b[1] - a[1])) - np.abs(n @ a[0]) @ a[2] - np.abs(n @ b[0]) @ b[2])


def clearance(run, half, every=1):
    """Least distance [m] of free boxes to each other and to the plane z = 0, over a run; half edges (boxes, 3)."""
    least = np.inf
    for q in run.q[::every].reshape(-1, len(half), 7):
        boxes = [(Rotation.from_quat(x[[4, 5, 6, 3]]).as_matrix(), x[:3], h) for x, h in zip(q, half, strict=True)]
        for i, box in enumerate(boxes):
            least = min(least, box[1][2] - np.abs(box[0][2]) @ box[2])
            for other in boxes[:i]:
                if np.linalg.norm(box[1] - other[1]) < np.linalg.norm(box[2]) + np.linalg.norm(other[2]):
                    least = min(least, separation(box, other))
    return least


def gaps(run):
    """Gaps of all contacts at the ends of their steps [m]."""
    return run.stored["contacts"][:, 9]
