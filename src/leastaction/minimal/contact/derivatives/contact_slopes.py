"""Analytic derivatives of contact values (`contact_kernels`) of a solved substep by the joints.

A contact is a function of the poses of its two bodies at both ends (`contact_kernels`). A unit joint velocity moves
these by its world twist S, and rotates the axes that it carries by S x S' (Featherstone 2008, Chapters 2 and 4). The
contact point depends on the relative pose: when both bodies move as one, normal and points move with them. So only the
motion of the node relative to the other body needs a separate derivative: analytic for spheres and corners on planes,
central differences of order 4 for all other features. Friction, slip and velocities follow by the chain rule.
"""

from typing import Any, NamedTuple

from leastaction._jit import entry, inline, routine
from leastaction.contact.pose_differences import STEP, displaced, stencil
from leastaction.contact.records import POINT_ON_PLANE
from leastaction.minimal.contact.derivatives.contact_kernels import (
    GAP,
    RATE,
    SLIDE,
    START_GAP,
    TURN,
    TURN_RATE,
    VALUES,
    WRENCH,
    WRENCH_END,
    Part,
    located,
    of_frame,
    place_of,
    pose_of,
    put_wrench,
    slid,
    tangents_of,
    twist_against,
)
from leastaction.spatial import (
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
    sub3,
)


class Joints(NamedTuple):
    """The n joint velocities and b bodies of a robot at both ends of a substep.

    Attributes:
        S: world twists of unit joint velocities at the poses of `Part.R`, shape (2 + solutions, n, 6).
        owner: the body that each joint belongs to, shape (n,).
        nodes: `tree.NODE` records of the bodies.
    """

    S: Any
    owner: Any
    nodes: Any


class Rows(NamedTuple):
    """Results and scratch of `contact_slopes`, for m contacts and n joints.

    Attributes:
        values: of all contacts, shape (m, VALUES).
        columns: generalised impulses of unit impulses along and about normal and tangents, at the start and at the end,
            shape (2, m, 6, n).
        slopes: of the values by the joints at both ends, and at the poses of detection, shape (3, m, n, VALUES).
        kick: derivatives of generalised impulses by the joints at both ends, and at the ends of solutions, shape
            (2 + solutions, n, n); kick_end: the same of those that the momentum phase adds.
        moved: scratch, derivatives of normal and points by the pose of the node, shape (2, 6, 12).
        D: scratch, slopes by twists of node and other, shape (2, 2, 6, VALUES).
        path: scratch, joints that move a contact, and the body they carry: `NODE`, `OTHER` or both, shape (n, 2).
        total: scratch, shape (n, 12).
    """

    values: Any
    columns: Any
    slopes: Any
    kick: Any
    kick_end: Any
    moved: Any
    D: Any
    path: Any
    total: Any


NODE, OTHER = 1, 2
"""Bit flags of the body of a contact that a joint carries."""


class Ends(NamedTuple):
    """Contact k of a substep at both ends.

    Attributes:
        k, node, other: the contact, and its bodies.
        Xn, Xo: poses of these at the start; Yn, Yo: at the end.
        n, t, s, x, cn, co: normal, tangents and points at the start; m, a, b, z: normal, tangents and point at the end.
        gaps: at both ends [m]; slip: of the surfaces [m]; turn: relative rotation of the bodies [rad].
    """

    k: Any
    node: Any
    other: Any
    Xn: Any
    Xo: Any
    Yn: Any
    Yo: Any
    n: Any
    t: Any
    s: Any
    x: Any
    cn: Any
    co: Any
    m: Any
    a: Any
    b: Any
    z: Any
    gaps: Any
    slip: Any
    turn: Any


