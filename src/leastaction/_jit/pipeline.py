"""How Numba is made to compile a kernel once.

Left alone, Numba optimises every function together with all that it calls, and makes machine code of it, before its
caller does the same with both again. Functions that only kernels call (`Part`) are optimised once, with those that they
inline and in a second thread; the entry point (`Whole`) links all of them and makes machine code once.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType
from typing import Any

import llvmlite.binding as llvm
from numba import (
    _dynfunc,  # pyright: ignore[reportAttributeAccessIssue]
    types,
)
from numba.core import cgutils, ir
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.errors import NumbaError
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

from .background import in_background
from .haste import in_haste
from .lowering import LeanLowering, caller_of

__all__ = ["PartCompiler", "WholeCompiler"]

_SMALL = 1500
"""Instructions, before any are optimised away, of functions that LLVM may inline where it thinks that it pays."""


class Part(JITCodeLibrary):
    """The code of one function, to be linked into an entry point.

    Functions that are inlined are kept by themselves; others are optimised together with those they inline.
    """

    borrows = True  # bundles are passed by reference, see `lowering`
    fails = True  # until it is known
    inlined = False
    small = False
    argtypes: Any = ()
    _alone: Any = None
    _ready: Any = None

    def __init__(self, codegen: Any, name: str) -> None:
        CodeLibrary.__init__(self, codegen, name)  # without an empty module
        self._linking_libraries: list[Any] = []
        self._shared_module = None

    def add_ir_module(self, ir_module: Any) -> None:
        self._raise_if_finalized()
        self.small = sum(len(block.instructions) for f in ir_module.functions for block in f.blocks) < _SMALL
        text = cgutils.normalize_ir_text(str(ir_module))
        self._ready = in_background(_optimised_alone if self.inlined else _optimised, self, text)

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def module(self) -> Any:
        """The module, whose symbols any number of modules may define."""
        return self._ready.result()

    def _get_module_for_linking(self) -> Any:
        """What code that is not compiled by us gets: everything that the function needs."""
        if self._alone is None:
            self._alone = Whole(self._codegen, self.name)
            self._alone._final_module = self.module().clone()
            for function in self._alone._final_module.functions:
                if function.linkage == llvm.Linkage.weak_odr:
                    function.linkage = "external"
            self._alone._linking_libraries = self._linking_libraries
            self._alone.finalize()
        return self._alone._get_module_for_linking()


def _optimised_alone(part: Part, text: str) -> Any:
    """The module of a function that is inlined."""
    return _shared(_simplified(part, text))


def _optimised(part: Part, text: str) -> Any:
    """The module of a function with those it inlines."""
    module = _simplified(part, text)
    own = {function.name for function in module.functions if not function.is_declaration}
    _link(module, _inlined_by(part))
    _hide(module, own, "internal")
    _link(module, _small_ones(part))
    _hide(module, own, "available_externally")  # LLVM may inline them
    _optimise(part, module)
    return _shared(module)


def _hide(module: Any, own: set[str], linkage: str) -> None:
    for function in module.functions:
        if function.linkage == llvm.Linkage.weak_odr and function.name not in own:
            function.linkage = linkage


def _small_ones(library: Any) -> list[Any]:
    """The small functions that a function, or one that it inlines, calls."""
    found = _reached(library, lambda part: part.inlined)
    return [other for other in found if isinstance(other, Part) and other.small and not other.inlined]


def _simplified(part: Part, text: str) -> Any:
    """The module of a function after LLVM's passes over single functions."""
    codegen: Any = part._codegen
    module = llvm.parse_assembly(text)
    module.data_layout = codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = codegen._function_pass_manager()
            passes.run(function, builder)
    return module


def _optimise(library: Any, module: Any) -> None:
    """Numba's passes over a whole module."""
    library._final_module = module
    library._optimize_final_module()


def _shared(module: Any) -> Any:
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external:
            function.linkage = "weak_odr"  # linkonce_odr would be left out where nothing calls it yet
    return module


def _link(module: Any, libraries: Iterable[Any]) -> None:
    for library in libraries:
        other = library.module() if isinstance(library, Part) else library._get_module_for_linking()
        module.link_in(other, preserve=True)


