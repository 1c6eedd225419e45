"""Gradients by all points of joints at once, over many steps of the compiled backward pass.

The residuals of steps at fixed unknowns are linear in the points of joints in their bodies
(`parameter_gradients.Variant.linear`): these points are the arms of the joints' impulses at the start of a step, and
enter their equations at its end and the momenta of hinges and balls. So one pass gives the gradient by all of them.
"""

import math

from leastaction._jit import entry, inline
from leastaction.maximal.coordinates.recover import child_of
from leastaction.maximal.derivatives.arrays import ParameterTape
from leastaction.maximal.maximal_records import BALL, HINGE
from leastaction.mechanism.closure import COUPLING, DOT
from leastaction.spatial import (
    EYE,
    ZERO3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    quat_mul,
    quat_to_rotation,
    scale3,
    sub3,
)


@inline
def _quaternion(pose):
    return (pose[3], pose[4], pose[5], pose[6])


@inline
def _turned(poses, i):
    """Rotation of a body, that of the world for i = -1."""
    if i < 0:
        return EYE
    return quat_to_rotation(_quaternion(poses[i]))


@inline
def _turned_at_end(poses, velocities, i, dt):
    """Rotation of a body at the end of a step, see `bodies.move`."""
    if i < 0:
        return EYE
    V = velocities[i]
    u = scale3(0.5 * dt, (V[0], V[1], V[2]))
    return quat_to_rotation(quat_mul(_quaternion(poses[i]), (math.sqrt(max(1.0 - dot3(u, u), 0.0)), u[0], u[1], u[2])))


@inline
def _turn_of(y, first, i, R):
    """Rotation vector of a body in y, in the world."""
    if i < 0:
        return ZERO3
    at = first[i]
    return matvec(R, (y[at], y[at + 1], y[at + 2]))


@inline
def _turn_at(motions, i, R):
    """Rotation vector of a body in motions (bodies, 6), in the world."""
    if i < 0:
        return ZERO3
    return matvec(R, (motions[i, 0], motions[i, 1], motions[i, 2]))


@inline
def _add(out, f):
    for c in range(3):
        out[c] += f[c]


@entry(nogil=True)
def weigh_points(tables, kept, bp, scratch, lengths):
    """Add the gradients of the weighted sum over the first slots, and of p there.

    Args:
        tables: `BODY`, `JOINT_ROW` and `COORDINATE` records, and the first unknown of each node of the graph.
        kept: plain tuple of `ParameterTape`.
        bp: gradients by p where steps start, shape (steps + 1, nv).
        scratch: (momenta of subtrees (bodies, 3); output: by pa and pb of rows (rows, 2, 3), of coordinates that are
            hinges or balls (coordinates, 2, 3)).
        lengths: of the substeps in these slots [s].
    """
    (bodies, rows, coordinates, start), kept = tables, ParameterTape(*kept)
    L, by_rows, by_coordinates = scratch
    n = bodies.shape[0]
    for slot in range(lengths.shape[0]):
        poses, velocities, y, dt = kept.poses[slot], kept.velocities[slot], kept.y[slot], lengths[slot]
        for k in range(rows.shape[0]):
            row = rows[k]
            if row.kind == DOT or row.kind == COUPLING:
                continue
            Ra, Rb, axis = _turned(poses, row.a), _turned(poses, row.b), load3(row.n)
            turn = sub3(_turn_of(y, start, row.b, Rb), _turn_of(y, start, row.a, Ra))
            # By the arm at the start, and by the equation at the end.
            _add(by_rows[k, 1], mattvec(Rb, scale3(kept.impulses[slot, k], cross(matvec(Ra, axis), turn))))
            by_equation = -y[start[n + row.node] + row.local] / dt
            Sa, Sb = _turned_at_end(poses, velocities, row.a, dt), _turned_at_end(poses, velocities, row.b, dt)
            _add(by_rows[k, 0], scale3(-by_equation, axis))
            _add(by_rows[k, 1], mattvec(Sb, scale3(by_equation, matvec(Sa, axis))))
            # The same arm in the second phase: that of impulses mu, and of the rate of the equation.
            at, end = start[n + row.node] + row.local, kept.end_poses[slot]
            Ra, Rb = _turned(end, row.a), _turned(end, row.b)
            z = sub3(_turn_at(kept.by_held[slot], row.b, Rb), _turn_at(kept.by_held[slot], row.a, Ra))
            T = sub3(_turn_of(kept.twists[slot], start, row.b, Rb), _turn_of(kept.twists[slot], start, row.a, Ra))
            arm = axpy3(-kept.by_projection[slot, at], T, scale3(kept.twists[slot, at], z))
            _add(by_rows[k, 1], mattvec(Rb, cross(matvec(Ra, axis), arm)))
        if kept.step[slot] < 0:
            continue
        for i in range(n):
            for c in range(3):
                L[i, c] = kept.read_momenta[slot, i, 3 + c]
        for i in range(n - 1, -1, -1):
            if bodies[i].parent >= 0:
                for c in range(3):
                    L[bodies[i].parent, c] += L[i, c]
        for k in range(coordinates.shape[0]):
            c = coordinates[k]
            if c.iv < 0 or (c.kind != HINGE and c.kind != BALL):
                continue
            i = child_of(c)
            Ra, Rb, momentum = _turned(poses, c.a), _turned(poses, c.b), (L[i, 0], L[i, 1], L[i, 2])
            # Its momentum is that of its child about an axis through the point.
            b = bp[kept.step[slot]]
            if c.kind == BALL:
                axis = matvec(Rb, matvec(load9(c.Rb), (b[c.iv], b[c.iv + 1], b[c.iv + 2])))
            else:
                axis = scale3(b[c.iv], matvec(Ra, load3(c.n)))
            f = cross(axis, momentum)
            if c.kind == BALL or c.sign > 0.0:
                _add(by_coordinates[k, 1], mattvec(Rb, f))
            else:
                _add(by_coordinates[k, 0], mattvec(Ra, f))
