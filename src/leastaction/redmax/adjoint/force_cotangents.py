"""Reverse mode through body forces: gradients of their virtual power by motions of the nodes and by their parameters.

For the virtual twists W of the nodes (see `cotangents`) let E be the sum over nodes of W . wrench. A force f at a point
x contributes f . w with the point's virtual velocity w = W_v + W_w x x, so its share of dE is

    (K^T w + f x W_w) . dx + D^T w . d(xd),   K = df/dx, D = df/d(xd),

which costs as much as the force itself, whatever the number of coordinates. GT and GV (nodes, 6) collect the gradients
by displacements (world twists) of the nodes and by changes of their twists.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.balls import state
from leastaction.forces.passive import (
    path_length,
    path_point,
    path_tension,
    penalty_force,
    penalty_slopes_along,
    point_state,
    tension_slopes,
)
from leastaction.forces.touch import touch
from leastaction.kinematics.sweeps import add_to
from leastaction.redmax.step.residual import drive_wrench, user_force_slopes
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    coAd_inv,
    cross,
    cross_force,
    dot3,
    load3,
    load6,
    load9,
    mattvec,
    matvec,
    neg,
    neg3,
    rot_exp,
    scale3,
    sub,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def _virtual(node, cot, x):
    """(W_w, w): virtual angular velocity of a node and virtual velocity of its point x."""
    if node < 0:
        return ZERO3, ZERO3
    W = load6(cot[node].W)
    return W[0], add3(W[1], cross(W[0], x))


@inline
def _add_point(node, x, gx, gxd, links, GT, GV, out):
    """Hand gradients by position and velocity of a point on to its node; those by its place in the node go to out."""
    local = gx
    if node >= 0:
        gx = add3(gx, cross(gxd, load6(links[node].v)[0]))
        add_to(GT[node], (cross(x, gx), gx))
        add_to(GV[node], (cross(x, gxd), gxd))
        local = mattvec(load9(links[node].R), gx)
    for c in range(3):
        out[c] += local[c]


@routine
def _isotropic(path, points, links, cot, GT, GV, out, of_points):
    i = path.first
    a, b = points[i].node, points[i + 1].node
    x, xd = path_point(points[i], links)
    y, yd = path_point(points[i + 1], links)
    Wa, wa = _virtual(a, cot, x)
    Wb, wb = _virtual(b, cot, y)
    w, d, dd = sub3(wa, wb), sub3(y, x), sub3(yd, xd)
    f = add3(scale3(path.stiffness, d), scale3(path.damping, dd))
    out[0] += dot3(w, d)
    out[2] += dot3(w, dd)
    g, gd = scale3(path.stiffness, w), scale3(path.damping, w)
    _add_point(a, x, sub3(cross(f, Wa), g), neg3(gd), links, GT, GV, of_points[i])
    _add_point(b, y, sub3(g, cross(f, Wb)), gd, links, GT, GV, of_points[i + 1])


@routine
def _path(path, points, links, cot, GT, GV, out, of_points):
    """A spring or cable: E = - tension * stretch, the rate of its length for virtual velocities.

    out (3,): by stiffness, rest length and damping; of_points: by the places of its points.
    """
    if path.isotropic != 0:
        _isotropic(path, points, links, cot, GT, GV, out, of_points)
        return
    length, rate = path_length(path, points, links)
    tension = path_tension(path, length, rate)
    stiffness, damping, damped = tension_slopes(path, length, rate)
    if tension == 0.0 and stiffness == 0.0 and damping == 0.0:
        return
    stretch = 0.0
    for sweep in range(2):
        x, xd = path_point(points[path.first], links)
        W, w = _virtual(points[path.first].node, cot, x)
        for k in range(path.first + 1, path.first + path.count):
            y, yd = path_point(points[k], links)
            U, u = _virtual(points[k].node, cot, y)
            d = sub3(y, x)
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                e = scale3(1.0 / r, d)
                dw, dd = sub3(u, w), sub3(yd, xd)
                if sweep == 0:
                    stretch += dot3(e, dw)
                else:
                    across = axpy3(-dot3(e, dw), e, dw)
                    turning = axpy3(-dot3(e, dd), e, dd)
                    g = scale3(-stretch * stiffness, e)
                    g = axpy3(-stretch * damping / r, turning, axpy3(-tension / r, across, g))
                    gd = scale3(-stretch * damping, e)
                    gx, gy = axpy3(tension, cross(e, W), neg3(g)), axpy3(-tension, cross(e, U), g)
                    _add_point(points[k - 1].node, x, gx, neg3(gd), links, GT, GV, of_points[k - 1])
                    _add_point(points[k].node, y, gy, gd, links, GT, GV, of_points[k])
            x, xd, W, w = y, yd, U, u
    out[0] -= stretch * (length - path.rest_length)
    out[1] += stretch * stiffness
    out[2] -= stretch * damped


@routine
def _wrench(w, links, cot, GT, out):
    """A constant wrench; out (6,): by its entries."""
    R = load9(links[w.node].R)
    x = add3(load3(links[w.node].p), matvec(R, load3(w.point)))
    turn, speed = _virtual(w.node, cot, x)
    F = load6(w.wrench)
    a, b = turn, speed
    if w.local != 0:
        F = (matvec(R, F[0]), matvec(R, F[1]))
        a, b = mattvec(R, turn), mattvec(R, speed)
        add_to(GT[w.node], (add3(cross(F[0], turn), cross(F[1], speed)), ZERO3))
    g = cross(F[1], turn)
    add_to(GT[w.node], (cross(x, g), g))
    for c in range(3):
        out[c] += a[c]
        out[3 + c] += b[c]


@routine
def _penalty(contact, links, cot, GT, GV, out, at):
    """A plane that pushes back (the transpose of `slopes.penalty_slopes`).

    out (7,): by stiffness, damping, friction, stiction and the plane's origin; at (3,): by the point's place.
    """
    x, v = point_state(contact.node, load3(contact.at), links)
    acts, f, d, a, sticks = penalty_force(contact, x, v)
    if not acts or contact.node < 0:
        return
    n = load3(contact.normal)
    W, w = _virtual(contact.node, cot, x)
    along, rate = dot3(n, w), dot3(n, v)
    stiffness, damping = penalty_slopes_along(contact, d, rate)
    gx, gxd = scale3(-stiffness * along, n), scale3(-damping * along, n)
    out[0] -= d * along
    out[1] -= touch(contact.mode, d)[1] * rate * along
    sideways = axpy3(-along, n, w)
    size = math.sqrt(dot3(a, a))
    if sticks:
        gxd = axpy3(-contact.stiction, sideways, gxd)
        out[3] -= dot3(a, w)
    elif size > 0.0:
        t = scale3(1.0 / size, a)
        slip, most = dot3(t, w), contact.friction * contact.stiffness
        gx = axpy3(most * slip, n, gx)
        gxd = axpy3(most * d / size, axpy3(-slip, t, sideways), gxd)
        out[0] += contact.friction * d * slip
        out[2] += contact.stiffness * d * slip
    for c in range(3):
        out[4 + c] -= gx[c]
    _add_point(contact.node, x, add3(gx, cross(f, W)), gxd, links, GT, GV, at)


@inline
def _unit3(c):
    return (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)


@routine
def _ball(ball, nodes, links, cot, GT, GV, placements, out):
    """Spring and damper of a ball joint (the transpose of `balls.torque_slope`).

    out (9,): by stiffness, damping, and turns of the rest orientation in its own frame.
    """
    R, phi, V = state(ball, links)
    omega = load6(cot[ball.child].W)[0]
    if ball.other >= 0:
        omega = sub3(omega, load6(cot[ball.other].W)[0])
    y, w = mattvec(R, omega), mattvec(R, V[0])
    k = ex.coefficients(phi)
    stiffness = (ball.stiffness[0], ball.stiffness[1], ball.stiffness[2])
    t, _ = ex.spring_torque(phi, k, stiffness)
    t = (t[0] - ball.damping[0] * w[0], t[1] - ball.damping[1] * w[1], t[2] - ball.damping[2] * w[2])
    m = ZERO3
    for c in range(3):
        m = axpy3(dot3(y, ex.spring_torque_slope(phi, k, stiffness, _unit3(c))), _unit3(c), m)
    u = matvec(R, (ball.damping[0] * y[0], ball.damping[1] * y[1], ball.damping[2] * y[2]))
    g = matvec(R, m)
    turned = add3(g, add3(cross(V[0], u), cross(matvec(R, t), omega)))
    add_to(GT[ball.child], (turned, ZERO3))
    add_to(GV[ball.child], (neg3(u), ZERO3))
    if ball.other >= 0:
        add_to(GT[ball.other], (neg3(g), ZERO3))
        add_to(GV[ball.other], (u, ZERO3))
    # A turn of the joint's own placement turns the rest orientation with it.
    back = (neg3(g), ZERO3)
    p = nodes[ball.node].parent
    if p >= 0:
        back = coAd_inv((load9(links[p].R), load3(links[p].p)), back)
    add_to(placements[ball.node], back)
    s, rest = ex.jr_inverse(phi, k, y), matvec(rot_exp(phi), m)
    for c in range(3):
        out[c] -= phi[c] * s[c]
        out[3 + c] -= w[c] * y[c]
        out[6 + c] -= rest[c]


@inline
def _block_transposed(K, n, i, j, w):
    """Transposed block (i, j) of a matrix (3 n, 3 n) of 3 x 3 blocks, times w."""
    a, b, c = 3 * i * 3 * n + 3 * j, (3 * i + 1) * 3 * n + 3 * j, (3 * i + 2) * 3 * n + 3 * j
    return (
        K[a] * w[0] + K[b] * w[1] + K[c] * w[2],
        K[a + 1] * w[0] + K[b + 1] * w[1] + K[c + 1] * w[2],
        K[a + 2] * w[0] + K[b + 2] * w[1] + K[c + 2] * w[2],
    )


@routine
def _user(user, links, cot, GT, GV, scratch):
    """Forces of the user's own."""
    addresses, _, points, x, _, f, K, D = user
    for k in range(addresses.shape[0]):
        first, n = user_force_slopes(user, k, links)
        for j in range(n):
            xj = (x[j, 0], x[j, 1], x[j, 2])
            W, _ = _virtual(points[first + j].node, cot, xj)
            gx, gxd = cross((f[j, 0], f[j, 1], f[j, 2]), W), ZERO3
            for i in range(n):
                _, w = _virtual(points[first + i].node, cot, (x[i, 0], x[i, 1], x[i, 2]))
                gx = add3(gx, _block_transposed(K, n, i, j, w))
                gxd = add3(gxd, _block_transposed(D, n, i, j, w))
            _add_point(points[first + j].node, xj, gx, gxd, links, GT, GV, scratch)