@routine
def ends_of_contact(part, k):
    """`Ends` of contact k."""
    cone, of = part.cones[k], part.of[k]
    i, j = cone.node, cone.other
    Xn, Xo, Yn, Yo = pose_of(part, 0, i), pose_of(part, 0, j), pose_of(part, 1, i), pose_of(part, 1, j)
    first, n, x, cn, co = located(cone, part.contacts, of, Xn, Xo)
    t, s = tangents_of(cone, load3(cone.first), n)
    last, m, z, _, _ = located(cone, part.contacts, of, Yn, Yo)
    a, b = tangents_of(cone, t, m)
    turn = load3(part.y[i])
    slip = slid(Xn, Yn, turn, cn, x)
    if j >= 0:
        y = load3(part.y[j])
        slip, turn = sub3(slip, slid(Xo, Yo, y, co, x)), sub3(turn, y)
    if of >= 0 and part.contacts[of].belt:
        c = part.contacts[of]
        slip = axpy3(part.h, sub3(matvec(Xn[0], load3(c.belt_b)), matvec(Xo[0], load3(c.belt_a))), slip)
    return Ends(k, i, j, Xn, Xo, Yn, Yo, n, t, s, x, cn, co, m, a, b, z, (first, last), slip, turn)


@inline
def twist_of(S, b):
    """Row b of twists as (angular, linear)."""
    return (S[b, 0], S[b, 1], S[b, 2]), (S[b, 3], S[b, 4], S[b, 5])


@routine
def find_path(nodes, node, other, path):
    """Write the joints that move one body, the other or both, with `NODE` and `OTHER` flags; returns their number."""
    count = 0
    while node >= 0 or other >= 0:
        if node >= other:
            body, what = node, NODE
            if node == other:
                what, other = NODE + OTHER, nodes[other].parent
            node = nodes[node].parent
        else:
            body, what, other = other, OTHER, nodes[other].parent
        for b in range(nodes[body].iv, nodes[body].iv + nodes[body].nv):
            path[count, 0], path[count, 1] = b, what
            count += 1
    return count


@inline
def sign_of(what):
    """1 for joints that carry the node, -1 for those that carry the other body, 0 for those that carry both."""
    return (1.0 if what & NODE else 0.0) - (1.0 if what & OTHER else 0.0)


@entry
def contact_columns(part, joints, columns, path):
    """Generalised impulses of unit impulses along and about normals and tangents at both ends, see `Rows`."""
    part, joints = Part(*part), Joints(*joints)
    for k in range(part.cones.shape[0]):
        put_columns(part, joints, ends_of_contact(part, k), columns, path)


@routine
def put_columns(part, joints, at, columns, path):
    """`contact_columns` of one contact, into zeros; returns the length of its path."""
    count = find_path(joints.nodes, at.node, at.other, path)
    for c in range(count):
        b, sign = path[c, 0], sign_of(path[c, 1])
        if sign != 0.0:
            put_column(joints.S[0], b, sign, (at.n, at.t, at.s), at.x, columns[0, at.k])
            put_column(joints.S[1], b, sign, (at.m, at.a, at.b), at.z, columns[1, at.k])
    return count


@inline
def put_column(S, b, sign, frame, x, out):
    """Store the components along and about the axes of a frame at x of joint b's twist."""
    w, v = twist_of(S, b)
    v = add3(v, cross(w, x))
    for i, f in enumerate(frame):
        out[i, b], out[3 + i, b] = sign * dot3(v, f), sign * dot3(w, f)


@entry
def contact_slopes(part, joints, rows):
    """Values of all contacts and their derivatives by the joints: a `Part`, `Joints` and `Rows` as plain tuples.

    Derivatives are added to zeros; columns are those of `contact_columns`.
    """
    part, joints, rows = Part(*part), Joints(*joints), Rows(*rows)
    for k in range(part.cones.shape[0]):
        at = ends_of_contact(part, k)
        put_slopes(part, joints, at, find_path(joints.nodes, at.node, at.other, rows.path), rows)
    finish_kicks(part, joints, part.cones.shape[0], rows)


