"""A second thread for LLVM: it optimises what is lowered while Numba types and lowers the next function.

LLVM's calls leave Python's lock alone, so that on two cores both go on at once.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

__all__ = ["in_background", "second_thread"]

_thread: ThreadPoolExecutor | None = None


@contextlib.contextmanager
def second_thread() -> Iterator[None]:
    """Within, what goes `in_background` runs beside the caller, in the order in which it came."""
    global _thread
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="leastaction compiler") as thread:
        _thread = thread
        try:
            yield
        finally:
            _thread = None


def in_background(work: Callable[..., Any], *args: Any) -> Future[Any]:
    """The result of work(*args) to come; there already without a `second_thread`."""
    if _thread is not None:
        return _thread.submit(work, *args)
    result: Future[Any] = Future()
    try:
        result.set_result(work(*args))
    except Exception as error:
        result.set_exception(error)
    return result
