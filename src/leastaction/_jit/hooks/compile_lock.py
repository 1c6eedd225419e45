"""One process compiles a kernel, others that want the same one wait for it: all begin at once in pools of processes."""

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
"""Seconds between two looks at whether the other process has finished."""

_LIMIT = 300.0
"""Seconds after which a process compiles for itself: the other one may have been stopped."""


class CompileLock:
    """The lock of whoever makes a file. The system releases it with its process, so that none is left behind."""

    def __init__(self, file: Path) -> None:
        self._file = file.with_name(f"{file.name}.lock")
        self._opened: int | None = None

    def take(self) -> bool:
        """Whether it is ours now. Where files cannot be locked, it always is."""
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
        """Until it is ours, or for as long as another process may take."""
        end = time.monotonic() + _LIMIT
        while not self.take() and time.monotonic() < end:
            time.sleep(_PAUSE)

    def release(self) -> None:
        """Release it; those who wait see to it that they read what was made."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(OSError):  # Windows keeps what others have open
                self._file.unlink()
            os.close(opened)


def _lock(opened: int) -> Any:
    """Take a lock of this process on an open file; OSError if another process has it."""
    if fcntl is None:
        return msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)  # pyright: ignore
    return fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
