"""Scenes as files: HTML pages, films and pictures."""

from __future__ import annotations

import os
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from leastaction._extras import require
from leastaction._files._output import check_output, writing
from leastaction.actuation.controls import check_call
from leastaction.errors import FormatError, LeastActionError
from leastaction.integration.settings import is_number
from leastaction.mechanism._check import shown, text
from leastaction.typing import SceneOptions, Viewable
from leastaction.view.html_page import page
from leastaction.view.render import Painter
from leastaction.view.scene import Scene, scene_of

PathLike = str | os.PathLike[str]


def export_html(what: Viewable, path: PathLike, *, title: str | None = None, **options: Unpack[SceneOptions]) -> Path:
    """Write a run as one HTML file that plays in any browser with WebGL 2, without Python and without a network.

    Args:
        what: a `Trajectory`, several, or a `Mechanism`; or a `Scene` that is ready.
        path: of the file; it is written at once or not at all.
        title: of the page; default the robot's name.
        options: of the scene, as of `build_scene`: `labels`, `layout`, `traces`, `plots`, `follow`, `camera`, ...

    Returns:
        The path.
    """
    check_output(path)  # before the work
    if title is not None:
        text(title, "title")
    whole = page(scene_of(what, options), title=title)
    with writing(path) as part:
        part.write_text(whole, "utf-8")
    return Path(path)


