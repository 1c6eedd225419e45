"""What is said while a kernel compiles."""

import os
import sys
from collections.abc import Callable

__all__ = ["LISTENERS", "tell"]

LISTENERS: list[Callable[[str, float | None], None]] = []
"""Called with (name of an entry point, None) before it is compiled, and with the seconds it took after; while there
are any, nothing is printed."""


def tell(name: str, seconds: float | None = None, fate: str = "") -> None:
    """Say that an entry point is being compiled (without `seconds`) or was compiled: to listeners, else on stderr."""
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
        print(f"leastaction: compiling {name}, once ...", file=sys.stderr, flush=True)
