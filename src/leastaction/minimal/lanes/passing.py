"""Things that pass through each other within a step of a lane.

Whether things overlap is looked at where a step ends. What moves further in one step than it and its obstacle are thick
may be on the other side by then. So the motion of such pairs is looked at in between, in strides shorter than they are
thick; a step in which they are in each other halfway is divided until no stride is longer.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.detect import detect, detect_smooth
from leastaction.contact.gap import gap
from leastaction.minimal.bodywise.turning import turn_between
from leastaction.minimal.lanes.listing import is_listed, pose
from leastaction.spatial import EYE, ZERO3, act, axpy3, load3, matmul, norm3, rot_exp, scale3, sub3

STRIDE, DEEP = 0.5, 0.25
"""Length of a stride, and overlap that tells that things pass through each other, in terms of how thick they are."""

STRIDES = 4096
"""Most strides of a step."""


@inline
def motion(lane, i):
    """Shift (3) and turn (3), in the world, of a body within the step."""
    if i < 0:
        return ZERO3, ZERO3
    R0, x0 = pose(lane, 0, i)
    R1, x1 = pose(lane, 1, i)
    return sub3(x1, x0), turn_between(R0, R1)


@inline
def pose_within(lane, i, part):
    """Pose of a body after a part of the step."""
    if i < 0:
        return EYE, ZERO3
    R, x = pose(lane, 0, i)
    shift, turn = motion(lane, i)
    return matmul(rot_exp(scale3(part, turn)), R), axpy3(part, shift, x)


@routine
def passes_through(lane, shapes, found, features, convex):
    """Whether two shapes are deep in each other within a solved step, and were not at its start.

    Args:
        features, convex: see `LaneShapes`.
    """
    now, contacts, pairs, nothing = found.now[0], found.contacts, shapes.pairs, 0.0
    listed = is_listed(shapes, lane, found, nothing, now.count * 0 + 1)
    for m in range(now.listed if listed else pairs.shape[0]):
        k = found.listed[m] if listed else m
        a, b = shapes.shapes[pairs[k].a], shapes.shapes[pairs[k].b]
        thick = a.thickness + b.thickness
        shift, turn = motion(lane, b.body)
        path = norm3(turn) * shapes.reach[b.body]
        other, turn = motion(lane, a.body)
        path += norm3(sub3(shift, other)) + (norm3(turn) * shapes.reach[a.body] if a.body >= 0 else 0.0)
        if path < thick:
            continue
        d = sub3(act(pose(lane, 0, b.body), load3(b.centre)), act(pose(lane, 0, a.body), load3(a.centre)))
        if norm3(d) > a.bound + b.bound + path:
            continue
        strides = min(math.ceil(path / (STRIDE * thick)), STRIDES)
        for j in range(strides):
            part = j / strides
            Xa, Xb = pose_within(lane, a.body, part), pose_within(lane, b.body, part)
            if features is None:
                last = detect_smooth(shapes.shapes, pairs, k, Xa, Xb, shapes.table, contacts, now.count, nothing)
            else:
                last = detect(shapes.shapes, pairs, k, (Xa, Xb), shapes.table, contacts, now.count, nothing, convex)
            deep = False
            for i in range(now.count, min(last, contacts.shape[0])):
                deep = deep or gap(contacts[i], Xa, Xb)[0] < -DEEP * thick
            if deep and j > 0:
                return True
            if j == 0 and last > now.count:  # they touch, or get out of each other
                break
    return False
