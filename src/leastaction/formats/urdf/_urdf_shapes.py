"""Visual and collision geometry of URDF links."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.formats._files import Notes
from leastaction.formats._meshes import MeshFiles
from leastaction.formats._xml import Element
from leastaction.mechanism import Box, Capsule, Cylinder, Mesh, Pose, Shape, Sphere

SURFACE = {
    "lateral_friction": "friction",
    "restitution": "restitution",
    "spinning_friction": "spinning",
    "rolling_friction": "rolling",
    "static_friction": "static_friction",
    "compliance": "compliance",
    "relaxation_time": "relaxation_time",
}
"""Bullet's words for what a surface is like, and ours; the last three are ours alone."""

DEFAULT_COLOR = Shape().color
SOLIDS = ("box", "sphere", "cylinder", "capsule", "mesh")


def pose_of(element: Element | None) -> Pose:
    """The pose that the attributes xyz [m] and rpy [rad] of an element give; the identity without one."""
    if element is None:
        return Pose()
    return Pose.from_rpy(element.vector("xyz", (0, 0, 0)), element.vector("rpy", (0, 0, 0)))


class ShapeReader:
    """Makes the shapes of links; knows the materials of the robot."""

    def __init__(self, robot: Element, meshes: MeshFiles | None, notes: Notes) -> None:
        self.meshes = meshes
        self.notes = notes
        self.colors: dict[str, tuple[float, ...]] = {}
        # Materials may be defined anywhere and used before.
        for element in robot.walk():
            if element.tag == "material":
                color, name = element.find("color"), element.get("name")
                if color is not None and name is not None and name not in self.colors:
                    self.colors[name] = color.vector("rgba", DEFAULT_COLOR)

    def read(self, link: Element) -> tuple[Shape, ...]:
        """All shapes of a link. A visual and a collision with the same pose, geometry and name become one."""
        shapes: list[Shape] = []
        contacts = link.all("contact")
        alone: dict[Any, deque[int]] = {}  # shapes that are only seen or only touched, by what they are
        for element in link.children:
            if element.tag not in ("visual", "collision"):
                continue
            visual = element.tag == "visual"
            for key, shape in self._shape(element, {} if visual else _surface(element, contacts)):
                twins = alone.get((not visual, key))
                if twins:
                    k = twins.popleft()
                    shapes[k] = replace(shapes[k], visual=True, collision=True)
                    if visual:
                        shapes[k] = replace(shapes[k], color=shape.color)
                    else:
                        own = {name: getattr(shape, name) for name in SURFACE.values()}
                        shapes[k] = replace(shapes[k], **own)
                else:
                    alone.setdefault((visual, key), deque()).append(len(shapes))
                    shapes.append(replace(shape, visual=visual, collision=not visual))
        return tuple(shapes)

    def _shape(self, element: Element, surface: dict[str, float]) -> list[tuple[Any, Shape]]:
        """The shape with a key that says what it is, apart from its surface; nothing where it is omitted."""
        geometry = element.find("geometry")
        if geometry is None:
            raise element.error("has no <geometry>")
        common: dict[str, Any] = {"pose": pose_of(element.find("origin")), "name": element.get("name") or ""}
        solid = next((child for child in geometry.children if child.tag in SOLIDS), None)
        if solid is None:
            raise geometry.error(f"holds none of {', '.join(SOLIDS)}")
        if any(not x for name in ("radius", "length", "size") for x in solid.numbers(name) or ()):
            self.notes.add("shapes without size", f"{solid.tag} in line {solid.line}")
            return []
        try:
            shape = self._solid(solid, {**common, **surface, "color": self._color(element.find("material"))})
        except MechanismError as error:
            raise solid.error(str(error)) from None
        if shape is None:
            return []
        # Meshes count as the same when their files do, which spares comparing the vertices.
        mesh = (solid.get("filename"), solid.numbers("scale"), *common.values())
        plain = replace(shape, color=DEFAULT_COLOR, **dict.fromkeys(SURFACE.values()))
        return [(mesh if solid.tag == "mesh" else plain, shape)]

    def _solid(self, solid: Element, common: dict[str, Any]) -> Shape | None:
        if solid.tag == "box":
            size: Any = solid.vector("size", (0, 0, 0))
            return Box(size, **common)
        if solid.tag == "sphere":
            return Sphere(solid.number("radius"), **common)
        if solid.tag == "mesh":
            return self._mesh(solid, common)
        kind = Cylinder if solid.tag == "cylinder" else Capsule
        return kind(solid.number("radius"), solid.number("length"), **common)

    def _mesh(self, element: Element, common: dict[str, Any]) -> Shape | None:
        filename, scale = element.required("filename"), element.vector("scale", (1, 1, 1))
        triangles = self.meshes.load(filename, element) if self.meshes else None
        if triangles is None:
            return None
        vertices, faces = triangles
        # A mirror image turns the faces inside out.
        faces = faces[:, ::-1] if np.prod(scale) < 0.0 else faces
        return Mesh(vertices * np.array(scale), faces, filename, **common)

    def _color(self, material: Element | None) -> tuple[float, ...]:
        if material is None:
            return DEFAULT_COLOR
        color = material.find("color")
        if color is not None:
            return color.vector("rgba", DEFAULT_COLOR)
        return self.colors.get(material.get("name") or "", DEFAULT_COLOR)


def _surface(collision: Element, contacts: list[Element]) -> dict[str, float]:
    """Friction and restitution from the `<contact>` of the link, or of the collision, which counts more."""
    surface: dict[str, float] = {}
    for contact in (*contacts, *collision.all("contact")):
        for tag, name in SURFACE.items():
            for element in contact.all(tag):
                surface[name] = element.number("value")
    return surface
