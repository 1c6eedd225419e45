"""A ball joint over a step of the midpoint rule: rotation vector and midpoint rotation by both ends, in dual numbers.

With the rotations eps_0 and eps_1 of both ends in their own frames, d = eps_1 - eps_0 and sigma = (eps_0 + eps_1) / 2,

    dxi = d + g xi x (xi x d) + xi x sigma,   delta = sigma + tau/2 xi x d,   tau = tan(|xi| / 4) / |xi|.

Derivatives along a direction are imaginary parts, see `dual_numbers`.
"""

import math

from leastaction._jit import inline
from leastaction.minimal.dual_numbers import SMALL, dual3, dual_coefficients
from leastaction.spatial import add3, axpy3, cross, dot3, scale3


def _tangent_terms(count: int) -> tuple[float, ...]:
    """Taylor terms of tan(theta / 4) / theta in theta^2, last first; tan' = 1 + tan^2."""
    terms = [1.0]
    for n in range(1, count):
        terms.append(sum(terms[i] * terms[n - 1 - i] for i in range(n)) / (2 * n + 1))
    return tuple(term / 4 ** (2 * n + 1) for n, term in enumerate(terms))[::-1]


_TANGENT = _tangent_terms(20)


@inline
def half_turn(t):
    """tau = tan(theta / 4) / theta at t = theta^2 [rad^2], its first and second derivatives; three numbers."""
    if t < 4.0:
        a = b = c = 0.0
        for term in _TANGENT:
            c = c * t + b
            b = b * t + a
            a = a * t + term
        return a, 2.0 * b, 8.0 * c
    theta = math.sqrt(t)
    a = math.tan(0.25 * theta) / theta
    b = (0.25 + 0.25 * t * a * a - a) / t
    return a, b, (0.5 * a * a + 0.5 * t * a * b - 3.0 * b) / t


@inline
def dual_ball(xi, dxi):
    """xi and the coefficients g, its derivative, tau and its derivative, dual along dxi."""
    k, tau = dual_coefficients(xi, dxi), half_turn(dot3(xi, xi))
    n = SMALL * dot3(xi, dxi)
    return dual3(xi, dxi), k[6], k[7], complex(tau[0], n * tau[1]), complex(tau[1], n * tau[2])


@inline
def of_ends(chi, e):
    """d and sigma of a displacement e of control point chi."""
    return scale3(1.0 if chi == 1 else -1.0, e), scale3(0.5, e)


@inline
def chart_change(ball, d, sigma):
    """dxi of a displacement (d, sigma)."""
    xi, g = ball[0], ball[1]
    a = cross(xi, d)
    return add3(axpy3(g, cross(xi, a), d), cross(xi, sigma))


@inline
def turn(ball, d, sigma):
    """delta of a displacement (d, sigma)."""
    return axpy3(0.5 * ball[3], cross(ball[0], d), sigma)


@inline
def chart_change_slope(ball, d, sigma, h):
    """Change of `chart_change` when xi moves by h."""
    xi, g, gs = ball[0], ball[1], ball[2]
    a = cross(xi, d)
    out = axpy3(gs * dot3(xi, h), cross(xi, a), cross(h, sigma))
    return axpy3(g, add3(cross(h, a), cross(xi, cross(h, d))), out)


@inline
def turn_slope(ball, d, h):
    """Change of `turn` when xi moves by h."""
    xi = ball[0]
    return axpy3(0.5 * ball[4] * dot3(xi, h), cross(xi, d), scale3(0.5 * ball[3], cross(h, d)))
