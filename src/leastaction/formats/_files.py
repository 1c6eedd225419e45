"""Which files a model may name, and what a reader says about what it left out."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from leastaction.formats._xml import Element, read_bytes

_PACKAGE = str(Path(__file__).parent.parent)


@dataclass(frozen=True)
class Folder:
    """Files next to a model: those in its own folder, unless the caller allows others.

    Attributes:
        path: the model's folder, resolved.
        allow_outside: whether files elsewhere may be read.
        max_bytes: limit of the size of each file.
    """

    path: Path
    allow_outside: bool
    max_bytes: int

    @classmethod
    def of(cls, model: Path, allow_outside: bool, max_bytes: int) -> Folder:
        """The folder that holds the file `model`."""
        return cls(model.resolve().parent, allow_outside, max_bytes)

    def find(self, name: str, element: Element) -> Path | None:
        """The file that `element` names relative to the folder; None where there is none.

        Links are followed before the place is judged, so that none leads out of the folder.
        """
        try:
            path = (self.path / name.replace("\\", "/")).resolve()
            if not (self.allow_outside or path.is_relative_to(self.path)):
                raise element.error(
                    f"file {name!r} lies outside the model's folder {str(self.path)!r}; "
                    "pass allow_outside=True if you trust the model"
                )
            return path if path.is_file() else None
        except (OSError, ValueError, RuntimeError) as error:
            raise element.error(f"file {name!r} cannot be looked up: {error}") from None

    def package(self, name: str, element: Element) -> Path | None:
        """The file that `package://<package>/<rest>` means.

        A package is looked for in the model's folder, or is that folder; with `allow_outside` also in, or as,
        each folder above it.
        """
        package, _, rest = name.partition("/")
        above = [self.path, *self.path.parents] if self.allow_outside else [self.path]
        for folder in above:
            found = self.find(str(folder / package / rest), element)
            if found is None and (folder.name == package or folder == self.path):
                found = self.find(str(folder / rest), element)
            if found is not None:
                return found
        return None

    def read(self, path: Path) -> bytes:
        """The contents of a file, within the size limit."""
        return read_bytes(path, self.max_bytes)


@dataclass
class Notes:
    """What a reader or writer left out, told in one warning."""

    file: Path
    items: dict[str, dict[str, None]] = field(default_factory=dict)  # dicts as ordered sets

    def add(self, what: str, name: str) -> None:
        """Note that `name` was left out, for the reason or of the kind `what`."""
        self.items.setdefault(what, {})[name] = None

    def warn(self) -> None:
        """Warn once about all that was noted, at the caller's line outside the package."""
        if not self.items:
            return
        parts = []
        for what, names in self.items.items():
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            parts.append(f"{what}: {', '.join(list(names)[:4])}{more}")
        level, frame = 1, sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            level, frame = level + 1, frame.f_back
        warnings.warn(f"{self.file}: left out: {'; '.join(parts)}", stacklevel=level)
