"""Patches that shorten Numba's own work while one of our kernels is compiled, active only then.

CPU seconds of a first pendulum without any of it: 14.5 in place of 12.5.
"""

import contextlib
import gc
import hashlib
import operator
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from numba import types
from numba.core import errors, event, itanium_mangler
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.types.functions import BaseFunction

__all__ = ["keep_large_functions", "patched_numba", "patched_numba_cuda"]

_CALLS = frozenset(getattr(operator, name) for name in operator.__all__) | {bool, range}
_PLAIN = (types.Number, types.Boolean, types.Array, types.BaseTuple, types.Record, types.SliceType)
_at_work = False


@contextlib.contextmanager
def patched_numba() -> Iterator[None]:
    """Context manager that disables garbage collection, caches lookups of operators by types, shortens symbols, skips
    the timing of locks and colours in messages, and computes lifetimes of variables only on demand.

    Compilations run one at a time (Numba has a lock), so no other one is affected.
    """
    global _at_work
    if _at_work:  # nested: a function that a kernel calls
        yield
        return
    collecting = gc.isenabled()
    gc.disable()
    _at_work = True
    try:
        with (
            _instead(BaseFunction, "get_call_type", _remembering(BaseFunction.get_call_type)),
            _instead(itanium_mangler, "mangle", _short_names(itanium_mangler.mangle)),
            _instead(event, "start_event", _but_of_locks(event.start_event)),
            _instead(event, "end_event", _but_of_locks(event.end_event)),
            _instead(getattr(errors, "HighlightColorScheme", None), "_markup", _without_colours),
            _instead(PostProcessor, "run", _lazy_lifetimes(PostProcessor.run)),
        ):
            yield
    finally:
        _at_work = False
        if collecting:
            gc.enable()


LARGE = 500
"""Instructions of functions that are not inlined in kernels compiled `apart`. NVVM would inline each into all of its
callers, until one function contains everything, many times over: an hour in place of a minute."""


@contextlib.contextmanager
def patched_numba_cuda(apart: bool = False) -> Iterator[None]:
    """`patched_numba` for GPU kernels; numba-cuda has its own copy of much of Numba.

    Args:
        apart: whether large functions are called in place of inlined.
    """
    try:
        names, codegen = import_module("numba.cuda.itanium_mangler"), import_module("numba.cuda.codegen")
    except ImportError:  # the CUDA simulator, or another version
        yield
        return
    with (
        patched_numba(),
        _instead(names, "mangle", _short_names(names.mangle)),
        _instead(codegen.CUDACodeLibrary, "modules", property(_modules_apart if apart else _modules)),
    ):
        yield


def _modules(library: Any) -> list[Any]:
    """The modules of a function and of all that it calls, each once; numba-cuda has one for each path to it."""
    found, waiting, seen = [], [library], set()
    for other in waiting:  # grows while iterating
        if id(other) in seen:
            continue
        seen.add(id(other))
        if hasattr(other, "_module"):  # otherwise code of another kind
            found.append(other._module)
            waiting += other._linking_libraries
    return found


def _modules_apart(library: Any) -> list[Any]:
    """The same, with large functions marked as not to be inlined."""
    modules = _modules(library)
    for module in modules:
        keep_large_functions(module)
    return modules


def keep_large_functions(module: Any) -> None:
    """Mark the large functions of a llvmlite module as not to be inlined; not a kernel, which nothing calls."""
    if "llvm.used" in module.globals:
        return
    for function in module.functions:
        size = sum(len(block.instructions) for block in function.blocks)
        if size > LARGE and "alwaysinline" not in function.attributes:
            function.attributes.add("noinline")


@contextlib.contextmanager
def _instead(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute temporarily; a version without this attribute is left unchanged."""
    if not hasattr(owner, name):
        yield
        return
    ordinary = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, ordinary)


def _remembering(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Look up an operator once per combination of types of numbers, arrays, records and tuples.

    Kernels contain thousands of sums, products and indexings of the same few types, and Numba searches all families of
    implementations for each, some forty for indexing.
    """
    known: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or self.typing_key not in _CALLS:
            return ordinary(self, context, args, kws)
        key = (id(self), id(context), args)
        if key not in known:
            found = ordinary(self, context, args, kws)
            if not all(isinstance(a, _PLAIN) for a in args):
                return found
            known[key] = (found, self, context)  # keeps the objects alive, so that their ids are not reused
        return known[key][0]

    return get_call_type


def _but_of_locks(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Skip the events of locks: one at every LLVM call, sent to a timer of every function being compiled."""

    def trigger(kind: str, *args: Any, **kwargs: Any) -> None:
        if kind not in ("numba:llvm_lock", "numba:compiler_lock"):
            ordinary(kind, *args, **kwargs)

    return trigger


def _without_colours(scheme: Any, message: str, *_: Any, **__: Any) -> str:
    """Return a message without escape sequences. Numba wraps the terminal for each: to find functions that suit some
    types it raises and catches thousands of errors, and composes the message of each."""
    return message


def _lazy_lifetimes(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Do not list the live variables at the beginning of each block, five times a function: only generators and Python
    code need them."""

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if emit_dels or code.is_generator:
            return ordinary(self, emit_dels, extend_lifetimes)
        code.blocks = canonicalize_cfg(code.blocks)
        code.variable_lifetime, code.generator_info = VariableLifetime(code.blocks), None
        return None

    return run


def _short_names(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Make symbols of functions unique by a hash of their argument types.

    Numba's own contain every field of every record of every named tuple, ten thousand characters, in each call of each
    function: more text for LLVM than code, and nine tenths of a kernel's file.
    """

    def mangle(name: str, kinds: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        if isinstance(
            uid, str
        ):  # a key of `function_cache`, which contains all: tags list sets, whose order differs between processes
            return ordinary(name, (), abi_tags=(), uid=uid)
        text = "\n".join([*map(str, kinds), *map(str, abi_tags)])
        return ordinary(name, (), abi_tags=(hashlib.sha256(text.encode()).hexdigest()[:24],), uid=uid)

    return mangle
