"""Contacts between points, lines, ellipsoids and rims of convex shapes, where no flat face is involved."""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.arrays import Line, Segment, flipped
from leastaction.contact.narrow_phase.closest_points import TINY, closest_on_lines, local
from leastaction.contact.narrow_phase.convex.arrays import Core
from leastaction.contact.narrow_phase.convex.flat_faces import edge_of, flattest_edge
from leastaction.contact.narrow_phase.convex.support_functions import is_polytope
from leastaction.contact.narrow_phase.emit import edges, round_and_line, rounds, segments
from leastaction.contact.narrow_phase.planes import vertex
from leastaction.contact.narrow_phase.spheres_capsules import NEARLY_PARALLEL, PARALLEL
from leastaction.contact.records import CAPSULE, CYLINDER, ELLIPSOID
from leastaction.spatial import (
    ZERO3,
    act,
    add3,
    axpy3,
    column,
    cross,
    dot3,
    load3,
    mattvec,
    neg3,
    norm3,
    rotate_sym,
    scale3,
    sub3,
    symvec,
    transpose,
)

POINT, LINE, ROUND = np.int64(0), np.int64(1), np.int64(2)
"""Kinds of cores."""

SKEW = 1e-8
"""Largest lean of a direction towards the end of a line at which it still counts as orthogonal: round-off."""

LEANING = 1e-4
"""The same tolerance if the contact point lies between the ends: the accuracy of directions between rims and lines."""

FLAT = 0.02
"""Sine of the angle between a direction and a rim's axis below which the contact is with the rim's tangent."""

CORES = 1 << 29
"""Feature number of the first pair of cores."""

NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@routine
def edge_core(convex, data, k):
    """Edge k of a polytope as a `Core`."""
    shape, X, _ = convex
    i, j, _, _ = edge_of(shape, data, k)
    a, b = act(X, vertex(data, shape, i)), act(X, vertex(data, shape, j))
    d = sub3(b, a)
    length = norm3(d)
    return Core(LINE, np.int64(k), scale3(0.5, add3(a, b)), scale3(1.0 / length, d), 0.5 * length, NOTHING, 0.0)


@routine
def rim_core(convex, up):
    """The upper or lower rim of a cylinder as a `Core`."""
    shape, _, (R, p) = convex
    axis = column(R, 2)
    r = shape.radius * shape.radius
    Q = rotate_sym(R, (r, 0.0, 0.0, r, 0.0, 0.0))
    centre = axpy3(shape.half[2] if up else -shape.half[2], axis, p)
    return Core(ROUND, np.int64(2 if up else 1), centre, axis, 0.0, Q, 0.0)


@routine
def axis_along(convex, data, n):
    """Direction (3) of the line with which a shape may touch along n; zero if it has none."""
    kind = convex.shape.kind
    if is_polytope(convex.shape):
        return edge_core(convex, data, flattest_edge(convex, data, n)).direction
    return column(convex.pose[0], 2) if kind in (CAPSULE, CYLINDER) else ZERO3


@routine
def core_along(convex, data, n):
    """The `Core` of a shape with the largest support along the unit vector n (3)."""
    shape, _, (R, p) = convex
    zero = np.int64(0)
    if is_polytope(shape):
        return edge_core(convex, data, flattest_edge(convex, data, n))
    if shape.kind == ELLIPSOID:
        h = load3(shape.half)
        Q = rotate_sym(R, (h[0] * h[0], 0.0, 0.0, h[1] * h[1], 0.0, h[2] * h[2]))
        return Core(ROUND, zero, p, n, 0.0, Q, 0.0)
    axis = column(R, 2)
    if shape.kind == CAPSULE:
        return Core(LINE, zero, p, axis, shape.half[2], NOTHING, shape.radius)
    if shape.kind == CYLINDER:
        if abs(dot3(n, axis)) < SKEW:
            return Core(LINE, zero, p, axis, shape.half[2], NOTHING, shape.radius)
        return rim_core(convex, dot3(n, axis) > 0.0)
    return Core(POINT, zero, p, axis, 0.0, NOTHING, shape.radius)


@inline
def _end(core, sign, number):
    """An end of a line as a point `Core`."""
    at = axpy3(sign * core.half, core.direction, core.centre)
    return Core(POINT, core.number * 4 + number, at, core.direction, 0.0, NOTHING, core.r)


@inline
def _segment(core, X):
    """The segment of a point or line `Core` in its body's frame."""
    a, b = axpy3(-core.half, core.direction, core.centre), axpy3(core.half, core.direction, core.centre)
    return Segment(local(X, a), local(X, b), core.r)


@inline
def _line(core, X, t):
    """The line of a `Core` in its body's frame, by its point t near the contact."""
    return Line(local(X, axpy3(t, core.direction, core.centre)), mattvec(X[0], core.direction))


@inline
def _feature(one, two):
    return CORES + (one.number % 16384) * 16384 + two.number % 16384


