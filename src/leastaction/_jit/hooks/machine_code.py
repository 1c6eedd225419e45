"""Machine code of the functions that kernels call: made once, and loaded once by each process.

A kernel could be one module with all that it calls, but then each kernel would take the time to make machine code of
all of it again. Here every function that stays one has an object file of its own. Its name in LLVM's code holds a hash
of all that decides about it (`function_cache`), so that a process that has it in memory has no need of it from
another kernel.

Nothing else may have that name: LLVM's loader looks in one table for the names of all object files, those of internal
functions among them, whose arguments LLVM may have changed. So what is of no concern to others is private: it has no
name at all.
"""

from typing import Any

import llvmlite.binding as llvm

__all__ = ["load", "make_private"]


def load(codegen: Any, name: str, code: bytes) -> None:
    """Have a function in memory for all that call it by its name."""
    engine = codegen._engine
    loaded = vars(engine).setdefault("_parts", set())
    if name not in loaded:
        engine._ee.add_object_file(llvm.ObjectFileRef.from_data(code))
        loaded.add(name)


def make_private(module: Any) -> Any:
    """Let nobody else see the parts in a module; gives it back."""
    for function in module.functions:
        if function.linkage == llvm.Linkage.weak_odr:
            function.linkage = "private"
    return module
