"""Numba dispatchers whose functions this package compiles and caches."""

from typing import Any

import numba

from .function_cache import attach_flags
from .kernel_cache import KernelCache
from .pipeline import PartCompiler, WholeCompiler
from .vectors import VectorPartCompiler

__all__ = ["entry_dispatcher", "inner_dispatcher"]


def entry_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Dispatcher of a function that Python calls, cached on disk."""
    # A wrapper for calls from C would be a second copy of the code that unpacks the arguments.
    njit: Any = numba.njit
    compiled = njit(**({"pipeline_class": WholeCompiler, "no_cfunc_wrapper": True} | options))(function)
    compiled._cache = KernelCache(compiled)
    _let_go_on_failure(compiled)
    return compiled


def inner_dispatcher(function: Any, options: dict[str, Any], *, wrappers: bool, vectors: bool) -> Any:
    """Dispatcher of a function that kernels call; with `wrappers` Python may call it, too."""
    compiler = WholeCompiler if wrappers else VectorPartCompiler if vectors else PartCompiler
    njit: Any = numba.njit
    compiled = njit(**(options | {"pipeline_class": compiler}))(function)
    attach_flags(compiled)
    return compiled


def _let_go_on_failure(compiled: Any) -> None:
    """Release the locks of a kernel whose compilation failed, so that other processes do not wait for it."""
    compiler, ordinary = compiled._compiler, compiled._compiler.compile

    def compile(args: Any, return_type: Any) -> Any:
        try:
            return ordinary(args, return_type)
        except BaseException:
            compiled._cache.report_failure()
            raise

    compiler.compile = compile
