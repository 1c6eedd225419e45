"""Elimination order of the nodes of a graph, with little fill-in and without zero pivots.

Three orders are computed. The one from leaves to root, depth first, has no fill-in on a tree; on a graph with cycles it
is the loop-opener order of Brüdigam 2023, Section 4.2, with fill-in between the nodes of a cycle and the first of them
that the search finds. Minimum degree and nested dissection are general orders, better where cycles share nodes.
`best_order` counts the operations of each and returns the cheapest.
"""

import heapq
from collections.abc import Container, Iterable, Sequence

from leastaction.linalg.graph.pivot_check import PivotGuard, made_safe

Neighbours = Sequence[Sequence[int]]

_LEAF = 8  # parts with at most this many nodes are not dissected further


def best_order(
    sizes: Sequence[int],
    neighbours: Neighbours,
    constraint: Sequence[bool],
    roots: Iterable[int] = (),
    weak: Container[tuple[int, int]] = (),
) -> tuple[list[int], list[list[int]]]:
    """Return the cheapest of the known orders, and the parents in it (see `parents_of`)."""
    order = made_safe(depth_first(neighbours, constraint, roots), neighbours, constraint, weak)
    parents = parents_of(order, neighbours)
    if sum(map(len, parents)) == sum(map(len, neighbours)) // 2:  # no fill-in: optimal
        return order, parents
    best = work(sizes, parents), order, parents
    for candidate in (
        minimum_degree(sizes, neighbours, constraint, weak),
        made_safe(nested_dissection(sizes, neighbours), neighbours, constraint, weak),
    ):
        parents = parents_of(candidate, neighbours)
        count = work(sizes, parents)
        if count < best[0]:
            best = count, candidate, parents
    return best[1], best[2]


def parents_of(order: Sequence[int], neighbours: Neighbours) -> list[list[int]]:
    """For each node the nodes that its elimination changes: its later neighbours with fill-in, in elimination order."""
    place = [0] * len(order)
    for k, node in enumerate(order):
        place[node] = k
    parents: list[list[int]] = [[] for _ in order]
    handed: list[list[int]] = [[] for _ in order]  # children whose first parent is this node
    for node in order:
        later = {j for j in neighbours[node] if place[j] > place[node]}
        for child in handed[node]:
            later.update(parents[child])
        later.discard(node)
        parents[node] = sorted(later, key=place.__getitem__)
        if parents[node]:
            handed[parents[node][0]].append(node)
    return parents


def node_work(size: int, around: int) -> float:
    """Multiplications and additions to eliminate a node and to solve, if its parents have `around` rows in total."""
    return size * (2.0 / 3.0 * size * size + 2.0 * size * around + 2.0 * around * around + 2.0 * size + 4.0 * around)


def work(sizes: Sequence[int], parents: Sequence[Sequence[int]]) -> float:
    """Multiplications and additions of one factorisation and one solve."""
    return sum(node_work(sizes[i], sum(sizes[p] for p in around)) for i, around in enumerate(parents))


def depth_first(neighbours: Neighbours, constraint: Sequence[bool], roots: Iterable[int] = ()) -> list[int]:
    """Order from leaves to roots: the reverse of the order in which a depth-first search visits the nodes.

    Roots that are not given are chosen: if possible a constraint with one neighbour (a joint with the world), which
    cannot be eliminated before its body.
    """
    found: list[int] = []
    seen = [False] * len(neighbours)
    ends = [i for i, around in enumerate(neighbours) if constraint[i] and len(around) == 1]
    for root in (*roots, *ends, *range(len(neighbours))):
        stack = [root]
        while stack:
            node = stack.pop()
            if not seen[node]:
                seen[node] = True
                found.append(node)
                stack.extend(j for j in reversed(neighbours[node]) if not seen[j])
    return found[::-1]


