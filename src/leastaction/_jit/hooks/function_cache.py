"""Disk cache of the functions that kernels call: each is compiled once, for all kernels of all processes.

A kernel's own file contains the machine code of everything that it calls. But kernels of one family call mostly the
same functions, and a process that compiles another kernel loads from here what earlier ones were made of: Numba's
description of a function, LLVM bitcode for callers that inline it, and machine code. The key of a function is a hash of
all inputs of its code, as for kernels (`kernel_cache`), and its symbol contains this hash: equal symbols are equal
code.
"""

import contextlib
import hashlib
import os
import pickle
import secrets
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numba.core.serialize import dumps

from ..fingerprint import describe_types, fingerprint, toolchain
from ..folders import functions_directory, mark_used, remove_unused
from .lowering import is_bundle
from .reads import WHOLE, Reads, fields_read

__all__ = ["CachedFunction", "attach_flags", "key_of", "read", "write"]


class CachedFunction(NamedTuple):
    """A function on disk, for given argument types."""

    name: str  # symbol of the function in LLVM IR
    module: str  # the module that defines it
    environment: str  # symbol of Numba's environment
    result: Any  # return type
    inlined: bool
    small: bool
    fails: bool
    bitcode: bytes
    code: bytes  # machine code; empty where it is inlined
    calls: tuple[str, ...]  # keys of the functions that must be loaded with it


def attach_flags(dispatcher: Any) -> None:
    """Attach the compilation flags to the function, since compilers get the function alone."""
    dispatcher.py_func._compiled = dispatcher


def key_of(function: Any, kinds: Any, flags: Any, target: Any) -> str:
    """A hash of all inputs of a function's code; empty if other processes would not find it by that."""
    dispatcher = getattr(function, "_compiled", None)
    if dispatcher is None:
        return ""
    bundles = any(map(is_bundle, kinds))
    arguments = " ".join(map(_describe_read, kinds, fields_read(function))) if bundles else describe_types(kinds)
    if " at 0x" in arguments:  # the type contains the address of a function argument
        return ""
    inherited = [getattr(flags, name, None) for name in ("boundscheck", "debuginfo", "dbg_extend_lifetime", "noalias")]
    name = f"{function.__module__}.{function.__qualname__}"  # the symbol in the code of its callers
    text = f"{name} {_fingerprint(dispatcher)} {arguments} {inherited} {target} {toolchain()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _describe_read(kind: Any, reads: Reads) -> str:
    """Text of the parts of an argument that a function reads: for a named tuple only these fields."""
    if not is_bundle(kind) or WHOLE in reads or not reads.keys() <= set(kind.fields):
        return describe_types((kind,))
    own = zip(kind.fields, kind, strict=True)
    fields = [(name, _describe_read(one, reads[name])) for name, one in own if name in reads]
    return f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}{kind.fields}{fields}"


@cache
def _fingerprint(dispatcher: Any) -> str:
    return fingerprint(dispatcher)


def read(key: str) -> CachedFunction | None:
    """A function from its file; None if it is missing, damaged or unreadable."""
    file = _file(key)
    try:
        kept = CachedFunction(*pickle.loads(file.read_bytes()))
    except Exception:
        return None
    mark_used(file)
    return kept


def write(key: str, kept: CachedFunction) -> None:
    """Write a function to disk; a failure only costs time. `kernel_cache` warns of a folder that is not writable."""
    file = _file(key)
    unfinished = file.with_name(f"{file.name}-{secrets.token_hex(8)}")
    with contextlib.suppress(Exception):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_bytes(dumps(tuple(kept)))
            os.replace(unfinished, file)
        finally:
            unfinished.unlink(missing_ok=True)
        remove_unused(file.parent)


def _file(key: str) -> Path:
    return functions_directory() / f"{key}.part"
