"""Contacts of a solved part of a step as functions of the poses of their two bodies at both ends, and of the joints.

What a contact says and does is a function of four poses: how it pushes (a wrench), its gap at the end, how far its
material points slide and its bodies turn against each other, and the same rows at the end, for the momentum phase.
Their derivatives by the poses are central differences of order 4, but for gaps at the end, which have a closed form
(see `gap`): these are divided by the compliance. The chain rule from poses to joints is that of screws: a unit velocity
of a joint moves each body that it carries by its world twist S, and turns the axes that it carries by S x S'
(Featherstone 2008, Chapters 2 and 4).
"""

from typing import Any, NamedTuple

from leastaction._jit import entry, inline, routine
from leastaction.contact.narrow_phase.gap import gap, material_points
from leastaction.contact.pose_differences import STEP, displaced, stencil
from leastaction.contact.records import POINT_ON_PLANE
from leastaction.spatial import (
    IDENTITY,
    ZERO3,
    act,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    neg3,
    norm3,
    scale3,
    store3,
    sub3,
)

WRENCH, GAP, SLIDE, TURN, START_GAP, WRENCH_END, RATE, TURN_RATE, VALUES = 0, 6, 7, 9, 12, 13, 19, 22, 25
"""Where the values of a contact begin: the wrench of its impulses about the origin (6), its gap at the end [m], how far
it slides along its tangents [m] (2) and its bodies turn about normal and tangents [rad] (3), its gap at the start [m];
and at the end of the part the wrench of the impulses that the momentum phase adds (6), the rates along normal and
tangents [m/s] (3) and about them [rad/s] (3)."""


class Part(NamedTuple):
    """A solved part of a step as kernels read it, with m contacts and b bodies.

    Attributes:
        cones: `ROBOT_CONE` records of the contacts; contacts: `CONTACT` records of those that were looked for.
        of: which of these each is, -1 for a ball over a plane, shape (m,).
        R, x: rotations and centres of mass of the bodies at both ends, then at the ends of solutions at which contacts
            were found, shapes (2 + solutions, b, 9), (2 + solutions, b, 3).
        y: turns of the bodies within the part, in the world [rad], shape (b, 3).
        e: coefficient of y x (y x .) in the inverse Jacobian of y, shape (b,).
        lam, torques: impulses along and about normal and tangents, shape (m, 3).
        more, more_torques: what the momentum phase adds to them, shape (m, 3).
        twists: world twists of the bodies with the velocities at the end, shape (b, 6).
        reach: radius of each body [m], shape (b,).
        h: length of the part [s].
    """

    cones: Any
    contacts: Any
    of: Any
    R: Any
    x: Any
    y: Any
    e: Any
    lam: Any
    torques: Any
    more: Any
    more_torques: Any
    twists: Any
    reach: Any
    h: Any


@inline
def pose_of(part, end, i):
    """Pose of body i at one end; the identity for the world."""
    if i < 0:
        return IDENTITY
    return load9(part.R[end, i]), load3(part.x[end, i])


@inline
def located(cone, contacts, of, Xb, Xa):
    """(gap, normal, point, points that go with node and other) of a contact at poses of its node and the other body."""
    if of < 0:
        n, first = load3(cone.normal), act(Xb, load3(cone.arm))
        return dot3(n, first) - cone.offset, n, axpy3(-cone.radius, n, first), first, ZERO3
    phi, n, x = gap(contacts[of], Xa, Xb)
    a, b = material_points(contacts[of], Xa, Xb, n, x)
    return phi, n, x, b, a


@inline
def tangents_of(cone, first, n):
    """Tangents: `first` as it follows the normal the shortest way, and across, on the side of the cone's own."""
    t = axpy3(-dot3(first, n), n, first)
    t = scale3(1.0 / norm3(t), t)
    s = cross(n, t)
    return t, neg3(s) if dot3(s, load3(cone.second)) < 0.0 else s


