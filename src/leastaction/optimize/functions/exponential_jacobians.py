"""The left Jacobian of the exponential map for many rotation vectors or twists at once, real or complex."""

import math

from leastaction._jit import entry, inline

_ODD = tuple(1.0 / math.factorial(n + 1) for n in range(1, 42, 2))
_EVEN = tuple(1.0 / math.factorial(n + 1) for n in range(2, 43, 2))


@inline
def _reduced(t, terms):
    """Coefficients of A and A^3 (or of A^2 and A^4) in the sum of terms[k] A^(2 k + 1), with A^5 = -2 t A^3 - t^2 A."""
    a, b = 1.0 + 0.0 * t, 0.0 * t
    low, high = 0.0 * t, 0.0 * t
    for term in terms:
        low, high = low + term * a, high + term * b
        a, b = -t * t * b, a - 2.0 * t * b
    return low, high


@entry
def left_jacobians(x, A, B, out):
    """J_l = sum ad(x)^n / (n + 1)! into out (rows, n, n), for x (rows, n), n = 3 or 6; A, B: scratch (n, n).

    ad(x) solves A^5 = -2 t A^3 - t^2 A with t the squared angle, so that four powers are enough; the series of their
    coefficients hold beyond a whole turn.
    """
    n = x.shape[1]
    for r in range(x.shape[0]):
        w0, w1, w2 = x[r, 0], x[r, 1], x[r, 2]
        for i in range(n):
            for j in range(n):
                A[i, j] = 0.0
        for o in range(0, n, 3):
            A[o, o + 1], A[o, o + 2], A[o + 1, o + 2] = -w2, w1, -w0
            A[o + 1, o], A[o + 2, o], A[o + 2, o + 1] = w2, -w1, w0
        if n == 6:
            A[3, 1], A[3, 2], A[4, 2] = -x[r, 5], x[r, 4], -x[r, 3]
            A[4, 0], A[5, 0], A[5, 1] = x[r, 5], -x[r, 4], x[r, 3]
        t = w0 * w0 + w1 * w1 + w2 * w2
        first, third = _reduced(t, _ODD)
        second, fourth = _reduced(t, _EVEN)
        # 1 + A (first + A (second + A (third + A fourth)))
        J = out[r]
        for i in range(n):
            for j in range(n):
                J[i, j] = fourth * A[i, j]
        _next(A, B, J, third)
        _next(A, B, J, second)
        _next(A, B, J, first)
        for i in range(n):
            J[i, i] += 1.0


@inline
def _next(A, B, J, c):
    """J becomes A (J + c)."""
    n = A.shape[0]
    for i in range(n):
        J[i, i] += c
    for i in range(n):
        for j in range(n):
            s = 0.0 * c
            for k in range(n):
                s += A[i, k] * J[k, j]
            B[i, j] = s
    for i in range(n):
        for j in range(n):
            J[i, j] = B[i, j]
