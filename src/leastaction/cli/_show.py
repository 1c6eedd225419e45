"""What verbs share to show their work: consoles, JSON, and the kernels that are being compiled."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def console(stderr: bool = False) -> Any:
    """A rich console that takes [kg] for a unit, not for markup."""
    from rich.console import Console

    screen = Console(markup=False, highlight=False, stderr=stderr)
    # A file or a pipe has no width: cut nothing off.
    return screen if screen.is_terminal else Console(markup=False, highlight=False, stderr=stderr, width=400)


def print_json(value: Any) -> None:
    """JSON on stdout; NaN and infinity, which JSON does not have, become null."""
    typer.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    import math

    import numpy as np

    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass
class Clock:
    """Seconds spent on compiling since it was made."""

    compiling: float = 0.0


@contextmanager
def compiling(bar: Any = None) -> Iterator[Clock]:
    """Name each kernel on stderr while it is being compiled, which happens once; reports how long that took.

    Args:
        bar: a rich progress bar that is on the screen already; a second one would draw over it.
    """
    from leastaction._jit import LISTENERS

    screen, clock = console(stderr=True) if bar is None else bar.console, Clock()
    status: Any = None
    tasks: list[Any] = []

    def listen(name: str, seconds: float | None) -> None:
        nonlocal status
        text = f"compiling {name}, {clock.compiling:.0f} s so far (the first use only)"
        if seconds is not None:
            clock.compiling += seconds
            if status is not None:
                status.stop()
            while tasks and bar is not None:
                bar.remove_task(tasks.pop())
        elif bar is not None:
            tasks.append(bar.add_task(text, total=None))
        elif screen.is_terminal:
            status = screen.status(text)
            status.start()

    LISTENERS.append(listen)
    try:
        yield clock
    finally:
        LISTENERS.remove(listen)
        if status is not None:
            status.stop()
        if clock.compiling:
            screen.print(f"compiled in {clock.compiling:.1f} s, kept for next time", style="dim")


def progress(show: bool) -> Any:
    """A rich progress bar on stderr, gone when the work is done; invisible where there is no terminal."""
    from rich.progress import Progress

    screen = console(stderr=True)
    return Progress(console=screen, transient=True, disable=not (show and screen.is_terminal))


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """A list that holds the seconds spent inside, once left."""
    spent: list[float] = []
    began = time.perf_counter()
    yield spent
    spent.append(time.perf_counter() - began)