@inline
def of_frame(lam, n, t, s):
    """lam (3) along normal and tangents as a vector."""
    return add3(scale3(lam[0], n), add3(scale3(lam[1], t), scale3(lam[2], s)))


@inline
def slid(X0, X1, y, c, x):
    """How far the surface of a body moves where it touches at x, with the material point c (both at the start)."""
    last = add3(X1[1], matvec(X1[0], mattvec(X0[0], sub3(c, X0[1]))))
    return add3(sub3(last, c), cross(y, sub3(x, c)))


@inline
def put_wrench(out, at, f, x, torque):
    """The wrench about the origin of a force f at x and a torque."""
    moment = add3(cross(x, f), torque)
    for k in range(3):
        out[at + k], out[at + 3 + k] = moment[k], f[k]


@routine
def evaluate(part, k, nodes, ends, turns, out):
    """Values of contact k at the poses `ends` of (node, other) at the start and (node, other) at the end.

    Args:
        nodes: node and other.
        turns: their turns y.
    """
    cone, of = part.cones[k], part.of[k]
    X0n, X0o, X1n, X1o = ends
    phi, n, x, cn, co = located(cone, part.contacts, of, X0n, X0o)
    t, s = tangents_of(cone, load3(cone.first), n)
    out[START_GAP] = phi
    put_wrench(out, WRENCH, of_frame(load3(part.lam[k]), n, t, s), x, of_frame(load3(part.torques[k]), n, t, s))
    slip = slid(X0n, X1n, turns[0], cn, x)
    if nodes[1] >= 0:
        slip = sub3(slip, slid(X0o, X1o, turns[1], co, x))
    if of >= 0 and part.contacts[of].belt:
        c = part.contacts[of]
        slip = axpy3(part.h, sub3(matvec(X0n[0], load3(c.belt_b)), matvec(X0o[0], load3(c.belt_a))), slip)
    out[SLIDE], out[SLIDE + 1] = dot3(t, slip), dot3(s, slip)
    turn = sub3(turns[0], turns[1])
    out[TURN], out[TURN + 1], out[TURN + 2] = dot3(n, turn), dot3(t, turn), dot3(s, turn)
    # At the end, where tangents follow the normal from those at the start.
    out[GAP], n, x, _, _ = located(cone, part.contacts, of, X1n, X1o)
    t, s = tangents_of(cone, t, n)
    more, torque = of_frame(load3(part.more[k]), n, t, s), of_frame(load3(part.more_torques[k]), n, t, s)
    put_wrench(out, WRENCH_END, more, x, torque)
    w, v = twist_against(part, nodes)
    v = add3(v, cross(w, x))
    for i, f in enumerate((n, t, s)):
        out[RATE + i], out[TURN_RATE + i] = dot3(f, v), dot3(f, w)


@inline
def twist_against(part, nodes):
    """World twist of the node against the other body with the velocities at the end."""
    V = part.twists[nodes[0]]
    w, v = (V[0], V[1], V[2]), (V[3], V[4], V[5])
    if nodes[1] >= 0:
        V = part.twists[nodes[1]]
        w, v = sub3(w, (V[0], V[1], V[2])), sub3(v, (V[3], V[4], V[5]))
    return w, v


@inline
def turn_slope(y, e, end, turn):
    """How the turn y of a body changes with one at its start (0) or end (1)."""
    half = cross(y, turn)
    own = axpy3(e, cross(y, half), turn)
    return axpy3(-0.5, half, own) if end == 1 else neg3(axpy3(0.5, half, own))


@inline
def place_of(part, k):
    """Where in `Part.R` the poses are at which contact k was found: 0 for the start."""
    of = part.of[k]
    return 1 + part.contacts[of].late if of >= 0 and part.contacts[of].late > 0 else 0


@routine
def base(part, k, nodes, out):
    """`evaluate` at the poses of the part."""
    i, j = nodes
    ends = pose_of(part, 0, i), pose_of(part, 0, j), pose_of(part, 1, i), pose_of(part, 1, j)
    evaluate(part, k, nodes, ends, (load3(part.y[i]), load3(part.y[j]) if j >= 0 else ZERO3), out)


