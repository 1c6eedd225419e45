"""Small systems with many right-hand sides: rows of these lie one after another in memory, so that inner loops go along
them. Entries of a matrix that are zero cost nothing but a look: robots are trees, and contacts move few joints.
"""

from leastaction._jit import inline, routine


@inline
def add_row(X, i, f, Y, k, first, last):
    """X[i] += f Y[k], over some columns."""
    for c in range(first, last):
        X[i, c] += f * Y[k, c]


@routine
def solve_towards_root(A, X, columns):
    """X becomes A^-1 X, A its factors; False where a pivot is zero.

    Eliminates from the last unknown to the first without pivoting: of a tree whose joints come after those that carry
    them, entries that are zero stay zero.
    """
    n = A.shape[0]
    for k in range(n - 1, -1, -1):
        if not abs(A[k, k]) > 0.0:
            return False
        pivot = 1.0 / A[k, k]
        for i in range(k):
            if A[i, k] != 0.0:
                f = -pivot * A[i, k]
                add_row(A, i, f, A, k, 0, k)
                add_row(X, i, f, X, k, 0, columns)
    for k in range(n):
        for j in range(k):
            if A[k, j] != 0.0:
                add_row(X, k, -A[k, j], X, j, 0, columns)
        pivot = 1.0 / A[k, k]
        for c in range(columns):
            X[k, c] *= pivot
    return True


@routine
def solve_pivoted(A, n, X, columns, scale):
    """X becomes A^-1 X, of n rows, A is used up; False where A is singular.

    Gaussian elimination with partial pivoting, of rows relative to their largest entries.

    Args:
        scale: scratch, shape (n,).
    """
    for i in range(n):
        scale[i] = 0.0
        for j in range(n):
            scale[i] = max(scale[i], abs(A[i, j]))
        if not scale[i] > 0.0:
            return False
        scale[i] = 1.0 / scale[i]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) * scale[i] > abs(A[best, k]) * scale[best]:
                best = i
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            for c in range(columns):
                X[k, c], X[best, c] = X[best, c], X[k, c]
            scale[k], scale[best] = scale[best], scale[k]
        pivot = 1.0 / A[k, k]
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                f = -pivot * A[i, k]
                add_row(A, i, f, A, k, k + 1, n)
                add_row(X, i, f, X, k, 0, columns)
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            if A[k, j] != 0.0:
                add_row(X, k, -A[k, j], X, j, 0, columns)
        pivot = 1.0 / A[k, k]
        for c in range(columns):
            X[k, c] *= pivot
    return True
