"""What is said while a kernel compiles."""

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
"""Called with (what a kernel is for, None) before it is compiled, and with the seconds it took after; while there are
any, nothing is printed."""

PATIENCE = 2.0
"""Seconds after which a log hears of a kernel that still compiles: whoever looks at it may think that all hangs."""

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
"""What users know of packages that have kernels."""

_waiting: dict[str, threading.Timer] = {}
_soon: dict[tuple[str, str], float] = {}
"""What logs were not told yet: seconds by what kernels are for, and by what became of them."""

_spent = 0.0


def subject(function: Any) -> str:
    """What a kernel is for, in words that users know: that of its package, else the name of the function."""
    words = function.__module__.split(".")[1:]
    names = (".".join(words[:k]) for k in range(len(words), 0, -1))
    found = next((_SUBJECTS[name] for name in names if name in _SUBJECTS), function.__name__)
    return f"{found} with contact" if found == "Maximal" and "contact" in function.__name__ else found


def report_compilation(name: str, seconds: float | None = None, fate: str = "") -> None:
    """Say that a kernel is being compiled (without `seconds`) or was compiled: to listeners, else on stderr.

    In a terminal that is one line, with the seconds that all kernels took so far; it goes when all is done. A log has
    a line for each kernel that takes longer than `PATIENCE`, and one for all others when the process ends.
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
        _spent += 0.0 if _line.kernels else seconds  # it is part of the time of another one
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
    elif "ipykernel" in sys.modules:  # a notebook: somebody waits, but no line can be taken back
        _announce(name, sys.stderr)
    else:  # a log: what compiles soon has one line, the one after
        timer = _waiting[name] = threading.Timer(PATIENCE, _announce, (name, sys.stderr))
        timer.daemon = True
        timer.start()


def _sum_up() -> None:
    """Tell a log of all kernels that were compiled soon."""
    for fate in dict.fromkeys(fate for _, fate in _soon):
        own = {name: seconds for (name, other), seconds in _soon.items() if other == fate}
        with contextlib.suppress(OSError, ValueError, AttributeError):  # of a stream that was closed, or is none
            text = f"leastaction: compiled {', '.join(own)} in {sum(own.values()):.1f} s ({fate})"
            print(text, file=sys.stderr, flush=True)
    _soon.clear()


def report_failure(name: str) -> None:
    """Say no more of a kernel that could not be compiled."""
    if (timer := _waiting.pop(name, None)) is not None:
        timer.cancel()
    if any(kernel[0] == name for kernel in _line.kernels):
        _line.kernels[:] = [kernel for kernel in _line.kernels if kernel[0] != name]
        if sys.stderr is not None and sys.stderr.isatty():
            _line.draw(sys.stderr)


def _announce(name: str, stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):  # of a stream that was closed since
        print(f"leastaction: compiling {name}, once ...", file=stream, flush=True)


class _Line:
    """The line in a terminal: drawn again every second while kernels compile."""

    def __init__(self) -> None:
        self.kernels: list[tuple[str, float]] = []  # that are being compiled, and since when
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