@routine
def core_contact(out, count, touch, first, X1, second, X2, n):
    """Append the contact of two cores along n (3), given their bodies' poses; returns the count."""
    if first.kind != ROUND and second.kind == ROUND:
        return _round(out, count, flipped(touch), second, X2, first, X1, neg3(n))
    if first.kind == ROUND:
        return _round(out, count, touch, first, X1, second, X2, n)
    if first.kind == LINE and second.kind == LINE and first.r + second.r == 0.0:
        return lines_cross(out, count, touch, first, X1, second, X2, n)
    normal = mattvec(X1[0], n)
    return segments(out, count, touch, _feature(first, second), _segment(first, X1), _segment(second, X2), normal)


@routine
def lines_cross(out, count, touch, first, X1, second, X2, n):
    """Append the contact of two lines that are not parallel, with a signed distance; returns the count."""
    if norm3(cross(first.direction, second.direction)) < PARALLEL:
        return count
    s, t = closest_on_lines(first.centre, first.direction, second.centre, second.direction)
    one, two, normal = _line(first, X1, s), _line(second, X2, t), mattvec(X1[0], n)
    return edges(out, count, touch, _feature(first, second), one, two, normal, first.r + second.r)


@inline
def _is_beside(thing, line, n):
    """Whether the support point of a round core along n (3) projects between the ends of a line."""
    Qn = symvec(thing.Q, n)
    square = dot3(n, Qn)
    x = axpy3(1.0 / math.sqrt(square), Qn, thing.centre) if square > 0.0 else thing.centre
    return abs(dot3(line.direction, sub3(x, line.centre))) < line.half


@routine
def _round(out, count, touch, first, X1, second, X2, n):
    """Append the contact of an ellipsoid or rim with any core."""
    normal = mattvec(X1[0], n)
    if second.kind == LINE:
        lean = dot3(n, second.direction)
        if abs(lean) < SKEW or (abs(lean) < LEANING and _is_beside(first, second, n)):
            at = dot3(second.direction, sub3(first.centre, second.centre))
            radial = axpy3(-dot3(n, first.direction), first.direction, n)
            sine = norm3(radial)
            if first.number > 0 and TINY < sine < FLAT:
                # Nearly along the rim's axis the opposite point of the rim is almost as close; its tangent is unique.
                tangent = scale3(1.0 / sine, cross(first.direction, radial))
                x = axpy3(math.sqrt(dot3(tangent, symvec(first.Q, tangent))) / sine, radial, first.centre)
                if norm3(cross(tangent, second.direction)) > PARALLEL:
                    at, t = closest_on_lines(x, tangent, second.centre, second.direction)
                    rim = Line(local(X1, axpy3(at, tangent, x)), mattvec(X1[0], tangent))
                    return edges(
                        out, count, touch, _feature(first, second), rim, _line(second, X2, t), normal, second.r
                    )
            thing = local(X1, first.centre), rotate_sym(transpose(X1[0]), first.Q), first.r
            line = _line(second, X2, at)
            return round_and_line(out, count, touch, _feature(first, second), thing, line, normal, second.r)
        second = _end(second, -1.0 if lean > 0.0 else 1.0, np.int64(1 if lean > 0.0 else 2))
    one = local(X1, first.centre), rotate_sym(transpose(X1[0]), first.Q), first.r
    two = local(X2, second.centre), rotate_sym(transpose(X2[0]), second.Q), second.r
    return rounds(out, count, touch, _feature(first, second), one, two, normal)


@routine
def line_contacts(out, count, touch, one, first, two, second, n):
    """Append the contacts of two lines: closest points, and the ends of the overlap if they are nearly parallel.

    The end of a cylinder's line is its rim.

    Args:
        one, two: `Convex` shapes.
        first, second: their lines.
    """
    X1, X2 = one.body, two.body
    sine = norm3(cross(first.direction, second.direction))
    cosine = dot3(first.direction, second.direction)
    # Ends of the second line along the first.
    middle = dot3(first.direction, sub3(second.centre, first.centre))
    reach = abs(cosine) * second.half
    low, high = max(middle - reach, -first.half), min(middle + reach, first.half)
    overlap = sine < NEARLY_PARALLEL and low < high
    if not (overlap and sine < PARALLEL):
        count = core_contact(out, count, touch, first, X1, second, X2, n)
    if overlap:
        for end in range(2):
            sign = -1.0 if end == 0 else 1.0
            at = low if end == 0 else high
            if abs(at) == first.half:
                part = _end(first, sign, np.int64(1 + end))
                if one.shape.kind == CYLINDER:
                    part = rim_core(one, end == 1)
                count = core_contact(out, count, touch, part, X1, second, X2, n)
            else:
                side = sign if cosine > 0.0 else -sign
                part = _end(second, side, np.int64(1 if side < 0.0 else 2))
                if two.shape.kind == CYLINDER:
                    part = rim_core(two, side > 0.0)
                count = core_contact(out, count, touch, first, X1, part, X2, n)
    return count
