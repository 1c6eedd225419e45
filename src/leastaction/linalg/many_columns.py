"""Small systems with many right-hand sides, stored row by row so that inner loops are contiguous, four rows at a time.

Zero entries of the matrix are skipped: robots are trees, and contacts act on few joints.
"""

from leastaction._jit import inline, routine


@routine
def add_rows(sign, a, first, last, X, columns, out):
    """out += sign (a[first] X[first] + ... + a[last - 1] X[last - 1]), for the first `columns` columns."""
    j = first
    while j < last:
        f0 = f1 = f2 = f3 = 0.0
        k0 = k1 = k2 = k3 = j
        count = 0
        while j < last and count < 4:
            f = a[j]
            if f != 0.0:
                if count == 0:
                    f0, k0 = sign * f, j
                elif count == 1:
                    f1, k1 = sign * f, j
                elif count == 2:
                    f2, k2 = sign * f, j
                else:
                    f3, k3 = sign * f, j
                count += 1
            j += 1
        if count > 2:
            for c in range(columns):
                out[c] += (f0 * X[k0, c] + f1 * X[k1, c]) + (f2 * X[k2, c] + f3 * X[k3, c])
        elif count == 2:
            for c in range(columns):
                out[c] += f0 * X[k0, c] + f1 * X[k1, c]
        elif count == 1:
            for c in range(columns):
                out[c] += f0 * X[k0, c]


@inline
def scale_row(f, X, columns):
    """X *= f, for the first `columns` entries."""
    for c in range(columns):
        X[c] *= f


@routine
def factor_towards_root(A):
    """Factor A in place without pivoting; returns False if a pivot is zero.

    Eliminates from the last unknown to the first. For a tree numbered from the root outwards there is no fill-in.
    """
    for k in range(A.shape[0] - 1, -1, -1):
        if not abs(A[k, k]) > 0.0:
            return False
        pivot = 1.0 / A[k, k]
        for i in range(k):
            if A[i, k] != 0.0:
                A[i, k] *= pivot
                f = -A[i, k]
                for j in range(k):
                    A[i, j] += f * A[k, j]
    return True


@routine
def substitute(A, X, columns):
    """X <- A^-1 X for the first `columns` columns, with the factors of `factor_towards_root` in A."""
    n = A.shape[0]
    for k in range(n - 1, -1, -1):
        add_rows(-1.0, A[k], k + 1, n, X, columns, X[k])
    for k in range(n):
        add_rows(-1.0, A[k], 0, k, X, columns, X[k])
        scale_row(1.0 / A[k, k], X[k], columns)


@routine
def solve_pivoted(A, n, X, columns, scale):
    """X <- A^-1 X for n rows; A is destroyed. Returns False if A is singular.

    Gaussian elimination with scaled partial pivoting (relative to the largest entries of the rows).

    Args:
        scale: scratch, shape (n,).
    """
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
        if not largest > 0.0:
            return False
        scale[i] = 1.0 / largest
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
                A[i, k] *= pivot
                f = -A[i, k]
                for j in range(k + 1, n):
                    A[i, j] += f * A[k, j]
    for k in range(n):
        add_rows(-1.0, A[k], 0, k, X, columns, X[k])
    for k in range(n - 1, -1, -1):
        add_rows(-1.0, A[k], k + 1, n, X, columns, X[k])
        scale_row(1.0 / A[k, k], X[k], columns)
    return True
