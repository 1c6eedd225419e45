"""The exponential chart of a ball joint: R(t) = R_0 exp(xi(t)), and all derivatives that implicit methods need.

The angular velocity in the child's frame is omega = J_r(xi) xi'. Coefficients are computed once per point and passed
as a tuple k = (b, c, slopes of b and c, curvatures of b and c, g, slope of g), each a function of |xi|^2, where

    J_r(xi) a     = a - b xi x a + c xi x (xi x a)
    J_l^-1(xi) a  = a - 1/2 xi x a + g xi x (xi x a)        (= J_r^-T)
"""

from leastaction._jit import inline
from leastaction.spatial._series import (
    SMALL,
    jacobian_curvatures,
    jacobian_slopes,
    jacobian_terms,
    small_jacobian_terms,
)
from leastaction.spatial.vec3 import add3, axpy3, cross, dot3, scale3, sub3


@inline
def coefficients(xi):
    """All coefficients at xi (3) [rad]; 8 numbers."""
    t = dot3(xi, xi)
    if t < SMALL:
        return small_coefficients(xi)
    b, c = jacobian_terms(t)
    bs, cs = jacobian_slopes(t, b, c)
    bc, cc = jacobian_curvatures(t, b, c, bs, cs)
    return _with_inverse(b, c, bs, cs, bc, cc)


@inline
def small_coefficients(xi):
    """The same where |xi|^2 < SMALL."""
    b, c, bs, cs, bc, cc = small_jacobian_terms(dot3(xi, xi))
    return _with_inverse(b, c, bs, cs, bc, cc)


@inline
def _with_inverse(b, c, bs, cs, bc, cc):
    inverse = 1.0 / b
    g = -0.5 * bs * inverse
    gs = -0.5 * (bc * b - bs * bs) * inverse * inverse
    return (b, c, bs, cs, bc, cc, g, gs)


UNTURNED = (1 / 2, 1 / 6, -1 / 12, -1 / 60, 1 / 90, 1 / 630, 1 / 12, 1 / 360)
"""All coefficients at xi = 0."""


@inline
def _twice(xi, a):
    return cross(xi, cross(xi, a))


@inline
def _twice_slope(xi, h, a):
    return add3(cross(h, cross(xi, a)), cross(xi, cross(h, a)))


@inline
def jr(xi, k, a):
    """J_r(xi) a."""
    return add3(axpy3(-k[0], cross(xi, a), a), scale3(k[1], _twice(xi, a)))


@inline
def jr_slope(xi, k, h, a):
    """Derivative of J_r(xi) a along h."""
    xh = dot3(xi, h)
    first = axpy3(-k[2] * xh, cross(xi, a), scale3(-k[0], cross(h, a)))
    return add3(first, axpy3(k[3] * xh, _twice(xi, a), scale3(k[1], _twice_slope(xi, h, a))))


@inline
def jr_curvature(xi, k, h, l, a):
    """Second derivative of J_r(xi) a along h and l."""
    xh, xl, hl = dot3(xi, h), dot3(xi, l), dot3(h, l)
    out = scale3(-(k[4] * xh * xl + k[2] * hl), cross(xi, a))
    out = axpy3(-k[2] * xh, cross(l, a), axpy3(-k[2] * xl, cross(h, a), out))
    out = axpy3(k[5] * xh * xl + k[3] * hl, _twice(xi, a), out)
    out = axpy3(k[3] * xh, _twice_slope(xi, l, a), axpy3(k[3] * xl, _twice_slope(xi, h, a), out))
    return axpy3(k[1], add3(cross(h, cross(l, a)), cross(l, cross(h, a))), out)


@inline
def jr_transposed(xi, k, a):
    """J_r(xi)^T a = J_l(xi) a."""
    return add3(axpy3(k[0], cross(xi, a), a), scale3(k[1], _twice(xi, a)))


@inline
def jl_inverse(xi, k, a):
    """J_l^-1(xi) a = J_r^-T(xi) a."""
    return add3(axpy3(-0.5, cross(xi, a), a), scale3(k[6], _twice(xi, a)))


@inline
def jr_inverse(xi, k, a):
    """J_r^-1(xi) a = J_l^-T(xi) a."""
    return add3(axpy3(0.5, cross(xi, a), a), scale3(k[6], _twice(xi, a)))


@inline
def jl_inverse_slope(xi, k, h, a):
    """Derivative of J_l^-1(xi) a along h."""
    out = axpy3(k[7] * dot3(xi, h), _twice(xi, a), scale3(k[6], _twice_slope(xi, h, a)))
    return axpy3(-0.5, cross(h, a), out)


@inline
def spring_torque(phi, k, stiffness):
    """Torque -J_r^-T(phi) K phi in the child's frame and the energy of a ball joint's spring at phi from its rest."""
    kp = (stiffness[0] * phi[0], stiffness[1] * phi[1], stiffness[2] * phi[2])
    return scale3(-1.0, jl_inverse(phi, k, kp)), 0.5 * dot3(kp, phi)


@inline
def spring_torque_slope(phi, k, stiffness, eta):
    """Derivative of `spring_torque` for a turn of the child by eta (3) in its own frame [rad]."""
    d = jr_inverse(phi, k, eta)
    kp = (stiffness[0] * phi[0], stiffness[1] * phi[1], stiffness[2] * phi[2])
    kd = (stiffness[0] * d[0], stiffness[1] * d[1], stiffness[2] * d[2])
    return sub3(scale3(-1.0, jl_inverse_slope(phi, k, d, kp)), jl_inverse(phi, k, kd))
