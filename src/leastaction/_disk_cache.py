"""What takes long to make of the contents of files, and of nothing else: kept on disk for other processes.

Each entry is a file, named after a hash of all that decides about it, that begins with a hash of the rest. It is put in
its place in one move, so that processes never read half of it; one that is damaged is made anew, and where the disk is
full, or nobody may write to it, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._files._archive import UNREADABLE
from leastaction._files._output import writing
from leastaction._jit.folders import data_directory, mark_used, remove_unused
from leastaction.errors import FormatError

MOST = 2**26
"""Entries that take more are not kept [bytes]."""

_DIGEST = 32


def key_of(*parts: bytes | memoryview) -> str:
    """The hash of some byte strings, each with its length."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        digest.update(memoryview(part).nbytes.to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def read(kind: str, key: str) -> bytes | None:
    """An entry; None where there is none, or it is damaged."""
    path = _place(kind, key)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if data[:_DIGEST] != _digest(data[_DIGEST:]):
        return None
    mark_used(path)
    return data[_DIGEST:]


def write(kind: str, key: str, data: bytes) -> None:
    """Keep an entry, if there is room for it."""
    path = _place(kind, key)
    if len(data) <= MOST:
        with contextlib.suppress(OSError, FormatError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with writing(path) as part:
                part.write_bytes(_digest(data) + data)
            remove_unused(path.parent)


def cached_arrays(kind: str, key: str, make: Callable[[], Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """The arrays of an entry; what `make` gives, which is then kept, where there is none."""
    data = read(kind, key)
    if data is not None:
        with contextlib.suppress(*UNREADABLE):  # of a release that kept something else under this name
            return _unpacked(data)
    arrays = [np.asarray(x) for x in make()]
    stream = io.BytesIO()
    for x in arrays:
        np.lib.format.write_array(stream, x, allow_pickle=False)
    write(kind, key, stream.getvalue())
    return arrays


def _unpacked(data: bytes) -> list[NDArray[Any]]:
    stream, arrays = io.BytesIO(data), []
    while stream.tell() < len(data):
        arrays.append(np.lib.format.read_array(stream, allow_pickle=False))
    return arrays


def _place(kind: str, key: str) -> Path:
    return data_directory() / f"{kind}-{key}.data"


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
