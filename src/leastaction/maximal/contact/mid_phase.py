"""Mid phase: the near pairs whose bounding spheres may come within the contact margin.

The list is rebuilt once bodies have moved so far that other pairs may; until then those cost nothing.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.clearance import Clearance, covered, end_body, measure_anew, move_body
from leastaction.contact.records import PLANE
from leastaction.maximal.contact.contact_margins import largest_margin, speed_of
from leastaction.maximal.step.bodies import END, end_pose, start_pose
from leastaction.spatial import act, column, dot3, load3, load9, norm3, sub3

AHEAD, SKIN = 4.0, 0.2
"""The list holds for AHEAD steps at the present speeds, and while bodies move by less than SKIN times the skin of near
pairs: distant pairs cost only when the list is made, listed ones in every step."""


@routine(allocates=False)
def displacement_since(states, near, contact, end):
    """Bounds on the displacement of points of bodies since the list was made, to one END of the step [m].

    Returns two: relative to the mean displacement of all bodies, and absolute.
    """
    anchors, n = contact.places, near.reach.shape[0]
    x = y = z = 0.0
    for i in range(n):
        p = end_pose(states, i)[1] if end == END else start_pose(states, i)[1]
        x, y, z = x + p[0] - anchors[i, 9], y + p[1] - anchors[i, 10], z + p[2] - anchors[i, 11]
    drift = (x / max(n, 1), y / max(n, 1), z / max(n, 1))
    furthest = 0.0
    for i in range(n):
        R, p = end_pose(states, i) if end == END else start_pose(states, i)
        furthest = max(furthest, covered(R, p, anchors[i], drift, near.reach[i]))
    return furthest, furthest + norm3(drift)


@routine(allocates=False)
def move_bodies(states, near, contact):
    """Add the displacement of bodies to the start of a step to the path lengths of `clearance`."""
    clearance, n, x, y, z = contact_clearance(contact), near.reach.shape[0], 0.0, 0.0, 0.0
    for i in range(n):
        p, pose = start_pose(states, i)[1], clearance.poses[i]
        x, y, z = x + p[0] - pose[9], y + p[1] - pose[10], z + p[2] - pose[11]
    drift = (x / max(n, 1), y / max(n, 1), z / max(n, 1))
    for i in range(n):
        R, p = start_pose(states, i)
        move_body(clearance, i, R, p, drift, near.reach[i])
    measure_anew(clearance, near.reach)


@routine(allocates=False)
def end_bodies(states, near, contact):
    """Store the displacement of bodies to the end of a step for `clearance`."""
    clearance, n, x, y, z = contact_clearance(contact), near.reach.shape[0], 0.0, 0.0, 0.0
    for i in range(n):
        p, pose = end_pose(states, i)[1], clearance.poses[i]
        x, y, z = x + p[0] - pose[9], y + p[1] - pose[10], z + p[2] - pose[11]
    drift = (x / max(n, 1), y / max(n, 1), z / max(n, 1))
    for i in range(n):
        R, p = end_pose(states, i)
        end_body(clearance, i, R, p, drift, near.reach[i])


@inline
def contact_clearance(contact):
    """The `Clearance` of all pairs."""
    return Clearance(contact.least, contact.axes, contact.poses, contact.ways, contact.ends)


@routine(allocates=False)
def is_listed(states, near, contact, margin, end):
    """Whether the list has all pairs that may be closer than a margin [m] at either END of the step."""
    now = contact.now[0]
    way, whole = displacement_since(states, near, contact, end)
    return margin + 2.0 * way <= now.within and (now.fixed == 0 or margin + whole <= now.within)


@routine(allocates=False)
def list_pairs(bodies, settings, states, near, contact, dt):
    """Compute speed bounds of bodies [m/s], and rebuild the list of pairs where it is out of date."""
    now, places, speeds, fastest = contact.now[0], contact.places, contact.speeds, 0.0
    for i in range(speeds.shape[0]):
        speeds[i] = speed_of(states, i, near.reach[i])
        fastest = max(fastest, speeds[i])
    margin = now.widest = largest_margin(bodies, settings, near, fastest, dt)
    move_bodies(states, near, contact)
    if now.listed >= 0 and is_listed(states, near, contact, margin, END - END):
        return
    for i in range(places.shape[0]):
        R, p = start_pose(states, i)
        for j in range(9):
            places[i, j] = R[j]
        places[i, 9], places[i, 10], places[i, 11] = p
    now.within = margin + max(SKIN * near.skin, AHEAD * abs(dt) * fastest)
    now.listed = now.fixed = 0
    for k in range(near.pairs.shape[0]):
        if apart(states, near, k) < now.within:
            contact.listed[now.listed] = k
            now.listed += 1
        elif near.shapes[near.pairs[k].a].body < 0:
            now.fixed = 1


@inline
def apart(states, near, k):
    """Distance of the bounding spheres of pair k at the start of the step, or of one from a fixed plane [m]."""
    a, b = near.shapes[near.pairs[k].a], near.shapes[near.pairs[k].b]
    bounds = a.bound + b.bound
    if bounds > 1e30:
        if a.kind != PLANE or a.body >= 0 or b.bound > 1e30:
            return -math.inf
        centre = act(start_pose(states, b.body), load3(b.centre))
        return dot3(column(load9(a.R), 2), sub3(centre, load3(a.p))) - b.bound
    d = sub3(act(start_pose(states, b.body), load3(b.centre)), act(start_pose(states, a.body), load3(a.centre)))
    return math.sqrt(dot3(d, d)) - bounds