def minimum_degree(
    sizes: Sequence[int],
    neighbours: Neighbours,
    constraint: Sequence[bool],
    weak: Container[tuple[int, int]] = (),
) -> list[int]:
    """Greedy order: at each step, of the nodes with a pivot, the one whose elimination costs the least."""
    guard = PivotGuard(neighbours, constraint, weak)
    graph = [set(around) for around in neighbours]
    version = [0] * len(graph)
    order: list[int] = []
    waiting: set[int] = set()

    def key(node: int) -> tuple[float, int, int, int]:
        # On ties prefer a neighbour of the previous node: its blocks are still in the cache.
        return node_work(sizes[node], sum(sizes[j] for j in graph[node])), -len(order), node, version[node]

    heap = [key(node) for node in range(len(graph))]
    heapq.heapify(heap)
    while heap or waiting:
        if not heap:  # the remaining nodes have no body as neighbour
            heap = [key(node) for node in waiting]
            heapq.heapify(heap)
            waiting.clear()
            constraint = [False] * len(graph)
        *_, node, stamp = heapq.heappop(heap)
        if stamp != version[node]:
            continue
        if constraint[node] and not guard.allows(node):
            waiting.add(node)
            continue
        version[node] = -1
        guard.eliminate(node)
        order.append(node)
        around = graph[node]
        for j in around:
            graph[j] |= around
            graph[j] -= {j, node}
        for j in around:
            waiting.discard(j)
            version[j] += 1
            heapq.heappush(heap, key(j))
        graph[node] = set()
    return order


def nested_dissection(sizes: Sequence[int], neighbours: Neighbours) -> list[int]:
    """Order with separators last: the middle level of a breadth-first search bisects the graph, recursively."""
    order: list[int] = []  # from the end

    def dissect(part: set[int]) -> None:
        for piece in _pieces(part, neighbours):
            if len(piece) <= _LEAF:
                inner = {node: k for k, node in enumerate(piece)}
                graph = [[inner[j] for j in neighbours[node] if j in inner] for node in piece]
                within = minimum_degree([sizes[node] for node in piece], graph, [False] * len(piece))
                order.extend(piece[k] for k in reversed(within))
                continue
            levels = _levels(piece, neighbours)
            separator = _middle(levels, sizes, neighbours)
            order.extend(separator)
            dissect(set(piece).difference(separator))

    dissect(set(range(len(neighbours))))
    return order[::-1]


def _pieces(part: set[int], neighbours: Neighbours) -> list[list[int]]:
    """Connected components of a part of the graph."""
    pieces, left = [], set(part)
    for start in sorted(part):
        if start in left:
            left.discard(start)
            piece = [start]
            for node in piece:
                for j in neighbours[node]:
                    if j in left:
                        left.discard(j)
                        piece.append(j)
            pieces.append(piece)
    return pieces


def _levels(piece: Sequence[int], neighbours: Neighbours) -> list[list[int]]:
    """Levels of a breadth-first search from a peripheral node, so that there are many small levels."""
    levels: list[list[int]] = [list(piece)]
    for _ in range(4):
        start = min(levels[-1], key=lambda node: len(neighbours[node]))
        left = set(piece) - {start}
        found = [[start]]
        while left:
            found.append([])
            for node in found[-2]:
                for j in neighbours[node]:
                    if j in left:
                        left.discard(j)
                        found[-1].append(j)
        if len(found) <= len(levels):
            break
        levels = found
    return levels


def _middle(levels: Sequence[Sequence[int]], sizes: Sequence[int], neighbours: Neighbours) -> list[int]:
    """The smallest level near the middle, without its nodes that have no neighbour in the next level."""
    weights = [sum(sizes[node] for node in level) for level in levels]
    total, before, best = sum(weights), 0, (float("inf"), 0)
    for k, weight in enumerate(weights):
        balance = abs(2 * before + weight - total) / max(total, 1)
        best = min(best, (weight * (1.0 + 4.0 * balance * balance) if balance < 0.6 else float("inf"), k))
        before += weight
    k = best[1] if best[0] < float("inf") else len(levels) // 2
    beyond = set(levels[k + 1]) if k + 1 < len(levels) else set()
    return [node for node in levels[k] if not beyond or any(j in beyond for j in neighbours[node])]
