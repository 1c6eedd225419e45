"""Small dense blocks in flat arrays: factor in place, solve, subtract a product.

A block of n rows and m columns begins at an offset and is stored in row-major order.
"""

import numpy as np

from leastaction.linalg.graph.row_operations import (
    FEW,
    FIVE,
    FOUR,
    ONE,
    SIX,
    THREE,
    U,
    borrowing,
    in_order,
    row1,
    row3,
    row4,
    row5,
    row6,
    solve_column3,
    solve_column4,
    solve_column5,
    solve_column6,
    subtract_rows,
)

_ROUND_OFF = 1e14
"""A sum smaller than its largest term over this is round-off."""

_ENOUGH = 0.1
"""Threshold pivoting: rows are swapped only if the best pivot exceeds the current one by the inverse of this factor.
Swaps are hard to predict, and a mispredicted branch costs as much as a row of a block (Duff, Erisman and Reid, Direct
Methods for Sparse Matrices, Section 5.3)."""

_GOOD = 0.01
"""Size of a pivot, relative to its row's terms, above which no better one is searched for."""


@borrowing
def swap_rows(X, x, m, i, j):
    """Swap rows i and j of the block at x, which has m columns."""
    for c in range(m):
        swap = X[U(x + i * m + c)]
        X[U(x + i * m + c)] = X[U(x + j * m + c)]
        X[U(x + j * m + c)] = swap


@in_order
def swap_to_pivots(pivots, row, n, X, x, m):
    """Apply the row swaps of a factored block to the n x m block at x of the array X."""
    for k in range(n):
        pivot = np.int64(pivots[U(row + k), 0])
        if pivot != k:
            swap_rows(X, x, m, k, pivot)


@in_order
def swap_back(pivots, row, n, X, x, m):
    """Undo the column swaps of a factored block in the rows of a solution."""
    for k in range(n - 1, -1, -1):
        pivot = np.int64(pivots[U(row + k), 1])
        if pivot != k:
            swap_rows(X, x, m, k, pivot)


@in_order
def eliminate_column(values, d, n, k):
    """Eliminate the entries below the pivot (k, k) of the n x n block at d."""
    inverse = 1.0 / values[U(d + k * n + k)]
    values[U(d + k * n + k)] = inverse
    for r in range(k + 1, n):
        t = values[U(d + r * n + k)] * inverse
        values[U(d + r * n + k)] = t
        for c in range(k + 1, n):
            values[U(d + r * n + c)] -= t * values[U(d + k * n + c)]


@borrowing
def factor_block(values, d, n, pivots, row):
    """LU factorisation of the n x n block at d, in place with row pivoting; the diagonal stores the inverse pivots.

    Returns False if a pivot vanishes. pivots (rows, 2): swaps of rows and columns, from `row` on.
    """
    for k in range(n):
        own = abs(values[U(d + k * n + k)])
        pivot, best = k, own
        for r in range(k + 1, n):
            size = abs(values[U(d + r * n + k)])
            best = size if size > best else best
        if not best > 0.0:
            return False
        if own < _ENOUGH * best:
            for r in range(k + 1, n):
                if abs(values[U(d + r * n + k)]) == best:
                    pivot = r
        pivots[U(row + k), 0] = pivot
        if pivot != k:
            swap_rows(values, d, n, k, pivot)
        eliminate_column(values, d, n, k)
    # A pivot that is mere round-off of the terms summed in it counts as zero; this test is independent of units.
    for k in range(1, n):
        terms = 0.0
        for l in range(k):
            terms += abs(values[U(d + k * n + l)] * values[U(d + l * n + k)])
        if not terms * abs(values[U(d + k * n + k)]) < _ROUND_OFF:
            return False
    return True


