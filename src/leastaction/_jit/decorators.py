"""The decorators of kernels: what Numba is asked to do with each kind of function."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import types
from numba.core.types import unliteral

from .parts import remember
from .pipeline import PartCompiler, WholeCompiler
from .store import KernelCache
from .vectors import VectorPartCompiler

__all__ = ["ENTRIES", "entry", "inline", "routine"]

ENTRIES: list[Any] = []
"""Every entry point defined so far, in order of definition."""

# FMA and reordering, but NaN and infinity keep their meaning. x / 0 gives infinity, not an exception.
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
        function: what to compile.
        allocates: whether it makes arrays. Else it borrows them all, and references are not counted.
        vectors: whether its straight code is worth to be put into vectors, see `vectors`.
        options: for ``numba.njit``.
    """
    if function is None:
        return lambda function: routine(function, allocates=allocates, vectors=vectors, **options)
    return _inner(function, _MATH | {"_nrt": allocates} | options, VectorPartCompiler if vectors else PartCompiler)


def entry(function: Callable[..., Any] | None = None, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a kernel that Python calls, and keep it on disk; arguments as in `routine`."""
    if function is None:
        return lambda function: entry(function, allocates=allocates, **options)
    # A wrapper for calls from C would be a second copy of all that the first does with the arguments.
    options = _MATH | {"_nrt": allocates, "pipeline_class": WholeCompiler, "no_cfunc_wrapper": True} | options
    compiled: Any = numba.njit(**options)(function)
    if compiled is not function:  # else NUMBA_DISABLE_JIT is set
        _exact_on_gpu(compiled)
        compiled._cache = KernelCache(compiled)
        _let_go_on_failure(compiled)
    ENTRIES.append(compiled)
    return compiled


def _let_go_on_failure(compiled: Any) -> None:
    """Let other processes not wait for a kernel that could not be compiled."""
    compiler, ordinary = compiled._compiler, compiled._compiler.compile

    def compile(args: Any, return_type: Any) -> Any:
        try:
            return ordinary(args, return_type)
        except BaseException:
            compiled._cache.give_turns()
            raise

    compiler.compile = compile


def _inner(function: Callable[..., Any], options: dict[str, Any], compiler: Any = PartCompiler) -> Any:
    """Compile a function for other kernels to call.

    Numba's wrapper for calls from Python doubles the time to compile, so it is left out. A call from Python
    goes to a twin of the function that has one; without, it would crash the process.
    """
    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": compiler}
    if _WRAPPERS:
        bare = {"no_cfunc_wrapper": True, "pipeline_class": WholeCompiler}
    compiled: Any = numba.njit(**(options | bare))(function)
    if compiled is function:  # NUMBA_DISABLE_JIT is set
        return compiled
    _exact_on_gpu(compiled)
    _same_for_all_numbers(compiled)
    remember(compiled)
    if not _WRAPPERS:
        options = options | {"pipeline_class": WholeCompiler}
        njit: Any = numba.njit(**options)
        twin = cache(lambda: njit(function))
        compiled._insert = lambda *args, **kwargs: None  # what Python may call directly: nothing
        compiled._compile_for_args = lambda *args, **kwargs: twin()._compile_for_args(*args, **kwargs)
    return compiled


def _same_for_all_numbers(compiled: Any) -> None:
    """Keep Numba from compiling a function again for each constant that is passed to it: LLVM knows constants, too."""
    ordinary = compiled.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return ordinary(tuple(map(_any_number, args)), {name: _any_number(kind) for name, kind in kws.items()})

    compiled.get_call_template = get_call_template


def _any_number(kind: Any) -> Any:
    return unliteral(kind) if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)) else kind


def _exact_on_gpu(compiled: Any) -> None:
    """Keep CUDA kernels that call this function from approximating.

    They compile it anew with the options they find on it, and take any set of fast-math flags for leave to
    use the GPU's rough single-precision sine and its like. The CPU compiler holds the true options already.
    """
    compiled.targetoptions = compiled.targetoptions | {"fastmath": False}
