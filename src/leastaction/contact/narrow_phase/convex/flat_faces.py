"""Flat faces of convex shapes: of polytopes, and the discs at the ends of cylinders."""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.narrow_phase.closest_points import TINY
from leastaction.contact.narrow_phase.convex.arrays import Face
from leastaction.contact.narrow_phase.convex.support_functions import farthest_vertex, is_polytope
from leastaction.contact.narrow_phase.planes import RIM_POINTS, lowest_direction, rim_point, vertex
from leastaction.contact.records import CYLINDER
from leastaction.spatial import act, axpy3, column, cross, dot3, mattvec, matvec, neg3, norm3, scale3, sub3

FACE_NUMBERS, EDGE_NUMBERS = 6, 4
"""Numbers per face and per edge in the data of a polytope, see `convex_hulls`."""


@inline
def edge_of(shape, data, k):
    """The vertices and faces of edge k of a polytope."""
    o = shape.edges + EDGE_NUMBERS * k
    return np.int64(data[o]), np.int64(data[o + 1]), np.int64(data[o + 2]), np.int64(data[o + 3])


@inline
def edges_at(shape, data, corner):
    """Range in the data of the edges at a corner of a polytope, see `convex_hulls.Polytope.numbers`."""
    o = shape.edges + EDGE_NUMBERS * shape.edge_count
    lists = o + shape.rows + 1
    return lists + np.int64(data[o + corner]), lists + np.int64(data[o + corner + 1])


@routine
def flattest_edge(convex, data, n):
    """Of the edges at the support vertex of a polytope along n (3), the one closest to orthogonal to n."""
    shape, m = convex.shape, mattvec(convex.body[0], n)
    top, best, least = farthest_vertex(shape, data, m), np.int64(0), 2.0
    begin, end = edges_at(shape, data, top)
    for o in range(begin, end):
        k = np.int64(data[o])
        i, j, _, _ = edge_of(shape, data, k)
        d = sub3(vertex(data, shape, j), vertex(data, shape, i))
        lean = abs(dot3(m, d)) / norm3(d)
        if lean < least:
            best, least = k, lean
    return best


@routine
def face_along(convex, data, n):
    """The `Face` of a shape along n (3): of the faces at its `flattest_edge`, the one whose normal is closest to n."""
    shape, X, (R, p) = convex
    if is_polytope(shape):
        m = mattvec(X[0], n)
        best, far = shape.faces, -math.inf
        _, _, left, right = edge_of(shape, data, flattest_edge(convex, data, n))
        for side in range(2):
            o = shape.faces + FACE_NUMBERS * (left if side == 0 else right)
            x = m[0] * data[o] + m[1] * data[o + 1] + m[2] * data[o + 2]
            if x > far:
                best, far = o, x
        normal = (data[best], data[best + 1], data[best + 2])
        point = act(X, scale3(data[best + 3], normal))
        index = (best - shape.faces) // FACE_NUMBERS
        return Face(index, matvec(X[0], normal), point, np.int64(data[best + 4]), np.int64(data[best + 5]), 0.0)
    none = np.int64(0)
    if shape.kind == CYLINDER:
        axis = column(R, 2)
        up = dot3(axis, n) > 0.0
        normal = axis if up else neg3(axis)
        return Face(np.int64(1 if up else 0), normal, axpy3(shape.half[2], normal, p), none, none, shape.radius)
    return Face(np.int64(-1), n, p, none, none, 0.0)


@inline
def corners_of(face):
    """Number of corners of a face; a disc is represented by points of its rim."""
    return face.count if face.count > 0 else RIM_POINTS


@routine
def face_corner(convex, face, data, k, up):
    """Corner k (3) of a face, counter-clockwise; those of a disc are counted from the lowest point along `up` (3)."""
    if face.count > 0:
        shape = convex.shape
        return act(convex.body, vertex(data, shape, np.int64(data[face.begin + k % face.count])))
    lowest, _ = lowest_direction(up, convex.pose[0])
    return rim_point(face.point, face.normal, lowest, face.radius, k)


@routine
def is_over(convex, face, data, x, slack):
    """Whether the projection of a point (3) lies in a face, within the slack [m]."""
    n = face.normal
    if face.count == 0:
        d = sub3(x, face.point)
        return norm3(axpy3(-dot3(d, n), n, d)) <= face.radius + slack
    for k in range(face.count):
        a = face_corner(convex, face, data, k, n)
        e = sub3(face_corner(convex, face, data, k + 1, n), a)
        if dot3(cross(e, n), sub3(x, a)) > slack * norm3(e):
            return False
    return True


@routine
def over_face(convex, face, data, p, d):
    """Part (enter, leave) of the segment p + t d, 0 <= t <= 1, that projects into a face; enter >= leave if none does.

    Also returns the sides of the face at which it enters and leaves, -1 for an end of the segment.
    """
    n = face.normal
    enter, leave, first, last = 0.0, 1.0, np.int64(-1), np.int64(-1)
    if face.count == 0:
        u, w = sub3(p, face.point), axpy3(-dot3(d, n), n, d)
        u = axpy3(-dot3(u, n), n, u)
        a, b, c = dot3(w, w), dot3(u, w), dot3(u, u) - face.radius * face.radius
        root = b * b - a * c
        if root <= 0.0 or a <= TINY * TINY:
            return enter, (leave if c < 0.0 and root > 0.0 else -1.0), first, last
        root = math.sqrt(root)
        if (-b - root) / a > enter:
            enter, first = (-b - root) / a, np.int64(0)
        if (-b + root) / a < leave:
            leave, last = (-b + root) / a, np.int64(0)
        return enter, leave, first, last
    for k in range(face.count):
        a3 = face_corner(convex, face, data, k, n)
        e = sub3(face_corner(convex, face, data, k + 1, n), a3)
        out = cross(e, n)
        slope, height = dot3(out, d), dot3(out, sub3(p, a3))
        if abs(slope) < 1e-12 * norm3(e) * norm3(d):
            if height > 0.0:
                leave = -1.0
        elif slope > 0.0:
            if -height / slope < leave:
                leave, last = -height / slope, np.int64(k)
        elif -height / slope > enter:
            enter, first = -height / slope, np.int64(k)
    return enter, leave, first, last
