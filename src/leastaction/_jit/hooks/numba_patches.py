"""What shortens Numba's own work while one of our kernels is compiled, and for that time only.

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
    """Within, no garbage is collected, operators are looked up once per types, names of functions are short, locks are
    not timed, messages have no colours, and the lifetimes of variables are only computed where they are used.

    Compilations come one at a time (Numba has a lock), so that no other one is touched.
    """
    global _at_work
    if _at_work:  # a function that a kernel calls
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
"""Instructions of functions that stay functions in kernels which are compiled `apart`. NVVM would put each into all
that call it, until one function holds everything, many times over: an hour in place of a minute."""


@contextlib.contextmanager
def patched_numba_cuda(apart: bool = False) -> Iterator[None]:
    """`patched_numba` for kernels of a GPU; numba-cuda has its own copy of much of Numba.

    Args:
        apart: whether large functions are to be called, not put into those that call them.
    """
    try:
        names, codegen = import_module("numba.cuda.itanium_mangler"), import_module("numba.cuda.codegen")
    except ImportError:  # the simulator of CUDA, or another version of it
        yield
        return
    with (
        patched_numba(),
        _instead(names, "mangle", _short_names(names.mangle)),
        _instead(codegen.CUDACodeLibrary, "modules", property(_modules_apart if apart else _modules)),
    ):
        yield


def _modules(library: Any) -> list[Any]:
    """The modules of a function and of all that it calls, each once; numba-cuda has one for each way to get to it."""
    found, waiting, seen = [], [library], set()
    for other in waiting:  # grows
        if id(other) in seen:
            continue
        seen.add(id(other))
        if hasattr(other, "_module"):  # else it is code of another kind
            found.append(other._module)
            waiting += other._linking_libraries
    return found


def _modules_apart(library: Any) -> list[Any]:
    """The same, of which large functions stay functions."""
    modules = _modules(library)
    for module in modules:
        keep_large_functions(module)
    return modules


def keep_large_functions(module: Any) -> None:
    """Mark the large functions of a module of llvmlite's as not to be inlined; not a kernel, which nothing calls."""
    if "llvm.used" in module.globals:
        return
    for function in module.functions:
        size = sum(len(block.instructions) for block in function.blocks)
        if size > LARGE and "alwaysinline" not in function.attributes:
            function.attributes.add("noinline")


@contextlib.contextmanager
def _instead(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let an attribute have another value; a version without this attribute is left as it is."""
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

    Kernels hold thousands of sums, products and indexings of the same few types, and Numba goes through all families
    of implementations for each, some forty of indexing.
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
            known[key] = (found, self, context)  # kept: an id may be given again
        return known[key][0]

    return get_call_type


def _but_of_locks(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out the events of locks: one at every call of LLVM, told to a timer of every function being compiled."""

    def trigger(kind: str, *args: Any, **kwargs: Any) -> None:
        if kind not in ("numba:llvm_lock", "numba:compiler_lock"):
            ordinary(kind, *args, **kwargs)

    return trigger


def _without_colours(scheme: Any, message: str, *_: Any, **__: Any) -> str:
    """In place of escape sequences around a message, for which Numba wraps the terminal each time: it raises and
    catches thousands of errors, and composes the message of each, to find the functions that suit some types."""
    return message


def _lazy_lifetimes(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Do not list the variables that live at the beginning of each block, five times a function: generators and
    Python's own code ask for them."""

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        code = self.func_ir
        if emit_dels or code.is_generator:
            return ordinary(self, emit_dels, extend_lifetimes)
        code.blocks = canonicalize_cfg(code.blocks)
        code.variable_lifetime, code.generator_info = VariableLifetime(code.blocks), None
        return None

    return run


def _short_names(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Make names of functions unique by a hash of the types of their arguments.

    Numba's own hold every field of every record of every bundle, ten thousand letters, in each call of each function:
    more text for LLVM than code, and nine tenths of a kernel's file.
    """

    def mangle(name: str, kinds: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        if isinstance(
            uid, str
        ):  # a key of `function_cache`, which holds all: tags list sets, in another order in each process
            return ordinary(name, (), abi_tags=(), uid=uid)
        text = "\n".join([*map(str, kinds), *map(str, abi_tags)])
        return ordinary(name, (), abi_tags=(hashlib.sha256(text.encode()).hexdigest()[:24],), uid=uid)

    return mangle
