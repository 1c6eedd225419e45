"""One description of a moving picture, from which the viewer, the HTML page and the films are all made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction._display.labels import run_names
from leastaction.errors import LeastActionError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, count, flag, instances, positive, shown
from leastaction.mechanism.elements import attachment
from leastaction.typing import AttachmentLike, CameraLike, FloatArray, Viewable
from leastaction.view import body_colours
from leastaction.view.camera import Camera, choose_camera
from leastaction.view.figure import Part, Path, figure, ground, path_points, reach
from leastaction.view.panels import PLOTS, Panel, panels
from leastaction.view.poses import body_frames, frames_of_run, rotate, transform

LAYOUTS = ("ghost", "overlay", "side")


@dataclass(frozen=True, eq=False)
class Actor:
    """One robot in motion.

    Attributes:
        label: shown beside it.
        color: of its curves.
        parts, paths: what is drawn, see `Part` and `Path`.
        poses: position [m] and unit quaternion (w, x, y, z) of each body, shape (frames, bodies + 1, 7); the last one
            is the world, so that its index -1 finds it.
        size: a typical length of the robot [m].
        floors: heights of the level planes of its world [m].
        opacity: 1 is solid.
        offset: where it is put if the robots stand side by side [m], shape (3,).
        traces: points along the way, each of shape (frames, 3) [m].
        force_points, forces: where contact forces act [m] and what they are [N] (the strongest ones cut to what fits
            the picture), each of shape (frames, contacts, 3).
        names: of the bodies.
    """

    label: str
    color: body_colours.Color
    parts: list[Part]
    paths: list[Path]
    poses: FloatArray
    size: float
    floors: list[float]
    opacity: float = 1.0
    offset: FloatArray = field(default_factory=lambda: np.zeros(3))
    traces: list[FloatArray] = field(default_factory=list)
    force_points: FloatArray | None = None
    forces: FloatArray | None = None
    names: tuple[str, ...] = ()

    def corners(self, frame: int) -> FloatArray:
        """Corners of the boxes around all parts of the robot (not the ground), shape (k, 3) [m]."""
        boxes = []
        for part in self.parts:
            if part.role == "body":
                v = part.mesh.vertices
                low, high = v.min(axis=0), v.max(axis=0)
                pick = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
                boxes.append(transform(self.poses[frame, part.body], np.where(pick, high, low)))
        for path in self.paths:
            boxes.append(self.path_points(path, frame))
        return np.concatenate(boxes) if boxes else np.zeros((1, 3))

    def depth(self) -> float:
        """Height of the lowest point of the ground's shapes [m]; infinite without any."""
        parts = [part for part in self.parts if part.role == "ground"]
        depths = [transform(self.poses[0, part.body], part.mesh.vertices)[:, 2].min() for part in parts]
        return float(min(depths, default=math.inf))

    def lowest(self, frame: int) -> float:
        """Height of the lowest point of the robot [m]."""
        heights = [float(self.path_points(path, frame)[:, 2].min()) - 5.0 * path.radius for path in self.paths]
        for part in self.parts:
            if part.role == "body":
                pose = self.poses[frame, part.body]
                # The world's z in the body's frame: one product for each vertex instead of a rotation.
                up = rotate(pose[3:] * np.array([1.0, -1.0, -1.0, -1.0]), (0.0, 0.0, 1.0))
                heights.append(float((part.mesh.vertices @ up).min() + pose[2]))
        return min(heights, default=0.0)

    def path_points(self, path: Path, frame: int) -> FloatArray:
        """Points of a path in the world [m], shape (k, 3), without the actor's offset."""
        return path_points(path, self.poses[frame])


@dataclass(frozen=True, eq=False)
class Scene:
    """Robots in motion over a common time.

    Attributes:
        title: of the page.
        t: times of the frames [s], shape (frames,).
        actors: the robots.
        size: a typical length of the robots [m].
        floor: height of the floor [m].
        camera: where it is seen from.
        panels: curves beside the scene.
        follow: whether the camera moves with the first robot.
        side: whether the robots stand side by side.
        force_scale: length of the arrow of a force [m/N].
    """

    title: str
    t: FloatArray
    actors: list[Actor]
    size: float
    floor: float
    camera: Camera
    panels: list[Panel]
    follow: bool
    side: bool
    force_scale: float

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.t)

    def offset(self, actor: Actor) -> FloatArray:
        """Where a robot is put [m], shape (3,)."""
        return actor.offset if self.side else np.zeros(3)

    def focus(self, frame: int) -> FloatArray:
        """The point that the camera follows [m], shape (3,): the middle of the first robot's bodies."""
        return self.actors[0].poses[frame, :-1, :3].mean(axis=0)

    def camera_at(self, frame: int) -> Camera:
        """The camera at a frame; it moves only if it follows."""
        shift = self.focus(frame) - self.focus(0) if self.follow else np.zeros(3)
        return self.camera.moved(shift)


