"""Contacts with a plane: of corners, balls, rims and vertices."""

import math

from leastaction._jit import inline, routine
from leastaction.contact.arrays import SeenPlane, pose_of
from leastaction.contact.narrow_phase.closest_points import TINY, corner
from leastaction.contact.narrow_phase.emit import is_known, moving_point, point_on_plane, rim_on_plane, round_on_plane
from leastaction.contact.narrow_phase.feature_motion import FIXED
from leastaction.contact.records import BOX, CYLINDER, ELLIPSOID, MESH
from leastaction.spatial import (
    act,
    add3,
    axpy3,
    column,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    norm3,
    rotate_sym,
    scale3,
    sub3,
    symvec,
)

UPRIGHT = 0.02
"""Sine of the tilt below which a cylinder stands on its face."""

DIRECTIONS = tuple((math.cos(0.25 * math.pi * k + 0.1), math.sin(0.25 * math.pi * k + 0.1)) for k in range(8))
"""Directions of the outermost vertices with which a mesh stands on a plane; rotated against the axes of the mesh, along
which two vertices may be equally far."""

RIM_POINTS = 8
"""Number of contact points on the rim of a standing cylinder."""


@routine
def on_plane(out, count, touch, plane, X1, shape, X2, data, margin):
    """Append the contacts of a plane with any shape but a plane or height field; returns the count."""
    R, p = pose_of(shape)
    local_normal, local_point = column(load9(plane.R), 2), load3(plane.p)
    normal = matvec(X1[0], local_normal)
    # The plane in the frame of the second body: the gap of its point w is slope . w - level.
    slope = mattvec(X2[0], normal)
    level = dot3(normal, sub3(act(X1, local_point), X2[1]))
    if shape.kind == BOX:
        for k in range(8):
            w = corner(R, p, load3(shape.half), k)
            if dot3(slope, w) - level < margin:
                count = point_on_plane(out, count, touch, k, local_normal, local_point, w, 0.0)
        return count
    if shape.kind == MESH:
        seen = SeenPlane(local_normal, local_point, slope, level)
        return _mesh_on_plane(out, count, touch, seen, shape, data, margin)
    if shape.kind == ELLIPSOID:
        h = load3(shape.half)
        Q = rotate_sym(R, (h[0] * h[0], 0.0, 0.0, h[1] * h[1], 0.0, h[2] * h[2]))
        if dot3(slope, p) - level - math.sqrt(dot3(slope, symvec(Q, slope))) < margin:
            count = round_on_plane(out, count, touch, 0, local_normal, local_point, (p, Q))
        return count
    axis = column(R, 2)
    standing = False
    if shape.kind == CYLINDER:
        lowest, tilt = lowest_direction(slope, R)
        standing = tilt < UPRIGHT
    for end in range(1 if shape.half[2] == 0.0 else 2):
        w = axpy3((2 * end - 1) * shape.half[2], axis, p)
        height = dot3(slope, w) - level
        if shape.kind != CYLINDER:
            if height - shape.radius < margin:
                count = point_on_plane(out, count, touch, end, local_normal, local_point, w, shape.radius)
        elif standing:
            for k in range(RIM_POINTS):
                rim = rim_point(w, axis, lowest, shape.radius, k)
                if dot3(slope, rim) - level < margin:
                    plane, feature = (local_normal, local_point), RIM_POINTS * end + k
                    z, m = rim_motion(axis, lowest, tilt, slope, sub3(rim, w))
                    count = moving_point(out, count, touch, feature, plane, rim, 0.0, (FIXED, z, m))
        elif height - shape.radius * tilt < margin:
            feature = 2 * RIM_POINTS + end
            count = rim_on_plane(out, count, touch, feature, local_normal, local_point, w, axis, shape.radius)
    return count


@routine
def lowest_direction(up, R):
    """Unit vector (3) from the centre of a cylinder's face to its lowest point, and the sine of the tilt.

    For an upright cylinder, whose rim points are equally low, the x axis of its frame R.
    """
    axis = column(R, 2)
    across = axpy3(-dot3(up, axis), axis, up)
    tilt = norm3(across)
    return (scale3(-1.0 / tilt, across) if tilt > 1e3 * TINY else column(R, 0)), tilt


@routine
def rim_point(centre, axis, lowest, radius, k):
    """Point k (3) of a rim, counted from the lowest one."""
    angle = 2.0 * math.pi * k / RIM_POINTS
    side = cross(axis, lowest)
    across = add3(scale3(math.cos(angle), lowest), scale3(math.sin(angle), side))
    return axpy3(radius, across, centre)


@inline
def rim_motion(axis, lowest, tilt, up, arm):
    """Motion (z, m) of a `rim_point` at an arm (3), which rotates about the axis with the lowest point: see `emit`.

    A rotation of `up` by d rotates the lowest direction about the axis by -(d x up) . (axis x lowest) / tilt.
    """
    k = -1.0 / tilt if tilt > 1e3 * TINY else 0.0
    return cross(axis, arm), scale3(k, cross(up, cross(axis, lowest)))


@inline
def vertex(data, shape, k):
    """Vertex k (3) of a mesh, in its body's frame."""
    o = shape.first + 3 * k
    return (data[o], data[o + 1], data[o + 2])


@inline
def farther(best, k, direction, x, y):
    """The farther along `direction` of the vertex `best` (index, distance) and vertex k at (x, y)."""
    cosine, sine = DIRECTIONS[direction]
    far = cosine * x + sine * y
    return (k, far) if best[0] < 0 or far > best[1] else best


@routine
def _mesh_on_plane(out, count, touch, plane, shape, data, margin):
    """Append the lowest vertex, and of the vertices below the margin the outermost in eight directions."""
    local_normal, local_point, slope, level = plane
    if dot3(slope, load3(shape.centre)) - level - shape.bound > margin:
        return count
    R = load9(shape.R)
    # Directions fixed to the mesh, so that the same vertices are chosen at the next step.
    big = 0 if abs(dot3(slope, column(R, 0))) > abs(dot3(slope, column(R, 1))) else 1
    big = big if abs(dot3(slope, column(R, big))) > abs(dot3(slope, column(R, 2))) else 2
    e1, e2 = column(R, (big + 1) % 3), column(R, (big + 2) % 3)
    start, low, lowest = count, margin, -1
    none = (-1, 0.0)
    a, b, c, d, e, f, g, h = none, none, none, none, none, none, none, none
    for k in range(shape.rows):
        w = vertex(data, shape, k)
        height = dot3(slope, w) - level
        if height < low:
            low, lowest = height, k
        if height < margin:
            x, y = dot3(e1, w), dot3(e2, w)
            a, b = farther(a, k, 0, x, y), farther(b, k, 1, x, y)
            c, d = farther(c, k, 2, x, y), farther(d, k, 3, x, y)
            e, f = farther(e, k, 4, x, y), farther(f, k, 5, x, y)
            g, h = farther(g, k, 6, x, y), farther(h, k, 7, x, y)
    if lowest < 0:
        return count
    count = point_on_plane(out, count, touch, lowest, local_normal, local_point, vertex(data, shape, lowest), 0.0)
    for best, _ in (a, b, c, d, e, f, g, h):
        if not is_known(out, start, count, touch, best):
            w = vertex(data, shape, best)
            count = point_on_plane(out, count, touch, best, local_normal, local_point, w, 0.0)
    return count
