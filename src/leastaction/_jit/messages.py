"""What is said while a kernel compiles."""

import contextlib
import os
import sys
from collections.abc import Callable
from threading import Timer
from typing import TextIO

__all__ = ["LISTENERS", "PATIENCE", "tell"]

LISTENERS: list[Callable[[str, float | None], None]] = []
"""Called with (name of an entry point, None) before it is compiled, and with the seconds it took after; while there
are any, nothing is printed."""

PATIENCE = 2.0
"""Seconds after which a log is told of a kernel that still compiles: whoever looks at it may think that all hangs."""

_waiting: dict[str, Timer] = {}


def tell(name: str, seconds: float | None = None, fate: str = "") -> None:
    """Say that an entry point is being compiled (without `seconds`) or was compiled: to listeners, else on stderr."""
    if (timer := _waiting.pop(name, None)) is not None:
        timer.cancel()
    for listener in LISTENERS:
        listener(name, seconds)
    quiet = os.environ.get("LEASTACTION_QUIET", "0") not in ("", "0")
    if LISTENERS or quiet or sys.stderr is None:
        return
    terminal = sys.stderr.isatty()
    if seconds is not None:
        again = "\r\033[K" if terminal else ""  # in place of the line that announced it
        print(f"{again}leastaction: compiled {name} in {seconds:.1f} s ({fate})", file=sys.stderr, flush=True)
    elif terminal:
        print(f"leastaction: compiling {name}, once ...", end="", file=sys.stderr, flush=True)
    elif "ipykernel" in sys.modules:  # a notebook: somebody waits, but no line can be taken back
        _announce(name, sys.stderr)
    else:  # a log: what compiles soon has one line, the one after
        timer = _waiting[name] = Timer(PATIENCE, _announce, (name, sys.stderr))
        timer.daemon = True
        timer.start()


def _announce(name: str, stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):  # of a stream that was closed since
        print(f"leastaction: compiling {name}, once ...", file=stream, flush=True)
