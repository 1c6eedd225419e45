"""Writing files: refused before the work if that cannot succeed, and never left half written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leastaction.errors import FormatError

__all__ = ["check_output", "writing"]


def check_output(path: Any, suffixes: Sequence[str] = ()) -> Path:
    """`path` as a Path; `FormatError` if no file can be written there.

    Args:
        path: of the file to write.
        suffixes: those allowed, such as `(".png", ".pdf")`; none: all are.
    """
    try:
        path = Path(path)
    except TypeError:
        raise FormatError(f"expected the path of a file to write, got {path!r}") from None
    if suffixes and path.suffix.lower() not in suffixes:
        got = f"got {path.suffix!r}" if path.suffix else "it has none"
        raise FormatError(f"unknown extension; expected {' or '.join(suffixes)}, {got}", file=path)
    if path.is_dir():
        raise FormatError("this is a folder; name a file to write", file=path)
    if not path.parent.is_dir():
        raise FormatError(f"the folder {str(path.parent)!r} does not exist", file=path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise FormatError("no permission to write here", file=path)
    return path


@contextmanager
def writing(path: Any, suffixes: Sequence[str] = ()) -> Iterator[Path]:
    """A path to write to in place of `path`, which it replaces when all went well; otherwise nothing is left."""
    path = check_output(path, suffixes)
    # The suffix stays last: writers choose the format by it.
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise FormatError(f"cannot write: {error.strerror or error}", file=path) from None
    finally:
        part.unlink(missing_ok=True)
