"""Code libraries of LLVM: of functions that kernels call, and of kernels, which are linked from these."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import count
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys

from .function_cache import CachedFunction, read, write
from .machine_code import load, make_private
from .optimizer import Function
from .optimizer_process import machine_code, optimised

__all__ = ["Part", "Whole", "keep", "known", "write_all"]

_SMALL = 1500
"""Number of instructions, before optimisation, below which LLVM's cost model may inline a function."""


class Part(JITCodeLibrary):
    """The code of one function, to be linked into an entry point.

    Functions that are always inlined are stored as they are; others are optimised together with those that they inline.
    Their modules are made in another process (`optimizer_process`) and waited for where an entry point needs them.
    """

    counts = False  # references to arrays
    borrows = True  # named tuples are passed by reference, see `lowering`
    fails = True  # whether it may raise an exception; until that is known
    inlined = False
    small = False
    vectors = False  # see `vectors`
    argtypes: Any = ()
    kept: CachedFunction | None = None  # without its bitcode and machine code
    environment: Any = None
    key = ""
    _alone: Any = None
    _module: Any = None  # parsed module of a function that many others inline, on demand
    bitcode: Callable[[], bytes]  # bitcode of its module
    code: Callable[[], bytes]  # machine code of a function that is `kept` and not inlined

    def __init__(self, codegen: Any, name: str) -> None:
        CodeLibrary.__init__(self, codegen, name)  # without an empty module
        self._linking_libraries: list[Any] = []
        self._shared_module = None
        self.number = next(_NUMBERS)

    def add_ir_module(self, ir_module: Any) -> None:
        self._raise_if_finalized()
        self.small = sum(len(block.instructions) for f in ir_module.functions for block in f.blocks) < _SMALL
        text = cgutils.normalize_ir_text(str(ir_module))
        _take_apart(ir_module)
        if self.inlined:
            within = [library for library in self._linking_libraries if not isinstance(library, Part)]
            for library in within:
                _reload_with(self, library)
                self._linking_libraries.remove(library)
            visible = []
        else:
            within, visible = _inlined_by(self), [other for other in _called_by(self) if other.small]
        inside, beside = [*map(_named, within)], [*map(_named, visible)]
        numbers = (tuple(other.number for other in others) for others in (inside, beside))
        function = Function(self.number, text, self.inlined, self.reused, self.vectors, *numbers)
        self.bitcode = optimised(self._codegen, function, (*inside, *beside))

    def add_linking_library(self, library: Any) -> None:
        if self.counts or library is not rtsys.library:  # the runtime system counts references
            super().add_linking_library(library)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def module(self) -> Any:
        """The module, whose symbols several modules may define."""
        if self._module is not None:
            return self._module
        module = llvm.parse_bitcode(self.bitcode())
        if self.reused:
            self._module = module
        return module

    @property
    def reused(self) -> bool:
        """Whether many others inline it. Other modules are stored as bytes, which take less memory."""
        return self.inlined or self.small

    def _get_module_for_linking(self) -> Any:
        """Module for code that this package does not compile, with everything that the function needs."""
        if self._alone is None:
            self._alone = Whole(self._codegen, self.name)
            self._alone._final_module = self.module().clone()
            for function in self._alone._final_module.functions:
                if function.linkage == llvm.Linkage.weak_odr:
                    function.linkage = "external"
            self._alone._linking_libraries = self._linking_libraries
            self._alone.finalize()
        return self._alone._get_module_for_linking()


_NUMBERS = count()


class _Other:
    """Code of Numba itself, as a numbered function for those that inline it."""

    reused = True

    def __init__(self, library: Any) -> None:
        self.number = next(_NUMBERS)
        self.bitcode = library._get_module_for_linking().as_bitcode


_OTHERS: dict[Any, _Other] = {}


def _named(library: Any) -> Part | _Other:
    """The numbered object of a library."""
    if isinstance(library, Part):
        return library
    if library not in _OTHERS:
        _OTHERS[library] = _Other(library)
    return _OTHERS[library]


def _take_apart(ir_module: Any) -> None:
    """Free a module of llvmlite that was converted to text. It has reference cycles, a third of the work of the garbage
    collector (a first pendulum: 390 MB in place of 450)."""
    for function in ir_module.functions:
        for block in function.blocks:
            block.instructions.clear()
            block.terminator = block.parent = None
        function.blocks.clear()
        function.args, function.return_value = (), None
    ir_module.globals.clear()


def _reload_with(library: Any, other: Any) -> None:
    """Copy the calls that another library makes when loaded; older releases of Numba have none."""
    if hasattr(library, "_reload_init"):
        library._reload_init.update(other._reload_init)


def _link(module: Any, libraries: Iterable[Any]) -> None:
    for library in libraries:
        other = library.module() if isinstance(library, Part) else library._get_module_for_linking()
        module.link_in(other, preserve=not isinstance(library, Part) or library.reused)


