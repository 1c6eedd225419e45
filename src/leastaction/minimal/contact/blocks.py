"""Articulated blocks: 6x6 matrices of a body and its subtree, as six columns A0 ... A5 that stay in registers."""

from leastaction._jit import inline
from leastaction.minimal.contact.row_vec6 import accumulate, plus_stored
from leastaction.minimal.vec6 import ZEROS, plus, times
from leastaction.spatial import scale3

NO_BLOCK = (ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS)


@inline
def has_inertia(node):
    """Whether a body has mass or, as in some files, moments of inertia alone."""
    return node.mass > 0.0 or node.Ic[0] + node.Ic[3] + node.Ic[5] > 0.0


@inline
def with_body(A, T, k, x0, x1):
    """A block plus that of a body: T (9) for rotations, k times the identity for translations from x0 to x1."""
    A0, A1, A2, A3, A4, A5 = A
    X, Y = scale3(k, x0), scale3(k, x1)
    s = x0[0] * Y[0] + x0[1] * Y[1] + x0[2] * Y[2]
    A0 = (
        A0[0] + T[0] + s - Y[0] * x0[0],
        A0[1] + T[3] - Y[1] * x0[0],
        A0[2] + T[6] - Y[2] * x0[0],
        A0[3],
        A0[4] - Y[2],
        A0[5] + Y[1],
    )
    A1 = (
        A1[0] + T[1] - Y[0] * x0[1],
        A1[1] + T[4] + s - Y[1] * x0[1],
        A1[2] + T[7] - Y[2] * x0[1],
        A1[3] + Y[2],
        A1[4],
        A1[5] - Y[0],
    )
    A2 = (
        A2[0] + T[2] - Y[0] * x0[2],
        A2[1] + T[5] - Y[1] * x0[2],
        A2[2] + T[8] + s - Y[2] * x0[2],
        A2[3] - Y[1],
        A2[4] + Y[0],
        A2[5],
    )
    A3 = (A3[0], A3[1] + X[2], A3[2] - X[1], A3[3] + k, A3[4], A3[5])
    A4 = (A4[0] - X[2], A4[1], A4[2] + X[0], A4[3], A4[4] + k, A4[5])
    A5 = (A5[0] + X[1], A5[1] - X[0], A5[2], A5[3], A5[4], A5[5] + k)
    return A0, A1, A2, A3, A4, A5


@inline
def column_of(A, S):
    """A S."""
    col = plus(S[3], A[3], plus(S[4], A[4], plus(S[5], A[5], ZEROS)))
    return plus(S[0], A[0], plus(S[1], A[1], plus(S[2], A[2], col)))


@inline
def row_of(S, A):
    """S^T A."""
    return (times(S, A[0]), times(S, A[1]), times(S, A[2]), times(S, A[3]), times(S, A[4]), times(S, A[5]))


@inline
def without_joint(A, row, col, D):
    """A - D col row, the block that a parent sees through a joint with the pivot 1 / D."""
    return (
        plus(-D * row[0], col, A[0]),
        plus(-D * row[1], col, A[1]),
        plus(-D * row[2], col, A[2]),
        plus(-D * row[3], col, A[3]),
        plus(-D * row[4], col, A[4]),
        plus(-D * row[5], col, A[5]),
    )


@inline
def leave(waiting, A):
    """Add a block to the sum at a branch, in the first 36 numbers of its row."""
    accumulate(waiting, 0, A[0])
    accumulate(waiting, 6, A[1])
    accumulate(waiting, 12, A[2])
    accumulate(waiting, 18, A[3])
    accumulate(waiting, 24, A[4])
    accumulate(waiting, 30, A[5])


@inline
def gather(waiting, A):
    """A block plus the sum at a branch."""
    return (
        plus_stored(waiting, 0, A[0]),
        plus_stored(waiting, 6, A[1]),
        plus_stored(waiting, 12, A[2]),
        plus_stored(waiting, 18, A[3]),
        plus_stored(waiting, 24, A[4]),
        plus_stored(waiting, 30, A[5]),
    )
