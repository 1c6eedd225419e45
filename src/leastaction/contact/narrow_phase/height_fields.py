"""Contacts with a height field.

Contacts found at the start of a step have to be valid until its end. Therefore balls touch

- the infinite planes of triangles below them: on a flat or convex surface this prevents contact with the neighbours as
  well, and the ball does not catch on edges;
- the planes of neighbours across a valley (concave edge), where they continue below the surface;
- bounded triangles, with edges and corners, where the ball is over a ridge or corner, or may hit a protruding one.
  Their distance is a convex function of the centre, so none of them adds energy.

Ridges and peaks that touch boxes and capsules between their ends are in `height_field_ridges`.
"""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.arrays import FieldBall, PlacedField, pose_of
from leastaction.contact.narrow_phase.closest_points import closest_on_triangle, corner, local, triangle_normal
from leastaction.contact.narrow_phase.emit import point_on_plane, point_on_triangle
from leastaction.contact.narrow_phase.height_field_ridges import PEAKS, peaks_and_ridges
from leastaction.contact.narrow_phase.height_field_surface import SLACK, cell, is_closest, is_valley, triangle, whole
from leastaction.contact.narrow_phase.planes import RIM_POINTS, lowest_direction, rim_point, vertex
from leastaction.contact.narrow_phase.spheres_capsules import tip
from leastaction.contact.records import BOX, CAPSULE, CYLINDER, MESH
from leastaction.spatial import act, axpy3, column, compose, dot3, load3, load9, mattvec, matvec, norm3, scale3, sub3

SIDEWAYS = 0.5
"""Largest sideways motion of a ball within a step, relative to the margin."""


@routine
def on_field(out, count, touch, field, X1, shape, X2, data, margin):
    """Append the contacts of a height field with any shape but a plane or height field; returns the count."""
    ground = PlacedField(field, compose(X1, pose_of(field)), data)
    R = load9(shape.R)
    if shape.kind == BOX:
        for k in range(8):
            w = corner(R, load3(shape.p), load3(shape.half), k)
            count = _ball(out, count, touch, ground, FieldBall(k, np.int64(8), w, 0.0), X2, margin)
    elif shape.kind == MESH:
        for k in range(shape.rows):
            w = vertex(data, shape, k)
            count = _ball(out, count, touch, ground, FieldBall(k, shape.rows, w, 0.0), X2, margin)
    elif shape.kind == CYLINDER:
        lowest, _ = lowest_direction(mattvec(X2[0], column(ground.pose[0], 2)), R)
        for k in range(2 * RIM_POINTS):
            w = rim_point(tip(shape, k // RIM_POINTS), column(R, 2), lowest, shape.radius, k % RIM_POINTS)
            count = _ball(out, count, touch, ground, FieldBall(k, np.int64(2 * RIM_POINTS), w, 0.0), X2, margin)
    else:
        for k in range(1 if shape.half[2] == 0.0 else 2):
            ball = FieldBall(k, np.int64(2), tip(shape, k), shape.radius)
            count = _ball(out, count, touch, ground, ball, X2, margin)
    if shape.kind == BOX or shape.kind == CAPSULE:
        count = peaks_and_ridges(out, count, touch, ground, shape, X2, margin)
    return count


@routine
def _ball(out, count, touch, ground, ball, X2, margin):
    """Append the contacts of a `FieldBall` of the second body."""
    field, F, data = ground
    number, numbers, w, r = ball
    x = local(F, act(X2, w))
    gx, gy = x[0] / field.spacing + 0.5 * (field.rows - 1), x[1] / field.spacing + 0.5 * (field.columns - 1)
    i0, j0 = whole(gx), whole(gy)
    upper0 = 1 if gy - j0 > gx - i0 else 0
    a, b, c = triangle(field, data, i0, j0, upper0 == 1)
    # Closest point of the surface; below the surface, the projection on the plane of the triangle above.
    n0 = triangle_normal(a, b, c)
    over = dot3(n0, sub3(x, a))
    least, foot, up = over, axpy3(-over, n0, x), n0
    reach = (r + margin) / field.spacing
    first, last = whole(gx - reach) - 1, whole(gx + reach) + 1
    if over >= 0.0:
        least = math.inf
        for i in range(first, last):
            for j in range(whole(gy - reach) - 1, whole(gy + reach) + 1):
                for upper in range(2):
                    a, b, c = triangle(field, data, i, j, upper == 1)
                    p, _ = closest_on_triangle(a, b, c, x)
                    distance = norm3(sub3(x, p))
                    if distance < least:
                        least, foot = distance, p
        if least > 1e3 * SLACK * field.spacing:
            up = scale3(1.0 / least, sub3(x, foot))
    if least - r >= margin:
        return count
    slack = SLACK * field.spacing
    sideways = SIDEWAYS * margin
    start = count
    for i in range(first, last):
        for j in range(whole(gy - reach) - 1, whole(gy + reach) + 1):
            for upper in range(2):
                a, b, c = triangle(field, data, i, j, upper == 1)
                p, region = closest_on_triangle(a, b, c, x)
                distance = norm3(sub3(x, p))
                if distance - r >= margin:
                    continue
                n = triangle_normal(a, b, c)
                height = dot3(n, sub3(x, a))
                plane, face = region == 0 and height >= 0.0, False
                if region != 0:
                    rises = max(dot3(up, sub3(a, foot)), dot3(up, sub3(b, foot)), dot3(up, sub3(c, foot))) > slack
                    near = distance * distance - height * height < sideways * sideways
                    if near and rises and height >= least - slack:
                        plane = is_valley(field, data, i, j, upper == 1, region, a, n)
                    if not plane and r > 0.0 and over >= 0.0:
                        face = near and rises
                        if not face and (near or _owned(region, upper)):
                            face = is_closest(field, data, i, j, p, x)
                feature = (4 * cell(field, i, j) + 2 * upper) * numbers + number
                if plane:
                    count = _plane(out, count, touch, feature % PEAKS, field, n, a, w, r)
                elif face:
                    P = pose_of(field)
                    corners = (act(P, a), act(P, b), act(P, c))
                    feature = (feature + numbers) % PEAKS
                    count = point_on_triangle(out, count, touch, feature, corners, matvec(P[0], n), w, r)
    if (over < 0.0 or count == start) and over - r < margin:
        a, b, c = triangle(field, data, i0, j0, upper0 == 1)
        feature = (4 * cell(field, i0, j0) + 2 * upper0) * numbers + number
        count = _plane(out, count, touch, feature % PEAKS, field, n0, a, w, r)
    return count


@routine
def _plane(out, count, touch, feature, field, n, point, w, r):
    """Append a contact with the infinite plane of a triangle, given in the field's frame."""
    P = pose_of(field)
    return point_on_plane(out, count, touch, feature, matvec(P[0], n), act(P, point), w, r)


@inline
def _owned(region, upper):
    """Whether a triangle represents the corner or edge of that region, which it shares with its neighbours.

    The lower one represents its first corner, its first edge (along x) and the diagonal, the upper one its last edge
    (along y).
    """
    if upper == 0:
        return region == 1 or region == 4 or region == 6
    return region == 6
