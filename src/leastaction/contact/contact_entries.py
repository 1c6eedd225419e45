"""Entry points of the contact kernels for Python."""

import numpy as np

from leastaction._jit import entry, inline
from leastaction.contact.narrow_phase.detect import are_smooth, detect, detect_smooth
from leastaction.contact.narrow_phase.gap import gap, material_points
from leastaction.spatial import IDENTITY, store3


@inline
def _pose(poses, k):
    """Return pose k (9 + 3) of an array (n, 12); the identity for the world, -1."""
    if k < 0:
        return IDENTITY
    x = poses[k]
    return (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]), (x[9], x[10], x[11])


def detect_all(shapes, pairs, poses, data, contacts, margin):
    """Detect the contacts of all pairs at the poses (n, 12) (rotation row by row, then position); returns their number.

    Contacts beyond the size of `contacts` are counted but not stored. Pairs of planes and round shapes have a kernel of
    their own, which compiles in a fifth of the time.
    """
    if len(pairs) == 0:
        return 0
    detect_these = detect_smooth_pairs if are_smooth(shapes, pairs) else detect_any_pairs
    return detect_these(shapes, pairs, poses, data, contacts, margin)


@entry
def detect_smooth_pairs(shapes, pairs, poses, data, contacts, margin):
    """`detect_all` for pairs for which `are_smooth` holds."""
    count = np.int64(0)  # typed, because a literal would cause a second compilation
    for k in range(pairs.shape[0]):
        Xa, Xb = _pose(poses, shapes[pairs[k].a].body), _pose(poses, shapes[pairs[k].b].body)
        count = detect_smooth(shapes, pairs, k, Xa, Xb, data, contacts, count, margin)
    return count


@entry
def detect_any_pairs(shapes, pairs, poses, data, contacts, margin):
    """`detect_all` for pairs of any shapes."""
    count = np.int64(0)
    for k in range(pairs.shape[0]):
        Xa, Xb = _pose(poses, shapes[pairs[k].a].body), _pose(poses, shapes[pairs[k].b].body)
        count = detect(shapes, pairs, k, (Xa, Xb), data, contacts, count, margin, True)
    return count


def measure_all(contacts, poses, phi, normals, points):
    """Compute gaps phi (m), normals (m, 3) and points (m, 3) of m contacts at the poses (n, 12)."""
    if len(contacts):
        _measure_all(contacts, poses, phi, normals, points)


@entry
def _measure_all(contacts, poses, phi, normals, points):
    """`measure_all` for at least one contact."""
    for k in range(contacts.shape[0]):
        c = contacts[k]
        phi[k], n, x = gap(c, _pose(poses, c.a), _pose(poses, c.b))
        store3(normals[k], n)
        store3(points[k], x)


@entry
def material_points_of(contacts, poses, points):
    """Material points (m, 2, 3) on bodies b and a of m contacts at the poses (n, 12); see `gap.material_points`."""
    for k in range(contacts.shape[0]):
        c = contacts[k]
        Xa, Xb = _pose(poses, c.a), _pose(poses, c.b)
        _, n, x = gap(c, Xa, Xb)
        a, b = material_points(c, Xa, Xb, n, x)
        store3(points[k, 0], b)
        store3(points[k, 1], a)
