"""Reverse mode of springs and cables that are stiff for the step, and pull from its middle (`step.middle_springs`).

The force on a part of a path is that of the mean m of its vectors at both ends of the step, T m / |m| with the tension
T of the length in the middle, less that of its vector at the end where it acts. Both are gradients of energies, so
their derivatives are symmetric: along x

    T' n (sum of n . x over all parts) + T / |m| (x - n (n . x)),   n = m / |m|.
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.derivatives.bending import add_to, motion_of
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.middle_springs import position, unit
from leastaction.spatial import add3, axpy3, cross, dot3, scale3, sub3


@inline
def point_motion(point, states, when, E):
    """World position of a point of a path, its arm from the COM, the turn and its velocity with the motion E."""
    x, p = position(point, states, when)
    turn, shift = motion_of(E, point.node)
    arm = sub3(x, p)
    return x, arm, turn, add3(shift, cross(turn, arm))


@inline
def stiff_tension(path, length):
    """Tension of a stiff path [N] and its slope by the length: a cable is slack rather than pushing."""
    pull = path.held * (length - path.rest_length)
    if path.pulls_only != 0 and pull <= 0.0:
        return 0.0, 0.0
    return pull, path.held


@inline
def over_length(path, pull, r):
    """Tension over length of a part that is r long."""
    if path.rest_length == 0.0 and path.count == 2:
        return path.held
    return pull / r if r > 0.0 else 0.0


@inline
def bent_force(path, pull, slope, m, x, along):
    """Derivative along x of the force of a part with the vector m; along: the sum of n . x over all parts."""
    r = math.sqrt(dot3(m, m))
    n, density = unit(m, r), over_length(path, pull, r)
    return axpy3(slope * along - density * dot3(n, x), n, scale3(density, x))


@routine(allocates=False)
def vector_of(points, k, states, when):
    """Vector of the part of a path that ends in point k, at the START or END of the step."""
    x, _ = position(points[k - 1], states, when)
    y, _ = position(points[k], states, when)
    return sub3(y, x)


@routine(allocates=False)
def middle_pull(stiff, path, points, states):
    """Tension of a path in the middle of the step, 0 where it is not stiff for it.

    Args:
        stiff: None where no path is: then nothing of this is compiled.
    """
    if stiff is None:
        return 0.0
    if path.held == 0.0:
        return 0.0
    length = 0.0
    for k in range(path.first + 1, path.first + path.count):
        m = add3(vector_of(points, k, states, START), vector_of(points, k, states, END))
        length += 0.5 * math.sqrt(dot3(m, m))
    return stiff_tension(path, length)[0]


@routine(allocates=False)
def middle_spring_cotangents(stiff, path, points, states, when, gains, E, G, other):
    """Of the impulses that a stiff path gives its points at the START or END of the step.

    Args:
        stiff: see `middle_pull`.
        gains: time for which the forces act, and the gradient by the tension in the middle, of others.
        E: motion that these impulses work with.
        G, other: gradients by the poses at that end and at the other one, to which is added.
    """
    if stiff is None:
        return
    if path.held == 0.0:
        return
    share, by_pull = gains
    away = END if when == START else START
    length = middle = along = along_middle = 0.0
    x, _, _, dx = point_motion(points[path.first], states, when, E)
    for k in range(path.first + 1, path.first + path.count):
        y, _, _, dy = point_motion(points[k], states, when, E)
        d, w = sub3(y, x), sub3(dy, dx)
        m = scale3(0.5, add3(d, vector_of(points, k, states, away)))
        r, s = math.sqrt(dot3(d, d)), math.sqrt(dot3(m, m))
        length, middle = length + r, middle + s
        along, along_middle = along - share * dot3(unit(d, r), w), along_middle - share * dot3(unit(m, s), w)
        x, dx = y, dy
    pull, slope = stiff_tension(path, length)
    mean, mean_slope = stiff_tension(path, middle)
    along_middle += by_pull
    x, arm, turn, dx = point_motion(points[path.first], states, when, E)
    for k in range(path.first + 1, path.first + path.count):
        y, arm_y, turn_y, dy = point_motion(points[k], states, when, E)
        d, w = sub3(y, x), scale3(-share, sub3(dy, dx))
        m = scale3(0.5, add3(d, vector_of(points, k, states, away)))
        half = scale3(0.5, bent_force(path, mean, mean_slope, m, w, along_middle))
        own = sub3(half, bent_force(path, pull, slope, d, w, along))
        # The motion is fixed to the bodies, so that of a point turns with its own.
        f = scale3(over_length(path, mean, math.sqrt(dot3(m, m))), m)
        f = scale3(-share, axpy3(-over_length(path, pull, math.sqrt(dot3(d, d))), d, f))
        add_to(G, points[k].node, add3(cross(arm_y, own), cross(cross(turn_y, arm_y), f)), own, 1.0)
        add_to(G, points[k - 1].node, add3(cross(arm, own), cross(cross(turn, arm), f)), own, -1.0)
        for i, sign in ((k, 1.0), (k - 1, -1.0)):
            z, p = position(points[i], states, away)
            add_to(other, points[i].node, cross(sub3(z, p), half), half, sign)
        x, arm, turn, dx = y, arm_y, turn_y, dy
