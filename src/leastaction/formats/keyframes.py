"""Configurations that an MJCF file names: its keyframes."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leastaction.formats._files import Folder, Notes, checked_options
from leastaction.formats._xml import MAX_BYTES, Element, read_xml
from leastaction.formats.mjcf._mjcf_compiler import compiled
from leastaction.formats.mjcf._mjcf_source import expand_includes, prepare


def load_keyframes(
    path: str | PathLike[str], *, allow_outside: bool = False, max_bytes: int = MAX_BYTES
) -> dict[str, NDArray[np.float64]]:
    """Positions of the `<key>` elements of an MJCF file, by their names.

    They are `q` of the robot that `load` makes of the file, whose coordinates are MuJoCo's; poses of mocap bodies come
    last: those of the key (`mpos` and `mquat`), or of the file where it does not give them.

    Args:
        path: of the file.
        allow_outside: let the file name includes by absolute paths.
        max_bytes: limit of the size of each file.

    Returns:
        For each key with `qpos` its name, or "key0", "key1", ... for those without one, and q [rad or m], shape (nq,).
        Quaternions have as many digits as the file: `Mechanism.normalize` makes units of them.

    Raises:
        FormatError: naming the file, the line and the element.
    """
    path = checked_options(path, max_bytes, allow_outside=allow_outside)
    root, folder = _document(path, allow_outside, max_bytes)
    listed = [key for key in _keys(root) if key.qpos is not None]
    silent = [key for key in listed if key.mpos is None or key.mquat is None]
    home = _mocap_home(path, folder) if silent and _may_have_mocap(root) else np.zeros((0, 7))
    return {key.name: key.q(home) for key in listed}


def load_keyframe_controls(
    path: str | PathLike[str], *, allow_outside: bool = False, max_bytes: int = MAX_BYTES
) -> dict[str, NDArray[np.float64]]:
    """Controls of the `<key>` elements of an MJCF file, by their names; see `load_keyframes`.

    Args:
        path: of the file.
        allow_outside: let the file name includes by absolute paths.
        max_bytes: limit of the size of each file.

    Returns:
        For each key with `ctrl` its name and controls, shape (nu,), in the order of the file's actuators: that of
        `Mechanism.control_names`, unless `load` omits some of them, which its warning names.

    Raises:
        FormatError: naming the file, the line and the element.
    """
    path = checked_options(path, max_bytes, allow_outside=allow_outside)
    root, _ = _document(path, allow_outside, max_bytes)
    return {key.name: key.ctrl for key in _keys(root) if key.ctrl is not None}


def _document(path: Path, allow_outside: bool, max_bytes: int) -> tuple[Element, Folder]:
    """An MJCF file with all that it includes, and where its files lie."""
    root = read_xml(path, max_bytes)
    if root.tag != "mujoco":
        raise root.error("keyframes are part of MJCF, with the root element <mujoco>")
    folder = Folder.of(path, allow_outside, max_bytes)
    expand_includes(root, path.resolve(), folder)
    return root, folder


def _keys(root: Element) -> list[_Key]:
    """All keys of a document."""
    keys = [key for section in root.all("keyframe") for key in section.all("key")]
    return [_Key(key, number) for number, key in enumerate(keys)]


def note_bad_keyframes(keys: list[Element], nq: int, notes: Notes) -> None:
    """Note the keyframes whose `qpos` is not that of the model, which has `nq` coordinates."""
    for number, key in enumerate(keys):
        text = key.get("qpos")
        if text is not None and len(text.split()) != nq:
            what = f"keyframes, whose qpos is not as long as that of the model ({nq})"
            notes.add(what, f"{key.get('name') or f'key{number}'} ({len(text.split())}, line {key.line})")


class _Key:
    """The numbers of a `<key>`; None for what it does not give."""

    def __init__(self, element: Element, number: int) -> None:
        self.element = element
        self.name = element.get("name") or f"key{number}"
        self.qpos, self.mpos, self.mquat = (self._numbers(name) for name in ("qpos", "mpos", "mquat"))
        self.ctrl = self._numbers("ctrl")

    def _numbers(self, name: str) -> NDArray[np.float64] | None:
        text = self.element.get(name)
        if text is None:
            return None
        try:
            values = np.array([float(x) for x in text.split()])
        except ValueError:
            raise self.element.error("qpos, ctrl, mpos, mquat: expected numbers") from None
        if not np.isfinite(values).all():
            raise self.element.error("qpos, ctrl, mpos, mquat: expected finite numbers")
        return values

    def q(self, home: NDArray[np.float64]) -> NDArray[np.float64]:
        """The configuration; `home`: poses of the mocap bodies in the file, shape (n, 7)."""
        positions = home[:, :3] if self.mpos is None else self.mpos
        turns = home[:, 3:] if self.mquat is None else self.mquat
        if 4 * positions.size != 3 * turns.size or positions.size % 3:
            raise self.element.error("mpos and mquat: expected 3 and 4 numbers for each mocap body")
        poses = np.hstack([positions.reshape(-1, 3), turns.reshape(-1, 4)])
        return np.concatenate([() if self.qpos is None else self.qpos, poses.ravel()])


def _may_have_mocap(root: Element) -> bool:
    """Whether a document has mocap bodies, or models that might bring some."""
    return any(e.get("mocap") == "true" or e.tag == "attach" for e in root.walk())


def _mocap_home(path: Path, folder: Folder) -> NDArray[np.float64]:
    """Poses of the mocap bodies in the file, shape (n, 7)."""
    notes = Notes(path)
    model = compiled(*prepare(path, folder, notes, strict=False), notes)
    rows = model.body_mocapid >= 0
    return np.hstack([model.body_pos[rows], model.body_quat[rows]])
