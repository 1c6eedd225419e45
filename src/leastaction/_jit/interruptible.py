"""Calls of compiled loops that Ctrl-C interrupts at once.

Python handles signals in its main thread, between two of its own instructions; a compiled loop has none. So the loop
runs in a thread of its own, without Python's lock, while the main thread waits, where signals reach it. A loop that is
left behind ends with the steps it was given, in arrays that nobody reads any more.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numba

__all__ = ["interruptible"]

LOOK = 0.2
"""How often the main thread looks for signals [s], on systems where waiting is not interrupted by them."""


def interruptible(function: Callable[..., Any], *args: Any) -> Any:
    """function(*args), which Ctrl-C interrupts even while compiled code without Python's lock runs in it.

    In other threads, which signals do not reach, and where nothing is compiled, it is called as it is.
    """
    settings: Any = numba.config
    if settings.DISABLE_JIT or threading.current_thread() is not threading.main_thread():
        return function(*args)
    results: list[Any] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def call() -> None:
        try:
            results.append(function(*args))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(call,), name="leastaction steps", daemon=True).start()
    while not ended.wait(LOOK):
        pass
    if errors:
        raise errors[0]
    return results[0]
