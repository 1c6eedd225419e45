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

__all__ = ["BatchedCall", "LengthCall"]

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
            if compiled := _often_called(self.bound, others, self._calls):
                self._call = _fast_call(compiled, self.bound.first, [self.arguments(k) for k in (1, 2, 3)])
                self._vain = self._call is None
            self._calls = 0
        return out


class LengthCall:
    """Calls a bound entry point again and again with the same arguments, but for one number among the bound ones.

    Args:
        bound: the entry point bound with a length [s], which may be in several places of its first arguments; it gives
            back what `BatchedCall` asks for.
        others: its other arguments; arrays must stay where they are.
    """

    def __init__(self, bound: Callable[[float], Bound], *others: Any) -> None:
        self._bound, self._others = bound, others
        self._calls, self._vain, self._call = 0, bool(why_stock()), None
        self._kernel: Any = None

    def __call__(self, length: float) -> Any:
        """What the entry point gives back with that length [s]."""
        if self._call is not None:
            self._call.set(length)
            out = self._call.again()
            return self._bound(length)(*self._others) if out is NotImplemented else out
        bound = self._bound(length)
        if self._kernel is None:
            out = bound(*self._others)
            self._kernel = bound.kernel(*self._others)  # for all lengths: arguments of other kinds never come
        else:
            out = self._kernel(*bound.first, *self._others)
        self._calls += 1
        if self._calls >= SOON and not self._vain:
            if compiled := _often_called(bound, self._others, self._calls):
                other = self._bound(2.0 * length).first
                self._call = _fast_call(compiled, bound.first, [self._others] * 3, other)
                self._vain = self._call is None
            self._calls = 0
        return out


def _often_called(bound: Bound, others: tuple[Any, ...], calls: int) -> Any:
    """What Numba made for such arguments, if it was called by way of Python so often that words are worth it.

    Args:
        bound, others: see `Bound.compiled`.
        calls: how often it was called since it was last asked.
    """
    compiled = bound.compiled(*others)
    _CALLS[id(compiled)] = _CALLS.get(id(compiled), 0) + calls
    return compiled if compiled is not None and _CALLS[id(compiled)] >= LATE else None


def _fast_call(compiled: Any, *arguments: Any) -> Any:
    """A `FastCall`; None where there are none."""
    with contextlib.suppress(AttributeError, ImportError, TypeError, RuntimeError):
        return import_module(f"{__package__}.hooks.fast_call").FastCall(compiled, *arguments)
    return None


_CALLS: dict[int, int] = {}
"""Calls of walks that went by way of Python, by the identity of what they call, which stays (`bound`)."""
