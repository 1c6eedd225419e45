"""What shortens Numba's own work while one of our kernels is compiled, and for that time only."""

import contextlib
import gc
import operator
from collections.abc import Iterator
from typing import Any

from numba import types
from numba.core.types.functions import BaseFunction

__all__ = ["in_haste"]

_OPERATORS = frozenset(getattr(operator, name) for name in operator.__all__)
_NUMBERS = (types.Number, types.Boolean)
_at_work = False


@contextlib.contextmanager
def in_haste() -> Iterator[None]:
    """Within, no garbage is collected, and an operator between numbers is looked up once per pair of types.

    Kernels hold thousands of sums and products of the same few types, and Numba goes through some ten families of
    implementations for each. Compilations come one at a time (Numba has a lock), so that no other one is touched.
    """
    global _at_work
    if _at_work:  # a function that a kernel calls
        yield
        return
    ordinary: Any = BaseFunction.get_call_type
    known: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if (
            kws
            or self.typing_key not in _OPERATORS
            or not all(isinstance(a, (types.Number, types.Boolean)) for a in args)
        ):
            return ordinary(self, context, args, kws)
        key = (id(self), id(context), args)
        if key not in known:
            known[key] = (ordinary(self, context, args, kws), self, context)  # kept: an id may be given again
        return known[key][0]

    collecting = gc.isenabled()
    gc.disable()
    BaseFunction.get_call_type = get_call_type
    _at_work = True
    try:
        yield
    finally:
        _at_work = False
        BaseFunction.get_call_type = ordinary
        if collecting:
            gc.enable()
