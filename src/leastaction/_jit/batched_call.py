"""Entry points that are called for one row of arrays after another, with next to nothing in between.

Numba takes every array of every argument from Python anew at each call, which for the bundles of a stepper takes longer
than a short step. A `BatchedCall` hands a compiled function the words that it made of them before
(`hooks.fast_call`): a step of a double pendulum takes 2.2 us in place of 5.8. Stock Numba is called by way of Python.
"""

import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .bound import Bound
from .hooks import why_stock

__all__ = ["BatchedCall"]

SOON, LATE = 20, 1000
"""Calls by way of Python before words are kept: to make them takes as long as some tens of such calls, and the function
that hands them on, once for all walks in a process, as long as some thousand."""


class BatchedCall:
    """Calls a bound entry point with arguments that depend on a row, affinely: views of arrays, and whole numbers.

    Args:
        bound: the entry point; it gives back a whole number, a tuple of up to four, or nothing.
        arguments: those of a row, from 1 on, beside the bound ones; the arrays must stay where they are.
        weight: as how many calls one counts, where the next ones are sure to come.
    """

    def __init__(self, bound: Bound, arguments: Callable[[int], tuple[Any, ...]], weight: int = 1) -> None:
        self.bound, self.arguments, self._weight = bound, arguments, weight
        self._calls, self._vain = 0, bool(why_stock())
        self._call: Any = None

    def __call__(self, row: int) -> Any:
        """What the entry point gives back for the arguments of a row."""
        if self._call is None:
            return self._by_python(row)
        out = self._call(row)
        return self.bound(*self.arguments(row)) if out is NotImplemented else out

    def _by_python(self, row: int) -> Any:
        others = self.arguments(row)
        out = self.bound(*others)
        self._calls += self._weight
        if self._calls >= SOON and not self._vain:
            compiled = self.bound.compiled(*others)
            calls = _CALLS[id(compiled)] = _CALLS.get(id(compiled), 0) + self._calls
            self._calls = 0
            if compiled is not None and calls >= LATE:
                with contextlib.suppress(AttributeError, ImportError, TypeError, RuntimeError):
                    fast = import_module(f"{__package__}.hooks.fast_call")
                    self._call = fast.FastCall(compiled, self.bound.first, [self.arguments(k) for k in (1, 2, 3)])
                self._vain = self._call is None
        return out


_CALLS: dict[int, int] = {}
"""Calls of walks that went by way of Python, by the identity of what they call, which stays (`bound`)."""
