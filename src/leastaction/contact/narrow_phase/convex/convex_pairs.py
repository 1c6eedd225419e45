"""Contacts of two convex shapes, one of which is a cylinder, an ellipsoid or a mesh."""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.arrays import flipped, pose_of
from leastaction.contact.narrow_phase.closest_points import local
from leastaction.contact.narrow_phase.convex.arrays import Convex
from leastaction.contact.narrow_phase.convex.edge_contacts import (
    LINE,
    axis_along,
    core_along,
    core_contact,
    edge_core,
    line_contacts,
    lines_cross,
)
from leastaction.contact.narrow_phase.convex.face_manifolds import deepest_over, has_faces, over
from leastaction.contact.narrow_phase.convex.flat_faces import FACE_NUMBERS, edge_of, edges_at, face_along
from leastaction.contact.narrow_phase.convex.separating_direction import best_direction
from leastaction.contact.narrow_phase.convex.support_functions import (
    farthest_vertex,
    is_polytope,
    rounding,
    separation,
    support,
)
from leastaction.contact.narrow_phase.emit import point_on_plane
from leastaction.contact.narrow_phase.gap import gap
from leastaction.contact.narrow_phase.planes import vertex
from leastaction.contact.narrow_phase.spheres_capsules import PARALLEL
from leastaction.spatial import act, axpy3, compose, cross, dot3, mattvec, matvec, neg3, norm3, scale3, sub3

TIE = 1e-5
"""Separations that differ by less than this, relative to the size, count as equal."""

FARTHEST = (1 << 29) - 1
"""Feature number of the contact of support points."""

EXACT = 1e-10
"""`TIE` for directions that differ only by the tolerance of the search for them."""


@routine
def convex_on_convex(out, count, touch, shape1, X1, shape2, X2, data, margin):
    """Append the contacts of two convex shapes; returns the count."""
    one, two = Convex(shape1, X1, compose(X1, pose_of(shape1))), Convex(shape2, X2, compose(X2, pose_of(shape2)))
    n, s = best_direction(one, two, data, margin)
    if s > margin:
        return count
    start, tie = count, TIE * min(shape1.bound, shape2.bound)
    face1, face2 = face_along(one, data, n), face_along(two, data, neg3(n))
    s1 = separation(one, two, data, face1.normal) if has_faces(shape1) else -math.inf
    s2 = separation(one, two, data, neg3(face2.normal)) if has_faces(shape2) else -math.inf
    sharp = is_polytope(shape1) and is_polytope(shape2)
    s = max(s, s1, s2)
    if sharp:
        # For two polytopes use the best face or pair of edges, not the direction between corners.
        m, s, i, j = best_edges(one, two, data, n)
        if i >= 0 and s > max(s1, s2) + tie:
            first, second = edge_core(one, data, i), edge_core(two, data, j)
            count = core_contact(out, count, touch, first, X1, second, X2, m)
    if count == start and (sharp or max(s1, s2) > s - tie):
        # A face of the second shape is the reference only if it is better by more than rounding.
        own = s1 > s2 - tie
        below, face, above = (one, face1, two) if own else (two, face2, one)
        side = touch if own else flipped(touch)
        count = over(out, count, side, below, face, above, data)
        if sharp and lowest(out, start, count, touch, X1, X2) > max(s1, s2, -tie) + tie:
            # The deepest point lies outside of the points over the face.
            count = deepest_over(out, count, side, below, face, above, data)
    if not sharp and lowest(out, start, count, touch, X1, X2) > s + tie:
        n, first, second = closest_cores(one, two, data, n, s)
        if first.kind == LINE and second.kind == LINE:
            count = line_contacts(out, count, touch, one, first, two, second, n)
            if lowest(out, start, count, touch, X1, X2) > s + tie:  # in deep penetration the lines cross
                count = lines_cross(out, start, touch, first, X1, second, X2, n)
        else:
            count = core_contact(out, count, touch, first, X1, second, X2, n)
        if lowest(out, start, count, touch, X1, X2) > s + tie:
            count = support_contact(out, count, touch, one, two, data, n)
    return keep_within_margin(out, start, count, touch, X1, X2, margin)


@routine
def support_contact(out, count, touch, one, two, data, n):
    """Append the contact of the second shape's support point with the supporting plane of the first, normal to n (3).

    For cases that the cores miss: if several edges are equally flat, another one may be taken for the one that
    touches. The gap is the separation along n; its change by rotation of n is neglected until the next step.
    """
    X1, X2 = one.body, two.body
    below, above = axpy3(rounding(one.shape), n, support(one, data, n)), support(two, data, neg3(n))
    normal, r = mattvec(X1[0], n), rounding(two.shape)
    return point_on_plane(out, count, touch, FARTHEST, normal, local(X1, below), local(X2, above), r)


