"""Runs in the Rerun viewer (https://rerun.io): bodies, springs, contact forces, and curves of coordinates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from leastaction._extras import require
from leastaction._files._output import check_output, writing
from leastaction.mechanism._check import flag
from leastaction.typing import PathName, SceneOptions, Viewable
from leastaction.view import body_colours
from leastaction.view.figure import Part
from leastaction.view.geometry import join
from leastaction.view.scene import Actor, Scene, runs_of, scene_of

if TYPE_CHECKING:
    from rerun import RecordingStream

TIMELINE = "time"


def rerun(
    what: Viewable, path: PathName | None = None, *, spawn: bool | None = None, **options: Unpack[SceneOptions]
) -> RecordingStream:
    """Log a run to Rerun: to a file that its viewer opens, or to the viewer at once. Needs the extra `rerun`.

    Entities are `world/ROBOT/BODY` with the shapes of each body, `world/ROBOT/forces` with contact forces, and curves
    under `ROBOT/q`, `ROBOT/v` and `ROBOT/energy`, over the timeline "time" [s].

    Args:
        what: a `Trajectory`, several, or a `Mechanism`.
        path: of the file to write, .rrd; None: none.
        spawn: open the viewer and send it there; default where there is no path.
        options: of the scene, as of `build_scene`: `labels`, `fps`, `max_frames`, ...

    Returns:
        Rerun's `RecordingStream`, to log more to where no file was written.
    """
    spawn = path is None if spawn is None else flag(spawn, "spawn")
    if path is not None:
        check_output(path, (".rrd",))
    rr = require("rerun", "rerun")
    scene = scene_of(what, {"plots": ()} | options)
    stream = rr.RecordingStream("leastaction")
    if spawn:
        stream.spawn()
    if path is None:
        _log(rr, stream, scene, what)
        return stream
    with writing(path) as part:
        # Sinks hold what is sent before they are chosen, so both get everything.
        stream.save(str(part)) if not spawn else stream.set_sinks(rr.GrpcSink(), rr.FileSink(str(part)))
        _log(rr, stream, scene, what)
        stream.flush()
        stream.disconnect()
    return stream


def _log(rr: Any, stream: Any, scene: Scene, what: Any) -> None:
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    for name, actor, run in zip(names_of(scene), scene.actors, runs_of(what, scene), strict=True):
        _bodies(rr, stream, scene, actor, f"world/{name}")
        if run is not None:
            _curves(rr, stream, run, name)


def _bodies(rr: Any, stream: Any, scene: Scene, actor: Actor, root: str) -> None:
    times = [rr.TimeColumn(TIMELINE, duration=scene.t)]
    offset = scene.offset(actor)
    bodies = unique([*actor.names, "world"])
    for body, parts in enumerate(parts_of_bodies(actor)):
        if not parts:
            continue
        entity = f"{root}/{bodies[body]}"
        mesh = join([part.mesh for part in parts])
        colors = np.concatenate([np.tile(color_bytes(part, actor), (len(part.mesh.vertices), 1)) for part in parts])
        stream.log(
            f"{entity}/shapes",
            rr.Mesh3D(
                vertex_positions=mesh.vertices.astype(np.float32),
                triangle_indices=mesh.faces.astype(np.uint32),
                vertex_normals=mesh.normals.astype(np.float32),
                vertex_colors=colors,
            ),
            static=True,
        )
        poses = actor.poses[:, body]
        columns = rr.Transform3D.columns(translation=poses[:, :3] + offset, quaternion=np.roll(poses[:, 3:], -1, 1))
        stream.send_columns(entity, indexes=times, columns=columns)
    for k, path in enumerate(actor.paths):
        strips = [actor.path_points(path, frame) + offset for frame in range(scene.frames)]
        color = np.tile(np.round(255.0 * np.array(path.color)).astype(np.uint8), (scene.frames, 1))
        columns = rr.LineStrips3D.columns(strips=strips, colors=color)
        stream.send_columns(f"{root}/paths/{k}", indexes=times, columns=columns)
    if actor.forces is not None and actor.force_points is not None and actor.forces.shape[1]:
        felt = np.linalg.norm(actor.forces, axis=-1) > 0.0
        columns = rr.Arrows3D.columns(
            origins=actor.force_points[felt] + offset,
            vectors=scene.force_scale * actor.forces[felt],
            colors=np.tile(np.round(255.0 * np.array(body_colours.FORCE)).astype(np.uint8), (int(felt.sum()), 1)),
        )
        stream.send_columns(f"{root}/forces", indexes=times, columns=columns.partition(felt.sum(axis=1)))


def _curves(rr: Any, stream: Any, run: Any, name: str) -> None:
    times = [rr.TimeColumn(TIMELINE, duration=np.asarray(run.t, float))]
    for path, values in series_of(run):
        stream.send_columns(f"{name}/{path}", indexes=times, columns=rr.Scalars.columns(scalars=values))


def series_of(run: Any) -> list[tuple[str, Any]]:
    """Curves of a run by name, `q/NAME`, `v/NAME` and `energy/KIND`, each of shape (steps + 1,)."""
    m = run.mechanism
    out = [(f"q/{name}", run.q[:, k]) for k, name in enumerate(m.coordinate_names)]
    if {"v", "p"} & set(run.stored):
        out += [(f"v/{name}", run.v[:, k]) for k, name in enumerate(m.velocity_names)]
        energies = {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "total": run.energy}
        out += [(f"energy/{kind}", values) for kind, values in energies.items()]
    return out


def parts_of_bodies(actor: Actor) -> list[list[Part]]:
    """What is drawn of each body, and last of the world."""
    out: list[list[Part]] = [[] for _ in range(actor.poses.shape[1])]
    for part in actor.parts:
        if part.role in ("body", "ground", "rail"):
            out[part.body].append(part)
    return out


def color_bytes(part: Part, actor: Actor) -> Any:
    """Red, green, blue, alpha from 0 to 255."""
    return np.round(255.0 * np.array((*part.color[:3], part.color[3] * actor.opacity))).astype(np.uint8)


def names_of(scene: Scene) -> list[str]:
    """Names of the actors that suit paths: the robot's, or the labels of several runs."""
    labels = [actor.label for actor in scene.actors] if len(scene.actors) > 1 else [scene.title]
    return unique([re.sub(r"\W+", "_", label).strip("_") or "robot" for label in labels])


def unique(names: Sequence[str]) -> list[str]:
    """Names that differ: those that come again get a number."""
    out: list[str] = []
    for name in names:
        clear, k = name, 2
        while clear in out:
            clear, k = f"{name}_{k}", k + 1
        out.append(clear)
    return out
