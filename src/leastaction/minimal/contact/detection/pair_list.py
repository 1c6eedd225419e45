"""Broad phase of a robot: the list of pairs of shapes whose bounding spheres may come close (a Verlet list).

The list is rebuilt when bodies have moved so far that other pairs may come close; until then those cost nothing.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.clearance import CHORD, covered, end_body, measure_anew, move_body
from leastaction.spatial import EYE, ZERO3, act, dot3, load3, load9, norm3, sub3

AHEAD = 4.0
"""The list is valid for at least this number of steps at the present velocities."""

NEAR = 1e-3
"""Gap below which pairs are checked at any velocity, relative to the reach of the smaller shape."""


@inline
def pose(data, end, i):
    """Pose of body i at the start (0) or the end (1) of the step, with its centre of mass as origin."""
    if i < 0:
        return EYE, ZERO3
    k = data.now[0] if end == 0 else 1 - data.now[0]
    return load9(data.R[k][i]), load3(data.x[k][i])


@inline
def chord(R, other):
    """Frobenius norm of the difference of two rotations (9), times `CHORD`."""
    total = 0.0
    for j in range(9):
        total += (R[j] - other[j]) ** 2
    return CHORD * math.sqrt(total)


@routine
def displacement_since(shapes, data, found, end):
    """Largest displacement of points of bodies since the list was built, at either end of the step [m].

    Returns two values: without the mean displacement of all bodies, and including it.
    """
    places, n = found.places, found.places.shape[0]
    x = y = z = 0.0
    for i in range(n):
        p = pose(data, end, i)[1]
        x, y, z = x + p[0] - places[i, 9], y + p[1] - places[i, 10], z + p[2] - places[i, 11]
    drift = (x / n, y / n, z / n)
    furthest = 0.0
    for i in range(n):
        R, p = pose(data, end, i)
        furthest = max(furthest, covered(R, p, places[i], drift, shapes.reach[i]))
    return furthest, furthest + norm3(drift)


@routine
def drift_of(data, clearance, end):
    """Mean displacement of all bodies since their stored poses, shape (3,) [m]."""
    n, x, y, z = clearance.poses.shape[0], 0.0, 0.0, 0.0
    for i in range(n):
        p, place = pose(data, end, i)[1], clearance.poses[i]
        x, y, z = x + p[0] - place[9], y + p[1] - place[10], z + p[2] - place[11]
    return x / n, y / n, z / n


@routine
def move_bodies(shapes, data, clearance, start):
    """Update the distance bounds for the poses at the start of a step, see `contact.clearance`."""
    drift = drift_of(data, clearance, start)
    for i in range(clearance.poses.shape[0]):
        R, p = pose(data, start, i)
        move_body(clearance, i, R, p, drift, shapes.reach[i])
    measure_anew(clearance, shapes.reach)


@routine
def end_bodies(shapes, data, clearance, end):
    """Update the displacements of bodies at the end of a step, see `contact.clearance`."""
    drift = drift_of(data, clearance, end)
    for i in range(clearance.poses.shape[0]):
        R, p = pose(data, end, i)
        end_body(clearance, i, R, p, drift, shapes.reach[i])


@routine
def is_listed(shapes, data, found, margin, end):
    """Whether the list contains all pairs that may be closer than a margin [m] at one end of the step."""
    now = found.now[0]
    way, whole = displacement_since(shapes, data, found, end)
    return margin + 2.0 * way <= now.within and (now.fixed == 0 or margin + whole <= now.within)


@inline
def margin_of(shapes, found, k, fall):
    """Largest distance [m] of the shapes of pair k at the start of a step at which their contacts are detected."""
    a, b = shapes.shapes[shapes.pairs[k].a].body, shapes.shapes[shapes.pairs[k].b].body
    way, reach = found.travel[b], shapes.reach[b]
    if a >= 0:
        way, reach = way + found.travel[a], min(reach, shapes.reach[a])
    return way + fall + NEAR * reach


@routine
def list_pairs(shapes, data, found, fall):
    """Compute the displacements of bodies in the first guess; rebuild the list of pairs where it is out of date."""
    now, way, places = found.now[0], found.travel, found.places
    furthest = most = 0.0
    for i in range(way.shape[0]):
        R0, x0 = pose(data, 0, i)
        R1, x1 = pose(data, 1, i)
        way[i] = norm3(sub3(x1, x0)) + chord(R0, R1) * shapes.reach[i]
        furthest, most = max(furthest, way[i]), max(most, shapes.reach[i])
    margin = 2.0 * furthest + fall + NEAR * most
    start = now.listed * 0  # no literal: kernels would be compiled twice
    move_bodies(shapes, data, found.clearance, start)
    if now.listed >= 0 and is_listed(shapes, data, found, margin, start):
        return
    for i in range(places.shape[0]):
        R, p = pose(data, start, i)
        for j in range(9):
            places[i, j] = R[j]
        places[i, 9], places[i, 10], places[i, 11] = p
    now.within = margin + max(shapes.skin, AHEAD * furthest)
    now.listed = now.fixed = 0
    for k in range(shapes.pairs.shape[0]):
        if apart(shapes, data, k, now) < now.within:
            found.listed[now.listed] = k
            now.listed += 1


@inline
def apart(shapes, data, k, now):
    """Distance of the bounding spheres of pair k at the start of the step [m]."""
    a, b = shapes.shapes[shapes.pairs[k].a], shapes.shapes[shapes.pairs[k].b]
    bounds = a.bound + b.bound
    if a.body < 0:
        now.fixed = 1
    if bounds > 1e30:
        return -math.inf
    d = sub3(act(pose(data, 0, b.body), load3(b.centre)), act(pose(data, 0, a.body), load3(a.centre)))
    return math.sqrt(dot3(d, d)) - bounds
