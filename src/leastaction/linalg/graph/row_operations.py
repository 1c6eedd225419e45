"""The basic operation of all block algebra here: subtract a linear combination of rows from a row.

    C_j -= sum_l A_l B_lj        for the m columns j

Rows are short (6, 5, 4, 3, 1), so for a fixed number of columns their sums are kept in registers; loops over the
columns would be several times slower.
"""

import numpy as np

from leastaction._jit import routine

U = np.uint64
"""Index type: unsigned indices are not tested for negative values, which would cost more than the arithmetic."""

ZERO, ONE, TWO, THREE = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
FOUR, FIVE, SIX = np.int64(4), np.int64(5), np.int64(6)
"""NumPy's integers, since kernels are compiled anew for each literal; after inlining they remain constants."""

FEW = 16
"""Number of columns above which a loop, which the compiler vectorises, is the fastest."""

borrowing = routine(allocates=False, vectors=True)
"""Decorator of a kernel without reference counting of its arrays, which would cost as much as a block's arithmetic."""

in_order = routine(allocates=False, forceinline=True, fastmath={"contract", "nsz", "arcp"})
"""`borrowing`, inlined, without reassociation of sums: the compiler would vectorise over l, with strided access."""


@in_order
def row6(A, a, k, B, b, stride, C, c):
    """Six columns: C[c …] -= sum of A[a + l] B[b + l stride …] over l < k."""
    c0, c1, c2, c3, c4, c5 = C[U(c)], C[U(c + 1)], C[U(c + 2)], C[U(c + 3)], C[U(c + 4)], C[U(c + 5)]
    for l in range(k):
        t, i = A[U(a + l)], b + l * stride
        c0 -= t * B[U(i)]
        c1 -= t * B[U(i + 1)]
        c2 -= t * B[U(i + 2)]
        c3 -= t * B[U(i + 3)]
        c4 -= t * B[U(i + 4)]
        c5 -= t * B[U(i + 5)]
    C[U(c)], C[U(c + 1)], C[U(c + 2)], C[U(c + 3)], C[U(c + 4)], C[U(c + 5)] = c0, c1, c2, c3, c4, c5


@in_order
def row5(A, a, k, B, b, stride, C, c):
    """Five columns: C[c …] -= sum of A[a + l] B[b + l stride …] over l < k."""
    c0, c1, c2, c3, c4 = C[U(c)], C[U(c + 1)], C[U(c + 2)], C[U(c + 3)], C[U(c + 4)]
    for l in range(k):
        t, i = A[U(a + l)], b + l * stride
        c0 -= t * B[U(i)]
        c1 -= t * B[U(i + 1)]
        c2 -= t * B[U(i + 2)]
        c3 -= t * B[U(i + 3)]
        c4 -= t * B[U(i + 4)]
    C[U(c)], C[U(c + 1)], C[U(c + 2)], C[U(c + 3)], C[U(c + 4)] = c0, c1, c2, c3, c4


@in_order
def row4(A, a, k, B, b, stride, C, c):
    """Four columns: C[c …] -= sum of A[a + l] B[b + l stride …] over l < k."""
    c0, c1, c2, c3 = C[U(c)], C[U(c + 1)], C[U(c + 2)], C[U(c + 3)]
    for l in range(k):
        t, i = A[U(a + l)], b + l * stride
        c0 -= t * B[U(i)]
        c1 -= t * B[U(i + 1)]
        c2 -= t * B[U(i + 2)]
        c3 -= t * B[U(i + 3)]
    C[U(c)], C[U(c + 1)], C[U(c + 2)], C[U(c + 3)] = c0, c1, c2, c3


@in_order
def row3(A, a, k, B, b, stride, C, c):
    """Three columns: C[c …] -= sum of A[a + l] B[b + l stride …] over l < k."""
    c0, c1, c2 = C[U(c)], C[U(c + 1)], C[U(c + 2)]
    for l in range(k):
        t, i = A[U(a + l)], b + l * stride
        c0 -= t * B[U(i)]
        c1 -= t * B[U(i + 1)]
        c2 -= t * B[U(i + 2)]
    C[U(c)], C[U(c + 1)], C[U(c + 2)] = c0, c1, c2


@in_order
def row2(A, a, k, B, b, stride, C, c):
    """Two columns: C[c …] -= sum of A[a + l] B[b + l stride …] over l < k."""
    c0, c1 = C[U(c)], C[U(c + 1)]
    for l in range(k):
        t, i = A[U(a + l)], b + l * stride
        c0 -= t * B[U(i)]
        c1 -= t * B[U(i + 1)]
    C[U(c)], C[U(c + 1)] = c0, c1


@in_order
def row1(A, a, k, B, b, stride, C, c):
    """One column: C[c] -= sum of A[a + l] B[b + l stride] over l < k."""
    c0 = C[U(c)]
    for l in range(k):
        c0 -= A[U(a + l)] * B[U(b + l * stride)]
    C[U(c)] = c0


