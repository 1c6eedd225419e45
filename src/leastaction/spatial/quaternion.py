"""Unit quaternions: scalar first ``(w, x, y, z)``, Hamilton product, local to world.

q and -q are the same rotation. Rotation vectors are in rad.
"""

import math

from leastaction._jit import inline
from leastaction.spatial._series import cosine_and_sinc
from leastaction.spatial.vec3 import add3, axpy3, cross, dot3, scale3

QUAT_ID = (1.0, 0.0, 0.0, 0.0)
"""The quaternion of no rotation."""


@inline
def quat_mul(a, b):
    """Hamilton product a b (4): rotate by b, then by a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inline
def quat_conj(q):
    """Conjugate (4), the inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


@inline
def quat_normalize(q):
    """q divided by its length (4). A zero quaternion gives NaN."""
    k = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    w, x, y, z = k * q[0], k * q[1], k * q[2], k * q[3]
    # Division rounds with a bias that adds up over many steps; one correction by what is left takes most of it out.
    e = -0.5 * ((w * w - 1.0) + x * x + y * y + z * z)
    return (w + e * w, x + e * x, y + e * y, z + e * z)


@inline
def quat_rotate(q, a):
    """Vector a (3) of the local frame, in the world frame; q a unit quaternion."""
    u = (q[1], q[2], q[3])
    s = scale3(2.0, cross(u, a))
    return add3(axpy3(q[0], s, a), cross(u, s))


@inline
def quat_to_rotation(q):
    """Rotation matrix (9, row-major) of a unit quaternion."""
    w, x, y, z = q
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@inline
def quat_from_rotation(R):
    """Unit quaternion (4) of a rotation matrix (9, row-major), scalar part of either sign.

    Shepperd's method: divide by the largest of the four components, so that no digits are lost.
    """
    trace = R[0] + R[4] + R[8]
    if trace >= R[0] and trace >= R[4] and trace >= R[8]:
        q = (1.0 + trace, R[7] - R[5], R[2] - R[6], R[3] - R[1])
    elif R[0] >= R[4] and R[0] >= R[8]:
        q = (R[7] - R[5], 1.0 + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6])
    elif R[4] >= R[8]:
        q = (R[2] - R[6], R[1] + R[3], 1.0 + R[4] - R[0] - R[8], R[5] + R[7])
    else:
        q = (R[3] - R[1], R[2] + R[6], R[5] + R[7], 1.0 + R[8] - R[0] - R[4])
    return quat_normalize(q)


@inline
def quat_exp(w):
    """Unit quaternion (4) of a rotation vector w (3) [rad]."""
    cosine, k = cosine_and_sinc(0.25 * dot3(w, w))
    k *= 0.5
    return (cosine, k * w[0], k * w[1], k * w[2])


@inline
def quat_log(q):
    """Rotation vector (3) [rad] of a unit quaternion, of length at most pi; accurate near 0 and near pi."""
    sine2 = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if sine2 < 1e-30:
        k = 2.0 / q[0]
    else:
        sine = math.sqrt(sine2)
        angle = math.atan2(sine, abs(q[0]))
        k = math.copysign(2.0 * angle / sine, q[0])
    return (k * q[1], k * q[2], k * q[3])
