"""Where what takes long to make is kept on disk, compiled code above all, and for how long."""

import contextlib
import os
import sys
import time
from functools import cache
from pathlib import Path

__all__ = [
    "KEEP_SECONDS",
    "cache_directory",
    "data_directory",
    "functions_directory",
    "mark_used",
    "remove_unused",
    "stock_directory",
]

KEEP_SECONDS = 30 * 24 * 3600.0
"""What no process has used for so long is removed."""


def cache_directory() -> Path:
    """The directory that holds compiled kernels; it may not exist."""
    return _cache_root() / "kernels"


def functions_directory() -> Path:
    """The directory that holds the functions that kernels call (`hooks.function_cache`); it may not exist."""
    return _cache_root() / "parts"


def stock_directory() -> Path:
    """The directory of the kernels that stock Numba keeps; it may not exist."""
    return _cache_root() / "stock"


def data_directory() -> Path:
    """The directory of what is made of the files of models (`_disk_cache`); it may not exist."""
    return _cache_root() / "data"


def _cache_root() -> Path:
    """The directory of all that the package keeps for a user."""
    if chosen := os.environ.get("LEASTACTION_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "leastaction"


def mark_used(file: Path) -> None:
    """Set the file's time to now: the age that `remove_unused` looks at."""
    with contextlib.suppress(OSError):  # a read-only cache still serves
        os.utime(file)


@cache
def remove_unused(directory: Path) -> None:
    """Remove what no process has used for 30 days; looks once a process."""
    for file in (*directory.glob("*.nbc*"), *directory.glob("*.part*"), *directory.glob("*.data*")):
        with contextlib.suppress(OSError):  # another process may have been faster
            if time.time() - file.stat().st_mtime > KEEP_SECONDS:
                file.unlink()
