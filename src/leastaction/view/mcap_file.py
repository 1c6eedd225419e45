"""Runs as MCAP files (https://mcap.dev), which Foxglove plays: JSON messages of its schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from leastaction._extras import require
from leastaction._files._output import check_output, writing
from leastaction.typing import PathName, SceneOptions, Viewable
from leastaction.view import body_colours
from leastaction.view.geometry import join
from leastaction.view.rerun_log import color_bytes, names_of, parts_of_bodies, series_of, unique
from leastaction.view.scene import Actor, Scene, runs_of, scene_of

_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TIME = _object(sec={"type": "integer", "minimum": 0}, nsec={"type": "integer", "minimum": 0, "maximum": 999999999})
_VECTOR = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER)
_QUATERNION = _object(x=_NUMBER, y=_NUMBER, z=_NUMBER, w=_NUMBER)
_POSE = _object(position=_VECTOR, orientation=_QUATERNION)
_COLOR = _object(r=_NUMBER, g=_NUMBER, b=_NUMBER, a=_NUMBER)
_TRIANGLES = _object(
    pose=_POSE, points=_list(_VECTOR), color=_COLOR, colors=_list(_COLOR), indices=_list({"type": "integer"})
)
_ARROW = _object(
    pose=_POSE, shaft_length=_NUMBER, shaft_diameter=_NUMBER, head_length=_NUMBER, head_diameter=_NUMBER, color=_COLOR
)
_LINE = _object(
    type={"type": "integer"},
    pose=_POSE,
    thickness=_NUMBER,
    scale_invariant={"type": "boolean"},
    points=_list(_VECTOR),
    color=_COLOR,
    colors=_list(_COLOR),
    indices=_list({"type": "integer"}),
)
_ENTITY = _object(
    timestamp=_TIME,
    frame_id=_TEXT,
    id=_TEXT,
    lifetime=_TIME,
    frame_locked={"type": "boolean"},
    metadata=_list(_object(key=_TEXT, value=_TEXT)),
    arrows=_list(_ARROW),
    lines=_list(_LINE),
    triangles=_list(_TRIANGLES),
)
_DELETION = _object(timestamp=_TIME, type={"type": "integer"}, id=_TEXT)
_TRANSFORM = _object(
    timestamp=_TIME, parent_frame_id=_TEXT, child_frame_id=_TEXT, translation=_VECTOR, rotation=_QUATERNION
)

SCHEMAS = {
    "foxglove.FrameTransforms": _object(transforms=_list(_TRANSFORM)),
    "foxglove.SceneUpdate": _object(deletions=_list(_DELETION), entities=_list(_ENTITY)),
    "leastaction.Numbers": {"type": "object", "additionalProperties": _NUMBER},
}
"""Schemas by name; Foxglove knows the first two by theirs, and plots any field of the third."""

FOREVER = {"sec": 0, "nsec": 0}


def export_mcap(what: Viewable, path: PathName, **options: Unpack[SceneOptions]) -> Path:
    """Write a run as an MCAP file, which Foxglove and other tools play. Needs the extra `mcap`.

    Topics: `/tf` with the frames of the bodies (`ROBOT/BODY` in "world"), `/scene` with their shapes, `/forces` with
    contact forces and springs, and `/ROBOT/q`, `/ROBOT/v`, `/ROBOT/energy` with numbers by name.

    Args:
        what: a `Trajectory`, several, or a `Mechanism`.
        path: of the file to write, .mcap.
        options: of the scene, as of `build_scene`: `labels`, `fps`, `max_frames`, ...

    Returns:
        The path.
    """
    check_output(path, (".mcap",))
    writer = require("mcap.writer", "mcap")
    scene = scene_of(what, {"plots": ()} | options)
    with writing(path) as part, part.open("wb") as file:
        out = writer.Writer(file)
        out.start("", "leastaction")
        _Messages(out, scene, what).write()
        out.finish()
    return Path(path)


class _Messages:
    def __init__(self, out: Any, scene: Scene, what: Any) -> None:
        self.out, self.scene = out, scene
        self.schemas = {
            name: out.register_schema(name=name, encoding="jsonschema", data=json.dumps(schema).encode())
            for name, schema in SCHEMAS.items()
        }
        self.names = names_of(scene)
        self.frames = [
            [f"{n}/{b}" for b in unique([*a.names, "world"])] for n, a in zip(self.names, scene.actors, strict=True)
        ]
        self.runs = runs_of(what, scene)

    def _channel(self, topic: str, schema: str) -> int:
        return self.out.register_channel(topic=topic, message_encoding="json", schema_id=self.schemas[schema])

    def _send(self, channel: int, t: float, message: dict[str, Any]) -> None:
        data = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
        self.out.add_message(channel_id=channel, log_time=_ns(t), publish_time=_ns(t), data=data)

    def write(self) -> None:
        scene = self.scene
        tf, shapes = self._channel("/tf", "foxglove.FrameTransforms"), self._channel("/scene", "foxglove.SceneUpdate")
        moving = self._channel("/forces", "foxglove.SceneUpdate")
        t = scene.t
        self._send(
            shapes, t[0], {"deletions": [], "entities": [e for k in range(len(self.names)) for e in self._shapes(k)]}
        )
        for frame, time in enumerate(t):
            transforms = []
            for frames, actor in zip(self.frames, scene.actors, strict=True):
                offset = scene.offset(actor)
                for name, pose in zip(frames, actor.poses[frame], strict=True):
                    transforms.append(
                        {"timestamp": _time(time), "parent_frame_id": "world", "child_frame_id": name}
                        | {"translation": _vector(pose[:3] + offset), "rotation": _quaternion(pose[3:])}
                    )
            self._send(tf, time, {"transforms": transforms})
            entities = [self._moving(name, actor, frame) for name, actor in zip(self.names, scene.actors, strict=True)]
            entities = [entity for entity in entities if entity["arrows"] or entity["lines"]]
            gone = [] if entities else [{"timestamp": _time(time), "type": 1, "id": ""}]
            self._send(moving, time, {"deletions": gone, "entities": entities})
        for name, run in zip(self.names, self.runs, strict=True):
            if run is not None:
                self._numbers(name, run)

    def _entity(self, name: str, frame: str, time: float, **parts: Any) -> dict[str, Any]:
        entity = {"timestamp": _time(time), "frame_id": frame, "id": name, "lifetime": FOREVER, "frame_locked": True}
        return entity | {"metadata": [], "arrows": [], "lines": [], "triangles": []} | parts

    def _shapes(self, k: int) -> list[dict[str, Any]]:
        actor, out = self.scene.actors[k], []
        for frame, parts in zip(self.frames[k], parts_of_bodies(actor), strict=True):
            if not parts:
                continue
            mesh = join([part.mesh for part in parts])
            colors = [
                color
                for part in parts
                for color in [_color(color_bytes(part, actor) / 255.0)] * len(part.mesh.vertices)
            ]
            triangles = {
                "pose": {"position": _vector(np.zeros(3)), "orientation": _quaternion((1.0, 0.0, 0.0, 0.0))},
                "points": [_vector(p) for p in np.round(mesh.vertices, 6)],
                "color": colors[0],
                "colors": colors,
                "indices": mesh.faces.ravel().tolist(),
            }
            out.append(self._entity(frame, frame, self.scene.t[0], triangles=[triangles]))
        return out

    def _moving(self, name: str, actor: Actor, frame: int) -> dict[str, Any]:
        """Contact forces and springs at a frame, in the world."""
        scene, offset = self.scene, self.scene.offset(actor)
        arrows, lines = [], []
        if actor.forces is not None and actor.force_points is not None:
            for point, force in zip(
                actor.force_points[frame] + offset, scene.force_scale * actor.forces[frame], strict=True
            ):
                length = float(np.linalg.norm(force))
                if length > 0.0:
                    pose = {"position": _vector(point), "orientation": _quaternion(_along(force / length))}
                    sizes = {"shaft_length": 0.8 * length, "shaft_diameter": 0.016 * scene.size}
                    sizes |= {"head_length": 0.2 * length, "head_diameter": 0.04 * scene.size}
                    arrows.append({"pose": pose, "color": _color(body_colours.FORCE)} | sizes)
        still = {"position": _vector(np.zeros(3)), "orientation": _quaternion((1.0, 0.0, 0.0, 0.0))}
        for path in actor.paths:
            points = [_vector(p) for p in actor.path_points(path, frame) + offset]
            lines.append(
                {"type": 0, "pose": still, "thickness": 2.0 * path.radius, "scale_invariant": False, "points": points}
                | {"color": _color(path.color), "colors": [], "indices": []}
            )
        return self._entity(f"{name}/forces", "world", scene.t[frame], arrows=arrows, lines=lines)

    def _numbers(self, name: str, run: Any) -> None:
        groups: dict[str, dict[str, Any]] = {}
        for path, values in series_of(run):
            kind, _, own = path.partition("/")
            groups.setdefault(kind, {})[own] = values
        for kind, curves in groups.items():
            channel = self._channel(f"/{name}/{kind}", "leastaction.Numbers")
            for k, time in enumerate(run.t):
                self._send(channel, float(time), {own: float(values[k]) for own, values in curves.items()})


def _along(direction: Any) -> tuple[float, ...]:
    """Quaternion (w, x, y, z) that takes x to a unit vector."""
    d = np.asarray(direction, float)
    if d[0] < -1.0 + 1e-12:
        return (0.0, 0.0, 1.0, 0.0)
    q = np.array([1.0 + d[0], 0.0, -d[2], d[1]])
    return tuple((q / np.linalg.norm(q)).tolist())


def _ns(t: float) -> int:
    return max(round(1e9 * float(t)), 0)


def _time(t: float) -> dict[str, int]:
    sec, nsec = divmod(_ns(t), 10**9)
    return {"sec": sec, "nsec": nsec}


def _vector(v: Any) -> dict[str, float]:
    return {"x": float(v[0]), "y": float(v[1]), "z": float(v[2])}


def _quaternion(q: Any) -> dict[str, float]:
    return {"x": float(q[1]), "y": float(q[2]), "z": float(q[3]), "w": float(q[0])}


def _color(c: Any) -> dict[str, float]:
    return {"r": float(c[0]), "g": float(c[1]), "b": float(c[2]), "a": float(c[3])}