@in_order
def back6(V, d, k, b, c):
    """Six columns: C <- (C - sum of V[d + 1 + l] B_l) V[d] over l < k, last first, for the rows at b and that at c.

    One row of a backward substitution: the unknown computed last is subtracted last.
    """
    c0, c1, c2, c3, c4, c5 = V[U(c)], V[U(c + 1)], V[U(c + 2)], V[U(c + 3)], V[U(c + 4)], V[U(c + 5)]
    for l in range(k):
        t, i = V[U(d + k - l)], b + (k - 1 - l) * 6
        c0 -= t * V[U(i)]
        c1 -= t * V[U(i + 1)]
        c2 -= t * V[U(i + 2)]
        c3 -= t * V[U(i + 3)]
        c4 -= t * V[U(i + 4)]
        c5 -= t * V[U(i + 5)]
    t = V[U(d)]
    c0, c1, c2, c3, c4, c5 = t * c0, t * c1, t * c2, t * c3, t * c4, t * c5
    V[U(c)], V[U(c + 1)], V[U(c + 2)], V[U(c + 3)], V[U(c + 4)], V[U(c + 5)] = c0, c1, c2, c3, c4, c5


@in_order
def back5(V, d, k, b, c):
    """`back6` for five columns."""
    c0, c1, c2, c3, c4 = V[U(c)], V[U(c + 1)], V[U(c + 2)], V[U(c + 3)], V[U(c + 4)]
    for l in range(k):
        t, i = V[U(d + k - l)], b + (k - 1 - l) * 5
        c0 -= t * V[U(i)]
        c1 -= t * V[U(i + 1)]
        c2 -= t * V[U(i + 2)]
        c3 -= t * V[U(i + 3)]
        c4 -= t * V[U(i + 4)]
    t = V[U(d)]
    V[U(c)], V[U(c + 1)], V[U(c + 2)], V[U(c + 3)], V[U(c + 4)] = t * c0, t * c1, t * c2, t * c3, t * c4


@in_order
def back4(V, d, k, b, c):
    """`back6` for four columns."""
    c0, c1, c2, c3 = V[U(c)], V[U(c + 1)], V[U(c + 2)], V[U(c + 3)]
    for l in range(k):
        t, i = V[U(d + k - l)], b + (k - 1 - l) * 4
        c0 -= t * V[U(i)]
        c1 -= t * V[U(i + 1)]
        c2 -= t * V[U(i + 2)]
        c3 -= t * V[U(i + 3)]
    t = V[U(d)]
    V[U(c)], V[U(c + 1)], V[U(c + 2)], V[U(c + 3)] = t * c0, t * c1, t * c2, t * c3


@in_order
def back3(V, d, k, b, c):
    """`back6` for three columns."""
    c0, c1, c2 = V[U(c)], V[U(c + 1)], V[U(c + 2)]
    for l in range(k):
        t, i = V[U(d + k - l)], b + (k - 1 - l) * 3
        c0 -= t * V[U(i)]
        c1 -= t * V[U(i + 1)]
        c2 -= t * V[U(i + 2)]
    t = V[U(d)]
    V[U(c)], V[U(c + 1)], V[U(c + 2)] = t * c0, t * c1, t * c2


@borrowing
def subtract_rows(A, a, k, B, b, C, c, m):
    """Any number m of columns: C[c …] -= sum of A[a + l] B[b + l m …] over l < k."""
    if m > FEW:
        for l in range(k):
            t = A[U(a + l)]
            for j in range(m):
                C[U(c + j)] -= t * B[U(b + l * m + j)]
        return
    j = 0
    while j + 6 <= m:
        row6(A, a, k, B, b + j, m, C, c + j)
        j += 6
    if j + 3 <= m:
        row3(A, a, k, B, b + j, m, C, c + j)
        j += 3
    if j + 2 <= m:
        row2(A, a, k, B, b + j, m, C, c + j)
        j += 2
    elif j < m:
        row1(A, a, k, B, b + j, m, C, c + j)


@in_order
def solve_column3(values, d, X, x, stride):
    """X <- (L U)^-1 X for the factored 3 x 3 block at d and the column X[x], X[x + stride], …"""
    x0, x1, x2 = X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)]
    x1 -= values[U(d + 3)] * x0
    x2 -= values[U(d + 6)] * x0 + values[U(d + 7)] * x1
    x2 *= values[U(d + 8)]
    x1 = (x1 - values[U(d + 5)] * x2) * values[U(d + 4)]
    x0 = (x0 - values[U(d + 1)] * x1 - values[U(d + 2)] * x2) * values[U(d)]
    X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)] = x0, x1, x2


