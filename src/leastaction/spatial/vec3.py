"""Vectors in space: a vector is a tuple ``(x, y, z)``."""

import math

from leastaction._jit import inline

ZERO3 = (0.0, 0.0, 0.0)
"""The zero vector."""


@inline
def add3(a, b):
    """Sum a + b of two vectors (3)."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def sub3(a, b):
    """Difference a - b of two vectors (3)."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def neg3(a):
    """The vector -a (3)."""
    return (-a[0], -a[1], -a[2])


@inline
def scale3(k, a):
    """The vector k a (3), for a number k."""
    return (k * a[0], k * a[1], k * a[2])


@inline
def axpy3(k, a, b):
    """The vector k a + b (3), for a number k."""
    return (k * a[0] + b[0], k * a[1] + b[1], k * a[2] + b[2])


@inline
def dot3(a, b):
    """Inner product a . b, a number."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    """Cross product a x b (3)."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def norm3(a):
    """Euclidean length of a vector, in the vector's own unit."""
    return math.sqrt(dot3(a, a))
