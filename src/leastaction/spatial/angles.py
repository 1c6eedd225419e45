"""Sine and cosine of joint angles, both at once and inlined: kernels need them for every hinge at every iterate."""

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