def export_mp4(
    what: Viewable,
    path: PathLike,
    *,
    width: int = 960,
    height: int = 640,
    fps: int = 30,
    speed: float = 1.0,
    show: Iterable[str] = ("forces", "traces"),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Path:
    """Write a run as a film: .mp4 or .gif; the extra `video` brings the encoders.

    Args:
        what: a `Trajectory` or several.
        path: of the file; its suffix decides on the format.
        width, height: [pixels]; even numbers for .mp4.
        fps: frames of the film for each second of it.
        speed: seconds of the run for each second of the film; below 1 is slow motion.
        show: what is drawn besides the bodies, of "axes", "contacts", "forces" and "traces".
        progress: called with (frames done, frames in all).
        options: of the scene, as of `build_scene`.

    Returns:
        The path.
    """
    suffix = check_output(path, (".mp4", ".gif")).suffix.lower()
    _check_size(width, height, even=suffix == ".mp4")
    if not is_number(fps) or not fps > 0 or not is_number(speed) or not speed > 0.0:
        raise LeastActionError(f"fps and speed must be positive, got {shown(fps)} and {shown(speed)}")
    if progress is not None:
        check_call(progress, "progress", ("done", "count"))
    defaults: SceneOptions = {"fps": fps / speed, "max_frames": 100_000, "plots": ()}
    scene = scene_of(what, defaults | options)
    painter = Painter(scene, show)
    # The run may have fewer states than the film has frames: then a state is shown for several of them.
    times = np.arange(scene.t[0], scene.t[-1] + 1e-9, speed / fps)
    frames = np.clip(np.searchsorted(scene.t, times + 1e-9) - 1, 0, scene.frames - 1)

    def pictures() -> Iterator[NDArray[np.uint8]]:
        last, picture = -1, None
        for done, frame in enumerate(frames):
            if frame != last or picture is None:
                last, picture = frame, painter.picture(int(frame), width, height)
            yield picture
            if progress is not None:
                progress(done + 1, len(frames))

    with writing(path) as part:
        if suffix == ".mp4":
            _encode_mp4(pictures(), part, width, height, fps)
        else:
            _encode_gif(pictures(), part, fps)
    return Path(path)


def screenshot(
    what: Viewable,
    path: PathLike | None = None,
    *,
    time: float | None = None,
    width: int = 960,
    height: int = 640,
    show: Iterable[str] = ("forces", "traces"),
    **options: Unpack[SceneOptions],
) -> NDArray[np.uint8]:
    """A picture of a run at one time, or of a robot; needs nothing but NumPy.

    Args:
        what: a `Trajectory`, several, or a `Mechanism`; or a `Scene` that is ready.
        path: where to write it as .png; None writes nothing.
        time: of the run [s]; default its start.
        width, height: [pixels].
        show: what is drawn besides the bodies, of "axes", "contacts", "forces" and "traces".
        options: of the scene, as of `build_scene`.

    Returns:
        Red, green, blue from 0 to 255, shape (height, width, 3).
    """
    _check_size(width, height)
    if path is not None:
        check_output(path, (".png",))
    scene, frame = _still(what, time, options)
    picture = Painter(scene, show).picture(frame, width, height)
    if path is not None:
        with writing(path) as part:
            part.write_bytes(_png(picture))
    return picture


def depth_image(
    what: Viewable, *, time: float | None = None, width: int = 320, height: int = 240, **options: Unpack[SceneOptions]
) -> NDArray[np.float64]:
    """What a depth camera sees of a run at one time, or of a robot; needs nothing but NumPy.

    Args:
        what: a `Trajectory`, several, or a `Mechanism`; or a `Scene` that is ready.
        time: of the run [s]; default its start.
        width, height: [pixels].
        options: of the scene, as of `build_scene`; `camera` is the `Camera`.

    Returns:
        Distance along the camera's axis to the nearest surface, or to the floor [m], shape (height, width); infinite
        where there is none. Pixel (i, j) looks along
        -backwards + (j + 0.5 - width / 2) / f right + (height / 2 - i - 0.5) / f up of the camera's axes, with
        f = height / (2 tan(field_of_view / 2)).
    """
    _check_size(width, height)
    scene, frame = _still(what, time, options)
    return Painter(scene, ()).depth(frame, width, height)


def _still(what: Viewable, time: float | None, options: SceneOptions) -> tuple[Scene, int]:
    """The scene, and its frame nearest to a time."""
    if time is not None and not is_number(time):
        raise LeastActionError(f"time must be a time of the run [s], got {shown(time)}")
    defaults: SceneOptions = {"plots": ()}
    scene = scene_of(what, defaults | options)
    return scene, 0 if time is None else int(np.argmin(np.abs(scene.t - time)))


def _check_size(width: int, height: int, even: bool = False) -> None:
    for name, value in (("width", width), ("height", height)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < 16 or value > 8192 or (even and value % 2):
            kind = "an even number" if even else "a number"
            raise LeastActionError(f"{name} must be {kind} of pixels from 16 to 8192, got {shown(value)}")


def _png(picture: NDArray[np.uint8]) -> bytes:
    """A picture in the PNG format (ISO 15948): every row filtered by its difference to the one above."""
    height, width, _ = picture.shape
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    flat = picture.reshape(height, -1)
    rows[0, 0], rows[1:, 0] = 0, 2
    rows[0, 1:], rows[1:, 1:] = flat[0], flat[1:] - flat[:-1]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _encode_mp4(pictures: Iterator[Any], path: Path, width: int, height: int, fps: int) -> None:
    ffmpeg = require("imageio_ffmpeg", "video").get_ffmpeg_exe()
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    codec = ["-an", "-c:v", "libx264", "-preset", "medium", "-crf", "20", "-pix_fmt", "yuv420p"]
    command = [ffmpeg, "-y", "-loglevel", "error", *source, *codec, "-movflags", "+faststart", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            for picture in pictures:
                process.stdin.write(picture.tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # the encoder gave up: its words follow
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise FormatError(f"the encoder failed: {said.splitlines()[-1] if said else process.returncode}", file=path)


def _encode_gif(pictures: Iterator[Any], path: Path, fps: int) -> None:
    image = require("PIL.Image", "video")
    first, *rest = [image.fromarray(p).quantize(128, dither=image.Dither.NONE) for p in pictures]
    first.save(path, save_all=True, append_images=rest, duration=round(1000 / fps), loop=0, optimize=True)