@routine
def put_slopes(part, joints, at, count, rows):
    """Values of a contact and their derivatives by the joints of its path."""
    k, late = at.k, place_of(part, at.k)
    put_values(part, at, rows.values[k])
    for end in range(2):
        follow_node(part, at, end, rows.moved[end])
    for side in range(2 if at.other >= 0 else 1):
        for axis in range(6):
            for c in range(VALUES):
                rows.D[0, side, axis, c] = rows.D[1, side, axis, c] = 0.0
            by_start(part, at, axis, NODE + side, rows.moved[0], rows.D[0, side, axis])
            by_end(part, at, axis, NODE + side, rows.moved[1], rows.D[1, side, axis])
    for c in range(count):
        b, what = rows.path[c, 0], rows.path[c, 1]
        for end in range(2):
            w, v = twist_of(joints.S[end], b)
            v, out = add3(v, cross(w, at.x if end == 0 else at.z)), rows.slopes[end, k, b]
            for side in range(2):
                if what & (NODE + side):
                    follow_twist(rows.D[end, side], w, v, out)
            out[START_GAP if end == 0 else GAP] += rows.columns[end, k, 0, b]
        add_rates(part, joints, at, b, what, rows.slopes[1, k, b])
        place = 2 if late > 0 else 0
        by_crossing(part, at, joints.S[late], b, what, late, rows.slopes[place, k, b])


@inline
def follow_twist(D, w, v, out):
    """Add the derivatives by a twist."""
    for c in range(VALUES):
        out[c] += w[0] * D[0, c] + w[1] * D[1, c] + w[2] * D[2, c] + v[0] * D[3, c] + v[1] * D[4, c] + v[2] * D[5, c]


@routine
def put_values(part, at, out):
    """Values of a contact, as of `contact_kernels.evaluate`."""
    lam, torques = load3(part.lam[at.k]), load3(part.torques[at.k])
    more, more_torques = load3(part.more[at.k]), load3(part.more_torques[at.k])
    out[START_GAP], out[GAP] = at.gaps
    put_wrench(out, WRENCH, of_frame(lam, at.n, at.t, at.s), at.x, of_frame(torques, at.n, at.t, at.s))
    put_wrench(out, WRENCH_END, of_frame(more, at.m, at.a, at.b), at.z, of_frame(more_torques, at.m, at.a, at.b))
    out[SLIDE], out[SLIDE + 1] = dot3(at.t, at.slip), dot3(at.s, at.slip)
    w, v = twist_against(part, (at.node, at.other))
    v = add3(v, cross(w, at.z))
    for i, f in enumerate((at.n, at.t, at.s)):
        out[TURN + i] = dot3(f, at.turn)
    for i, f in enumerate((at.m, at.a, at.b)):
        out[RATE + i], out[TURN_RATE + i] = dot3(f, v), dot3(f, w)


@routine
def finish_kicks(part, joints, m, rows):
    """Add the derivatives of the generalised impulses of all contacts, one pair of bodies after another."""
    k = 0
    while k < m:
        first = part.cones[k]
        count = find_path(joints.nodes, first.node, first.other, rows.path)
        last = k + 1
        while last < m and part.cones[last].node == first.node and part.cones[last].other == first.other:
            last += 1
        kick_slopes(part, joints, (k, last, 0, count), rows)
        kick_slopes(part, joints, (k, last, 1, count), rows)
        for c in range(k, last):
            if place_of(part, c) > 0:
                kick_slopes(part, joints, (c, c + 1, 2, count), rows)
        k = last
    for end in range(2):
        turn_axes(part, joints, end, m, rows)


@routine
def kick_slopes(part, joints, which, rows):
    """Add the generalised impulses of the wrench derivatives of some contacts of two bodies.

    Args:
        which: the first contact and the one after the last, end, and length of the path.
    """
    first, last, end, count = which
    at = place_of(part, first) if end == 2 else end
    S, path, total = joints.S, rows.path, rows.total
    for e in range(count):
        for i in range(6):
            total[e, i] = total[e, 6 + i] = 0.0
        for k in range(first, last):
            out = rows.slopes[end, k, path[e, 0]]
            for i in range(6):
                total[e, i] += out[WRENCH + i]
                total[e, 6 + i] += out[WRENCH_END + i]
    for d in range(count):
        c, sign = path[d, 0], sign_of(path[d, 1])
        if sign != 0.0:
            for e in range(count):
                b = path[e, 0]
                one = two = 0.0
                for i in range(6):
                    one += S[0, c, i] * total[e, i]
                    two += S[1, c, i] * total[e, 6 + i]
                rows.kick[at, c, b] += sign * one
                rows.kick_end[at, c, b] += sign * two


