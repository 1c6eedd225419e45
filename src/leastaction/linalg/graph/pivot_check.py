"""Which constraint nodes can be eliminated without a zero pivot.

In a saddle-point matrix

    [ M  G^T ]
    [ G   0  ]

the diagonal block of a constraint node is zero until bodies that it acts on are eliminated. After elimination of the
bodies B and constraints J the pivots are regular exactly if the rows G_JB are independent. Two structures guarantee
this:

- a tree of bodies and constraints in which every constraint has a body of its own (a joint and its child): G_JB can be
  permuted to block triangular form. Counting is not enough: of two joints coupled to a third, both act on that joint's
  body alone while their own bodies are not eliminated, and other bodies of the tree do not help;
- a set whose constraints act on no body outside of it: a dependent row is then redundant in the whole system as well,
  and no elimination order can avoid it.

A block of G may vanish, such as that of the body that carries two coupled joints. Such a body counts as connected, but
gives no pivot.
"""

from collections.abc import Container, Sequence


class PivotGuard:
    """Tracks an elimination and determines which constraint nodes have a pivot so far.

    Args:
        neighbours: for each node the nodes that it shares an edge with.
        constraint: for each node whether its diagonal block may be zero.
        weak: pairs (constraint, body) of nodes whose block may vanish.
    """

    def __init__(
        self,
        neighbours: Sequence[Sequence[int]],
        constraint: Sequence[bool],
        weak: Container[tuple[int, int]] = (),
    ) -> None:
        # Edges between two bodies (dampers) or two constraints do not affect the rank of G.
        self._others = [[j for j in around if constraint[j] != constraint[i]] for i, around in enumerate(neighbours)]
        self._constraint = constraint
        self._weak = weak
        self._parent = list(range(len(neighbours)))
        self._gone = [False] * len(neighbours)
        # For each connected set of eliminated nodes, by its representative: bodies minus constraints (0 or 1), and the
        # bodies outside of it that its constraints act on.
        self._spare = [0] * len(neighbours)
        self._outside: list[set[int]] = [set() for _ in neighbours]
        self._owner: dict[int, int] = {}  # eliminated bodies, and the constraints that they are assigned to

    def allows(self, node: int) -> bool:
        """Whether the node has a pivot: always true for a body."""
        if not self._constraint[node]:
            return True
        bodies = self._others[node]
        sets = [self._find(b) for b in bodies if self._gone[b]]
        if not sets:
            return False
        if len(set(sets)) == len(sets) and self._spare_for(node) >= 1 and self._own(node):
            return True
        return len(sets) == len(bodies) and not any(self._outside[s] for s in sets)

    def eliminate(self, node: int) -> None:
        """Add the node to the eliminated ones."""
        self._gone[node] = True
        others = self._others[node]
        sets = [self._find(j) for j in others if self._gone[j]]
        merged = set(sets)
        spare = self._spare_for(node) if self._constraint[node] else sum(self._spare[s] for s in merged)
        outside = max((self._outside[s] for s in merged), key=len, default=set())
        for s in merged:
            self._parent[s] = node
            if self._outside[s] is not outside:
                outside |= self._outside[s]
        if self._constraint[node]:
            self._owner.update(self._own(node))
            tree = len(merged) == len(sets)
            spare = max(spare - 1, 0) if tree else 0
            outside.update(j for j in others if not self._gone[j])
        else:
            spare += 1
            outside.discard(node)
        if any(((node, j) if self._constraint[node] else (j, node)) in self._weak for j in others if self._gone[j]):
            spare = 0  # across a block that may vanish, a surplus of bodies on one side cannot be used on the other
        self._spare[node], self._outside[node] = spare, outside

    def _spare_for(self, node: int) -> int:
        """Bodies minus constraints in the eliminated sets adjacent to a constraint, without blocks that may vanish."""
        bodies = [b for b in self._others[node] if self._gone[b] and (node, b) not in self._weak]
        return sum(self._spare[s] for s in {self._find(b) for b in bodies})

    def _own(self, node: int) -> dict[int, int]:
        """Changed assignment of bodies by which the constraint gets a body of its own; empty if there is none.

        It takes an unassigned body, or one whose constraint can take another (augmenting path of a bipartite matching).
        """
        came: dict[int, int] = {}  # bodies, and the constraint from which each was reached
        found: dict[int, int] = {}  # constraints on the path, and the body that each would release
        edge = [node]
        while edge:
            constraint = edge.pop()
            for body in self._others[constraint]:
                if body in came or not self._gone[body] or (constraint, body) in self._weak:
                    continue
                came[body] = constraint
                if body in self._owner:
                    found[self._owner[body]] = body
                    edge.append(self._owner[body])
                    continue
                owners = {body: constraint}
                while constraint != node:
                    body = found[constraint]
                    constraint = owners[body] = came[body]
                return owners
        return {}

    def _find(self, node: int) -> int:
        while self._parent[node] != node:
            self._parent[node] = self._parent[self._parent[node]]
            node = self._parent[node]
        return node


def made_safe(
    order: Sequence[int],
    neighbours: Sequence[Sequence[int]],
    constraint: Sequence[bool],
    weak: Container[tuple[int, int]] = (),
) -> list[int]:
    """The same order, in which every constraint node is postponed until it has a pivot."""
    if not any(constraint):
        return list(order)
    guard = PivotGuard(neighbours, constraint, weak)
    waiting: dict[int, None] = {}
    safe: list[int] = []

    def take(node: int) -> None:
        guard.eliminate(node)
        safe.append(node)

    for node in order:
        if not guard.allows(node):
            waiting[node] = None
            continue
        take(node)
        while waiting and (free := next((w for w in waiting if guard.allows(w)), None)) is not None:
            del waiting[free]
            take(free)
    for node in waiting:  # no body as neighbour: the pivot is its own block
        take(node)
    return safe
