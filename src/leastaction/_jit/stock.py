"""Entry points compiled by stock Numba: its own disk cache, in a folder of the package, and compilation messages."""

import contextlib
import hashlib
import os
import shutil
import time
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from .folders import KEEP_SECONDS, stock_directory
from .messages import report_compilation, subject

__all__ = ["entry_dispatcher"]

_ROOM = 300e6
"""Free space [bytes] below which nothing is cached: a full disk would abort a call. All kernels take 230 MB."""

_NAMES: dict[Any, str] = {}
"""The entry points, with their names in messages."""


def entry_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Dispatcher of a function that Python calls, cached on disk where possible."""
    njit: Any = numba.njit
    compiled = njit(**({"no_cfunc_wrapper": True} | options))(function)
    if not _NAMES:
        event.register("numba:compile", _Teller())
    _NAMES[compiled] = subject(function)
    folder = _folder()
    if folder is not None:
        chosen, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            compiled.enable_caching()
        except (OSError, RuntimeError):  # a function without a file, or a folder that is not writable
            pass
        finally:
            numba.config.CACHE_DIR = chosen  # pyright: ignore[reportAttributeAccessIssue]
    return compiled


@cache
def _folder() -> Path | None:
    """Cache folder for exactly these sources, since Numba compares only the file of an entry point.

    None where there is no space. Folders that no process has used for 30 days are removed.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        about = file.stat()
        digest.update(f"{file.relative_to(package)} {about.st_size} {about.st_mtime_ns}\n".encode())
    root = stock_directory()
    folder = root / digest.hexdigest()[:24]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if shutil.disk_usage(folder).free < _ROOM:
            return None
    except OSError:
        return None
    for other in root.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - other.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    return folder


class _Teller(event.Listener):
    """Reports the compilations of entry points."""

    def __init__(self) -> None:
        self._began: list[float] = []

    def on_start(self, event: Any) -> None:
        if (name := _NAMES.get(event.data["dispatcher"])) is not None:
            self._began.append(time.perf_counter())
            report_compilation(name)

    def on_end(self, event: Any) -> None:
        if (name := _NAMES.get(event.data["dispatcher"])) is not None:
            fate = "not cached" if _folder() is None else "cached for next time"
            report_compilation(name, time.perf_counter() - self._began.pop(), fate)