@inline
def put_moved(moved, axis, dn, dx, dcn, dco):
    """Set a row of `Rows.moved`."""
    for i in range(3):
        moved[axis, i], moved[axis, 3 + i], moved[axis, 6 + i], moved[axis, 9 + i] = dn[i], dx[i], dcn[i], dco[i]


@inline
def unit(axis, i):
    """Components i, i + 1 and i + 2 of the unit vector along `axis`."""
    return (1.0 if axis == i else 0.0, 1.0 if axis == i + 1 else 0.0, 1.0 if axis == i + 2 else 0.0)


@routine
def follow_node(part, at, end, moved):
    """Derivatives of a contact's normal (3), point (3) and material points of node (3) and other (3) by rotations of
    the node about its centre and displacements, along the world's axes."""
    k = at.k
    cone, of = part.cones[k], part.of[k]
    X, Z = (at.Xn, at.Xo) if end == 0 else (at.Yn, at.Yo)
    if of < 0 or part.contacts[of].kind == POINT_ON_PLANE:
        n, point, r = load3(cone.normal), load3(cone.arm), -1.0
        if of >= 0:
            point = load3(part.contacts[of].w)
            n = at.n if end == 0 else at.m
            r = part.contacts[of].r2 if part.contacts[of].flip == 1 else -1.0
        for axis in range(6):
            w, v = unit(axis, 0), unit(axis, 3)
            if r < 0.0:  # the point is fixed to the node
                d = add3(v, cross(w, matvec(X[0], point)))
                put_moved(moved, axis, ZERO3, d, d, d if of >= 0 else ZERO3)
            else:
                dn = cross(w, n)
                d = scale3(r, dn)
                put_moved(moved, axis, dn, d, d, ZERO3)
        return
    for axis in range(6):
        dn, dx, dcn, dco = ZERO3, ZERO3, ZERO3, ZERO3
        h = STEP * (part.reach[at.node] if axis >= 3 else 1.0)
        for point in range(4):
            offset, weight = stencil(point)
            _, n, x, cn, co = located(cone, part.contacts, of, displaced(X, axis, offset * h), Z)
            f = weight / h
            dn, dx, dcn, dco = axpy3(f, n, dn), axpy3(f, x, dx), axpy3(f, cn, dcn), axpy3(f, co, dco)
        put_moved(moved, axis, dn, dx, dcn, dco)


@inline
def by_axes(moved, at, w, v):
    """Three components of `follow_node` for a rotation w and a displacement v of the node."""
    out = ZERO3
    for i in range(3):
        out = axpy3(w[i], (moved[i, at], moved[i, at + 1], moved[i, at + 2]), out)
        out = axpy3(v[i], (moved[3 + i, at], moved[3 + i, at + 1], moved[3 + i, at + 2]), out)
    return out


@inline
def twist_at(axis, ref, what, X):
    """Unit twist about a contact's point `ref`: (rotation, displacement there, displacement of a body at X, factor of
    the relative motion of the node, factor of the common motion), where the body `what` moves."""
    w, v = unit(axis, 0), unit(axis, 3)
    alone, both = (1.0, 0.0) if what == NODE else (-1.0, 1.0)
    return w, v, add3(v, cross(w, sub3(X[1], ref))), alone, both


@inline
def with_both(alone, both, own, w, v, arm):
    """Change of a point by a twist; `own`: its change by the node alone, `arm`: from the reference of v to it."""
    return add3(scale3(alone, own), scale3(both, add3(v, cross(w, arm))))


