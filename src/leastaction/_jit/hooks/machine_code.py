"""Machine code of the functions that kernels call: emitted once, and loaded once by each process.

If a kernel were one module with all that it calls, each kernel would emit the machine code of all of it again. Here
every function that is not inlined has an object file of its own. Its symbol contains a hash of all inputs of its code
(`function_cache`), so a process that has it in memory does not load it again for another kernel.

This symbol must be unique: LLVM's loader has one symbol table for all object files, including internal functions, whose
arguments LLVM may have changed. So everything that other modules do not need is private, that is without a symbol.
"""

from typing import Any

import llvmlite.binding as llvm

__all__ = ["load", "make_private"]


def load(codegen: Any, name: str, code: bytes) -> None:
    """Load a function into memory for all callers of its symbol."""
    engine = codegen._engine
    loaded = vars(engine).setdefault("_parts", set())
    if name not in loaded:
        engine._ee.add_object_file(llvm.ObjectFileRef.from_data(code))
        loaded.add(name)


def make_private(module: Any) -> Any:
    """Make the parts in a module private; returns the module."""
    for function in module.functions:
        if function.linkage == llvm.Linkage.weak_odr:
            function.linkage = "private"
    return module