def build_scene(
    what: Viewable,
    *,
    q: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    layout: str = "ghost",
    traces: Iterable[AttachmentLike] = (),
    plots: Sequence[str] = ("energy",),
    follow: bool | None = None,
    camera: CameraLike | None = None,
    fps: float = 60.0,
    max_frames: int = 3000,
) -> Scene:
    """The scene of a run, of several runs, or of a robot that stands still.

    Args:
        what: a `Trajectory`, several, or a `Mechanism`.
        q: configuration of a `Mechanism` [rad or m], shape (nq,); default its home, or the neutral one.
        labels: a name for each run; default the integrators.
        layout: of several runs: "ghost" (the first solid, the others transparent), "overlay" or "side" (by side).
        traces: what leaves a trace: names of bodies (their centres of mass) or (body, point [m]).
        plots: curves beside the scene, of "energy", "error" (of the energy), "momentum", "violation" (of loops) and
            "sensors".
        follow: let the camera move with the first robot; default: where it travels far.
        camera: (azimuth, elevation) [rad], a `Camera`, or None for one that suits the motion.
        fps: at most so many frames for each second of the run; frames are states of the run, never interpolated.
        max_frames: at most so many frames in all.
    """
    choice(layout, LAYOUTS, "layout", LeastActionError)
    if follow is not None:
        flag(follow, "follow")
    fps, max_frames = positive(fps, "fps"), count(max_frames, "max_frames")
    traces, plots = instances(traces, object, "traces"), instances(plots, str, "plots")
    unknown = [plot for plot in plots if plot not in PLOTS]
    if unknown:
        raise LeastActionError(f"unknown plot {unknown[0]!r}; known plots: {', '.join(PLOTS)}")
    if isinstance(what, Mechanism):
        t = np.zeros(1)
        still = body_frames(what, start_configuration(what, q)[None])
        actors = [_actor(what, what.name, None, still, traces)]
        curves: list[Panel] = []
        title = what.name
    else:
        runs, names = _runs(what, labels)
        t, states = _sample(runs, fps, max_frames)
        actors = []
        for k, (run, name, rows) in enumerate(zip(runs, names, states, strict=True)):
            tint = None if len(runs) == 1 else body_colours.RUNS[k % len(body_colours.RUNS)]
            frames = frames_of_run(run, rows)
            opacity = 0.45 if layout == "ghost" and k > 0 else 1.0
            actors.append(_actor(run.mechanism, name, tint, frames, traces, opacity, _forces(run, rows, frames)))
        curves = panels(runs, names, states, plots)
        title = ", ".join(dict.fromkeys(run.mechanism.name for run in runs))
    return _composed(title, t, actors, curves, layout, follow, camera)


def scene_of(what: Viewable, options: Mapping[str, Any]) -> Scene:
    """A scene that is ready, or the one of `build_scene`."""
    return what if isinstance(what, Scene) else build_scene(what, **options)


def runs_of(what: Any, scene: Scene) -> list[Any]:
    """The run of each actor, None where there is none."""
    if isinstance(what, Mechanism | Scene):
        return [None] * len(scene.actors)
    return [what] if hasattr(what, "mechanism") else list(what)


