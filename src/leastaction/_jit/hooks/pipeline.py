"""Numba's compilation pipeline, changed so that each function is compiled once.

Stock Numba optimises every function together with all its callees, and emits machine code, before its caller does the
same with both again. Functions that only kernels call (`Part`) are optimised once, with those that they inline, and
become machine code once; the entry point (`Whole`) calls it. They are cached on disk for the entry points of other
processes (`function_cache`).
"""

import inspect
from functools import partial
from types import CodeType
from typing import Any

from numba import (
    _dynfunc,  # pyright: ignore[reportAttributeAccessIssue]
    types,
)
from numba.core import ir, typing
from numba.core.compiler import Compiler, compile_result
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.errors import NumbaError
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes, TranslateByteCode

from .function_cache import key_of
from .libraries import Part, Whole, keep, known
from .lowering import LeanLowering, borrowed, caller_of
from .numba_patches import patched_numba
from .reads import take_code

__all__ = ["PartCompiler", "WholeCompiler"]


class WholeCompiler(Compiler):
    """Numba's compiler for functions that Python calls."""

    _library: Any = Whole

    def compile_extra(self, func: Any) -> Any:
        self.state.library = self._library(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.inlined = self.state.flags.forceinline
        self.state.library.counts = self.state.flags.nrt
        self.state.library.enable_object_caching()
        try:
            with patched_numba():
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
        """Passes without effect on this function: for closures, and for expressions that allocate arrays."""
        if self.state.flags.nrt:
            return set()
        nested = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        return {NopythonRewrites} if nested else {NopythonRewrites, InlineClosureLikes}


class PartCompiler(WholeCompiler):
    """Numba's compiler for functions that only kernels call."""

    _library = Part
    _key = ""

    def compile_extra(self, func: Any) -> Any:
        context = self.state.targetctx  # of this compilation only
        context.get_executable = _placeholder
        if self.state.flags.nrt:
            return super().compile_extra(func)
        context.insert_user_function = partial(_insert, context)
        with patched_numba():
            if self.state.return_type is None:
                self._key = key_of(func, self.state.args, self.state.flags, context.codegen().magic_tuple())
            library = known(self._key, context.codegen()) if self._key else None
            if library is not None:
                take_code(func)
                return self._take(func, library)
            compiled = super().compile_extra(func)
            keep(compiled.library, self._key, compiled.fndesc, compiled.environment)
        # The type information of every variable would stay in memory as long as the process.
        compiled.fndesc.typemap = compiled.fndesc.calltypes = None
        return compiled._replace(type_annotation="", metadata={})

    def define_pipelines(self) -> Any:
        if self._key:  # replaces a number that differs between processes
            identity = self.state.func_id
            identity.unique_id, identity.unique_name = self._key, f"{identity.func_qualname}${self._key}"
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (_TakeCode, step[1]) if step[0] is TranslateByteCode else step for step in pipeline.passes
            ]
            pipeline.finalize()
        return pipelines

    def _take(self, func: Any, library: Any) -> Any:
        """Numba's compile result of a function that is already available."""
        state, kept = self.state, library.kept
        args = tuple(state.args)
        fndesc = PythonFunctionDescriptor(
            native=True,
            modname=func.__module__,
            qualname=func.__qualname__,
            unique_name=f"{func.__qualname__}${self._key}",
            doc=func.__doc__ or "",
            typemap=None,
            restype=kept.result,
            calltypes=None,
            args=tuple(inspect.signature(func).parameters),
            kws=(),
            mangler=lambda *_, **__: kept.name,
            argtypes=args,
            inline=state.flags.forceinline,
            noalias=state.flags.noalias,
            env_name=kept.environment,
        )
        library.argtypes, fndesc.argtypes = args, borrowed(args)
        stand_in = _placeholder(library, fndesc, library.environment)
        state.targetctx.insert_user_function(stand_in, fndesc, [library])
        return compile_result(
            typing_context=state.typingctx,
            target_context=state.targetctx,
            entry_point=stand_in,
            library=library,
            signature=typing.signature(kept.result, *args),
            objectmode=False,
            lifted=(),
            fndesc=fndesc,
            environment=library.environment,
            metadata={},
            reload_init=[],
        )


def _lean(step: Any) -> Any:
    return (LeanLowering, step[1]) if step[0] is NativeLowering else step


def _insert(context: Any, function: Any, fndesc: Any, libraries: Any) -> None:
    """Register the signature and calling convention of a function with Numba."""
    call = caller_of(fndesc, libraries[0])
    context._defns[function].append(call, call.signature)


def _placeholder(library: Any, fndesc: Any, environment: Any) -> Any:
    """Stands for a function in Numba's tables, in place of a callable for Python."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, environment, (library,))


@register_pass(mutates_CFG=True, analysis_only=False)
class _TakeCode(TranslateByteCode):
    """`TranslateByteCode`, unless `reads` has already done it."""

    _name = "leastaction_take_code"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        code = take_code(state.func_id.func)
        if code is None:
            return super().run_pass(state)
        code.func_id, state.func_ir = state.func_id, code
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _CheckOwners(AnalysisPass):
    """Reject arrays passed between functions with and without reference counting.

    Kernels borrow all their arrays. Only kernels with `allocates=True` count references, and neither kind may take
    an array from the other: it would be freed twice, or never.
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