@borrowing
def factor_ranked_block(values, d, n, pivots, row, scale, tolerance):
    """`factor_block` with complete pivoting where needed: rows that depend on others are skipped.

    A row counts as dependent if elimination leaves at most `tolerance` times scale[row + …], the magnitude of the terms
    summed in it; its unknown becomes zero (a basic solution). Returns the number of skipped rows, or -1 if the block is
    not finite. On return `scale` holds its inverse.
    """
    for r in range(n):
        size = scale[U(row + r)]
        scale[U(row + r)] = 1.0 / size if size != 0.0 else 0.0
    for k in range(n):
        own = abs(values[U(d + k * n + k)]) * scale[U(row + k)]
        i, j, best = k, k, own
        for r in range(k + 1, n):
            size = abs(values[U(d + r * n + k)]) * scale[U(row + r)]
            best = best if size <= best else size
        if not (own >= _ENOUGH * best and best > _GOOD):
            for r in range(k, n):
                if not abs(values[U(d + r * n + k)]) * scale[U(row + r)] < best:
                    i = r
        if not best > _GOOD:  # the column may be dependent: search the whole block
            for r in range(k, n):
                for c in range(k, n):
                    size = abs(values[U(d + r * n + c)]) * scale[U(row + r)]
                    if not size <= best:
                        i, j, best = r, c, size
            if best <= tolerance:
                for r in range(k, n):
                    pivots[U(row + r), 0] = r
                    pivots[U(row + r), 1] = r
                    for c in range(k, n):
                        values[U(d + r * n + c)] = 0.0
                return n - k
            if not best > 0.0:
                return -1
        pivots[U(row + k), 0] = i
        pivots[U(row + k), 1] = j
        if i != k:
            swap_rows(values, d, n, i, k)
            scale[U(row + i)] = scale[U(row + k)]
        if j != k:
            for r in range(n):
                swap = values[U(d + r * n + k)]
                values[U(d + r * n + k)] = values[U(d + r * n + j)]
                values[U(d + r * n + j)] = swap
        eliminate_column(values, d, n, k)
    return 0


@borrowing
def solve_block(values, d, n, pivots, row, ranked, X, x, m):
    """X <- D^-1 X for the factored n x n block D at d and the n x m block at x of the array X."""
    swap_to_pivots(pivots, row, n, X, x, m)
    solve_rows(values, d, n, X, x, m)
    if ranked:
        swap_back(pivots, row, n, X, x, m)


@borrowing
def solve_rows(values, d, n, X, x, m):
    """X <- (L U)^-1 X for the factored n x n block at d and the n x m block at x of X, without swaps."""
    if n == 6 and m <= FEW:
        for c in range(m):
            solve_column6(values, d, X, x + c, m)
    elif n == 5 and m <= FEW:
        for c in range(m):
            solve_column5(values, d, X, x + c, m)
    elif n == 4 and m <= FEW:
        for c in range(m):
            solve_column4(values, d, X, x + c, m)
    elif n == 3 and m <= FEW:
        for c in range(m):
            solve_column3(values, d, X, x + c, m)
    else:
        for k in range(1, n):
            subtract_rows(values, d + k * n, k, X, x, X, x + k * m, m)
        for k in range(n - 1, -1, -1):
            subtract_rows(values, d + k * n + k + 1, n - 1 - k, X, x + (k + 1) * m, X, x + k * m, m)
            inverse = values[U(d + k * n + k)]
            for c in range(m):
                X[U(x + k * m + c)] *= inverse


@in_order
def solve_column(values, d, n, pivots, row, ranked, X, x):
    """`solve_block` for a single column."""
    swap_to_pivots(pivots, row, n, X, x, ONE)
    if n == 6:
        solve_column6(values, d, X, x, ONE)
    elif n == 5:
        solve_column5(values, d, X, x, ONE)
    elif n == 4:
        solve_column4(values, d, X, x, ONE)
    elif n == 3:
        solve_column3(values, d, X, x, ONE)
    else:
        for k in range(1, n):
            row1(values, d + k * n, k, X, x, ONE, X, x + k)
        for k in range(n - 1, -1, -1):
            row1(values, d + k * n + k + 1, n - 1 - k, X, x + k + 1, ONE, X, x + k)
            X[U(x + k)] *= values[U(d + k * n + k)]
    if ranked:
        swap_back(pivots, row, n, X, x, ONE)


