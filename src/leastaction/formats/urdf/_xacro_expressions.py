"""Expressions of xacro files, evaluated within bounds.

The package `xacro` hands them to Python: a file with `${9**9**9}`, or with macros that call one another over and over,
would keep a program busy for ever or fill its memory, and `$(eval ...)` runs any code at all. Here powers, repetitions,
ranges, texts and the number of turns and macros have bounds that no robot comes near, and no name with two underscores
is taken.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["Bounds"]

MOST_BITS = 4096
"""Of an integer."""
MOST_ITEMS = 100_000
"""Of a list, a text or a range."""
MOST_TURNS = 1_000_000
"""Of loops and functions in all expressions of a file, and of macros."""
_GROWING = (math.factorial, math.comb, math.perm, math.lcm, math.prod)


class Bounds:
    """Evaluates the expressions of one file, with what is left of its turns."""

    def __init__(self) -> None:
        self._turns = 0

    def evaluate(self, text: str, names: Any, builtins: tuple[Any, ...] = ()) -> Any:
        """The value of an expression.

        Args:
            text: the expression.
            names: values by name, as `names[name]`.
            builtins: functions of Python that it may call by their names.

        Raises:
            ValueError: it goes beyond a bound, or names what is for Python alone.
        """
        tree = ast.parse(text.strip(), "<expression>", "eval")
        for node in ast.walk(tree):
            for field in ("id", "attr", "arg"):
                name = getattr(node, field, None)
                if isinstance(name, str) and name.startswith("__"):
                    raise ValueError(f"Use of invalid name(s): {name}")
        code = compile(ast.fix_missing_locations(_Bounding().visit(tree)), "<expression>", "eval")
        scope = _Scope({name: getattr(self, f"_{name.strip('_')}") for name in _NAMES})
        scope["__builtins__"] = {function.__name__: function for function in builtins}
        scope.names = names
        return eval(code, scope)

    def turn(self) -> None:
        """Count a turn of a loop, a call of a function or a macro."""
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise ValueError(f"expressions and macros of the file take more than {MOST_TURNS} turns")

    def _power(self, x: Any, y: Any) -> Any:
        if isinstance(x, int) and isinstance(y, int) and y > 0 and x.bit_length() * y > MOST_BITS:
            raise ValueError(f"a power of more than {MOST_BITS} bits")
        return x**y

    def _shift(self, x: Any, y: Any) -> Any:
        if isinstance(x, int) and isinstance(y, int) and x.bit_length() + y > MOST_BITS:
            raise ValueError(f"a number of more than {MOST_BITS} bits")
        return x << y

    def _times(self, x: Any, y: Any) -> Any:
        for one, other in ((x, y), (y, x)):
            if isinstance(other, int) and hasattr(one, "__len__") and len(one) * other > MOST_ITEMS:
                raise ValueError(f"a repetition of more than {MOST_ITEMS} items")
        if isinstance(x, int) and isinstance(y, int) and x.bit_length() + y.bit_length() > MOST_BITS:
            raise ValueError(f"a number of more than {MOST_BITS} bits")
        return x * y

    def _sum(self, x: Any, y: Any) -> Any:
        if hasattr(x, "__len__") and hasattr(y, "__len__") and len(x) + len(y) > MOST_ITEMS:
            raise ValueError(f"more than {MOST_ITEMS} items")
        return x + y

    def _rest(self, x: Any, y: Any) -> Any:
        if isinstance(x, (str, bytes)):
            _check_widths(str(x), y if isinstance(y, tuple) else (y,))
        return x % y

    def _text(self, value: Any, spec: str = "") -> str:
        _check_widths(f"{{:{spec}}}", ())
        return format(value, spec)

    def _each(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self.turn()
            yield item

    def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.turn()
        if function is range and len(range(*args)) > MOST_ITEMS:
            raise ValueError(f"a range of more than {MOST_ITEMS} numbers")
        numbers = [x for x in args if isinstance(x, int)]
        if function in _GROWING and any(abs(x) > 300 for x in numbers):
            raise ValueError(f"{function.__name__} of more than 300")
        if function is pow and len(numbers) > 1:
            return self._power(*args)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, (str, bytes)):
            _check_widths(str(owner), numbers)
        for x in (owner, *args):
            if isinstance(x, range) and len(x) > MOST_ITEMS:
                raise ValueError(f"a range of more than {MOST_ITEMS} numbers")
        return function(*args, **kwargs)

    def _body(self, value: Any) -> Any:
        self.turn()
        return value


class _Scope(dict[str, Any]):
    """What an expression finds by name."""

    names: Any

    def __missing__(self, name: str) -> Any:
        return self.names[name]


_NAMES = ("__power", "__shift", "__times", "__sum", "__rest", "__text", "__each", "__call", "__body")
"""Under which expressions find what bounds them; nothing in a file can name them."""


def _check_widths(text: str, numbers: Iterable[Any]) -> None:
    """Refuse a text that is to be padded to a great length."""
    asked = [int(digits) for digits in re.findall(r"\d{6,18}", text)] if "%" in text or "{" in text else []
    if re.search(r"\d{19}", text) or any(isinstance(x, int) and x > MOST_ITEMS for x in (*asked, *numbers)):
        raise ValueError(f"a text of more than {MOST_ITEMS} characters")


class _Bounding(ast.NodeTransformer):
    """Has operators, calls, loops and functions of an expression go through `Bounds`."""

    _OPERATORS = {  # noqa: RUF012
        ast.Pow: "__power",
        ast.LShift: "__shift",
        ast.Mult: "__times",
        ast.Add: "__sum",
        ast.Mod: "__rest",
    }

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        name = self._OPERATORS.get(type(node.op))
        return node if name is None else _calling(name, node.left, node.right)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        return ast.Call(ast.Name("__call", ast.Load()), [node.func, *node.args], node.keywords)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        node.iter = _calling("__each", node.iter)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.generic_visit(node)
        node.body = _calling("__body", node.body)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        self.generic_visit(node)
        if node.format_spec is None:
            return node
        return ast.FormattedValue(_calling("__text", node.value, node.format_spec), -1, None)


def _calling(name: str, *args: Any) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
