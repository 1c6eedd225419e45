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
from numpy.typing import ArrayLike, NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism import Attachment, MechanismBuilder, _check
from leastaction.mechanism.arguments import FloatArray
from leastaction.typing import AttachmentLike


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
    points: ArrayLike,
    edges: ArrayLike,
    *,
    mass: ArrayLike,
    stiffness: float,
    damping: float = 0.0,
    attached: Mapping[int, AttachmentLike] | None = None,
    rest_lengths: ArrayLike | None = None,
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
    what = f"network {_check.label(name, 'name of a network')!r}"
    _check.instance(builder, MechanismBuilder, "builder")
    x = _points(points, 2, what)
    pairs = _corners(edges, 2, len(x), f"{what}: edges")
    masses = _each(mass, len(x), f"{what}: mass")
    held = {}
    for k, value in _mapping(attached, what).items():
        if not isinstance(k, int | np.integer) or not 0 <= k < len(x):
            raise MechanismError(f"{what}: attached: there is no vertex {k!r}")
        held[int(k)] = _attachment(value, f"{what}, vertex {k}")
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
    lengths = _each(lengths, len(pairs), f"{what}: rest_lengths")
    K = _each(stiffness, len(pairs), f"{what}: stiffness")
    D = _each(damping, len(pairs), f"{what}: damping")
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


def _points(points: Any, dimensions: int, what: str) -> FloatArray:
    """Points [m], shape (..., 3)."""
    x = _check.real_array(points)
    if x is None or x.ndim != dimensions or x.shape[-1] != 3 or not x.size or not np.isfinite(x).all():
        shape = "(count, 3)" if dimensions == 2 else "(rows, columns, 3)"
        got = _check.shown(points) if x is None else x.shape
        raise MechanismError(f"{what}: points must be finite and have shape {shape}, got {got}")
    return x


def _corners(corners: Any, columns: int, count: int, what: str) -> NDArray[np.int64]:
    """Indices of vertices, shape (..., columns)."""
    given = _check.real_array(corners)
    if given is None or (given.size and (given.ndim != 2 or given.shape[1] != columns)):
        got = _check.shown(corners) if given is None else given.shape
        raise MechanismError(f"{what}: expected indices of vertices, shape (count, {columns}), got {got}")
    if not (np.isfinite(given).all() and (given == np.round(given)).all()):
        raise MechanismError(f"{what}: expected whole numbers")
    if given.size and (given.min() < 0 or given.max() >= count):
        raise MechanismError(f"{what}: names a vertex that does not exist")
    return given.astype(np.int64).reshape(-1, columns)


def _each(value: Any, count: int, what: str) -> FloatArray:
    """A number that is not negative for each of `count`; one serves them all."""
    a = _check.real_array(value)
    if a is None or a.shape not in ((), (1,), (count,)) or not (np.isfinite(a) & (a >= 0.0)).all():
        raise MechanismError(f"{what}: expected one number or {count}, not negative, got {_check.shown(value)}")
    return np.broadcast_to(a, count)


def _mapping(attached: Any, what: str) -> Mapping[Any, Any]:
    attached = {} if attached is None else attached
    return _check.instance(attached, Mapping, f"{what}: attached")


def _attachment(value: Any, what: str) -> Attachment:
    from leastaction.mechanism.elements import attachment

    return attachment(value, what)


def add_chain(
    builder: MechanismBuilder,
    name: str,
    points: ArrayLike,
    *,
    mass: ArrayLike,
    stiffness: float,
    damping: float = 0.0,
    start: AttachmentLike | None = None,
    end: AttachmentLike | None = None,
) -> Network:
    """Add a chain of point masses and springs, such as a rope or a muscle.

    Args:
        builder, name, mass, stiffness, damping: see `add_network`.
        points: of the vertices, from end to end [m], shape (count, 3).
        start, end: link, or (link, point [m]), that holds the first or last vertex; None leaves it free.
    """
    points = _points(points, 2, f"chain {name!r}")
    count = len(points)
    attached = {k: value for k, value in ((0, start), (count - 1, end)) if value is not None}
    edges = [(k, k + 1) for k in range(count - 1)]
    return add_network(builder, name, points, edges, mass=mass, stiffness=stiffness, damping=damping, attached=attached)


def add_cloth(
    builder: MechanismBuilder,
    name: str,
    points: ArrayLike,
    *,
    mass: ArrayLike,
    stiffness: float,
    shear: float | None = None,
    bending: float = 0.0,
    damping: float = 0.0,
    attached: Mapping[tuple[int, int], AttachmentLike] | None = None,
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
    what = f"cloth {_check.label(name, 'name of a cloth')!r}"
    x = _points(points, 3, what)
    stiffness = _check.nonnegative(stiffness, f"{what}: stiffness")
    shear = stiffness if shear is None else _check.nonnegative(shear, f"{what}: shear")
    bending = _check.nonnegative(bending, f"{what}: bending")
    rows, columns = x.shape[:2]
    steps = [((0, 1), stiffness), ((1, 0), stiffness)]
    steps += [((1, 1), shear), ((1, -1), shear)]
    steps += [((0, 2), bending), ((2, 0), bending)]
    edges, K = [], []
    for (di, dj), k in steps:
        if k <= 0.0:
            continue
        for i in range(rows - di):
            for j in range(max(0, -dj), columns - max(0, dj)):
                edges.append((i * columns + j, (i + di) * columns + j + dj))
                K.append(k)
    held = {}
    for place, value in _mapping(attached, what).items():
        i, j = _check.pair(place, f"{what}: attached")
        if i not in range(rows) or j not in range(columns):
            raise MechanismError(f"{what}: attached: there is no vertex {place!r}")
        held[i * columns + j] = value
    flat = x.reshape(-1, 3)
    return add_network(builder, name, flat, edges, mass=mass, stiffness=K, damping=damping, attached=held)  # type: ignore[arg-type]


def add_tetrahedra(
    builder: MechanismBuilder,
    name: str,
    points: ArrayLike,
    tetrahedra: ArrayLike,
    *,
    density: float,
    stiffness: float,
    damping: float = 0.0,
    attached: Mapping[int, AttachmentLike] | None = None,
) -> Network:
    """Add a solid of tetrahedra: a quarter of each one's mass at its corners, springs along all edges.

    Args:
        builder, name, points, stiffness, damping, attached: see `add_network`.
        tetrahedra: corners of each one, shape (count, 4).
        density: [kg/m^3].
    """
    what = f"solid {_check.label(name, 'name of a solid')!r}"
    x = _points(points, 2, what)
    cells = _corners(tetrahedra, 4, len(x), f"{what}: tetrahedra")
    density = _check.positive(density, f"{what}: density")
    sides = x[cells[:, 1:]] - x[cells[:, :1]]
    volumes = np.abs(np.linalg.det(sides)) / 6.0
    if not (volumes > 0.0).all():
        raise MechanismError(f"{what}: tetrahedron {int(np.argmin(volumes))} is flat")
    mass = np.zeros(len(x))
    np.add.at(mass, cells.ravel(), np.repeat(0.25 * density * volumes, 4))
    edges = sorted({tuple(sorted(pair)) for cell in cells.tolist() for pair in combinations(cell, 2)})
    return add_network(builder, name, x, edges, mass=mass, stiffness=stiffness, damping=damping, attached=attached)
