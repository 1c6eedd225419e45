"""Small dense blocks in flat arrays: factor one in place, apply its inverse, subtract a product.

A block of n rows and m columns begins at an offset and lies row by row.
"""

from leastaction._jit import routine


@routine
def factor_block(values, d, n, pivots, row):
    """L and U of the n x n block at d, in place, with row pivoting; the diagonal keeps the inverse pivots.

    Gives back whether all pivots were found. pivots (rows, 2): the swaps of rows and columns, from `row` on.
    """
    for k in range(n):
        pivot, best = k, abs(values[d + k * n + k])
        for r in range(k + 1, n):
            size = abs(values[d + r * n + k])
            if size > best:
                pivot, best = r, size
        if not best > 0.0:
            return False
        pivots[row + k, 0] = pivot
        if pivot != k:
            for c in range(n):
                swap = values[d + k * n + c]
                values[d + k * n + c] = values[d + pivot * n + c]
                values[d + pivot * n + c] = swap
        inverse = 1.0 / values[d + k * n + k]
        values[d + k * n + k] = inverse
        for r in range(k + 1, n):
            t = values[d + r * n + k] * inverse
            values[d + r * n + k] = t
            for c in range(k + 1, n):
                values[d + r * n + c] -= t * values[d + k * n + c]
    return True


@routine
def factor_ranked_block(values, d, n, pivots, row, scale, tolerance):
    """As `factor_block` with row and column pivoting; rows that depend on others are skipped.

    A row counts as dependent where nothing is left of it but `tolerance` times scale[row + …], the size of the terms
    that it was summed from; its unknown becomes zero (a basic solution). Gives back how many were skipped, or -1
    where the block is not finite.
    """
    for k in range(n):
        i, j, best = k, k, -1.0
        for r in range(k, n):
            bound = scale[row + r]
            for c in range(k, n):
                size = abs(values[d + r * n + c]) / bound if bound != 0.0 else 0.0
                if not size <= best:
                    i, j, best = r, c, size
        if best <= tolerance:
            for r in range(k, n):
                pivots[row + r, 0] = r
                pivots[row + r, 1] = r
                for c in range(k, n):
                    values[d + r * n + c] = 0.0
            return n - k
        if not abs(values[d + i * n + j]) > 0.0:
            return -1
        pivots[row + k, 0] = i
        pivots[row + k, 1] = j
        if i != k:
            for c in range(n):
                swap = values[d + k * n + c]
                values[d + k * n + c] = values[d + i * n + c]
                values[d + i * n + c] = swap
            scale[row + i] = scale[row + k]
        if j != k:
            for r in range(n):
                swap = values[d + r * n + k]
                values[d + r * n + k] = values[d + r * n + j]
                values[d + r * n + j] = swap
        inverse = 1.0 / values[d + k * n + k]
        values[d + k * n + k] = inverse
        for r in range(k + 1, n):
            t = values[d + r * n + k] * inverse
            values[d + r * n + k] = t
            for c in range(k + 1, n):
                values[d + r * n + c] -= t * values[d + k * n + c]
    return 0


@routine
def swap_rows(X, x, m, i, j):
    """Swap rows i and j of the block at x, which has m columns."""
    for c in range(m):
        swap = X[x + i * m + c]
        X[x + i * m + c] = X[x + j * m + c]
        X[x + j * m + c] = swap


@routine
def solve_block(values, d, n, pivots, row, ranked, X, x, m):
    """X <- D^-1 X for the factored n x n block D at d and the n x m block at x of the array X."""
    for k in range(n):
        pivot = pivots[row + k, 0]
        if pivot != k:
            swap_rows(X, x, m, k, pivot)
    for k in range(1, n):
        for r in range(k):
            t = values[d + k * n + r]
            for c in range(m):
                X[x + k * m + c] -= t * X[x + r * m + c]
    for k in range(n - 1, -1, -1):
        for r in range(k + 1, n):
            t = values[d + k * n + r]
            for c in range(m):
                X[x + k * m + c] -= t * X[x + r * m + c]
        inverse = values[d + k * n + k]
        for c in range(m):
            X[x + k * m + c] *= inverse
    if ranked:
        for k in range(n - 1, -1, -1):
            pivot = pivots[row + k, 1]
            if pivot != k:
                swap_rows(X, x, m, k, pivot)


@routine
def solve_block_transposed(values, d, n, pivots, row, ranked, X, x, m):
    """X <- D^-T X for the factored n x n block D at d and the n x m block at x of the array X."""
    if ranked:
        for k in range(n):
            pivot = pivots[row + k, 1]
            if pivot != k:
                swap_rows(X, x, m, k, pivot)
    for k in range(n):
        for r in range(k):
            t = values[d + r * n + k]
            for c in range(m):
                X[x + k * m + c] -= t * X[x + r * m + c]
        inverse = values[d + k * n + k]
        for c in range(m):
            X[x + k * m + c] *= inverse
    for k in range(n - 2, -1, -1):
        for r in range(k + 1, n):
            t = values[d + r * n + k]
            for c in range(m):
                X[x + k * m + c] -= t * X[x + r * m + c]
    for k in range(n - 1, -1, -1):
        pivot = pivots[row + k, 0]
        if pivot != k:
            swap_rows(X, x, m, k, pivot)


@routine
def subtract_product(A, a, B, b, C, c, n, k, m):
    """C -= A B for blocks n x k, k x m and n x m at a, b and c of the arrays A, B and C."""
    for i in range(n):
        for l in range(k):
            t = A[a + i * k + l]
            for j in range(m):
                C[c + i * m + j] -= t * B[b + l * m + j]


@routine
def subtract_transposed_product(A, a, B, b, C, c, n, k, m):
    """C -= A^T B for blocks k x n, k x m and n x m at a, b and c of the arrays A, B and C."""
    for l in range(k):
        for i in range(n):
            t = A[a + l * n + i]
            for j in range(m):
                C[c + i * m + j] -= t * B[b + l * m + j]


@routine
def gauge_block(values, d, n, scale, row):
    """Set scale[row + …] to the largest entry of each row of the n x n block at d."""
    for r in range(n):
        largest = 0.0
        for c in range(n):
            largest = max(largest, abs(values[d + r * n + c]))
        scale[row + r] = largest


@routine
def gauge_product(values, a, b, n, k, scale, row):
    """Add to scale[row + …] the largest entry of each row of A B, A (n x k) at a, B (k x n) at b."""
    for r in range(n):
        largest = 0.0
        for c in range(n):
            entry = 0.0
            for l in range(k):
                entry += values[a + r * k + l] * values[b + l * n + c]
            largest = max(largest, abs(entry))
        scale[row + r] += largest