@inline
def frame_slope(f, df, n, dn, t, s):
    """Changes of the tangents t and s, where t is the normalised projection of f normal to n; see `tangents_of`."""
    c = dot3(f, n)
    p = axpy3(-c, n, f)
    dp = sub3(sub3(df, scale3(dot3(df, n) + dot3(f, dn), n)), scale3(c, dn))
    dt = scale3(1.0 / norm3(p), axpy3(-dot3(t, dp), t, dp))
    ds = add3(cross(dn, t), cross(n, dt))
    return dt, neg3(ds) if dot3(cross(n, t), s) < 0.0 else ds


@inline
def put_wrench_slope(out, row, f, df, x, dx, dg):
    """Store the change of the wrench of a force f at x and a torque, whose change is dg."""
    moment = add3(add3(cross(dx, f), cross(x, df)), dg)
    for i in range(3):
        out[row + i], out[row + 3 + i] = moment[i], df[i]


@inline
def turn_slope(y, e, end, turn):
    """Change of the rotation vector y of a body by a rotation `turn` at its start (0) or end (1)."""
    half = cross(y, turn)
    own = axpy3(e, cross(y, half), turn)
    return axpy3(-0.5, half, own) if end == 1 else neg3(axpy3(0.5, half, own))


@inline
def slid_slope(poses, turn, points, dy):
    """Change of `slid` of a body by a motion at the start.

    Args:
        poses: X, Y of the body at both ends; turn: y in the substep.
        points: c, its change, its change if fixed to the body; x, and its change.
        dy: change of the rotation vector.
    """
    (X, Y), y, (c, dc, with_body, x, dx) = poses, turn, points
    change = sub3(matvec(Y[0], mattvec(X[0], sub3(dc, with_body))), dc)
    return add3(change, add3(cross(dy, sub3(x, c)), cross(y, sub3(dx, dc))))


@routine
def by_start(part, at, axis, what, moved, out):
    """Derivatives of the values of a contact by a unit twist about its point at the start, of node or other body."""
    k, n, t, s, x = at.k, at.n, at.t, at.s, at.x
    cone, of = part.cones[k], part.of[k]
    w, v, shift, alone, both = twist_at(axis, x, what, at.Xn)
    dn = add3(scale3(alone, by_axes(moved, 0, w, shift)), scale3(both, cross(w, n)))
    dx = with_both(alone, both, by_axes(moved, 3, w, shift), w, v, ZERO3)
    dcn = with_both(alone, both, by_axes(moved, 6, w, shift), w, v, sub3(at.cn, x))
    dt, ds = frame_slope(load3(cone.first), ZERO3, n, dn, t, s)
    da, db = frame_slope(t, dt, at.m, ZERO3, at.a, at.b)
    own, y, dturn = ZERO3, load3(part.y[at.node]), ZERO3
    if what == NODE:
        own, dturn = add3(v, cross(w, sub3(at.cn, x))), turn_slope(y, part.e[at.node], 0, w)
    slip = slid_slope((at.Xn, at.Yn), y, (at.cn, dcn, own, x, dx), dturn)
    if at.other >= 0:
        dco = with_both(alone, both, by_axes(moved, 9, w, shift), w, v, sub3(at.co, x))
        own, y, dy = ZERO3, load3(part.y[at.other]), ZERO3
        if what == OTHER:
            own, dy = add3(v, cross(w, sub3(at.co, x))), turn_slope(y, part.e[at.other], 0, w)
        slip = sub3(slip, slid_slope((at.Xo, at.Yo), y, (at.co, dco, own, x, dx), dy))
        dturn = sub3(dturn, dy)
    if of >= 0 and part.contacts[of].belt:
        X, belt = (at.Xn, part.contacts[of].belt_b) if what == NODE else (at.Xo, part.contacts[of].belt_a)
        slip = axpy3(alone * part.h, cross(w, matvec(X[0], load3(belt))), slip)
    put_start(part, at, (dn, dt, ds, dx), (slip, dturn), out)
    put_end(part, at, (ZERO3, da, db, ZERO3), out)


