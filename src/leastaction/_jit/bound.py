"""Entry points with their first arguments bound, for repeated calls."""

from typing import Any

import numpy as np

__all__ = ["Bound"]


_COMPILED: dict[Any, Any] = {}
"""Numba's compile results by entry point and kinds of all arguments, shared by all steppers."""


class Bound:
    """Calls an entry point with constant first arguments, and others that are arrays, numbers or tuples of these.

    Numba determines the type of every array in every argument at each call, which for a stepper's named tuples takes
    longer than a short step. Here arguments are compared by the properties that determine their type, constant ones
    only once, and Numba is asked once for each combination in a process.
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
        if hasattr(self.entry, "overloads"):  # missing with NUMBA_DISABLE_JIT
            types = tuple(self.entry.typeof_pyval(value) for value in (*self.first, *others))
            _COMPILED[known] = self.entry.overloads[types]
            self.kernels[key] = _COMPILED[known].entry_point
        return out

    def kernel(self, *others: Any) -> Any:
        """The compiled function of such a call, after the first one; None where nothing is compiled."""
        return self.kernels.get(tuple(map(_kind, others)))

    def holding(self, index: int, value: Any) -> "Bound":
        """A copy with another value, of the same type, of the first argument with this index."""
        other = type(self)(self.entry, *self.first[:index], value, *self.first[index + 1 :])
        other.kernels = self.kernels
        return other

    def compiled(self, *others: Any) -> Any:
        """Numba's compile result for such arguments, after a call with them; None where nothing is compiled."""
        return _COMPILED.get((self.entry, _kind(self.first), tuple(map(_kind, others))))


def _kind(value: Any) -> Any:
    """Properties of a value that determine its Numba type."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num  # layout, alignment and writeability
    return (type(value), *map(_kind, value)) if isinstance(value, tuple) else type(value)
