"""NumPy archives from anywhere: plain numbers and text only, sizes bounded before anything is allocated."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["FORMAT", "MAX_BYTES", "UNREADABLE", "check_format", "read_archive"]

MAX_BYTES = 2**30
"""What the arrays of a file may take by default [bytes]; larger files may take `MAX_RATIO` times their own size."""
MAX_RATIO = 20
MAX_ARRAYS = 1000

FORMAT = 1
"""Version of the files of runs and solutions. It grows when earlier releases could not read what is written; files of
0.1.0.dev0 have no number, which is read as 0."""

UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy, zip and JSON raise for files that are damaged, or of another kind."""


def check_format(about: Any) -> None:
    """Refuse a file of a later format than this release knows.

    Args:
        about: what the file says of itself, with its "format".

    Raises:
        ValueError: where it is later, or no version.
    """
    version = about.get("format", 0)
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise ValueError(f"format: expected the number of a version, got {version!r:.40}")
    if version > FORMAT:
        raise ValueError(f"its format is {version}, and this release reads up to {FORMAT}; install a newer one")


def read_archive(path: Path, max_bytes: int | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of a `.npz` file by name; runs no code from it.

    Args:
        path: of the file.
        max_bytes: what all arrays together may take; default `MAX_BYTES`, or `MAX_RATIO` times the size of the file.

    Raises:
        ValueError, or another of `UNREADABLE`: where anything is wrong with the file.
    """
    limit = max(MAX_BYTES, MAX_RATIO * path.stat().st_size) if max_bytes is None else max_bytes
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        names = [info.filename for info in members]
        if len(members) > MAX_ARRAYS or len(set(names)) < len(names):
            raise ValueError("too many arrays, or two of one name")
        if sum(info.file_size for info in members) > limit:
            raise ValueError(f"its arrays take more than {limit} bytes; raise the limit with max_bytes=...")
        return {info.filename.removesuffix(".npy"): _array(archive, info) for info in members}


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """One array. Its claimed shape must fit the size of its member, which bounds what is read."""
    # Of other methods a few bytes can unpack to any number, all at once.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{info.filename}: packed by another method than NumPy's")
    with archive.open(info) as file:
        shape, fortran, dtype = _header(file, info.filename)
        if dtype.kind not in "fiubU" or dtype.itemsize == 0 or dtype.subdtype is not None:
            raise ValueError(f"{info.filename}: expected numbers or text, got {dtype}")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or file.tell() + size != info.file_size:
            raise ValueError(f"{info.filename}: says shape {shape} of {dtype}, which does not fit its size")
        data = np.frombuffer(bytearray(file.read(size)), dtype)
    values = data.reshape(shape, order="F" if fortran else "C")
    return np.ascontiguousarray(values).reshape(shape)


def _header(file: Any, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and kind of numbers of an array, as NumPy writes them before it."""
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            return npy.read_array_header_1_0(file)
        if version == (2, 0):
            return npy.read_array_header_2_0(file)
    # It is a line of Python, and what reads it raises whatever the parser and NumPy's own repairs of it do.
    except Exception as error:
        raise ValueError(f"{name}: not an array of NumPy's ({type(error).__name__})") from None
    raise ValueError(f"{name}: unknown version {version} of NumPy's format")
