"""What touches a height field: a surface of triangles over an endless grid, constant beyond its given part.

Each cell is split from (i, j) to (i + 1, j + 1). Contacts are with the planes of triangles, and, for round things,
with edges and corners of the surface; peaks of the surface touch boxes and the middle of capsules.
"""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.distance import (
    clamp,
    closest_on_segments,
    closest_on_triangle,
    column,
    corner,
    lerp,
    local,
    triangle_normal,
)
from leastaction.contact.emit import flipped, point_on_box, point_on_plane, segments
from leastaction.contact.planes import RIM_POINTS, lowest_direction, rim_point, vertex
from leastaction.contact.records import BOX, CAPSULE, CYLINDER, MESH
from leastaction.contact.round import ends, tip
from leastaction.spatial import act, compose, dot3, load3, load9, mattvec, matvec, norm3, scale3, sub3

FEATURES = 1 << 32
"""Numbers of features that a pair has."""

PEAKS = 1 << 31
"""Number of the first feature that is a peak."""


@inline
def _grid(field, data, i, j):
    """Grid point (i, j) (3) in the field's frame; i and j may be any integers."""
    k = min(max(i, 0), field.rows - 1) * field.columns + min(max(j, 0), field.columns - 1)
    x, y = (i - 0.5 * (field.rows - 1)) * field.spacing, (j - 0.5 * (field.columns - 1)) * field.spacing
    return (x, y, data[field.first + k])


@routine
def _triangle(field, data, i, j, upper):
    """The corners (3 x 3) of the lower or upper triangle of cell (i, j), counter-clockwise from above."""
    a, c = _grid(field, data, i, j), _grid(field, data, i + 1, j + 1)
    if upper:
        return a, c, _grid(field, data, i, j + 1)
    return a, _grid(field, data, i + 1, j), c


@inline
def _cell(field, i, j):
    """A number for cell (i, j), the same at the next step."""
    return (i + 4) * (field.columns + 8) + j + 4


