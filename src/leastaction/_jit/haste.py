"""What shortens Numba's own work while one of our kernels is compiled, and for that time only."""

import contextlib
import gc
import hashlib
import operator
from collections.abc import Callable, Hashable, Iterator
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import newpassmanagers
from numba import types
from numba.core import config, errors, event, ir, itanium_mangler, postproc
from numba.core.base import BaseContext
from numba.core.codegen import JITCPUCodegen
from numba.core.types.functions import BaseFunction
from numba.core.typing.context import BaseContext as TypingContext

from .background import second_thread

__all__ = ["cuda_in_haste", "in_haste"]

_CALLS = frozenset(getattr(operator, name) for name in operator.__all__) | {bool, range}
_PLAIN = (types.Number, types.Boolean, types.Array, types.BaseTuple, types.Record, types.SliceType)
_at_work = False


@contextlib.contextmanager
def in_haste() -> Iterator[None]:
    """Within, no garbage is collected, and Numba looks things up once instead of again and again.

    LLVM has one lock: while the second thread is at work, this one waits in each call of it. So calls that only ask for
    what is known, or of no use, are left out. Compilations come one at a time (Numba has a lock), so that no other one
    is touched.
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
            _instead(types.NamedTuple, "__hash__", _remembered_hash()),
            _instead(ir.Inst, "_rec_list_vars", _variables_of(ir)),
            _instead(itanium_mangler, "mangle", _short_names(itanium_mangler.mangle)),
            _instead(_llvm_lock(), "_cblist", []),  # Numba has every call of LLVM told to all its timers
            _instead(event, "install_timer", _no_timer),  # each is told of all that goes on inside of it
            _instead(type(errors.termcolor()), "_markup", _as_it_is),
            _instead(config, "reload_config", _always(None)),  # done for the kernel
            _instead(JITCPUCodegen, "magic_tuple", _remembered(JITCPUCodegen.magic_tuple)),
            _instead(TypingContext, "resolve_value_type", _remembering_values(TypingContext.resolve_value_type)),
            _instead(BaseContext, "get_function", _remembering_failures(BaseContext.get_function)),
            _instead(postproc.PostProcessor, "run", _without_lives(postproc)),
            _instead(BaseContext, "get_abi_sizeof", _remembered_size(BaseContext.get_abi_sizeof)),
            _instead(llvm, "get_process_triple", _always(llvm.get_process_triple())),
            _instead(newpassmanagers, "dump_refprune_stats", _always(newpassmanagers.dump_refprune_stats())),
            second_thread(),
        ):
            yield
    finally:
        _at_work = False
        if collecting:
            gc.enable()


@contextlib.contextmanager
def cuda_in_haste() -> Iterator[None]:
    """`in_haste` for kernels of a GPU; numba-cuda has its own copy of much of Numba."""
    try:
        base, instructions, names, codegen, after, told, said = map(import_module, (f"numba.cuda.{n}" for n in _COPIES))
    except ImportError:  # the simulator of CUDA, or another version of it
        yield
        return
    size = _remembered_size(base.BaseContext.get_abi_sizeof)
    with (
        in_haste(),
        _instead(base.BaseContext, "get_abi_sizeof", size),
        _instead(base.BaseContext, "get_function", _remembering_failures(base.BaseContext.get_function)),
        _instead(after.PostProcessor, "run", _without_lives(after)),
        _instead(told, "install_timer", _no_timer),
        _instead(type(said.termcolor()), "_markup", _as_it_is),
        _instead(instructions.Inst, "_rec_list_vars", _variables_of(instructions)),
        _instead(names, "mangle", _short_names(names.mangle)),
        _instead(codegen.CUDACodeLibrary, "modules", property(_modules)),
    ):
        yield


_COPIES = ("core.base", "core.ir", "itanium_mangler", "codegen", "core.postproc", "core.event", "core.errors")


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


def _always(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


@contextlib.contextmanager
def _no_timer(kind: str, callback: Any) -> Iterator[None]:
    """In place of Numba's clock for the time that its threads wait for one another."""
    yield


def _as_it_is(self: Any, text: str, *args: Any, **kwargs: Any) -> str:
    """Words of errors without colours: Numba catches thousands of its own, and asks the terminal for each."""
    return text


