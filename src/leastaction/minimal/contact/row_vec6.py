"""6-vectors in rows of arrays."""

from leastaction._jit import inline
from leastaction.spatial import cross


@inline
def wrench(f, at):
    """Wrench about the origin of a force f at a point."""
    t = cross(at, f)
    return (t[0], t[1], t[2], f[0], f[1], f[2])


@inline
def six(a):
    """First six numbers of a row as a tuple."""
    return (a[0], a[1], a[2], a[3], a[4], a[5])


@inline
def accumulate(a, at, b):
    """Add a 6-vector to six entries of an array."""
    a[at] += b[0]
    a[at + 1] += b[1]
    a[at + 2] += b[2]
    a[at + 3] += b[3]
    a[at + 4] += b[4]
    a[at + 5] += b[5]


@inline
def plus_stored(a, at, b):
    """Sum of six entries of an array and a 6-vector."""
    return (
        a[at] + b[0],
        a[at + 1] + b[1],
        a[at + 2] + b[2],
        a[at + 3] + b[3],
        a[at + 4] + b[4],
        a[at + 5] + b[5],
    )
