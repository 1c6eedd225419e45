"""Messages while kernels compile."""

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

__all__ = ["LISTENERS", "PATIENCE", "report_compilation", "report_failure", "subject"]

LISTENERS: list[Callable[[str, float | None], None]] = []
"""Called with (subject of a kernel, None) before it is compiled, and with the seconds it took after; while there are
listeners, nothing is printed."""

PATIENCE = 2.0
"""Seconds after which a log mentions a kernel that still compiles, so that the program does not seem to hang."""

_SUBJECTS = {
    "collocation": "HermiteSimpson",
    "contact": "contact",
    "dynamics": "dynamics",
    "explicit": "explicit integrators",
    "kinematics": "kinematics",
    "kinematics.reduced": "BDF and SDIRK2",
    "maximal": "Maximal",
    "maximal.derivatives": "gradients of Maximal",
    "minimal": "Galerkin",
    "minimal.contact": "Minimal",
    "minimal.contact.derivatives": "gradients of Minimal",
    "optimize": "optimisation",
    "raster": "pictures",
    "redmax": "BDF and SDIRK2",
    "redmax.adjoint": "gradients of BDF and SDIRK2",
    "redmax.linear_implicit": "ConstrainedEuler",
    "sensing": "sensors",
}
"""Names for users of the packages that have kernels."""

_waiting: dict[str, threading.Timer] = {}
_soon: dict[tuple[str, str], float] = {}
"""Seconds of short compilations not yet logged, by subject and cache status."""

_spent = 0.0


def subject(function: Any) -> str:
    """Name for users of what a kernel belongs to: that of its package, else the name of the function."""
    words = function.__module__.split(".")[1:]
    names = (".".join(words[:k]) for k in range(len(words), 0, -1))
    found = next((_SUBJECTS[name] for name in names if name in _SUBJECTS), function.__name__)
    return f"{found} with contact" if found == "Maximal" and "contact" in function.__name__ else found


def report_compilation(name: str, seconds: float | None = None, fate: str = "") -> None:
    """Report that a kernel is being compiled (without `seconds`) or was compiled: to listeners, else on stderr.

    In a terminal it is one line with the total seconds so far, which is erased at the end. A log gets a line for each
    kernel that takes longer than `PATIENCE`, and one for all others when the process ends.
    """
    global _spent
    if (timer := _waiting.pop(name, None)) is not None:
        timer.cancel()
    for listener in LISTENERS:
        listener(name, seconds)
    if seconds is None:
        _line.kernels.append((name, time.perf_counter()))
    else:
        _line.kernels[:] = [kernel for kernel in _line.kernels if kernel[0] != name]
        _spent += 0.0 if _line.kernels else seconds  # otherwise it is part of the time of another kernel
    quiet = os.environ.get("LEASTACTION_QUIET", "0") not in ("", "0")
    if LISTENERS or quiet or sys.stderr is None:
        return
    if sys.stderr.isatty():
        _line.draw(sys.stderr)
    elif seconds is not None and seconds >= PATIENCE:
        print(f"leastaction: compiled {name} in {seconds:.1f} s ({fate})", file=sys.stderr, flush=True)
    elif seconds is not None:
        if not _soon:
            atexit.register(_sum_up)
        _soon[name, fate] = _soon.get((name, fate), 0.0) + seconds
    elif "ipykernel" in sys.modules:  # a notebook: interactive, but lines cannot be erased
        _announce(name, sys.stderr)
    else:  # a log: short compilations are summed up at exit
        timer = _waiting[name] = threading.Timer(PATIENCE, _announce, (name, sys.stderr))
        timer.daemon = True
        timer.start()


def _sum_up() -> None:
    """Print one line for all short compilations."""
    for fate in dict.fromkeys(fate for _, fate in _soon):
        own = {name: seconds for (name, other), seconds in _soon.items() if other == fate}
        with contextlib.suppress(OSError, ValueError, AttributeError):  # the stream is closed or None
            text = f"leastaction: compiled {', '.join(own)} in {sum(own.values()):.1f} s ({fate})"
            print(text, file=sys.stderr, flush=True)
    _soon.clear()


def report_failure(name: str) -> None:
    """Stop reporting a kernel whose compilation failed."""
    if (timer := _waiting.pop(name, None)) is not None:
        timer.cancel()
    if any(kernel[0] == name for kernel in _line.kernels):
        _line.kernels[:] = [kernel for kernel in _line.kernels if kernel[0] != name]
        if sys.stderr is not None and sys.stderr.isatty():
            _line.draw(sys.stderr)


def _announce(name: str, stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):  # the stream is closed
        print(f"leastaction: compiling {name}, once ...", file=stream, flush=True)


class _Line:
    """The status line in a terminal, redrawn every second while kernels compile."""

    def __init__(self) -> None:
        self.kernels: list[tuple[str, float]] = []  # kernels being compiled, and start times
        self._next: threading.Timer | None = None

    def draw(self, stream: TextIO) -> None:
        if self._next is not None:
            self._next.cancel()
        text = ""
        if self.kernels:
            name, began = self.kernels[0]
            text = f"leastaction: compiling {name}, {_spent + time.perf_counter() - began:.0f} s (the first use only)"
            self._next = threading.Timer(1.0, self.draw, (stream,))
            self._next.daemon = True
            self._next.start()
        with contextlib.suppress(OSError, ValueError):
            stream.write(f"\r\033[K{text}")
            stream.flush()


_line = _Line()
