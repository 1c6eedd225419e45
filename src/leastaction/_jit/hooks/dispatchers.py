"""Dispatchers of Numba whose functions are compiled and kept by this package."""

from typing import Any

import numba

from .function_cache import attach_flags
from .kernel_cache import KernelCache
from .pipeline import PartCompiler, WholeCompiler
from .vectors import VectorPartCompiler

__all__ = ["entry_dispatcher", "inner_dispatcher"]


def entry_dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """A function for Python to call, kept on disk."""
    # A wrapper for calls from C would be a second copy of all that the first does with the arguments.
    njit: Any = numba.njit
    compiled = njit(**({"pipeline_class": WholeCompiler, "no_cfunc_wrapper": True} | options))(function)
    compiled._cache = KernelCache(compiled)
    _let_go_on_failure(compiled)
    return compiled


def inner_dispatcher(function: Any, options: dict[str, Any], *, wrappers: bool, vectors: bool) -> Any:
    """A function for kernels to call, for Python, too, with `wrappers`."""
    compiler = WholeCompiler if wrappers else VectorPartCompiler if vectors else PartCompiler
    njit: Any = numba.njit
    compiled = njit(**(options | {"pipeline_class": compiler}))(function)
    attach_flags(compiled)
    return compiled


def _let_go_on_failure(compiled: Any) -> None:
    """Let other processes not wait for a kernel that could not be compiled."""
    compiler, ordinary = compiled._compiler, compiled._compiler.compile

    def compile(args: Any, return_type: Any) -> Any:
        try:
            return ordinary(args, return_type)
        except BaseException:
            compiled._cache.report_failure()
            raise

    compiler.compile = compile
