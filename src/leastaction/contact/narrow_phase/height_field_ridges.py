"""Contacts of peaks and ridges of a height field with boxes, and with capsules between their ends.

Peaks are grid points that touch the box or the capsule's segment; ridges are edges where the surface is convex. A ridge
and a capsule touch as two segments. A ridge and an edge of a box touch where they cross, if each lies outside of the
body that the other is an edge of.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.arrays import Line, NearField, Ridge, Segment, flipped, pose_of
from leastaction.contact.narrow_phase.closest_points import (
    TINY,
    closest_in_box,
    closest_on_lines,
    closest_on_segments,
    lerp,
    local,
    triangle_normal,
)
from leastaction.contact.narrow_phase.emit import edges, point_on_box, segments
from leastaction.contact.narrow_phase.height_field_surface import SLACK, cell, grid, whole
from leastaction.contact.narrow_phase.spheres_capsules import thick_segment
from leastaction.contact.records import BOX
from leastaction.spatial import (
    act,
    axpy3,
    column,
    compose,
    cross,
    dot3,
    load3,
    mattmul,
    matvec,
    norm3,
    scale3,
    sub3,
)

PEAKS = 1 << 31
"""Feature number of the first peak."""

RIDGES = 3 << 30
"""Feature number of the first ridge."""

LEAN = 0.1
"""Tolerance by which the normal of two edges may leave their wedges: for a box that lies on a ridge it is on the
boundary."""

CROSSING = 0.05
"""Least sine of the angle between two edges that cross."""

DEPTH = 0.2
"""Largest penetration of two edges, relative to the smallest half edge of the box, that counts as a contact."""


@routine
def peaks_and_ridges(out, count, touch, ground, shape, X2, margin):
    """Append the contacts of peaks and ridges of a `PlacedField` with a box or capsule; returns the count."""
    field, F, data = ground
    S = compose(X2, pose_of(shape))
    L = (mattmul(F[0], S[0]), local(F, S[1]))  # in the field's frame
    near_by = NearField(shape, L)
    h, R = load3(shape.half), L[0]
    r = 0.0 if shape.kind == BOX else shape.radius
    # Grid points within this distance of the centre along x, y and z are tested.
    ex = abs(R[0]) * h[0] + abs(R[1]) * h[1] + abs(R[2]) * h[2] + r + margin
    ey = abs(R[3]) * h[0] + abs(R[4]) * h[1] + abs(R[5]) * h[2] + r + margin
    bottom = L[1][2] - abs(R[6]) * h[0] - abs(R[7]) * h[1] - abs(R[8]) * h[2] - r - margin
    d = field.spacing
    gx, gy = L[1][0] / d + 0.5 * (field.rows - 1), L[1][1] / d + 0.5 * (field.columns - 1)
    for i in range(whole(gx - ex / d), whole(gx + ex / d) + 1):
        for j in range(whole(gy - ey / d), whole(gy + ey / d) + 1):
            u = grid(field, data, i, j)
            left, right = grid(field, data, i - 1, j), grid(field, data, i + 1, j)
            near, far = grid(field, data, i, j - 1), grid(field, data, i, j + 1)
            around = 0.25 * (left[2] + right[2] + near[2] + far[2])
            if u[2] > bottom and u[2] - around > SLACK * d:
                feature = PEAKS + cell(field, i, j) % (1 << 30)
                count = _peak(out, count, touch, feature, field, near_by, u, (left, right, near, far), margin)
            opposite = grid(field, data, i + 1, j + 1)
            for side in range(3):
                # The ridge, and the two corners opposite it, the left one first.
                v = right if side == 0 else (opposite if side == 1 else far)
                if max(u[2], v[2]) < bottom:
                    continue
                b = opposite if side == 0 else (far if side == 1 else left)
                c = near if side == 0 else (right if side == 1 else opposite)
                if dot3(triangle_normal(u, v, b), sub3(c, u)) > -SLACK * d:
                    continue
                feature = RIDGES + (3 * cell(field, i, j) + side) % (1 << 26) * 12
                ridge = Ridge(u, v, b, c)
                if shape.kind == BOX:
                    count = _on_box(out, count, touch, feature, field, near_by, ridge, margin)
                else:
                    count = _on_capsule(out, count, touch, feature, field, near_by, ridge, margin)
    return count


@routine
def _peak(out, count, touch, feature, field, near_by, top, around, margin):
    """Append the contact of a peak `top`; for capsules unless the surface towards a neighbour in `around` is closer."""
    shape, L = near_by
    P = pose_of(field)
    u = act(P, top)
    y, h = local(L, top), load3(shape.half)
    d = sub3(y, closest_in_box(h, y))
    distance = norm3(d)
    if shape.kind == BOX:
        if distance < margin:
            count = point_on_box(out, count, flipped(touch), feature, shape, u, 0.0)
    elif abs(y[2]) < h[2] + margin and 0.0 < distance < shape.radius + margin:
        d = matvec(L[0], scale3(-1.0, d))
        for x in around:
            if _beside(d, top, x, margin):
                return count
        n = matvec(P[0], scale3(1.0 / distance, d))
        count = segments(out, count, touch, feature, Segment(u, u, 0.0), thick_segment(shape), n)
    return count


@inline
def _beside(d, p, x, margin):
    """Whether the vector d (3) leans from p towards x by more than the margin, so that the closest point is there."""
    e = sub3(x, p)
    return dot3(d, e) > margin * norm3(e)


@routine
def _on_capsule(out, count, touch, feature, field, near_by, ridge, margin):
    """Append the contact of a ridge with a capsule between its ends."""
    shape, L = near_by
    u, v = ridge.start, ridge.end
    half = scale3(shape.half[2], column(L[0], 2))
    p, q = sub3(L[1], half), axpy3(1.0, half, L[1])
    s, t = closest_on_segments(u, v, p, q)
    d = sub3(lerp(p, q, t), lerp(u, v, s))
    distance = norm3(d)
    if distance - shape.radius >= margin or distance < TINY:
        return count
    # They have to cross, now or soon. On which side of the ridge the capsule lies must not matter: for nearly parallel
    # lines that changes within a step.
    if _beside(d, v, u, margin) or _beside(d, u, v, margin) or _beside(d, p, q, margin) or _beside(d, q, p, margin):
        return count
    P = pose_of(field)
    n = matvec(P[0], scale3(1.0 / distance, d))
    return segments(out, count, touch, feature, Segment(act(P, u), act(P, v), 0.0), thick_segment(shape), n)


@routine
def _on_box(out, count, touch, feature, field, near_by, ridge, margin):
    """Append the contacts of a ridge with edges of a box."""
    shape, L = near_by
    u, v, b, c = ridge
    h = load3(shape.half)
    e = sub3(v, u)
    length = norm3(e)
    y = local(L, lerp(u, v, 0.5))
    d = sub3(y, closest_in_box(h, y))
    if norm3(d) > 0.5 * length + margin:
        return count
    e = scale3(1.0 / length, e)
    P, box = pose_of(field), pose_of(shape)
    least = -DEPTH * min(h)
    for k in range(12):
        # The box edge along this axis between the faces with normals f1 and f2.
        axis, one, two = k // 4, (k // 4 + 1) % 3, (k // 4 + 2) % 3
        g = column(L[0], axis)
        n = cross(e, g)
        sine = norm3(n)
        if sine < CROSSING:
            continue
        f1, f2 = column(L[0], one), column(L[0], two)
        if k & 1:
            f1 = scale3(-1.0, f1)
        if k & 2:
            f2 = scale3(-1.0, f2)
        n = scale3(math.copysign(1.0 / sine, -dot3(n, f1) - dot3(n, f2)), n)
        outside = max(dot3(n, f1), dot3(n, f2)) < LEAN
        if not outside or max(dot3(n, sub3(b, u)), dot3(n, sub3(c, u))) > LEAN * field.spacing:
            continue
        h1, h2 = (h[1], h[2]) if axis == 0 else ((h[2], h[0]) if axis == 1 else (h[0], h[1]))
        half = h[0] if axis == 0 else (h[1] if axis == 1 else h[2])
        middle = axpy3(h1, f1, axpy3(h2, f2, L[1]))
        s, t = closest_on_lines(u, e, middle, g)
        x1, x2 = axpy3(s, e, u), axpy3(t, g, middle)
        phi = dot3(n, sub3(x2, x1))
        if s < 0.0 or s > length or abs(t) > half or phi >= margin or phi < least:
            continue
        one = Line(act(P, x1), matvec(P[0], e))
        two = Line(act(box, local(L, x2)), column(box[0], axis))
        count = edges(out, count, touch, feature + k, one, two, matvec(P[0], n), 0.0)
    return count
