"""Warnings that point to the line of the user's own code."""

from __future__ import annotations

import sys
import warnings

from leastaction.errors import LeastActionWarning


def warn(text: str, kind: type[LeastActionWarning] = LeastActionWarning) -> None:
    """Give a `LeastActionWarning`, or a kind of it, for the nearest line that is not one of this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "leastaction":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)
