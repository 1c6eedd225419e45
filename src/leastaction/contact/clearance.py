"""How far apart pairs of shapes are at least, so that those that stay apart cost next to nothing.

A lower bound on the distance of two shapes, once measured, shrinks by no more than what points of their bodies cover
(conservative advancement: Mirtich 1996, Impulse-based dynamic simulation of rigid body systems, section 2.3). While it
exceeds the margin of contacts nobody looks at the pair. Where it does not any more, it is measured again: by bounding
spheres, then along the direction that parted the shapes last, and only then by the search for their closest points,
which starts from that direction.
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
"""The way of a point in a turn, in terms of its distance from the centre and the Frobenius norm of R' - R."""

AHEAD = 8.0
"""A direction along which shapes are apart by the margin and by what they covered in so many of the last steps
suffices: closest points, which say more, take ten times as long."""

MOST = 10.0
"""Once a body has covered this many times the largest reach all is measured anew: ways are sums, with round-off."""


class Clearance(NamedTuple):
    """What is known of the distances of pairs, and how far bodies have moved since.

    Attributes:
        least: distance at least, and what the two bodies had covered by then [m]; minus infinity of pairs that touch or
            were not measured; shape (pairs,).
        axes: unit vectors along which they were apart, in the world, zero before there is one; shape (pairs, 3).
        poses: of bodies when they were last looked at (rotation row by row, position [m]), shape (bodies, 12).
        ways: how far points of each body have moved [m], without what all bodies have in common, and with it; and the
            same two of the last step alone; shape (bodies, 4).
        ends: the first two at the end of the present step, shape (bodies, 2).
    """

    least: NDArray[np.float64]
    axes: NDArray[np.float64]
    poses: NDArray[np.float64]
    ways: NDArray[np.float64]
    ends: NDArray[np.float64]


def clearance_arrays(pairs: int, bodies: int) -> Clearance:
    """Nothing is known of so many pairs."""
    shapes: Any = (pairs, 3), (bodies, 12), (bodies, 4), (bodies, 2)
    return Clearance(np.full(pairs, -np.inf), *map(np.zeros, shapes))


@inline
def covered(R, p, pose, drift, reach):
    """How far points of a body get from a pose to (R, p), but for a drift (3) of all bodies [m]."""
    turn = 0.0
    for j in range(9):
        turn += (R[j] - pose[j]) ** 2
    return norm3(sub3(sub3(p, (pose[9], pose[10], pose[11])), drift)) + CHORD * math.sqrt(turn) * reach


@inline
def move_body(clearance, i, R, p, drift, reach):
    """Body i, which reaches so far, has moved to (R, p) [m]."""
    pose, ways = clearance.poses[i], clearance.ways[i]
    way = covered(R, p, pose, drift, reach)
    ways[2], ways[3] = way, way + norm3(drift)
    ways[0], ways[1] = ways[0] + ways[2], ways[1] + ways[3]
    for j in range(9):
        pose[j] = R[j]
    pose[9], pose[10], pose[11] = p


@inline
def end_body(clearance, i, R, p, drift, reach):
    """Body i, which reaches so far, is at (R, p) at the end of the step [m]."""
    way = covered(R, p, clearance.poses[i], drift, reach)
    clearance.ends[i, 0] = clearance.ways[i, 0] + way
    clearance.ends[i, 1] = clearance.ways[i, 1] + way + norm3(drift)


@routine
def measure_anew(clearance, reach):
    """Forget distances once ways are long."""
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
    """How far points of two bodies have moved towards each other, at most [m]; a may be the world."""
    if a < 0:
        return ways[b, 1]
    return ways[a, 0] + ways[b, 0]


@inline
def stay_apart(clearance, shapes, pairs, k, X, data, margin, convex):
    """Whether pair k, with its bodies at the poses X, is further apart than a margin [m]; False where that is not sure.

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
    """Measure how far pair k is apart; whether by more than the margin."""
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
    """Distance of the bounding spheres of two shapes, or of one from a plane of the world [m]; else minus infinity."""
    if b.bound > 1e30 or (a.bound > 1e30 and (a.kind != PLANE or a.body >= 0)):
        return -math.inf
    centre = act(Xb, load3(b.centre))
    if a.kind == PLANE:
        R, p = compose(Xa, pose_of(a))
        return dot3(column(R, 2), sub3(centre, p)) - b.bound
    return norm3(sub3(centre, act(Xa, load3(a.centre)))) - a.bound - b.bound


@routine
def distance_along(one, two, data, axis, enough):
    """Lower bound on the distance of two shapes [m], which need not be better than `enough`, along `axis`.

    The axis, zero where none is known, is replaced by a better one.
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
    """Whether the corners of a polytope are not in the data, as of boxes that touch nothing that needs them."""
    return is_polytope(shape) and shape.rows == 0


@routine
def still_touch(contact, shapes, pairs, X, data, deep, convex):
    """Whether shapes that had a contact are in each other by no more than `deep` along its normal, at the poses X.

    Then nothing but what it holds is missed between them, whichever of their features are closest by now. False where
    that is not sure.
    """
    if convex is None or not convex:
        return False
    a, b = shapes[pairs[contact.pair].a], shapes[pairs[contact.pair].b]
    if a.bound > 1e30 or b.bound > 1e30 or lacks_corners(a) or lacks_corners(b):
        return False
    (Xa, Xb), n = X, gap(contact, X[0], X[1])[1]
    one, two = Convex(a, Xa, compose(Xa, pose_of(a))), Convex(b, Xb, compose(Xb, pose_of(b)))
    return separation(one, two, data, n) >= -deep