@routine
def on_field(out, count, touch, field, X1, shape, X2, data, margin):
    """Contacts of a height field with any other shape but a plane or height field; gives back the count."""
    F = compose(X1, (load9(field.R), load3(field.p)))
    R = load9(shape.R)
    if shape.kind == BOX:
        for k in range(8):
            w = corner(R, load3(shape.p), load3(shape.half), k)
            count = _ball(out, count, touch, field, F, data, k, np.int64(8), w, X2, 0.0, margin)
        return _peaks(out, count, touch, field, X1, F, shape, X2, data, margin)
    if shape.kind == MESH:
        for k in range(shape.rows):
            w = vertex(data, shape, k)
            count = _ball(out, count, touch, field, F, data, k, shape.rows, w, X2, 0.0, margin)
        return count
    if shape.kind == CYLINDER:
        lowest, _ = lowest_direction(mattvec(X2[0], column(F[0], 2)), R)
        for k in range(2 * RIM_POINTS):
            w = rim_point(tip(shape, k // RIM_POINTS), column(R, 2), lowest, shape.radius, k % RIM_POINTS)
            count = _ball(out, count, touch, field, F, data, k, np.int64(2 * RIM_POINTS), w, X2, 0.0, margin)
        return count
    for k in range(1 if shape.half[2] == 0.0 else 2):
        count = _ball(out, count, touch, field, F, data, k, np.int64(2), tip(shape, k), X2, shape.radius, margin)
    if shape.kind == CAPSULE:
        count = _peaks(out, count, touch, field, X1, F, shape, X2, data, margin)
    return count


@routine
def _ball(out, count, touch, field, F, data, number, numbers, w, X2, r, margin):
    """Contacts of a ball of radius r about the point w of the second body."""
    x = local(F, act(X2, w))
    gx, gy = x[0] / field.spacing + 0.5 * (field.rows - 1), x[1] / field.spacing + 0.5 * (field.columns - 1)
    i0, j0 = math.floor(gx), math.floor(gy)
    below = gy - j0 > gx - i0
    a, b, c = _triangle(field, data, i0, j0, below)
    n = triangle_normal(a, b, c)
    over = dot3(n, sub3(x, a))
    start = count
    if over >= 0.0:
        reach = (r + margin) / field.spacing
        for i in range(math.floor(gx - reach) - 1, math.floor(gx + reach) + 1):
            for j in range(math.floor(gy - reach) - 1, math.floor(gy + reach) + 1):
                for upper in range(2):
                    a, b, c = _triangle(field, data, i, j, upper == 1)
                    p, region = closest_on_triangle(a, b, c, x)
                    d = sub3(x, p)
                    if norm3(d) - r >= margin:
                        continue
                    feature = ((8 * _cell(field, i, j) + region) * 2 + upper) * numbers + number
                    feature = feature % PEAKS
                    if region == 0:
                        n = triangle_normal(a, b, c)
                        if dot3(n, d) >= 0.0:
                            count = _plane(out, count, touch, feature, field, n, a, w, r)
                    elif r > 0.0 and _owned(region, upper) and _is_closest(field, data, i, j, p, x):
                        u = a if region == 1 or region == 4 else c
                        v = u if region == 1 else (b if region == 4 else a)
                        count = _edge(out, count, touch, feature, field, u, v, d, w, r)
    if count == start:
        a, b, c = _triangle(field, data, i0, j0, below)
        n = triangle_normal(a, b, c)
        if dot3(n, sub3(x, a)) - r < margin:
            feature = (8 * _cell(field, i0, j0) * 2 + (1 if below else 0)) * numbers + number
            count = _plane(out, count, touch, feature % PEAKS, field, n, a, w, r)
    return count


@routine
def _plane(out, count, touch, feature, field, n, point, w, r):
    """A contact with the plane of a triangle, given in the field's frame."""
    P = (load9(field.R), load3(field.p))
    return point_on_plane(out, count, touch, feature, matvec(P[0], n), act(P, point), w, r)


@routine
def _edge(out, count, touch, feature, field, u, v, d, w, r):
    """A contact with an edge or corner, given in the field's frame; d points to the ball's centre."""
    P = (load9(field.R), load3(field.p))
    n = matvec(P[0], scale3(1.0 / norm3(d), d))
    return segments(out, count, touch, feature, act(P, u), act(P, v), 0.0, n, w, w, r)


@inline
def _owned(region, upper):
    """Whether a triangle speaks for the corner or edge of that region, which it shares with its neighbours.

    The lower one speaks for its first corner, its first edge (along x) and the diagonal, the upper one for its
    last edge (along y).
    """
    if upper == 0:
        return region == 1 or region == 4 or region == 6
    return region == 6


@routine
def _is_closest(field, data, i, j, p, x):
    """Whether no triangle around cell (i, j) that meets the surface point p comes closer to x there."""
    d = sub3(x, p)
    slack = 1e-9 * field.spacing
    for m in range(i - 1, i + 2):
        for k in range(j - 1, j + 2):
            for upper in range(2):
                a, b, c = _triangle(field, data, m, k, upper == 1)
                q, _ = closest_on_triangle(a, b, c, p)
                if norm3(sub3(p, q)) > slack:
                    continue
                if max(dot3(d, sub3(a, p)), dot3(d, sub3(b, p)), dot3(d, sub3(c, p))) > slack * norm3(d):
                    return False
    return True


@routine
def _peaks(out, count, touch, field, X1, F, shape, X2, data, margin):
    """Contacts of the grid points that stand out with a box, or with a capsule between its ends."""
    centre = local(F, act(X2, load3(shape.centre)))
    gx, gy = centre[0] / field.spacing + 0.5 * (field.rows - 1), centre[1] / field.spacing + 0.5 * (field.columns - 1)
    reach = (shape.bound + margin) / field.spacing
    w, z = ends(shape)
    P = (load9(field.R), load3(field.p))
    for i in range(max(math.ceil(gx - reach), 0), min(math.floor(gx + reach) + 1, field.rows)):
        for j in range(max(math.ceil(gy - reach), 0), min(math.floor(gy + reach) + 1, field.columns)):
            top = _grid(field, data, i, j)
            around = _grid(field, data, i - 1, j)[2] + _grid(field, data, i + 1, j)[2]
            around += _grid(field, data, i, j - 1)[2] + _grid(field, data, i, j + 1)[2]
            if top[2] - 0.25 * around < 1e-9 * field.spacing:
                continue
            x = act(F, top)
            u = act(P, top)
            feature = PEAKS + _cell(field, i, j)
            if shape.kind == BOX:
                B = compose(X2, (load9(shape.R), load3(shape.p)))
                y, h = local(B, x), load3(shape.half)
                d = sub3(y, (clamp(y[0], -h[0], h[0]), clamp(y[1], -h[1], h[1]), clamp(y[2], -h[2], h[2])))
                if norm3(d) < margin:
                    count = point_on_box(out, count, flipped(touch), feature, shape, u, 0.0)
            else:
                p, q = act(X2, w), act(X2, z)
                _, t = closest_on_segments(x, x, p, q)
                d = sub3(lerp(p, q, t), x)
                distance = norm3(d)
                if 0.0 < t < 1.0 and 0.0 < distance < shape.radius + margin:
                    n = mattvec(X1[0], scale3(1.0 / distance, d))
                    count = segments(out, count, touch, feature, u, u, 0.0, n, w, z, shape.radius)
    return count
