"""Fields that a function reads of its named tuples, from Numba's IR of it before type inference.

Functions get whole tuples and read a few fields, or pass them on to others that do. The code compiled for one tuple is
also valid for another one with the same types of the fields that it reads (`function_cache`).
"""

import inspect
import operator
from collections import Counter
from types import ModuleType
from typing import Any

from numba.core import bytecode, interpreter, ir

__all__ = ["WHOLE", "Reads", "fields_read", "take_code"]

Reads = dict[str, Any]
"""The fields of a value that are read, and what is read of these; empty where it is only compared with None."""

WHOLE = ""
"""In place of a field: the whole value."""

_KNOWN: dict[Any, list[Reads]] = {}

_CODES: dict[Any, Any] = {}
"""Numba's IR of functions that will be compiled next, as it takes a tenth of the compilation time."""


def take_code(function: Any) -> Any:
    """Take Numba's IR of a function, if available; the caller may change it."""
    return _CODES.pop(function, None)


def fields_read(function: Any) -> list[Reads]:
    """Fields that a function of ours, as plain Python, and all that it calls, read of each of its arguments."""
    if function not in _KNOWN:
        count = len(inspect.signature(function).parameters)
        _KNOWN[function] = [{WHOLE: {}} for _ in range(count)]  # for recursion
        _KNOWN[function] = _Reader(function, count).arguments
    return _KNOWN[function]


class _Reader:
    """Traverses the IR of a function once.

    A variable that is assigned once stands for an argument or for a field of one; reads of it are marked there. Any
    use other than reading a field, comparing with None or passing it on marks all of it as read.
    """

    def __init__(self, function: Any, count: int) -> None:
        self.arguments: list[Reads] = [{} for _ in range(count)]
        identity = bytecode.FunctionIdentity.from_function(function)
        _CODES[function] = interpreter.Interpreter(identity).interpret(bytecode.ByteCode(func_id=identity))
        steps = [step for block in _CODES[function].blocks.values() for step in block.body]
        assigned = [step for step in steps if isinstance(step, ir.Assign)]
        times = Counter(step.target.name for step in assigned)
        self._values = {step.target.name: step.value for step in assigned if times[step.target.name] == 1}
        for step in steps:
            if isinstance(step, ir.Assign):
                self._look(step.value, step.target.name in self._values)
            else:
                self._need(*step.list_vars())

    def _look(self, value: Any, once: bool) -> None:
        """Mark what an assignment reads; `once`: its variable has no other assignment."""
        if isinstance(value, ir.Var):
            if not once:
                self._need(value)
        elif isinstance(value, ir.Arg):
            if not once:
                self.arguments[value.index][WHOLE] = {}
        elif isinstance(value, ir.Expr):
            called = self._called(value) if value.op == "call" else None
            if called is not None:
                self._hand_on(called, value)
            elif value.op == "getattr" and (owner := self._place(value.value)) is not None:
                if not once:
                    owner.setdefault(value.attr, {})[WHOLE] = {}
            elif not self._compares_with_none(value):
                self._need(*value.list_vars())

    def _need(self, *variables: Any) -> None:
        for variable in variables:
            if (place := self._place(variable)) is not None:
                place[WHOLE] = {}

    def _place(self, variable: Any) -> Reads | None:
        """The marks of a variable; None if it is no part of an argument."""
        value = self._values.get(variable.name)
        if isinstance(value, ir.Arg):
            return self.arguments[value.index]
        if isinstance(value, ir.Var):
            return self._place(value)
        if isinstance(value, ir.Expr) and value.op == "getattr":
            owner = self._place(value.value)
            return None if owner is None else owner.setdefault(value.attr, {})
        return None

    def _called(self, call: Any) -> Any:
        """The called function, if it takes named tuples by reference."""
        dispatcher = self._constant(call.func)
        function = getattr(dispatcher, "py_func", None)
        ours = function is not None and getattr(function, "_compiled", None) is dispatcher
        return function if ours and not dispatcher.targetoptions.get("_nrt", True) else None  # pyright: ignore

    def _constant(self, variable: Any) -> Any:
        """The value of a variable that stands for a global, or for an attribute of a module."""
        value = self._values.get(variable.name)
        if isinstance(value, ir.Expr) and value.op == "getattr":
            module = self._constant(value.value)
            return getattr(module, value.attr, None) if isinstance(module, ModuleType) else None
        return value.value if isinstance(value, (ir.Global, ir.FreeVar)) else None

    def _hand_on(self, function: Any, call: Any) -> None:
        """Mark what a callee reads of its arguments."""
        if all(self._place(variable) is None for variable in call.list_vars()):
            return
        signature = inspect.signature(function)
        try:
            given = signature.bind(*call.args, **dict(call.kws)).arguments
        except TypeError:  # Numba will reject it, too
            given = {}
        reads = dict(zip(signature.parameters, fields_read(function), strict=True))
        single = {name: one for name, one in given.items() if isinstance(one, ir.Var)}
        for name, variable in single.items():
            if (place := self._place(variable)) is not None:
                _merge(place, reads[name])
        named = {variable.name for variable in single.values()}
        self._need(*(variable for variable in call.list_vars() if variable.name not in named))

    def _compares_with_none(self, value: Any) -> bool:
        if value.op != "binop" or value.fn not in (operator.is_, operator.is_not):
            return False
        other = self._values.get(value.rhs.name)
        return isinstance(other, ir.Const) and other.value is None and self._place(value.lhs) is not None


def _merge(place: Reads, reads: Reads) -> None:
    for field, inner in reads.items():
        _merge(place.setdefault(field, {}), inner)
