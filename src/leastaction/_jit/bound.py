"""Entry points with their first arguments held, for calls that are made again and again."""

from typing import Any

import numpy as np

__all__ = ["Bound"]


_COMPILED: dict[Any, Any] = {}
"""What Numba made by entry point and kinds of all arguments, for every stepper that calls it."""


class Bound:
    """Calls an entry point with some first arguments that stay, and others that are arrays, numbers or tuples of these.

    Numba finds out the type of every array in every argument at each call, which for the bundles of a stepper takes
    longer than a short step. Here arguments are distinguished by what decides about their type, those that stay only
    once, and Numba is asked once for each combination in a process.
    """

    def __init__(self, entry: Any, *first: Any) -> None:
        self.entry, self.first = entry, first
        self.kernels: dict[Any, Any] = {}

    def __call__(self, *others: Any) -> Any:
        key = tuple(map(_kind, others))
        kernel = self.kernels.get(key)
        if kernel is not None:
            return kernel(*self.first, *others)
        known = (self.entry, _kind(self.first), key)
        if known in _COMPILED:
            kernel = self.kernels[key] = _COMPILED[known].entry_point
            return kernel(*self.first, *others)
        out = self.entry(*self.first, *others)
        if hasattr(self.entry, "overloads"):  # else NUMBA_DISABLE_JIT is set
            types = tuple(self.entry.typeof_pyval(value) for value in (*self.first, *others))
            _COMPILED[known] = self.entry.overloads[types]
            self.kernels[key] = _COMPILED[known].entry_point
        return out

    def kernel(self, *others: Any) -> Any:
        """What such a call calls, after the first one; None where nothing is compiled."""
        return self.kernels.get(tuple(map(_kind, others)))

    def holding(self, index: int, value: Any) -> "Bound":
        """The same with another value, of the same kind, in place of one of the first arguments."""
        other = type(self)(self.entry, *self.first[:index], value, *self.first[index + 1 :])
        other.kernels = self.kernels
        return other

    def compiled(self, *others: Any) -> Any:
        """What Numba made for such arguments, after a call with them; None where nothing is compiled."""
        return _COMPILED.get((self.entry, _kind(self.first), tuple(map(_kind, others))))


def _kind(value: Any) -> Any:
    """What decides about the Numba type of a value."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num  # layout, alignment and whether it may be written to
    return (type(value), *map(_kind, value)) if isinstance(value, tuple) else type(value)
