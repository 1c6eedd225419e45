"""Ball joints in exponential coordinates: R = exp([r]) (Sueda 2021, 2.4.8), with all derivatives that H needs."""

import math

from leastaction._jit import inline, routine
from leastaction.spatial import add3, dot3, quat_exp, scale3, sub3
from leastaction.spatial import exponential as ex

LONGEST = 1.5 * math.pi
"""Exponential coordinates longer than this [rad] are written the other way round."""


@inline
def _unit(j):
    return (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@routine
def ball_block(block, lift, r, rd, rdd, q, v, a):
    """Fill the `LIFT` of a ball, its quaternion, angular velocity and acceleration."""
    i = block.ir
    x, w, z = (r[i], r[i + 1], r[i + 2]), (rd[i], rd[i + 1], rd[i + 2]), (rdd[i], rdd[i + 1], rdd[i + 2])
    k = ex.coefficients(x)
    n = block.iq
    q[n], q[n + 1], q[n + 2], q[n + 3] = quat_exp(x)
    n = block.iv
    v[n], v[n + 1], v[n + 2] = ex.jr(x, k, w)
    a[n], a[n + 1], a[n + 2] = add3(ex.jr(x, k, z), ex.jr_slope(x, k, w, w))
    for c in range(3):
        e = _unit(c)
        lift.map[0, c], lift.map[1, c], lift.map[2, c] = ex.jr(x, k, e)
        slope = ex.jr_slope(x, k, e, w)
        lift.E[0, c], lift.E[1, c], lift.E[2, c] = slope
        f = add3(ex.jr_slope(x, k, e, z), ex.jr_curvature(x, k, e, w, w))
        lift.F[0, c], lift.F[1, c], lift.F[2, c] = f
        lift.G[0, c], lift.G[1, c], lift.G[2, c] = add3(slope, ex.jr_slope(x, k, w, e))
        for d in range(3):
            s = ex.jr_slope(x, k, _unit(d), e)
            lift.D2[0, c, d], lift.D2[1, c, d], lift.D2[2, c, d] = s


@inline
def other_sheet(x):
    """Exponential coordinates of the same rotation, the other way round (Grassia 1998)."""
    t = math.sqrt(dot3(x, x))
    if t == 0.0:
        return x
    return scale3(1.0 - 2.0 * math.pi / t, x)


@routine
def change_sheet(i, r, rd):
    """Write a ball's coordinates and rates the other way round, in place."""
    x = (r[i], r[i + 1], r[i + 2])
    w = ex.jr(x, ex.coefficients(x), (rd[i], rd[i + 1], rd[i + 2]))
    y = other_sheet(x)
    r[i], r[i + 1], r[i + 2] = y
    rd[i], rd[i + 1], rd[i + 2] = ex.jr_inverse(y, ex.coefficients(y), w)


@routine
def is_far(i, r, like):
    """Whether a ball's coordinates are nearer to others after a change of sheet."""
    x = (r[i], r[i + 1], r[i + 2])
    z = (like[i], like[i + 1], like[i + 2])
    a, b = sub3(x, z), sub3(other_sheet(x), z)
    return dot3(b, b) < dot3(a, a)


@inline
def is_long(i, r):
    """Whether a ball's coordinates come near the singularity at a full turn."""
    return r[i] * r[i] + r[i + 1] * r[i + 1] + r[i + 2] * r[i + 2] > LONGEST * LONGEST