def _composed(
    title: str,
    t: FloatArray,
    actors: list[Actor],
    curves: list[Panel],
    layout: str,
    follow: bool | None,
    camera: Any,
) -> Scene:
    size, floors = max(actor.size for actor in actors), [z for actor in actors for z in actor.floors]
    some = np.unique(np.linspace(0, len(t) - 1, 40).astype(int))
    tracks = [np.stack([actor.poses[f, :-1, :3].mean(axis=0) for f in some]) for actor in actors]
    travels = any(np.linalg.norm(np.ptp(track, axis=0)) > 2.0 * size for track in tracks)
    follow = travels if follow is None else follow
    seen = [np.concatenate([actor.corners(f) for f in (some[:1] if follow else some)]) for actor in actors]
    lowest = min(actor.lowest(f) for actor in actors for f in some)
    floor = _floor(floors, lowest, [actor.depth() for actor in actors], size)
    view = camera if isinstance(camera, Camera) else choose_camera(np.concatenate(seen), camera)
    side = layout == "side" and len(actors) > 1
    if len(actors) > 1:
        right = view.axes()[0]
        width = max(float(np.ptp(points @ right)) for points in seen) * 1.15
        for k, actor in enumerate(actors):
            actor.offset[:] = (k - 0.5 * (len(actors) - 1)) * width * right
    if not isinstance(camera, Camera):
        everything = np.concatenate([points + side * a.offset for points, a in zip(seen, actors, strict=True)])
        view = choose_camera(everything, (view.azimuth, view.elevation))
    scale = _force_scale(actors, size)
    return Scene(title, t, actors, size, floor, view, curves, follow, side, scale)


def _force_scale(actors: list[Actor], size: float) -> float:
    """Length of the arrow of a force [m/N]: a usual one is well seen, those of impacts are cut to fit."""
    strength = [np.linalg.norm(actor.forces, axis=-1) for actor in actors if actor.forces is not None]
    felt = np.concatenate([s.ravel() for s in strength]) if strength else np.zeros(0)
    felt = felt[felt > 1e-3 * felt.max(initial=0.0)]
    if felt.size == 0:
        return 0.0
    scale = 0.25 * size / float(np.median(felt))
    for actor in actors:
        if actor.forces is not None:
            length = scale * np.linalg.norm(actor.forces, axis=-1, keepdims=True)
            actor.forces[:] *= np.minimum(1.0, 0.6 * size / np.maximum(length, 1e-300))
    return scale


def _floor(planes: list[float], lowest: float, depths: list[float], size: float) -> float:
    """Height of the floor [m]: that of the world's level plane; else below the robots and the ground's shapes.

    Robots made to stand on z = 0 show that floor even where none is part of the model.
    """
    if planes:
        return max(planes)
    if math.isfinite(min(depths)):
        return min(lowest, *depths) - 0.005 * size
    return 0.0 if -0.03 * size < lowest < 0.5 * size else lowest - 0.05 * size


def _actor(
    mechanism: Mechanism,
    label: str,
    tint: body_colours.Color | None,
    frames: FloatArray,
    traces: Sequence[Any],
    opacity: float = 1.0,
    forces: tuple[FloatArray, FloatArray] | None = None,
) -> Actor:
    """An actor whose world is turned so that gravity pulls it along -z."""
    size = reach(mechanism)
    parts, paths = figure(mechanism, size, tint)
    earth, floors = ground(mechanism, size)
    turn = _upright(mechanism)
    poses = turned(frames, turn)
    tracks = []
    for trace in traces:
        end = attachment(trace, "traces")
        body = mechanism.body_index(end.body)
        point = mechanism.bodies[body].inertia.com if isinstance(trace, str) and body >= 0 else end.point
        tracks.append(transform(poses[:, body], np.array(point)))
    points, pushes = (rotate(turn, x) for x in forces) if forces is not None else (None, None)
    color = tint or body_colours.RUNS[0]
    return Actor(
        label,
        color,
        parts + earth,
        paths,
        poses,
        size,
        floors,
        opacity,
        traces=tracks,
        force_points=points,
        forces=pushes,
        names=mechanism.body_names,
    )


def turned(frames: FloatArray, turn: FloatArray) -> FloatArray:
    """Poses of bodies in a world that is turned by a quaternion, and that world's pose behind them.

    Args:
        frames: shape (frames, bodies, 7).
        turn: (w, x, y, z).

    Returns:
        Shape (frames, bodies + 1, 7).
    """
    poses = np.zeros((len(frames), frames.shape[1] + 1, 7))
    poses[:, :-1, :3] = rotate(turn, frames[..., :3])
    poses[:, :-1, 3:] = _product(turn, frames[..., 3:])
    poses[:, -1, 3:] = turn
    return poses


