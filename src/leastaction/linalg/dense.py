"""Small dense linear algebra inside kernels.

Not LAPACK: the threads of a parallel BLAS cost more than they gain at the sizes of a robot, and fight with the user's
own threads. One thread, one order of operations: the same numbers on every run.
"""

from leastaction._jit import routine


@routine
def solve_in_place(A, B):
    """B <- A^-1 B by Gaussian elimination with partial pivoting; A is destroyed. A (n, n), B (n, m).

    Gives back False when a pivot vanishes (or is NaN); B is then useless.
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