@routine
def by_poses(part, k, nodes, values, D):
    """Derivatives D (3, 2 bodies, 6, values) of the values of contact k by turns and shifts of its bodies.

    They are those at both ends, and where the contact was found at the end of an earlier solution those there: points
    that are found where features of both bodies cross move over their bodies with the poses at which they were found
    (`feature_motion`).

    Args:
        values: scratch, shape (`VALUES`,).
    """
    of = part.of[k]
    crosses = of >= 0 and part.contacts[of].kind == POINT_ON_PLANE
    late = place_of(part, k)
    for side in range(2):
        body = nodes[side]
        for end in range(3):
            for axis in range(6):
                for c in range(VALUES):
                    D[end, side, axis, c] = 0.0
                if body < 0 or (end == 2 and not (crosses and late > 0)):
                    continue
                h = STEP * (part.reach[body] if axis >= 3 else 1.0)
                for point in range(4):
                    offset, weight = stencil(point)
                    moves = crosses and end == (2 if late > 0 else 0)
                    values_at(part, k, nodes, (end, side, axis), offset * h, moves, values)
                    for c in range(VALUES):
                        D[end, side, axis, c] += weight / h * values[c]


@routine
def values_at(part, k, nodes, which, d, crosses, out):
    """`evaluate` with a body turned or shifted by d.

    Args:
        which: end, side and axis.
        crosses: whether the contact's point may move over its body with that.
    """
    i, j = nodes
    end, side, axis = which
    X0n, X0o, X1n, X1o = pose_of(part, 0, i), pose_of(part, 0, j), pose_of(part, 1, i), pose_of(part, 1, j)
    yn, yo = load3(part.y[i]), load3(part.y[j]) if j >= 0 else ZERO3
    X = X0n if end == 0 else X1n
    if side == 1:
        X = X0o if end == 0 else X1o
    moved = displaced(X, axis, d)
    if axis < 3 and end < 2:
        turn = (d if axis == 0 else 0.0, d if axis == 1 else 0.0, d if axis == 2 else 0.0)
        if side == 0:
            yn = add3(yn, turn_slope(yn, part.e[i], end, turn))
        else:
            yo = add3(yo, turn_slope(yo, part.e[j], end, turn))
    kept = ZERO3
    if crosses:
        at = place_of(part, k)
        found = pose_of(part, at, i), pose_of(part, at, j)
        kept = shift_point(part.contacts[part.of[k]], found, side, found[side], axis, d)
    if end == 0:
        X0n, X0o = (moved, X0o) if side == 0 else (X0n, moved)
    elif end == 1:
        X1n, X1o = (moved, X1o) if side == 0 else (X1n, moved)
    evaluate(part, k, nodes, (X0n, X0o, X1n, X1o), (yn, yo), out)
    if crosses:
        store3(part.contacts[part.of[k]].w, kept)


@inline
def shift_point(contact, poses, side, X, axis, d):
    """Move the second feature of a contact as it does when one of its bodies moves; returns where it was.

    Args:
        poses: of node and other.
        side, X, axis, d: which of them moves, its pose, along which axis and how far.
    """
    w, second = load3(contact.w), poses[1] if contact.flip == 1 else poses[0]
    point = act(second, w)
    e = (d if axis % 3 == 0 else 0.0, d if axis % 3 == 1 else 0.0, d if axis % 3 == 2 else 0.0)
    turn = e if axis < 3 else ZERO3
    moved = cross(turn, sub3(point, X[1])) if axis < 3 else e
    sign = 1.0 if (side == 0) == (contact.flip == 1) else -1.0  # the first feature's body against the second's
    moved, turn = scale3(sign, mattvec(second[0], moved)), scale3(sign, mattvec(second[0], turn))
    own = add3(matvec(load9(contact.R), moved), scale3(dot3(load3(contact.n), turn), load3(contact.z)))
    store3(contact.w, add3(w, own))
    return w


