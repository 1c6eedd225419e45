"""Box-box contacts: separating axis test, then the incident face clipped to the reference face, or a pair of edges.

The fifteen axes are those of Gottschalk et al. 1996. The clipped points are contact points of one box over a plane of
the other; each is labelled by the features that it results from, which identifies it at the next step.
"""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.arrays import Line, flipped, placed_box
from leastaction.contact.narrow_phase.closest_points import closest_on_lines, local
from leastaction.contact.narrow_phase.emit import edges, moving_point, point_on_plane
from leastaction.contact.narrow_phase.feature_motion import FIXED, crossing, under_corner
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    column,
    cross,
    dot3,
    mattmul,
    mattvec,
    scale3,
    sub3,
)

PARALLEL = 1e-3
"""Sine of the angle between two edges below which their cross product is no separating axis."""

SAME = 1e-3
"""Points closer to an edge than this count as on it, relative to the smallest half edge."""

TIE = 1e-5
"""Separations that differ by less than this, relative to the smallest half edge, count as equal."""

EDGE_LABEL = 6 * 6 * 32
"""Feature number of the first pair of edges."""


@inline
def _at(v, k):
    """Entry k of a vector (3), for k known only at run time."""
    return v[0] if k == 0 else (v[1] if k == 1 else v[2])


@routine
def _reach(box, n):
    """Support function of a box about its centre along n [m]."""
    h, m = box.half, mattvec(box.pose[0], n)
    return abs(m[0]) * h[0] + abs(m[1]) * h[1] + abs(m[2]) * h[2]


