"""Factorisation along the graph: it solves what dense elimination solves, with the work that the graph promises."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from leastaction.errors import SingularMatrixError
from leastaction.linalg.graph.fill_reducing_order import (
    best_order,
    depth_first,
    minimum_degree,
    nested_dissection,
    parents_of,
    work,
)
from leastaction.linalg.graph.pivot_check import made_safe
from leastaction.maximal import GraphLDU
from tests.maximal.saddle_points import dense, grid, mechanism, random_blocks, random_joints


def random_tree(n, rng):
    return [(int(rng.integers(0, i)), i) for i in range(1, n)]


def neighbours_of(n, edges):
    around = [[] for _ in range(n)]
    for i, j in edges:
        around[i].append(j)
        around[j].append(i)
    return around


def backward_error(A, x, b):
    return np.abs(A @ x - b).max() / (np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())


@pytest.mark.parametrize("seed", range(12))
def test_solves_what_dense_elimination_solves(seed):
    """Trees and graphs with cycles, blocks of 0 to 12 rows, one or more right-hand sides, both ways round."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    sizes = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 12], n).tolist()
    edges = random_tree(n, rng)
    if seed % 2:
        edges += [tuple(int(k) for k in rng.choice(n, 2, replace=False)) for _ in range(n // 2) if n > 1]
    blocks = random_blocks(sizes, edges, rng)
    A = dense(sizes, blocks)
    ldu = GraphLDU(sizes, edges).factor(blocks)
    for b in (rng.normal(size=len(A)), rng.normal(size=(len(A), 4)), rng.normal(size=(len(A), 20))):
        np.testing.assert_allclose(ldu.solve(b), np.linalg.solve(A, b), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ldu.solve_transposed(b), np.linalg.solve(A.T, b), rtol=1e-9, atol=1e-12)


def test_loose_edges_cost_nothing_while_they_are_zero():
    """Bodies on joints, and ties between some: whichever are zero, all is solved; they and their fill-in are left out.

    The order is that of the joints alone where all ties are rare.
    """
    rng = np.random.default_rng(5)
    sizes, edges, constraint, blocks = mechanism(random_joints(8, 0, rng), 8, (3, 5), rng, world=[0])
    ties = [(0, 5), (2, 7), (1, 6), (3, 4)]
    for some in ([], ties[:1], ties[1:3], ties):
        more = blocks | random_blocks(sizes, some, rng) | blocks  # diagonal blocks stay what they are
        A = dense(sizes, more)
        ldu = GraphLDU(sizes, edges + ties, constraint=constraint, loose=ties, rare=[(j, i) for i, j in ties])
        ldu.factor(more)
        b = rng.normal(size=len(A))
        np.testing.assert_allclose(ldu.solve(b), np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ldu.solve_transposed(b), np.linalg.solve(A.T, b), rtol=1e-8, atol=1e-10)
        plain = GraphLDU(sizes, edges + some, constraint=constraint, order=ldu.order)
        assert ldu.factors.live.sum() == len(plain.plan.links) < len(ldu.plan.links) + (some == ties)
    assert ldu.order == GraphLDU(sizes, edges, constraint=constraint).order
    with pytest.raises(ValueError, match="loose must be pairs of nodes"):
        GraphLDU(sizes, edges, loose=[(0, 1, 2)])


def test_pivots_inside_blocks():
    """Blocks with zeros on the diagonal are regular all the same."""
    swap = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    blocks = {(0, 0): swap, (1, 1): 10.0 * swap, (0, 1): np.eye(3), (1, 0): np.eye(3)}
    A = dense([3, 3], blocks)
    for constraint in ([False, False], [False, True]):
        ldu = GraphLDU([3, 3], [(0, 1)], constraint=constraint).factor(blocks)
        assert ldu.skipped == 0
        np.testing.assert_allclose(ldu.solve(np.arange(6.0)), np.linalg.solve(A, np.arange(6.0)), atol=1e-14)
        np.testing.assert_allclose(ldu.solve_transposed(np.arange(6.0)), np.linalg.solve(A.T, np.arange(6.0)))


@pytest.mark.parametrize("rows", [(3,), (5,), (3, 5)])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_mechanisms_with_loops(rows, damping):
    """Joints have no diagonal block of their own. Independent ones are all kept, dependent ones all skipped."""
    rng = np.random.default_rng(len(rows))
    deficient = 0
    for _ in range(15):
        bodies, loops = int(rng.integers(2, 14)), int(rng.integers(0, 4))
        world = ([], [0], [0, bodies - 1])[int(rng.integers(3))]
        joints = random_joints(bodies, loops, rng)
        sizes, edges, constraint, blocks = mechanism(joints, bodies, rows, rng, damping=damping, world=world)
        A = dense(sizes, blocks)
        ldu = GraphLDU(sizes, edges, constraint=constraint).factor(blocks)
        rank = np.linalg.matrix_rank(A)
        assert ldu.skipped == len(A) - rank
        deficient += rank < len(A)
        x = rng.normal(size=len(A))
        for solve, F in ((ldu.solve, A), (ldu.solve_transposed, A.T)):
            assert backward_error(F, solve(F @ x), F @ x) < 1e-12
    assert deficient or rows == (3,)  # three rows per joint rarely make a loop redundant


def test_redundant_loop():
    """A planar four-bar of revolute joints: three of its rows say what others say.

    Motion is unique although the multipliers are not: ours are one of many, with zeros in the rows that were skipped.
    """
    rng = np.random.default_rng(2)
    joints = [(0, 1), (1, 2)]
    sizes, edges, constraint, blocks = mechanism(joints, 3, (5,), rng, planar=True, world=[0, 2])
    for (i, j), block in blocks.items():  # the two Jacobians agree, so that the right-hand side below is consistent
        if constraint[j]:
            blocks[i, j] = blocks[j, i].T if not constraint[i] else block
    A = dense(sizes, blocks)
    ldu = GraphLDU(sizes, edges, constraint=constraint).factor(blocks)
    assert ldu.skipped == 3 == len(A) - np.linalg.matrix_rank(A)
    b = A @ rng.normal(size=len(A))
    x = ldu.solve(b)
    assert backward_error(A, x, b) < 1e-13
    np.testing.assert_allclose(x[:18], np.linalg.lstsq(A, b, rcond=None)[0][:18], atol=1e-9)
    assert np.count_nonzero(x[18:] == 0.0) == 3


def test_a_constraint_waits_for_a_body_that_gives_it_a_pivot():
    """A chain tied to the world at both ends is a path with joints as its leaves: they cannot go first."""
    rng = np.random.default_rng(3)
    joints = [(i, i + 1) for i in range(5)]  # with those at the ends 35 rows, for 36 degrees of freedom
    sizes, edges, constraint, blocks = mechanism(joints, 6, (5,), rng, world=[0, 5])
    ldu = GraphLDU(sizes, edges, constraint=constraint).factor(blocks)
    place = {node: k for k, node in enumerate(ldu.order)}
    for node in range(6, 13):
        assert any(place[body] < place[node] for body, joint in edges if joint == node)
    b = np.ones(ldu.rows[-1])
    np.testing.assert_allclose(ldu.solve(b), np.linalg.solve(dense(sizes, blocks), b), atol=1e-9)
    # Every leading part of the matrix, in the order of elimination, is regular.
    A = dense(sizes, blocks)
    permutation = np.concatenate([np.arange(ldu.rows[i], ldu.rows[i + 1]) for i in ldu.order])
    ends = np.cumsum([sizes[i] for i in ldu.order])
    assert all(np.linalg.matrix_rank(A[np.ix_(p, p)]) == k for k in ends for p in [permutation[:k]])


def test_work_on_trees_is_linear():
    """No fill-in, and the work per link does not grow (Brüdigam 2023, Section 4.1)."""
    rng = np.random.default_rng(4)
    per_link = []
    for bodies in (20, 200, 1000):
        joints = random_tree(bodies, rng) if bodies < 1000 else [(i - 1, i) for i in range(1, bodies)]
        nodes = bodies + len(joints) + 1
        edges = [(a, bodies + k) for k, pair in enumerate(joints) for a in pair] + [(0, nodes - 1)]
        constraint = [i >= bodies for i in range(nodes)]
        ldu = GraphLDU([6] * bodies + [3] * (nodes - bodies), edges, constraint=constraint)
        assert ldu.fill_in == 0
        assert ldu.size == 36 * bodies + 9 * (nodes - bodies) + 36 * len(edges)
        per_link.append(ldu.flops / bodies)
    np.testing.assert_allclose(per_link, per_link[-1], rtol=0.1)


def test_work_on_chains_of_loops_is_linear():
    """Four-bars in a row, all axes parallel: three redundant rows each, found and left out at any length."""
    rng = np.random.default_rng(9)
    per_loop = []
    for loops in (10, 20, 40):
        joints = [(4 * k + i, 4 * k + (i + 1) % 4) for k in range(loops) for i in range(4)]
        joints += [(4 * k - 2, 4 * k) for k in range(1, loops)]
        sizes, edges, constraint, blocks = mechanism(joints, 4 * loops, (5,), rng, planar=True, world=[0])
        A = dense(sizes, blocks)
        ldu = GraphLDU(sizes, edges, constraint=constraint).factor(blocks)
        assert ldu.skipped == 3 * loops
        b = A @ rng.normal(size=len(A))
        assert backward_error(A, ldu.solve(b), b) < 1e-12
        per_loop.append(ldu.flops / loops)
    np.testing.assert_allclose(per_loop, per_loop[-1], rtol=0.05)


def test_contacts_with_the_ground_cost_no_fill_in():
    """They are leaves: the walking mechanism of Brüdigam 2023, Fig. 4: four links, three joints, two contacts."""
    edges = [(0, 4), (4, 1), (1, 5), (5, 2), (1, 6), (6, 3), (2, 7), (3, 8)]
    constraint = [False] * 4 + [True] * 3 + [False] * 2
    assert GraphLDU([6, 6, 6, 6, 5, 5, 5, 2, 2], edges, constraint=constraint).fill_in == 0
    assert GraphLDU([6, 6, 6, 6, 5, 5, 5, 2, 2], edges, order=[1, 0, 2, 3, 4, 5, 6, 7, 8]).fill_in > 0


@pytest.mark.parametrize("n", [3, 4, 10, 50])
def test_fill_in_of_one_loop_is_the_least(n):
    """A cycle of n nodes needs n - 3 chords to have none without one: no order fills in less."""
    assert GraphLDU([6] * n, [(i, (i + 1) % n) for i in range(n)]).fill_in == n - 3


@pytest.mark.parametrize("n", [2, 10, 100])
def test_fill_in_of_a_ladder_is_the_least(n):
    """One diagonal for each of its squares: linear, where eliminating rails one after the other is quadratic."""
    nodes, edges = grid(2, n)
    assert GraphLDU([6] * nodes, edges).fill_in == n - 1


def test_the_best_of_all_orders_is_taken():
    """On nets and crystals cycles share nodes: the paper's loop-opener order is not the best any more."""
    for shape in ((2, 9), (8, 8), (4, 4, 4)):
        n, edges = grid(*shape)
        sizes, around, none = [6] * n, neighbours_of(n, edges), [False] * n
        costs = [
            work(sizes, parents_of(order, around))
            for order in (
                depth_first(around, none),
                minimum_degree(sizes, around, none),
                nested_dissection(sizes, around),
            )
        ]
        order, parents = best_order(sizes, around, none)
        assert sorted(order) == list(range(n))
        assert work(sizes, parents) == min(costs)
        assert (len(shape) == 2 and 2 in shape) or min(costs) < 0.6 * costs[0]


def test_parents_are_those_of_elimination():
    """Compared with elimination of the pattern itself, node after node."""
    rng = np.random.default_rng(5)
    n, edges = grid(4, 5)
    pattern = np.eye(n, dtype=bool)
    for i, j in edges:
        pattern[i, j] = pattern[j, i] = True
    order = rng.permutation(n).tolist()
    parents = parents_of(order, neighbours_of(n, edges))
    for k, node in enumerate(order):
        later = [j for j in order[k + 1 :] if pattern[node, j]]
        assert parents[node] == later
        pattern[np.ix_(later, later)] = True


def test_singular_node_is_named():
    """Zero, or zero but for round-off, whatever the units."""
    edges = [(0, 1), (1, 2)]
    blocks = random_blocks([6, 6, 6], edges, np.random.default_rng(6))
    for spoilt in (np.zeros((6, 6)), np.outer(np.arange(1.0, 7.0), np.geomspace(1e-6, 1e6, 6))):
        ldu = GraphLDU([6, 6, 6], edges, order=[2, 1, 0])
        with pytest.raises(SingularMatrixError, match="node 2") as caught:
            ldu.factor(blocks | {(2, 2): spoilt})
        assert pickle.loads(pickle.dumps(caught.value)).node == 2
        with pytest.raises(ValueError, match="factor"):
            ldu.solve(np.ones(18))
    # Units far apart are no reason to refuse.
    units = np.geomspace(1e-9, 1e9, 6)
    uneven = units[:, None] * (np.eye(6) + 0.1) * units
    np.testing.assert_allclose(GraphLDU([6], []).factor(uneven).solve(uneven @ (1.0 / units)), 1.0 / units, rtol=1e-9)


def test_refinement():
    """A round of it mends what growth in an unlucky order of elimination has spoilt."""
    rng = np.random.default_rng(7)
    blocks = random_blocks([3, 3, 3], [(0, 1), (1, 2)], rng)
    blocks[0, 0] = 1e-9 * np.eye(3)  # a small pivot, eliminated first
    A, b = dense([3, 3, 3], blocks), rng.normal(size=9)
    ldu = GraphLDU([3, 3, 3], [(0, 1), (1, 2)], order=[0, 1, 2]).factor(blocks)
    assert backward_error(A, ldu.solve(b), b) > 1e-11
    assert backward_error(A, ldu.solve(b, refinements=2), b) < 1e-15
    assert backward_error(A.T, ldu.solve_transposed(b, refinements=2), b) < 1e-15


def test_matrices_of_every_kind():
    """Dense, sparse, blocks, and values put in place at the offsets that are given out."""
    rng = np.random.default_rng(8)
    n, edges = grid(3, 3)
    sizes = rng.integers(1, 5, n).tolist()
    blocks = random_blocks(sizes, edges, rng)
    A, b = dense(sizes, blocks), rng.normal(size=sum(sizes))
    ldu = GraphLDU(sizes, edges)
    values = np.zeros(ldu.size)
    for i in range(n):
        values[ldu.diagonal[i] :][: sizes[i] ** 2] = blocks[i, i].ravel()
    for e, (i, j) in enumerate(edges):
        values[ldu.edge_offset[e, 0] :][: sizes[i] * sizes[j]] = blocks[i, j].ravel()
        values[ldu.edge_offset[e, 1] :][: sizes[i] * sizes[j]] = blocks[j, i].ravel()
    expected = np.linalg.solve(A, b)
    for given in (values, blocks, A, sp.csr_matrix(A)):
        np.testing.assert_allclose(ldu.factor(given).solve(b), expected, rtol=1e-10)
    read = GraphLDU.from_matrix(sp.csc_matrix(A), sizes)
    np.testing.assert_allclose(read.solve(b), expected, rtol=1e-10)
    assert sorted(map(tuple, read.edges.tolist())) == sorted(edges)


def test_what_does_not_fit_is_refused():
    ldu = GraphLDU([2, 3, 1], [(0, 1)])
    with pytest.raises(ValueError, match=r"block \(0, 1\) must have shape \(2, 3\)"):
        ldu.factor({(0, 1): np.eye(2)})
    with pytest.raises(ValueError, match="nodes 0 and 2 share no edge"):
        ldu.factor(np.ones((6, 6)))
    with pytest.raises(ValueError, match="not finite"):
        ldu.factor({(0, 0): np.full((2, 2), np.nan)})
    with pytest.raises(ValueError, match="edge 1"):
        GraphLDU([2, 3], [(0, 1), (1, 1)])
    with pytest.raises(ValueError, match="permutation"):
        GraphLDU([2, 3], [(0, 1)], order=[0, 0])
    with pytest.raises(ValueError, match="6 rows"):
        GraphLDU([6], []).factor(np.eye(6)).solve(np.ones(5))


def test_a_body_whose_block_may_vanish_gives_no_pivot():
    """Two fingers on a hand, of which one follows the other: the hand does not feel it, and comes first in an order."""
    hand, fingers, hinges, coupling = 0, (1, 2), (3, 4), 5
    neighbours = [[3, 4, 5], [3, 5], [4, 5], [0, 1], [0, 2], [0, 1, 2]]
    constraint = [False] * 3 + [True] * 3
    weak = {(coupling, hand)}
    order = [hand, coupling, *hinges, *fingers]
    assert made_safe(order, neighbours, constraint)[:2] == [hand, coupling]
    safe = made_safe(order, neighbours, constraint, weak)
    assert sorted(safe) == sorted(order)
    assert min(safe.index(body) for body in fingers) < safe.index(coupling)
    edges = [(0, 3), (1, 3), (0, 4), (2, 4), (0, 5), (1, 5), (2, 5)]
    order = GraphLDU([6, 6, 6, 5, 5, 1], edges, constraint=constraint, weak=weak).order
    assert min(order.index(body) for body in fingers) < order.index(coupling)


def test_two_that_follow_one_need_bodies_of_their_own():
    """Fingers 2 and 3 follow finger 1 on the hand 0, and so does the tip 5 on 4: their couplings 6, 7 and 8.

    Both 6 and 7 touch finger 1 alone while theirs are left. What the tips have to spare is no pivot of them.
    """
    touched = {6: (0, 1, 2), 7: (0, 1, 3), 8: (0, 1, 4, 5)}
    neighbours = [[c for c in touched if body in touched[c]] for body in range(6)] + [list(touched[c]) for c in touched]
    constraint, weak = [False] * 6 + [True] * 3, {(c, 0) for c in touched}
    wanted = [1, 6, 4, 8, 5, 7, 0, 2, 3]
    order = made_safe(wanted, neighbours, constraint, weak)
    assert sorted(order) == sorted(wanted)
    rng, leader = np.random.default_rng(0), np.ones(6)
    edges = [(body, c) for c in touched for body in touched[c]]
    blocks = {(body, body): np.eye(6) for body in range(6)}
    for body, c in edges:
        blocks[body, c] = (leader if body == 1 else np.zeros(6) if body == 0 else rng.normal(size=6))[:, None]
        blocks[c, body] = blocks[body, c].T
    sizes = [6] * 6 + [1] * 3
    assert GraphLDU(sizes, edges, constraint=constraint, order=wanted).factor(blocks).skipped == 1
    assert GraphLDU(sizes, edges, constraint=constraint, order=order).factor(blocks).skipped == 0
