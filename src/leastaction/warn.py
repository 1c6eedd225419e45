"""Warnings that point to the line of the user's own code, and those of many robots given as one."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from leastaction.errors import LeastActionWarning

_thread = threading.local()


def warn(text: str, kind: type[LeastActionWarning] = LeastActionWarning) -> None:
    """Give a `LeastActionWarning`, or a kind of it, for the nearest line that is not one of this package."""
    level, frame = 2, sys._getframe(1)
    gathered: Gathered | None = getattr(_thread, "gathered", None)
    if gathered is not None:
        gathered.add((frame.f_code.co_filename, frame.f_lineno), text, kind)
        return
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "leastaction":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)


class Gathered:
    """Warnings of the robots of a batch, which run in threads; one of each sort is given, in the user's own thread."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], list[tuple[int, str, type[LeastActionWarning]]]] = {}

    @contextmanager
    def of(self, robot: int) -> Iterator[None]:
        """Keep what is said in this thread as said of a robot."""
        before = getattr(_thread, "gathered", None), getattr(_thread, "robot", 0)
        _thread.gathered, _thread.robot = self, robot
        try:
            yield
        finally:
            _thread.gathered, _thread.robot = before

    def turn_to(self, robot: int) -> None:
        """Within `of`: what this thread says from now on is said of another robot."""
        _thread.robot = robot

    def add(self, place: tuple[str, int], text: str, kind: type[LeastActionWarning]) -> None:
        """Keep a warning that a line of this package gives."""
        self.found.setdefault(place, []).append((_thread.robot, text, kind))

    def repeat(self, robot: int, others: Iterable[int]) -> None:
        """What is said of a robot is true of others."""
        others = list(others)
        for said in self.found.values():
            own = next(((text, kind) for who, text, kind in said if who == robot), None)
            said += [] if own is None else [(other, *own) for other in others]

    def give(self) -> None:
        """Give them: the text of the first robot, and how many others it concerns."""
        for said in self.found.values():
            robot, text, kind = min(said, key=lambda one: one[0])
            others = len({who for who, _, _ in said}) - 1
            more = f" (and the like of {others} other robot{'s'[: others != 1]})" if others else ""
            warn(f"robot {robot}: {text}{more}", kind)
        self.found.clear()