@borrowing
def solve_block_transposed(values, d, n, pivots, row, ranked, X, x, m):
    """X <- D^-T X for the factored n x n block D at d and the n x m block at x of the array X."""
    if ranked:
        for k in range(n):
            pivot = np.int64(pivots[U(row + k), 1])
            if pivot != k:
                swap_rows(X, x, m, k, pivot)
    if m == 1:
        for k in range(n):
            row1(X, x, k, values, d + k, n, X, x + k)
            X[U(x + k)] *= values[U(d + k * n + k)]
        for k in range(n - 2, -1, -1):
            row1(X, x + k + 1, n - 1 - k, values, d + (k + 1) * n + k, n, X, x + k)
    else:
        for k in range(n):
            for r in range(k):
                t = values[U(d + r * n + k)]
                for c in range(m):
                    X[U(x + k * m + c)] -= t * X[U(x + r * m + c)]
            inverse = values[U(d + k * n + k)]
            for c in range(m):
                X[U(x + k * m + c)] *= inverse
        for k in range(n - 2, -1, -1):
            for r in range(k + 1, n):
                t = values[U(d + r * n + k)]
                for c in range(m):
                    X[U(x + k * m + c)] -= t * X[U(x + r * m + c)]
    for k in range(n - 1, -1, -1):
        pivot = np.int64(pivots[U(row + k), 0])
        if pivot != k:
            swap_rows(X, x, m, k, pivot)


@borrowing
def subtract_product(A, a, B, b, C, c, n, k, m):
    """C -= A B for blocks n x k, k x m and n x m at a, b and c of the arrays A, B and C."""
    if m == 6:
        for i in range(n):
            row6(A, a + i * k, k, B, b, SIX, C, c + i * 6)
    elif m == 5:
        for i in range(n):
            row5(A, a + i * k, k, B, b, FIVE, C, c + i * 5)
    elif m == 4:
        for i in range(n):
            row4(A, a + i * k, k, B, b, FOUR, C, c + i * 4)
    elif m == 3:
        for i in range(n):
            row3(A, a + i * k, k, B, b, THREE, C, c + i * 3)
    elif m == 1:
        for i in range(n):
            row1(A, a + i * k, k, B, b, ONE, C, c + i)
    else:
        for i in range(n):
            subtract_rows(A, a + i * k, k, B, b, C, c + i * m, m)


@borrowing
def subtract_column(A, a, B, b, C, c, n, k):
    """`subtract_product` for a single column."""
    for i in range(n):
        row1(A, a + i * k, k, B, b, ONE, C, c + i)


@borrowing
def subtract_transposed_product(A, a, B, b, C, c, n, k, m):
    """C -= A^T B for blocks k x n, k x m and n x m at a, b and c of the arrays A, B and C."""
    if m == 1:
        subtract_product(B, b, A, a, C, c, 1, k, n)
        return
    for l in range(k):
        for i in range(n):
            t = A[U(a + l * n + i)]
            for j in range(m):
                C[U(c + i * m + j)] -= t * B[U(b + l * m + j)]


@borrowing
def is_nonzero(values, x, count):
    """Whether any of `count` values from x on is nonzero."""
    total = 0.0
    for i in range(x, x + count):
        total += abs(values[U(i)])
    return total != 0.0


@borrowing
def gauge_block(values, d, n, scale, row):
    """Raise scale[row + …] to at least the largest entry of each row of the n x n block at d."""
    for r in range(n):
        largest = scale[U(row + r)]
        for c in range(n):
            size = abs(values[U(d + r * n + c)])
            largest = size if size > largest else largest
        scale[U(row + r)] = largest
