"""Small dense linear algebra inside kernels.

Not LAPACK: the threads of a parallel BLAS cost more than they gain at the sizes of a robot, and fight with the user's
own threads. One thread, one order of operations: the same numbers on every run.
"""

from leastaction._jit import routine


@routine
def solve_in_place(A, B):
    """B <- A^-1 B by Gaussian elimination with partial pivoting; A is destroyed. A (n, n), B (n, m).

    Returns False when a pivot vanishes (or is NaN); B is then useless.
    """
    return solve_leading(A, B, A.shape[0])


@routine
def solve_leading(A, B, n):
    """`solve_in_place` with the first n rows and columns of A and rows of B.

    Slices of columns would not be known to lie side by side, and their sums would not be done several at a time.
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
    """`solve_leading` of one right-hand side, B (n, 1), where row r has entries in columns begins[r] to ends[r] alone.

    What lies outside of them is not read before it is written. Ranges grow and are swapped as rows are; last (n,) is
    scratch: the last row with an entry in a column or before it. No swap takes a row beyond that.
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
    """Let row r have entries up to column `end`."""
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
