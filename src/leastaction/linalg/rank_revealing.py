"""Least-squares solution of square systems that may be rank-deficient, inside kernels."""

import math

from leastaction._jit import routine

SWEEPS, ORTHOGONAL = 30, 1e-15
"""Most sweeps of rotations, and the cosine below which two columns count as orthogonal."""


@routine
def turn_columns(S, V):
    """S <- S V with orthogonal columns, by one-sided Jacobi rotations; returns the largest squared column norm.

    Hestenes 1958: each rotation makes two columns orthogonal; sweeps over all pairs are repeated to convergence.
    """
    m = S.shape[0]
    for i in range(m):
        for k in range(m):
            V[i, k] = 1.0 if i == k else 0.0
    largest = 0.0
    for _ in range(SWEEPS):
        turned, largest = False, 0.0
        for k in range(m):
            for j in range(k + 1, m):
                a = b = c = 0.0
                for i in range(m):
                    a += S[i, k] * S[i, k]
                    b += S[i, j] * S[i, j]
                    c += S[i, k] * S[i, j]
                if c * c <= ORTHOGONAL * ORTHOGONAL * a * b:
                    continue
                turned = True
                half = 0.5 * (b - a) / c
                t = (1.0 if half >= 0.0 else -1.0) / (abs(half) + math.sqrt(1.0 + half * half))
                cos = 1.0 / math.sqrt(1.0 + t * t)
                sin = t * cos
                for i in range(m):
                    S[i, k], S[i, j] = cos * S[i, k] - sin * S[i, j], sin * S[i, k] + cos * S[i, j]
                    V[i, k], V[i, j] = cos * V[i, k] - sin * V[i, j], sin * V[i, k] + cos * V[i, j]
        for k in range(m):
            square = 0.0
            for i in range(m):
                square += S[i, k] * S[i, k]
            largest = max(largest, square)
        if not turned:
            break
    return largest


@routine
def solve_least_norm(S, b, V, tolerance):
    """b <- the least-squares solution of S x = b of least norm, b (m, 1); S is destroyed, V is scratch of its shape.

    Args:
        tolerance: relative size of a singular value below which it counts as zero.
    """
    m, least = S.shape[0], tolerance * tolerance * turn_columns(S, V)
    for k in range(m):  # column norms of S are its singular values
        square = along = 0.0
        for i in range(m):
            square += S[i, k] * S[i, k]
            along += S[i, k] * b[i, 0]
        y = along / square if square > least else 0.0
        for i in range(m):
            V[i, k] *= y
    for i in range(m):
        b[i, 0] = 0.0
        for k in range(m):
            b[i, 0] += V[i, k]
