"""Fourth-order central differences by the poses of bodies, for functions of contacts."""

import math

from leastaction._jit import inline
from leastaction.spatial import axpy3, matmul

STEP = 1e-5
"""Displacements [rad; lengths relative to the reach of a body]: the round-off is about 1e-11. Points where normals have
a kink, such as the ends of edges, are seldom this close. Gradients of a grasping hand by the place of a shape err by
3e-8; with 1e-4 by 2.9e-4, as differences cross the end of a face (`tests/derivatives/test_ends_of_faces.py`)."""


@inline
def stencil(k):
    """Return offset and weight k (0 to 3) of the fourth-order central difference, for a unit step."""
    offset = k - 2.0 if k < 2 else k - 1.0
    weight = 2.0 / 3.0 if abs(offset) == 1.0 else 1.0 / 12.0
    return offset, math.copysign(weight, offset if abs(offset) == 1.0 else -offset)


@inline
def turned(R, axis, d):
    """R rotated by the small angle d about a world axis."""
    # Cayley map: exact up to d^3; the fourth-order difference removes that error.
    h = 0.5 * d
    e = (h if axis == 0 else 0.0, h if axis == 1 else 0.0, h if axis == 2 else 0.0)
    k = 2.0 / (1.0 + h * h)
    # 1 + k (e x) + k (e x)^2
    K = (0.0, -e[2], e[1], e[2], 0.0, -e[0], -e[1], e[0], 0.0)
    KK = matmul(K, K)
    T = (
        *(1.0 + k * KK[0], k * (K[1] + KK[1]), k * (K[2] + KK[2])),
        *(k * (K[3] + KK[3]), 1.0 + k * KK[4], k * (K[5] + KK[5])),
        *(k * (K[6] + KK[6]), k * (K[7] + KK[7]), 1.0 + k * KK[8]),
    )
    return matmul(T, R)


@inline
def displaced(X, axis, d):
    """A pose rotated about its origin (axis 0, 1, 2) or translated (3, 4, 5) along a world axis."""
    R, p = X
    if axis < 3:
        return turned(R, axis, d), p
    e = (1.0 if axis == 3 else 0.0, 1.0 if axis == 4 else 0.0, 1.0 if axis == 5 else 0.0)
    return R, axpy3(d, e, p)
