"""Contacts over a flat face: points of another face clipped to it, rims, balls, and lines clipped at its sides."""

import math

from leastaction._jit import inline, routine
from leastaction.contact.arrays import Line
from leastaction.contact.narrow_phase.closest_points import TINY, closest_on_lines, local
from leastaction.contact.narrow_phase.convex.edge_contacts import rim_core
from leastaction.contact.narrow_phase.convex.flat_faces import corners_of, face_along, face_corner, is_over, over_face
from leastaction.contact.narrow_phase.convex.support_functions import is_polytope, rounding, support
from leastaction.contact.narrow_phase.emit import edges, moving_point, rim_on_plane, round_and_line, round_on_plane
from leastaction.contact.narrow_phase.feature_motion import FIXED, crossing, under_corner
from leastaction.contact.narrow_phase.planes import UPRIGHT, lowest_direction, rim_motion
from leastaction.contact.records import CAPSULE, CYLINDER, ELLIPSOID, SPHERE
from leastaction.spatial import (
    ZERO3,
    act,
    add3,
    axpy3,
    column,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    neg3,
    norm3,
    rotate_sym,
    scale3,
    sub3,
    transpose,
)

LYING = 0.1
"""Sine of the angle with a face below which a cylinder or capsule lies on it."""

CROSSING = 0.05
"""Least sine of the angle between a side of a face and a line that is clipped there."""

FLAT = 1e-3
"""Inclination below which a line counts as parallel to the face."""

SAME = 1e-6
"""Points closer to a side than this, relative to the size, count as on it."""

PARTS, LABELS = 8, 256
"""Number of feature labels per face, for shapes with few features and for a second face."""


@routine
def over(out, count, touch, one, face, two, data):
    """Append the contacts of a face of one shape with features of another that lie over it; returns the count."""
    shape, n = two.shape, face.normal
    slack = SAME * min(one.shape.bound, shape.bound)
    number = PARTS * face.index
    if shape.kind == SPHERE:
        if is_over(one, face, data, two.pose[1], slack):
            count = _point(out, count, touch, number, one, face, two.body, two.pose[1], shape.radius)
    elif shape.kind == ELLIPSOID:
        if is_over(one, face, data, support(two, data, neg3(n)), slack):
            count = _ellipsoid(out, count, touch, number, one, face, two)
    elif shape.kind == CAPSULE:
        count = _line_over(out, count, touch, one, face, two, data, slack)
    elif shape.kind == CYLINDER:
        lean = dot3(column(two.pose[0], 2), n)
        if 1.0 - lean * lean < UPRIGHT * UPRIGHT:
            count = _face_over(out, count, touch, one, face, two, face_along(two, data, neg3(n)), data, slack)
        else:
            count = _line_over(out, count, touch, one, face, two, data, slack)
    else:
        count = _face_over(out, count, touch, one, face, two, face_along(two, data, neg3(n)), data, slack)
    return count


@routine
def deepest_over(out, count, touch, one, face, two, data):
    """Append the contact of a shape's deepest point with the infinite plane of a face; returns the count."""
    shape, number = two.shape, PARTS * face.index
    if shape.kind == ELLIPSOID:
        return _ellipsoid(out, count, touch, number + PARTS - 1, one, face, two)
    x = support(two, data, neg3(face.normal))
    return _point(out, count, touch, number + PARTS - 1, one, face, two.body, x, rounding(shape))


@routine
def _point(out, count, touch, feature, one, face, X2, x, r):
    """Append a ball of radius r about x over a face."""
    return _moving(out, count, touch, feature, one, face, X2, (x, r), (FIXED, ZERO3, ZERO3))


@routine
def _moving(out, count, touch, feature, one, face, X2, ball, motion):
    """`_point` for a point x that moves over its body; motion: see `emit.moving_point`, here in world coordinates."""
    plane = mattvec(one.body[0], face.normal), local(one.body, face.point)
    (x, r), (P, z, m) = ball, motion
    motion = P, mattvec(X2[0], z), mattvec(X2[0], m)
    return moving_point(out, count, touch, feature, plane, local(X2, x), r, motion)


@routine
def _side_normal(convex, face, data, side, x):
    """Normal (3), not normalised, of the surface that adjoins a side of a face, at its point x."""
    if face.count == 0:
        d = sub3(x, face.point)
        return axpy3(-dot3(d, face.normal), face.normal, d)
    a = face_corner(convex, face, data, side, face.normal)
    return cross(sub3(face_corner(convex, face, data, side + 1, face.normal), a), face.normal)


@routine
def _corner_motion(convex, face, x, up):
    """Motion (z, m) of a corner x of a face (`emit.moving_point`): the corners of a disc rotate with its lowest one."""
    if face.count > 0:
        return ZERO3, ZERO3
    lowest, tilt = lowest_direction(up, convex.pose[0])
    return rim_motion(face.normal, lowest, tilt, up, sub3(x, face.point))


