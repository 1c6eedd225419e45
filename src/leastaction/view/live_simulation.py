"""A simulation in the browser: it goes on in real time, and can be pulled, driven, halted and begun anew."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction._jit import LISTENERS
from leastaction.actuation.controls import check_call
from leastaction.errors import LeastActionError, LeastActionWarning
from leastaction.mechanism._check import flag
from leastaction.simulation.simulator import Simulator
from leastaction.typing import CameraLike, FloatArray
from leastaction.view import body_colours
from leastaction.view.control_sliders import ControlSliders
from leastaction.view.mouse_spring import Pull
from leastaction.view.poses import body_frames, rotate
from leastaction.view.scene import build_scene, turned
from leastaction.view.server import RATE, SPEEDS, Served

PLOTTED = 10.0
"""Seconds of the energy that are plotted."""


class SimulationViewer(Served):
    """A simulation that goes on in the browser, with the attributes of `Served` and those below.

    Args:
        simulator: says what goes on: its robot, integrator and time step, from its present state.
        controller: a function of the simulator that gives the controls of a step, shape (nu,); the sliders are added
            to them. None: the sliders alone.
        drive: True: a simulation of the viewer's own goes on in real time. False: the simulator itself is shown as
            it is whenever `sync` is called, for loops of your own.
        pull: let the mouse pull on bodies; where the integrator knows no forces on bodies, it does not.
        host, port, play, follow, camera: as of `leastaction.view.viewer.view`.

    Attributes:
        simulator: what is shown.
        playing: whether it goes on.
        speed: seconds of the simulation for each second of the clock.
        controls: what the sliders say, shape (nu,).
    """

    def __init__(
        self,
        simulator: Simulator,
        *,
        controller: Callable[[Simulator], ArrayLike] | None = None,
        drive: bool = True,
        pull: bool = True,
        host: str = "127.0.0.1",
        port: int = 8080,
        play: bool = True,
        follow: bool = False,
        camera: CameraLike | None = None,
    ) -> None:
        if controller is not None:
            check_call(controller, "controller", ("simulator",))
        for name, value in (("drive", drive), ("pull", pull), ("follow", follow)):
            flag(value, name)
        robot = simulator.mechanism
        scene = build_scene(robot, q=simulator.q, follow=follow, camera=camera)
        none = np.zeros((1, 1, 3))
        weight = max(sum(body.inertia.mass for body in robot.bodies) * (np.linalg.norm(robot.gravity) or 9.81), 1e-9)
        scene.actors[0] = replace(scene.actors[0], force_points=none, forces=none)
        super().__init__(replace(scene, force_scale=0.5 * scene.size / weight), host, port)
        self.simulator = _pushable(simulator) if drive and pull else _another(simulator) if drive else simulator
        self._begun = self.simulator.state()
        self._controller, self._drive = controller, drive
        self.playing, self.speed = drive and play, 1.0
        self._pull: Pull | None = None
        self._plotted = 0.0
        self._energies: deque[tuple[float, ...]] = deque()
        self._panel()
        nowhere, red, thick = np.zeros((1, 2, 3), np.float32), (220, 40, 40), 0.01 * scene.size
        self._rope = self.server.scene.add_line_segments("/pull", nowhere, red, thickness=thick, visible=False)
        if drive and pull and self.simulator.pushable:
            for _, body, handle in self.stage.meshes:
                self._listen(body, handle)
        self._draw()
        if drive:
            self._begin()

    # ------------------------------------------------------------------ going on

    def sync(self) -> None:
        """Show the simulator as it is now."""
        with self._lock:
            self._draw()

    def play(self) -> None:
        """Go on."""
        with self._lock:
            self._set_playing(self._drive)

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self._set_playing(False)

    def step(self) -> None:
        """Halt, and do one step."""
        with self._lock:
            self._set_playing(False)
            self._advance()
            self._draw()

    def reset(self) -> None:
        """Go back to the state that the viewer began with."""
        with self._lock:
            self.simulator.set_state(self._begun)
            self._energies.clear()
            self._pull = None
            self._tell("")
            self._draw()

    @property
    def controls(self) -> FloatArray:
        """What the sliders say, shape (nu,)."""
        return self._sliders.values()

    def _run(self) -> None:
        dt, due, last = self.simulator.dt, 0.0, time.perf_counter()
        while not self._ended.wait(1.0 / RATE):
            now = time.perf_counter()
            with self._lock:
                due = due + self.speed * (now - last) if self.playing else 0.0
                done = 0
                while due >= dt and self._advance():
                    due, done = due - dt, done + 1
                    if time.perf_counter() > now + 0.7 / RATE:
                        due = 0.0  # slower than real time: time that was lost is not caught up
                if done:
                    self._draw()
            last = now

    def _advance(self) -> bool:
        """Do one step; halt and say why where there is none."""
        sim = self.simulator
        try:
            u = self.controls
            if self._controller is not None:
                u = u + np.asarray(self._controller(sim), float).reshape(-1)
            if self._pull is not None:
                self._pull.push()
            LISTENERS.append(self._tell_compilation)  # the first step may take long
            try:
                sim.step(u)
            finally:
                LISTENERS.remove(self._tell_compilation)
        except Exception as error:  # of the controller, too: a thread that ends in silence helps nobody
            self._set_playing(False)
            self._tell(f"{type(error).__name__}: {error}")
            return False
        return True

    # ------------------------------------------------------------------ the picture

    def _draw(self) -> None:
        sim, actor = self.simulator, self.scene.actors[0]
        turn = actor.poses[0, -1, 3:]
        actor.poses[:] = turned(body_frames(sim.mechanism, sim.q[None]), turn)
        touching = sim.contacts
        points, forces = (rotate(turn, x) for x in (touching[:, 2:5], touching[:, 5:8]))
        length = self.scene.force_scale * np.linalg.norm(forces, axis=-1, keepdims=True)
        forces = forces * np.minimum(1.0, 0.6 * self.scene.size / np.maximum(length, 1e-300))
        self.scene.actors[0] = replace(actor, force_points=points[None], forces=forces[None])
        self.stage.draw(0)
        self._move_cameras(0)
        self._rope.visible = self._pull is not None
        if self._pull is not None:
            ends = np.stack([rotate(turn, self._pull.at()), rotate(turn, self._pull.target)])
            self._rope.points = ends[None].astype(np.float32)
        self._plot()

    def _plot(self) -> None:
        """Energies of the last seconds, a few times each second."""
        now, sim = time.perf_counter(), self.simulator
        if self.playing and now - self._plotted < 0.2:
            return
        self._plotted = now
        state = sim.now
        self._energies.append((sim.t, float(state.kinetic_energy[0]), float(state.energy[0])))
        while self._energies[0][0] < sim.t - PLOTTED:
            self._energies.popleft()
        self._clock.content = f"t = {sim.t:.2f} s"
        columns = np.array(self._energies).T
        self._curves.data = tuple(np.ascontiguousarray(column) for column in columns)

    def _panel(self) -> None:
        gui, sim = self.server.gui, self.simulator
        with gui.add_folder("Simulation"):
            self._clock = gui.add_markdown("t = 0.00 s")
            if self._drive:
                self._button = gui.add_button("Pause" if self.playing else "Play")
                self._button.on_click(lambda _: self.pause() if self.playing else self.play())
                gui.add_button("Step").on_click(lambda _: self.step())
                gui.add_button("Reset").on_click(lambda _: self.reset())
                speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")

                @speed.on_update
                def _(_: Any) -> None:
                    self.speed = float(speed.value)

            self._message = gui.add_markdown("")
        self._sliders = ControlSliders(
            gui, sim, self.scene.size, offsets=self._controller is not None or not self._drive
        )
        with gui.add_folder("Show"):
            self._switch("axes", "joint axes", lambda: self.stage.draw(0))
            if sim.mechanism.ground or sim.mechanism.contacts:
                self._switch("forces", "contact forces", lambda: self.stage.draw(0))
            self._follow_switch()
        lines = [{"label": "t"}] + [
            {"label": label, "stroke": body_colours.hexadecimal(body_colours.RUNS[k]), "width": 1.5}
            for k, label in enumerate(("kinetic", "total"))
        ]
        scales: Any = {"x": {"time": False}}
        with gui.add_folder("energy [J]"):
            first = tuple(np.zeros(1) for _ in lines)
            self._curves = gui.add_uplot(first, tuple(lines), aspect=1.5, scales=scales, legend={"live": False})

    def _listen(self, body: int, handle: Any) -> None:
        """Let the mouse pull on what can be seen of a body."""
        sim = self.simulator
        name = sim.mechanism.bodies[body].name
        if name not in sim.pushable:
            return

        @handle.on_drag
        async def _(event: Any) -> None:  # asynchronous ones are called in order
            with self._lock:
                back = self.scene.actors[0].poses[0, -1, 3:] * np.array([1.0, -1.0, -1.0, -1.0])
                if event.phase == "start":
                    self._pull = Pull(sim, name, rotate(back, np.array(event.start_position)))
                if self._pull is not None:
                    self._pull.target = rotate(back, np.array(event.end_position))
                if event.phase == "end":
                    self._pull = None

    def _set_playing(self, playing: bool) -> None:
        self.playing = playing
        if self._drive:
            self._button.label = "Pause" if playing else "Play"

    def _tell(self, text: str) -> None:
        self._message.content = text

    def _tell_compilation(self, name: str, seconds: float | None) -> None:
        self._tell(f"compiling {name}, once" if seconds is None else "")


def _another(simulator: Simulator, pushable: Any = None) -> Simulator:
    """A simulator of the same kind in the same state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeastActionWarning)  # said when the first one was made
        sim = Simulator(simulator.mechanism, simulator.integrator, simulator.dt, pushable=pushable)
    sim.set_state(simulator.state())
    return sim


def _pushable(simulator: Simulator) -> Simulator:
    """A simulator of the same kind in the same state that can be pushed, where its integrator knows such forces."""
    try:
        return _another(simulator, True)
    except LeastActionError:
        return _another(simulator)
