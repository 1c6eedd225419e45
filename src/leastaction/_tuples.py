"""Named tuples on their way into kernels."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """A named tuple, and those in it, as plain tuples: Numba takes them from Python several times faster.

    Entry points give them their names back, which costs nothing.
    """
    return tuple(map(plain, value)) if isinstance(value, tuple) else value