@in_order
def solve_column4(values, d, X, x, stride):
    """X <- (L U)^-1 X for the factored 4 x 4 block at d and the column X[x], X[x + stride], …"""
    x0, x1, x2, x3 = X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)], X[U(x + 3 * stride)]
    x1 -= values[U(d + 4)] * x0
    x2 -= values[U(d + 8)] * x0
    x3 -= values[U(d + 12)] * x0
    x2 -= values[U(d + 9)] * x1
    x3 -= values[U(d + 13)] * x1
    x3 = (x3 - values[U(d + 14)] * x2) * values[U(d + 15)]
    x2 = (x2 - values[U(d + 11)] * x3) * values[U(d + 10)]
    x1 -= values[U(d + 7)] * x3
    x0 -= values[U(d + 3)] * x3
    x1 = (x1 - values[U(d + 6)] * x2) * values[U(d + 5)]
    x0 -= values[U(d + 2)] * x2
    x0 = (x0 - values[U(d + 1)] * x1) * values[U(d)]
    X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)], X[U(x + 3 * stride)] = x0, x1, x2, x3


@in_order
def solve_column5(values, d, X, x, stride):
    """X <- (L U)^-1 X for the factored 5 x 5 block at d and the column X[x], X[x + stride], …"""
    x0, x1, x2 = X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)]
    x3, x4 = X[U(x + 3 * stride)], X[U(x + 4 * stride)]
    x1 -= values[U(d + 5)] * x0
    x2 -= values[U(d + 10)] * x0
    x3 -= values[U(d + 15)] * x0
    x4 -= values[U(d + 20)] * x0
    x2 -= values[U(d + 11)] * x1
    x3 -= values[U(d + 16)] * x1
    x4 -= values[U(d + 21)] * x1
    x3 -= values[U(d + 17)] * x2
    x4 -= values[U(d + 22)] * x2
    x4 = (x4 - values[U(d + 23)] * x3) * values[U(d + 24)]
    x3 = (x3 - values[U(d + 19)] * x4) * values[U(d + 18)]
    x2 -= values[U(d + 14)] * x4
    x1 -= values[U(d + 9)] * x4
    x0 -= values[U(d + 4)] * x4
    x2 = (x2 - values[U(d + 13)] * x3) * values[U(d + 12)]
    x1 -= values[U(d + 8)] * x3
    x0 -= values[U(d + 3)] * x3
    x1 = (x1 - values[U(d + 7)] * x2) * values[U(d + 6)]
    x0 -= values[U(d + 2)] * x2
    x0 = (x0 - values[U(d + 1)] * x1) * values[U(d)]
    X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)] = x0, x1, x2
    X[U(x + 3 * stride)], X[U(x + 4 * stride)] = x3, x4


@in_order
def solve_column6(values, d, X, x, stride):
    """X <- (L U)^-1 X for the factored 6 x 6 block at d and the column X[x], X[x + stride], …"""
    x0, x1, x2 = X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)]
    x3, x4, x5 = X[U(x + 3 * stride)], X[U(x + 4 * stride)], X[U(x + 5 * stride)]
    x1 -= values[U(d + 6)] * x0
    x2 -= values[U(d + 12)] * x0
    x3 -= values[U(d + 18)] * x0
    x4 -= values[U(d + 24)] * x0
    x5 -= values[U(d + 30)] * x0
    x2 -= values[U(d + 13)] * x1
    x3 -= values[U(d + 19)] * x1
    x4 -= values[U(d + 25)] * x1
    x5 -= values[U(d + 31)] * x1
    x3 -= values[U(d + 20)] * x2
    x4 -= values[U(d + 26)] * x2
    x5 -= values[U(d + 32)] * x2
    x4 -= values[U(d + 27)] * x3
    x5 -= values[U(d + 33)] * x3
    x5 = (x5 - values[U(d + 34)] * x4) * values[U(d + 35)]
    x4 = (x4 - values[U(d + 29)] * x5) * values[U(d + 28)]
    x3 -= values[U(d + 23)] * x5
    x2 -= values[U(d + 17)] * x5
    x1 -= values[U(d + 11)] * x5
    x0 -= values[U(d + 5)] * x5
    x3 = (x3 - values[U(d + 22)] * x4) * values[U(d + 21)]
    x2 -= values[U(d + 16)] * x4
    x1 -= values[U(d + 10)] * x4
    x0 -= values[U(d + 4)] * x4
    x2 = (x2 - values[U(d + 15)] * x3) * values[U(d + 14)]
    x1 -= values[U(d + 9)] * x3
    x0 -= values[U(d + 3)] * x3
    x1 = (x1 - values[U(d + 8)] * x2) * values[U(d + 7)]
    x0 -= values[U(d + 2)] * x2
    x0 = (x0 - values[U(d + 1)] * x1) * values[U(d)]
    X[U(x)], X[U(x + stride)], X[U(x + 2 * stride)] = x0, x1, x2
    X[U(x + 3 * stride)], X[U(x + 4 * stride)], X[U(x + 5 * stride)] = x3, x4, x5
