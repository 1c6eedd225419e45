"""Springs, cables and the dampers along them: a tension along a chain of points, by a discrete gradient.

A path of length l = sum of |d| over the vectors d between its points has the potential V(l). Over a step from d0 to d1,
l0 to l1, its force on the first point of each part is

    f = T c,    c = (d0 + d1) / (|d0| + |d1|),    T = (V(l1) - V(l0)) / (l1 - l0)

the discrete gradient of Gonzalez (1996) for a function of distances: c . (d1 - d0) = |d1| - |d0|, so that the sum of
f . (d1 - d0) over all parts is V(l1) - V(l0), for any step and any law. T is computed as the mean of the tension over
the lengths from l0 to l1, which is exact for linear springs and for those that become slack, without cancellation where
l1 is close to l0. A damper adds its coefficient times (l1 - l0) / dt, for a cable only over the part of the change
where it is taut; it dissipates the coefficient times (l1 - l0)^2 / dt.

A body rotates by the unit quaternion (s, u), u = dt w / 2, from the orientation R0 via R at mid-step to R1. Its momenta
at both ends of a free step, s J w +- dt w x J w / 2, have the same energy, and an impulse p in the frame of the body,
the same at both ends, changes it by 2 p . s w. So f acts at each end with

    dt f / 2    and    dt a / 2,    where    (R0 + R1) a = ((R0 + R1) r) x f    for a point r of the body,
    a = r x g + ((u . r) (u x g) / s - (u . (r x g)) u) / (1 + s),    g = R' f

The moment is that of the mean arm, and c is the direction of the mean vector: linear and angular momentum of bodies in
flight are conserved to round-off. A point moves by exactly dt (v + R (w x r)), so the kinetic energy changes by the
work of f, V(l0) - V(l1), except that the part which rotates bodies is multiplied by s^2: the energy error is the square
of the angle that a body rotates by in half a step, times the energy in the spring. In runs the error stayed of this
size for springs of any stiffness (frequency times step up to 100). No impulse of this kind conserves both exactly:
momenta are those of sin(2 u) / dt, while points move with 2 sin(u) / dt.

The step is symmetric in time (order 2). For a spring without rest length f = k (d0 + d1) / 2 is the gradient of V at
the midpoint; between bodies that do not rotate the map is then the midpoint rule, and symplectic. In all other cases it
is not symplectic, but conserves momenta and, to the above error, energy. At order 1 all of the impulse acts at the
start, and angular momentum is conserved to first order only.

All kernels take the paths as a further argument: where it is None they compile to nothing.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.tendons.cable_paths import direction, mean_tension, size
from leastaction.maximal.step.block_parts import add_outer, end_row
from leastaction.maximal.step.bodies import END, START, end_pose, start_pose
from leastaction.spatial import (
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    neg3,
    quat_to_rotation,
    scale3,
    store3,
    sub3,
)


@inline
def position(point, states, when):
    """World position of a point, and the COM of its body."""
    R, p = end_pose(states, point.node) if when == END else start_pose(states, point.node)
    return add3(p, matvec(R, load3(point.p))), p


@inline
def density(path, pull, both):
    """Tension over the sum of a part's lengths at both ends; springs without rest length have one at zero length."""
    if both > 0.0:
        return pull / both
    return 0.5 * path.stiffness if path.count == 2 and path.rest_length == 0.0 else 0.0


@inline
def half_turn(s, dt):
    """Rotation of a body from the start of the step to mid-step."""
    u = scale3(0.5 * dt, load3(s.w))
    cos = math.sqrt(max(1.0 - dot3(u, u), 1e-12))
    k = 1.0 / math.sqrt(2.0 * (1.0 + cos))
    return quat_to_rotation(((1.0 + cos) * k, k * u[0], k * u[1], k * u[2]))


@inline
def half_turn_slope(s, dt, e):
    """Rotation of the mid-step frame, in its own axes, per change e of the angular velocity."""
    u, du = scale3(0.5 * dt, load3(s.w)), scale3(0.5 * dt, e)
    cos = math.sqrt(max(1.0 - dot3(u, u), 1e-12))
    k, c = 1.0 / math.sqrt(2.0 * (1.0 + cos)), math.sqrt(0.5 * (1.0 + cos))
    du = scale3(k, axpy3(dot3(u, du) / (2.0 * cos * (1.0 + cos)), u, du))
    u = scale3(k, u)
    return scale3(2.0, sub3(axpy3(dot3(u, du) / c, u, scale3(c, du)), cross(u, du)))


