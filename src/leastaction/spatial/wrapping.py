"""Strings around spheres and cylinders: how long they are, which way their ends pull, and how that changes.

A string runs between two points a and b, given from the centre of the thing, along the shortest way that does not go
through it. Across a cylinder's axis, and in the plane of a, b and the centre of a sphere, that is a problem of the
distances ra and rb from the centre and of the angle phi between the points: the string is straight, or lies on an arc
(on the side of the shorter way or of the longer one), or, held on the inside of a ring, touches it in one point. With a
cylinder the unrolled string is straight, so that its length is the hypotenuse of the planar one and of the height.
Which of these it is follows MuJoCo: the side point counts where it is behind the centre as seen from both ends.
"""

import math

import numpy as np

from leastaction._jit import entry, inline, routine
from leastaction.spatial.arrays import load3, store3
from leastaction.spatial.vec3 import add3, axpy3, cross, dot3, norm3, scale3, sub3

SPHERE, CYLINDER = 0, 1
"""Things to go around."""

NO_SIDE, OUTSIDE, INSIDE = range(3)
"""What is known of the side: nothing, a point that the string is to pass by, or that it is held from within."""

STRAIGHT, LONG, SHORT, RING = range(4)
"""Ways of a string: past the thing, on an arc beyond half a turn or within, in touch with the inside of a ring."""

TINY = 1e-15
"""Below this lengths [m] and angles count as zero."""

MOST = 60
"""Iterations for the point in which a ring is touched."""


# ------------------------------------------------------------------ the plane


@inline
def _normal(a, b, n, around):
    """Unit normal about which b is ahead of a by less than half a turn, and that angle."""
    c = cross(a, b)
    if around == CYLINDER:
        sine = dot3(n, c)
        m = n if sine >= 0.0 else scale3(-1.0, n)
        return m, math.atan2(abs(sine), dot3(a, b))
    sine = norm3(c)
    if sine < TINY:
        k = abs(a[0]) < abs(a[1])
        c = cross(a, (1.0, 0.0, 0.0) if k else (0.0, 1.0, 0.0))
        return scale3(1.0 / max(norm3(c), TINY), c), math.atan2(0.0, dot3(a, b))
    return scale3(1.0 / sine, c), math.atan2(sine, dot3(a, b))


@routine
def _way(r, ra, rb, phi, side, sx, sy):
    """Which way a string goes; (sx, sy): the side point in the plane, with a on the first axis."""
    if ra < r or rb < r or r < TINY:
        return STRAIGHT
    bx, by = rb * math.cos(phi), rb * math.sin(phi)
    dx, dd = bx - ra, (bx - ra) ** 2 + by**2
    if side == INSIDE:
        if ra <= r or rb <= r or math.cos(phi) < -1.0 + TINY:
            return STRAIGHT
        share = -dx * ra / dd if dd > TINY else 0.0
        cut = 0.0 < share < 1.0 and math.hypot(ra + share * dx, share * by) <= r
        return STRAIGHT if cut else RING
    # A side point behind the centre, as seen from both ends, is passed beyond half a turn.
    if side == OUTSIDE and sy < 0.0 and sy * math.cos(phi) > sx * math.sin(phi):
        return LONG
    share = min(max(-dx * ra / dd, 0.0), 1.0) if dd > TINY else 0.0
    return SHORT if math.hypot(ra + share * dx, share * by) <= r else STRAIGHT


@inline
def _reach(r, d, angle):
    """Distance of a point on the circle from one at distance d and that angle, with its slopes by d and angle."""
    c, s = math.cos(angle), math.sin(angle)
    far = math.sqrt(max((d - r) ** 2 + 2.0 * d * r * (1.0 - c), TINY * TINY))
    return far, (d - r * c) / far, d * r * s / far


@inline
def _reach_slopes(r, d, angle):
    """Second derivatives of `_reach`: by d twice, by d and angle, by the angle twice."""
    far, by_d, by_angle = _reach(r, d, angle)
    c, s = math.cos(angle), math.sin(angle)
    return (1.0 - by_d * by_d) / far, (r * s - by_d * by_angle) / far, (d * r * c - by_angle * by_angle) / far


@routine
def _touching(r, ra, rb, phi):
    """Angle from a at which a string from within touches a ring: Newton's method between bounds."""
    low, high = max(0.0, phi - math.acos(r / rb)), min(phi, math.acos(r / ra))
    x = low + (high - low) * min(max(rb / (ra + rb), 0.0), 1.0)
    for _ in range(MOST):
        wrong = _reach(r, ra, x)[2] - _reach(r, rb, phi - x)[2]
        if wrong > 0.0:
            high = x
        else:
            low = x
        slope = _reach_slopes(r, ra, x)[2] + _reach_slopes(r, rb, phi - x)[2]
        new = x - wrong / slope if slope > 0.0 else 0.5 * (low + high)
        if not low < new < high:
            new = 0.5 * (low + high)
        done = abs(new - x) <= 1e-16 * max(1.0, phi) or high - low <= 1e-16
        x = new
        if done:
            break
    return x


