"""The viewer in the browser: a viser server that plays a scene."""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import LeastActionError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.joints import Motion
from leastaction.simulation.simulator import Simulator
from leastaction.view import body_colours
from leastaction.view.live_simulation import SimulationViewer
from leastaction.view.poses import body_frames
from leastaction.view.scene import Scene, build_scene, start_configuration, turned
from leastaction.view.server import RATE, SPEEDS, Served

PLOT_POINTS = 300


def view(
    what: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool | None = None,
    block: bool | None = None,
    play: bool = True,
    **options: Any,
) -> Any:
    """Show a run, several runs, a robot or a simulation in the browser. Needs viser, which the extra `view` brings.

    Args:
        what: a `Trajectory`, several, a `Mechanism`, which gets a slider for every coordinate, or a `Simulator`, which
            goes on in real time: bodies can be pulled with the mouse, and there is a slider for every control.
        host: the address to listen on; the default is open to this machine only, "0.0.0.0" to the network.
        port: to listen on; the next free one if it is taken.
        open_browser: open a tab; default: where this waits (see `block`).
        block: wait until Ctrl-C; default: in scripts yes, in notebooks and consoles no.
        play: start to play at once.
        options: of the scene, as of `build_scene`: `labels`, `layout`, `traces`, `plots`, `follow`, `camera`, `q`, ...;
            of a simulation, those of `SimulationViewer`: `controller`, `drive`, `pull`, `follow`, `camera`.

    Returns:
        The `Viewer`, or `SimulationViewer`; its `url` says where it is, `stop()` ends it.
    """
    known = inspect.signature(SimulationViewer if isinstance(what, Simulator) else build_scene).parameters
    for name in options:
        if name not in known:
            raise LeastActionError(f"view: {type(what).__name__} has no option {name!r}{suggestion(name, known)}")
    if isinstance(what, Simulator):
        viewer: Any = SimulationViewer(what, host=host, port=port, play=play, **options)
    else:
        scene = what if isinstance(what, Scene) else build_scene(what, **options)
        robot = what if isinstance(what, Mechanism) else None
        viewer = Viewer(scene, host=host, port=port, play=play, robot=robot, q=options.get("q"))
    block = not _interactive() if block is None else block
    if block if open_browser is None else open_browser:
        import webbrowser

        webbrowser.open(viewer.url)
    if block:
        print(f"Showing {viewer.scene.title} at {viewer.url} (Ctrl-C ends it)")
        with contextlib.suppress(KeyboardInterrupt):
            viewer.wait()
        viewer.stop()
    return viewer


def _interactive() -> bool:
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "ipykernel" in sys.modules