@inline
def moment(s, r, g, dt):
    """The moment a (module docstring) of a force g at a point r of a body, both in its mid-step frame."""
    u = scale3(0.5 * dt, load3(s.w))
    cos = math.sqrt(max(1.0 - dot3(u, u), 1e-12))
    t, k = cross(r, g), 1.0 / (1.0 + cos)
    return axpy3(-k * dot3(u, t), u, axpy3(k / cos * dot3(u, r), cross(u, g), t))


@inline
def moment_slope(s, r, g, dt, e):
    """Derivative of `moment` along a change e of the angular velocity, with a force fixed in the world."""
    u, du = scale3(0.5 * dt, load3(s.w)), scale3(0.5 * dt, e)
    cos = math.sqrt(max(1.0 - dot3(u, u), 1e-12))
    t, k, along = cross(r, g), 1.0 / (1.0 + cos), dot3(u, du)
    out = moment(s, r, cross(g, half_turn_slope(s, dt, e)), dt)
    out = axpy3(k / cos * (dot3(du, r) + along / cos * (k + 1.0 / cos) * dot3(u, r)), cross(u, g), out)
    out = axpy3(k / cos * dot3(u, r), cross(du, g), out)
    out = axpy3(-k * (dot3(du, t) + k / cos * along * dot3(u, t)), u, out)
    return axpy3(-k * dot3(u, t), du, out)


@inline
def _impulse(s, point, f, dt, when):
    """Wrench on its body of a force f at a point (module docstring): torque in the body frame, force.

    R of the body is that at the START or END of the step.
    """
    half, g = half_turn(s, dt), mattvec(load9(s.R), f)
    t = moment(s, load3(point.p), matvec(half, g) if when == END else mattvec(half, g), dt)
    return t[0], t[1], t[2], f[0], f[1], f[2]


@inline
def _end_row(points, states, k, f):
    """Row by (w, v) of the displacement of point k along f at the end of the step."""
    y, q = position(points[k], states, END)
    return end_row(states, points[k].node, cross(sub3(y, q), f), f, 1.0)


@routine(allocates=False)
def start_paths(model, data, paths):
    """Initialise a run: path lengths, and the vector from each point to the next, stored as d of the latter."""
    if paths is None:
        return
    points, states = model.forces.points, data.bodies
    for i in range(paths.shape[0]):
        path, length = paths[i], 0.0
        x, _ = position(points[path.first], states, START)
        for k in range(path.first + 1, path.first + path.count):
            y, _ = position(points[k], states, START)
            d = sub3(y, x)
            store3(data.points[k].d, d)
            length += size(d)
            x = y
        data.paths[i].length = length


@routine(allocates=False)
def _other_length(path, points, states, when):
    """Length of a path at the START or END poses."""
    length = 0.0
    x, _ = position(points[path.first], states, when)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = position(points[k], states, when)
        length += size(sub3(y, x))
        x = y
    return length


@routine(allocates=False)
def implicit_paths(model, settings, data, dt, fresh, paths):
    """Subtract the impulses at the start of the step from the residuals; with `fresh` add their blocks."""
    if paths is None:
        return
    points, states, share = model.forces.points, data.bodies, settings.halves * dt
    for i in range(paths.shape[0]):
        path = paths[i]
        length = _other_length(path, points, states, END)
        pull, _, slope = mean_tension(path, data.paths[i].length, length, dt)
        data.stretched[0] -= share * pull * (length - data.paths[i].length)
        x, _ = position(points[path.first], states, END)
        for k in range(path.first + 1, path.first + path.count):
            y, _ = position(points[k], states, END)
            d0, d1 = load3(data.points[k].d), sub3(y, x)
            f = scale3(density(path, pull, size(d0) + size(d1)), add3(d0, d1))
            _take(data, points, k - 1, f, share, dt)
            _take(data, points, k, f, -share, dt)
            x = y
        if fresh and (pull != 0.0 or slope != 0.0):
            _gradients(path, points, data.points, states, dt)
            _blocks(model, data, i, path, dt * share * slope)
            _direction_blocks(model, data, i, path, share, dt, pull)


@inline
def _take(data, points, k, f, share, dt):
    """Subtract the impulse share f at a point from the residual of its body, and add it to `data.kicks`."""
    body = points[k].node
    if body >= 0:
        s = data.bodies[body]
        w = _impulse(s, points[k], f, dt, START)
        for c in range(6):
            s.r[c] -= share * w[c]
            data.kicks[0, body, c] += share * w[c]