@inline
def _arc(way, r, ra, rb, phi):
    """Angles from a at which an arc begins and ends."""
    first, last = math.acos(r / ra), phi - math.acos(r / rb)
    if way == SHORT:
        return first, max(first, last)
    return -first, phi + math.acos(r / rb) - 2.0 * math.pi


@routine
def _planar(way, r, ra, rb, phi):
    """Length of a string that is not straight, its slopes by ra, rb and phi, and where it touches a ring."""
    if way == RING:
        x = _touching(r, ra, rb, phi)
        one, by_ra, by_phi = _reach(r, ra, x)
        other, by_rb, _ = _reach(r, rb, phi - x)
        return one + other, by_ra, by_rb, by_phi, x
    sa, sb = math.sqrt(max(ra * ra - r * r, 0.0)), math.sqrt(max(rb * rb - r * r, 0.0))
    first, last = _arc(way, r, ra, rb, phi)
    return sa + sb + r * abs(last - first), sa / ra, sb / rb, r if way == SHORT else -r, 0.0


@routine
def _planar_changes(way, r, ra, rb, phi, x, dra, drb, dphi):
    """Changes of the slopes by ra and phi; x: where a ring is touched."""
    if way == RING:
        aa, ax, axx = _reach_slopes(r, ra, x)
        _, bx, bxx = _reach_slopes(r, rb, phi - x)
        stiff = axx + bxx
        dx = (bxx * dphi + bx * drb - ax * dra) / stiff if stiff != 0.0 else 0.0
        return aa * dra + ax * dx, bxx * (dphi - dx) + bx * drb
    sa = math.sqrt(max(ra * ra - r * r, TINY))
    return r * r / (ra * ra * sa) * dra, 0.0


# ------------------------------------------------------------------ in space


@inline
def _across(a, n, around):
    """A point seen along the axis of a cylinder, and its height."""
    if around == CYLINDER:
        z = dot3(a, n)
        return axpy3(-z, n, a), z
    return a, 0.0


@inline
def _along_first(a, b):
    """Unit vector from b to a, zero where they coincide, and their distance."""
    d = sub3(a, b)
    far = norm3(d)
    return scale3(1.0 / far if far > 0.0 else 0.0, d), far


@routine
def _seen(a, b, n, around, r, side, s):
    """(way, normal, ra, rb, phi) of the points a and b, which lie in a plane across the axis of a cylinder."""
    ra, rb = norm3(a), norm3(b)
    if ra < TINY or rb < TINY:
        return STRAIGHT, n, ra, rb, 0.0
    m, phi = _normal(a, b, n, around)
    sx, sy = dot3(s, a) / ra, dot3(s, cross(m, a)) / ra
    return _way(r, ra, rb, phi, side, sx, sy), m, ra, rb, phi


@routine
def pull(a, b, n, around, r, side, s):
    """(length, gradient by a) of a string from a to b, points from the centre of what it goes around.

    Args:
        a, b: the ends [m].
        n: unit vector along the axis of a cylinder.
        around: SPHERE or CYLINDER.
        r: its radius [m].
        side: what is known of the side.
        s: side point from the centre [m].
    """
    (a2, za), (b2, zb) = _across(a, n, around), _across(b, n, around)
    way, m, ra, rb, phi = _seen(a2, b2, n, around, r, side, s)
    if way == STRAIGHT:
        e, far = _along_first(a, b)
        return far, e
    planar, by_ra, _, by_phi, _ = _planar(way, r, ra, rb, phi)
    g = axpy3(-by_phi / (ra * ra), cross(m, a2), scale3(by_ra / ra, a2))
    if around == SPHERE:
        return planar, g
    length = math.hypot(planar, za - zb)
    return length, axpy3((za - zb) / length, n, scale3(planar / length, g))


