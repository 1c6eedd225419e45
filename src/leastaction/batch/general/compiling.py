"""Kernels of a GPU from much code, compiled in a minute instead of in an hour."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from leastaction._jit import faster_cuda

LONG_NAME = 100
"""Names with more letters are shortened. Numba's hold the types of all arguments, with every field of every record, and
stand in each line of assembly text that loads one: hundreds of megabytes of them."""

LARGE = 500
"""Functions of more lines of LLVM's code than this stay functions. NVVM would put each into all that call it, until one
function holds everything, many times over."""


@contextmanager
def in_parts() -> Iterator[None]:
    """Within, kernels are compiled as functions that call each other, by short names."""
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    ordinary = nvvm.compile_ir
    nvvm.compile_ir = lambda code, **options: ordinary(parted(code), **options)
    try:
        with faster_cuda():
            yield
    finally:
        nvvm.compile_ir = ordinary


def parted(code: str | Sequence[str]) -> list[str]:
    """LLVM's code of the functions of a kernel, which has one that is marked as used, so that it stays as it is."""
    modules = [code] if isinstance(code, str) else code
    kernels = {
        name
        for module in modules
        for used in re.finditer(r'@"?llvm\.used"? = [^\n]*', module)
        for name in re.findall(r'@"([^"]+)"', used.group(0))
    }

    def shortened(found: re.Match[str]) -> str:
        name = found.group(1)
        return found.group(0) if name in kernels else f'@"f{hashlib.sha256(name.encode()).hexdigest()[:24]}"'

    return [_apart(re.sub(rf'@"([^"]{{{LONG_NAME},}})"', shortened, module), kernels) for module in modules]


def _apart(module: str, kernels: set[str]) -> str:
    """The code of a function, marked as one to be called where it is large."""
    start = module.find("\ndefine ")
    if start < 0 or module.count("\n") <= LARGE:
        return module
    end = module.index("\n{", start)
    head = module[start:end]
    if "alwaysinline" in head or any(name in head for name in kernels):
        return module
    return f"{module[:end]} noinline{module[end:]}"