@entry
def contact_values(part, out):
    """Values (m, `VALUES`) of all contacts of a `Part`, which comes as a plain tuple."""
    part = Part(*part)
    for k in range(part.cones.shape[0]):
        base(part, k, (part.cones[k].node, part.cones[k].other), out[k])


class Joints(NamedTuple):
    """The n joint velocities and b bodies of a robot at both ends of a part.

    Attributes:
        S: world twists of unit joint velocities at the poses of `Part.R`, shape (2 + solutions, n, 6).
        carries: whether a body (first index) moves with a joint, shape (b, n).
        owner: the body that each joint belongs to, shape (n,); parents: of the bodies, -1 for the world, shape (b,).
    """

    S: Any
    carries: Any
    owner: Any
    parents: Any


class Rows(NamedTuple):
    """What `contact_slopes` writes: of m contacts, with n joints.

    Attributes:
        values: of all contacts, shape (m, VALUES).
        columns: what unit impulses along and about normal and tangents do along the joints, shape (2, m, 6, n): at the
            start, and at the end.
        slopes: of the values by the joints at both ends, and where they were found, shape (3, m, VALUES, n).
        kick: of what impulses do along the joints by these at both ends, and at the ends of solutions, shape
            (2 + solutions, n, n); kick_end: the same of those that the momentum phase adds.
        D: scratch, shape (3, 2, 6, VALUES); one: scratch, shape (VALUES,); total: scratch, shape (n, 6).
    """

    values: Any
    columns: Any
    slopes: Any
    kick: Any
    kick_end: Any
    D: Any
    one: Any
    total: Any


@entry
def contact_columns(part, joints, columns):
    """What unit impulses along and about normals and tangents do along the joints at both ends, see `Rows`."""
    part, joints = Part(*part), Joints(*joints)
    for k in range(part.cones.shape[0]):
        nodes = part.cones[k].node, part.cones[k].other
        for end in range(2):
            n, t, s, x = frame_at(part, k, nodes, end)
            for c in range(columns.shape[3]):
                side = side_of(joints.carries, nodes, c)
                w, v = twist_of(joints.S[end], c)
                v = add3(v, cross(w, x))
                for i, f in enumerate((n, t, s)):
                    columns[end, k, i, c], columns[end, k, 3 + i, c] = side * dot3(v, f), side * dot3(w, f)


@entry
def contact_slopes(part, joints, rows):
    """Values of all contacts and their derivatives by the joints: a `Part`, `Joints` and `Rows` as plain tuples.

    Derivatives are added to zeros; columns are those of `contact_columns`.
    """
    part, joints, rows = Part(*part), Joints(*joints), Rows(*rows)
    for k in range(part.cones.shape[0]):
        nodes = part.cones[k].node, part.cones[k].other
        base(part, k, nodes, rows.values[k])
        by_poses(part, k, nodes, rows.one, rows.D)
        for end in range(3 if place_of(part, k) > 0 else 2):
            put_slopes(part, joints, k, nodes, end, rows)
        add_rates(part, joints, k, nodes, rows.slopes[1, k])
    for end in range(2):
        turn_axes(part, joints, end, rows)


@inline
def twist_of(S, b):
    """Row b of twists as (angular, linear)."""
    return (S[b, 0], S[b, 1], S[b, 2]), (S[b, 3], S[b, 4], S[b, 5])


@inline
def side_of(carries, nodes, c):
    """1 for joints that carry the node, -1 for those that carry the other body, 0 for those that carry both."""
    side = 1.0 if carries[nodes[0], c] else 0.0
    return side - (1.0 if nodes[1] >= 0 and carries[nodes[1], c] else 0.0)


