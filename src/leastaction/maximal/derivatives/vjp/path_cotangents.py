"""VJPs of springs, cables and the dampers along them (`forces.path_springs`).

At each end of the step the parts of a path apply the force T c over a time s. For motions E fixed to the bodies, a
point r of a body with the rotation e and the translation x has the virtual velocity x + R m, where m . g is the work
with e of the moment of a force g, and R the orientation at mid-step. With the change w of each part's vector,

    S = -s T sum of c . w,    c = (d0 + d1) / (|d0| + |d1|)

where T depends on the lengths of the path at both ends, and c on the vectors there:

    dc = (dd0 + dd1 - c (n0 . dd0 + n1 . dd1)) / (|d0| + |d1|),    n = d / |d|.
"""

from leastaction._jit import inline, routine
from leastaction.maximal.derivatives.constraint_hessians import add_to, motion_of
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.forces.ball_drives import unit
from leastaction.maximal.step.forces.path_springs import (
    density,
    direction,
    half_turn,
    mean_tension,
    moment,
    moment_slope,
    position,
    size,
)
from leastaction.spatial import ZERO3, add3, axpy3, cross, dot3, load3, load9, mattvec, matvec, scale3, sub3


@inline
def _arm_motion(point, states, when, dt, E):
    """Virtual velocity of a point for the motion E relative to its COM (module docstring)."""
    if point.node < 0:
        return ZERO3
    s, (turn, _) = states[point.node], motion_of(E, point.node)
    r, e = load3(point.p), mattvec(load9(s.R1) if when == END else load9(s.R), turn)
    # Moments are linear in forces; this is the transpose.
    arm = (dot3(moment(s, r, unit(0), dt), e), dot3(moment(s, r, unit(1), dt), e), dot3(moment(s, r, unit(2), dt), e))
    return matvec(load9(s.R), matvec(half_turn(s, dt), arm))


@inline
def _motion(points, k, states, when, dt, E):
    """Change of the vector of the part that ends in point k for the motion E."""
    one = add3(motion_of(E, points[k].node)[1], _arm_motion(points[k], states, when, dt, E))
    return sub3(one, add3(motion_of(E, points[k - 1].node)[1], _arm_motion(points[k - 1], states, when, dt, E)))


@inline
def _vector(points, k, states, when):
    """Vector of the part of a path that ends in point k."""
    return sub3(position(points[k], states, when)[0], position(points[k - 1], states, when)[0])


@routine(allocates=False)
def path_cotangents(paths, model, settings, data, back, dt):
    """As `cotangents.rate_cotangents`, of the impulses of springs and cables.

    Args:
        paths: those of the model; None compiles no code.
    """
    if paths is None:
        return
    halves, points, states = settings.halves, model.forces.points, data.bodies
    for i in range(paths.shape[0]):
        _end_cotangents(paths[i], points, states, START, halves * dt, dt, back.E0, back)
        _end_cotangents(paths[i], points, states, END, (1.0 - halves) * dt, dt, back.E1, back)


@routine(allocates=False)
def _end_cotangents(path, points, states, when, share, dt, E, back):
    """VJP of the impulses at the START or END of the step, over the time `share`, with the motion E there.

    For START, G0 includes the end poses as functions of the start and the velocities; the transposed Newton matrix has
    the part by the velocities.
    """
    length = end_length = along = 0.0
    for k in range(path.first + 1, path.first + path.count):
        d, a, w = (
            _vector(points, k, states, START),
            _vector(points, k, states, END),
            _motion(points, k, states, when, dt, E),
        )
        r, s = size(d), size(a)
        length, end_length = length + r, end_length + s
        along += dot3(direction(add3(d, a), r + s), w)
    pull, by_first, by_last = mean_tension(path, length, end_length, dt)
    by_first, by_last = -share * along * by_first, -share * along * by_last
    G1 = back.G1 if when == END else back.G0
    for k in range(path.first + 1, path.first + path.count):
        d, a, w = (
            _vector(points, k, states, START),
            _vector(points, k, states, END),
            _motion(points, k, states, when, dt, E),
        )
        r, s = size(d), size(a)
        thick = -share * density(path, pull, r + s)
        bent = thick * dot3(direction(add3(d, a), r + s), w)
        g0 = axpy3(by_first - bent, direction(d, r), scale3(thick, w))
        g1 = axpy3(by_last - bent, direction(a, s), scale3(thick, w))
        f = scale3(thick, add3(d, a))
        for i, sign in ((k, 1.0), (k - 1, -1.0)):
            x, p = position(points[i], states, START)
            y, q = position(points[i], states, END)
            add_to(back.G0, points[i].node, cross(sub3(x, p), g0), g0, sign)
            add_to(G1, points[i].node, cross(sub3(y, q), g1), g1, sign)
            # The mid-step orientation depends on the pose of the body at the start and its angular velocity.
            arm = _arm_motion(points[i], states, when, dt, E)
            add_to(back.G0, points[i].node, cross(arm, f), ZERO3, sign)
            if when == END:
                _by_velocity(back.by_velocity, states, points[i], E, f, dt, sign)


@inline
def _by_velocity(by_velocity, states, point, E, f, dt, sign):
    """Add the gradient by the angular velocity of a body of the work of f's moment with E at the end."""
    if point.node >= 0:
        s, (turn, _) = states[point.node], motion_of(E, point.node)
        g, e = mattvec(half_turn(s, dt), mattvec(load9(s.R), f)), mattvec(load9(s.R1), turn)
        for c in range(3):
            by_velocity[point.node, c] += sign * dot3(moment_slope(s, load3(point.p), g, dt, unit(c)), e)
