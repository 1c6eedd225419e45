"""Deformable bodies as networks of point masses and springs, attached to links (Sueda 2021, Section 2.7).

A free vertex is a point mass with three translations, an attached one a point mass that is welded to its link. This
is the Jacobian of (2.96): the unit matrix for free vertices, J_am J_mr for attached ones. The network is so an
ordinary part of the mechanism, and every integrator, force and viewer that knows bodies and springs knows it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism import Attachment, MechanismBuilder, _check


@dataclass(frozen=True)
class Network:
    """Names of what was added to a builder.

    Attributes:
        vertices: (body, point in its frame [m]) of each vertex.
        free: indices of the free vertices, whose bodies move by three translations each.
        springs: names of the springs.
    """

    vertices: tuple[Attachment, ...]
    free: tuple[int, ...]
    springs: tuple[str, ...]


def add_network(
    builder: MechanismBuilder,
    name: str,
    points: Any,
    edges: Any,
    *,
    mass: Any,
    stiffness: float,
    damping: float = 0.0,
    attached: Mapping[int, Any] | None = None,
    rest_lengths: Any = None,
) -> Network:
    """Add point masses at `points`, tied along `edges` by springs.

    The energy of a spring is K/2 ((l - L)/L)^2 (2.92), so that a finer network of the same K per length is as stiff.

    Args:
        builder: gets the bodies, joints and springs.
        name: first part of all their names.
        points: positions of the vertices in the world while all joints are at zero [m], shape (count, 3).
        edges: pairs of vertices, shape (springs, 2).
        mass: of each vertex [kg], one number for all or shape (count,).
        stiffness: K [J], one number for all springs or shape (springs,).
        damping: of the rate of strain, in the same way [J s]: the tension has the part damping * (dl/dt) / L^2.
        attached: vertices that belong to links: {vertex: link} or {vertex: (link, point in its frame [m])}; their
            place in the world is then that of the link.
        rest_lengths: L [m], shape (springs,); default the distances of the points.
    """
    x = np.asarray(points, float)
    if x.ndim != 2 or x.shape[1] != 3 or not np.isfinite(x).all():
        raise MechanismError(f"network {name!r}: points must be finite and have shape (count, 3), got {x.shape}")
    pairs = np.asarray(edges, int).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= len(x)):
        raise MechanismError(f"network {name!r}: an edge names a vertex that does not exist")
    masses = np.broadcast_to(np.asarray(mass, float), len(x))
    held = {k: _attachment(value, f"network {name!r}, vertex {k}") for k, value in (attached or {}).items()}
    vertices: list[Attachment] = []
    for k, (point, m) in enumerate(zip(x, masses, strict=True)):
        if k not in held:
            body = builder.body(f"{name}{k}", mass=_check.positive(m, f"network {name!r}: mass"))
            builder.joint(f"{name}{k}_moves", "translational", "world", body, position=tuple(point.tolist()))
            vertices.append(Attachment(body))
            continue
        if m > 0.0 and held[k].body != "world":
            body = builder.body(f"{name}{k}", mass=float(m))
            builder.fixed(f"{name}{k}_holds", held[k].body, body, position=held[k].point)
        vertices.append(held[k])
    lengths = np.linalg.norm(x[pairs[:, 1]] - x[pairs[:, 0]], axis=1) if rest_lengths is None else rest_lengths
    lengths = np.broadcast_to(np.asarray(lengths, float), len(pairs))
    K, D = (np.broadcast_to(np.asarray(value, float), len(pairs)) for value in (stiffness, damping))
    springs = []
    for s, (i, j) in enumerate(pairs):
        L = _check.positive(lengths[s], f"network {name!r}: rest length of edge {s}")
        springs.append(
            builder.spring(
                f"{name}_spring{s}",
                vertices[i],
                vertices[j],
                stiffness=float(K[s]) / L**2,
                rest_length=L,
                damping=float(D[s]) / L**2,
            )
        )
    return Network(tuple(vertices), tuple(k for k in range(len(x)) if k not in held), tuple(springs))


def _attachment(value: Any, what: str) -> Attachment:
    from leastaction.mechanism.elements import attachment

    return attachment(value, what)


def add_chain(
    builder: MechanismBuilder,
    name: str,
    points: Any,
    *,
    mass: Any,
    stiffness: float,
    damping: float = 0.0,
    start: Any = None,
    end: Any = None,
) -> Network:
    """Add a chain of point masses and springs, such as a rope or a muscle.

    Args:
        builder, name, mass, stiffness, damping: see `add_network`.
        points: of the vertices, from end to end [m], shape (count, 3).
        start, end: link, or (link, point [m]), that holds the first or last vertex; None leaves it free.
    """
    count = len(points)
    attached = {k: value for k, value in ((0, start), (count - 1, end)) if value is not None}
    edges = [(k, k + 1) for k in range(count - 1)]
    return add_network(builder, name, points, edges, mass=mass, stiffness=stiffness, damping=damping, attached=attached)


def add_cloth(
    builder: MechanismBuilder,
    name: str,
    points: Any,
    *,
    mass: Any,
    stiffness: float,
    shear: float | None = None,
    bending: float = 0.0,
    damping: float = 0.0,
    attached: Mapping[tuple[int, int], Any] | None = None,
) -> Network:
    """Add a sheet: springs along the grid, across its cells and, against bending, over two cells.

    Args:
        builder, name, mass, damping: see `add_network`.
        points: grid of vertices [m], shape (rows, columns, 3).
        stiffness: K of springs along the grid [J].
        shear: K of the diagonals [J]; default as `stiffness`.
        bending: K of springs over two cells [J]; 0 leaves them out.
        attached: {(row, column): link} or {(row, column): (link, point [m])}.
    """
    x = np.asarray(points, float)
    if x.ndim != 3 or x.shape[2] != 3:
        raise MechanismError(f"cloth {name!r}: points must have shape (rows, columns, 3), got {x.shape}")
    rows, columns = x.shape[:2]
    steps = [((0, 1), stiffness), ((1, 0), stiffness)]
    steps += [((1, 1), stiffness if shear is None else shear), ((1, -1), stiffness if shear is None else shear)]
    steps += [((0, 2), bending), ((2, 0), bending)]
    edges, K = [], []
    for (di, dj), k in steps:
        if k <= 0.0:
            continue
        for i in range(rows - di):
            for j in range(max(0, -dj), columns - max(0, dj)):
                edges.append((i * columns + j, (i + di) * columns + j + dj))
                K.append(k)
    held = {i * columns + j: value for (i, j), value in (attached or {}).items()}
    flat = x.reshape(-1, 3)
    return add_network(builder, name, flat, edges, mass=mass, stiffness=K, damping=damping, attached=held)  # type: ignore[arg-type]


def add_tetrahedra(
    builder: MechanismBuilder,
    name: str,
    points: Any,
    tetrahedra: Any,
    *,
    density: float,
    stiffness: float,
    damping: float = 0.0,
    attached: Mapping[int, Any] | None = None,
) -> Network:
    """Add a solid of tetrahedra: a quarter of each one's mass at its corners, springs along all edges.

    Args:
        builder, name, points, stiffness, damping, attached: see `add_network`.
        tetrahedra: corners of each one, shape (count, 4).
        density: [kg/m^3].
    """
    x, cells = np.asarray(points, float), np.asarray(tetrahedra, int)
    if cells.ndim != 2 or cells.shape[1] != 4:
        raise MechanismError(f"solid {name!r}: tetrahedra must have shape (count, 4), got {cells.shape}")
    sides = x[cells[:, 1:]] - x[cells[:, :1]]
    volumes = np.abs(np.linalg.det(sides)) / 6.0
    if not (volumes > 0.0).all():
        raise MechanismError(f"solid {name!r}: tetrahedron {int(np.argmin(volumes))} is flat")
    mass = np.zeros(len(x))
    np.add.at(mass, cells.ravel(), np.repeat(0.25 * density * volumes, 4))
    edges = sorted({tuple(sorted(pair)) for cell in cells.tolist() for pair in combinations(cell, 2)})
    return add_network(builder, name, x, edges, mass=mass, stiffness=stiffness, damping=damping, attached=attached)
