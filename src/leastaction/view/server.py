"""What every viewer in the browser is: a viser server with a scene on it, that can be waited for and ended."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.errors import LeastActionError
from leastaction.mechanism._check import shown as shown_value
from leastaction.view.scene import Scene
from leastaction.view.stage import Stage

RATE = 40.0
"""Pictures for each second that the server sends."""

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
"""Seconds shown for each second of the clock, to choose from."""


def _quiet() -> Any:
    """viser announces itself in a box, even when it is asked to be silent."""
    return contextlib.redirect_stdout(io.StringIO())


def _check_address(host: Any, port: Any) -> None:
    """Refuse an address that nobody can listen on: viser would wait for ever for its own server."""
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        raise LeastActionError(f"view: port must be a whole number from 1 to 65535, got {shown_value(port)}")
    if not isinstance(host, str) or not host:
        raise LeastActionError(f'view: host must be an address such as "127.0.0.1", got {shown_value(host)}')
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise LeastActionError(f"view: cannot listen on host {host!r}: {why}") from None


class Served:
    """A scene that is being served.

    Args:
        scene: what it shows.
        host: the address to listen on.
        port: to listen on; the next free one if it is taken.

    Attributes:
        scene: what it shows.
        server: the `viser.ViserServer`, to add things of your own.
        url: where it is.
        follow: whether the camera moves with the first robot.
    """

    def __init__(self, scene: Scene, host: str, port: int) -> None:
        viser = require("viser", "view")
        _check_address(host, port)
        self.scene = scene
        with _quiet():
            self.server = viser.ViserServer(host=host, port=port, label=scene.title, verbose=False)
        shown = "localhost" if host in ("0.0.0.0", "127.0.0.1") else host
        self.url = f"http://{shown}:{self.server.get_port()}"
        self.follow = scene.follow
        self._lock, self._ended = threading.RLock(), threading.Event()
        self._focus = scene.focus(0)
        camera = self.server.initial_camera
        start = replace(scene.camera, distance=1.2 * scene.camera.distance)  # the panel takes its share of the width
        camera.position, camera.look_at = start.eye, np.array(scene.camera.target)
        camera.fov, camera.up = scene.camera.field_of_view, np.array([0.0, 0.0, 1.0])
        camera.near, camera.far = 0.01 * scene.camera.distance, 300.0 * scene.camera.distance
        self.stage = Stage(self.server, scene)
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()
        self._thread: threading.Thread | None = None

    def wait(self) -> None:
        """Return when the viewer has been stopped."""
        while not self._ended.wait(0.2):  # in pieces, so that Ctrl-C is heard on every system
            pass

    def stop(self) -> None:
        """End the server."""
        if not self._ended.is_set():
            self._ended.set()
            if self._thread is not None:
                self._thread.join(timeout=2.0)
            with _quiet():
                self.server.stop()

    def _begin(self) -> None:
        """Call `_run` in a thread of its own; it ends when `_ended` is set."""
        self._thread = threading.Thread(target=self._run, name="leastaction viewer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """What goes on while the viewer is open."""
        self._ended.wait()

    def _move_cameras(self, frame: int) -> None:
        """Carry the cameras along with the first robot, if they follow it."""
        focus = self.scene.focus(frame)
        shift, self._focus = focus - self._focus, focus
        if not self.follow:
            return
        for client in self.server.get_clients().values():
            with client.atomic():
                position, target = client.camera.position + shift, client.camera.look_at + shift
                client.camera.position, client.camera.look_at = position, target

    def _switch(self, name: str, title: str, redraw: Any) -> None:
        """A box in the panel that shows or hides one kind of things; see `Stage.set_visible`."""
        box = self.server.gui.add_checkbox(title, self.stage.show[name])

        @box.on_update
        def _(_: Any) -> None:
            with self._lock:
                self.stage.set_visible(name, box.value)
                redraw()

    def _follow_switch(self) -> None:
        box = self.server.gui.add_checkbox("follow", self.follow)

        @box.on_update
        def _(_: Any) -> None:
            with self._lock:
                self.follow = box.value

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.scene.title!r} at {self.url}>"

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="520" style="border:0"></iframe>'
