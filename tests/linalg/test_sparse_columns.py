"""Half of a solution along a path of the graph: products of the halves are entries of the inverse."""

import numpy as np
import pytest

from leastaction.linalg.graph.graph_factorization import solve_backward, solve_forward
from leastaction.linalg.graph.sparse_columns import find_path, find_places, reduce_column, reduce_row
from leastaction.maximal import GraphLDU
from tests.maximal.saddle_points import dense, random_blocks


@pytest.mark.parametrize("seed", range(6))
def test_products_of_rows_and_columns_are_entries_of_the_inverse(seed):
    """Also where an edge of the graph has no entries, and where there are cycles."""
    rng = np.random.default_rng(seed)
    n = 9
    sizes = [int(rng.choice([3, 5, 6])) for _ in range(n)]
    tree = [(int(rng.integers(0, i)), i) for i in range(1, n)]
    more = [(0, n - 1)] if (0, n - 1) not in tree else []
    unused = next((i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in tree + more)
    blocks = random_blocks(sizes, tree + more, rng)
    A, N = dense(sizes, blocks), sum(sizes)
    ldu = GraphLDU(sizes, [*tree, *more, unused], loose=[unused]).factor(blocks)
    plan, factors, first = ldu.plan, ldu.factors, np.concatenate([[0], np.cumsum(sizes)])
    places, path = np.zeros((2, N), np.int64)
    find_places(plan, places)
    for one, two in ((0, 3), (n - 1, 4), (2, 2)):
        d, e = np.zeros((2, N))
        for node in (one, two):
            own = slice(first[node], first[node + 1])
            d[own], e[own] = rng.normal(size=(2, sizes[node]))
        x, solution = d.copy(), np.linalg.solve(A, d)
        expected = e @ solution
        count = find_path(plan, factors, places, first[one], first[two], path)
        reduce_column(plan, factors, path, count, d)
        reduce_row(plan, factors, path, count, e)
        np.testing.assert_allclose(e @ d, expected, rtol=1e-9, atol=1e-12)
        on_path = np.isin(np.repeat(np.arange(n), sizes), plan.nodes.node[path[:count]])
        assert not d[~on_path].any()
        assert not e[~on_path].any()
        solve_forward(plan, factors, x)
        np.testing.assert_allclose(x, d, rtol=1e-12)
        solve_backward(plan, factors, x)
        np.testing.assert_allclose(x, solution, rtol=1e-9, atol=1e-12)
    alone = find_path(plan, factors, places, -1, first[n - 1], path)
    assert 0 < alone <= n
