"""Sine and cosine of joint angles, and angles of two numbers, inlined: kernels need them for every hinge again."""

import math

from leastaction._jit import inline

_QUARTER, _REST = 1.57079632673412561417, 6.07710050650619224932e-11
"""Pi / 2 = _QUARTER + _REST; the first has 33 bits, so that products with small whole numbers are exact."""

FARTHEST = 1e5
"""Angles [rad] up to which that holds with room to spare; the library serves beyond."""

# Coefficients of fdlibm (k_sin.c, k_cos.c): sin(r) = r + r^3 S(r^2), cos(r) = 1 - r^2 / 2 + r^4 C(r^2) up to pi / 4.
_S = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_C = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)

# And of s_atan.c: atan(t) = t - t^3 A(t^2) up to 7 / 16, so up to tan(pi / 8).
_A = (
    3.33333333333329318027e-01,
    -1.99999999998764832476e-01,
    1.42857142725034663711e-01,
    -1.11111104054623557880e-01,
    9.09088713343650656196e-02,
    -7.69187620504482999495e-02,
)
_B = (
    6.66107313738753120669e-02,
    -5.83357013379057348645e-02,
    4.97687799461593236017e-02,
    -3.65315727442169155270e-02,
    1.62858201153657823623e-02,
    0.0,
)
_EIGHTH = 0.41421356237309503  # tan(pi / 8)


@inline
def _fifth_degree(k, t):
    """Polynomial with the six coefficients k at t."""
    u = t * t
    return (k[0] + k[1] * t) + u * ((k[2] + k[3] * t) + u * (k[4] + k[5] * t))


@inline
def sine_and_cosine(x):
    """sin(x) and cos(x) of an angle [rad], to the last bit or the one before it."""
    if not abs(x) < FARTHEST:
        return math.sin(x), math.cos(x)
    quarters = math.floor(x * (2.0 / math.pi) + 0.5)
    r = x - quarters * _QUARTER
    # Always within these bounds; the compiler does not know, so it cannot add _QUARTER and _REST first.
    r = min(max(r, -1.0), 1.0) - quarters * _REST
    t = r * r
    sine, cosine = r + r * t * _fifth_degree(_S, t), 1.0 - 0.5 * t + t * t * _fifth_degree(_C, t)
    turn = int(quarters) & 3
    if turn & 1:
        sine, cosine = cosine, -sine
    return (-sine, -cosine) if turn & 2 else (sine, cosine)


@inline
def angle_of(y, x):
    """Angle [rad] of the point (x, y), as atan2(y, x) to 5e-16; zero for the origin, whatever the signs of zeros."""
    wide, high = abs(x), abs(y)
    large, small = (high, wide) if high > wide else (wide, high)  # not max and min: one NaN must be seen
    if large + small == 0.0:
        return 0.0
    # Above pi / 8 the angle from the diagonal, so that one division serves for all.
    lean = small > _EIGHTH * large
    t = (small - large) / (small + large) if lean else small / large
    z = t * t
    w = z * z * z
    angle = t - t * z * (_fifth_degree(_A, z) + w * w * _fifth_degree(_B, z))
    if lean:
        angle += 0.25 * math.pi
    if high > wide:
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle
