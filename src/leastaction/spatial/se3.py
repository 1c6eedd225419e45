"""Rigid transforms: a pose is ``(R, p)``, a rotation (9, row-major) and a position (3) [m].

A pose X of a child frame in a parent frame takes child coordinates to parent coordinates. The exponential map
takes a twist (3 + 3) [rad, m] to a pose. Its Jacobians are 6 x 6 matrices [[J, 0], [Q, J]], here ``(J, Q)``:
left dX X^-1 = J_l(V) dV, right X^-1 dX = J_r(V) dV.
"""

from leastaction._jit import inline
from leastaction.spatial._series import inverse_jacobian_term, jacobian_slopes, jacobian_terms
from leastaction.spatial.so3 import (
    EYE,
    left_jacobian,
    left_jacobian_inv,
    matmul,
    mattvec,
    matvec,
    rot_exp,
    rot_log,
    skew_polynomial,
    transpose,
)
from leastaction.spatial.twist import neg
from leastaction.spatial.vec3 import ZERO3, add3, axpy3, cross, dot3, neg3, scale3, sub3

IDENTITY = (EYE, ZERO3)
"""The pose of a frame in itself."""


@inline
def compose(X, Y):
    """Pose X Y (9 + 3): Y's child frame in X's parent frame."""
    return (matmul(X[0], Y[0]), add3(X[1], matvec(X[0], Y[1])))


@inline
def inverse(X):
    """Pose X^-1 (9 + 3): the parent frame in the child frame."""
    return (transpose(X[0]), neg3(mattvec(X[0], X[1])))


@inline
def act(X, point):
    """Point (3) [m] given in the child frame, in the parent frame: R point + p."""
    return add3(X[1], matvec(X[0], point))


@inline
def Ad(X, V):
    """Twist V (3 + 3) of the child frame, in the parent frame: Ad_X V."""
    w = matvec(X[0], V[0])
    return (w, add3(cross(X[1], w), matvec(X[0], V[1])))


@inline
def Ad_inv(X, V):
    """Twist V (3 + 3) of the parent frame, in the child frame: Ad_X^-1 V."""
    return (mattvec(X[0], V[0]), mattvec(X[0], sub3(V[1], cross(X[1], V[0]))))


@inline
def coAd(X, F):
    """Wrench F (3 + 3) of the child frame, in the parent frame: Ad_X^-T F."""
    f = matvec(X[0], F[1])
    return (add3(matvec(X[0], F[0]), cross(X[1], f)), f)


@inline
def coAd_inv(X, F):
    """Wrench F (3 + 3) of the parent frame, in the child frame: Ad_X^T F."""
    return (mattvec(X[0], sub3(F[0], cross(X[1], F[1]))), mattvec(X[0], F[1]))


@inline
def se3_exp(V):
    """Pose (9 + 3) reached by moving for unit time with the constant twist V (3 + 3) [rad, m]."""
    return (rot_exp(V[0]), matvec(left_jacobian(V[0]), V[1]))


@inline
def se3_log(X):
    """Twist (3 + 3) [rad, m] whose exponential is the pose X, by an angle of at most pi."""
    w = rot_log(X[0])
    return (w, matvec(left_jacobian_inv(w), X[1]))


@inline
def _coupling(w, v, t, b, c):
    """Lower left block Q (9) of the left Jacobian at (w, v), where t = |w|^2 and B(t) = b, C(t) = c.

    SE(3) is SO(3) over dual numbers, so Q is the derivative of the left Jacobian of SO(3) at w along v:
    Q = hat(k) + C (hat(v) hat(w) + hat(w) hat(v)) + e hat(w)^2, where hat(x) hat(y) = y x^T - (x . y) 1.
    """
    b_slope, c_slope = jacobian_slopes(t, b, c)
    wv = dot3(w, v)
    k = axpy3(b_slope * wv, w, scale3(b, v))
    e = c_slope * wv
    d = 2.0 * c * wv + e * t
    u = axpy3(0.5 * e, w, scale3(c, v))  # Q = hat(k) + u w^T + w u^T - d 1
    xy = u[0] * w[1] + w[0] * u[1]
    xz = u[0] * w[2] + w[0] * u[2]
    yz = u[1] * w[2] + w[1] * u[2]
    return (
        2.0 * u[0] * w[0] - d,
        xy - k[2],
        xz + k[1],
        xy + k[2],
        2.0 * u[1] * w[1] - d,
        yz - k[0],
        xz - k[1],
        yz + k[0],
        2.0 * u[2] * w[2] - d,
    )


@inline
def se3_left_jacobian(V):
    """Left Jacobian of se3_exp at V (3 + 3) [rad, m] as blocks (J, Q) (9 + 9)."""
    w, v = V
    t = dot3(w, w)
    b, c = jacobian_terms(t)
    return (skew_polynomial(w, b, c), _coupling(w, v, t, b, c))


@inline
def se3_right_jacobian(V):
    """Right Jacobian of se3_exp at V (3 + 3) [rad, m] as blocks (J, Q) (9 + 9): J_r(V) = J_l(-V)."""
    return se3_left_jacobian(neg(V))


@inline
def se3_left_jacobian_inv(V):
    """Inverse of the left Jacobian at V (3 + 3) [rad, m], |w| < 2 pi: blocks (9 + 9) (J^-1, -J^-1 Q J^-1)."""
    w, v = V
    t = dot3(w, w)
    b, c = jacobian_terms(t)
    J_inv = skew_polynomial(w, -0.5, inverse_jacobian_term(t, b, c))
    Q_minus = _coupling(w, neg3(v), t, b, c)  # Q is linear in v
    return (J_inv, matmul(J_inv, matmul(Q_minus, J_inv)))


@inline
def se3_right_jacobian_inv(V):
    """Inverse of the right Jacobian at V (3 + 3) [rad, m], |w| < 2 pi, as blocks (9 + 9)."""
    return se3_left_jacobian_inv(neg(V))


@inline
def block_apply(B, V):
    """The 6 x 6 matrix [[J, 0], [Q, J]] held as B = (J, Q), times V (3 + 3)."""
    J, Q = B
    return (matvec(J, V[0]), add3(matvec(Q, V[0]), matvec(J, V[1])))


@inline
def block_apply_transposed(B, F):
    """The transpose [[J^T, Q^T], [0, J^T]] of the matrix held as B = (J, Q), times F (3 + 3)."""
    J, Q = B
    return (add3(mattvec(J, F[0]), mattvec(Q, F[1])), mattvec(J, F[1]))
