"""Meshes with hollows as several convex meshes, by approximate convex decomposition (CoACD)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.contact.narrow_phase.convex_hulls import HOLLOW, filling
from leastaction.errors import MechanismError
from leastaction.integration.settings import is_number
from leastaction.mechanism import Mechanism, Mesh, Shape, _check
from leastaction.mechanism.building.graph import WORLD


def decompose(robot: Mechanism, bodies: Iterable[str] | None = None, *, concavity: float = 0.05) -> Mechanism:
    """The robot with convex pieces in place of meshes for collision that have hollows, which touch as their hulls.

    The mesh stays to be seen; the pieces, which have its name, touch. Masses do not change. What fills 95 % of its hull
    stays as it is. Takes seconds for each mesh: keep the robot, or write it by `leastaction.formats.save_mjcf`.

    After Wei, Liu, Ling and Su: Approximate convex decomposition for 3D meshes with collision-aware concavity and tree
    search, ACM Transactions on Graphics 41 (2022), by their package `coacd` (the extra `convex`).

    Args:
        robot: any robot.
        bodies: names of the bodies whose meshes are meant, "world" for those of the ground; default all.
        concavity: how deep hollows that are left may be, relative to the size of the mesh, from 0.01 to 1.

    Raises:
        MechanismError: there is no such body.
        MissingExtraError: `coacd` is not installed.
    """
    _check.instance(robot, Mechanism, "robot")
    if not is_number(concavity) or not 0.01 <= concavity <= 1.0:
        raise MechanismError(f"concavity must be a number from 0.01 to 1, got {concavity!r}")
    known = (WORLD, *robot.body_names)
    if bodies is not None and not isinstance(bodies, Iterable):
        raise MechanismError(f"bodies: expected names of bodies, got {_check.shown(bodies)}")
    names = list(known) if bodies is None else [bodies] if isinstance(bodies, str) else list(bodies)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise MechanismError(
                f"bodies: there is no {_check.shown(name)} in {robot.name!r}{_check.suggestion(str(name), known)}"
            )
    ground = _in_pieces(robot.ground, concavity) if WORLD in names else robot.ground
    parts = [
        replace(body, shapes=_in_pieces(body.shapes, concavity)) if body.name in names else body
        for body in robot.bodies
    ]
    return robot.replace(ground=ground, bodies=tuple(parts))


def _in_pieces(shapes: Iterable[Shape], concavity: float) -> tuple[Shape, ...]:
    out: list[Shape] = []
    for shape in shapes:
        if not isinstance(shape, Mesh) or not shape.collision or filling(shape) >= 1.0 - HOLLOW:
            out.append(shape)
            continue
        if shape.visual:
            out.append(replace(shape, collision=False))
        none = np.zeros((0, 3), np.int64)
        out += [replace(shape, vertices=x, faces=none, file="", visual=False) for x in _pieces(shape, concavity)]
    return tuple(out)


def _pieces(mesh: Mesh, concavity: float) -> list[Any]:
    """Corners of each piece [m], shape (n, 3)."""
    coacd = require("coacd", "convex")
    coacd.set_log_level("error")
    found = coacd.run_coacd(coacd.Mesh(mesh.vertices, mesh.faces), threshold=concavity, seed=0)
    solid = [np.asarray(x, float) for x, _ in found]
    return [x for x in solid if len(x) > 3] or [mesh.vertices]
