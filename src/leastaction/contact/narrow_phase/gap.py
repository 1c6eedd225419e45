"""Gap function of a contact: signed distance, normal and point at any poses near those of its detection.

For every kind d(phi) = n . (velocity of b's material point at x - velocity of a's material point at x), exactly:
distances between features fixed to bodies are stationary with respect to their closest points (envelope theorem).
So n and x suffice for the Jacobian of the gap (Brüdigam 2023, Section 4.1).
"""

import math

from leastaction._jit import routine
from leastaction.contact.narrow_phase.closest_points import (
    TINY,
    box_distance,
    closest_on_lines,
    closest_on_segments,
    closest_on_triangle,
    lerp,
    local,
)
from leastaction.contact.narrow_phase.ellipsoids import curved_gap
from leastaction.contact.records import (
    EDGES,
    POINT_ON_PLANE,
    POINT_ON_TRIANGLE,
    RIM_ON_PLANE,
    ROUND_AND_LINE,
    ROUND_ON_PLANE,
    ROUNDS,
    SEGMENTS,
)
from leastaction.spatial import (
    act,
    add3,
    axpy3,
    compose,
    cross,
    dot3,
    load3,
    load9,
    matvec,
    neg3,
    norm3,
    scale3,
    sub3,
)


@routine
def gap(contact, Xa, Xb):
    """Signed distance phi [m] (positive apart), unit normal n (3) from a to b and contact point x (3), in the world.

    =================  ====================================  ==========================================
    kind               first feature (body a, or b if flip)  second feature
    =================  ====================================  ==========================================
    POINT_ON_PLANE     plane through v with normal u         ball of radius r2 about w
    RIM_ON_PLANE       plane through v with normal u         circle of radius r2 about w with axis z
    SEGMENTS           segment u to v with radius r1         segment w to z with radius r2
    EDGES              line through u along v                line through w along z, radius r2
    POINT_ON_BOX       box at v, R with half edges u         ball of radius r2 about w
    POINT_ON_TRIANGLE  triangle, corners R, normal n         ball of radius r2 about w
    ROUND_ON_PLANE     plane through v with normal u         round shape about w, matrix z and R[0:3]
    ROUNDS             round shape about u, matrix v and     round shape about w, matrix z and R[3:6],
                       R[0:3], radius r1                     radius r2
    ROUND_AND_LINE     as ROUNDS                             line through w along z, radius r2
    ROUND_ON_TRIANGLE  triangle, corners R, normal n         round shape about w, matrix z and v
    =================  ====================================  ==========================================

    Round shapes are ellipsoids and rims, see `ellipsoids`.

    Args:
        contact: a `CONTACT` record.
        Xa, Xb: poses of the bodies a and b (9 + 3); the identity for the world.
    """
    flipped = contact.flip == 1
    X1, X2 = (Xb, Xa) if flipped else (Xa, Xb)
    phi, n, x = _gap(contact, X1, X2)  # a single call, which LLVM can inline
    return phi, neg3(n) if flipped else n, x


@routine
def _gap(contact, X1, X2):
    kind = contact.kind
    if kind >= ROUND_ON_PLANE:
        return curved_gap(contact, X1, X2)
    if kind in (POINT_ON_PLANE, RIM_ON_PLANE):
        n = matvec(X1[0], load3(contact.u))
        x = act(X2, load3(contact.w))
        if kind == RIM_ON_PLANE:
            axis = matvec(X2[0], load3(contact.z))
            down = axpy3(-dot3(n, axis), axis, n)
            slope = norm3(down)
            if slope > TINY:
                x = axpy3(-contact.r2 / slope, down, x)
        else:
            x = axpy3(-contact.r2, n, x)
        return dot3(n, sub3(x, act(X1, load3(contact.v)))), n, x
    if kind in (SEGMENTS, EDGES):
        u, w = act(X1, load3(contact.u)), act(X2, load3(contact.w))
        n = matvec(X1[0], load3(contact.n))
        if kind == SEGMENTS:
            v, z = act(X1, load3(contact.v)), act(X2, load3(contact.z))
            s, t = closest_on_segments(u, v, w, z)
            x1, x2 = lerp(u, v, s), lerp(w, z, t)
            d = sub3(x2, x1)
            distance = norm3(d)
            if distance > TINY:
                n = scale3(1.0 / distance, d)
        else:
            d1, d2 = matvec(X1[0], load3(contact.v)), matvec(X2[0], load3(contact.z))
            s, t = closest_on_lines(u, d1, w, d2)
            x1, x2 = axpy3(s, d1, u), axpy3(t, d2, w)
            c = cross(d1, d2)
            # The stored normal keeps its side, so that the distance of the lines has a sign.
            n = scale3(math.copysign(1.0 / norm3(c), dot3(n, c)), c)
            distance = dot3(n, sub3(x2, x1))
        middle = scale3(0.5, add3(axpy3(contact.r1, n, x1), axpy3(-contact.r2, n, x2)))
        return distance - contact.r1 - contact.r2, n, middle
    x = act(X2, load3(contact.w))
    if kind == POINT_ON_TRIANGLE:
        R, y, n = load9(contact.R), local(X1, x), load3(contact.n)
        p, region = closest_on_triangle(R[0:3], R[3:6], R[6:9], y)
        d = sub3(y, p)
        distance = dot3(n, d) if region == 0 else norm3(d)  # signed over the face
        if region != 0 and distance > TINY:
            n = scale3(1.0 / distance, d)
        n = matvec(X1[0], n)
        return distance - contact.r2, n, axpy3(-contact.r2, n, x)
    B = compose(X1, (load9(contact.R), load3(contact.v)))
    distance, gradient = box_distance(load3(contact.u), local(B, x))
    n = matvec(B[0], gradient)
    return distance - contact.r2, n, axpy3(-contact.r2, n, x)


@routine
def material_points(contact, Xa, Xb, n, x):
    """Points (3) in the world, of bodies a and b, by whose velocities the contact at x with normal n moves.

    Corners and points of flat faces are such points themselves; for balls, rims and other round shapes it is the
    centre, and for lines with a radius the point on the line: the vector from there to the surface does not rotate
    with the body.
    """
    first, second, towards = (Xb, Xa, neg3(n)) if contact.flip == 1 else (Xa, Xb, n)
    p, q = x, axpy3(contact.r2, towards, x)
    kind = contact.kind
    if kind in (ROUNDS, ROUND_AND_LINE):
        p = act(first, load3(contact.u))
    elif kind == SEGMENTS:
        p = axpy3(-contact.r1, towards, x)
    if kind not in (SEGMENTS, EDGES, ROUND_AND_LINE):
        q = act(second, load3(contact.w))
    return (q, p) if contact.flip == 1 else (p, q)
