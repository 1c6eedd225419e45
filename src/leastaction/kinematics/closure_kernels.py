"""Kernels of loops and couplings: value and world wrench of each row, and how the wrench changes."""

import math

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to
from leastaction.mechanism.closure import COUPLING, DOT, HEIGHT, ROLL, SCREW, SHIFT, TURN
from leastaction.spatial import (
    EYE,
    ZERO3,
    ZERO6,
    add3,
    axpy3,
    cross,
    dot,
    dot3,
    load3,
    load6,
    load9,
    matvec,
    scale,
    scale3,
    sub,
    sub3,
)


@inline
def frame(links, node):
    """Pose of a node; the world is where it is."""
    if node < 0:
        return EYE, ZERO3
    return load9(links[node].R), load3(links[node].p)


@inline
def wrap(x):
    """An angle brought to (-pi, pi]."""
    return x - 2.0 * math.pi * math.floor((x + math.pi) / (2.0 * math.pi))


@inline
def turning(n, w):
    """Gradient of an angle about n by turns of its mark w: n itself while w is across n, and so the loop closed."""
    z = dot3(n, w)
    return scale3(1.0 / _across(z), axpy3(-z, w, n))


@inline
def _across(z):
    """Square of the part of a unit mark across its axis, z being the part along it; at 0 there is no angle."""
    return max(1.0 - z * z, 1e-9)


@inline
def _turning_slope(row, links, n, dn, moves_b, T):
    """Change of `turning` when n changes by dn, and node b moves by the world twist T or rests."""
    Rb, _ = frame(links, row.b)
    w = matvec(Rb, load3(row.w2))
    dw = cross(T[0], w) if moves_b else ZERO3
    z, dz = dot3(n, w), dot3(dn, w) + dot3(n, dw)
    change = axpy3(-dz, w, axpy3(-z, dw, dn))
    return scale3(1.0 / _across(z), axpy3(2.0 * z * dz, turning(n, w), change))


@inline
def evaluate(row, links):
    """(value, wrench on b) of a row between two nodes; links hold their poses. Not for couplings."""
    Ra, pa = frame(links, row.a)
    Rb, pb = frame(links, row.b)
    n = matvec(Ra, load3(row.n))
    if row.kind == HEIGHT or row.kind == ROLL:
        c = add3(pb, matvec(Rb, load3(row.pb)))
        up, size = _upward(matvec(Rb, load3(row.w)))
        W = (cross(axpy3(-row.radius, up, c), n), n)
        return (c[2] - row.radius * size if row.kind == HEIGHT else 0.0), W
    if row.kind == DOT:
        w = matvec(Rb, load3(row.w))
        return dot3(n, w) - row.value, (cross(w, n), ZERO3)
    angle, w2 = 0.0, ZERO3
    if row.kind == SCREW or row.kind == TURN:
        n2, w2 = matvec(Ra, load3(row.n2)), matvec(Rb, load3(row.w2))
        angle = math.atan2(dot3(n, cross(n2, w2)), dot3(n2, w2))
        if row.kind == TURN:
            return wrap(angle - row.value), (turning(n, w2), ZERO3)
    xb = add3(pb, matvec(Rb, load3(row.pb)))
    d = dot3(n, sub3(xb, add3(pa, matvec(Ra, load3(row.pa)))))
    W = (cross(xb, n), n)
    if row.kind == SHIFT:
        return d - row.value, W
    if row.pitch == 0.0:
        return d, W
    return row.pitch * wrap(d / row.pitch - angle), (axpy3(-row.pitch, turning(n, w2), W[0]), n)


@inline
def _upward(axis):
    """Direction in the plane of a disc that climbs most, and its slope; straight up for a ball (axis zero)."""
    u = axpy3(-axis[2], axis, (0.0, 0.0, 1.0))
    size = math.sqrt(dot3(u, u))
    return (u[0] / size, u[1] / size, u[2] / size), size


@inline
def _contact_slope(row, axis, c, T):
    """Change of the contact point of a disc or ball that moves by the world twist T."""
    up, size = _upward(axis)
    da = cross(T[0], axis)
    du = axpy3(-da[2], axis, (-axis[2] * da[0], -axis[2] * da[1], -axis[2] * da[2]))
    dup = axpy3(-dot3(up, du), up, du)
    return axpy3(-row.radius / size, dup, add3(T[1], cross(T[0], c)))


@inline
def is_velocity(row):
    """Whether a row is an equation of velocities."""
    return row.kind == ROLL


@inline
def wrench_slope(row, links, moves_a, moves_b, T):
    """Change of a row's wrench when node a, b or both move by the world twist T."""
    Ra, _ = frame(links, row.a)
    Rb, pb = frame(links, row.b)
    n = matvec(Ra, load3(row.n))
    dn = cross(T[0], n) if moves_a else ZERO3
    if row.kind == DOT:
        w = matvec(Rb, load3(row.w))
        dw = cross(T[0], w) if moves_b else ZERO3
        return (add3(cross(dw, n), cross(w, dn)), ZERO3)
    if row.kind == TURN:
        return (_turning_slope(row, links, n, dn, moves_b, T), ZERO3)
    if row.kind == HEIGHT or row.kind == ROLL:
        c = add3(pb, matvec(Rb, load3(row.pb)))
        dx = _contact_slope(row, matvec(Rb, load3(row.w)), c, T) if moves_b else ZERO3
        return (cross(dx, n), ZERO3)
    xb = add3(pb, matvec(Rb, load3(row.pb)))
    dx = add3(T[1], cross(T[0], xb)) if moves_b else ZERO3
    moment = add3(cross(dx, n), cross(xb, dn))
    if row.kind == SCREW:
        moment = axpy3(-row.pitch, _turning_slope(row, links, n, dn, moves_b, T), moment)
    return (moment, dn)


@inline
def polynomial(row, coefficients, x):
    """(value, slope, curvature) of a coupling's polynomial at x."""
    f = 0.0
    df = 0.0
    ddf = 0.0
    for k in range(row.first + row.count - 1, row.first - 1, -1):
        ddf = ddf * x + 2.0 * df
        df = df * x + f
        f = f * x + coefficients[k]
    return f, df, ddf


@inline
def twist_of(links, node):
    """Twist of a node; the world rests."""
    if node < 0:
        return ZERO6
    return load6(links[node].v)


@inline
def soft_force(row, links, h, W):
    """Force of a soft row: -k h - c dh/dt."""
    rate = dot(W, sub(twist_of(links, row.b), twist_of(links, row.a)))
    return -row.stiffness * h - row.damping * rate


@routine
def soft_energy(rows, count, links):
    """Energy of the springs of loop joints [J]: of the rows behind the first `count`, which are equations."""
    energy = 0.0
    for i in range(count, rows.shape[0]):
        h, _ = evaluate(rows[i], links)
        energy += 0.5 * rows[i].stiffness * h * h
    return energy


@inline
def push(row, external, W, x):
    """Add the wrench x W to node b and its opposite to node a; external has one row of 6 per node."""
    if row.b >= 0:
        add_to(external[row.b], scale(x, W))
    if row.a >= 0:
        add_to(external[row.a], scale(-x, W))


@inline
def is_coupling(row):
    """Whether a row ties two coordinates."""
    return row.kind == COUPLING
