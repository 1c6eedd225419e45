"""Support functions of convex shapes: the extent along a direction, and the support point.

A sphere is a ball about a point and a capsule one about a segment: supports are those of the point or segment, its
core, and `rounding` is the radius about it. Other shapes are their own cores.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.narrow_phase.closest_points import TINY
from leastaction.contact.narrow_phase.planes import vertex
from leastaction.contact.records import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, SPHERE
from leastaction.spatial import act, axpy3, column, dot3, load3, mattvec, matvec, neg3, norm3, sub3


@inline
def is_polytope(shape):
    """Whether a shape's corners, edges and faces are stored in the data of all shapes."""
    return shape.kind == BOX or shape.kind == MESH


@inline
def rounding(shape):
    """Radius about a shape's core [m]."""
    return shape.radius if shape.kind == SPHERE or shape.kind == CAPSULE else 0.0


@routine
def farthest_vertex(shape, data, m):
    """Index of the vertex of a polytope farthest along m (3), in its body's frame."""
    best, far = 0, -math.inf
    for k in range(shape.rows):
        o = shape.first + 3 * k
        x = m[0] * data[o] + m[1] * data[o + 1] + m[2] * data[o + 2]
        if x > far:
            best, far = k, x
    return best


@routine
def support(convex, data, m):
    """Support point (3) of a shape's core along m (3), of any length."""
    shape, X, (R, p) = convex
    if is_polytope(shape):
        return act(X, vertex(data, shape, farthest_vertex(shape, data, mattvec(X[0], m))))
    if shape.kind == SPHERE:
        return p
    if shape.kind == ELLIPSOID:
        n, h = mattvec(R, m), load3(shape.half)
        y = (h[0] * h[0] * n[0], h[1] * h[1] * n[1], h[2] * h[2] * n[2])
        square = dot3(n, y)
        return axpy3(1.0 / math.sqrt(square), matvec(R, y), p) if square > 0.0 else p
    axis = column(R, 2)
    along = dot3(m, axis)
    x = axpy3(math.copysign(shape.half[2], along), axis, p)
    if shape.kind == CYLINDER:
        across = axpy3(-along, axis, m)
        across = axpy3(-dot3(across, axis), axis, across)  # repeated, since the remainder may be round-off
        length = norm3(across)
        if length > TINY * norm3(m):
            x = axpy3(shape.radius / length, across, x)
    return x


@routine
def separation(one, two, data, n):
    """Separation of two shapes along the unit vector n (3), from the first to the second [m]."""
    d = sub3(support(two, data, neg3(n)), support(one, data, n))
    return dot3(n, d) - rounding(one.shape) - rounding(two.shape)
