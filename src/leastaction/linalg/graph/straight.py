"""Blocks of bodies and joints as straight code: with known sizes, every row is a few vectors that stay in registers.

Nodes are bodies, with 6 rows, and joints, with 3 to 5, nearly all. What other sizes need runs through the loops of
`blocks`, which give the same numbers. All blocks lie in one array, row by row, as there.
"""

from leastaction.linalg.graph.blocks import solve_rows, subtract_column, subtract_product
from leastaction.linalg.graph.rows import (
    FIVE,
    FOUR,
    ONE,
    SIX,
    THREE,
    TWO,
    ZERO,
    back3,
    back4,
    back5,
    back6,
    in_order,
    row1,
    row3,
    row4,
    row5,
    row6,
)


@in_order
def product6(V, a, k, b, c, n):
    """C -= A B for n x k, k x 6 and n x 6 blocks at a, b and c, 3 <= n <= 6."""
    row6(V, a, k, V, b, SIX, V, c)
    row6(V, a + k, k, V, b, SIX, V, c + 6)
    row6(V, a + 2 * k, k, V, b, SIX, V, c + 12)
    if n > 3:
        row6(V, a + 3 * k, k, V, b, SIX, V, c + 18)
    if n > 4:
        row6(V, a + 4 * k, k, V, b, SIX, V, c + 24)
    if n > 5:
        row6(V, a + 5 * k, k, V, b, SIX, V, c + 30)


@in_order
def product5(V, a, k, b, c, n):
    """`product6` with 5 columns."""
    row5(V, a, k, V, b, FIVE, V, c)
    row5(V, a + k, k, V, b, FIVE, V, c + 5)
    row5(V, a + 2 * k, k, V, b, FIVE, V, c + 10)
    if n > 3:
        row5(V, a + 3 * k, k, V, b, FIVE, V, c + 15)
    if n > 4:
        row5(V, a + 4 * k, k, V, b, FIVE, V, c + 20)
    if n > 5:
        row5(V, a + 5 * k, k, V, b, FIVE, V, c + 25)


@in_order
def product4(V, a, k, b, c, n):
    """`product6` with 4 columns."""
    row4(V, a, k, V, b, FOUR, V, c)
    row4(V, a + k, k, V, b, FOUR, V, c + 4)
    row4(V, a + 2 * k, k, V, b, FOUR, V, c + 8)
    if n > 3:
        row4(V, a + 3 * k, k, V, b, FOUR, V, c + 12)
    if n > 4:
        row4(V, a + 4 * k, k, V, b, FOUR, V, c + 16)
    if n > 5:
        row4(V, a + 5 * k, k, V, b, FOUR, V, c + 20)


@in_order
def product3(V, a, k, b, c, n):
    """`product6` with 3 columns."""
    row3(V, a, k, V, b, THREE, V, c)
    row3(V, a + k, k, V, b, THREE, V, c + 3)
    row3(V, a + 2 * k, k, V, b, THREE, V, c + 6)
    if n > 3:
        row3(V, a + 3 * k, k, V, b, THREE, V, c + 9)
    if n > 4:
        row3(V, a + 4 * k, k, V, b, THREE, V, c + 12)
    if n > 5:
        row3(V, a + 5 * k, k, V, b, THREE, V, c + 15)


@in_order
def straight_product(V, a, b, c, n, k, m):
    """C -= A B for blocks n x k, k x m and n x m at a, b and c."""
    if n < 3 or n > 6:
        subtract_product(V, a, V, b, V, c, n, k, m)
    elif k == 6:
        if m == 6:
            product6(V, a, SIX, b, c, n)
        elif m == 5:
            product5(V, a, SIX, b, c, n)
        elif m == 4:
            product4(V, a, SIX, b, c, n)
        elif m == 3:
            product3(V, a, SIX, b, c, n)
        else:
            subtract_product(V, a, V, b, V, c, n, k, m)
    elif k == 5 and m == 6:
        product6(V, a, FIVE, b, c, n)
    elif k == 5 and m == 5:
        product5(V, a, FIVE, b, c, n)
    elif k == 4 and m == 6:
        product6(V, a, FOUR, b, c, n)
    elif k == 3 and m == 6:
        product6(V, a, THREE, b, c, n)
    else:
        subtract_product(V, a, V, b, V, c, n, k, m)


@in_order
def solve6(V, d, n, x):
    """X <- (L U)^-1 X for the factored n x n block at d, 3 <= n <= 6, and the n x 6 block at x."""
    row6(V, d + n, ONE, V, x, SIX, V, x + 6)
    row6(V, d + 2 * n, TWO, V, x, SIX, V, x + 12)
    if n > 3:
        row6(V, d + 3 * n, THREE, V, x, SIX, V, x + 18)
    if n > 4:
        row6(V, d + 4 * n, FOUR, V, x, SIX, V, x + 24)
    if n > 5:
        row6(V, d + 5 * n, FIVE, V, x, SIX, V, x + 30)
        back6(V, d + 35, ZERO, x + 36, x + 30)
    if n > 4:
        back6(V, d + 4 * n + 4, n - 5, x + 30, x + 24)
    if n > 3:
        back6(V, d + 3 * n + 3, n - 4, x + 24, x + 18)
    back6(V, d + 2 * n + 2, n - 3, x + 18, x + 12)
    back6(V, d + n + 1, n - 2, x + 12, x + 6)
    back6(V, d, n - 1, x + 6, x)


