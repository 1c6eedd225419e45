"""MuJoCo's compiler: a document becomes a model, its complaints and warnings become ours."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
        with quiet(mujoco):
            return mujoco.MjModel.from_xml_string(text, assets)
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


_HANDLER = threading.Lock()
"""MuJoCo has one handler of warnings for all threads."""


@contextmanager
def quiet(mujoco: Any) -> Iterator[None]:
    """MuJoCo's warnings as Python's; by itself it would write them to a file in the user's folder, MUJOCO_LOG.TXT."""
    said: list[str] = []
    with _HANDLER:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda message: said.append(str(message)))
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(before)
    for message in dict.fromkeys(said):
        warn(f"MuJoCo warns: {' '.join(message.split())}")
