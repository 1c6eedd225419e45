"""Lower bounds on the distances of pairs of shapes, which skip the narrow phase for pairs that stay apart.

A lower bound on the distance of two shapes, once measured, decreases by at most the displacement of points of their
bodies (conservative advancement: Mirtich 1996, Impulse-based dynamic simulation of rigid body systems, section 2.3).
While it exceeds the contact margin, the pair is skipped. Otherwise it is measured again: by bounding spheres, then
along the last separating direction, and only then by the search for the closest points, which starts from that
direction.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.contact.arrays import pose_of
from leastaction.contact.narrow_phase.convex.arrays import Convex
from leastaction.contact.narrow_phase.convex.separating_direction import closest_points
from leastaction.contact.narrow_phase.convex.support_functions import is_polytope, rounding, separation
from leastaction.contact.narrow_phase.gap import gap
from leastaction.contact.records import PLANE
from leastaction.spatial import ZERO3, act, column, compose, dot3, load3, norm3, scale3, store3, sub3

CHORD = math.sqrt(0.5)
"""Displacement of a point by a rotation, per distance from the centre and Frobenius norm of R' - R."""

AHEAD = 8.0
"""A separating direction suffices if the distance along it exceeds the margin by the displacements of this number of
steps; the search for closest points gives a better bound but takes ten times as long."""

MOST = 10.0
"""Once a body has moved by this multiple of the largest reach, all pairs are measured anew: path lengths are sums that
accumulate round-off."""


class Clearance(NamedTuple):
    """Lower bounds on the distances of pairs, and the path lengths of bodies since.

    Attributes:
        least: lower bound on the distance plus the path lengths of both bodies at that time [m]; minus infinity for
            pairs that touch or were not measured; shape (pairs,).
        axes: separating unit vectors in the world, zero before one is known; shape (pairs, 3).
        poses: last poses of bodies (rotation row by row, position [m]), shape (bodies, 12).
        ways: path length of points of each body [m], without the common drift of all bodies, and with it; and both for
            the last step alone; shape (bodies, 4).
        ends: the first two at the end of the present step, shape (bodies, 2).
    """

    least: NDArray[np.float64]
    axes: NDArray[np.float64]
    poses: NDArray[np.float64]
    ways: NDArray[np.float64]
    ends: NDArray[np.float64]


def clearance_arrays(pairs: int, bodies: int) -> Clearance:
    """Allocate a `Clearance` in which no pair has been measured."""
    shapes: Any = (pairs, 3), (bodies, 12), (bodies, 4), (bodies, 2)
    return Clearance(np.full(pairs, -np.inf), *map(np.zeros, shapes))


@inline
def covered(R, p, pose, drift, reach):
    """Bound on the displacement of points of a body from a pose to (R, p), minus a drift (3) of all bodies [m]."""
    turn = 0.0
    for j in range(9):
        turn += (R[j] - pose[j]) ** 2
    return norm3(sub3(sub3(p, (pose[9], pose[10], pose[11])), drift)) + CHORD * math.sqrt(turn) * reach


@inline
def move_body(clearance, i, R, p, drift, reach):
    """Add the motion of body i to (R, p) to its path length [m]; reach: radius of its points."""
    pose, ways = clearance.poses[i], clearance.ways[i]
    way = covered(R, p, pose, drift, reach)
    ways[2], ways[3] = way, way + norm3(drift)
    ways[0], ways[1] = ways[0] + ways[2], ways[1] + ways[3]
    for j in range(9):
        pose[j] = R[j]
    pose[9], pose[10], pose[11] = p


@inline
def end_body(clearance, i, R, p, drift, reach):
    """Store the path length of body i at its pose (R, p) at the end of the step [m]; reach: radius of its points."""
    way = covered(R, p, clearance.poses[i], drift, reach)
    clearance.ends[i, 0] = clearance.ways[i, 0] + way
    clearance.ends[i, 1] = clearance.ways[i, 1] + way + norm3(drift)


@routine
def measure_anew(clearance, reach):
    """Discard all bounds once path lengths are large."""
    furthest = most = 0.0
    for i in range(reach.shape[0]):
        furthest, most = max(furthest, clearance.ways[i, 1]), max(most, reach[i])
    if furthest > MOST * most:
        for i in range(reach.shape[0]):
            clearance.ways[i, 0] = clearance.ways[i, 1] = 0.0
        for k in range(clearance.least.shape[0]):
            clearance.least[k] = -math.inf


