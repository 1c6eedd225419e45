"""A lock by which one process compiles a kernel while others wait for it, as pools of processes start at once."""

import contextlib
import errno
import os
import time
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

__all__ = ["CompileLock"]

_PAUSE = 0.05
"""Interval at which waiting processes try the lock [s]."""

_LIMIT = 300.0
"""Seconds after which a process compiles for itself, as the other one may have been stopped."""


class CompileLock:
    """Lock on the creation of a file. The operating system releases it when its process ends."""

    def __init__(self, file: Path) -> None:
        self._file = file.with_name(f"{file.name}.lock")
        self._opened: int | None = None

    def take(self) -> bool:
        """Try to acquire the lock; returns success. Where files cannot be locked, it always succeeds."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            opened = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return True
        try:
            _lock(opened)
        except OSError as error:
            os.close(opened)
            return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
        self._opened = opened
        return True

    def wait(self) -> None:
        """Wait until the lock is acquired, for at most _LIMIT seconds."""
        end = time.monotonic() + _LIMIT
        while not self.take() and time.monotonic() < end:
            time.sleep(_PAUSE)

    def release(self) -> None:
        """Release the lock; waiting processes then look for the file themselves."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(OSError):  # Windows keeps files that others have open
                self._file.unlink()
            os.close(opened)


def _lock(opened: int) -> Any:
    """Lock an open file for this process; OSError if another process holds the lock."""
    if fcntl is None:
        return msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)  # pyright: ignore
    return fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
