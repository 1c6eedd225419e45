"""Contacts of ellipsoids with a height field.

Contacts found at the start of a step have to be valid until its end. Therefore an ellipsoid touches

- the infinite plane of the closest triangle, if the closest point is in its face: on a flat or convex surface this
  prevents contact with the neighbours as well, and the ellipsoid does not catch on edges;
- the bounded triangle, if the closest point is on an edge or corner, and all triangles that rise above that plane.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.arrays import PlacedField, RoundOnField, pose_of
from leastaction.contact.narrow_phase.closest_points import local, triangle_normal
from leastaction.contact.narrow_phase.ellipsoids import over_triangle
from leastaction.contact.narrow_phase.emit import round_on_plane, round_on_triangle
from leastaction.contact.narrow_phase.height_field_ridges import PEAKS
from leastaction.contact.narrow_phase.height_field_surface import SLACK, cell, triangle, whole
from leastaction.spatial import (
    act,
    axpy3,
    compose,
    dot3,
    load3,
    load9,
    mattmul,
    matvec,
    rotate_sym,
    sub3,
    symvec,
)

FLAT = 1.0 - 1e-12
"""Cosine of the angle between contact normal and triangle normal above which the contact is in the face."""


@routine
def ellipsoid_on_field(out, count, touch, field, X1, shape, X2, data, margin):
    """Append the contacts of a height field with an ellipsoid; returns the count."""
    ground = PlacedField(field, compose(X1, pose_of(field)), data)
    S, h, d = compose(X2, pose_of(shape)), load3(shape.half), field.spacing
    squares = (h[0] * h[0], 0.0, 0.0, h[1] * h[1], 0.0, h[2] * h[2])
    middle, Q = local(ground.pose, S[1]), rotate_sym(mattmul(ground.pose[0], S[0]), squares)
    thing = RoundOnField(middle, Q, (load3(shape.p), rotate_sym(load9(shape.R), squares)))
    gx, gy = middle[0] / d + 0.5 * (field.rows - 1), middle[1] / d + 0.5 * (field.columns - 1)
    i, j = whole(gx), whole(gy)
    upper = 1 if gy - j > gx - i else 0
    a, b, c = triangle(field, data, i, j, upper == 1)
    if dot3(triangle_normal(a, b, c), sub3(middle, a)) < 0.0:  # its centre is below the surface
        return _emit(out, count, touch, ground, thing, i, j, upper, True)
    ex, ey = (math.sqrt(Q[0]) + margin) / d, (math.sqrt(Q[3]) + margin) / d
    rows = whole(gx - ex), whole(gx + ex) + 1
    columns = whole(gy - ey), whole(gy + ey) + 1
    least, steep, up, foot = margin, 0.0, (0.0, 0.0, 1.0), middle
    for i in range(rows[0], rows[1]):
        for j in range(columns[0], columns[1]):
            for upper in range(2):
                s, n, x = _gap(ground, thing, i, j, upper, margin)
                if s >= margin:
                    continue
                # Of adjacent triangles with the same distance, take the one that faces the ellipsoid most.
                a, b, c = triangle(field, data, i, j, upper == 1)
                facing = dot3(n, triangle_normal(a, b, c))
                if s < least - SLACK * d or (s < least + SLACK * d and facing > steep):
                    least, steep, up, foot = s, facing, n, axpy3(-s, n, x)
                    nearest = i, j, upper
    if steep == 0.0:
        return count
    count = _emit(out, count, touch, ground, thing, nearest[0], nearest[1], nearest[2], steep > FLAT and margin > 0.0)
    for i in range(rows[0], rows[1]):
        for j in range(columns[0], columns[1]):
            for upper in range(2):
                a, b, c = triangle(field, data, i, j, upper == 1)
                rises = max(dot3(up, sub3(a, foot)), dot3(up, sub3(b, foot)), dot3(up, sub3(c, foot))) > SLACK * d
                own = i == nearest[0] and j == nearest[1] and upper == nearest[2]
                if rises and not own and _gap(ground, thing, i, j, upper, margin)[0] < margin:
                    count = _emit(out, count, touch, ground, thing, i, j, upper, False)
    return count


@inline
def _gap(ground, thing, i, j, upper, margin):
    """`over_triangle` for one triangle; infinite beyond the margin, and for triangles seen from below."""
    a, b, c = triangle(ground.shape, ground.data, i, j, upper == 1)
    n = triangle_normal(a, b, c)
    height = dot3(n, sub3(thing.middle, a))
    if height < 0.0 or height - math.sqrt(dot3(n, symvec(thing.Q, n))) >= margin:
        return math.inf, n, a
    return over_triangle((a, b, c), n, thing.middle, thing.Q)


@routine
def _emit(out, count, touch, ground, thing, i, j, upper, endless):
    """Append a contact with a triangle, or with its infinite plane (`endless`)."""
    a, b, c = triangle(ground.shape, ground.data, i, j, upper == 1)
    P, feature = pose_of(ground.shape), (4 * cell(ground.shape, i, j) + 2 * upper) % PEAKS
    n = matvec(P[0], triangle_normal(a, b, c))
    if endless:
        return round_on_plane(out, count, touch, feature, n, act(P, a), thing.own)
    return round_on_triangle(out, count, touch, feature + 1, (act(P, a), act(P, b), act(P, c)), n, thing.own)
