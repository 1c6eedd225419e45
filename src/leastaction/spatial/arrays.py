"""Between arrays and tuples: ``load`` reads a tuple from a one-dimensional array, ``store`` writes one.

The array may be a sub-array field of a record. Entries begin at 0, or at an offset o in the ``_at`` forms.
"""

from leastaction._jit import inline


@inline
def load3(a):
    """Vector (3) from the first 3 entries of a."""
    return (a[0], a[1], a[2])


@inline
def load4(a):
    """Quaternion (4) from the first 4 entries of a."""
    return (a[0], a[1], a[2], a[3])


@inline
def load6(a):
    """Twist or wrench (3 + 3) from the first 6 entries of a, angular part first."""
    return ((a[0], a[1], a[2]), (a[3], a[4], a[5]))


@inline
def load9(a):
    """Matrix (9, row-major) from the first 9 entries of a."""
    return (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8])


@inline
def load_sym(a):
    """Symmetric matrix (6: xx, xy, xz, yy, yz, zz) from the first 6 entries of a."""
    return (a[0], a[1], a[2], a[3], a[4], a[5])


@inline
def load_inertia(a):
    """Spatial inertia (m, h, I) from the first 10 entries of a: 1 + 3 + 6."""
    return (a[0], (a[1], a[2], a[3]), (a[4], a[5], a[6], a[7], a[8], a[9]))


@inline
def store3(a, v):
    """Write a vector v (3) to the first 3 entries of a."""
    a[0], a[1], a[2] = v


@inline
def store4(a, q):
    """Write a quaternion q (4) to the first 4 entries of a."""
    a[0], a[1], a[2], a[3] = q


@inline
def store6(a, V):
    """Write a twist or wrench V (3 + 3) to the first 6 entries of a, angular part first."""
    a[0], a[1], a[2] = V[0]
    a[3], a[4], a[5] = V[1]


@inline
def store9(a, R):
    """Write a matrix R (9, row-major) to the first 9 entries of a."""
    a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8] = R


@inline
def store_sym(a, S):
    """Write a symmetric matrix S (6) to the first 6 entries of a."""
    a[0], a[1], a[2], a[3], a[4], a[5] = S


@inline
def store_inertia(a, M):
    """Write a spatial inertia M = (m, h, I) to the first 10 entries of a: 1 + 3 + 6."""
    a[0] = M[0]
    a[1], a[2], a[3] = M[1]
    a[4], a[5], a[6], a[7], a[8], a[9] = M[2]


@inline
def load6_at(a, o):
    """Twist or wrench (3 + 3) from the 6 entries of a that start at index o."""
    return ((a[o], a[o + 1], a[o + 2]), (a[o + 3], a[o + 4], a[o + 5]))


@inline
def store6_at(a, o, V):
    """Write a twist or wrench V (3 + 3) to the 6 entries of a that start at index o."""
    a[o], a[o + 1], a[o + 2] = V[0]
    a[o + 3], a[o + 4], a[o + 5] = V[1]


@inline
def add6_at(a, o, V):
    """Add a twist or wrench V (3 + 3) to the 6 entries of a that start at index o."""
    a[o] += V[0][0]
    a[o + 1] += V[0][1]
    a[o + 2] += V[0][2]
    a[o + 3] += V[1][0]
    a[o + 4] += V[1][1]
    a[o + 5] += V[1][2]
