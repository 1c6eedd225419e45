"""Rotations: a rotation, like any 3 x 3 matrix, is a row-major 9-tuple. Rotation vectors are in rad.

Jacobians of the exponential map R = rot_exp(w), with hat(a) b = a x b:
left dR R^T = hat(J_l(w) dw), right R^T dR = hat(J_r(w) dw), and J_l(w) = J_r(-w) = J_r(w)^T.
"""

from leastaction._jit import inline
from leastaction.spatial._series import inverse_jacobian_term, jacobian_slopes, jacobian_terms
from leastaction.spatial.quaternion import quat_exp, quat_from_rotation, quat_log, quat_to_rotation
from leastaction.spatial.vec3 import add3, axpy3, cross, dot3, neg3, scale3

EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
"""The identity matrix, the rotation by nothing."""


@inline
def matvec(R, a):
    """Matrix (9) times vector (3): R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inline
def mattvec(R, a):
    """Transposed matrix (9) times vector (3): R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inline
def matmul(A, B):
    """Product A B (9) of two matrices."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inline
def transpose(R):
    """Transpose R^T (9), the inverse of a rotation."""
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@inline
def mattmul(A, B):
    """Product A^T B (9) of two matrices."""
    return matmul(transpose(A), B)


@inline
def matmult(A, B):
    """Product A B^T (9) of two matrices."""
    return matmul(A, transpose(B))


@inline
def column(A, k):
    """Column k (3) of a matrix; k may be known at run time only."""
    if k == 0:
        return (A[0], A[3], A[6])
    if k == 1:
        return (A[1], A[4], A[7])
    return (A[2], A[5], A[8])


@inline
def hat(a):
    """Skew matrix (9) of a vector: hat(a) b = a x b."""
    return (0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0)


@inline
def vee(A):
    """Vector (3) of the skew part of a matrix: vee(hat(a)) = a."""
    return (0.5 * (A[7] - A[5]), 0.5 * (A[2] - A[6]), 0.5 * (A[3] - A[1]))


@inline
def axis_rotation(axis, sin, cos):
    """Rotation (9) about a unit axis (3) by the angle with this sine and cosine (Rodrigues)."""
    x, y, z = axis
    k = 1.0 - cos
    return (
        cos + k * x * x,
        k * x * y - sin * z,
        k * x * z + sin * y,
        k * x * y + sin * z,
        cos + k * y * y,
        k * y * z - sin * x,
        k * x * z - sin * y,
        k * y * z + sin * x,
        cos + k * z * z,
    )


@inline
def rot_exp(w):
    """Rotation (9) by a rotation vector w (3) [rad]."""
    return quat_to_rotation(quat_exp(w))


@inline
def rot_log(R):
    """Rotation vector (3) [rad] of a rotation (9), of length at most pi; accurate near 0 and near pi."""
    return quat_log(quat_from_rotation(R))


@inline
def skew_polynomial(w, k1, k2):
    """Matrix (9) 1 + k1 hat(w) + k2 hat(w)^2 of a vector w (3)."""
    x, y, z = w
    return (
        1.0 - k2 * (y * y + z * z),
        k2 * x * y - k1 * z,
        k2 * x * z + k1 * y,
        k2 * x * y + k1 * z,
        1.0 - k2 * (x * x + z * z),
        k2 * y * z - k1 * x,
        k2 * x * z - k1 * y,
        k2 * y * z + k1 * x,
        1.0 - k2 * (x * x + y * y),
    )


@inline
def left_jacobian(w):
    """Left Jacobian J_l(w) (9) at a rotation vector w (3) [rad]: dR R^T = hat(J_l(w) dw)."""
    b, c = jacobian_terms(dot3(w, w))
    return skew_polynomial(w, b, c)


@inline
def right_jacobian(w):
    """Right Jacobian J_r(w) (9) at a rotation vector w (3) [rad]: R^T dR = hat(J_r(w) dw)."""
    b, c = jacobian_terms(dot3(w, w))
    return skew_polynomial(w, -b, c)


@inline
def left_jacobian_inv(w):
    """Inverse of the left Jacobian (9) at a rotation vector w (3) [rad], |w| < 2 pi."""
    t = dot3(w, w)
    b, c = jacobian_terms(t)
    return skew_polynomial(w, -0.5, inverse_jacobian_term(t, b, c))


@inline
def right_jacobian_inv(w):
    """Inverse of the right Jacobian (9) at a rotation vector w (3) [rad], |w| < 2 pi."""
    return left_jacobian_inv(neg3(w))


@inline
def left_jacobian_dot(w, wdot, a):
    """d/dt[J_l(w)] a (3): the left Jacobian at w (3) [rad], derived along wdot (3) [rad/s], times a (3)."""
    t = dot3(w, w)
    s = dot3(w, wdot)
    b, c = jacobian_terms(t)
    b_slope, c_slope = jacobian_slopes(t, b, c)
    wa = cross(w, a)
    wda = cross(wdot, a)
    first = axpy3(b_slope * s, wa, scale3(b, wda))
    second = axpy3(c_slope * s, cross(w, wa), scale3(c, add3(cross(wdot, wa), cross(w, wda))))
    return add3(first, second)


@inline
def right_jacobian_dot(w, wdot, a):
    """d/dt[J_r(w)] a (3): the right Jacobian at w (3) [rad], derived along wdot (3) [rad/s], times a (3)."""
    return left_jacobian_dot(neg3(w), neg3(wdot), a)
