"""Tunnelling check of `Minimal`: whether bodies pass through each other within a step, see `contact.laws.tunnelling`.

Links move on arcs, and the displacement of one that rotates by half a turn is small or even opposite: bounds of motion
use the velocities at both ends of the step rather than the displacement. Intermediate poses are those of the joint
positions q0 plus a part of the joint displacement.
"""

from leastaction._jit import inline, routine
from leastaction.contact.laws.tunnelling import strides_of, too_deep
from leastaction.contact.narrow_phase.detect import detect
from leastaction.contact.narrow_phase.gap import gap
from leastaction.minimal.contact.body_sweeps import move, origin_of, put
from leastaction.minimal.contact.detection.pair_list import is_listed, pose
from leastaction.minimal.contact.row_vec6 import six
from leastaction.minimal.vec6 import ZEROS, plus
from leastaction.spatial import EYE, ZERO3, act, add3, cross, load3, load9, norm3, sub3


@routine
def find_displacements(model, data, between):
    """Displacements and rotations of bodies over the step with its start and end velocities, into `between.ways`."""
    nodes, ways = model.nodes, between.ways
    for end in range(2):
        k = data.now[0] if end == 0 else 1 - data.now[0]
        for i in range(nodes.shape[0]):
            node = nodes[i]
            V = ZEROS if node.parent < 0 else six(ways[end, node.parent])
            for c in range(node.iv, node.iv + node.nv):
                V = plus(data.displacement[c], six(data.S[k][c]), V)
            for c in range(6):
                ways[end, i, c] = 0.0
            w = ways[end, i]
            w[0], w[1], w[2], w[3], w[4], w[5] = V
        for i in range(nodes.shape[0]):
            w = ways[end, i]
            turn = (w[0], w[1], w[2])
            w[3], w[4], w[5] = add3((w[3], w[4], w[5]), cross(turn, load3(data.x[k][i])))


@inline
def body_displacement(ways, end, i):
    """Displacement (3) and rotation angle of a body over the step, with the velocities of one end."""
    if i < 0:
        return ZERO3, 0.0
    w = ways[end, i]
    return (w[3], w[4], w[5]), norm3((w[0], w[1], w[2]))


@inline
def path_of(ways, end, shapes, a, b):
    """Bound of the relative displacement of points of two bodies over the step, with the velocities of one end [m]."""
    shift, turn = body_displacement(ways, end, b)
    other, turn_a = body_displacement(ways, end, a)
    path = norm3(sub3(shift, other)) + turn * shapes.reach[b]
    return path + (turn_a * shapes.reach[a] if a >= 0 else 0.0)


@inline
def pose_between(between, i):
    """Intermediate pose of a body, see `put_between`."""
    if i < 0:
        return EYE, ZERO3
    return load9(between.R[i]), load3(between.centres[i])


@routine
def put_between(model, data, between, part):
    """Place bodies at q0 plus a part (0 to 1) of the joint displacement."""
    for c in range(between.x.shape[0]):
        between.x[c] = part * data.displacement[c]
    move(model, data.q0, between.x, between.q, model.turning)
    origin = origin_of(data, data.touch, model.turning)
    put(model, between.q, between.R, between.centres, between.S, model.branched, origin)


@routine
def depth(shapes, found, k, convex):
    """Penetration of the shapes of pair k at the intermediate poses [m]; 0 where they are apart."""
    now, contacts, pairs, nothing = found.now[0], found.contacts, shapes.pairs, 0.0
    a, b = shapes.shapes[pairs[k].a].body, shapes.shapes[pairs[k].b].body
    Xa, Xb = pose_between(found.between, a), pose_between(found.between, b)
    last = detect(shapes.shapes, pairs, k, (Xa, Xb), shapes.table, contacts, now.count, nothing, convex)
    deepest = 0.0
    for i in range(now.count, min(last, contacts.shape[0])):
        deepest = max(deepest, -gap(contacts[i], Xa, Xb)[0])
    return deepest


@routine
def passes_through(model, data, found, convex):
    """Whether two shapes penetrate deeply within a solved step, and deeper than at its start.

    Args:
        convex: see `RobotShapes`.
    """
    shapes, between = model.shapes, found.between
    now, pairs, nothing, most = found.now[0], shapes.pairs, 0.0, 0.0
    find_displacements(model, data, between)
    for i in range(between.R.shape[0]):
        for end in range(2):
            shift, turn = body_displacement(between.ways, end, i)
            most = max(most, norm3(shift) + turn * shapes.reach[i])
    listed = 2.0 * most <= now.within and is_listed(shapes, data, found, nothing, now.count * 0 + 1)
    for m in range(now.listed if listed else pairs.shape[0]):
        k = found.listed[m] if listed else m
        a, b = shapes.shapes[pairs[k].a], shapes.shapes[pairs[k].b]
        path = path_of(between.ways, 0, shapes, a.body, b.body)
        path = max(path, path_of(between.ways, 1, shapes, a.body, b.body))
        d = sub3(act(pose(data, 0, b.body), load3(b.centre)), act(pose(data, 0, a.body), load3(a.centre)))
        strides, first = strides_of(a, b, d, path), 0.0
        for j in range(strides):
            put_between(model, data, between, j / strides)
            deep = depth(shapes, found, k, convex)
            if j == 0:
                first = deep
            elif deep > first + too_deep(a, b):
                return True
    return False
