"""Twists and wrenches, angular part first.

A twist is ``(omega, v)`` [rad/s, m/s], a wrench ``(tau, f)`` [N m, N]; each part is a vector (3). The linear
functions serve both, and momenta ``(angular, linear)`` [N m s, N s] as well.
"""

from leastaction._jit import inline
from leastaction.spatial.vec3 import ZERO3, add3, axpy3, cross, dot3, neg3, scale3, sub3

ZERO6 = (ZERO3, ZERO3)
"""The zero twist, or the zero wrench."""


@inline
def add(A, B):
    """Sum A + B of two twists, or two wrenches (3 + 3)."""
    return (add3(A[0], B[0]), add3(A[1], B[1]))


@inline
def sub(A, B):
    """Difference A - B of two twists, or two wrenches (3 + 3)."""
    return (sub3(A[0], B[0]), sub3(A[1], B[1]))


@inline
def neg(A):
    """The twist or wrench -A (3 + 3)."""
    return (neg3(A[0]), neg3(A[1]))


@inline
def scale(k, A):
    """The twist or wrench k A (3 + 3), for a number k."""
    return (scale3(k, A[0]), scale3(k, A[1]))


@inline
def axpy(k, A, B):
    """The twist or wrench k A + B (3 + 3), for a number k."""
    return (axpy3(k, A[0], B[0]), axpy3(k, A[1], B[1]))


@inline
def dot(A, B):
    """Pairing A . B, a number: of a wrench and a twist, the power [W]."""
    return dot3(A[0], B[0]) + dot3(A[1], B[1])


@inline
def ad(V, W):
    """Lie bracket [V, W] = ad_V W of two twists (3 + 3)."""
    return (cross(V[0], W[0]), add3(cross(V[1], W[0]), cross(V[0], W[1])))


@inline
def coad(V, F):
    """ad_V^T F (3 + 3), for a twist V and a wrench F: F . ad(V, W) = W . coad(V, F)."""
    return (add3(cross(F[0], V[0]), cross(F[1], V[1])), cross(F[1], V[0]))


@inline
def cross_motion(V, W):
    """Spatial cross product of motions V x W = ad_V W (3 + 3), the rate of a twist W carried along by V."""
    return ad(V, W)


@inline
def cross_force(V, F):
    """Spatial cross product V x* F = -ad_V^T F (3 + 3), the rate of a wrench F carried along by V."""
    return neg(coad(V, F))
