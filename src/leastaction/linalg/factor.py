"""Dense LU factorisation for repeated use: several right-hand sides, and the transposed matrix of the adjoint."""

from leastaction._jit import routine


@routine
def factor(A, pivots):
    """Factor A in place into L and U, with row exchanges in `pivots`; returns False if a pivot vanishes (or is NaN)."""
    n = A.shape[0]
    for k in range(n):
        pivot = k
        for r in range(k + 1, n):
            if abs(A[r, k]) > abs(A[pivot, k]):
                pivot = r
        pivots[k] = pivot
        if not abs(A[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for c in range(n):
                A[k, c], A[pivot, c] = A[pivot, c], A[k, c]
        inverse = 1.0 / A[k, k]
        for r in range(k + 1, n):
            t = A[r, k] * inverse
            A[r, k] = t
            if t != 0.0:
                for c in range(k + 1, n):
                    A[r, c] -= t * A[k, c]
    return True


@routine
def solve(A, pivots, b):
    """b <- A^-1 b with the factors in A."""
    n = A.shape[0]
    for k in range(n):
        p = pivots[k]
        if p != k:
            b[k], b[p] = b[p], b[k]
    for r in range(n):
        t = b[r]
        for c in range(r):
            t -= A[r, c] * b[c]
        b[r] = t
    for r in range(n - 1, -1, -1):
        t = b[r]
        for c in range(r + 1, n):
            t -= A[r, c] * b[c]
        b[r] = t / A[r, r]


@routine
def solve_transposed(A, pivots, b):
    """b <- A^-T b with the factors in A."""
    n = A.shape[0]
    for r in range(n):
        b[r] /= A[r, r]
        t = b[r]
        for c in range(r + 1, n):
            b[c] -= A[r, c] * t
    for r in range(n - 1, -1, -1):
        t = b[r]
        for c in range(r):
            b[c] -= A[r, c] * t
    for k in range(n - 1, -1, -1):
        p = pivots[k]
        if p != k:
            b[k], b[p] = b[p], b[k]
