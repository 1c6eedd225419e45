"""6-vectors in arrays as tuples, which the compiler keeps in registers; loops over them are written out."""

from leastaction._jit import inline

ZEROS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inline
def six(a, i, j, k):
    """a[i, j, k : k + 6] as a tuple."""
    return (a[i, j, k], a[i, j, k + 1], a[i, j, k + 2], a[i, j, k + 3], a[i, j, k + 4], a[i, j, k + 5])


@inline
def put(a, i, j, k, x):
    """a[i, j, k : k + 6] = x."""
    a[i, j, k], a[i, j, k + 1], a[i, j, k + 2] = x[0], x[1], x[2]
    a[i, j, k + 3], a[i, j, k + 4], a[i, j, k + 5] = x[3], x[4], x[5]


@inline
def times(a, b):
    """Scalar product of two 6-vectors."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@inline
def plus(k, a, b):
    """k a + b of 6-vectors."""
    return (
        k * a[0] + b[0],
        k * a[1] + b[1],
        k * a[2] + b[2],
        k * a[3] + b[3],
        k * a[4] + b[4],
        k * a[5] + b[5],
    )