@inline
def change_of_twist(part, joints, body, b):
    """How the twist of a body at the end changes with joint b, as that turns the axes of those after it."""
    if body < 0 or not joints.carries[body, b]:
        return ZERO3, ZERO3
    W, V = twist_of(part.twists, body)
    before = joints.parents[joints.owner[b]]
    if before >= 0:
        W0, V0 = twist_of(part.twists, before)
        W, V = sub3(W, W0), sub3(V, V0)
    w, v = twist_of(joints.S[1], b)
    return cross(w, W), add3(cross(w, V), cross(v, W))


@inline
def frame_at(part, k, nodes, end):
    """Normal, tangents and point of contact k at one end; tangents at the end follow the normal from the start."""
    cone, of = part.cones[k], part.of[k]
    _, n, x, _, _ = located(cone, part.contacts, of, pose_of(part, 0, nodes[0]), pose_of(part, 0, nodes[1]))
    t, s = tangents_of(cone, load3(cone.first), n)
    if end == 1:
        _, n, x, _, _ = located(cone, part.contacts, of, pose_of(part, 1, nodes[0]), pose_of(part, 1, nodes[1]))
        t, s = tangents_of(cone, t, n)
    return n, t, s, x


@routine
def add_rates(part, joints, k, nodes, slopes):
    """Add how the rates of contact k at the end change as axes turn there."""
    n, t, s, x = frame_at(part, k, nodes, 1)
    for c in range(slopes.shape[1]):
        w, v = change_of_twist(part, joints, nodes[0], c)
        w1, v1 = change_of_twist(part, joints, nodes[1], c)
        w, v = sub3(w, w1), sub3(v, v1)
        v = add3(v, cross(w, x))
        for i, f in enumerate((n, t, s)):
            slopes[RATE + i, c] += dot3(f, v)
            slopes[TURN_RATE + i, c] += dot3(f, w)


@routine
def put_slopes(part, joints, k, nodes, end, rows):
    """Derivatives of the values of contact k by the joints at one end, and of what its wrenches do, with axes held."""
    at = place_of(part, k) if end == 2 else end
    S, out = joints.S[at], rows.slopes[end, k]
    for b in range(S.shape[0]):
        w, v = twist_of(S, b)
        moves = False
        for side in range(2):
            body = nodes[side]
            if body < 0 or not joints.carries[body, b]:
                continue
            moves = True
            shift = add3(v, cross(w, load3(part.x[at, body])))
            for axis in range(6):
                d = w[axis] if axis < 3 else shift[axis - 3]
                for c in range(VALUES if d != 0.0 else 0):
                    out[c, b] += d * rows.D[end, side, axis, c]
        if end == 1:  # the gap in closed form: its features are fixed to their bodies
            out[GAP, b] = rows.columns[1, k, 0, b]
        for c in range(S.shape[0] if moves else 0):
            sign = side_of(joints.carries, nodes, c)
            if sign != 0.0:
                one = two = 0.0
                for i in range(6):
                    one += joints.S[0, c, i] * out[WRENCH + i, b]
                    two += joints.S[1, c, i] * out[WRENCH_END + i, b]
                rows.kick[at, c, b] += sign * one
                rows.kick_end[at, c, b] += sign * two


@routine
def turn_axes(part, joints, end, rows):
    """Add how what the wrenches at one end do along the joints changes as axes turn there."""
    S, carries, total, out = joints.S[end], joints.carries, rows.total, rows.kick if end == 0 else rows.kick_end
    first = WRENCH if end == 0 else WRENCH_END
    for c in range(S.shape[0]):
        for i in range(6):
            total[c, i] = 0.0
        for k in range(part.cones.shape[0]):
            sign = side_of(carries, (part.cones[k].node, part.cones[k].other), c)
            if sign != 0.0:
                for i in range(6):
                    total[c, i] += sign * rows.values[k, first + i]
        moment, f = twist_of(total, c)
        W, V = twist_of(S, c)
        for b in range(S.shape[0]):
            if carries[joints.owner[c], b]:
                w, v = twist_of(S, b)
                out[end, c, b] += dot3(cross(w, W), moment) + dot3(add3(cross(w, V), cross(v, W)), f)
