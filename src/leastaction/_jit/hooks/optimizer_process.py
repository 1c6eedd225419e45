"""LLVM in a second process, next to Numba: half of a compilation is LLVM's and runs on another core.

Numba infers types and emits LLVM IR; the optimised result is needed only when a kernel is linked. A thread would not
help, since LLVM's many calls each wait for the GIL. With one core only, with ``LEASTACTION_ONE_PROCESS=1``, and where
the other process does not start or ends, everything runs in this process.
"""

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import count
from queue import SimpleQueue
from typing import Any

from . import optimizer
from .optimizer import Function, Optimizer, made_for

__all__ = ["machine_code", "optimised"]


def optimised(codegen: Any, function: Function, others: Iterable[Any]) -> Callable[[], bytes]:
    """Start the optimisation of a function; returns a callable that waits for its bitcode.

    Args:
        others: the functions that it refers to by number: with `number`, `reused` and `bitcode()`.
    """
    others = [*others]
    return _asked(codegen, others, "optimise", *function)


def machine_code(codegen: Any, function: Any, name: str) -> Callable[[], bytes]:
    """Start emitting a function's object file (`Optimizer.machine_code`); returns a callable that waits for it."""
    return _asked(codegen, [function], "machine_code", function.number, name)


def _asked(codegen: Any, needed: list[Any], method: str, *arguments: Any) -> Callable[[], bytes]:
    process = _process(codegen)
    if process is None:
        answer = _answer_here(codegen, needed, method, *arguments)
        return lambda: answer
    for other in needed:
        process.know(other)
    return _Answer(process.call(method, *arguments), codegen, needed, method, arguments)


class _Answer:
    """The answer of the other process, or of this one where that has ended."""

    def __init__(self, future: Future[Any], codegen: Any, needed: list[Any], method: str, arguments: Any) -> None:
        self._future: Future[Any] | None = future
        self._again: tuple[Any, ...] = (codegen, needed, method, *arguments)
        self._owner = os.getpid()

    def __call__(self) -> bytes:
        if (future := self._future) is not None:
            forked = self._owner != os.getpid() and not future.done()  # after a fork, no thread receives answers
            answered = not forked and future.exception() is None  # an error of LLVM is raised again here
            self._value = future.result() if answered else _answer_here(*self._again)
            self._future, self._again = None, ()
        return self._value


_HERE: dict[int, tuple[Optimizer, set[int]]] = {}
"""Optimizers of this process by the id of Numba's code generator, and the function numbers that they have."""


def _answer_here(codegen: Any, needed: list[Any], method: str, *arguments: Any) -> Any:
    if id(codegen) not in _HERE:
        _HERE[id(codegen)] = Optimizer(codegen), set()
    here, known = _HERE[id(codegen)]
    for other in needed:
        if other.number not in known:
            here.add(other.number, other.bitcode(), other.reused)
            known.add(other.number)
    if method == "optimise":
        known.add(arguments[0])
    return getattr(here, method)(*arguments)


class _Process:
    """An `Optimizer` in another process, and two threads that exchange calls and answers with it."""

    def __init__(self, codegen: Any) -> None:
        path = os.pathsep.join(folder for folder in sys.path if folder)
        self._process: Any = subprocess.Popen(
            [sys.executable, "-P", optimizer.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C must reach this process only
        )
        self.owner = os.getpid()
        self._expected = made_for(codegen)
        self._known: set[int] = set()
        self._calls: SimpleQueue[bytes | None] = SimpleQueue()
        self._waiting: dict[int, Future[Any]] = {}
        self._count = count()
        self._lock, self._broken = threading.Lock(), False
        self.answered = False
        for work in (self._send, self._receive):
            threading.Thread(target=work, name="leastaction-optimizer", daemon=True).start()

    @property
    def works(self) -> bool:
        """Whether the process accepts calls."""
        return not self._broken and self._process.poll() is None

    def know(self, other: Any) -> None:
        """Send a function to the other process unless it has it already."""
        if other.number not in self._known:
            self.call("add", other.number, other.bitcode(), other.reused)
            self._known.add(other.number)

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the `Optimizer` in the other process; returns a future."""
        future: Future[Any] = Future()
        number = next(self._count)
        content = pickle.dumps((number, method, arguments), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            if self._broken:
                future.set_exception(OSError("the process that optimises has ended"))
                return future
            self._waiting[number] = future
        if method == "optimise":
            self._known.add(arguments[0])
        self._calls.put(content)
        return future

    def end(self) -> None:
        """End the process by closing its standard input; kill it after a second."""
        self._calls.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
            return
        self._process.kill()

    def _send(self) -> None:
        with contextlib.suppress(OSError), self._process.stdin as pipe:
            while (content := self._calls.get()) is not None:
                pipe.write(content)
                pipe.flush()

    def _receive(self) -> None:
        """Pass answers to their futures; when the process ends, all remaining futures get an exception."""
        try:
            with self._process.stdout as pipe:
                if pickle.load(pipe) == self._expected:
                    while True:
                        number, answer = pickle.load(pipe)
                        self.answered = True
                        future = self._waiting.pop(number)
                        if isinstance(answer, Exception):
                            future.set_exception(answer)
                        else:
                            future.set_result(answer)
        except Exception:
            pass
        with self._lock:
            self._broken = True
        for future in self._waiting.values():
            future.set_exception(OSError("the process that optimises has ended"))
        self._waiting.clear()


_current: _Process | None = None


def _process(codegen: Any) -> _Process | None:
    """The other process; None where everything runs in this one."""
    global _current
    if _current is not None and _current.owner == os.getpid():
        if _current.works:
            return _current
        if not _current.answered:
            return None  # the next one would fail, too
    if os.environ.get("LEASTACTION_ONE_PROCESS", "0") not in ("", "0") or _cores() < 2:
        return None
    if not sys.executable or getattr(sys, "frozen", False):  # a frozen program would start itself once more
        return None
    _current = None
    with contextlib.suppress(OSError):
        _current = _Process(codegen)
    return _current


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@atexit.register
def _end() -> None:
    if _current is not None and _current.owner == os.getpid():
        _current.end()