@routine
def body_force_cotangents(model, work, cot, u, GT, GV, grads):
    """Add the gradients of all body forces to GT, GV (nodes, 6) and, by their parameters, to `grads`."""
    _, paths, points, wrenches, penalties, balls, drives, _, user = model[4]
    nodes, links = model[0], work[0]
    for i in range(paths.shape[0]):
        _path(paths[i], points, links, cot, GT, GV, grads[3][i], grads[8])
    for i in range(wrenches.shape[0]):
        if wrenches[i].node >= 0:
            _wrench(wrenches[i], links, cot, GT, grads[4][i])
    for i in range(penalties.shape[0]):
        _penalty(penalties[i], links, cot, GT, GV, grads[7][i], grads[9][i])
    for i in range(balls.shape[0]):
        _ball(balls[i], nodes, links, cot, GT, GV, grads[1], grads[6][i])
    _user(user, links, cot, GT, GV, work[5][3][0])
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.dof < 0 and drive.node >= 0 and u[k] != 0.0:
            W = load6(cot[drive.node].W)
            if drive.other >= 0:
                W = sub(W, load6(cot[drive.other].W))
            # The wrench moves with its node.
            add_to(GT[drive.node], neg(cross_force(W, drive_wrench(drive, u[k], links))))


@routine
def clear_cotangents(GT, GV):
    """Set all to zero."""
    for i in range(GT.shape[0]):
        for c in range(6):
            GT[i, c] = 0.0
            GV[i, c] = 0.0