@inline
def put_start(part, at, frame, motion, out):
    """Store the changes by changes of the start frame (normal, tangents, point), slip and relative rotation."""
    dn, dt, ds, dx = frame
    slip, dturn = motion
    lam, torque = load3(part.lam[at.k]), load3(part.torques[at.k])
    df, dg = of_frame(lam, dn, dt, ds), of_frame(torque, dn, dt, ds)
    put_wrench_slope(out, WRENCH, of_frame(lam, at.n, at.t, at.s), df, at.x, dx, dg)
    out[SLIDE] = dot3(dt, at.slip) + dot3(at.t, slip)
    out[SLIDE + 1] = dot3(ds, at.slip) + dot3(at.s, slip)
    out[TURN] = dot3(dn, at.turn) + dot3(at.n, dturn)
    out[TURN + 1] = dot3(dt, at.turn) + dot3(at.t, dturn)
    out[TURN + 2] = dot3(ds, at.turn) + dot3(at.s, dturn)


@inline
def put_end(part, at, frame, out):
    """Store the changes by changes of the end frame (normal, tangents, point), at fixed twists of the bodies."""
    dm, da, db, dz = frame
    more, torque = load3(part.more[at.k]), load3(part.more_torques[at.k])
    df, dg = of_frame(more, dm, da, db), of_frame(torque, dm, da, db)
    put_wrench_slope(out, WRENCH_END, of_frame(more, at.m, at.a, at.b), df, at.z, dz, dg)
    w, v = twist_against(part, (at.node, at.other))
    v, dv = add3(v, cross(w, at.z)), cross(w, dz)
    out[RATE], out[TURN_RATE] = dot3(dm, v) + dot3(at.m, dv), dot3(dm, w)
    out[RATE + 1], out[TURN_RATE + 1] = dot3(da, v) + dot3(at.a, dv), dot3(da, w)
    out[RATE + 2], out[TURN_RATE + 2] = dot3(db, v) + dot3(at.b, dv), dot3(db, w)


@routine
def by_end(part, at, axis, what, moved, out):
    """Derivatives of the values of a contact by a unit twist about its point at the end, of node or other body."""
    w, v, shift, alone, both = twist_at(axis, at.z, what, at.Yn)
    dm = add3(scale3(alone, by_axes(moved, 0, w, shift)), scale3(both, cross(w, at.m)))
    dz = with_both(alone, both, by_axes(moved, 3, w, shift), w, v, ZERO3)
    da, db = frame_slope(at.t, ZERO3, at.m, dm, at.a, at.b)
    body, c, X, Y = (at.node, at.cn, at.Xn, at.Yn) if what == NODE else (at.other, at.co, at.Xo, at.Yo)
    turned = turn_slope(load3(part.y[body]), part.e[body], 1, w)
    last = add3(Y[1], matvec(Y[0], mattvec(X[0], sub3(c, X[1]))))
    slip = add3(add3(v, cross(w, sub3(last, at.z))), cross(turned, sub3(at.x, c)))
    slip, turned = scale3(alone, slip), scale3(alone, turned)
    out[SLIDE], out[SLIDE + 1] = dot3(at.t, slip), dot3(at.s, slip)
    out[TURN], out[TURN + 1], out[TURN + 2] = dot3(at.n, turned), dot3(at.t, turned), dot3(at.s, turned)
    put_end(part, at, (dm, da, db, dz), out)


@inline
def add_rates(part, joints, at, b, what, out):
    """Add the changes of a contact's end velocities by the axes that joint b rotates there."""
    w, v = twist_of(joints.S[1], b)
    w0, v0 = change_of_twist(part, joints, at.node, w, v, b, what & NODE)
    w1, v1 = change_of_twist(part, joints, at.other, w, v, b, what & OTHER)
    w, v = sub3(w0, w1), sub3(v0, v1)
    v = add3(v, cross(w, at.z))
    for i, f in enumerate((at.m, at.a, at.b)):
        out[RATE + i] += dot3(f, v)
        out[TURN_RATE + i] += dot3(f, w)


