"""Configurations that an MJCF file names: its keyframes."""

from __future__ import annotations

from os import PathLike

import numpy as np
from numpy.typing import NDArray

from leastaction.formats._files import Folder, checked_options
from leastaction.formats._mjcf_source import expand_includes
from leastaction.formats._xml import MAX_BYTES, Element, read_xml


def load_keyframes(
    path: str | PathLike[str], *, allow_outside: bool = False, max_bytes: int = MAX_BYTES
) -> dict[str, NDArray[np.float64]]:
    """Positions of the `<key>` elements of an MJCF file, by their names.

    They are `q` of the robot that `load` makes of the file, whose coordinates are MuJoCo's; poses of mocap bodies come
    last, of keys that tell them (`mpos` and `mquat`).

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
    root = read_xml(path, max_bytes)
    if root.tag != "mujoco":
        raise root.error("keyframes are part of MJCF, with the root element <mujoco>")
    expand_includes(root, path.resolve(), Folder.of(path, allow_outside, max_bytes))
    keys = [key for section in root.all("keyframe") for key in section.all("key")]
    found: dict[str, NDArray[np.float64]] = {}
    for number, key in enumerate(keys):
        text = key.get("qpos")
        if text is None:
            continue
        try:
            q = np.array([float(x) for x in text.split()])
            q = np.concatenate([q, *_mocap(key)])
        except ValueError:
            raise key.error("qpos, mpos, mquat: expected numbers") from None
        if not np.isfinite(q).all():
            raise key.error("qpos, mpos, mquat: expected finite numbers")
        found[key.get("name") or f"key{number}"] = q
    return found


def _mocap(key: Element) -> list[NDArray[np.float64]]:
    """Poses of mocap bodies, 7 numbers each, where a keyframe tells both positions and orientations."""
    where, turned = key.get("mpos"), key.get("mquat")
    if where is None or turned is None:
        return []
    positions, turns = (np.array([float(x) for x in text.split()]) for text in (where, turned))
    if 4 * positions.size != 3 * turns.size or positions.size % 3:
        raise key.error("mpos and mquat: expected 3 and 4 numbers for each mocap body")
    return [np.hstack([positions.reshape(-1, 3), turns.reshape(-1, 4)]).ravel()]
