"""LLVM's share of a compilation: optimise functions with those that they inline, and emit machine code.

Run as a program, it works for another process (`optimizer_process`), so it imports nothing of this package.
"""

import os
import pickle
import sys
import threading
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen

__all__ = ["Function", "Optimizer", "made_for"]

_IDLE = 60.0
"""Seconds without a call after which an optimiser process ends: the next compilation starts another one."""


class Function(NamedTuple):
    """A function to be optimised."""

    number: int  # by which its callers refer to it
    text: str  # LLVM IR
    inlined: bool  # always into its callers: it is not optimised by itself
    reused: bool  # whether many others inline it
    vectors: bool  # see `vectors`
    within: tuple[int, ...]  # numbers of the functions that it always inlines
    visible: tuple[int, ...]  # numbers of those that LLVM may inline


class Optimizer:
    """Optimises functions, each after its callees."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen
        self._library: Any = JITCodeLibrary(codegen, "optimizer")  # has Numba's module passes
        self._bitcode: dict[int, bytes] = {}
        self._modules: dict[int, Any] = {}  # of reused functions, None until first needed

    def add(self, number: int, bitcode: bytes, reused: bool) -> None:
        """Add a function that is already optimised."""
        self._bitcode[number] = bitcode
        if reused:
            self._modules[number] = None

    def optimise(self, *function_fields: Any) -> bytes:
        """Bitcode of the module of a `Function`, whose symbols several modules may define."""
        function = Function(*function_fields)
        module = self._simplified(function.text)
        own = {other.name for other in module.functions if not other.is_declaration}
        self._link(module, function.within)
        if function.inlined:
            for other in module.functions:
                if not other.is_declaration and other.name not in own:
                    other.linkage = "internal"
        else:
            _hide(module, own, "internal")
            self._link(module, function.visible)
            _hide(module, own, "available_externally")
            module = self._optimised(module, function.vectors)
        for other in module.functions:
            if not other.is_declaration and other.linkage == llvm.Linkage.external:
                other.linkage = "weak_odr"  # linkonce_odr would be dropped, as nothing calls it yet
        bitcode = module.as_bitcode()
        self.add(function.number, bitcode, function.reused)
        if function.reused:
            self._modules[function.number] = module
        return bitcode

    def machine_code(self, number: int, name: str) -> bytes:
        """Object file of one function of a module, by its symbol; all else that it defines becomes private."""
        module = llvm.parse_bitcode(self._bitcode[number])
        for value in (*module.functions, *module.global_variables):
            if value.name == name:
                value.linkage = "external"
            elif not value.is_declaration and value.linkage != llvm.Linkage.available_externally:
                value.linkage = "private"
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, self._codegen._pass_builder())
        return self._codegen._tm.emit_object(module)

    def _simplified(self, text: str) -> Any:
        """Parse a module and apply LLVM's function passes."""
        module = llvm.parse_assembly(text)
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)
        return module

    def _link(self, module: Any, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            reused = number in self._modules
            other = self._modules.get(number) or llvm.parse_bitcode(self._bitcode[number])
            if reused:
                self._modules[number] = other
            module.link_in(other, preserve=reused)

    def _optimised(self, module: Any, vectors: bool) -> Any:
        """Apply Numba's module passes, or those with vectorisation."""
        if not vectors:
            self._library._final_module = module
            self._library._optimize_final_module()
            return self._library._final_module
        codegen = self._codegen
        cheap = {
            "loop_vectorize": codegen._loopvect,
            "slp_vectorize": False,
            "opt": codegen._opt_level,
            "cost": "cheap",
        }
        for options in (cheap, {"slp_vectorize": True}):
            passes, builder = codegen._module_pass_manager(**options)
            passes.run(module, builder)
        return module


def _hide(module: Any, own: set[str], linkage: str) -> None:
    for function in module.functions:
        if function.linkage == llvm.Linkage.weak_odr and function.name not in own:
            function.linkage = linkage


def made_for(codegen: Any) -> tuple[Any, ...]:
    """Inputs of code generation, which must be equal in two processes."""
    return codegen.magic_tuple(), str(codegen._data_layout), int(codegen._opt_level), llvm.llvm_version_info


def _serve() -> None:
    """Answer calls from standard input, one after another, until it ends."""
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    codegen: Any = JITCPUCodegen("optimizer")
    optimizer = Optimizer(codegen)
    pickle.dump(made_for(codegen), answers)
    answers.flush()
    while True:
        idle = threading.Timer(_IDLE, os._exit, (0,))
        idle.daemon = True
        idle.start()
        try:
            number, method, arguments = pickle.load(calls)
        except EOFError:
            return
        finally:
            idle.cancel()
        try:
            answer: Any = getattr(optimizer, method)(*arguments)
        except Exception as error:
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        pickle.dump((number, answer), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    _serve()
