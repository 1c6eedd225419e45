"""Functions in CasADi and in JAX, and their derivatives, at all knots or steps in one call."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from leastaction._extras import require
from leastaction.errors import ProblemError
from leastaction.typing import FloatArray


class UserRows(Protocol):
    """A function f of some arguments, with arguments in arrays (rows, n) each."""

    def values(self, given: Sequence[FloatArray]) -> FloatArray:
        """Shape (rows, size)."""
        ...

    def slopes(self, given: Sequence[FloatArray]) -> list[FloatArray]:
        """Derivatives by each argument, shape (rows, size, n)."""
        ...

    def second(self, bar: FloatArray, given: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Hessians (rows, n, n) and gradients (rows, n) of bar . f by all arguments together; bar: (rows, size)."""
        ...


class CasadiRows:
    """`UserRows` of a function of CasADi's symbols: mapped over the rows, it writes into arrays of NumPy."""

    def __init__(self, owner: str, f: Callable[..., Any], names: Sequence[str], sizes: Sequence[int]) -> None:
        self.ca = ca = require("casadi", "optimize")
        self.f, self.sizes = f, list(sizes)
        self.symbols = [ca.MX.sym(name, n) for name, n in zip(names, sizes, strict=True)]
        try:
            value = ca.densify(ca.vec(ca.vertcat(f(*self.symbols))))
        except (RuntimeError, NotImplementedError) as error:  # of CasADi; what else the function raises comes through
            raise ProblemError(
                f"{owner}: with kind 'casadi' the function is called with CasADi's symbols {', '.join(names)} of "
                f"{', '.join(map(str, sizes))} entries, and must give an expression in them: {error_text(error)}"
            ) from error
        self.size = value.numel()
        slopes = [ca.densify(ca.jacobian(value, symbol)) for symbol in self.symbols]
        self._value = ca.Function("own", self.symbols, [value])
        self._slopes = ca.Function("slopes", self.symbols, slopes)
        self._mapped: dict[Any, Any] = {}

    @cached_property
    def _second(self) -> Any:
        ca = self.ca
        x, y = ca.MX.sym("x", sum(self.sizes)), ca.MX.sym("y", self.size)
        value = ca.vec(ca.vertcat(self.f(*ca.vertsplit(x, [0, *np.cumsum(self.sizes).tolist()]))))
        H, g = ca.hessian(ca.dot(y, value), x)
        return ca.Function("second", [y, x], [ca.densify(H), ca.densify(g)])

    def _call(self, function: Any, given: Sequence[FloatArray], out: Sequence[FloatArray]) -> None:
        """Rows of NumPy are columns of CasADi, so both read and write the same memory."""
        rows = len(given[0])
        key = (function.name(), rows)
        if key not in self._mapped:
            self._mapped[key] = function.map(rows).buffer()
        buffer, run = self._mapped[key]
        kept = [np.ascontiguousarray(x, float).reshape(-1) for x in given]
        for i, x in enumerate(kept):
            buffer.set_arg(i, x.data)
        for i, x in enumerate(out):
            buffer.set_res(i, x.reshape(-1).data)
        run()

    def values(self, given: Sequence[FloatArray]) -> FloatArray:
        """See `OwnRows.values`."""
        out = np.empty((len(given[0]), self.size))
        if out.size:
            self._call(self._value, given, [out])
        return out

    def slopes(self, given: Sequence[FloatArray]) -> list[FloatArray]:
        """See `OwnRows.slopes`."""
        out = [np.empty((len(given[0]), n, self.size)) for n in self.sizes]
        if len(given[0]) and self.size:
            self._call(self._slopes, given, out)
        return [np.ascontiguousarray(np.swapaxes(x, 1, 2)) for x in out]

    def second(self, bar: FloatArray, given: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """See `OwnRows.second`."""
        rows, n = len(bar), sum(self.sizes)
        H, g = np.empty((rows, n, n)), np.empty((rows, n))
        if rows and self.size:
            self._call(self._second, [bar, np.concatenate(given, axis=1)], [H, g])
        return H, g


def error_text(error: Exception) -> str:
    """An error of CasADi without the place in its source that it begins with, and the prototypes that it ends with."""
    text = re.sub(r"^\S*\.cpp:\d+: ", "", str(error).strip())
    return " ".join(text.partition("Possible prototypes")[0].split())


class JaxRows:
    """`UserRows` of a function of JAX's arrays."""

    def __init__(self, owner: str, f: Callable[..., Any], names: Sequence[str], sizes: Sequence[int]) -> None:
        jax = require("jax", "jax")
        jax.config.update("jax_enable_x64", True)
        ends = np.cumsum(sizes)[:-1].tolist()
        try:
            made = jax.eval_shape(f, *(jax.ShapeDtypeStruct((n,), float) for n in sizes))
            real = getattr(made, "dtype", None) is not None and made.dtype.kind in "fiub"
            why = f"it gives {made!r}"
        except jax.errors.JAXTypeError as error:  # what else the function raises comes through
            real, why = False, str(error).strip().splitlines()[0]
        except TypeError as error:
            if "abstract array" not in str(error) and "valid JAX type" not in str(error):
                raise
            real, why = False, str(error).strip().splitlines()[0]
        if not real:
            raise ProblemError(
                f"{owner}: with kind 'jax' the function is traced with arrays {', '.join(names)} of "
                f"{', '.join(map(str, sizes))} entries, and must give one array of real numbers made of them by "
                f"functions of JAX: {why}"
            )

        def flat(*given: Any) -> Any:
            return jax.numpy.atleast_1d(f(*given)).ravel()

        def scalar(x: Any, y: Any) -> Any:
            return y @ flat(*jax.numpy.split(x, ends))

        def mapped(function: Any) -> Any:
            return jax.jit(jax.vmap(function))

        self._values, self._slopes = mapped(flat), mapped(jax.jacfwd(flat, argnums=tuple(range(len(sizes)))))
        self._second = mapped(lambda x, y: (jax.hessian(scalar)(x, y), jax.grad(scalar)(x, y)))

    def values(self, given: Sequence[FloatArray]) -> FloatArray:
        """See `OwnRows.values`."""
        return np.asarray(self._values(*given), float)

    def slopes(self, given: Sequence[FloatArray]) -> list[FloatArray]:
        """See `OwnRows.slopes`."""
        return [np.asarray(x, float) for x in self._slopes(*given)]

    def second(self, bar: FloatArray, given: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """See `OwnRows.second`."""
        H, g = self._second(np.concatenate(given, axis=1), bar)
        return np.asarray(H, float), np.asarray(g, float)
