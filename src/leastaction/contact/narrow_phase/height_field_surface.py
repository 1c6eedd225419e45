"""Surface of a height field: triangles over an infinite grid, with constant extension beyond its given part.

Each cell is split along the diagonal from (i, j) to (i + 1, j + 1). All coordinates are in the field's frame.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.narrow_phase.closest_points import closest_on_triangle
from leastaction.spatial import dot3, norm3, sub3

SLACK = 1e-9
"""Lengths below this count as round-off, relative to the spacing."""


@inline
def whole(x):
    """floor(x) as an index: on a GPU `math.floor` returns a float."""
    return int(math.floor(x))  # noqa: RUF046


@inline
def grid(field, data, i, j):
    """Grid point (i, j) (3); i and j may be any integers."""
    k = min(max(i, 0), field.rows - 1) * field.columns + min(max(j, 0), field.columns - 1)
    x, y = (i - 0.5 * (field.rows - 1)) * field.spacing, (j - 0.5 * (field.columns - 1)) * field.spacing
    return (x, y, data[field.first + k])


@inline
def cell(field, i, j):
    """Number that identifies cell or grid point (i, j) from step to step."""
    return (i + 4) * (field.columns + 8) + j + 4


@routine
def triangle(field, data, i, j, upper):
    """The corners (3 x 3) of the lower or upper triangle of cell (i, j), counter-clockwise from above."""
    a, c = grid(field, data, i, j), grid(field, data, i + 1, j + 1)
    if upper:
        return a, c, grid(field, data, i, j + 1)
    return a, grid(field, data, i + 1, j), c


@routine
def across(field, data, i, j, upper, region):
    """The corner (3) opposite to a triangle's edge (4 ab, 5 bc, 6 ca) in the neighbour across that edge."""
    if upper:
        di, dj = (1, 0) if region == 4 else ((1, 2) if region == 5 else (-1, 0))
    else:
        di, dj = (0, -1) if region == 4 else ((2, 1) if region == 5 else (0, 1))
    return grid(field, data, i + di, j + dj)


@routine
def is_valley(field, data, i, j, upper, region, a, n):
    """Whether the surface is concave at an edge of a triangle (region 4 to 6), or at both edges of a corner (1 to 3).

    a is the triangle's first corner and n its normal; there its plane continues below the surface.
    """
    slack = SLACK * field.spacing
    for edge in range(4, 7):
        meets = edge == region if region > 3 else edge != 4 + region % 3
        if meets and dot3(n, sub3(across(field, data, i, j, upper, edge), a)) < slack:
            return False
    return True


@routine
def is_closest(field, data, i, j, p, x):
    """Whether no other triangle around cell (i, j) that contains the surface point p is closer to x near p."""
    d = sub3(x, p)
    slack = SLACK * field.spacing
    for m in range(i - 1, i + 2):
        for k in range(j - 1, j + 2):
            for upper in range(2):
                a, b, c = triangle(field, data, m, k, upper == 1)
                q, _ = closest_on_triangle(a, b, c, p)
                if norm3(sub3(p, q)) > slack:
                    continue
                if max(dot3(d, sub3(a, p)), dot3(d, sub3(b, p)), dot3(d, sub3(c, p))) > slack * norm3(d):
                    return False
    return True
