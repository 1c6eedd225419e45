"""The decorators of kernels: options of Numba for each kind of function."""

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numba
from numba import types

from . import hooks, stock

__all__ = ["ENTRIES", "entry", "inline", "routine"]

ENTRIES: list[Any] = []
"""All entry points defined so far, in order of definition."""

# FMA and reassociation are allowed, but NaN and infinity keep their meaning. x / 0 gives infinity, not an exception.
_MATH: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
_WRAPPERS = os.environ.get("LEASTACTION_WRAPPERS", "0") not in ("", "0")


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small pure function so that LLVM always inlines it into its caller."""
    return _inner(function, _MATH | {"_nrt": False, "forceinline": True})


def routine(
    function: Callable[..., Any] | None = None, *, allocates: bool = False, vectors: bool = False, **options: Any
) -> Any:
    """Compile a kernel that other kernels call.

    Args:
        function: the function to compile.
        allocates: whether it allocates arrays. Otherwise it borrows all of them, without reference counting.
        vectors: whether LLVM should vectorise its straight-line code, see `vectors`.
        options: for ``numba.njit``.
    """
    if function is None:
        return lambda function: routine(function, allocates=allocates, vectors=vectors, **options)
    return _inner(function, _MATH | {"_nrt": allocates} | options, vectors)


def entry(function: Callable[..., Any] | None = None, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a kernel that Python calls, cached on disk; arguments as in `routine`."""
    if function is None:
        return lambda function: entry(function, allocates=allocates, **options)
    if numba.config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        compiled: Any = function
    else:
        compiled = _entry_dispatcher()(function, _MATH | {"_nrt": allocates} | options)
        _exact_on_gpu(compiled)
    ENTRIES.append(compiled)
    return compiled


def _entry_dispatcher() -> Callable[..., Any]:
    if hooks.why_stock():
        return stock.entry_dispatcher
    return import_module(f"{__package__}.hooks.dispatchers").entry_dispatcher


def _inner(function: Callable[..., Any], options: dict[str, Any], vectors: bool = False) -> Any:
    """Compile a function for other kernels to call.

    Numba's wrapper for calls from Python doubles the compilation time, so it is omitted. A call from Python would
    crash the process without it, so it goes to a second dispatcher of the function, which has one.
    """
    if numba.config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return function
    njit: Any = numba.njit
    wrappers = _WRAPPERS or not all(hasattr(_DISPATCHER, name) for name in ("_insert", "_compile_for_args"))
    bare = options | {"no_cfunc_wrapper": True} | ({} if wrappers else {"no_cpython_wrapper": True})
    if hooks.why_stock():
        compiled: Any = njit(**bare)(function)
    else:
        inner_dispatcher = import_module(f"{__package__}.hooks.dispatchers").inner_dispatcher
        compiled = inner_dispatcher(function, bare, wrappers=wrappers, vectors=vectors)
    _exact_on_gpu(compiled)
    _same_for_all_numbers(compiled)
    if not wrappers:
        twin = cache(lambda: njit(**options)(function))
        compiled._insert = lambda *args, **kwargs: None  # no entry points for Python
        compiled._compile_for_args = lambda *args, **kwargs: twin()._compile_for_args(*args, **kwargs)
    return compiled


_DISPATCHER = type(numba.njit(lambda: None))


def _same_for_all_numbers(compiled: Any) -> None:
    """Keep Numba from compiling a function again for each literal passed to it; LLVM propagates constants itself.

    The callable type for the same argument types is cached, as Numba makes a new class for each call.
    """
    ordinary, known = compiled.get_call_template, {}

    def get_call_template(args: Any, kws: Any) -> Any:
        args, kws = tuple(map(_any_number, args)), {name: _any_number(kind) for name, kind in kws.items()}
        key = args, tuple(kws.items())
        if key not in known:
            known[key] = ordinary(args, kws)
        return known[key]

    compiled.get_call_template = get_call_template


def _any_number(kind: Any) -> Any:
    return types.unliteral(kind) if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)) else kind


def _exact_on_gpu(compiled: Any) -> None:
    """Keep CUDA kernels that call this function from approximating.

    They compile it again with its options, and take any set of fast-math flags as permission to use the GPU's
    low-precision sine and similar functions. The CPU compiler already has the true options.
    """
    compiled.targetoptions = compiled.targetoptions | {"fastmath": False}
