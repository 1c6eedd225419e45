"""Calls of compiled loops that Ctrl-C interrupts at once.

Python handles signals in its main thread, between two bytecode instructions; a compiled loop has none. So the loop runs
in a second thread without the GIL, while the main thread waits, where signals reach it. An abandoned loop continues to
the end of its steps, in arrays that nobody reads any more, and its thread ends with it.
"""

from __future__ import annotations

import contextvars
import os
import threading
from _thread import start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numba

__all__ = ["interruptible"]

LOOK = 0.2
"""Interval at which the main thread checks for signals [s], on systems where they do not interrupt a wait."""


def interruptible(function: Callable[..., Any], *args: Any) -> Any:
    """Call function(*args) so that Ctrl-C interrupts it even while it runs compiled code without the GIL.

    In other threads, which signals do not reach, and where nothing is compiled, it is called directly.
    """
    settings: Any = numba.config
    if settings.DISABLE_JIT or threading.current_thread() is not threading.main_thread():
        return function(*args)
    global _waiting
    worker, _waiting = _waiting, None  # no other call may use it meanwhile
    if worker is None or worker.process != os.getpid():  # threads do not survive a fork
        worker = _Worker()
    job = _Job(contextvars.copy_context(), function, args)
    try:
        worker.jobs.put(job)
        while not job.running.acquire(timeout=LOOK):
            pass
    except BaseException:
        worker.jobs.put(None)
        raise
    _waiting = worker
    if job.error is not None:
        raise job.error
    return job.result


class _Job:
    """A call and its result."""

    def __init__(self, context: contextvars.Context, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.context, self.function, self.args = context, function, args
        # A bare lock, released at the end of the call: an Event is Python code, in which a signal can leave its
        # condition unlocked ("release unlocked lock" instead of KeyboardInterrupt).
        self.running = threading.Lock()
        self.running.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def do(self) -> None:
        try:
            self.result = self.context.run(self.function, *self.args)
        except BaseException as error:
            self.error = error
        finally:
            self.running.release()


class _Worker:
    """A thread that waits for calls, since starting a thread takes longer than a short run."""

    def __init__(self) -> None:
        self.process, self.jobs = os.getpid(), SimpleQueue[_Job | None]()
        start_new_thread(_work, (self.jobs,))  # a Thread waits for its start with an Event, see _Job


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.do()
        del job  # free it before the next one comes


_waiting: _Worker | None = None
