"""Tendon lengths: the value of each item, its gradient, and the directional derivative of the gradient."""

import math

from leastaction._jit import inline, routine
from leastaction.forces.tendons.tendon_records import BENT, HINGE, SEGMENT
from leastaction.kinematics.closure_kernels import frame, twist_of
from leastaction.spatial import ZERO3, ZERO6, add3, axpy3, cross, dot, dot3, load3, load6, matvec, scale3, sub, sub3
from leastaction.spatial.angles import angle_of
from leastaction.spatial.wrapping import pull, pull_changes

TWO_PI = 2.0 * math.pi


@inline
def row_of(rows, node):
    """Row (6) of a node; zero for the world."""
    if node < 0:
        return ZERO6
    return load6(rows[node])


@inline
def _leaning(n, w):
    """Decompose a mark w: its component along the axis n, the orthogonal part, and the square of that."""
    along = dot3(w, n)
    across = axpy3(-along, n, w)
    return along, across, dot3(across, across)


@inline
def _string(item, links, Ra, xa, xb):
    """Ends of a wrapped path relative to the obstacle's centre xa, its axis, and the side point, in world axes."""
    Rc, pc = frame(links, item.third)
    far = sub3(add3(pc, matvec(Rc, load3(item.pc))), xa)
    return sub3(xb, xa), far, matvec(Ra, load3(item.n)), matvec(Ra, load3(item.at))


@routine
def measure(item, links):
    """(value [rad or m], gradient) of an item; the gradient is a wrench on its node, negated on the other."""
    Ra, pa = frame(links, item.other)
    Rb, pb = frame(links, item.node)
    if item.kind == HINGE:
        n, m, w = matvec(Ra, load3(item.n)), matvec(Ra, load3(item.n2)), matvec(Rb, load3(item.w2))
        raw = item.sign * angle_of(dot3(w, cross(n, m)), dot3(w, m))
        value = raw + TWO_PI * math.floor((item.near - raw) / TWO_PI + 0.5)
        along, across, size = _leaning(n, w)
        return value, (scale3(item.sign, axpy3(-along / size, across, n)), ZERO3)
    xa, xb = add3(pa, matvec(Ra, load3(item.pa))), add3(pb, matvec(Rb, load3(item.pb)))
    d = sub3(xb, xa)
    if item.kind == BENT:
        a, b, n, s = _string(item, links, Ra, xa, xb)
        length, g = pull(a, b, n, item.around, item.radius, item.side, s)
        return 0.5 * length, (cross(xb, g), g)
    if item.kind == SEGMENT:
        r = math.sqrt(dot3(d, d))
        if r == 0.0:
            return 0.0, ZERO6
        e = scale3(1.0 / r, d)
        return r, (cross(xb, e), e)
    n = matvec(Ra, load3(item.n))
    return dot3(n, d), (cross(xb, n), n)


@inline
def _shifted(T, x):
    """Displacement of the world point x by the twist T."""
    return add3(T[1], cross(T[0], x))


@routine
def turned(item, links, Ta, Tb, Tc):
    """Change of an item's gradient for displacements Ta of the other node, Tb of its own and Tc of the third."""
    Ra, pa = frame(links, item.other)
    Rb, pb = frame(links, item.node)
    if item.kind == HINGE:
        n, w = matvec(Ra, load3(item.n)), matvec(Rb, load3(item.w2))
        dn, dw = cross(Ta[0], n), cross(Tb[0], w)
        along, across, size = _leaning(n, w)
        dalong = dot3(dw, n) + dot3(w, dn)
        dacross = axpy3(-dalong, n, axpy3(-along, dn, dw))
        # Derivative of n - along across / size, where size = |w|^2 - along^2.
        dt = axpy3(-dalong / size, across, axpy3(-along / size, dacross, dn))
        return (scale3(item.sign, axpy3(-2.0 * along * along * dalong / (size * size), across, dt)), ZERO3)
    xa, xb = add3(pa, matvec(Ra, load3(item.pa))), add3(pb, matvec(Rb, load3(item.pb)))
    dx = _shifted(Tb, xb)
    if item.kind == BENT:
        a, b, n, s = _string(item, links, Ra, xa, xb)
        _, g = pull(a, b, n, item.around, item.radius, item.side, s)
        da, db = _shifted(sub(Tb, Ta), xb), _shifted(sub(Tc, Ta), add3(b, xa))
        dg = add3(cross(Ta[0], g), pull_changes(a, b, n, item.around, item.radius, item.side, s, da, db))
        return (add3(cross(dx, g), cross(xb, dg)), dg)
    if item.kind == SEGMENT:
        d = sub3(xb, xa)
        r = math.sqrt(dot3(d, d))
        if r == 0.0:
            return ZERO6
        e = scale3(1.0 / r, d)
        dd = sub3(dx, _shifted(Ta, xa))
        de = scale3(1.0 / r, axpy3(-dot3(e, dd), e, dd))
        return (add3(cross(dx, e), cross(xb, de)), de)
    n = matvec(Ra, load3(item.n))
    dn = cross(Ta[0], n)
    return (add3(cross(dx, n), cross(xb, dn)), dn)


@routine
def length_and_rate(tendon, items, links):
    """Length of a tendon and its rate."""
    length = tendon.offset
    rate = 0.0
    for k in range(tendon.first, tendon.first + tendon.count):
        value, W = measure(items[k], links)
        length += items[k].weight * value
        rate += items[k].weight * dot(W, sub(twist_of(links, items[k].node), twist_of(links, items[k].other)))
    return length, rate