def _remembered(ordinary: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What a method without arguments gave the first time."""
    known: dict[int, tuple[Any, Any]] = {}

    def method(self: Any) -> Any:
        if id(self) not in known:
            known[id(self)] = ordinary(self), self  # kept: an id may be given again
        return known[id(self)][0]

    return method


def _remembering_failures(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Look once for code that a type may have of its own, for what every type has: Numba reads all registries again."""
    missing: set[Any] = set()

    def get_function(self: Any, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        if not isinstance(fn, str) or fn not in _OPTIONAL:
            return ordinary(self, fn, sig, _firstcall)
        key = (fn, sig.args)
        if key in missing:
            raise NotImplementedError
        try:
            return ordinary(self, fn, sig, _firstcall)
        except NotImplementedError:
            missing.add(key)
            raise

    return get_function


_OPTIONAL = ("static_getitem", "static_setitem", "__array__")


def _remembering_values(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Find the type of an operator once: Numba asks first whether it is an array, a number, ..."""
    known: dict[Any, Any] = {}

    def resolve_value_type(self: Any, value: Any) -> Any:
        if not callable(value) or not isinstance(value, Hashable) or value not in _CALLS:
            return ordinary(self, value)
        key = (id(self), value)
        if key not in known:
            known[key] = ordinary(self, value)
        return known[key]

    return resolve_value_type


def _without_lives(module: Any) -> Callable[..., Any]:
    """`PostProcessor.run` of `numba.core.postproc` or its like, which is called after every pass.

    Without the variables that live in each block: only generators and code that works on Python's objects ask for them.
    """
    ordinary = module.PostProcessor.run

    def run(self: Any, emit_dels: bool = False, **options: Any) -> None:
        code = self.func_ir
        if code.is_generator:
            ordinary(self, emit_dels, **options)
            return
        code.blocks = module.transforms.canonicalize_cfg(code.blocks)
        code.variable_lifetime = module.VariableLifetime(code.blocks)
        code.generator_info = None
        if emit_dels:
            self._insert_var_dels(**options)

    return run


def _llvm_lock() -> Any:
    return getattr(llvm.ffi.lib, "_lock", None)


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


def _short_names(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Let names of functions tell them apart by a hash of the types of their arguments.

    Numba's own hold every field of every record of every bundle, ten thousand letters, in each call of each function:
    more text for LLVM than code, and nine tenths of a kernel's file.
    """

    def mangle(name: str, kinds: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        if isinstance(uid, str):  # a key of `parts`, which tells all: tags list sets, in another order in each process
            return ordinary(name, (), abi_tags=(), uid=uid)
        told = "\n".join([*map(str, kinds), *map(str, abi_tags)])
        return ordinary(name, (), abi_tags=(hashlib.sha256(told.encode()).hexdigest()[:24],), uid=uid)

    return mangle


def _remembered_hash() -> Callable[[Any], int]:
    """Hash the type of a bundle once: for that, Numba goes through all that is in it."""
    known: dict[int, tuple[int, Any]] = {}

    def hash_of(self: Any) -> int:
        found = known.get(id(self))
        if found is None:
            found = known[id(self)] = hash(self.key), self  # kept: an id may be given again
        return found[0]

    return hash_of


def _remembered_size(ordinary: Callable[..., Any]) -> Callable[..., Any]:
    """Ask LLVM once for the size of a type: it takes a module, and waits for the second thread."""
    known: dict[str, Any] = {}

    def get_abi_sizeof(self: Any, kind: Any) -> Any:
        name = str(kind)
        if name not in known:
            known[name] = ordinary(self, kind)
        return known[name]

    return get_abi_sizeof


def _variables_of(ir: Any) -> Callable[..., Any]:
    """`Inst._rec_list_vars` of `numba.core.ir` or its like, frequent cases first; it runs some million times."""
    # The IR of numba-cuda may hold Numba's own.
    variables, others = getattr(ir, "var_types", (ir.Var,)), (*getattr(ir, "loc_types", (ir.Loc,)), str)
    instructions = getattr(ir, "inst_types", ir.Inst)

    def list_variables(self: Any, value: Any) -> list[Any]:
        if type(value) in variables:
            return [value]
        if isinstance(value, (dict, list, tuple)):
            found = []
            for item in value.values() if isinstance(value, dict) else value:
                kind = type(item)
                if kind in variables:
                    found.append(item)
                elif kind not in others:
                    found += list_variables(self, item)
            return found
        return value.list_vars() if isinstance(value, instructions) else []

    return list_variables
