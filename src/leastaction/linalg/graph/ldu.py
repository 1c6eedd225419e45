"""Direct solution of block-sparse linear systems along their graph (Brüdigam 2020; 2023, Section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction._jit import entry
from leastaction.errors import MatrixError, SingularMatrixError
from leastaction.linalg.graph import graph_factorization
from leastaction.linalg.graph.arrays import GraphFactors, GraphPlan
from leastaction.linalg.graph.fill_reducing_order import best_order, minimum_degree, parents_of, work
from leastaction.linalg.graph.symbolic_factorization import Plan
from leastaction.mechanism._check import real_array, shown

__all__ = ["GraphLDU"]

Floats = NDArray[np.float64]


@entry
def _factorize(plan, factors, tolerance):
    return graph_factorization.factorize(GraphPlan(*plan), GraphFactors(*factors), tolerance)


@entry
def _solve(plan, factors, original, x, rhs, residual, m, steps, transposed):
    plan, factors = GraphPlan(*plan), GraphFactors(*factors)
    for i in range(rhs.shape[0]):
        x[i] = rhs[i]
    if transposed:
        graph_factorization.solve_transposed(plan, factors, x, m)
    else:
        graph_factorization.solve_many(plan, factors, x, m)
    graph_factorization.refine(plan, factors, original, x, rhs, residual, m, steps, transposed)


class GraphLDU:
    """Factorises a block-sparse matrix with symmetric pattern; its values need not be symmetric.

    Nodes are groups of rows and columns, edges are the off-diagonal blocks that may be nonzero. The elimination order
    is computed once: on a tree from leaves to root, O(n) without fill-in; on a graph with cycles the cheapest of
    several orders. Every factorisation then runs in place on one flat array.

        ldu = GraphLDU(sizes=[6, 3, 6], edges=[(0, 1), (1, 2)], constraint=[False, True, False])
        ldu.factor(matrix)  # dense, SciPy sparse, or {(i, j): block}
        x = ldu.solve(b)

    Kernels that assemble in place add to `values` (length `size`, initialised to zero) at the offsets `diagonal[i]`
    and `edge_offset[e]`, then call `graph_factorization.factorize(ldu.plan, ldu.factors, tolerance)`.

    Args:
        sizes: number of rows and columns of each node; 0 is allowed.
        edges: pairs (i, j) of nodes; an edge given twice shares its blocks.
        constraint: marks nodes whose diagonal block may be zero, such as the joints of a mechanism. They are eliminated
            after a body that gives them a pivot, and dependent rows (redundant loops) are skipped: their unknowns are
            zero, the other equations hold.
        order: the elimination order, a permutation of the nodes. Default: the cheapest one found.
        roots: nodes at which the search of the default order begins, which are eliminated last.
        weak: pairs (constraint, body) of nodes whose blocks may vanish, so that the body gives no pivot.
        tolerance: a row of a constraint node counts as dependent if its remainder after elimination is less than this,
            relative to the terms summed in it.
        quick: use the minimum degree order, which is found in a fifth of the time and seldom worse.
        loose: edges whose blocks may be zero, such as those of bodies that touch occasionally; elimination then skips
            them and their fill-in.
        rare: those of them that the default order ignores.

    Attributes:
        sizes: rows and columns of each node, shape (nodes,).
        edges: the edges as given, shape (edges, 2).
        order: the nodes in elimination order.
        parents: for each node the nodes that its elimination changes.
        fill_in: number of pairs of nodes without an edge whose blocks fill in.
        flops: multiplications and additions of one factorisation and one solve.
        size: length of `values`.
        rows: first row of each node, shape (nodes + 1,).
        diagonal: offset of the diagonal block of each node in `values`, shape (nodes,).
        edge_offset: offsets of the blocks (i, j) and (j, i) of each edge (i, j) in `values`, shape (edges, 2).
        plan: the symbolic factorisation, for kernels.
        values: the blocks, each in row-major order; after `factor`, the factors.
        factors: the values and the other arrays that the factorisation writes.
        skipped: number of rows that the last factorisation skipped as dependent.
    """

    def __init__(
        self,
        sizes: Sequence[int] | NDArray[np.integer],
        edges: Iterable[tuple[int, int]] | NDArray[np.integer],
        *,
        constraint: Sequence[bool] | NDArray[np.bool_] | None = None,
        order: Sequence[int] | None = None,
        roots: Iterable[int] = (),
        weak: Iterable[tuple[int, int]] = (),
        tolerance: float = 1e-11,
        quick: bool = False,
        loose: Iterable[tuple[int, int]] = (),
        rare: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.sizes: NDArray[np.int64] = _whole_numbers(sizes, "sizes").reshape(-1)
        self.edges: NDArray[np.int64] = _pairs(edges, "edges")
        limit = real_array(tolerance)
        if limit is None or limit.ndim or not 0.0 < limit < np.inf:
            raise MatrixError(f"tolerance must be a positive number, got {shown(tolerance)}")
        self.tolerance = float(limit)
        widths, n = self.sizes.tolist(), len(self.sizes)
        marks = [False] * n if constraint is None else _flags(constraint)
        self._check(marks)
        roots = _whole_numbers(roots, "roots").reshape(-1).tolist()
        if any(not 0 <= root < n for root in roots):
            raise MatrixError(f"roots must be nodes of 0 … {n - 1}, got {shown(roots)}")
        # Nodes without rows have no unknowns; without edges they are eliminated at once.
        tied = {(min(e), max(e)) for e in self.edges.tolist() if widths[e[0]] and widths[e[1]]}
        loose, rare = _ordered(_pairs(loose, "loose")), _ordered(_pairs(rare, "rare"))
        neighbours = _neighbours(tied, n)
        if order is None:
            usual = _neighbours(tied - rare, n) if rare else neighbours
            if quick:
                self.order = minimum_degree(widths, usual, marks, frozenset(weak))
            else:
                self.order, _ = best_order(widths, usual, marks, roots, frozenset(weak))
        else:
            self.order = _whole_numbers(order, "order").reshape(-1).tolist()
            if sorted(self.order) != list(range(n)):
                raise MatrixError(f"order must be a permutation of the {n} nodes, got {self.order}")
        self.parents = parents_of(self.order, neighbours)
        firm = parents_of(self.order, _neighbours(tied - loose, n)) if loose else None
        self.fill_in = sum(map(len, self.parents)) - sum(map(len, neighbours)) // 2
        self.flops = work(widths, self.parents)
        ranked = [mark and width > 0 for mark, width in zip(marks, widths, strict=True)]
        plan = Plan(widths, self.order, self.parents, ranked, firm)
        self.size, self.rows, self.diagonal = plan.size, plan.rows, plan.diagonal
        self._offsets = plan.offsets
        offsets = [(plan.offsets.get((i, j), 0), plan.offsets.get((j, i), 0)) for i, j in self.edges.tolist()]
        self.edge_offset: NDArray[np.int64] = np.array(offsets, np.int64).reshape(-1, 2)
        arrays = plan.nodes, plan.links, plan.targets, self.diagonal, self.edge_offset, self.rows
        self.plan = GraphPlan(*arrays)
        self.factors = self.new_factors()
        self.skipped = 0
        self._original: Floats = np.zeros(self.size)
        self._factored = False

    @property
    def values(self) -> Floats:
        """The blocks, each in row-major order; after `factor`, the factors."""
        return self.factors.values

    def new_factors(self) -> GraphFactors:
        """Allocate the arrays for another matrix on this graph."""
        rows = int(self.rows[-1])
        live = np.ones(len(self.plan.links), np.uint32)
        return GraphFactors(np.zeros(self.size), np.zeros((rows, 2), np.uint32), np.zeros(rows), live)

    def _check(self, marks: Sequence[bool]) -> None:
        n = len(self.sizes)
        if len(marks) != n:
            raise MatrixError(f"constraint must have one entry for each of the {n} nodes, got {len(marks)}")
        if (self.sizes < 0).any():
            raise MatrixError(f"node {int(np.argmax(self.sizes < 0))} has a negative size")
        for e, (i, j) in enumerate(self.edges.tolist()):
            if not (0 <= i < n and 0 <= j < n) or i == j:
                raise MatrixError(f"edge {e} must join two different nodes of 0 … {n - 1}, got ({i}, {j})")

    @classmethod
    def from_matrix(cls, matrix: Any, sizes: Sequence[int] | NDArray[np.integer], **options: Any) -> GraphLDU:
        """Construct the graph from a matrix, and factor the matrix.

        Args:
            matrix: square, SciPy sparse or dense; its pattern is symmetrised.
            sizes: rows and columns of each node, in the order of the rows.
            **options: as for `GraphLDU`.
        """
        shape, rows, columns, entries = _coordinates(matrix)
        widths = _whole_numbers(sizes, "sizes").reshape(-1)
        if (widths < 0).any() or (int(widths.sum()), int(widths.sum())) != shape:
            raise MatrixError(f"sizes add up to {widths.sum()}, the matrix has shape {shape}")
        node = np.repeat(np.arange(len(widths)), widths)
        keep = entries != 0.0
        i, j = node[rows[keep]], node[columns[keep]]
        pairs = np.unique(np.sort(np.stack((i, j), axis=1)[i != j], axis=1), axis=0)
        ldu = cls(sizes, pairs, **options)
        ldu.factor(matrix)
        return ldu

    def assemble(self, blocks: Any) -> Floats:
        """Arrange a matrix in the layout of `values`, shape (size,), with zero fill-in.

        Args:
            blocks: a dense or SciPy sparse matrix, or a mapping from pairs (i, j) of nodes to blocks of shape
                (sizes[i], sizes[j]); missing blocks are zero.
        """
        values = np.zeros(self.size)
        if isinstance(blocks, Mapping):
            for pair, block in blocks.items():
                nodes = _whole_numbers(pair, "blocks").reshape(-1).tolist()
                if len(nodes) != 2 or not all(0 <= k < len(self.sizes) for k in nodes):
                    raise MatrixError(f"blocks are named by pairs of nodes of 0 … {len(self.sizes) - 1}, got {pair!r}")
                i, j = nodes
                shape = (int(self.sizes[i]), int(self.sizes[j]))
                entries = real_array(block)
                if entries is None or entries.shape != shape:
                    got = shown(block) if entries is None else entries.shape
                    raise MatrixError(f"block ({i}, {j}) must have shape {shape}, got {got}")
                begin = self._offset(i, j)
                values[begin : begin + entries.size] += entries.reshape(-1)
            return values
        shape, rows, columns, entries = _coordinates(blocks)
        n = int(self.rows[-1])
        if shape != (n, n):
            raise MatrixError(f"the matrix must have shape ({n}, {n}), got {shape}")
        node = np.repeat(np.arange(len(self.sizes)), self.sizes)
        keep = entries != 0.0
        rows, columns, entries = rows[keep], columns[keep], entries[keep]
        i, j = node[rows], node[columns]
        pairs, which = np.unique(np.stack((i, j), axis=1), axis=0, return_inverse=True)
        begin = np.array([self._offset(*pair) for pair in pairs.tolist()], np.int64)[which.reshape(-1)]
        np.add.at(values, begin + (rows - self.rows[i]) * self.sizes[j] + columns - self.rows[j], entries)
        return values

    def _offset(self, i: int, j: int) -> int:
        if i == j:
            return int(self.diagonal[i])
        if 0 in (self.sizes[i], self.sizes[j]):
            return 0
        try:
            return self._offsets[int(i), int(j)]
        except KeyError:
            raise MatrixError(f"block ({i}, {j}) is not zero, but nodes {i} and {j} share no edge") from None

    def factor(self, blocks: Any) -> GraphLDU:
        """Factor a matrix (see `assemble`), or a flat array of length `size` in the layout of `values`.

        Raises:
            SingularMatrixError: a pivot block is singular; the message names the node.
        """
        flat = isinstance(blocks, np.ndarray) and blocks.ndim == 1
        original = real_array(blocks) if flat else self.assemble(blocks)
        if original is None:
            raise MatrixError(f"values must be numbers, got {shown(blocks)}")
        if original.shape != (self.size,):
            raise MatrixError(f"values must have shape ({self.size},), got {original.shape}")
        if not np.isfinite(original).all():
            raise MatrixError("the matrix has entries that are not finite")
        self._factored = False
        self._original[:] = original
        self.values[:] = original
        failed, self.skipped = _factorize(tuple(self.plan), tuple(self.factors), self.tolerance)
        if failed >= 0:
            raise SingularMatrixError(f"the pivot block of node {failed} is singular", node=int(failed))
        self._factored = True
        return self

    def solve(self, rhs: ArrayLike, *, refinements: int = 0) -> Floats:
        """Solve F x = rhs for x.

        Args:
            rhs: right-hand side, shape (rows,), or several as columns, shape (rows, m).
            refinements: rounds of iterative refinement.
        """
        return self._run(rhs, refinements, False)

    def solve_transposed(self, rhs: ArrayLike, *, refinements: int = 0) -> Floats:
        """Solve F^T x = rhs for x; arguments as in `solve`."""
        return self._run(rhs, refinements, True)

    def _run(self, rhs: ArrayLike, refinements: int, transposed: bool) -> Floats:
        if not self._factored:
            raise MatrixError("there are no factors: call factor() first")
        numbers = real_array(rhs)
        if numbers is None or not np.isfinite(numbers).all():
            raise MatrixError(f"the right-hand side rhs must be finite numbers, got {shown(rhs)}")
        b = np.ascontiguousarray(numbers)
        if b.ndim not in (1, 2) or b.shape[0] != self.rows[-1]:
            raise MatrixError(f"the right-hand side rhs must have {self.rows[-1]} rows, got shape {b.shape}")
        if not isinstance(refinements, int | np.integer) or not 0 <= refinements <= 1000:
            raise MatrixError(f"refinements must be a whole number from 0 to 1000, got {shown(refinements)}")
        x, residual, m = np.empty(b.size), np.empty(b.size), b.shape[1] if b.ndim == 2 else 1
        plan, factors = tuple(self.plan), tuple(self.factors)
        _solve(plan, factors, self._original, x, b.reshape(-1), residual, m, refinements, transposed)
        return x.reshape(b.shape)


def _whole_numbers(given: Any, name: str) -> NDArray[np.int64]:
    try:
        array = np.asarray(given if isinstance(given, np.ndarray | str | bytes) else list(given))
    except (TypeError, ValueError):
        raise MatrixError(f"{name} must be whole numbers, got {shown(given)}") from None
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise MatrixError(f"{name} must be whole numbers, got {shown(given)}")
    return array.astype(np.int64) if array.size else np.zeros(array.shape, np.int64)


def _pairs(given: Any, name: str) -> NDArray[np.int64]:
    pairs = _whole_numbers(given, name)
    if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
        raise MatrixError(f"{name} must be pairs of nodes, got shape {pairs.shape}")
    return pairs.reshape(-1, 2)


def _ordered(pairs: NDArray[np.int64]) -> set[tuple[int, int]]:
    return {(min(e), max(e)) for e in pairs.tolist()}


def _neighbours(pairs: Iterable[tuple[int, int]], n: int) -> list[list[int]]:
    """Neighbours of each of n nodes."""
    around: list[list[int]] = [[] for _ in range(n)]
    for i, j in pairs:
        around[i].append(j)
        around[j].append(i)
    for own in around:
        own.sort()
    return around


def _flags(given: Any) -> list[bool]:
    try:
        array = np.asarray(given if isinstance(given, np.ndarray) else list(given) if np.iterable(given) else given)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "bi"):
        raise MatrixError(f"constraint must be True or False for each node, got {shown(given)}")
    return [bool(mark) for mark in array.tolist()]


def _coordinates(matrix: Any) -> tuple[tuple[int, ...], NDArray[np.int64], NDArray[np.int64], Floats]:
    """Shape, rows, columns and values of a matrix, dense or SciPy sparse."""
    if hasattr(matrix, "tocoo"):
        coo = matrix.tocoo()
        values = real_array(coo.data)
        if values is None:
            raise MatrixError(f"the matrix must be of real numbers, got {coo.data.dtype}")
        return tuple(coo.shape), coo.row.astype(np.int64), coo.col.astype(np.int64), values
    dense = real_array(matrix)
    if dense is None or dense.ndim != 2:
        raise MatrixError(f"expected a matrix of numbers, got {shown(matrix)}")
    if not np.isfinite(dense).all():
        raise MatrixError("the matrix has entries that are not finite")
    rows, columns = np.nonzero(dense)
    return dense.shape, rows, columns, dense[rows, columns]
