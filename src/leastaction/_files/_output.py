"""Writing files: refused before the work if that cannot succeed, and never left half written."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leastaction.errors import FormatError

__all__ = ["check_output", "writing"]

_PART = re.compile(r"\.leastaction-([0-9a-f]{8})-(\d+)-([0-9a-f]{16})\.part")
"""Names of unfinished files: the machine, the process and a number of their own; a suffix follows."""

_OPEN: set[str] = set()
"""Numbers of the files that threads of this process are writing."""

_ABANDONED = 24 * 3600.0
"""Age [s] at which an unfinished file counts as left behind where its process cannot be asked for."""


def check_output(path: Any, suffixes: Sequence[str] = ()) -> Path:
    """`path` as a Path; `FormatError` if no file can be written there. Its folder must exist: none is made.

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
    try:
        if "\0" in str(path):
            raise ValueError("a path cannot hold the character NUL")
        if path.is_dir():
            raise FormatError("this is a folder; name a file to write", file=path)
        if not path.parent.is_dir():
            raise FormatError(f"the folder {str(path.parent)!r} does not exist", file=path)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise FormatError("no permission to write here", file=path)
    except (OSError, ValueError) as error:  # too long, or with characters that no file system has
        raise FormatError(f"cannot write: {getattr(error, 'strerror', None) or error}", file=path) from None
    return path


@contextmanager
def writing(path: Any, suffixes: Sequence[str] = ()) -> Iterator[Path]:
    """A path to write to in place of `path`, which it replaces when all went well; otherwise nothing is left.

    Every call has a file of its own, so threads and processes that write to one path do not meet: the last one that
    finishes stays. What processes that were killed left in this folder is removed.
    """
    path = check_output(path, suffixes)
    number = secrets.token_hex(8)
    # The suffix stays last: writers choose the format by it.
    part = path.with_name(f".leastaction-{_machine()}-{os.getpid()}-{number}.part{path.suffix}")
    _OPEN.add(number)
    try:
        _remove_abandoned(path.parent)
        yield part
        part.replace(path)
    except OSError as error:
        raise FormatError(f"cannot write: {error.strerror or error}", file=path) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        _OPEN.discard(number)


def _machine() -> str:
    """A mark of this machine: other machines may write to the same folder, and their processes are not ours."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of processes that are no more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _PART.match(entry.name)
            if found is None:
                continue
            with contextlib.suppress(OSError):  # another process may have been faster
                if _is_abandoned(found[1], int(found[2]), found[3], entry.stat().st_mtime):
                    os.unlink(entry.path)


def _is_abandoned(machine: str, process: int, number: str, written: float) -> bool:
    if machine == _machine() and process == os.getpid():
        return number not in _OPEN  # an earlier process had our number
    # Windows ends a process that is sent signal 0, so its age decides there.
    if machine != _machine() or sys.platform == "win32":
        return time.time() - written > _ABANDONED
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # it runs, as another user's
    return False
