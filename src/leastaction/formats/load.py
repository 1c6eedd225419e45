"""`load`, `load_string`: a robot from a file or a text, whatever its format."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from leastaction.errors import FormatError
from leastaction.formats._files import checked_options
from leastaction.formats._places import described, is_description, model_in
from leastaction.formats._xml import MAX_BYTES, in_place_of, read_xml
from leastaction.formats.merge import merge_fixed_bodies
from leastaction.formats.mjcf.mjcf_reader import load_mjcf
from leastaction.formats.sdf.sdf_reader import load_sdf
from leastaction.formats.urdf.urdf_reader import load_urdf
from leastaction.formats.usd._usd_stage import SUFFIXES as _USD_SUFFIXES
from leastaction.formats.usd._usd_stage import layer_of_text
from leastaction.formats.usd.usd_reader import load_usd, read_layer
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import suggestion

_READERS = {"robot": load_urdf, "mujoco": load_mjcf, "sdf": load_sdf}
_XML_SUFFIXES = (".urdf", ".xml", ".mjcf", ".sdf", ".world", ".xacro")
_DECLARED = re.compile(r"""(^\s*<\?xml[^>]*?)\sencoding\s*=\s*["'][^"']*["']""")
_OTHERS = {"redmax": "a DiffRedMax scene", "COLLADA": "a mesh"}


def load(path: str | PathLike[str], **options: Any) -> Mechanism:
    """Read a robot from a URDF, MJCF, SDF or USD file; the root element of an XML file decides which it is.

    Args:
        path: of the file; `.urdf`, `.sdf`, or `.xml` with the root element `<robot>` (URDF), `<mujoco>` (MJCF) or
            `<sdf>`; `.usd`, `.usda`, `.usdc` or `.usdz` (`pip install "leastaction[usd]"`). Of a folder its `scene.xml`
            is read, or the only model in it. A name such as "go2_description" is that of a robot in the package
            robot_descriptions (`pip install "leastaction[descriptions]"`), which fetches it when it is asked for first.
        **options: those of `load_urdf`, `load_mjcf`, `load_sdf` or `load_usd`; strict, merge_fixed, allow_outside and
            max_bytes suit all.

    Raises:
        FormatError: the file cannot be read; names the file, the line and the element, or the path of the prim.
    """
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise FormatError(f"load needs the path of a file, got the text {path.lstrip()[:40]!r}...: see load_string")
    if isinstance(path, str) and not path.strip():
        raise FormatError(f"load needs the path of a file, got {path!r}")
    try:
        path = Path(path)
    except TypeError:
        raise FormatError(f"load needs the path of a file, got {path!r}") from None
    checked_options(path, options.get("max_bytes", MAX_BYTES))
    if path.suffix.lower() in _USD_SUFFIXES:
        return load_usd(path, **_known(load_usd, options, path))
    if path.is_dir() and path.suffix.lower() not in _XML_SUFFIXES:
        path = model_in(path)
    elif is_description(str(path)) and not path.exists():
        path, own = described(str(path))
        options = own | options
    if path.suffix.lower() not in _XML_SUFFIXES:
        wanted = "expected .urdf, .sdf, .usd, or .xml for MJCF"
        if path.suffix.lower() == ".npz":
            wanted = "Trajectory.load reads runs, optimize.load solutions"
        raise FormatError(f"unknown extension {path.suffix!r}; {wanted}", file=path)
    return _read(path, options)


def load_string(text: str, *, folder: str | PathLike[str] = ".", **options: Any) -> Mechanism:
    """Read a robot from a text in URDF, MJCF or SDF, which its root element decides, or in USDA.

    Args:
        text: the document.
        folder: in which the meshes and other files lie that it names, as if it were the text of a file there.
        **options: as in `load`.

    Raises:
        FormatError: the text cannot be read; names the line and the element, and the text as the file "<string>".

    Examples:
        >>> robot = la.load_string('<robot name="stone"><link name="stone"/></robot>')
        >>> robot.name
        'stone'
    """
    if not isinstance(text, str):
        raise FormatError(f"load_string needs a text, got {type(text).__name__}")
    if "\n" not in text and Path(text).suffix.lower() in (*_XML_SUFFIXES, *_USD_SUFFIXES):
        raise FormatError(f"load_string needs the text of a file, got what looks like a path: load({text!r}) reads it")
    try:
        place = Path(folder)
    except TypeError:
        raise FormatError(f"folder: expected the path of a folder, got {folder!r}") from None
    if not place.is_dir():
        raise FormatError(f"folder: there is no folder {str(folder)!r}")
    path = place / "<string>"
    checked_options(path, options.get("max_bytes", MAX_BYTES))
    if text.lstrip().startswith("#usda"):
        known = _known(load_usd, options, path)
        robot = read_layer(layer_of_text(text), path, known.get("strict", False), known.get("meshes", True))
        return merge_fixed_bodies(robot) if known.get("merge_fixed", False) else robot
    # A declaration of another encoding was true of the file that the text came from; expat heeds it.
    with in_place_of(path, _DECLARED.sub(r"\1", text.lstrip("\ufeff"), count=1).encode("utf-8", "replace")):
        return _read(path, options)


def _read(path: Path, options: dict[str, Any]) -> Mechanism:
    """A robot, by the reader that the root element calls for."""
    root = read_xml(path, options.get("max_bytes", MAX_BYTES))
    if root.tag not in _READERS:
        what = _OTHERS.get(root.tag, "an unknown format")
        wanted = "expected URDF (<robot>), MJCF (<mujoco>) or SDF (<sdf>)"
        raise root.error(f"this is {what} (root element <{root.tag}>); {wanted}")
    reader = _READERS[root.tag]
    return reader(path, **_known(reader, options, path))


def _known(reader: Callable[..., Mechanism], options: dict[str, Any], path: Path) -> dict[str, Any]:
    """Options, all of which the reader has."""
    known = list(inspect.signature(reader).parameters)[1:]
    for option in options:
        if option not in known:
            hint = suggestion(option, known) or f"; it has {', '.join(known)}"
            raise FormatError(f"{reader.__name__} has no option {option!r}{hint}", file=path)
    return options
