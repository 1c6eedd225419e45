"""Frames of a scene as pictures, drawn without a browser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import LeastActionError
from leastaction.mechanism._check import instances, shown
from leastaction.view import body_colours
from leastaction.view.camera import Camera
from leastaction.view.figure import coil
from leastaction.view.geometry import Triangles, capsule, join, tubes
from leastaction.view.poses import rotate, transform
from leastaction.view.scene import Actor, Scene

Solid = tuple[Triangles, body_colours.Color]


def lamp_direction(azimuth: float) -> tuple[float, float, float]:
    """Unit vector to the lamp, which stands behind the viewer's left shoulder at the start."""
    turn, rise = azimuth - 0.75, 0.95
    return (math.cos(rise) * math.cos(turn), math.cos(rise) * math.sin(turn), math.sin(rise))


def grid_cell(size: float) -> float:
    """Width of a cell of the floor's grid [m] for robots of that size: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(0.3 * size))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= 0.3 * size * (1.0 + 1e-9))


SHOWN = frozenset(("axes", "contacts", "forces", "traces"))
"""What can be drawn besides bodies."""


class Painter:
    """Draws frames of a scene.

    Args:
        scene: what to draw.
        show: what to draw besides bodies: "axes", "contacts", "forces", "traces".
    """

    def __init__(self, scene: Scene, show: Any = ("forces", "traces")) -> None:
        self.scene = scene
        self.show = set(instances(show, str, "show"))
        if not self.show <= SHOWN:
            raise LeastActionError(f"show: there are {', '.join(sorted(SHOWN))}, got {shown(show)}")
        roles = {"body", "ground", "rail"} | ({"axis"} if "axes" in self.show else set())
        roles |= {"contact"} if "contacts" in self.show else set()
        self.parts = [[part for part in actor.parts if part.role in roles] for actor in scene.actors]

    def picture(self, frame: int, width: int, height: int, camera: Camera | None = None) -> NDArray[np.uint8]:
        """Red, green, blue of a frame, 0 to 255, shape (height, width, 3)."""
        from leastaction.raster import Lamp, Lens, render

        scene = self.scene
        camera = scene.camera_at(frame) if camera is None else camera
        solids = self._all_solids(frame)
        mesh = join([mesh for mesh, _ in solids])
        colors = np.array([color for _, color in solids])
        face_color = np.repeat(np.arange(len(solids)), [len(mesh.faces) for mesh, _ in solids])
        lens = Lens(camera.eye, camera.axes(), camera.field_of_view)
        reach = 2.2 * camera.distance
        lamp = Lamp(lamp_direction(scene.camera.azimuth), scene.floor, grid_cell(scene.size), reach)
        return render(mesh.vertices, mesh.normals, mesh.faces, colors, face_color, lens, lamp, width, height)

    def depth(self, frame: int, width: int, height: int) -> NDArray[np.float64]:
        """Distance along the camera's axis to what is seen, or to the floor [m], shape (height, width)."""
        from leastaction.raster import Lens, depth

        camera, mesh = self.scene.camera_at(frame), join([mesh for mesh, _ in self._all_solids(frame)])
        lens = Lens(camera.eye, camera.axes(), camera.field_of_view)
        return depth(mesh.vertices, mesh.faces, lens, self.scene.floor, width, height)

    def _all_solids(self, frame: int) -> list[Solid]:
        return [solid for k, actor in enumerate(self.scene.actors) for solid in self._solids(k, actor, frame)]

    def _solids(self, k: int, actor: Actor, frame: int) -> list[Solid]:
        offset = self.scene.offset(actor)
        poses = actor.poses[frame] + np.concatenate([offset, np.zeros(4)])
        solids: list[Solid] = []
        for part in self.parts[k]:
            pose, mesh = poses[part.body], part.mesh
            placed = Triangles(transform(pose, mesh.vertices), rotate(pose[3:], mesh.normals), mesh.faces)
            solids.append((placed, _faded(part.color, actor.opacity)))
        lines = [*actor_lines(actor, frame)]
        if "traces" in self.show:
            lines += [
                (trace[: frame + 1], 0.0034 * self.scene.size, actor.color) for trace in actor.traces if frame > 0
            ]
        for points, radius, color in lines:
            points = points + offset
            solids.append((tubes(points[:-1], points[1:], radius, radius), _faded(color, actor.opacity)))
            if len(points) == 2:
                for point in points:
                    ball = capsule(radius, 0.0, 8)
                    solids.append((Triangles(ball.vertices + point, ball.normals, ball.faces), color))
        if "forces" in self.show and actor.forces is not None and actor.force_points is not None:
            solids += self._arrows(actor.force_points[frame] + offset, actor.forces[frame])
        return solids

    def _arrows(self, points: Any, forces: Any) -> list[Solid]:
        scene = self.scene
        vectors = scene.force_scale * forces
        length = np.linalg.norm(vectors, axis=1)
        seen = length > 0.01 * scene.size
        if not seen.any():
            return []
        start, vector, length = points[seen], vectors[seen], length[seen]
        head = np.minimum(0.06 * scene.size / length, 0.5)[:, None]
        neck, radius = start + (1.0 - head) * vector, 0.008 * scene.size
        shafts = tubes(start, neck, radius, radius)
        heads = tubes(neck, start + vector, 2.6 * radius, 1e-4 * radius)
        return [(shafts, body_colours.FORCE), (heads, body_colours.FORCE)]


def actor_lines(actor: Actor, frame: int) -> list[tuple[NDArray[np.float64], float, body_colours.Color]]:
    """Springs, cables and loops of an actor: points [m] without its offset, radius [m] and colour of each."""
    lines = []
    for path in actor.paths:
        points = actor.path_points(path, frame)
        if path.kind == "spring":
            points = coil(points[0], points[1], 4.0 * path.radius)
        lines.append((points, path.radius, path.color))
    return lines


def _faded(color: body_colours.Color, opacity: float) -> body_colours.Color:
    return (*color[:3], color[3] * opacity)
