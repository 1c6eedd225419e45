"""Kernels of factorisation and solution on a graph (Brüdigam 2023, Algorithms 1 to 4).

The paper stores L = F_pc F_cc^-1, D = F_cc and U = F_cc^-1 F_cp. Here only U is formed: with L D = F_pc the update is
F_pq -= F_pc U_cq, which saves one of the two solves for every edge, and the factors are the block triangular matrices
(L D) and U. Each pivot block is stored as its own LU factors with pivoting; no inverse is formed.

All functions take the `GraphPlan` of the graph and the `GraphFactors` of a matrix on it, or its values alone.
"""

import numpy as np

from leastaction.linalg.graph.flat_blocks import (
    factor_block,
    factor_ranked_block,
    gauge_block,
    is_nonzero,
    solve_block,
    solve_block_transposed,
    solve_column,
    subtract_product,
    subtract_transposed_product,
    swap_back,
    swap_to_pivots,
)
from leastaction.linalg.graph.row_operations import U, borrowing
from leastaction.linalg.graph.unrolled_blocks import straight_column, straight_product, straight_solve


@borrowing
def factorize(plan, factors, tolerance):
    """Factor the matrix in the values of `factors`, in place.

    Returns the first node with a singular pivot block (-1: none, the factors are valid), and the number of rows of
    ranked nodes that were skipped as dependent (remainder at most `tolerance`).
    """
    nodes, links, targets = plan.nodes, plan.links, plan.targets
    values, pivots, scale, live = factors.values, factors.pivots, factors.scale, factors.live
    skipped = 0
    for k in range(nodes.shape[0]):
        if nodes[k].ranked:
            n, row = np.int64(nodes[k].width), np.int64(nodes[k].row)
            for r in range(row, row + n):
                scale[U(r)] = 0.0
            gauge_block(values, np.int64(nodes[k].block), n, scale, row)
    for k in range(nodes.shape[0]):
        n, row, d = np.int64(nodes[k].width), np.int64(nodes[k].row), np.int64(nodes[k].block)
        if nodes[k].ranked:
            missing = factor_ranked_block(values, d, n, pivots, row, scale, tolerance)
            if missing < 0:
                return np.int64(nodes[k].node), skipped
            skipped += missing
        elif not factor_block(values, d, n, pivots, row):
            return np.int64(nodes[k].node), skipped
        first, count, target = np.int64(nodes[k].first), np.int64(nodes[k].count), np.int64(nodes[k].target)
        for q in range(first, first + count):
            upper, width = np.int64(links[q].upper), np.int64(links[q].width)
            if links[q].loose:
                lower = np.int64(links[q].lower)
                live[U(q)] = is_nonzero(values, upper, n * width) or is_nonzero(values, lower, n * width)
                if not live[U(q)]:
                    continue
            swap_to_pivots(pivots, row, n, values, upper, width)
            straight_solve(values, d, n, upper, width)
            if nodes[k].ranked:
                swap_back(pivots, row, n, values, upper, width)
        for p in range(first, first + count):
            if not live[U(p)]:
                target += count
                continue
            lower, m = np.int64(links[p].lower), np.int64(links[p].width)
            for q in range(first, first + count):
                c = np.int64(targets[U(target)])
                target += 1
                if not live[U(q)]:
                    continue
                width = np.int64(links[q].width)
                straight_product(values, lower, np.int64(links[q].upper), c, m, n, width)
                if p == q and links[p].ranked:
                    gauge_block(values, c, m, scale, np.int64(links[p].row))
    return -1, skipped


@borrowing
def solve(plan, factors, rhs):
    """rhs <- F^-1 rhs in place, for one right-hand side, shape (rows,)."""
    solve_forward(plan, factors, rhs)
    solve_backward(plan, factors, rhs)


@borrowing
def solve_forward(plan, factors, rhs):
    """rhs <- (L D)^-1 rhs in place, for one right-hand side, shape (rows,)."""
    nodes, links, values, pivots, live = plan.nodes, plan.links, factors.values, factors.pivots, factors.live
    for k in range(nodes.shape[0]):
        n, row, d = np.int64(nodes[k].width), np.int64(nodes[k].row), np.int64(nodes[k].block)
        solve_column(values, d, n, pivots, row, nodes[k].ranked, rhs, row)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            if not live[U(p)]:
                continue
            lower, width, c = np.int64(links[p].lower), np.int64(links[p].width), np.int64(links[p].row)
            straight_column(values, lower, rhs, row, c, width, n)


