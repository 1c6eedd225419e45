"""Spatial inertias: ``(m, h, I)`` with mass m [kg], first moment h = m com (3) [kg m] and rotational inertia
I (6) [kg m^2] about the frame's origin.

A symmetric 3 x 3 matrix is a 6-tuple ``(xx, xy, xz, yy, yz, zz)`` of the matrix's own entries, so products of
inertia carry their minus sign.
"""

from leastaction._jit import inline
from leastaction.spatial.so3 import matvec
from leastaction.spatial.vec3 import add3, axpy3, cross, dot3, scale3, sub3


@inline
def symvec(S, a):
    """Symmetric matrix (6) times vector (3): S a."""
    return (
        S[0] * a[0] + S[1] * a[1] + S[2] * a[2],
        S[1] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[2] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@inline
def _add_sym(A, B):
    """Sum A + B of two symmetric matrices (6)."""
    return (A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@inline
def _moment(a, b):
    """Symmetric matrix (6) of (a . b) 1 - (a b^T + b a^T) / 2, for vectors a and b (3)."""
    xx, yy, zz = a[0] * b[0], a[1] * b[1], a[2] * b[2]
    return (
        yy + zz,
        -0.5 * (a[0] * b[1] + a[1] * b[0]),
        -0.5 * (a[0] * b[2] + a[2] * b[0]),
        xx + zz,
        -0.5 * (a[1] * b[2] + a[2] * b[1]),
        xx + yy,
    )


@inline
def rotate_sym(R, S):
    """Symmetric matrix (6) R S R^T, for a rotation R (9)."""
    u, v, w = (R[0], R[1], R[2]), (R[3], R[4], R[5]), (R[6], R[7], R[8])
    Su, Sv, Sw = symvec(S, u), symvec(S, v), symvec(S, w)
    return (dot3(u, Su), dot3(u, Sv), dot3(u, Sw), dot3(v, Sv), dot3(v, Sw), dot3(w, Sw))


@inline
def inertia_from_com(m, com, Ic):
    """Spatial inertia from mass m [kg], centre of mass com (3) [m] and inertia Ic (6) [kg m^2] about it."""
    h = scale3(m, com)
    return (m, h, _add_sym(Ic, _moment(h, com)))


@inline
def inertia_transform(X, M):
    """Spatial inertia M of the child frame, in the parent frame; X is the child's pose (9 + 3)."""
    R, p = X
    m, h, S = M
    Rh = matvec(R, h)
    h_parent = axpy3(m, p, Rh)
    # I = R I R^T + [p, h]: shift by p, with (2 R h + m p) = h_parent + R h.
    return (m, h_parent, _add_sym(rotate_sym(R, S), _moment(p, add3(h_parent, Rh))))


@inline
def world_inertia(R, p, m, com, Ic):
    """Spatial inertia in the world frame, about its origin, of a body at rotation R (9), position p (3) [m].

    The body has mass m [kg], centre of mass com (3) [m] in its own frame, inertia Ic (6) [kg m^2] about it.
    """
    return inertia_from_com(m, add3(p, matvec(R, com)), rotate_sym(R, Ic))


@inline
def add_inertia(A, B):
    """Sum of two spatial inertias about the same origin: the two bodies welded together."""
    return (A[0] + B[0], add3(A[1], B[1]), _add_sym(A[2], B[2]))


@inline
def momentum(M, V):
    """Spatial momentum M V (3 + 3) [N m s, N s] of an inertia moving with the twist V [rad/s, m/s]."""
    m, h, S = M
    return (add3(symvec(S, V[0]), cross(h, V[1])), sub3(scale3(m, V[1]), cross(h, V[0])))


@inline
def kinetic(M, V):
    """Kinetic energy [J] of an inertia moving with the twist V (3 + 3) [rad/s, m/s]: V . M V / 2."""
    m, h, S = M
    w, v = V
    return 0.5 * (dot3(w, symvec(S, w)) + m * dot3(v, v)) + dot3(w, cross(h, v))


@inline
def gravity_wrench(M, g):
    """Wrench (3 + 3) [N m, N] about the frame's origin of the uniform gravity g (3) [m/s^2] on an inertia."""
    return (cross(M[1], g), scale3(M[0], g))
