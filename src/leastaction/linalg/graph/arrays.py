"""Named tuples of the arrays for the kernels of graph factorisation."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class GraphPlan(NamedTuple):
    """Symbolic factorisation of a matrix on a graph: computed once, read only.

    Attributes:
        nodes: `symbolic_factorization.GRAPH_NODE` records in the order of elimination.
        links: `symbolic_factorization.GRAPH_LINK` records, contiguous for each node.
        targets: for each node, offsets of the blocks (p, q) of all its parents p and q, p by p.
        diagonal: offset of each node's diagonal block among the values, shape (nodes,).
        offsets: offsets of the blocks (i, j) and (j, i) of each edge (i, j), shape (edges, 2).
        first: first row of each node in a right-hand side, shape (nodes + 1,).
    """

    nodes: Any
    links: Any
    targets: NDArray[np.uint32]
    diagonal: NDArray[np.int64]
    offsets: NDArray[np.int64]
    first: NDArray[np.int64]


class GraphFactors(NamedTuple):
    """A matrix on a graph, or its factors after factorisation.

    Attributes:
        values: the blocks, each in row-major order.
        pivots: row and column swaps inside the pivot blocks, shape (rows, 2).
        scale: magnitude of the terms summed in each row of a ranked pivot block, shape (rows,); scratch.
        live: 0 for each of the plan's links whose blocks are all zero, 1 for the others.
    """

    values: NDArray[np.float64]
    pivots: NDArray[np.uint32]
    scale: NDArray[np.float64]
    live: NDArray[np.uint32]


def like(factors: GraphFactors) -> GraphFactors:
    """Zero factors for another matrix on the same graph, with every link live."""
    arrays: list[Any] = [np.zeros(x.shape, x.dtype) for x in factors]
    out = GraphFactors(*arrays)
    out.live[:] = 1
    return out
