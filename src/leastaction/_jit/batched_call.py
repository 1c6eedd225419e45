"""Repeated calls of entry points for consecutive rows of arrays, with minimal overhead.

Numba unpacks every array of every argument at each call, which for the named tuples of a stepper takes longer than a
short step. A `BatchedCall` reuses the packed arguments (64-bit words) of an earlier call (`hooks.fast_call`): a step of
a double pendulum takes 2.2 us in place of 5.8. With stock Numba, calls go through Python.
"""

import contextlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .bound import Bound
from .hooks import why_stock

__all__ = ["BatchedCall", "LengthCall"]

SOON, LATE = 20, 1000
"""Calls through Python before arguments are packed: packing them takes as long as some tens of such calls (SOON), and
compiling the function that passes them on, once per process, as long as some thousand (LATE)."""


class BatchedCall:
    """Calls a bound entry point with arguments that are affine in a row index: array views and whole numbers.

    Args:
        bound: the entry point; it returns a whole number, a tuple of up to four, or nothing.
        arguments: gives the arguments after the bound ones for a row, from 1 on; arrays must stay where they are.
        weight: number of calls that one counts for, where more calls are certain to follow.
    """

    def __init__(self, bound: Bound, arguments: Callable[[int], tuple[Any, ...]], weight: int = 1) -> None:
        self.bound, self.arguments, self._weight = bound, arguments, weight
        self._calls, self._vain = 0, bool(why_stock())
        self._call: Any = None

    def __call__(self, row: int) -> Any:
        """Call the entry point with the arguments of a row; returns its result."""
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
    """Calls a bound entry point repeatedly with the same arguments, except for one number among the bound ones.

    Args:
        bound: gives the entry point bound with a length [s], which may occur several times in its first arguments; its
            result must be as for `BatchedCall`.
        others: its other arguments; arrays must stay where they are.
    """

    def __init__(self, bound: Callable[[float], Bound], *others: Any) -> None:
        self._bound, self._others = bound, others
        self._calls, self._vain, self._call = 0, bool(why_stock()), None
        self._kernel: Any = None

    def __call__(self, length: float) -> Any:
        """Call the entry point with that length [s]; returns its result."""
        if self._call is not None:
            self._call.set(length)
            out = self._call.again()
            return self._bound(length)(*self._others) if out is NotImplemented else out
        bound = self._bound(length)
        if self._kernel is None:
            out = bound(*self._others)
            self._kernel = bound.kernel(*self._others)  # for all lengths: the types of arguments never change
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
    """Numba's compile result for such arguments, if it was called through Python often enough for packing to pay.

    Args:
        bound, others: see `Bound.compiled`.
        calls: number of calls since the last query.
    """
    compiled = bound.compiled(*others)
    _CALLS[id(compiled)] = _CALLS.get(id(compiled), 0) + calls
    return compiled if compiled is not None and _CALLS[id(compiled)] >= LATE else None


def _fast_call(compiled: Any, *arguments: Any) -> Any:
    """A `FastCall`; None where it does not support the arguments."""
    with contextlib.suppress(AttributeError, ImportError, TypeError, RuntimeError):
        return import_module(f"{__package__}.hooks.fast_call").FastCall(compiled, *arguments)
    return None


_CALLS: dict[int, int] = {}
"""Number of calls through Python, by the id of the compile result, which is never freed (`bound`)."""