@routine
def _ellipsoid(out, count, touch, feature, one, face, two):
    """Append an ellipsoid over a face."""
    h, X1 = load3(two.shape.half), one.body
    Q = rotate_sym(load9(two.shape.R), (h[0] * h[0], 0.0, 0.0, h[1] * h[1], 0.0, h[2] * h[2]))
    normal, point = mattvec(X1[0], face.normal), local(X1, face.point)
    return round_on_plane(out, count, touch, feature, normal, point, (load3(two.shape.p), Q))


@routine
def _line_over(out, count, touch, one, face, two, data, slack):
    """Append a capsule or a tilted cylinder over a face: its ends, and the points where sides of the face clip it."""
    shape, X1, X2, n = two.shape, one.body, two.body, face.normal
    axis = column(two.pose[0], 2)
    half = scale3(shape.half[2], axis)
    p, d = sub3(two.pose[1], half), scale3(2.0, half)
    round_end = shape.kind == CAPSULE
    across = axpy3(-dot3(n, axis), axis, n)
    tilt = norm3(across)
    number = PARTS * face.index
    for end in range(2):
        at = axpy3(float(end), d, p)
        lowest = at if round_end or tilt < TINY else axpy3(-shape.radius / tilt, across, at)
        if is_over(one, face, data, lowest, slack):
            feature = number + end
            if round_end:
                count = _point(out, count, touch, feature, one, face, X2, at, shape.radius)
            else:
                normal, point = mattvec(X1[0], n), local(X1, face.point)
                centre, turn = local(X2, at), mattvec(X2[0], axis)
                count = rim_on_plane(out, count, touch, feature, normal, point, centre, turn, shape.radius)
    if abs(dot3(n, axis)) > LYING:
        return count
    enter, leave, first, last = over_face(one, face, data, p, d)
    if enter < leave:
        lean, length = dot3(n, axis), 2.0 * shape.half[2]
        for end in range(2):
            side, t = (first, enter) if end == 0 else (last, leave)
            # Length of the line beyond the side in the downward direction: if it is too short to touch the side, the
            # line's end touches.
            sinking = (1.0 - t) * length if lean < 0.0 else t * length
            if side >= 0 and (abs(lean) < FLAT or sinking > shape.radius * abs(lean)):
                cut = side, axpy3(t, d, p), 2.0 * end - 1.0
                count = _cut(out, count, touch, number + 2 + end, one, face, two, data, cut)
    return count


@routine
def _cut(out, count, touch, feature, one, face, two, data, cut):
    """Append the contact at x, where a side of a face clips the line (with radius) of a capsule or cylinder.

    cut: side, x, and `outward` = -1 or 1, the direction along the axis in which the line leaves the face there.
    """
    side, x, outward = cut
    shape, X1, X2, n = two.shape, one.body, two.body, face.normal
    axis = column(two.pose[0], 2)
    line = Line(local(X2, x), mattvec(X2[0], axis))
    motion = crossing(X2[0], axis, _side_normal(one, face, data, side, x)), ZERO3, ZERO3
    # If the line rises towards the side, the face is as near; an infinite line would be nearer elsewhere.
    if outward * dot3(n, axis) > -FLAT:
        return _moving(out, count, touch, feature, one, face, X2, (x, shape.radius), motion)
    if face.count == 0:
        rim = rim_core(one, face.index == 1)
        thing = local(X1, rim.centre), rotate_sym(transpose(X1[0]), rim.Q), 0.0
        return round_and_line(out, count, touch, feature, thing, line, mattvec(X1[0], n), shape.radius)
    a = face_corner(one, face, data, side, n)
    e = sub3(face_corner(one, face, data, side + 1, n), a)
    length = norm3(e)
    e = scale3(1.0 / length, e)
    # Nearly parallel infinite lines may be closest outside of the side or of the capsule's segment.
    s, t = closest_on_lines(a, e, x, axis)
    apart = abs(t + dot3(axis, sub3(x, two.pose[1]))) > shape.half[2] or s < 0.0 or s > length
    if apart or norm3(cross(e, axis)) < CROSSING:
        return _moving(out, count, touch, feature, one, face, X2, (x, shape.radius), motion)
    edge = Line(local(X1, axpy3(dot3(e, sub3(x, a)), e, a)), mattvec(X1[0], e))
    return edges(out, count, touch, feature, edge, line, mattvec(X1[0], n), shape.radius)


@inline
def _on_plane(n, point, x, along):
    """Project x along `along` on the plane through `point` with normal n; returns the point (3)."""
    return axpy3(dot3(n, sub3(point, x)) / dot3(n, along), along, x)