@in_order
def solve5(V, d, n, x):
    """`solve6` with 5 columns."""
    row5(V, d + n, ONE, V, x, FIVE, V, x + 5)
    row5(V, d + 2 * n, TWO, V, x, FIVE, V, x + 10)
    if n > 3:
        row5(V, d + 3 * n, THREE, V, x, FIVE, V, x + 15)
    if n > 4:
        row5(V, d + 4 * n, FOUR, V, x, FIVE, V, x + 20)
    if n > 5:
        row5(V, d + 5 * n, FIVE, V, x, FIVE, V, x + 25)
        back5(V, d + 35, ZERO, x + 30, x + 25)
    if n > 4:
        back5(V, d + 4 * n + 4, n - 5, x + 25, x + 20)
    if n > 3:
        back5(V, d + 3 * n + 3, n - 4, x + 20, x + 15)
    back5(V, d + 2 * n + 2, n - 3, x + 15, x + 10)
    back5(V, d + n + 1, n - 2, x + 10, x + 5)
    back5(V, d, n - 1, x + 5, x)


@in_order
def solve4(V, d, n, x):
    """`solve6` with 4 columns."""
    row4(V, d + n, ONE, V, x, FOUR, V, x + 4)
    row4(V, d + 2 * n, TWO, V, x, FOUR, V, x + 8)
    if n > 3:
        row4(V, d + 3 * n, THREE, V, x, FOUR, V, x + 12)
    if n > 4:
        row4(V, d + 4 * n, FOUR, V, x, FOUR, V, x + 16)
    if n > 5:
        row4(V, d + 5 * n, FIVE, V, x, FOUR, V, x + 20)
        back4(V, d + 35, ZERO, x + 24, x + 20)
    if n > 4:
        back4(V, d + 4 * n + 4, n - 5, x + 20, x + 16)
    if n > 3:
        back4(V, d + 3 * n + 3, n - 4, x + 16, x + 12)
    back4(V, d + 2 * n + 2, n - 3, x + 12, x + 8)
    back4(V, d + n + 1, n - 2, x + 8, x + 4)
    back4(V, d, n - 1, x + 4, x)


@in_order
def solve3(V, d, n, x):
    """`solve6` with 3 columns."""
    row3(V, d + n, ONE, V, x, THREE, V, x + 3)
    row3(V, d + 2 * n, TWO, V, x, THREE, V, x + 6)
    if n > 3:
        row3(V, d + 3 * n, THREE, V, x, THREE, V, x + 9)
    if n > 4:
        row3(V, d + 4 * n, FOUR, V, x, THREE, V, x + 12)
    if n > 5:
        row3(V, d + 5 * n, FIVE, V, x, THREE, V, x + 15)
        back3(V, d + 35, ZERO, x + 18, x + 15)
    if n > 4:
        back3(V, d + 4 * n + 4, n - 5, x + 15, x + 12)
    if n > 3:
        back3(V, d + 3 * n + 3, n - 4, x + 12, x + 9)
    back3(V, d + 2 * n + 2, n - 3, x + 9, x + 6)
    back3(V, d + n + 1, n - 2, x + 6, x + 3)
    back3(V, d, n - 1, x + 3, x)


@in_order
def straight_solve(V, d, n, x, m):
    """X <- (L U)^-1 X for the factored n x n block at d and the n x m block at x; swaps of rows and columns aside."""
    if n == 6 and m == 6:
        solve6(V, d, SIX, x)
    elif n == 6 and m == 5:
        solve5(V, d, SIX, x)
    elif n == 6 and m == 4:
        solve4(V, d, SIX, x)
    elif n == 6 and m == 3:
        solve3(V, d, SIX, x)
    elif n == 5 and m == 6:
        solve6(V, d, FIVE, x)
    elif n == 5 and m == 5:
        solve5(V, d, FIVE, x)
    elif n == 4 and m == 6:
        solve6(V, d, FOUR, x)
    elif n == 3 and m == 6:
        solve6(V, d, THREE, x)
    else:
        solve_rows(V, d, n, V, x, m)


@in_order
def column(V, a, k, X, b, c, n):
    """C -= A B for the n x k block at a of V and columns of X that begin at b and c, 1 <= n <= 6."""
    row1(V, a, k, X, b, ONE, X, c)
    if n > 1:
        row1(V, a + k, k, X, b, ONE, X, c + 1)
    if n > 2:
        row1(V, a + 2 * k, k, X, b, ONE, X, c + 2)
    if n > 3:
        row1(V, a + 3 * k, k, X, b, ONE, X, c + 3)
    if n > 4:
        row1(V, a + 4 * k, k, X, b, ONE, X, c + 4)
    if n > 5:
        row1(V, a + 5 * k, k, X, b, ONE, X, c + 5)


@in_order
def straight_column(V, a, X, b, c, n, k):
    """C -= A B for the n x k block at a of V and columns of X that begin at b and c."""
    if n < 1 or n > 6:
        subtract_column(V, a, X, b, X, c, n, k)
    elif k == 6:
        column(V, a, SIX, X, b, c, n)
    elif k == 5:
        column(V, a, FIVE, X, b, c, n)
    elif k == 4:
        column(V, a, FOUR, X, b, c, n)
    elif k == 3:
        column(V, a, THREE, X, b, c, n)
    else:
        subtract_column(V, a, X, b, X, c, n, k)
