"""Directories of the disk caches, above all of compiled code, and removal of unused files."""

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
"""Files that no process has used for this time are removed."""


def cache_directory() -> Path:
    """Directory of compiled kernels; it may not exist."""
    return _cache_root() / "kernels"


def functions_directory() -> Path:
    """Directory of the functions that kernels call (`hooks.function_cache`); it may not exist."""
    return _cache_root() / "parts"


def stock_directory() -> Path:
    """Directory of the kernels that stock Numba caches; it may not exist."""
    return _cache_root() / "stock"


def data_directory() -> Path:
    """Directory of data derived from model files (`_disk_cache`); it may not exist."""
    return _cache_root() / "data"


def _cache_root() -> Path:
    """Directory of all caches of the package for a user."""
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
    """Set the file's time to now, from which `remove_unused` computes its age."""
    with contextlib.suppress(OSError):  # a read-only cache still works
        os.utime(file)


@cache
def remove_unused(directory: Path) -> None:
    """Remove files that no process has used for 30 days; runs once per process."""
    for file in (*directory.glob("*.nbc*"), *directory.glob("*.part*"), *directory.glob("*.data*")):
        with contextlib.suppress(OSError):  # another process may have removed it
            if time.time() - file.stat().st_mtime > KEEP_SECONDS:
                file.unlink()
