"""From joints to a spanning tree: deterministic, depth first, loops found or named."""

import itertools

import numpy as np
import pytest

from leastaction.mechanism import MechanismBuilder


def build(bodies, joints, loops=()):
    b = MechanismBuilder()
    for name in bodies:
        b.body(name, mass=1.0, inertia=1.0)
    for parent, child in joints:
        name = f"{parent}-{child}"
        b.revolute(name, parent, child, loop=name in loops)
    return b.build()


TREE = [("world", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "e"), ("world", "f")]


def test_bodies_come_depth_first_in_the_order_of_their_joints():
    robot = build("abcdef", TREE)
    assert robot.body_names == ("a", "b", "d", "c", "e", "f")
    assert robot.parents == (-1, 0, 1, 0, 3, -1)
    assert robot.joint_names == ("world-a", "a-b", "b-d", "a-c", "c-e", "world-f")
    assert robot.subtree_sizes == (5, 2, 1, 2, 1, 1)
    assert robot.ancestors == ((), (0,), (0, 1), (0,), (0, 3), ())
    assert robot.subtree("c") == ("c", "e")
    assert robot.subtree("world") == robot.body_names


def test_the_order_of_bodies_does_not_matter():
    expected = build("abcdef", TREE)
    for bodies in itertools.islice(itertools.permutations("abcdef"), 0, 720, 97):
        assert build(bodies, TREE) == expected


def test_joints_may_come_before_those_that_carry_their_parents():
    robot = build("abcdef", TREE[::-1])
    assert set(robot.joint_names) == {f"{p}-{c}" for p, c in TREE}
    assert not robot.loops
    for i, parent in enumerate(robot.parents):
        assert parent < i


SQUARE = [("world", "a"), ("a", "b"), ("b", "c"), ("world", "c")]


def test_a_second_joint_to_a_body_closes_a_loop():
    """The first joint whose parent hangs on the world carries the body; the other one closes the loop."""
    robot = build("abc", SQUARE)
    assert robot.body_names == ("a", "b", "c")
    assert [loop.name for loop in robot.loops] == ["world-c"]
    robot = build("abc", [SQUARE[3], *SQUARE[:3]])
    assert robot.body_names == ("c", "a", "b")
    assert [loop.name for loop in robot.loops] == ["b-c"]


def test_the_user_may_choose_the_joint_that_is_cut():
    robot = build("abc", SQUARE, loops=["b-c"])
    assert [loop.name for loop in robot.loops] == ["b-c"]
    assert robot.body_names == ("a", "b", "c")
    assert robot.parents == (-1, 0, -1)
    robot = build("abc", SQUARE, loops=["world-c"])
    assert [loop.name for loop in robot.loops] == ["world-c"]
    assert robot.parents == (-1, 0, 1)


def test_rebuilding_a_mechanism_keeps_its_tree():
    for loops in ([], ["b-c"], ["world-c"]):
        robot = build("abc", SQUARE, loops=loops)
        assert robot.edit().build() == robot
        assert robot.replace(name="robot") == robot


def test_several_loops_keep_their_order():
    joints = [("world", "a"), ("world", "b"), ("world", "c"), ("a", "b"), ("b", "c"), ("a", "c")]
    robot = build("abc", joints)
    assert [loop.name for loop in robot.loops] == ["a-b", "b-c", "a-c"]


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_give_spanning_trees(seed):
    """Every body is carried once, parents come first, branches are contiguous, no joint is lost."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    names = [f"b{k}" for k in range(n)]
    joints = [("world" if k == 0 else names[int(rng.integers(0, k))], names[k]) for k in range(n)]
    extra = {(names[i], names[j]) for i, j in rng.integers(0, n, (4, 2)) if i != j} - set(joints)
    joints += sorted(extra)
    rng.shuffle(joints)
    joints = [tuple(str(x) for x in pair) for pair in joints]
    robot = build(names, joints)
    assert sorted(robot.body_names) == sorted(names)
    assert len(robot.loops) == len(joints) - n
    assert [joint.child for joint in robot.joints] == list(robot.body_names)
    for i, (parent, size) in enumerate(zip(robot.parents, robot.subtree_sizes, strict=True)):
        assert parent < i
        assert all(i in robot.ancestors[k] for k in range(i + 1, i + size))
    assert build(names, joints) == robot
