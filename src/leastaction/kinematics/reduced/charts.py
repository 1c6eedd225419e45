"""Euler angles of ball joints in twelve charts, and the change from one chart to another (Sueda 2021, 2.4.5).

A ball is three hinges in a row; which axes they turn about is written into their placements, so a change of chart
rewrites three placements and the coordinates of the states that the integrator still needs.
"""

import math

from leastaction._jit import inline, routine
from leastaction.kinematics.reduced.exponential_coordinates import change_sheet, is_far, is_long
from leastaction.spatial import (
    EYE,
    cross,
    dot3,
    load9,
    matmul,
    mattmul,
    mattvec,
    store9,
)

CHARTS = ("XYX", "XZX", "YZY", "YXY", "ZXZ", "ZYZ", "XYZ", "XZY", "YZX", "YXZ", "ZXY", "ZYX")
"""Names of the charts; kernels know them by their place in this list."""

XYZ = CHARTS.index("XYZ")
AXES = tuple(tuple("XYZ".index(c) for c in name) for name in CHARTS)

SWITCH = 0.5
"""A chart is left when its determinant falls to this; 1 is the best, 0 is the singularity."""


@inline
def axis_frame(k):
    """Rotation whose third column is the coordinate axis k."""
    if k == 0:
        return (0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    if k == 1:
        return (0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0)
    return EYE


@inline
def turn(k, x):
    """Rotation by x about the coordinate axis k."""
    s, c = math.sin(x), math.cos(x)
    if k == 0:
        return (1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
    if k == 1:
        return (c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)
    return (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)


@inline
def unit_axis(k):
    """Coordinate axis k."""
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@routine
def chart_axes(chart):
    """The three axes of a chart."""
    return AXES[chart]


@routine
def set_chart(nodes, ball, chart):
    """Let the hinges of a ball turn about the axes of a chart."""
    a, b, c = chart_axes(chart)
    A, B, C = axis_frame(a), axis_frame(b), axis_frame(c)
    store9(nodes[ball.node].Rt, matmul(load9(ball.frame), A))
    store9(nodes[ball.node + 1].Rt, mattmul(A, B))
    store9(nodes[ball.node + 2].Rt, mattmul(B, C))
    store9(nodes[ball.node + 3].Rt, mattmul(C, EYE))


@routine
def rotation(chart, x):
    """Rotation of the angles x, a tuple (Table 1 of Sueda 2021 for all charts)."""
    a, b, c = chart_axes(chart)
    return matmul(matmul(turn(a, x[0]), turn(b, x[1])), turn(c, x[2]))


@routine
def columns(chart, x):
    """Angular velocities in the child's frame of unit rates of the three angles: the columns of S."""
    a, b, c = chart_axes(chart)
    C = turn(c, x[2])
    second = mattvec(C, unit_axis(b))
    return mattvec(matmul(turn(b, x[1]), C), unit_axis(a)), second, unit_axis(c)


@inline
def quality(chart, middle):
    """|det S| of a chart, which depends on its second angle alone."""
    return abs(math.sin(middle)) if chart < 6 else abs(math.cos(middle))


@routine
def angles(chart, R):
    """Angles of a rotation in a chart (Table 3)."""
    a, b, c = chart_axes(chart)
    if a == c:
        d = 3 - a - b
        e = 1.0 if (a + 1) % 3 == b else -1.0
        s = math.sqrt(R[3 * a + b] * R[3 * a + b] + R[3 * a + d] * R[3 * a + d])
        return (
            math.atan2(R[3 * b + a], -e * R[3 * d + a]),
            math.atan2(s, R[3 * a + a]),
            math.atan2(R[3 * a + b], e * R[3 * a + d]),
        )
    e = 1.0 if (a + 1) % 3 == b else -1.0
    k = math.sqrt(R[3 * a] * R[3 * a] + R[3 * a + 1] * R[3 * a + 1] + R[3 * a + 2] * R[3 * a + 2])
    s = e * R[3 * a + c]
    return (
        math.atan2(-e * R[3 * b + c], R[3 * c + c]),
        math.atan2(s, math.sqrt(max(0.0, k * k - s * s))),
        math.atan2(-e * R[3 * a + b], R[3 * a + a]),
    )


@inline
def solve3(c1, c2, c3, b):
    """x with c1 x1 + c2 x2 + c3 x3 = b."""
    n = cross(c2, c3)
    i = 1.0 / dot3(c1, n)
    return (i * dot3(b, n), i * dot3(c1, cross(b, c3)), i * dot3(c1, cross(c2, b)))


@inline
def combine3(c1, c2, c3, x):
    """c1 x1 + c2 x2 + c3 x3."""
    return (
        c1[0] * x[0] + c2[0] * x[1] + c3[0] * x[2],
        c1[1] * x[0] + c2[1] * x[1] + c3[1] * x[2],
        c1[2] * x[0] + c2[2] * x[1] + c3[2] * x[2],
    )


@inline
def near(x, y):
    """x shifted by whole turns to be nearest to y."""
    return x - 2.0 * math.pi * math.floor((x - y) / (2.0 * math.pi) + 0.5)


@routine
def rewrite(old, new, ir, r, rd, like):
    """Coordinates and rates of one ball from the old chart to the new one, in place (Eq. 2.40).

    `like`: angles in the new chart to be near to.
    """
    x = (r[ir], r[ir + 1], r[ir + 2])
    c1, c2, c3 = columns(old, x)
    w = combine3(c1, c2, c3, (rd[ir], rd[ir + 1], rd[ir + 2]))
    y = angles(new, rotation(old, x))
    y = (near(y[0], like[0]), near(y[1], like[1]), near(y[2], like[2]))
    c1, c2, c3 = columns(new, y)
    r[ir], r[ir + 1], r[ir + 2] = y
    rd[ir], rd[ir + 1], rd[ir + 2] = solve3(c1, c2, c3, w)


@routine
def best_chart(chart, x, before):
    """The chart that is farthest from its singularity at the angles x and at those of the step before."""
    R, R1 = rotation(chart, x), rotation(chart, before)
    best, which = -1.0, chart
    for c in range(12):
        worst = min(quality(c, angles(c, R)[1]), quality(c, angles(c, R1)[1]))
        if worst > best:
            best, which = worst, c
    return which


@routine
def switch_charts(balls, r, rd, before, now, charts):
    """After a step, leave charts that come near their singularity.

    r, rd: the new state, in the charts `now`; rewritten. before: coordinates of the state before it, in the same
    charts. charts: of the new state, shape (balls,); filled.
    """
    if balls is None:
        return
    for k in range(balls.shape[0]):
        i = balls[k].ir
        old = now[k]
        charts[k] = old
        if old < 0:
            if is_long(i, r):
                change_sheet(i, r, rd)
        elif quality(old, r[i + 1]) <= SWITCH:
            x = (r[i], r[i + 1], r[i + 2])
            charts[k] = best_chart(old, x, (before[i], before[i + 1], before[i + 2]))
            if charts[k] != old:
                rewrite(old, charts[k], i, r, rd, angles(charts[k], rotation(old, x)))


@routine
def use_charts(balls, data, charts):
    """Bring the hinges of all balls of one robot to given charts."""
    if balls is None:
        return
    for k in range(balls.shape[0]):
        if data.charts[k] != charts[k]:
            set_chart(data.nodes, balls[k], charts[k])
            data.charts[k] = charts[k]


@routine
def history(balls, old, new, r, rd, like, x, xd):
    """(x, xd): the state (r, rd) brought from the charts `old` to the charts `new`, near to the angles `like`."""
    for k in range(r.shape[0]):
        x[k] = r[k]
        xd[k] = rd[k]
    _rewrite_all(balls, old, new, x, xd, like)


@routine
def _rewrite_all(balls, old, new, x, xd, like):
    if balls is None:
        return
    for k in range(balls.shape[0]):
        i = balls[k].ir
        if new[k] < 0:
            if is_far(i, x, like):
                change_sheet(i, x, xd)
        elif old[k] != new[k]:
            rewrite(old[k], new[k], i, x, xd, (like[i], like[i + 1], like[i + 2]))