@borrowing
def solve_backward(plan, factors, rhs):
    """rhs <- U^-1 rhs in place, for one right-hand side, shape (rows,)."""
    nodes, links, values, live = plan.nodes, plan.links, factors.values, factors.live
    for k in range(nodes.shape[0] - 1, -1, -1):
        n, row = np.int64(nodes[k].width), np.int64(nodes[k].row)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            if not live[U(p)]:
                continue
            upper, width, c = np.int64(links[p].upper), np.int64(links[p].width), np.int64(links[p].row)
            straight_column(values, upper, rhs, c, row, n, width)


@borrowing
def solve_many(plan, factors, rhs, m):
    """rhs <- F^-1 rhs in place, for m right-hand sides: rhs (rows * m,), row by row."""
    nodes, links, values, pivots = plan.nodes, plan.links, factors.values, factors.pivots
    for k in range(nodes.shape[0]):
        n, row, d = np.int64(nodes[k].width), np.int64(nodes[k].row), np.int64(nodes[k].block)
        solve_block(values, d, n, pivots, row, nodes[k].ranked, rhs, row * m, m)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            lower, width, c = np.int64(links[p].lower), np.int64(links[p].width), np.int64(links[p].row) * m
            subtract_product(values, lower, rhs, row * m, rhs, c, width, n, m)
    for k in range(nodes.shape[0] - 1, -1, -1):
        n, row = np.int64(nodes[k].width), np.int64(nodes[k].row)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            upper, width, c = np.int64(links[p].upper), np.int64(links[p].width), np.int64(links[p].row) * m
            subtract_product(values, upper, rhs, c, rhs, row * m, n, width, m)


@borrowing
def solve_transposed(plan, factors, rhs, m):
    """rhs <- F^-T rhs in place, for m right-hand sides: rhs (rows * m,), row by row."""
    nodes, links, values, pivots = plan.nodes, plan.links, factors.values, factors.pivots
    for k in range(nodes.shape[0]):
        n, row = np.int64(nodes[k].width), np.int64(nodes[k].row)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            upper, width, c = np.int64(links[p].upper), np.int64(links[p].width), np.int64(links[p].row) * m
            subtract_transposed_product(values, upper, rhs, row * m, rhs, c, width, n, m)
    for k in range(nodes.shape[0] - 1, -1, -1):
        n, row, d = np.int64(nodes[k].width), np.int64(nodes[k].row), np.int64(nodes[k].block)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            lower, width, c = np.int64(links[p].lower), np.int64(links[p].width), np.int64(links[p].row) * m
            subtract_transposed_product(values, lower, rhs, c, rhs, row * m, n, width, m)
        solve_block_transposed(values, d, n, pivots, row, nodes[k].ranked, rhs, row * m, m)


@borrowing
def subtract_multiple(plan, values, x, rhs, m):
    """rhs -= F x for the unfactored matrix F in `values`; x and rhs (rows * m,)."""
    nodes, links = plan.nodes, plan.links
    for k in range(nodes.shape[0]):
        n, row = np.int64(nodes[k].width), np.int64(nodes[k].row) * m
        subtract_product(values, np.int64(nodes[k].block), x, row, rhs, row, n, n, m)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            width, c = np.int64(links[p].width), np.int64(links[p].row) * m
            subtract_product(values, np.int64(links[p].upper), x, c, rhs, row, n, width, m)
            subtract_product(values, np.int64(links[p].lower), x, row, rhs, c, width, n, m)


@borrowing
def subtract_transposed_multiple(plan, values, x, rhs, m):
    """rhs -= F^T x for the unfactored matrix F in `values`; x and rhs (rows * m,)."""
    nodes, links = plan.nodes, plan.links
    for k in range(nodes.shape[0]):
        n, row = np.int64(nodes[k].width), np.int64(nodes[k].row) * m
        subtract_transposed_product(values, np.int64(nodes[k].block), x, row, rhs, row, n, n, m)
        first, count = np.int64(nodes[k].first), np.int64(nodes[k].count)
        for p in range(first, first + count):
            width, c = np.int64(links[p].width), np.int64(links[p].row) * m
            subtract_transposed_product(values, np.int64(links[p].upper), x, row, rhs, c, width, n, m)
            subtract_transposed_product(values, np.int64(links[p].lower), x, c, rhs, row, n, width, m)


@borrowing
def refine(plan, factors, original, x, rhs, residual, m, steps, transposed):
    """Improve a solution x of F x = rhs (or F^T x = rhs) by `steps` rounds of iterative refinement.

    original: values of the unfactored matrix; residual (rows * m,): scratch.
    """
    for _ in range(steps):
        for i in range(rhs.shape[0]):
            residual[i] = rhs[i]
        if transposed:
            subtract_transposed_multiple(plan, original, x, residual, m)
            solve_transposed(plan, factors, residual, m)
        else:
            subtract_multiple(plan, original, x, residual, m)
            solve_many(plan, factors, residual, m)
        for i in range(rhs.shape[0]):
            x[i] += residual[i]
