"""Which files a model may name, and what a reader says about what it omitted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leastaction.errors import FormatError
from leastaction.formats._xml import Element, read_bytes
from leastaction.warn import warn

MODEL_FILES = {
    *(".xml", ".mjcf", ".urdf", ".sdf", ".xacro"),
    *(".stl", ".obj", ".dae", ".ply", ".gltf", ".glb", ".msh", ".png"),
}
"""Endings of the files of models: others are not opened because a model says so."""


def checked_options(path: Any, max_bytes: Any, **flags: Any) -> Path:
    """The path of a file to read; `FormatError` where it is none, or where an option is not of its kind."""
    try:
        path = Path(path)
        if "\0" in str(path):
            raise TypeError
    except TypeError:
        raise FormatError(f"expected the path of a file, got {path!r}") from None
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise FormatError(f"{name} must be True or False, got {value!r}", file=path)
    if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or not 0 < max_bytes < 2**62:
        raise FormatError(f"max_bytes must be a number of bytes, got {max_bytes!r:.80}", file=path)
    return path


@dataclass(frozen=True)
class Folder:
    """Files that a model may name: those in its folder, and models, meshes and pictures at a place relative to it.

    Attributes:
        path: the model's folder, resolved.
        allow_outside: whether absolute paths and files of other kinds elsewhere may be read.
        max_bytes: limit of the size of each file.
        packages: folders in which packages are looked for, beside those above the model.
    """

    path: Path
    allow_outside: bool
    max_bytes: int
    packages: tuple[Path, ...] = ()

    @classmethod
    def of(cls, model: Path, allow_outside: bool, max_bytes: int, packages: Sequence[Path] = ()) -> Folder:
        """The folder that holds the file `model`."""
        return cls(model.resolve().parent, allow_outside, max_bytes, tuple(packages))

    def find(self, name: str, element: Element) -> Path | None:
        """The file that `element` names relative to the folder; None where there is none.

        Links are followed before the place and the ending are judged.
        """
        name = name.replace("\\", "/")
        return self._allowed(self.path / name, name, element, relative=not Path(name).is_absolute())

    def find_beside(self, name: str, element: Element) -> Path | None:
        """The file that `element` names relative to the file in which it stands; None where there is none."""
        name = name.replace("\\", "/")
        if element.file is None or Path(name).is_absolute():
            return None
        return self._allowed(Path(element.file).parent / name, name, element, relative=True)

    def _allowed(self, path: Path, name: str, element: Element, *, relative: bool) -> Path | None:
        try:
            path = path.resolve()
            followed = relative and path.suffix.lower() in MODEL_FILES
            if not (self.allow_outside or followed or path.is_relative_to(self.path)):
                why = "is no model, mesh or picture" if relative else "is absolute"
                raise element.error(
                    f"file {name!r} lies outside the model's folder {str(self.path)!r} and {why}; "
                    "pass allow_outside=True if you trust the model"
                )
            return path if path.is_file() else None
        except (OSError, ValueError, RuntimeError) as error:
            raise element.error(f"file {name!r} cannot be looked up: {error}") from None

    @property
    def listed(self) -> tuple[Path, ...]:
        """The folders `packages`, and those of the environment variable ROS_PACKAGE_PATH."""
        return (*self.packages, *(Path(x) for x in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if x))

    def package(self, name: str, element: Element) -> Path | None:
        """The file that `package://<package>/<rest>` means.

        A package is looked for in, and as, the model's folder and each folder above it; in the folders `packages` and
        those of the environment variable ROS_PACKAGE_PATH.
        """
        package, _, rest = name.partition("/")
        for folder in (self.path, *self.path.parents, *self.listed):
            found = self._allowed(folder / package / rest, name, element, relative=True)
            if found is None and (folder.name == package or folder == self.path):
                found = self._allowed(folder / rest, name, element, relative=True)
            if found is not None:
                return found
        return None

    def read(self, path: Path) -> bytes:
        """The contents of a file, within the size limit."""
        return read_bytes(path, self.max_bytes)


def with_article(noun: str) -> str:
    """A noun after its article: "an actuator", "a spring"."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


@dataclass
class Notes:
    """What a reader or writer omitted, reported in one warning."""

    file: Path
    items: dict[str, dict[str, None]] = field(default_factory=dict)  # dicts as ordered sets

    def add(self, what: str, name: str) -> None:
        """Note that `name` was omitted, for the reason or of the kind `what`."""
        self.items.setdefault(what, {})[name] = None

    def left_out(self, what: str, name: str) -> None:
        """Note that `name` was omitted, one of what `what` names in the singular."""
        if what.endswith("y"):
            self.add(f"{what[:-1]}ies", name)
        else:
            self.add(f"{what}es" if what.endswith("ch") else f"{what}s", name)

    def warn(self) -> None:
        """Warn once about all that was noted."""
        if not self.items:
            return
        parts = []
        for what, names in self.items.items():
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            parts.append(f"{what}: {', '.join(list(names)[:4])}{more}")
        warn(f"{self.file}: omitted: {'; '.join(parts)}")
