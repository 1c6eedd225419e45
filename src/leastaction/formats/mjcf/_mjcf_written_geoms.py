"""Geoms, meshes and height fields of an MJCF file that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastaction.formats._files import with_article
from leastaction.formats._xml import Element
from leastaction.formats.mjcf._mjcf_bodies import Names
from leastaction.formats.mjcf._mjcf_geoms import HIDDEN_GROUP
from leastaction.formats.mjcf._mjcf_text import numbers, placed
from leastaction.mechanism import (
    Box,
    Capsule,
    ContactPoint,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Plane,
    Pose,
    Shape,
    Sphere,
)
from leastaction.mechanism.building.graph import WORLD

if TYPE_CHECKING:
    from leastaction.formats.mjcf.mjcf_writer import Sheet

USUAL = 0.5
"""Friction between shapes that say nothing of it."""

POINT = 1e-6
"""Radius [m] of the ball that stands for a point; MuJoCo has none without."""

TURNS = ("spinning", "rolling")


def _larger(given: float | None, first: float | None, second: float | None) -> float:
    """What a pair says, or else the larger of what its shapes say."""
    return max(first or 0.0, second or 0.0) if given is None else given


class WrittenGeoms:
    """Writes shapes; `assets` are the meshes and height fields that they use."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.assets = Element("asset")
        self.names, self.asset_names = sheet.geom_names, Names()
        self.written: dict[str, list[tuple[Shape, Element]]] = {}  # geoms that touch
        self.friction = self._friction()
        self.points: list[tuple[ContactPoint, str]] = []  # with the names of their geoms
        self.moving = {j.child for j in sheet.robot.joints if j.nv}
        for joint in sheet.robot.joints:
            if joint.parent in self.moving:
                self.moving.add(joint.child)

    def write(self, body: str, shapes: tuple[Shape, ...]) -> None:
        """Add the geoms of a body."""
        for shape in shapes:
            self._geom(body, shape)

    def write_point(self, point: ContactPoint) -> None:
        """Add the geom of a contact point that no shape stands for: a ball that touches nothing but by `pairs`."""
        name = self.names.unique(point.name)
        element = Element("geom", {"name": name, "type": "sphere", "size": numbers([point.radius or POINT])})
        placed(element, self.sheet.chains.shift[point.body] * Pose(point.point))
        element.attributes |= {"contype": "0", "conaffinity": "0", "group": str(HIDDEN_GROUP)}
        self.sheet.bodies[point.body].children.append(element)
        self.points.append((point, name))

    def _friction(self) -> float:
        """What shapes say that leave friction to what they touch: of a pair, MuJoCo takes the larger one."""
        robot = self.sheet.robot
        touching = {
            owner: [s for s in shapes if s.collision]
            for owner, shapes in (("world", robot.ground), *((b.name, b.shapes) for b in robot.bodies))
        }
        said = [s.friction for shapes in touching.values() for s in shapes if s.friction is not None]
        if not said or min(said) >= USUAL:
            return USUAL
        silent = [owner for owner, shapes in touching.items() if any(s.friction is None for s in shapes)]
        if len(silent) > 1:
            why = f"that shapes of {silent[0]!r} and {silent[1]!r} leave friction to what they touch"
            self.sheet.refuse("friction", silent[0], why)
        return min(said)

    def _geom(self, body: str, shape: Shape) -> None:
        sheet = self.sheet
        label = shape.name or f"{shape.kind} of {body}"
        if isinstance(shape, Plane | HeightField) and body in self.moving:
            sheet.refuse("shape", label, f"that a body which moves has {with_article(shape.kind)}")
            return
        element = Element("geom", {"name": self.names.unique(shape.name)} if shape.name else {})
        if shape.collision:
            self.written.setdefault(body, []).append((shape, element))
        element.attributes |= self._form(shape)
        if not element.get("type"):
            sheet.refuse("shape", label, f"that a body is {with_article(shape.kind)}")
            return
        offset = Pose((0.0, 0.0, float(shape.heights.min()))) if isinstance(shape, HeightField) else Pose()
        placed(element, sheet.chains.shift[body] * shape.pose * offset)
        element.attributes["rgba"] = numbers(shape.color)
        if not shape.visual:
            element.attributes["group"] = str(HIDDEN_GROUP)
        if shape.collision:
            self._surface(element, shape, label)
        else:
            element.attributes |= {"contype": "0", "conaffinity": "0"}
        sheet.bodies[body].children.append(element)

    def pairs(self, contact: Element) -> None:
        """Add pairs of geoms with coefficients of their own, and those of contact points and the ground."""
        for point, name in self.points:
            for _, geom in self.written.get(WORLD, ()):
                values = point.friction, point.friction, point.spinning, point.rolling, point.rolling
                size = 6 if point.rolling else 4 if point.spinning else 3 if point.friction else 1
                self._name(geom, "ground")
                geoms = {"geom1": name, "geom2": geom.get("name") or ""}
                contact.add("pair", **geoms, condim=str(size), friction=numbers(values))
        for pair in self.sheet.robot.contact_pairs:
            sides = [
                [(s, g) for s, g in self.written.get(body, ()) if name in ("", s.name)]
                for body, name in zip((pair.first, pair.second), pair.shapes, strict=True)
            ]
            if pair.compliance:
                self.sheet.refuse("compliance", pair.name, "compliances in m/N: its contacts are soft by the mass")
            elif pair.static_friction is not None:
                self.sheet.refuse("static friction", pair.name, "static and kinetic friction apart")
            elif pair.restitution:
                self.sheet.refuse("contact pair", pair.name, "that two shapes have a restitution")
            elif pair.friction is None:
                self.sheet.refuse("contact pair", pair.name, "that a contact pair leaves friction to its shapes")
            else:
                for body, side in zip((pair.first, pair.second), sides, strict=True):
                    for shape, geom in side:
                        self._name(geom, f"{body}_{shape.kind}")
                for first, a in sides[0]:
                    for second, b in sides[1]:
                        turns = [_larger(getattr(pair, x), getattr(first, x), getattr(second, x)) for x in TURNS]
                        values = pair.friction, pair.friction, turns[0], turns[1], turns[1]
                        size = 6 if turns[1] else 4 if turns[0] else 3 if pair.friction else 1
                        names = {"geom1": a.get("name") or "", "geom2": b.get("name") or ""}
                        contact.add("pair", **names, condim=str(size), friction=numbers(values))

    def _name(self, geom: Element, name: str) -> None:
        """Give a geom a name unless it has one: MJCF knows those of pairs by it."""
        if not geom.get("name"):
            geom.attributes = {"name": self.names.unique(name), **geom.attributes}

    def _surface(self, element: Element, shape: Shape, label: str) -> None:
        if shape.restitution:
            self.sheet.refuse("restitution", label, "that a shape has a restitution")
        if shape.compliance:
            self.sheet.refuse("compliance", label, "compliances in m/N: its contacts are soft by the mass")
        if shape.static_friction is not None:
            self.sheet.refuse("static friction", label, "static and kinetic friction apart")
        friction = self.friction if shape.friction is None else shape.friction
        values = friction, shape.spinning or 0.0, shape.rolling or 0.0
        size = 6 if shape.rolling is not None else 4 if shape.spinning is not None else 3
        element.attributes |= {"condim": str(shape.condim or size), "friction": numbers(values)}
        if shape.priority:
            element.attributes["priority"] = str(shape.priority)
        if any(shape.surface_velocity or ()):
            self.sheet.refuse("surface velocity", label, "that the surface of a shape moves")
        for word, bits in (("contype", shape.groups), ("conaffinity", shape.touches)):
            if bits != 1:
                element.attributes[word] = str(bits - 2**32 if bits >= 2**31 else bits)

    def _form(self, shape: Shape) -> dict[str, str]:
        if isinstance(shape, Plane):
            return {"type": "plane", "size": "0 0 1"}
        if isinstance(shape, Sphere):
            return {"type": "sphere", "size": numbers([shape.radius])}
        if isinstance(shape, Capsule | Cylinder):
            return {"type": shape.kind, "size": numbers((shape.radius, 0.5 * shape.length))}
        if isinstance(shape, Box):
            return {"type": "box", "size": numbers(0.5 * x for x in shape.size)}
        if isinstance(shape, Ellipsoid):
            return {"type": "ellipsoid", "size": numbers(shape.radii)}
        if isinstance(shape, Mesh):
            name = self.asset_names.unique(f"mesh{len(self.assets.children)}")
            points, faces = numbers(shape.vertices.ravel()), " ".join(map(str, shape.faces.ravel().tolist()))
            self.assets.add("mesh", name=name, vertex=points, face=faces, inertia="shell")
            return {"type": "mesh", "mesh": name}
        if isinstance(shape, HeightField):
            name = self.asset_names.unique(f"hfield{len(self.assets.children)}")
            heights = shape.heights - shape.heights.min()
            columns, rows = heights.shape
            half = 0.5 * shape.spacing * np.array([columns - 1, rows - 1])
            top = float(heights.max()) or 1.0
            # MuJoCo writes rows of y from the top, and scales to between 0 and 1.
            self.assets.add(
                "hfield",
                name=name,
                nrow=str(rows),
                ncol=str(columns),
                size=numbers((*half, top, 1.0)),
                elevation=numbers((heights / top).T[::-1].ravel()),
            )
            return {"type": "hfield", "hfield": name}
        return {}
