"""Unrolled kernels for blocks of bodies and joints: with known sizes, every row is a few vectors in registers.

Nearly all nodes are bodies, with 6 rows, and joints, with 3 to 5. Other sizes use the loops of `flat_blocks`, which
give the same numbers. All blocks lie in one array in row-major order, as there.
"""

from leastaction.linalg.graph.flat_blocks import solve_rows, subtract_column, subtract_product
from leastaction.linalg.graph.row_operations import (
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


def product_of(row, m):
    """Build the product kernel for blocks with m columns from `row`, which subtracts a combination of rows."""

    @in_order
    def product(V, a, k, b, c, n):
        """C -= A B for n x k, k x m and n x m blocks at a, b and c, 3 <= n <= 6."""
        row(V, a, k, V, b, m, V, c)
        row(V, a + k, k, V, b, m, V, c + m)
        row(V, a + 2 * k, k, V, b, m, V, c + 2 * m)
        if n > 3:
            row(V, a + 3 * k, k, V, b, m, V, c + 3 * m)
        if n > 4:
            row(V, a + 4 * k, k, V, b, m, V, c + 4 * m)
        if n > 5:
            row(V, a + 5 * k, k, V, b, m, V, c + 5 * m)

    return product


product6, product5, product4, product3 = map(product_of, (row6, row5, row4, row3), (SIX, FIVE, FOUR, THREE))


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


def solution_of(row, back, m):
    """Build the solution kernel for blocks with m columns; `row` and `back`: forward and backward substitution."""

    @in_order
    def solve(V, d, n, x):
        """X <- (L U)^-1 X for the factored n x n block at d, 3 <= n <= 6, and the n x m block at x."""
        row(V, d + n, ONE, V, x, m, V, x + m)
        row(V, d + 2 * n, TWO, V, x, m, V, x + 2 * m)
        if n > 3:
            row(V, d + 3 * n, THREE, V, x, m, V, x + 3 * m)
        if n > 4:
            row(V, d + 4 * n, FOUR, V, x, m, V, x + 4 * m)
        if n > 5:
            row(V, d + 5 * n, FIVE, V, x, m, V, x + 5 * m)
            back(V, d + 35, ZERO, x + 6 * m, x + 5 * m)
        if n > 4:
            back(V, d + 4 * n + 4, n - 5, x + 5 * m, x + 4 * m)
        if n > 3:
            back(V, d + 3 * n + 3, n - 4, x + 4 * m, x + 3 * m)
        back(V, d + 2 * n + 2, n - 3, x + 3 * m, x + 2 * m)
        back(V, d + n + 1, n - 2, x + 2 * m, x + m)
        back(V, d, n - 1, x + m, x)

    return solve


solve6, solve5 = solution_of(row6, back6, SIX), solution_of(row5, back5, FIVE)
solve4, solve3 = solution_of(row4, back4, FOUR), solution_of(row3, back3, THREE)


@in_order
def straight_solve(V, d, n, x, m):
    """X <- (L U)^-1 X for the factored n x n block at d and the n x m block at x; without row and column swaps."""
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
    """C -= A B for the n x k block at a of V and the columns of X that begin at b and c, 1 <= n <= 6."""
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
    """C -= A B for the n x k block at a of V and the columns of X that begin at b and c."""
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