@routine
def pull_changes(a, b, n, around, r, side, s, da, db):
    """Change of the gradient of `pull` by a for changes da and db of the ends, seen from the thing."""
    (a2, za), (b2, zb) = _across(a, n, around), _across(b, n, around)
    way, m, ra, rb, phi = _seen(a2, b2, n, around, r, side, s)
    if way == STRAIGHT:
        e, far = _along_first(a, b)
        d = sub3(da, db)
        return scale3(1.0 / far if far > 0.0 else 0.0, axpy3(-dot3(e, d), e, d))
    (da2, dza), (db2, dzb) = _across(da, n, around), _across(db, n, around)
    planar, by_ra, by_rb, by_phi, x = _planar(way, r, ra, rb, phi)
    u, w = scale3(1.0 / ra, a2), scale3(1.0 / rb, b2)
    t = cross(m, u)
    dra, drb = dot3(u, da2), dot3(w, db2)
    dphi = dot3(cross(m, w), db2) / rb - dot3(t, da2) / ra
    dby_ra, dby_phi = _planar_changes(way, r, ra, rb, phi, x, dra, drb, dphi)
    du = scale3(1.0 / ra, axpy3(-dra, u, da2))
    dt = cross(m, du)
    if around == SPHERE:
        # The plane turns with what moves across it.
        lean = -dot3(m, da2) / ra
        sine = math.sin(phi)
        roll = (-dot3(m, db2) / rb - lean * math.cos(phi)) / sine if sine > 1e-9 else 0.0
        dt = add3(dt, cross(add3(scale3(lean, u), scale3(roll, t)), u))
    k = by_phi / ra
    dk = (dby_phi - k * dra) / ra
    dg = sub3(add3(scale3(dby_ra, u), scale3(by_ra, du)), add3(scale3(dk, t), scale3(k, dt)))
    if around == SPHERE:
        return dg
    g = axpy3(-k, t, scale3(by_ra, u))
    length = math.hypot(planar, za - zb)
    cosine, sine = planar / length, (za - zb) / length
    dplanar = by_ra * dra + by_rb * drb + by_phi * dphi
    turn = (cosine * (dza - dzb) - sine * dplanar) / length  # of the unrolled string
    dg = axpy3(-sine * turn, g, scale3(cosine, dg))
    return axpy3(cosine * turn, n, dg)


@entry
def trace(ends, n, around, r, side, s, out):
    """A whole string: how many points it has where it is not straight, its length, and the gradients by both ends.

    Args:
        ends: from the centre of the thing [m], shape (2, 3).
        n, around, r, side, s: see `pull`; arrays of shape (3,).
        out: the gradients come to the first two rows, points on the thing to the others; shape (2 + points, 3).
    """
    a, b, n_, s_ = load3(ends[0]), load3(ends[1]), load3(n), load3(s)
    length, g = pull(a, b, n_, around, r, side, s_)
    store3(out[0], g)
    store3(out[1], pull(b, a, n_, around, r, side, s_)[1])
    (a2, za), (b2, zb) = _across(a, n_, around), _across(b, n_, around)
    way, m, ra, rb, phi = _seen(a2, b2, n_, around, r, side, s_)
    points = out.shape[0] - 2
    if way == STRAIGHT or points == 0:
        return 0, length
    planar, _, _, _, x = _planar(way, r, ra, rb, phi)
    first, last = (x, x) if way == RING else _arc(way, r, ra, rb, phi)
    u = scale3(1.0 / ra, a2)
    t = cross(m, u)
    before = _reach(r, ra, first)[0]
    for k in range(points):
        share = k / max(points - 1, 1)
        angle = first + (last - first) * share
        # The unrolled string is straight.
        height = za + (zb - za) * (before + r * abs(last - first) * share) / planar
        on = axpy3(r * math.cos(angle), u, scale3(r * math.sin(angle), t))
        store3(out[2 + k], axpy3(height, n_, on) if around == CYLINDER else on)
    return points, length


def string(
    ends: np.ndarray, axis: np.ndarray, around: int, radius: float, side: np.ndarray | None, points: int = 0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Length [m] of a string, gradients by its ends, shape (2, 3), and points where it lies on the thing.

    Args:
        ends: from the centre of the thing [m], shape (2, 3).
        axis: unit vector along the axis of a cylinder, shape (3,).
        around: SPHERE or CYLINDER.
        radius: its radius [m].
        side: point from the centre on the side where it passes, or within the thing; None for the shorter side.
        points: how many points are wanted.
    """
    kind = side_of(side, radius)
    s = np.zeros(3) if side is None else np.asarray(side, float)
    out = np.zeros((2 + points, 3))
    found, length = trace(np.ascontiguousarray(ends, float), np.asarray(axis, float), around, radius, kind, s, out)
    return length, out[:2], out[2 : 2 + found]


def side_of(side: np.ndarray | None, radius: float) -> int:
    """What a side point, from the centre, says of the side."""
    if side is None:
        return NO_SIDE
    return INSIDE if float(np.linalg.norm(side)) < radius else OUTSIDE
