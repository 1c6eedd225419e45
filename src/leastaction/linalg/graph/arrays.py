"""The arrays that the kernels of a graph run on, by name."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class GraphPlan(NamedTuple):
    """How a matrix on a graph is factored: worked out once, nothing writes it.

    Attributes:
        nodes: `symbolic_factorization.GRAPH_NODE` records in the order of elimination.
        links: `symbolic_factorization.GRAPH_LINK` records, those of a node together.
        targets: for each node, where the blocks (p, q) of all its parents p and q begin, p by p.
        diagonal: where each node's diagonal block begins among the values, shape (nodes,).
        offsets: where the blocks (i, j) and (j, i) of each edge (i, j) begin, shape (edges, 2).
        first: first row of each node in a right-hand side, shape (nodes + 1,).
    """

    nodes: Any
    links: Any
    targets: NDArray[np.uint32]
    diagonal: NDArray[np.int64]
    offsets: NDArray[np.int64]
    first: NDArray[np.int64]


class GraphFactors(NamedTuple):
    """A matrix on a graph; once factored, its factors.

    Attributes:
        values: the blocks, each row by row.
        pivots: row and column swaps inside the pivot blocks, shape (rows, 2).
        scale: size of the terms that each row of a ranked pivot block was summed from, shape (rows,); scratch.
        live: 0 for each of the plan's links whose blocks are all zero, 1 for others.
    """

    values: NDArray[np.float64]
    pivots: NDArray[np.uint32]
    scale: NDArray[np.float64]
    live: NDArray[np.uint32]


def like(factors: GraphFactors) -> GraphFactors:
    """Factors of another matrix on the same graph, all zero, with every link live."""
    arrays: list[Any] = [np.zeros(x.shape, x.dtype) for x in factors]
    out = GraphFactors(*arrays)
    out.live[:] = 1
    return out
