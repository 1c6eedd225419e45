"""Isotropic springs: force proportional to the difference of two points (Sueda 2021, Eqs. 1.40, 1.45)."""

from leastaction._jit import inline, routine
from leastaction.forces.points import add_point_gradients, path_point, point_slope, pull, pull_slope, virtual_velocity
from leastaction.forces.tendons.cable_paths import moves
from leastaction.spatial import add3, cross, dot3, neg3, scale3, sub3


@inline
def _force(path, x, xd, y, yd):
    return add3(scale3(path.stiffness, sub3(y, x)), scale3(path.damping, sub3(yd, xd)))


@routine
def wrenches(paths, points, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic != 0:
            a, b = points[path.first], points[path.first + 1]
            x, xd = path_point(a, links)
            y, yd = path_point(b, links)
            f = _force(path, x, xd, y, yd)
            pull(external, a.node, x, f)
            pull(external, b.node, y, neg3(f))


@routine
def push_along(path, points, links, axis, external):
    """Add to `external` the wrenches of a unit force along a world axis that separates the two points."""
    a, b = points[path.first], points[path.first + 1]
    f = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
    pull(external, a.node, path_point(a, links)[0], neg3(f))
    pull(external, b.node, path_point(b, links)[0], f)


@routine
def energy(paths, points, links):
    """Elastic energy [J]."""
    total = 0.0
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic != 0:
            x, _ = path_point(points[path.first], links)
            y, _ = path_point(points[path.first + 1], links)
            d = sub3(y, x)
            total += 0.5 * path.stiffness * dot3(d, d)
    return total


@routine
def slopes(paths, points, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP)."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic == 0 or not moves(path, points, T, dV):
            continue
        a, b = points[path.first], points[path.first + 1]
        x, xd = path_point(a, links)
        y, yd = path_point(b, links)
        dx, dxd = point_slope(a.node, x, links, T, dV)
        dy, dyd = point_slope(b.node, y, links, T, dV)
        f, df = _force(path, x, xd, y, yd), _force(path, dx, dxd, dy, dyd)
        pull_slope(out, a.node, x, dx, f, df)
        pull_slope(out, b.node, y, dy, neg3(f), neg3(df))


@routine
def cotangents(paths, points, links, cot, GT, GV, out, of_points):
    """Reverse mode (VJP); out (paths, 3): by stiffness, rest length, damping; of_points (points, 3): by positions."""
    for i in range(paths.shape[0]):
        path = paths[i]
        if path.isotropic == 0:
            continue
        k = path.first
        a, b = points[k].node, points[k + 1].node
        x, xd = path_point(points[k], links)
        y, yd = path_point(points[k + 1], links)
        Wa, wa = virtual_velocity(a, cot, x)
        Wb, wb = virtual_velocity(b, cot, y)
        w, f = sub3(wa, wb), _force(path, x, xd, y, yd)
        out[i, 0] += dot3(w, sub3(y, x))
        out[i, 2] += dot3(w, sub3(yd, xd))
        g, gd = scale3(path.stiffness, w), scale3(path.damping, w)
        add_point_gradients(a, x, sub3(cross(f, Wa), g), neg3(gd), links, GT, GV, of_points[k])
        add_point_gradients(b, y, sub3(g, cross(f, Wb)), gd, links, GT, GV, of_points[k + 1])