@routine
def _face_over(out, count, touch, one, face, two, other, data, slack):
    """Append points of another face over a face: corners of either over the other, and crossings of their sides."""
    start, X2, n, m = count, two.body, face.normal, other.normal
    own, others = corners_of(face), corners_of(other)
    number = LABELS * (face.index * 1024 + other.index)
    for k in range(others):
        x = face_corner(two, other, data, k, n)
        if is_over(one, face, data, x, slack):
            z, turn = _corner_motion(two, other, x, n)
            count = _moving(out, count, touch, number + k, one, face, X2, (x, 0.0), (FIXED, z, turn))
    for k in range(own):
        corner = face_corner(one, face, data, k, m)
        x = _on_plane(m, other.point, corner, n)
        if is_over(two, other, data, x, -slack):
            # Relative to the first body the second one rotates, with opposite sign.
            z, turn = _corner_motion(one, face, corner, m)
            motion = under_corner(X2[0], n, m), axpy3(-dot3(m, z) / dot3(m, n), n, z), neg3(turn)
            count = _moving(out, count, touch, number + others + k, one, face, X2, (x, 0.0), motion)
    label = number + own + others
    if face.count == 0 and other.count == 0:
        count = _discs(out, count, touch, label, one, face, two, other)
    else:
        # Sides of a polygon (of this face if the other is a disc) that cross the sides of the other.
        ours = other.count == 0
        for k in range(own if ours else others):
            a = face_corner(one, face, data, k, m) if ours else face_corner(two, other, data, k, n)
            b = face_corner(one, face, data, k + 1, m) if ours else face_corner(two, other, data, k + 1, n)
            if ours:
                a, b = _on_plane(m, other.point, a, n), _on_plane(m, other.point, b, n)
            enter, leave, first, last = (
                over_face(two, other, data, a, sub3(b, a)) if ours else over_face(one, face, data, a, sub3(b, a))
            )
            length = norm3(sub3(b, a))
            if (leave - enter) * length <= slack:
                continue
            for end in range(2):
                t, side = (enter, first) if end == 0 else (leave, last)
                if side >= 0 and slack < t * length < length - slack:
                    x, z = axpy3(t, sub3(b, a), a), sub3(b, a)
                    across = cross(z, n) if ours else _side_normal(one, face, data, side, x)
                    if ours:
                        z = cross(m, _side_normal(two, other, data, side, x))
                    motion = crossing(X2[0], z, across), ZERO3, ZERO3
                    count = _moving(out, count, touch, label + 2 * k + end, one, face, X2, (x, 0.0), motion)
    return thinned(out, start, count, one, two, face)


@routine
def _discs(out, count, touch, label, one, face, two, other):
    """Append the crossings of the rims of two discs, seen along the normal of the first."""
    n, X2 = face.normal, two.body
    d = sub3(other.point, face.point)
    d = axpy3(-dot3(d, n), n, d)
    length, r1, r2 = norm3(d), face.radius, other.radius
    if length >= r1 + r2 or length <= abs(r1 - r2) or length < TINY:
        return count
    along = 0.5 * (length + (r1 * r1 - r2 * r2) / length)
    aside = math.sqrt(max(r1 * r1 - along * along, 0.0)) / length
    for end in range(2):
        x = add3(face.point, scale3(along / length, d))
        x = axpy3(aside if end == 0 else -aside, cross(n, d), x)
        m, own = other.normal, sub3(x, face.point)
        x = _on_plane(m, other.point, x, n)
        theirs = sub3(x, other.point)
        height = dot3(n, theirs)
        theirs = axpy3(-height, n, theirs)
        # The second rim is projected along n, which rotates with the first body.
        z = cross(m, own)
        motion = (
            crossing(X2[0], cross(m, theirs), own),
            scale3(1.0 / dot3(theirs, z), z),
            scale3(height, cross(n, theirs)),
        )
        count = _moving(out, count, touch, label + end, one, face, X2, (x, 0.0), motion)
    return count


MANY = 8
"""Number of contacts of two faces above which only the outermost in this many directions, and the deepest, are kept."""


@routine
def thinned(out, start, count, one, two, face):
    """Reduce many contacts of two faces to the deepest and the outermost ones; returns the count."""
    if count - start <= MANY or count > out.shape[0]:
        return count
    n, X2 = face.normal, two.body
    # Directions fixed to the first body, so that the same contacts are chosen at the next step.
    R = one.body[0]
    e = column(R, 0) if abs(dot3(column(R, 0), n)) < 0.7 else column(R, 1)
    e1 = axpy3(-dot3(e, n), n, e)
    e1 = scale3(1.0 / norm3(e1), e1)
    e2 = cross(n, e1)
    for j in range(start, count):
        out[j].kind = -1 - out[j].kind
    for direction in range(MANY + 1):
        angle = 0.25 * math.pi * direction + 0.1
        along = neg3(n)
        if direction < MANY:
            along = add3(scale3(math.cos(angle), e1), scale3(math.sin(angle), e2))
        best, far = start, -math.inf
        for j in range(start, count):
            x = dot3(along, act(X2, load3(out[j].w)))
            if x > far:
                best, far = j, x
        if out[best].kind < 0:
            out[best].kind = -1 - out[best].kind
    last = start
    for j in range(start, count):
        if out[j].kind >= 0:
            out[last] = out[j]
            last += 1
    return last


@inline
def has_faces(shape):
    """Whether a shape has flat faces."""
    return is_polytope(shape) or shape.kind == CYLINDER