class Viewer(Served):
    """A scene that is being played; beside the attributes of `Served`:

    Attributes:
        frame: the frame it shows; set by `seek` and by playing.
        playing: whether it plays.
        speed: seconds of the run for each second of the clock.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        host: str,
        port: int,
        play: bool,
        robot: Mechanism | None = None,
        q: ArrayLike | None = None,
    ) -> None:
        super().__init__(scene, host, port)
        self.frame, self.playing, self.speed = 0, play and scene.frames > 1, 1.0
        self.time = float(scene.t[0])
        self._playback()
        self._switches()
        self._plots()
        if robot is not None:
            self._sliders(robot, q)
        self._begin()

    def seek(self, time: float) -> None:
        """Go to a time of the run [s]."""
        with self._lock:
            t = self.scene.t
            self.time = float(np.clip(time, t[0], t[-1]))
            self._show(int(np.argmin(np.abs(t - self.time))))

    def play(self) -> None:
        """Go on playing, from the start if it was at the end."""
        with self._lock:
            if self.frame == self.scene.frames - 1:
                self.time = float(self.scene.t[0])
            self._set_playing(self.scene.frames > 1)

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self._set_playing(False)

    # ------------------------------------------------------------------ playing

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._ended.wait(1.0 / RATE):
            now = time.perf_counter()
            with self._lock:
                if self.playing:
                    t = self.scene.t
                    self.time += self.speed * (now - last)
                    if self.time > t[-1]:
                        self.time = float(t[0])
                    self._show(max(int(np.searchsorted(t, self.time + 1e-9)) - 1, 0))
            last = now

    def _show(self, frame: int) -> None:
        if frame == self.frame:
            return
        self.frame = frame
        self.stage.draw(frame)
        self._move_cameras(frame)
        self._slider.value = float(self.scene.t[frame])
        self._mark(frame)

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        self._button.label = "Pause" if playing else "Play"

    # ------------------------------------------------------------------ panel

    def _playback(self) -> None:
        gui, t = self.server.gui, self.scene.t
        with gui.add_folder("Time", visible=self.scene.frames > 1):
            self._button = gui.add_button("Pause" if self.playing else "Play")
            step = max(float(t[-1] - t[0]) / max(self.scene.frames - 1, 1), 1e-6)
            end = float(t[-1]) if t[-1] > t[0] else float(t[0]) + 1.0
            self._slider = gui.add_slider("t [s]", float(t[0]), end, step, float(t[0]))
            speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self._button.on_click(lambda _: self.pause() if self.playing else self.play())

        @speed.on_update
        def _(_: Any) -> None:
            self.speed = float(speed.value)

        @self._slider.on_update
        def _(event: Any) -> None:
            # Our own updates come without a client.
            if event.client is not None:
                self.pause()
                self.seek(self._slider.value)

    def _switches(self) -> None:
        gui, scene = self.server.gui, self.scene
        there = {
            "axes": bool(self.stage.optional["axes"]),
            "contacts": bool(self.stage.optional["contacts"]),
            "forces": any(actor.forces is not None for actor in scene.actors),
            "traces": any(actor.traces for actor in scene.actors),
        }
        titles = {"axes": "joint axes", "contacts": "contact points", "forces": "contact forces", "traces": "traces"}

        with gui.add_folder("Show"):
            for name in [name for name, is_there in there.items() if is_there]:
                self._switch(name, titles[name], lambda: self.stage.draw(self.frame))
            self._follow_switch()
            side = gui.add_checkbox("side by side", scene.side, visible=len(scene.actors) > 1)
            for actor in scene.actors if len(scene.actors) > 1 else ():
                color = body_colours.hexadecimal(actor.color)
                gui.add_markdown(f'<span style="color:{color}">&#9632;</span> {_plain(actor.label)}')

        @side.on_update
        def _(_: Any) -> None:
            self.stage.spread(side.value)

    def _plots(self) -> None:
        gui, t = self.server.gui, self.scene.t
        self._curves = []
        rows = np.unique(np.linspace(0, len(t) - 1, PLOT_POINTS).astype(int))
        for panel in self.scene.panels if len(t) > 1 else ():
            series: list[Any] = [{"label": "t"}]
            for label, color in zip(panel.labels, panel.colors, strict=True):
                series.append({"label": label, "stroke": body_colours.hexadecimal(color), "width": 1.5})
            series.append({"label": "now", "stroke": "#20262e", "width": 1})
            values = [np.ascontiguousarray(panel.values[rows, k]) for k in range(panel.values.shape[1])]
            low, high = panel.range()
            data = (t[rows], *values, np.full(len(rows), low))
            scales: Any = {"x": {"time": False}, "y": {"range": (low, high)}}
            with gui.add_folder(panel.title):
                handle = gui.add_uplot(data, tuple(series), aspect=1.5, scales=scales, legend={"live": False})
            self._curves.append((handle, rows, values, low, high))
        self._marked = 0.0
        self._mark(0)

    def _mark(self, frame: int) -> None:
        """Mark the present time in the plots, a few times each second while it plays."""
        now = time.perf_counter()
        if self.playing and now - self._marked < 0.2:
            return
        self._marked = now
        for handle, rows, values, low, high in self._curves:
            # The plot has one time axis for all curves: a step from the bottom to the top stands for the present.
            handle.data = (self.scene.t[rows], *values, np.where(rows < frame, low, high))

    def _sliders(self, robot: Mechanism, q: Any) -> None:
        """One slider for each coordinate that is a number, for a robot that stands still."""
        gui, state, upright = self.server.gui, start_configuration(robot, q).copy(), self.scene.actors[0].poses[0, -1]
        names, sliders = robot.coordinate_names, {}
        lower = [x for joint in robot.joints for x in joint.lower]
        upper = [x for joint in robot.joints for x in joint.upper]
        k = dof = 0
        with gui.add_folder("Coordinates"):
            for joint in robot.joints:
                for primitive in joint.primitives:
                    if primitive.nq == 1:
                        wide = 2.0 if primitive.motion == Motion.PRISMATIC else math.pi
                        low, high = max(lower[dof], -wide), min(upper[dof], wide)
                        low, high = min(low, state[k]), max(high, state[k], low + 1e-3)  # homes may be out of range
                        sliders[k] = gui.add_slider(names[k], low, high, (high - low) / 500.0, float(state[k]))
                    k, dof = k + primitive.nq, dof + primitive.nv

        def move(_: Any) -> None:
            with self._lock:
                for index, slider in sliders.items():
                    state[index] = slider.value
                poses = turned(body_frames(robot, state[None]), upright[3:])
                self.scene.actors[0].poses[:] = poses
                self.stage.draw(0)

        for slider in sliders.values():
            slider.on_update(move)


def _plain(text: str) -> str:
    """Text that Markdown and HTML show as it is."""
    import html

    return "".join(f"\\{c}" if c in "\\`*_{}[]#|" else c for c in html.escape(text))