@inline
def approach_of(ways, a, b):
    """Bound on the mutual approach of points of two bodies [m], by their path lengths; a may be the world."""
    if a < 0:
        return ways[b, 1]
    return ways[a, 0] + ways[b, 0]


@inline
def stay_apart(clearance, shapes, pairs, k, X, data, margin, convex):
    """Whether pair k at the poses X is further apart than a margin [m]; False if the bound is not sufficient.

    Args:
        X, data, convex: see `detect`.
    """
    a, b = shapes[pairs[k].a].body, shapes[pairs[k].b].body
    least = clearance.least[k]
    if least - approach_of(clearance.ways, a, b) > margin:
        return True
    return least > -math.inf and measure(clearance, shapes, pairs, k, X, data, margin, convex)


@routine
def measure(clearance, shapes, pairs, k, X, data, margin, convex):
    """Measure the distance bound of pair k; returns whether it exceeds the margin."""
    (Xa, Xb), ways = X, clearance.ways
    a, b = shapes[pairs[k].a], shapes[pairs[k].b]
    distance = sphere_distance(a, b, Xa, Xb)
    if convex is not None and convex:
        enough = margin + AHEAD * (ways[b.body, 3] if a.body < 0 else ways[a.body, 2] + ways[b.body, 2])
        if distance < enough and a.bound < 1e30 and b.bound < 1e30:
            one, two = Convex(a, Xa, compose(Xa, pose_of(a))), Convex(b, Xb, compose(Xb, pose_of(b)))
            distance = max(distance, distance_along(one, two, data, clearance.axes[k], enough))
    clearance.least[k] = distance + approach_of(ways, a.body, b.body)
    return distance > margin


@inline
def sphere_distance(a, b, Xa, Xb):
    """Distance of the bounding spheres of two shapes, or of one from a world plane [m]; otherwise minus infinity."""
    if b.bound > 1e30 or (a.bound > 1e30 and (a.kind != PLANE or a.body >= 0)):
        return -math.inf
    centre = act(Xb, load3(b.centre))
    if a.kind == PLANE:
        R, p = compose(Xa, pose_of(a))
        return dot3(column(R, 2), sub3(centre, p)) - b.bound
    return norm3(sub3(centre, act(Xa, load3(a.centre)))) - a.bound - b.bound


@routine
def distance_along(one, two, data, axis, enough):
    """Lower bound on the distance of two shapes [m] by a separating direction; the search stops at `enough`.

    It starts from `axis` (zero if none is known), which is replaced by a better direction.
    """
    n = load3(axis)
    if dot3(n, n) == 0.0:
        d = sub3(act(two.body, load3(two.shape.centre)), act(one.body, load3(one.shape.centre)))
        n = scale3(1.0 / norm3(d), d) if dot3(d, d) > 0.0 else (0.0, 0.0, 1.0)
    if lacks_corners(one.shape) or lacks_corners(two.shape):
        return -math.inf
    apart = separation(one, two, data, n)
    if apart < enough:
        v, distance = closest_points(one, two, data, ZERO3, n, enough + rounding(one.shape) + rounding(two.shape))
        if distance != 0.0:
            m = scale3(1.0 / norm3(v), v)
            other = separation(one, two, data, m)
            if other > apart:
                n, apart = m, other
    store3(axis, n)
    return apart


@inline
def lacks_corners(shape):
    """Whether the corners of a polytope are not stored in the data, as for boxes that need none for their pairs."""
    return is_polytope(shape) and shape.rows == 0


@routine
def still_touch(contact, shapes, pairs, X, data, deep, convex):
    """Whether shapes that had a contact penetrate by at most `deep` along its normal, at the poses X.

    Then the existing contact suffices, whichever of their features are closest now. False if this is not certain.
    """
    if convex is None or not convex:
        return False
    a, b = shapes[pairs[contact.pair].a], shapes[pairs[contact.pair].b]
    if a.bound > 1e30 or b.bound > 1e30 or lacks_corners(a) or lacks_corners(b):
        return False
    (Xa, Xb), n = X, gap(contact, X[0], X[1])[1]
    one, two = Convex(a, Xa, compose(Xa, pose_of(a))), Convex(b, Xb, compose(Xb, pose_of(b)))
    return separation(one, two, data, n) >= -deep