def _upright(mechanism: Mechanism) -> FloatArray:
    """The quaternion that turns gravity to -z; the identity without gravity."""
    g = np.array(mechanism.gravity)
    if np.linalg.norm(g) < 1e-12:
        return np.array([1.0, 0.0, 0.0, 0.0])
    up = -g / np.linalg.norm(g)
    if up[2] < -1.0 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    half = np.array([1.0 + up[2], *np.cross(up, (0.0, 0.0, 1.0))])
    return half / np.linalg.norm(half)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """The quaternion a times quaternions b, shape (..., 4)."""
    w = a[0] * b[..., :1] - (b[..., 1:] @ a[1:])[..., None]
    return np.concatenate([w, a[0] * b[..., 1:] + b[..., :1] * a[1:] + np.cross(a[1:], b[..., 1:])], axis=-1)


def _forces(run: Any, rows: Any, poses: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Where contact forces act [m] and what they are [N], each (rows, contacts, 3) in the world, where a run has them.

    A run has either `contact_forces`, one for each contact point and state, or the log of the maximal integrator.
    """
    mechanism, stored = run.mechanism, getattr(run, "stored", {})
    forces = getattr(run, "contact_forces", stored.get("contact_forces"))
    if forces is None:
        return _logged_forces(stored["contacts"], len(run.t), rows) if len(stored.get("contacts", ())) else None
    forces = np.asarray(forces, float)
    if forces.shape != (len(run.t), len(mechanism.contacts), 3):
        expected = (len(run.t), len(mechanism.contacts), 3)
        raise LeastActionError(f"contact forces of {mechanism.name!r}: expected {expected}, got {forces.shape}")
    bodies = [mechanism.body_index(contact.body) for contact in mechanism.contacts]
    local = np.array([contact.point for contact in mechanism.contacts]).reshape(-1, 3)
    return transform(poses[:, bodies], local), forces[rows]


def _logged_forces(log: Any, states: int, rows: Any) -> tuple[FloatArray, FloatArray]:
    """Contact forces from a log of (step, two bodies, point, force on the second, gap), shape (n, 10).

    The force of a step is shown at the state that the step ends in; places that a state does not need hold zeros.
    """
    log = np.asarray(log, float)
    state = log[:, 0].astype(int) + 1
    counts = np.bincount(state, minlength=states)
    order = np.argsort(state, kind="stable")
    place = np.arange(len(log)) - np.repeat(np.cumsum(counts) - counts, counts)
    points, forces = np.zeros((2, states, max(int(counts.max()), 1), 3))
    points[state[order], place], forces[state[order], place] = log[order, 3:6], log[order, 6:9]
    return points[rows], forces[rows]


def start_configuration(mechanism: Mechanism, q: Any = None) -> FloatArray:
    """The configuration in which a robot is shown: q, or its home."""
    if q is not None:
        from leastaction.mechanism.arguments import configuration

        return configuration(mechanism, q)
    from leastaction.robots import home

    return home(mechanism)


def _runs(what: Any, labels: Sequence[str] | None) -> tuple[list[Any], list[str]]:
    """Runs as a list, with a name for each."""
    runs = [what] if hasattr(what, "mechanism") else list(what) if isinstance(what, Sequence) else []
    if not runs or not all(hasattr(run, "mechanism") and hasattr(run, "t") for run in runs):
        raise LeastActionError(f"view: expected a Trajectory, several, or a Mechanism; got {shown(what)}")
    if any(len(run.t) == 0 for run in runs):
        raise LeastActionError("view: a run has no states")
    return runs, run_names(runs, labels, "view")


def _sample(runs: Sequence[Any], fps: float, max_frames: int) -> tuple[FloatArray, list[NDArray[np.int64]]]:
    """Times of the frames [s] and, for each run, the indices of its states nearest to them."""
    longest = max(runs, key=lambda run: run.t[-1] - run.t[0])
    t = np.asarray(longest.t, float)
    wanted = min(math.floor((t[-1] - t[0]) * fps + 1e-9) + 1, max_frames)
    if wanted < len(t):
        # Times of states, not just near them, so that curves over them are smooth.
        t = t[np.unique(_nearest(t, np.linspace(t[0], t[-1], wanted)))]
    return t, [_nearest(np.asarray(run.t, float), t) for run in runs]


def _nearest(t: FloatArray, wanted: FloatArray) -> NDArray[np.int64]:
    """Indices of the entries of t, which ascends, that are nearest to wanted ones."""
    after = np.clip(np.searchsorted(t, wanted), 0, len(t) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(wanted - t[before] < t[after] - wanted, before, after)
