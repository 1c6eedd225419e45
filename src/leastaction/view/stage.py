"""A scene on a viser server: what is drawn, and how it moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.view import body_colours
from leastaction.view.figure import Part
from leastaction.view.geometry import join
from leastaction.view.render import actor_lines, grid_cell, lamp_direction
from leastaction.view.scene import Actor, Scene

SWITCHED = {"axis": "axes", "contact": "contacts"}
"""Roles of parts that are shown on demand, and the names of their switches."""

TRACE_POINTS = 400
"""A trace is sent with at most so many points."""


class Stage:
    """The robots, lines, arrows, floor and lamps of a scene on a viser server.

    Args:
        server: the `viser.ViserServer`.
        scene: what it shows.

    Attributes:
        meshes: what can be seen of robots: (number of the actor, index of the body, handle).
    """

    def __init__(self, server: Any, scene: Scene) -> None:
        self.server = server
        self.scene = scene
        self.show = {"axes": False, "contacts": False, "forces": True, "traces": True}
        self.optional: dict[str, list[Any]] = {"axes": [], "contacts": []}
        self.meshes: list[tuple[int, int, Any]] = []
        self._floor_and_lamps()
        self.frames = [self._robot(k, actor) for k, actor in enumerate(scene.actors)]
        self.lines = [[self._line(k, i, *line) for i, line in enumerate(actor_lines(actor, 0))]
                      for k, actor in enumerate(scene.actors)]  # fmt: skip
        self.traces = [[self._line(k, 1000 + i, trace[:1], 0.0034 * scene.size, actor.color)
                        for i, trace in enumerate(actor.traces)] for k, actor in enumerate(scene.actors)]  # fmt: skip
        self.arrows = [self._arrows(k, actor) for k, actor in enumerate(scene.actors)]
        self.draw(0)

    def draw(self, frame: int) -> None:
        """Move everything to a frame."""
        with self.server.atomic():
            for k, actor in enumerate(self.scene.actors):
                self.place(k, actor.poses[frame])
                for handle, (points, _, _) in zip(self.lines[k], actor_lines(actor, frame), strict=True):
                    handle.points = _segments(points)
                for handle, trace in zip(self.traces[k], actor.traces, strict=True):
                    rows = np.unique(np.linspace(0, frame, min(frame + 1, TRACE_POINTS)).astype(int))
                    handle.visible = self.show["traces"] and len(rows) > 1
                    handle.points = _segments(trace[rows])
                if self.arrows[k] is not None:
                    self._draw_arrows(self.arrows[k], actor, frame)

    def place(self, k: int, poses: NDArray[np.float64]) -> None:
        """Put the bodies of an actor where `poses` says, shape (bodies + 1, 7)."""
        for handle, pose in zip(self.frames[k], poses, strict=True):
            handle.position, handle.wxyz = pose[:3], pose[3:]

    def set_visible(self, name: str, visible: bool) -> None:
        """Show or hide "axes", "contacts", "forces" or "traces"."""
        self.show[name] = visible
        for handle in self.optional.get(name, ()):
            handle.visible = visible

    def spread(self, side: bool) -> None:
        """Put the actors side by side, or all in one place."""
        for root, actor in zip(self.roots, self.scene.actors, strict=True):
            root.position = side * actor.offset

    def _floor_and_lamps(self) -> None:
        scene, view = self.server.scene, self.scene
        cell, reach = grid_cell(view.size), 40.0 * view.size
        x, y, _ = view.camera.target
        # The middle of the grid lies on a multiple of its cells, so that its lines stay where the world's are.
        middle = (round(x / (5 * cell)) * 5 * cell, round(y / (5 * cell)) * 5 * cell, view.floor)
        scene.set_up_direction("+z")
        scene.configure_environment_map(None)  # these would be fetched from a network
        scene.configure_default_lights(False)
        scene.add_light_hemisphere("/lamps/sky", sky_color=(235, 242, 255), ground_color=(150, 145, 140), intensity=2.4)
        sun = np.array(lamp_direction(view.camera.azimuth))
        scene.add_light_directional(
            "/lamps/sun", color=(255, 250, 240), intensity=3.2, position=tuple((10.0 * view.size * sun).tolist()),
            cast_shadow=True,
        )  # fmt: skip
        scene.add_grid(
            "/floor", width=reach, height=reach, cell_size=cell, section_size=5 * cell, cell_color=(205, 210, 215),
            section_color=(165, 172, 180), plane_color=(240, 243, 246), plane_opacity=1.0, shadow_opacity=0.25,
            infinite_grid=True, fade_distance=12.0 * view.size, position=middle,
        )  # fmt: skip
        self.roots = [
            scene.add_frame(f"/actor{k}", show_axes=False, position=tuple(view.offset(actor).tolist()))
            for k, actor in enumerate(view.actors)
        ]

    def _robot(self, k: int, actor: Actor) -> list[Any]:
        """Frames of the bodies, the world last, with their meshes."""
        scene = self.server.scene
        count = actor.poses.shape[1]
        frames = [scene.add_frame(f"/actor{k}/body{i}", show_axes=False) for i in range(count)]
        groups: dict[tuple[int, str, body_colours.Color], list[Part]] = {}
        for part in actor.parts:
            groups.setdefault((part.body % count, part.role, part.color), []).append(part)
        for n, ((body, role, color), parts) in enumerate(groups.items()):
            mesh = join([part.mesh for part in parts])
            opacity = color[3] * actor.opacity
            handle = scene.add_mesh_simple(
                f"/actor{k}/body{body}/part{n}", mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32),
                color=_bytes(color), opacity=None if opacity > 0.999 else opacity,
                side="front" if mesh.closed else "double", visible=role not in SWITCHED, cast_shadow=role != "ground",
            )  # fmt: skip
            if role in SWITCHED:
                self.optional[SWITCHED[role]].append(handle)
            elif role == "body":
                self.meshes.append((k, body, handle))
        return frames

    def _line(self, k: int, number: int, points: Any, radius: float, color: body_colours.Color) -> Any:
        return self.server.scene.add_line_segments(
            f"/actor{k}/line{number}", _segments(points), _bytes(color), thickness=2.0 * radius, thickness_units="world"
        )

    def _arrows(self, k: int, actor: Actor) -> Any:
        if actor.forces is None:
            return None
        size = self.scene.size
        return self.server.scene.add_arrows(
            f"/actor{k}/forces", np.zeros((1, 2, 3), np.float32), _bytes(body_colours.FORCE), shaft_radius=0.008 * size,
            head_radius=0.02 * size, head_length=0.05 * size, visible=False,
        )  # fmt: skip

    def _draw_arrows(self, handle: Any, actor: Actor, frame: int) -> None:
        if actor.forces is None or actor.force_points is None:
            return
        start, vector = actor.force_points[frame], self.scene.force_scale * actor.forces[frame]
        seen = np.linalg.norm(vector, axis=1) > 0.01 * self.scene.size
        handle.visible = bool(self.show["forces"] and seen.any())
        if seen.any():
            handle.points = np.stack([start[seen], start[seen] + vector[seen]], axis=1).astype(np.float32)


def _segments(points: Any) -> NDArray[np.float32]:
    """Points of a line as pairs of neighbours, shape (k, 2, 3); a single point as a segment without length."""
    points = np.asarray(points, np.float32)
    if len(points) < 2:
        points = np.repeat(points, 2, axis=0)
    return np.stack([points[:-1], points[1:]], axis=1)


def _bytes(color: body_colours.Color) -> tuple[int, int, int]:
    r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in color[:3])
    return (r, g, b)