@routine
def closest_cores(one, two, data, n, s):
    """The direction along n (3), made exact where lines are involved, and the closest `Core`s of both shapes.

    A line is used in place of its end if the separation along the direction orthogonal to it is as large.
    """
    same = EXACT * min(one.shape.bound, two.shape.bound)
    d, e = axis_along(one, data, n), axis_along(two, data, neg3(n))
    m = cross(d, e)
    length = norm3(m)
    exact = n
    if length > PARALLEL:
        m = scale3(math.copysign(1.0 / length, dot3(m, n)), m)
        if separation(one, two, data, m) > s - same:
            return m, core_along(one, data, m), core_along(two, data, neg3(m))
    for axis in (d, e):
        across = axpy3(-dot3(n, axis), axis, n)
        length = norm3(across)
        if length > 0.5 and dot3(axis, axis) > 0.5:
            across = scale3(1.0 / length, across)
            if separation(one, two, data, across) > s - same:
                exact = across
                break
    return exact, core_along(one, data, exact), core_along(two, data, neg3(exact))


@inline
def _gap(contact, touch, X1, X2):
    """Gap [m] of a contact of a pair whose shapes are in the order of their kinds."""
    Xa, Xb = (X2, X1) if touch.flip == 1 else (X1, X2)
    return gap(contact, Xa, Xb)[0]


@routine
def keep_within_margin(out, start, count, touch, X1, X2, margin):
    """Remove contacts since `start` whose gaps exceed the margin; returns the count."""
    if count > out.shape[0]:
        return count
    last = start
    for j in range(start, count):
        if _gap(out[j], touch, X1, X2) < margin:
            if last < j:
                out[last] = out[j]
            last += 1
    return last


@routine
def lowest(out, start, count, touch, X1, X2):
    """Least gap of the contacts since `start` [m]."""
    least = math.inf
    for j in range(start, min(count, out.shape[0])):
        least = min(least, _gap(out[j], touch, X1, X2))
    return least


@inline
def _normal(convex, data, k):
    """Outward normal (3) of face k of a polytope."""
    o = convex.shape.faces + FACE_NUMBERS * k
    return matvec(convex.body[0], (data[o], data[o + 1], data[o + 2]))


@inline
def _between(n, a, b):
    """Whether n lies in the cone of a and b, for n in the plane of a and b."""
    c = cross(a, b)
    return dot3(cross(a, n), c) >= 0.0 and dot3(cross(n, b), c) >= 0.0


@routine
def best_edges(one, two, data, n):
    """The pair of edges near the support vertices along n whose common normal separates two polytopes best.

    Returns that normal (3), the separation along it, and the edges; -1 if no two edges form a face of the Minkowski
    difference (Gregorius 2013: The separating axis test between convex polyhedra).
    """
    a, b = one.shape, two.shape
    i0, j0 = farthest_vertex(a, data, mattvec(one.body[0], n)), farthest_vertex(b, data, mattvec(two.body[0], neg3(n)))
    best, s, first, second = n, -math.inf, np.int64(-1), np.int64(-1)
    begin1, end1 = edges_at(a, data, i0)
    begin2, end2 = edges_at(b, data, j0)
    for o1 in range(begin1, end1):
        i = np.int64(data[o1])
        i1, i2, left1, right1 = edge_of(a, data, i)
        p = act(one.body, vertex(data, a, i1))
        d = sub3(act(one.body, vertex(data, a, i2)), p)
        for o2 in range(begin2, end2):
            j = np.int64(data[o2])
            j1, j2, left2, right2 = edge_of(b, data, j)
            q = act(two.body, vertex(data, b, j1))
            e = sub3(act(two.body, vertex(data, b, j2)), q)
            m = cross(d, e)
            length = norm3(m)
            if length < PARALLEL * norm3(d) * norm3(e):
                continue
            m = scale3(math.copysign(1.0 / length, dot3(m, n)), m)
            met = _between(m, _normal(one, data, left1), _normal(one, data, right1))
            if met and _between(neg3(m), _normal(two, data, left2), _normal(two, data, right2)):
                apart = dot3(m, sub3(q, p))
                if apart > s:
                    best, s, first, second = m, apart, i, j
    return best, s, first, second
