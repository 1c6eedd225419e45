"""LLVM beside Numba: half of a compilation is LLVM's, which a process of its own does on another core.

Numba finds out about types and writes LLVM's code; what becomes of that is needed once a kernel is put together. A
thread would not do: LLVM's many calls each wait for Python's lock. Where there is only one core, where
``LEASTACTION_ONE_PROCESS=1`` is set, and where the other process does not start or ends, all is done in this one.
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
    """Optimise a function; what is given back waits for its bitcode.

    Args:
        others: what it names by numbers: with `number`, `reused` and `bitcode()`.
    """
    others = [*others]
    return _asked(codegen, others, "optimise", *function)


def machine_code(codegen: Any, function: Any, name: str) -> Callable[[], bytes]:
    """Make the object file of a function, see `Optimizer.machine_code`; what is given back waits for it."""
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
    """The answer of another process, or where that ended before, of this one."""

    def __init__(self, future: Future[Any], codegen: Any, needed: list[Any], method: str, arguments: Any) -> None:
        self._future: Future[Any] | None = future
        self._again: tuple[Any, ...] = (codegen, needed, method, *arguments)
        self._owner = os.getpid()

    def __call__(self) -> bytes:
        if (future := self._future) is not None:
            forked = self._owner != os.getpid() and not future.done()  # no thread receives answers there
            answered = not forked and future.exception() is None  # an error of LLVM's comes again, from here
            self._value = future.result() if answered else _answer_here(*self._again)
            self._future, self._again = None, ()
        return self._value


_HERE: dict[int, tuple[Optimizer, set[int]]] = {}
"""What optimises in this process, by the identity of Numba's code generator, and the numbers that it knows."""


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
            start_new_session=True,  # Ctrl-C is for this process alone
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
        """Whether it can be asked."""
        return not self._broken and self._process.poll() is None

    def know(self, other: Any) -> None:
        """See to it that the other process has a function that was not optimised there."""
        if other.number not in self._known:
            self.call("add", other.number, other.bitcode(), other.reused)
            self._known.add(other.number)

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Have the other process do something."""
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
        """Let it end: it does where its standard input does."""
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
        """Hand answers to those who wait for them; all that wait when it ends are told so."""
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
    """The other process, None where there is to be none."""
    global _current
    if _current is not None and _current.owner == os.getpid():
        if _current.works:
            return _current
        if not _current.answered:
            return None  # the next one would fail, too
    if os.environ.get("LEASTACTION_ONE_PROCESS", "0") not in ("", "0") or _cores() < 2 or not sys.executable:
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
