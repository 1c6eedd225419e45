"""What a factorisation needs to know about a graph, worked out once: where blocks lie and which ones meet."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Unsigned and short: the compiler then knows that sums of them are no negative indices.
GRAPH_NODE = np.dtype(
    [
        ("node", np.uint32),  # its number in the graph
        ("width", np.uint32),  # its rows and columns
        ("row", np.uint32),  # its first row
        ("block", np.uint32),  # where its diagonal block begins
        ("first", np.uint32),  # its first link
        ("count", np.uint32),  # how many links it has
        ("target", np.uint32),  # its first target
        ("ranked", np.uint32),  # 1: rows that depend on others are skipped
    ]
)
"""One record per node, in the order of elimination."""

GRAPH_LINK = np.dtype(
    [
        ("upper", np.uint32),  # where block (node, parent) begins
        ("lower", np.uint32),  # where block (parent, node) begins
        ("width", np.uint32),  # rows and columns of the parent
        ("row", np.uint32),  # first row of the parent
        ("ranked", np.uint32),  # whether the parent is ranked
        ("loose", np.uint32),  # 1: both blocks may be zero, which is looked at before they are used
    ]
)
"""One record per node and parent."""


class Plan:
    """The arrays that the kernels of `graph.graph_factorization` run on.

    Args:
        sizes, order, parents, ranked: of the nodes, see `GraphLDU`.
        firm: the parents without loose edges, where there are any.

    Attributes:
        nodes: `GRAPH_NODE` records in the order of elimination.
        links: `GRAPH_LINK` records, those of a node together.
        targets: for each node, the offsets of the blocks (p, q) of all its parents p and q, p by p.
        rows: first row of each node in a right-hand side, shape (nodes + 1,).
        diagonal: offset of each node's diagonal block among the values, shape (nodes,).
        offsets: offset of the block of each pair (i, j) of nodes that has one and i != j.
        size: how many values there are.
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
        # A node's blocks lie together, in the order in which elimination runs through them.
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
