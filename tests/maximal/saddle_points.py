"""Matrices to factor: saddle points of random mechanisms, with and without loops, and random blocks on graphs."""

import numpy as np


def skew(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def joint_rows(rows, point, axis, com):
    """Jacobian of the first `rows` constraints of a joint (3: ball, 5: revolute) wrt the velocity of one body."""
    J = np.zeros((6, 6))
    J[:3, :3] = np.eye(3)
    J[:3, 3:] = -skew(point - com)
    basis = np.linalg.qr(np.column_stack((axis, np.eye(3))))[0]
    J[3:, 3:] = basis[:, [1, 2, 0]].T
    return J[:rows]


def mechanism(joints, bodies, rows, rng, *, planar=False, damping=0.0, world=()):
    """Sizes, edges, constraint marks and blocks of a mechanism.

    joints: pairs (a, b) of bodies; bodies are nodes 0 … bodies - 1, joints follow. world: bodies that a joint ties to
    the world. rows: constraints of each joint, 3 or 5. planar: all axes parallel, so that loops are redundant.
    """
    com = rng.normal(size=(bodies, 3))
    blocks, edges, sizes, constraint = {}, [], [6] * bodies, [False] * bodies
    for i in range(bodies):
        A = rng.normal(size=(6, 6))
        blocks[i, i] = np.diag(rng.uniform(0.2, 2.0, 6)) + 0.05 * A @ A.T + 0.1 * rng.normal(size=(6, 6))
    ends = [(a, b) for a, b in joints] + [(a, None) for a in world]
    for k, (a, b) in enumerate(ends):
        node = bodies + k
        point, axis = rng.normal(size=3), np.array([0.0, 0.0, 1.0]) if planar else rng.normal(size=3)
        size = rows[k % len(rows)]
        sizes.append(size)
        constraint.append(True)
        for body, sign in ((a, 1.0), (b, -1.0)):
            if body is not None:
                G = sign * joint_rows(size, point, axis, com[body])
                edges.append((body, node))
                blocks[node, body] = G
                # The second derivatives of a real step make the two Jacobians differ a little.
                blocks[body, node] = G.T @ (np.eye(size) + 0.01 * rng.normal(size=(size, size)))
        if damping and b is not None:
            edges.append((a, b))
            C = damping * rng.normal(size=(6, 6))
            for i, j, sign in ((a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)):
                blocks[i, j] = blocks.get((i, j), 0.0) + sign * C @ C.T
    return sizes, edges, constraint, blocks


def random_joints(bodies, loops, rng):
    """A random tree on the bodies, and as many further joints."""
    joints = [(int(rng.integers(max(0, i - 3), i)), i) for i in range(1, bodies)]
    while len(joints) < bodies - 1 + loops:
        a, b = (int(x) for x in rng.choice(bodies, 2, replace=False))
        joints.append((a, b))
    return joints


def dense(sizes, blocks):
    """The matrix of a mapping of blocks."""
    rows = np.concatenate(([0], np.cumsum(sizes)))
    F = np.zeros((rows[-1], rows[-1]))
    for (i, j), block in blocks.items():
        F[rows[i] : rows[i + 1], rows[j] : rows[j + 1]] += block
    return F


def random_blocks(sizes, edges, rng):
    """Unsymmetric, with diagonal blocks heavy enough for any order of elimination."""
    blocks = {(i, i): 2.0 * n * np.eye(n) + rng.normal(size=(n, n)) for i, n in enumerate(sizes)}
    for i, j in edges:
        blocks[i, j] = rng.normal(size=(sizes[i], sizes[j]))
        blocks[j, i] = rng.normal(size=(sizes[j], sizes[i]))
    return blocks


def grid(*shape):
    """Edges of a ladder (2, k), net (k, k) or crystal (k, k, k), and the number of nodes (Brüdigam 2023, Fig. 9)."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    lines = [np.moveaxis(numbers, axis, 0) for axis in range(len(shape))]
    return numbers.size, [e for a in lines for e in zip(a[:-1].ravel().tolist(), a[1:].ravel().tolist(), strict=True)]