@inline
def change_of_twist(part, joints, body, w, v, b, carried):
    """Change of a body's end twist by joint b, of twist (w, v), which rotates the axes after it."""
    if not carried:
        return ZERO3, ZERO3
    W, V = twist_of(part.twists, body)
    before = joints.nodes[joints.owner[b]].parent
    if before >= 0:
        W0, V0 = twist_of(part.twists, before)
        W, V = sub3(W, W0), sub3(V, V0)
    return cross(w, W), add3(cross(w, V), cross(v, W))


@routine
def by_crossing(part, at, S, b, what, place, out):
    """Add the changes by the motion of a contact point over its body, for intersections of features of both bodies.

    It depends on the poses at which it was detected, see `feature_motion`.

    Args:
        place: index of these in `Part.R`.
    """
    k = at.k
    if part.of[k] < 0:
        return
    contact = part.contacts[part.of[k]]
    if contact.kind != POINT_ON_PLANE or sign_of(what) == 0.0:
        return
    flipped = contact.flip == 1
    second = pose_of(part, place, at.other if flipped else at.node)
    w, v = twist_of(S, b)
    # Motion of the first feature's body relative to the second's.
    sign = sign_of(what) if flipped else -sign_of(what)
    R, point = second[0], act(second, load3(contact.w))
    moved, turn = mattvec(R, scale3(sign, add3(v, cross(w, point)))), mattvec(R, scale3(sign, w))
    own = add3(matvec(load9(contact.R), moved), scale3(dot3(load3(contact.n), turn), load3(contact.z)))
    if own[0] == 0.0 and own[1] == 0.0 and own[2] == 0.0:
        return
    X, Y = (at.Xo, at.Yo) if flipped else (at.Xn, at.Yn)
    dx, dz = matvec(X[0], own), matvec(Y[0], own)
    side = -1.0 if flipped else 1.0  # sign of the normal relative to the first feature's
    out[START_GAP] += side * dot3(at.n, dx)
    out[GAP] += side * dot3(at.m, dz)
    f, g = of_frame(load3(part.lam[k]), at.n, at.t, at.s), of_frame(load3(part.more[k]), at.m, at.a, at.b)
    f, g = cross(dx, f), cross(dz, g)
    slip = sub3(matvec(at.Yn[0], mattvec(at.Xn[0], dx)), matvec(at.Yo[0], mattvec(at.Xo[0], dx)))
    out[SLIDE] += dot3(at.t, slip)
    out[SLIDE + 1] += dot3(at.s, slip)
    rate = cross(twist_against(part, (at.node, at.other))[0], dz)
    for i, axis in enumerate((at.m, at.a, at.b)):
        out[WRENCH + i] += f[i]
        out[WRENCH_END + i] += g[i]
        out[RATE + i] += dot3(axis, rate)


@routine
def turn_axes(part, joints, end, m, rows):
    """Add the derivatives of generalised impulses of m contacts at one end by the rotation of joint axes."""
    S, nodes, total, out = joints.S[end], joints.nodes, rows.total, rows.kick if end == 0 else rows.kick_end
    first = WRENCH if end == 0 else WRENCH_END
    for c in range(S.shape[0]):
        for i in range(6):
            total[c, i] = 0.0
    for k in range(m):
        count = find_path(nodes, part.cones[k].node, part.cones[k].other, rows.path)
        for d in range(count):
            sign = sign_of(rows.path[d, 1])
            for i in range(6):
                total[rows.path[d, 0], i] += sign * rows.values[k, first + i]
    for c in range(S.shape[0]):
        moment, f = twist_of(total, c)
        W, V = twist_of(S, c)
        body = joints.owner[c]
        while body >= 0:
            for b in range(nodes[body].iv, nodes[body].iv + nodes[body].nv):
                w, v = twist_of(S, b)
                out[end, c, b] += dot3(cross(w, W), moment) + dot3(add3(cross(w, V), cross(v, W)), f)
            body = nodes[body].parent
