"""Symbolic factorisation of a matrix on a graph: the offsets of blocks and the updates between them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Unsigned and short: the compiler then knows that their sums are no negative indices.
GRAPH_NODE = np.dtype(
    [
        ("node", np.uint32),  # number in the graph
        ("width", np.uint32),  # number of rows and columns
        ("row", np.uint32),  # first row
        ("block", np.uint32),  # offset of its diagonal block
        ("first", np.uint32),  # first link
        ("count", np.uint32),  # number of links
        ("target", np.uint32),  # first target
        ("ranked", np.uint32),  # 1: dependent rows are skipped
    ]
)
"""One record per node, in elimination order."""

GRAPH_LINK = np.dtype(
    [
        ("upper", np.uint32),  # offset of block (node, parent)
        ("lower", np.uint32),  # offset of block (parent, node)
        ("width", np.uint32),  # number of rows and columns of the parent
        ("row", np.uint32),  # first row of the parent
        ("ranked", np.uint32),  # whether the parent is ranked
        ("loose", np.uint32),  # 1: both blocks may be zero, which is tested before their use
    ]
)
"""One record per node and parent."""


class Plan:
    """The arrays that the kernels of `graph.graph_factorization` run on.

    Args:
        sizes, order, parents, ranked: of the nodes, see `GraphLDU`.
        firm: the parents without loose edges, if there are any.

    Attributes:
        nodes: `GRAPH_NODE` records in the order of elimination.
        links: `GRAPH_LINK` records, contiguous for each node.
        targets: for each node, the offsets of the blocks (p, q) of all its parents p and q, p by p.
        rows: first row of each node in a right-hand side, shape (nodes + 1,).
        diagonal: offset of each node's diagonal block among the values, shape (nodes,).
        offsets: offset of the block of each pair (i, j), i != j, of nodes that has one.
        size: number of values.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        order: Sequence[int],
        parents: Sequence[Sequence[int]],
        ranked: Sequence[bool],
        firm: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.rows: NDArray[np.int64] = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self.diagonal: NDArray[np.int64] = np.zeros(len(sizes), np.int64)
        self.offsets: dict[tuple[int, int], int] = {}
        size = 0
        # A node's blocks are contiguous, in the order of elimination.
        for i in order:
            self.diagonal[i] = size
            size += sizes[i] ** 2
            for pairs in ([(i, p) for p in parents[i]], [(p, i) for p in parents[i]]):
                for pair in pairs:
                    self.offsets[pair] = size
                    size += sizes[pair[0]] * sizes[pair[1]]
        if size >= 2**32:
            raise ValueError(f"the factors need {size} values, more than the 2^32 that can be addressed")
        self.size = size
        self.nodes = np.zeros(len(order), GRAPH_NODE).view(np.recarray)
        self.links = np.zeros(sum(map(len, parents)), GRAPH_LINK).view(np.recarray)
        targets: list[int] = []
        first = 0
        for k, i in enumerate(order):
            count = len(parents[i])
            self.nodes[k] = (
                *(i, sizes[i], self.rows[i], self.diagonal[i]),
                *(first, count, len(targets), ranked[i]),
            )
            for p in parents[i]:
                loose = firm is not None and p not in firm[i]
                self.links[first] = self.offsets[i, p], self.offsets[p, i], sizes[p], self.rows[p], ranked[p], loose
                targets.extend(self.diagonal[p] if p == q else self.offsets[p, q] for q in parents[i])
                first += 1
        self.targets = np.array(targets, np.uint32)
