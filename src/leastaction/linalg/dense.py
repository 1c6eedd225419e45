"""Small dense linear algebra inside kernels.

LAPACK is not used: at the size of a robot, the threads of a parallel BLAS cost more than they gain, and compete with
the user's own threads. A single thread with a fixed order of operations gives the same result on every run.
"""

from leastaction._jit import routine


@routine
def solve_in_place(A, B):
    """B <- A^-1 B by Gaussian elimination with partial pivoting; A is destroyed. A (n, n), B (n, m).

    Returns False if a pivot vanishes (or is NaN); B is then invalid.
    """
    return solve_leading(A, B, A.shape[0])


@routine
def solve_leading(A, B, n):
    """`solve_in_place` for the leading n rows and columns of A and n rows of B.

    Column slices would not be contiguous, so their loops could not be vectorised.
    """
    m = B.shape[1]
    for k in range(n):
        pivot = k
        for r in range(k + 1, n):
            if abs(A[r, k]) > abs(A[pivot, k]):
                pivot = r
        if not abs(A[pivot, k]) > 0.0:
            return False
        if pivot != k:
            for c in range(k, n):
                A[k, c], A[pivot, c] = A[pivot, c], A[k, c]
            for c in range(m):
                B[k, c], B[pivot, c] = B[pivot, c], B[k, c]
        inverse = 1.0 / A[k, k]
        for r in range(k + 1, n):
            t = A[r, k] * inverse
            if t != 0.0:
                for c in range(k + 1, n):
                    A[r, c] -= t * A[k, c]
                for c in range(m):
                    B[r, c] -= t * B[k, c]
    for k in range(n - 1, -1, -1):
        for r in range(k + 1, n):
            t = A[k, r]
            if t != 0.0:
                for c in range(m):
                    B[k, c] -= t * B[r, c]
        inverse = 1.0 / A[k, k]
        for c in range(m):
            B[k, c] *= inverse
    return True


@routine
def solve_within(A, B, n, begins, ends, last):
    """`solve_leading` for one right-hand side B (n, 1), if row r has entries only in columns begins[r] to ends[r].

    Entries outside of these ranges are not read before they are written. Ranges grow by elimination and are swapped
    with their rows; last (n,) is scratch: the last row with an entry in a column or before it, beyond which no row is
    swapped.
    """
    for k in range(n):
        last[k] = k
    for r in range(n):
        last[begins[r]] = max(last[begins[r]], r)
    for k in range(1, n):
        last[k] = max(last[k], last[k - 1])
    for k in range(n):
        pivot, best = k, 0.0
        for r in range(k, last[k] + 1):
            if begins[r] <= k < ends[r] and abs(A[r, k]) > best:
                pivot, best = r, abs(A[r, k])
        if not best > 0.0:
            return False
        if pivot != k:
            widen(A, k, ends, ends[pivot])
            widen(A, pivot, ends, ends[k])
            begins[k], begins[pivot] = begins[pivot], begins[k]
            for c in range(k, ends[k]):
                A[k, c], A[pivot, c] = A[pivot, c], A[k, c]
            B[k, 0], B[pivot, 0] = B[pivot, 0], B[k, 0]
        inverse = 1.0 / A[k, k]
        for r in range(k + 1, last[k] + 1):
            if begins[r] <= k < ends[r]:
                t = A[r, k] * inverse
                if t != 0.0:
                    widen(A, r, ends, ends[k])
                    for c in range(k + 1, ends[k]):
                        A[r, c] -= t * A[k, c]
                    B[r, 0] -= t * B[k, 0]
    for k in range(n - 1, -1, -1):
        total = B[k, 0]
        for r in range(k + 1, ends[k]):
            total -= A[k, r] * B[r, 0]
        B[k, 0] = total / A[k, k]
    return True


@routine
def widen(A, r, ends, end):
    """Extend row r with zeros up to column `end`."""
    for c in range(ends[r], end):
        A[r, c] = 0.0
    ends[r] = max(ends[r], end)


@routine
def multiply(A, B, C):
    """C = A B, skipping zeros of A."""
    for i in range(A.shape[0]):
        for c in range(B.shape[1]):
            C[i, c] = 0.0
        for k in range(A.shape[1]):
            t = A[i, k]
            if t != 0.0:
                for c in range(B.shape[1]):
                    C[i, c] += t * B[k, c]
