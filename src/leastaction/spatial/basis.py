"""Unit twists."""

from leastaction._jit import inline


@inline
def unit_twist(c):
    """The twist with 1 as its number c, of angular and linear velocity, and zeros."""
    return (
        (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0),
        (1.0 if c == 3 else 0.0, 1.0 if c == 4 else 0.0, 1.0 if c == 5 else 0.0),
    )
