"""The functions that kernels call, on disk: each is compiled once, for all kernels of all processes.

A kernel's own file holds machine code of everything that it calls. Kernels of one family call mostly the same
functions, though, and a process that compiles another kernel than those before it takes from here what these were made
of: what Numba knows of a function, LLVM's code for callers that inline it, and machine code. A function is found by a
hash of all that decides about its code, as kernels are (`kernel_cache`), and its name holds this hash: whatever has one
name is one and the same code.
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
    """A function on disk, for some types of arguments."""

    name: str  # of the function in LLVM's code
    module: str  # where it is defined
    environment: str  # the name of what Numba calls its environment
    result: Any  # the type of what it gives back
    inlined: bool
    small: bool
    fails: bool
    bitcode: bytes
    code: bytes  # for the machine; empty where it is inlined
    calls: tuple[str, ...]  # keys of the functions that must be there with it


def attach_flags(dispatcher: Any) -> None:
    """Let the function know what it was compiled by: compilers are given the function alone."""
    dispatcher.py_func._compiled = dispatcher


def key_of(function: Any, kinds: Any, flags: Any, target: Any) -> str:
    """A hash of all that decides about the code of a function; empty if no other process would find it by that."""
    dispatcher = getattr(function, "_compiled", None)
    if dispatcher is None:
        return ""
    bundles = any(map(is_bundle, kinds))
    arguments = " ".join(map(_describe_read, kinds, fields_read(function))) if bundles else describe_types(kinds)
    if " at 0x" in arguments:  # a function as argument is known by its address
        return ""
    inherited = [getattr(flags, name, None) for name in ("boundscheck", "debuginfo", "dbg_extend_lifetime", "noalias")]
    name = f"{function.__module__}.{function.__qualname__}"  # others find it by that, in the code of its callers
    text = f"{name} {_fingerprint(dispatcher)} {arguments} {inherited} {target} {toolchain()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _describe_read(kind: Any, reads: Reads) -> str:
    """Text of what a function reads of an argument: of a bundle, only these fields."""
    if not is_bundle(kind) or WHOLE in reads or not reads.keys() <= set(kind.fields):
        return describe_types((kind,))
    own = zip(kind.fields, kind, strict=True)
    fields = [(name, _describe_read(one, reads[name])) for name, one in own if name in reads]
    return f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}{kind.fields}{fields}"


@cache
def _fingerprint(dispatcher: Any) -> str:
    return fingerprint(dispatcher)


def read(key: str) -> CachedFunction | None:
    """A function from its file; None if there is none. A damaged or unreadable file is as good as none."""
    file = _file(key)
    try:
        kept = CachedFunction(*pickle.loads(file.read_bytes()))
    except Exception:
        return None
    mark_used(file)
    return kept


def write(key: str, kept: CachedFunction) -> None:
    """Keep a function; if that fails, it costs time later. `kernel_cache` warns of a folder it cannot write to."""
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