@routine
def box_on_box(out, count, touch, box1, X1, box2, X2, margin):
    """Append the contacts of two boxes; returns the count."""
    one, two = placed_box(box1, X1), placed_box(box2, X2)
    (RA, a), (RB, b) = one.pose, two.pose
    d = sub3(b, a)
    size = min(min(one.half), min(two.half))
    # Faces 0, 1, 2 belong to A and 3, 4, 5 to B. B's face is the reference only if it is better by more than rounding.
    face, separation = np.int64(-1), -math.inf  # typed, because literals would cause a second compilation
    for k in range(6):
        n = column(RA, k) if k < 3 else column(RB, k - 3)
        s = abs(dot3(n, d)) - _reach(one, n) - _reach(two, n)
        if s > margin:
            return count
        if s > separation + (TIE * size if face < 3 <= k else 0.0):
            face, separation = k, s
    edge, edge_separation = np.int64(-1), -math.inf
    C = mattmul(RA, RB)
    for k in range(9):
        cosine = C[k]
        sine = math.sqrt(max(1.0 - cosine * cosine, 0.0))
        if sine > PARALLEL:
            n = scale3(1.0 / sine, cross(column(RA, k // 3), column(RB, k % 3)))
            s = abs(dot3(n, d)) - _reach(one, n) - _reach(two, n)
            if s > margin:
                return count
            if s > edge_separation:
                edge, edge_separation = k, s
    start, tie = count, TIE * size
    edge_is_better = edge >= 0 and edge_separation > separation + tie
    depth = 0.0 if edge_is_better else separation
    count, lowest = _either_face(out, start, touch, one, two, face, depth, margin)
    if not edge_is_better:
        return count
    # If the face contact reproduces the edges' separation, its several points are preferred to the single one.
    deep_enough = edge_separation > 0.0 or lowest < edge_separation + tie
    if count > start and deep_enough and edge_separation < lowest + tie:
        return count
    after = _edge(out, start, touch, one, two, edge, margin)
    if after == start and edge_separation < 0.0:
        after, _ = _either_face(out, start, touch, one, two, face, separation, margin)
    return after


@routine
def _either_face(out, count, touch, one, two, face, depth, margin):
    """Append the face contact for reference face 0 to 2 of the first box, or 3 to 5 (of the second)."""
    if face < 3:
        return _face(out, count, touch, one, face, two, depth, margin)
    return _face(out, count, flipped(touch), two, face - 3, one, depth, margin)


@routine
def _face(out, count, touch, one, k, two, depth, margin):
    """Append points of the second box's incident face over face k of the first; returns the count and the least gap.

    depth: separation along the face normal [m]; if it is negative, one of the points has that gap.
    """
    A, hA, X1 = one.pose, one.half, one.body
    B, hB, X2 = two.pose, two.half, two.body
    lowest = math.inf
    i, j = (k + 1) % 3, (k + 2) % 3
    sign = 1.0 if dot3(column(A[0], k), sub3(B[1], A[1])) >= 0.0 else -1.0
    n = scale3(sign, column(A[0], k))
    along = mattvec(B[0], n)
    f = 0
    for m in range(1, 3):
        if abs(_at(along, m)) > abs(_at(along, f)):
            f = m
    side = -1.0 if _at(along, f) > 0.0 else 1.0
    # Incident face in A's frame: centre and half edges; then only (x, y, height over the reference face).
    e, g = (f + 1) % 3, (f + 2) % 3
    m3 = local(A, axpy3(side * _at(hB, f), column(B[0], f), B[1]))
    e3 = mattvec(A[0], scale3(_at(hB, e), column(B[0], e)))
    g3 = mattvec(A[0], scale3(_at(hB, g), column(B[0], g)))
    mx, my, mz = _at(m3, i), _at(m3, j), sign * _at(m3, k) - _at(hA, k)
    ex, ey, ez = _at(e3, i), _at(e3, j), sign * _at(e3, k)
    gx, gy, gz = _at(g3, i), _at(g3, j), sign * _at(g3, k)
    a, b = _at(hA, i), _at(hA, j)
    slack = SAME * min(min(hA), min(hB))
    # The feature number contains both faces, so contacts are new when the reference or incident face changes.
    faces = 32 * (6 * (2 * k + (1 if sign > 0.0 else 0)) + 2 * f + (1 if side > 0.0 else 0))
    normal, point = mattvec(X1[0], n), local(X1, axpy3(_at(hA, k), n, A[1]))
    determinant = ex * gy - ey * gx
    for label in range(24):
        inside = False
        x, y, z = 0.0, 0.0, 0.0
        if label < 4:  # corners of the incident face inside the reference face
            p, q = (1.0 if label & 1 else -1.0), (1.0 if label & 2 else -1.0)
            x, y, z = mx + p * ex + q * gx, my + p * ey + q * gy, mz + p * ez + q * gz
            inside = abs(x) <= a + slack and abs(y) <= b + slack
        elif label < 8:  # corners of the reference face inside the incident face
            x, y = (a if label & 1 else -a), (b if label & 2 else -b)
            p = ((x - mx) * gy - (y - my) * gx) / determinant
            q = (ex * (y - my) - ey * (x - mx)) / determinant
            z = mz + p * ez + q * gz
            # With tolerance, for sides that coincide; but then a corner that both faces share is counted once.
            along_e, along_g = (1.0 - abs(p)) * _at(hB, e), (1.0 - abs(q)) * _at(hB, g)
            inside = min(along_e, along_g) > -slack and max(abs(along_e), abs(along_g)) > 0.5 * slack
        else:  # sides of the incident face that cross sides of the reference face
            s, t = (label - 8) // 4, (label - 8) % 4
            p = 1.0 if s & 1 else -1.0
            second = s >= 2
            cx, cy, cz = (mx + p * ex, my + p * ey, mz + p * ez) if second else (mx + p * gx, my + p * gy, mz + p * gz)
            dx, dy, dz = (gx, gy, gz) if second else (ex, ey, ez)
            half = _at(hB, g) if second else _at(hB, e)
            if t < 2:
                x = a if t & 1 else -a
                q = (x - cx) / dx if dx != 0.0 else 2.0
                y = cy + q * dy
                inside = (1.0 - abs(q)) * half > slack and abs(y) < b - slack
                inside = inside and (1.0 - abs(q)) * abs(dx) > slack
            else:
                y = b if t & 1 else -b
                q = (y - cy) / dy if dy != 0.0 else 2.0
                x = cx + q * dx
                inside = (1.0 - abs(q)) * half > slack and abs(x) < a - slack
                inside = inside and (1.0 - abs(q)) * abs(dy) > slack
            z = cz + q * dz
        if inside:
            lowest = min(lowest, z)
            if z < margin:
                world = axpy3(z + _at(hA, k), n, A[1])
                world = add3(world, add3(scale3(x, column(A[0], i)), scale3(y, column(A[0], j))))
                motion = _motion(X2[0], label, A[0], k, B[0], f), ZERO3, ZERO3
                count = moving_point(out, count, touch, faces + label, (normal, point), local(X2, world), 0.0, motion)
    if depth < 0.0 and lowest > depth + slack:
        # The overlap lies outside the incident face: use B's deepest corner, wherever it is.
        deepest, label = B[1], 24
        for m in range(3):
            up = _at(along, m) < 0.0
            deepest = axpy3(_at(hB, m) if up else -_at(hB, m), column(B[0], m), deepest)
            label += (1 << m) if up else 0
        count = point_on_plane(out, count, touch, faces + label, normal, point, local(X2, deepest), 0.0)
    return count, lowest


@routine
def _motion(R, label, A, k, B, f):
    """Matrix P (`feature_motion`) of a point of `_face` on the second box, whose body has the rotation R.

    Args:
        A, B: rotations of the boxes.
        k, f: axes of their faces.
    """
    if label < 4:
        return FIXED
    if label < 8:
        return under_corner(R, column(A, k), column(B, f))
    s, t = (label - 8) // 4, (label - 8) % 4
    return crossing(R, column(B, (f + (2 if s >= 2 else 1)) % 3), column(A, (k + (1 if t < 2 else 2)) % 3))


@routine
def _edge(out, count, touch, one, two, k, margin):
    """Append the contact of edge k // 3 of the first box with edge k % 3 of the second; returns the count."""
    A, hA, X1 = one.pose, one.half, one.body
    B, hB, X2 = two.pose, two.half, two.body
    i, j = k // 3, k % 3
    d1, d2 = column(A[0], i), column(B[0], j)
    n = cross(d1, d2)
    n = scale3(math.copysign(1.0 / math.sqrt(dot3(n, n)), dot3(n, sub3(B[1], A[1]))), n)
    p1, p2, feature = A[1], B[1], k
    for m in range(3):
        if m != i:
            up = dot3(n, column(A[0], m)) > 0.0
            p1 = axpy3(_at(hA, m) if up else -_at(hA, m), column(A[0], m), p1)
            feature = 2 * feature + (1 if up else 0)
    for m in range(3):
        if m != j:
            up = dot3(n, column(B[0], m)) < 0.0
            p2 = axpy3(_at(hB, m) if up else -_at(hB, m), column(B[0], m), p2)
            feature = 2 * feature + (1 if up else 0)
    s, t = closest_on_lines(p1, d1, p2, d2)
    if abs(s) > _at(hA, i) + margin or abs(t) > _at(hB, j) + margin:
        return count
    # Points near the contact, so that the two lines remain accurate when the bodies rotate.
    first = Line(local(X1, axpy3(s, d1, p1)), mattvec(X1[0], d1))
    second = Line(local(X2, axpy3(t, d2, p2)), mattvec(X2[0], d2))
    return edges(out, count, touch, EDGE_LABEL + feature, first, second, mattvec(X1[0], n), 0.0)