@routine(allocates=False)
def _gradients(path, points, pointstates, states, dt):
    """Length gradients by each point: wrench on its body along c at the start (m), row at the end along n (e)."""
    for k in range(path.first, path.first + path.count):
        f, g = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for j in (k, k + 1):  # the parts before and after point k
            if path.first < j < path.first + path.count:
                x, _ = position(points[j - 1], states, END)
                y, _ = position(points[j], states, END)
                d0, d1 = load3(pointstates[j].d), sub3(y, x)
                r = size(d1)
                sign = 1.0 if j == k else -1.0
                f = axpy3(sign, direction(add3(d0, d1), size(d0) + r), f)
                g = axpy3(sign, direction(d1, r), g)
        e = _end_row(points, states, k, g)
        if points[k].node >= 0:
            w = _impulse(states[points[k].node], points[k], f, dt, START)
            for c in range(6):
                pointstates[k].m[c], pointstates[k].e[c] = w[c], e[c]


@inline
def _place(model, i, path, k, j):
    """Offset of the block of the bodies of points k and j of path i."""
    a, b = model.forces.points[k].node, model.forces.points[j].node
    if a == b:
        return model.graph.diagonal[a]
    edge = model.tied[model.tied_first[i] + (k - path.first) * path.count + j - path.first]
    return model.graph.offsets[edge, 0 if a < b else 1]


@routine(allocates=False)
def _blocks(model, data, i, path, gain):
    """Add the blocks of the tension of path i."""
    points, values = model.forces.points, data.factors.values
    for k in range(path.first, path.first + path.count):
        for j in range(path.first, path.first + path.count):
            if points[k].node >= 0 and points[j].node >= 0:
                add_outer(values, _place(model, i, path, k, j), data.points[k].m, data.points[j].e, gain)


@routine(allocates=False)
def _direction_blocks(model, data, i, path, share, dt, pull):
    """Add the blocks of path i from the directions c of its parts, (1 - c n') / (|d0| + |d1|), n = d1 / |d1|, and the
    rotation of its bodies to mid-step."""
    points, states, values = model.forces.points, data.bodies, data.factors.values
    for k in range(path.first + 1, path.first + path.count):
        x, _ = position(points[k - 1], states, END)
        y, _ = position(points[k], states, END)
        d0, d1 = load3(data.points[k].d), sub3(y, x)
        r = size(d1)
        both = size(d0) + r
        own = dt * share * density(path, pull, both)
        if own == 0.0:
            continue
        f = scale3(share * density(path, pull, both), add3(d0, d1))
        _turn_block(model, data, k - 1, f, dt)
        _turn_block(model, data, k, neg3(f), dt)
        for axis in range(4):
            f = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
            g, factor = f, own
            if axis == 3:
                f, g, factor = direction(add3(d0, d1), both), direction(d1, r), -own
            for a in (k - 1, k):
                if points[a].node < 0:
                    continue
                w = _impulse(states[points[a].node], points[a], f, dt, START)
                for b in (k - 1, k):
                    if points[b].node >= 0:
                        e = _end_row(points, states, b, g)
                        add_outer(values, _place(model, i, path, a, b), w, e, factor if a == b else -factor)


@inline
def _turn_block(model, data, k, f, dt):
    """Add the block of a body from its own rotation to mid-step, with the impulse f at point k."""
    body, values = model.forces.points[k].node, data.factors.values
    if body >= 0:
        s, r, at = data.bodies[body], load3(model.forces.points[k].p), model.graph.diagonal[body]
        g = mattvec(half_turn(s, dt), mattvec(load9(s.R), f))
        for c in range(3):
            e = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
            column = moment_slope(s, r, g, dt, e)
            for i in range(3):
                values[at + 6 * i + c] -= column[i]


@routine(allocates=False)
def end_paths(model, settings, data, dt, paths):
    """Add the impulses of paths at the end of the step to the momenta; `data` is at the next start."""
    if paths is None:
        return
    points, states, share = model.forces.points, data.bodies, (1.0 - settings.halves) * dt
    for i in range(paths.shape[0]):
        path, s = paths[i], data.paths[i]
        length = _other_length(path, points, states, START)
        pull, _, _ = mean_tension(path, s.length, length, dt)
        x, _ = position(points[path.first], states, START)
        for k in range(path.first + 1, path.first + path.count):
            y, _ = position(points[k], states, START)
            d0, d1 = load3(data.points[k].d), sub3(y, x)
            f = scale3(density(path, pull, size(d0) + size(d1)), add3(d0, d1))
            _leave(data, points, k - 1, f, share, dt)
            _leave(data, points, k, f, -share, dt)
            store3(data.points[k].d, d1)
            x = y
        s.length = length


@inline
def _leave(data, points, k, f, share, dt):
    """Add the impulse share f at a point to the momentum of its body and to `data.kicks`."""
    body = points[k].node
    if body >= 0:
        s = data.bodies[body]
        w = _impulse(s, points[k], f, dt, END)
        for c in range(6):
            s.P[c] += share * w[c]
            data.kicks[1, body, c] += share * w[c]
