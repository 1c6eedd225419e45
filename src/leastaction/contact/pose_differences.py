"""Central differences of order 4 by the poses of bodies, for what contacts are functions of."""

import math

from leastaction._jit import inline
from leastaction.spatial import axpy3, matmul

STEP = 1e-5
"""Displacements [rad; lengths relative to the reach of a body]: round-off is about 1e-11, and the ends of edges, where
normals have a kink, are seldom as near."""


@inline
def stencil(k):
    """Offset and weight k (0 to 3) of a central difference of fourth order, for a unit step."""
    offset = k - 2.0 if k < 2 else k - 1.0
    weight = 2.0 / 3.0 if abs(offset) == 1.0 else 1.0 / 12.0
    return offset, math.copysign(weight, offset if abs(offset) == 1.0 else -offset)


@inline
def turned(R, axis, d):
    """R turned by the small angle d about an axis of the world."""
    # Cayley's map: exact to d^3, and what is left of that the difference of fourth order removes.
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
    """A pose turned about its origin (axis 0, 1, 2) or shifted along (3, 4, 5) an axis of the world."""
    R, p = X
    if axis < 3:
        return turned(R, axis, d), p
    e = (1.0 if axis == 3 else 0.0, 1.0 if axis == 4 else 0.0, 1.0 if axis == 5 else 0.0)
    return R, axpy3(d, e, p)
