"""How contact points move over their body as the other body moves.

The features of most contacts are fixed to their bodies. But two faces touch where their outlines cross, and there the
point of the second body is determined anew in every step. It is the intersection of three surfaces of the two bodies:
with the displacement delta of the first body's material point there, relative to the second body, it moves by

    P delta,  P = z s' / (s' z)        where a line along z of the second body crosses a surface of the first, normal s
              P = 1 - n m' / (m' n)    under a corner of the first body, along n, on a face of the second, normal m

Matrices (9) are in the frame of the second body, row by row; `CONTACT.R` of a point on a plane.
"""

from leastaction._jit import inline
from leastaction.contact.narrow_phase.closest_points import TINY
from leastaction.spatial import dot3, mattvec

FIXED = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""P of a feature fixed to its body."""


@inline
def crossing(R, z, s):
    """P of the point where a line along z of the second body, with rotation R, crosses a surface with normal s."""
    along = dot3(z, s)
    k = 1.0 / along if abs(along) > TINY else 0.0
    z, s = mattvec(R, z), mattvec(R, s)
    return (
        *(k * z[0] * s[0], k * z[0] * s[1], k * z[0] * s[2]),
        *(k * z[1] * s[0], k * z[1] * s[1], k * z[1] * s[2]),
        *(k * z[2] * s[0], k * z[2] * s[1], k * z[2] * s[2]),
    )


@inline
def under_corner(R, n, m):
    """P of the point on the second body's face with normal m that lies under a corner of the first, along n."""
    P = crossing(R, n, m)
    return (1.0 - P[0], -P[1], -P[2], -P[3], 1.0 - P[4], -P[5], -P[6], -P[7], 1.0 - P[8])