class Whole(JITCodeLibrary):
    """The code of one function that Python calls; machine code of its callees is separate, made only once."""

    borrows = False
    argtypes: Any = ()
    parts: tuple[Part, ...] = ()  # whose machine code it calls

    def _optimize_functions(self, ll_module: Any) -> None:
        """Skip this: the passes over the whole module repeat it, and most of the code only passes arguments."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._codegen._check_llvm_bugs()
        reached = [*_reached(self)]
        for library in reached:
            _reload_with(self, library)
        _link(self._final_module, _inlined_by(self))
        make_private(self._final_module)  # removes functions that were inlined everywhere
        self._optimize_final_module()
        called = [library for library in reached if _stays(library)]
        self.parts = tuple(part for part in called if part.kept is not None)
        _link(self._final_module, (part for part in called if part.kept is None))
        make_private(self._final_module)
        self._final_module.verify()
        for part in self.parts:
            load(self._codegen, part.kept.name, part.code())  # pyright: ignore[reportOptionalMemberAccess]
        self._finalize_final_module()
        write_all()

    def serialize_using_object_code(self) -> Any:
        """Content for `kernel_cache`: machine code, and bitcode for inlining, of the function and all that it calls."""
        own = self.name, self._get_compiled_object(), super()._get_module_for_linking().as_bitcode()
        others = [(part.kept.name, part.code(), part.bitcode()) for part in self.parts if part.kept is not None]
        return self.name, "object", (own, *others)

    def _get_module_for_linking(self) -> Any:
        """Module for code that this package does not compile, with everything that the function needs."""
        own = super()._get_module_for_linking()
        if not self.parts:
            return own
        whole = own.clone()
        _link(whole, self.parts)
        return make_private(whole)

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        codegen: Any = self._codegen
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv") and not variable.is_declaration:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    codegen.set_env(variable.name, environment)


def _reached(library: Any, through: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    """The libraries that a function needs, each once: its own and, `through` selected parts, those of its parts."""
    waiting, seen = [*library._linking_libraries], set()
    for other in waiting:  # grows while iterating
        if other not in seen:
            seen.add(other)
            yield other
            if isinstance(other, Part) and through(other):
                waiting += other._linking_libraries


def _inlined_by(library: Any) -> list[Any]:
    """The libraries to link before a function is optimised: all except parts that are not inlined."""
    return [other for other in _reached(library, lambda part: part.inlined) if not _stays(other)]


def _called_by(part: Part) -> list[Any]:
    """The parts that a part, or one that it inlines, calls."""
    return [other for other in _reached(part, lambda part: part.inlined) if _stays(other)]


def _stays(library: Any) -> bool:
    """Whether it is a part that is not inlined."""
    return isinstance(library, Part) and not library.inlined


_PARTS: dict[str, Part] = {}
"""The functions of this process that are on disk, or will be, by their keys."""


def known(key: str, codegen: Any) -> Part | None:
    """A function from disk, with all that it calls; None where any of it is missing."""
    if key in _PARTS:
        return _PARTS[key]
    kept = read(key)
    called = None if kept is None else [known(other, codegen) for other in kept.calls]
    if kept is None or called is None or None in called:
        return None
    library = Part(codegen, kept.name)
    library.key, library.kept, library._linking_libraries = key, kept._replace(bitcode=b"", code=b""), called
    library.inlined, library.small, library.fails = kept.inlined, kept.small, kept.fails
    library.bitcode, library.code = (lambda: kept.bitcode), (lambda: kept.code)
    # Numba's modules find the environment by its name.
    library.environment = Environment.from_fndesc(
        SimpleNamespace(env_name=kept.environment, lookup_globals=lambda: vars(import_module(kept.module)))
    )
    library.finalize()
    _PARTS[key] = library
    return library


def keep(library: Part, key: str, fndesc: Any, environment: Any) -> None:
    """Schedule a function for the disk cache, unless it is valid in this process only."""
    needed = library._linking_libraries if library.inlined else _called_by(library)
    dynamic = fndesc.global_dict is not None or getattr(library, "_reload_init", ()) or environment.consts
    if not key or dynamic or any(getattr(other, "kept", None) is None for other in needed):
        return
    names = fndesc.mangled_name, fndesc.modname, fndesc.env_name
    flags = library.inlined, library.small, library.fails
    calls = tuple(dict.fromkeys(other.key for other in needed))
    library.kept = CachedFunction(*names, fndesc.restype, *flags, b"", b"", calls)
    library.key, library.environment = key, environment
    _PARTS[key] = library
    library.code = bytes if library.inlined else machine_code(library._codegen, library, library.kept.name)
    _UNWRITTEN.append(library)


_UNWRITTEN: list[Part] = []
"""Functions to be written to disk when their code is ready."""


def write_all() -> None:
    """Write the functions compiled since the last call to disk."""
    while _UNWRITTEN:
        library = _UNWRITTEN.pop()
        kept, bitcode = library.kept, library.bitcode()
        if kept is not None and not any(name in bitcode for name in _ADDRESSES):
            write(library.key, kept._replace(bitcode=bitcode, code=library.code()))


_ADDRESSES = (b"numba.dynamic.globals", b".numba.unresolved$")
"""Parts of symbols that are valid in this process only."""