class Whole(JITCodeLibrary):
    """The code of one function and of all that it calls."""

    borrows = False
    argtypes: Any = ()

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._codegen._check_llvm_bugs()
        reached = [*_reached(self)]
        for library in reached:
            self._reload_init.update(library._reload_init)
        _link(self._final_module, _inlined_by(self))
        self._make_internal()  # what is inlined everywhere goes
        self._optimize_final_module()
        _link(self._final_module, (part for part in reached if isinstance(part, Part) and not part.inlined))
        self._make_internal()
        self._final_module.verify()
        self._finalize_final_module()

    def _make_internal(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.weak_odr:
                function.linkage = "internal"

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        codegen: Any = self._codegen
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv") and not variable.is_declaration:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    codegen.set_env(variable.name, environment)


def _reached(library: Any, through: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    """The libraries that a function needs, each once: its own, and `through` some of its parts those of parts."""
    waiting, seen = [*library._linking_libraries], set()
    for other in waiting:  # grows
        if other not in seen:
            seen.add(other)
            yield other
            if isinstance(other, Part) and through(other):
                waiting += other._linking_libraries


def _inlined_by(library: Any) -> list[Any]:
    """The libraries to link before a function is optimised: all but those of parts that stay functions."""
    found = _reached(library, lambda part: part.inlined)
    return [other for other in found if not isinstance(other, Part) or other.inlined]


class WholeCompiler(Compiler):
    """Numba's compiler, for functions that Python calls."""

    _library: Any = Whole

    def compile_extra(self, func: Any) -> Any:
        self.state.library = self._library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.inlined = self.state.flags.forceinline
        self.state.library.enable_object_caching()
        try:
            with in_haste():
                return super().compile_extra(func)
        except NumbaError as error:
            if "NRT required" in str(error) and "allocates" not in str(error):
                error.add_context(f"{func.__qualname__} makes an array: declare it with allocates=True")
            raise

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        needless = self._needless_passes()
        for pipeline in pipelines:
            pipeline.add_pass_after(_CheckOwners, NopythonTypeInference)
            pipeline.passes = [step for step in pipeline.passes if step[0] not in needless]
            if not self.state.flags.nrt:
                pipeline.passes = [_lean(step) for step in pipeline.passes]
            pipeline.finalize()
        return pipelines

    def _needless_passes(self) -> set[Any]:
        """Passes that find nothing in this function: about closures, and about expressions that make arrays."""
        if self.state.flags.nrt:
            return set()
        nested = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        return {NopythonRewrites} if nested else {NopythonRewrites, InlineClosureLikes}


class PartCompiler(WholeCompiler):
    """Numba's compiler, for functions that only kernels call."""

    _library = Part

    def compile_extra(self, func: Any) -> Any:
        context = self.state.targetctx  # of this compilation only
        context.get_executable = _stand_in
        if not self.state.flags.nrt:
            context.insert_user_function = partial(_insert, context)
        return super().compile_extra(func)


def _lean(step: Any) -> Any:
    return (LeanLowering, step[1]) if step[0] is NativeLowering else step


def _insert(context: Any, function: Any, fndesc: Any, libraries: Any) -> None:
    """Tell Numba how a function is called."""
    call = caller_of(fndesc, libraries[0])
    context._defns[function].append(call, call.signature)


def _stand_in(library: Any, fndesc: Any, environment: Any) -> Any:
    """What stands for a function in Numba's tables, in place of something that Python could call."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, environment, (library,))


@register_pass(mutates_CFG=False, analysis_only=True)
class _CheckOwners(AnalysisPass):
    """Refuse arrays that pass between functions that count references and functions that do not.

    Kernels borrow all their arrays. Only one that was declared with `allocates=True` counts references, and neither
    kind can take an array from the other: it would be freed twice, or never.
    """

    _name = "leastaction_check_owners"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        counts = bool(state.flags.nrt)
        name = state.func_id.func_qualname
        if not counts and not state.flags.no_cpython_wrapper and _holds_arrays(state.return_type):
            raise NumbaError(f"entry point {name} gives back an array: declare it with allocates=True")
        for call, signature in state.calltypes.items():
            if isinstance(call, ir.Expr) and call.op == "call" and _holds_arrays(signature.return_type):
                called = state.typemap[call.func.name]
                if isinstance(called, types.Dispatcher) and called.dispatcher.targetoptions.get("_nrt", True) != counts:
                    raise NumbaError(
                        f"{name} takes an array from {called.dispatcher.py_func.__qualname__}, which has "
                        "another value of allocates"
                    )
        return False


def _holds_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_holds_arrays, kind)))  # pyright: ignore
