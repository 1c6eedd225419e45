"""MuJoCo's compiler: a document becomes a model, its complaints and warnings become ours."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from leastaction._disk_cache import key_of, read, write
from leastaction._extras import require
from leastaction.formats._files import Notes
from leastaction.formats._xml import Element, write_xml
from leastaction.formats.mjcf._mjcf_source import Source
from leastaction.warn import warn

OBSOLETE = {
    "option": ("apirate", "collision", "mpr_tolerance", "mpr_iterations"),
    "compiler": ("convexhull", "exactmeshinertia"),
    "flag": ("passive", "sensornoise"),
}
"""Attributes that earlier versions of MuJoCo knew, by their elements."""


def compiled(source: Source, attached: Sequence[Element], notes: Notes) -> Any:
    """MuJoCo's model of a document; its complaints are translated back to the lines of the files.

    Args:
        source: the document.
        attached: roots of the models that it attaches, the innermost first.
        notes: what is omitted: attributes that this version of MuJoCo no longer knows.
    """
    while True:
        try:
            return _compiled(source.root, source.assets, attached)
        except _UnknownError as error:
            if error.name not in OBSOLETE.get(error.owner.tag, ()):
                raise error.owner.error(error.message) from None
            del error.owner.attributes[error.name]
            notes.add("settings that MuJoCo no longer knows", f"{error.name} of <{error.owner.tag}>")


class _UnknownError(Exception):
    """An attribute that MuJoCo does not know."""

    def __init__(self, owner: Element, name: str, message: str) -> None:
        super().__init__(message)
        self.owner, self.name, self.message = owner, name, message


def _compiled(root: Element, assets: dict[str, bytes], attached: Sequence[Element] = ()) -> Any:
    mujoco = require("mujoco", "mjcf")
    text, owners = write_xml(root)
    try:
        return _model(mujoco, text, assets)
    except ValueError as error:
        for model in attached:  # the innermost first: one of them alone may be the culprit
            _compiled(model, assets)
        message = " ".join(str(error).split())
        place = re.search(r",? ?(Element (name )?'[^']*',( id \d+,)? )?[Ll]ine (number=)?(\d+)", message)
        owner = root
        if place and 0 < int(place[5]) <= len(owners):
            owner, message = owners[int(place[5]) - 1], message.replace(place[0], "").strip(" ,")
        else:
            # Without a line, the last element whose name is quoted: the second one of a repeated name.
            names = set(re.findall("'([^']+)'", message))
            owner = [root, *(e for e in root.walk() if e.get("name") in names)][-1]
        message = f"MuJoCo refuses the model: {message}"
        if (unknown := re.search(r"unrecognized attribute: '(\w+)'", message)) and unknown[1] in owner.attributes:
            raise _UnknownError(owner, unknown[1], message) from None
        raise owner.error(message) from None


def _model(mujoco: Any, text: str, assets: dict[str, bytes]) -> Any:
    """MuJoCo's model of a text; of large meshes, whose hulls and inertias take long, from disk where it is known."""
    if sum(map(len, assets.values())) < LARGE:
        with quiet(mujoco):
            return mujoco.MjModel.from_xml_string(text, assets)
    parts = [x for name in sorted(assets) for x in (name.encode(), assets[name])]
    key = key_of(mujoco.__version__.encode(), text.encode(), *parts)
    if (data := read("mjcf", key)) is not None:
        try:
            return mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": data})
        except ValueError:
            pass  # of another build of this version
    began = time.perf_counter()
    with quiet(mujoco) as said:
        model = mujoco.MjModel.from_xml_string(text, assets)
    if not said and time.perf_counter() - began > LONG:  # what it said would have to be said again
        data = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
        mujoco.mj_saveModel(model, None, data)
        write("mjcf", key, data.tobytes())
    return model


LARGE = 100_000
"""Size of the files that a model names, from which on what MuJoCo makes of them is kept on disk [bytes]."""

LONG = 0.3
"""Time that MuJoCo must take for what it makes of them to be kept [s]: that is several times as large as the meshes."""

_HANDLER = threading.Lock()
"""MuJoCo has one handler of warnings for all threads."""


@contextmanager
def quiet(mujoco: Any) -> Iterator[list[str]]:
    """MuJoCo's warnings, which it gives, as Python's.

    By itself it would write them to a file in the user's folder, MUJOCO_LOG.TXT.
    """
    said: list[str] = []
    with _HANDLER:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda message: said.append(str(message)))
        try:
            yield said
        finally:
            mujoco.set_mju_user_warning(before)
    for message in dict.fromkeys(said):
        warn(f"MuJoCo warns: {' '.join(message.split())}")
