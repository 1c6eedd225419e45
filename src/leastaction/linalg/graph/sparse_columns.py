"""Forward substitution of sparse columns on a graph, restricted to the ancestors of their entries.

With the factors F = (L D) U of `graph_factorization`, e' F^-1 d is the product of y = U^-T e and z = (L D)^-1 d. Both
have entries only on the paths from the nonzero nodes of e and d to the root of the elimination tree (Gilbert and
Peierls 1988); for a wrench on a link of a robot these are the links that carry it.
"""

import numpy as np

from leastaction.linalg.graph.flat_blocks import solve_column, subtract_transposed_product
from leastaction.linalg.graph.row_operations import ONE, U, borrowing
from leastaction.linalg.graph.unrolled_blocks import straight_column


@borrowing
def find_places(plan, places):
    """places[row] <- position in the elimination order of the node with this first row; other entries are unchanged."""
    for k in range(plan.nodes.shape[0]):
        if plan.nodes[k].width > 0:
            places[U(plan.nodes[k].row)] = k


@borrowing
def find_path(plan, factors, places, one, two, path):
    """Find the positions of the nodes with first rows `one`, `two` (-1: none) and of their ancestors; their number."""
    nodes, links, live, end = plan.nodes, plan.links, factors.live, plan.nodes.shape[0]
    a, b, count = end, end, 0
    if one >= 0:
        a = places[U(one)]
    if two >= 0:
        b = places[U(two)]
    while a < end or b < end:
        k, above = min(a, b), end
        path[count] = k
        count += 1
        first = np.int64(nodes[k].first)
        for p in range(first, first + np.int64(nodes[k].count)):
            if live[U(p)] and links[p].width > 0:
                above = min(above, places[U(links[p].row)])
        a, b = above if a == k else a, above if b == k else b
    return count


@borrowing
def reduce_column(plan, factors, path, count, x):
    """x <- (L D)^-1 x for a column with entries on a path only."""
    nodes, links, values, pivots, live = plan.nodes, plan.links, factors.values, factors.pivots, factors.live
    for i in range(count):
        k = path[i]
        n, row, d = np.int64(nodes[k].width), np.int64(nodes[k].row), np.int64(nodes[k].block)
        solve_column(values, d, n, pivots, row, nodes[k].ranked, x, row)
        first = np.int64(nodes[k].first)
        for p in range(first, first + np.int64(nodes[k].count)):
            if live[U(p)]:
                lower, width, c = np.int64(links[p].lower), np.int64(links[p].width), np.int64(links[p].row)
                straight_column(values, lower, x, row, c, width, n)


@borrowing
def reduce_row(plan, factors, path, count, x):
    """x <- U^-T x for a row with entries on a path only."""
    nodes, links, values, live = plan.nodes, plan.links, factors.values, factors.live
    for i in range(count):
        k = path[i]
        n, row = np.int64(nodes[k].width), np.int64(nodes[k].row)
        first = np.int64(nodes[k].first)
        for p in range(first, first + np.int64(nodes[k].count)):
            if live[U(p)]:
                upper, width, c = np.int64(links[p].upper), np.int64(links[p].width), np.int64(links[p].row)
                subtract_transposed_product(values, upper, x, row, x, c, width, n, ONE)
