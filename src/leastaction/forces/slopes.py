"""How the wrenches of body forces change when bodies move: stiffness K and damping D of every force, as products.

Given for each node a displacement T (a world twist) and a change of its twist dV, `body_force_slopes` gives the change
of each node's world wrench: K T + D dV summed over all forces (Sueda 2021, 1.9). No block of K or D is ever stored; who
wants one multiplies with unit twists.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.passive import (
    path_length,
    path_point,
    path_tension,
    penalty_force,
    penalty_slopes_along,
    point_state,
    tension_slopes,
)
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load6,
    load9,
    matvec,
    neg3,
    scale3,
    sub3,
)


@inline
def point_slope(node, x, links, T, dV):
    """Changes of the position and velocity of the point x of a node."""
    if node < 0:
        return ZERO3, ZERO3
    t, d = load6(T[node]), load6(dV[node])
    dx = add3(t[1], cross(t[0], x))
    V = load6(links[node].v)
    return dx, add3(add3(d[1], cross(d[0], x)), cross(V[0], dx))


@inline
def pull_slope(out, node, x, dx, f, df):
    """Add the change of the wrench of a force f at the point x."""
    if node >= 0:
        add_to(out[node], (add3(cross(dx, f), cross(x, df)), df))


@inline
def _moves(points, first, count, T, dV):
    """Whether any of the points moves at all."""
    for k in range(first, first + count):
        n = points[k].node
        if n >= 0:
            for c in range(6):
                if T[n, c] != 0.0 or dV[n, c] != 0.0:
                    return True
    return False


@inline
def _direction(x, y, dx, dy):
    """Unit direction from x to y, its change, and the distance."""
    d, dd = sub3(y, x), sub3(dy, dx)
    r = math.sqrt(dot3(d, d))
    if r == 0.0:
        return ZERO3, ZERO3, 0.0
    e = scale3(1.0 / r, d)
    return e, scale3(1.0 / r, axpy3(-dot3(e, dd), e, dd)), r


@inline
def _isotropic(path, points, links, T, dV, out):
    a, b = points[path.first], points[path.first + 1]
    x, xd = path_point(a, links)
    y, yd = path_point(b, links)
    dx, dxd = point_slope(a.node, x, links, T, dV)
    dy, dyd = point_slope(b.node, y, links, T, dV)
    f = add3(scale3(path.stiffness, sub3(y, x)), scale3(path.damping, sub3(yd, xd)))
    df = add3(scale3(path.stiffness, sub3(dy, dx)), scale3(path.damping, sub3(dyd, dxd)))
    pull_slope(out, a.node, x, dx, f, df)
    pull_slope(out, b.node, y, dy, neg3(f), neg3(df))


@routine
def path_slopes(paths, points, links, T, dV, out):
    """Springs and cables (Eqs. 1.64 to 1.83): the tension varies with length and rate, its line with the points."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if not _moves(points, path.first, path.count, T, dV):
            continue
        if path.isotropic != 0:
            _isotropic(path, points, links, T, dV, out)
            continue
        length, rate = path_length(path, points, links)
        tension = path_tension(path, length, rate)
        stiffness, damping, _ = tension_slopes(path, length, rate)
        if tension == 0.0 and stiffness == 0.0 and damping == 0.0:
            continue
        dl = 0.0
        dr = 0.0
        x, xd = path_point(points[path.first], links)
        dx, dxd = point_slope(points[path.first].node, x, links, T, dV)
        for k in range(path.first + 1, path.first + path.count):
            y, yd = path_point(points[k], links)
            dy, dyd = point_slope(points[k].node, y, links, T, dV)
            e, de, _ = _direction(x, y, dx, dy)
            dl += dot3(e, sub3(dy, dx))
            dr += dot3(de, sub3(yd, xd)) + dot3(e, sub3(dyd, dxd))
            x, xd, dx, dxd = y, yd, dy, dyd
        change = stiffness * dl + damping * dr
        x, _ = path_point(points[path.first], links)
        dx, _ = point_slope(points[path.first].node, x, links, T, dV)
        for k in range(path.first + 1, path.first + path.count):
            y, _ = path_point(points[k], links)
            dy, _ = point_slope(points[k].node, y, links, T, dV)
            e, de, r = _direction(x, y, dx, dy)
            if r > 0.0:
                f = scale3(tension, e)
                df = axpy3(change, e, scale3(tension, de))
                pull_slope(out, points[k - 1].node, x, dx, f, df)
                pull_slope(out, points[k].node, y, dy, neg3(f), neg3(df))
            x, dx = y, dy


@routine
def wrench_slopes(wrenches, links, T, out):
    """Constant wrenches: those of the world keep their direction, those of the body turn with it (Eq. 1.32)."""
    for i in range(wrenches.shape[0]):
        w = wrenches[i]
        if w.node < 0:
            continue
        t = load6(T[w.node])
        R = load9(links[w.node].R)
        x = add3(load3(links[w.node].p), matvec(R, load3(w.point)))
        dx = add3(t[1], cross(t[0], x))
        F = load6(w.wrench)
        torque, force, dtorque, dforce = F[0], F[1], ZERO3, ZERO3
        if w.local != 0:
            torque, force = matvec(R, F[0]), matvec(R, F[1])
            dtorque, dforce = cross(t[0], torque), cross(t[0], force)
        moment = add3(cross(dx, force), cross(x, dforce))
        add_to(out[w.node], (add3(dtorque, moment), dforce))


@inline
def _penalty_slope(contact, stiffness, damping, d, a, sticks, dx, dv):
    """Change of the force of a plane at a point in depth d that slides with velocity a (Eqs. 1.52 to 1.61)."""
    n = load3(contact.normal)
    dd, rate = dot3(n, dx), dot3(n, dv)
    df = scale3(-stiffness * dd - damping * rate, n)
    da = sub3(dv, scale3(rate, n))
    if sticks:
        return sub3(df, scale3(contact.stiction, da))
    size = math.sqrt(dot3(a, a))
    if size == 0.0 or d >= 0.0:
        return df
    t = scale3(1.0 / size, a)
    dt = scale3(1.0 / size, axpy3(-dot3(t, da), t, da))
    most = contact.friction * contact.stiffness
    return add3(df, add3(scale3(most * dd, t), scale3(most * d, dt)))


@routine
def penalty_slopes(penalties, links, T, dV, out):
    """Planes that push back."""
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        x, v = point_state(contact.node, load3(contact.at), links)
        acts, f, d, a, sticks = penalty_force(contact, x, v)
        if acts and contact.node >= 0:
            dx, dv = point_slope(contact.node, x, links, T, dV)
            n = load3(contact.normal)
            stiffness, damping = penalty_slopes_along(contact, d, dot3(n, v))
            df = _penalty_slope(contact, stiffness, damping, d, a, sticks, dx, dv)
            pull_slope(out, contact.node, x, dx, f, df)


@routine
def body_force_slopes(paths, points, wrenches, penalties, links, T, dV, out):
    """Add to `out` (nodes, 6) the change of all body wrenches for displacements T and twist changes dV (nodes, 6)."""
    path_slopes(paths, points, links, T, dV, out)
    wrench_slopes(wrenches, links, T, out)
    penalty_slopes(penalties, links, T, dV, out)
