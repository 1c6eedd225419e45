"""Where the file of a robot lies: in a folder of models, or in what the package robot_descriptions fetches."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leastaction._extras import require
from leastaction.errors import FormatError
from leastaction.mechanism._check import suggestion

_DESCRIPTION = re.compile(r"\w+_description")

PATHS = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")
"""What modules of robot_descriptions call the file of their robot."""


def model_in(folder: Path) -> Path:
    """The model of a folder: its `scene.xml`, as those of MuJoCo Menagerie have it, or the only model that it holds."""
    if (folder / "scene.xml").is_file():
        return folder / "scene.xml"
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".urdf", ".xml", ".sdf", ".xacro"))
    if len(found) == 1:
        return found[0]
    what = f"several models, {', '.join(path.name for path in found)}" if found else "no model"
    raise FormatError(f"the folder holds {what}, and no scene.xml; name the file", file=folder)


def is_description(name: str) -> bool:
    """Whether this is how the package robot_descriptions calls a robot."""
    return _DESCRIPTION.fullmatch(name) is not None


def described(name: str) -> tuple[Path, dict[str, Any]]:
    """(File, options of the reader) of a robot of robot_descriptions, which is fetched unless it is in its cache.

    The package fetches repositories by git, into the folder that its environment variable names
    (ROBOT_DESCRIPTIONS_CACHE) or the user's cache.
    """
    package = require("robot_descriptions", "descriptions")
    if find_spec(f"robot_descriptions.{name}") is None:
        folders = [Path(folder) for folder in package.__path__]
        known = sorted(path.stem for folder in folders for path in folder.glob("*_description.py"))
        raise FormatError(f"robot_descriptions has no {name!r}{suggestion(name, known)}")
    try:
        module = import_module(f"robot_descriptions.{name}")
    except Exception as error:  # of git and of the network, which are its own affair
        raise FormatError(f"robot_descriptions cannot fetch {name!r}: {error}") from error
    for key in PATHS:
        if hasattr(module, key):
            path = Path(getattr(module, key))
            if key == "XACRO_PATH":
                return path, {"xacro_args": dict(getattr(module, "XACRO_ARGS", {}))}
            return path, {}
    raise FormatError(f"robot_descriptions says no file of {name!r} in URDF or MJCF")
