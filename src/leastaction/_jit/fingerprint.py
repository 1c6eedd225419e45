"""A hash of everything that determines the machine code of a kernel.

It is computed from Numba's input: the bytecode of the function and of every function that it reaches through its
globals, and the values of the constants that they name. It does not read their sources, so edits of comments,
docstrings and functions that kernels do not call leave it unchanged, as do edits after the import. The one exception is
the compiler hooks, whose files are hashed whole (`toolchain`).
"""

import enum
import hashlib
import platform
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import config, types

__all__ = ["describe_types", "fingerprint", "toolchain"]

_FOREIGN = frozenset(sys.stdlib_module_names) | {"llvmlite", "numba", "numpy", "scipy"}
"""Packages whose functions are identified by name, since their versions are part of the hash."""

_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), slice, range)


def fingerprint(dispatcher: Any) -> str:
    """Hash of a compiled function's code and options, and of all code and constants that it reaches; 64 hex digits."""
    digest = hashlib.sha256()
    reached, waiting = {id(dispatcher)}, [dispatcher]
    while waiting:
        content, references = _own(waiting.pop())
        digest.update(content)
        for reference in references:
            if id(reference) not in reached:
                reached.add(id(reference))
                waiting.append(reference)
    return digest.hexdigest()


def describe_types(kinds: Any) -> str:
    """Text of Numba types, one per type; Numba's own text omits the field names of named tuples."""
    words = [str(kinds)]
    waiting: list[Any] = list(kinds)
    for kind in waiting:
        if hasattr(kind, "instance_class"):
            words.append(f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}{kind.fields}")
        if isinstance(kind, types.BaseTuple):
            waiting += kind  # pyright: ignore[reportOperatorIssue]
    return " ".join(words)


@cache
def toolchain() -> str:
    """Text of the remaining inputs: versions, settings of Numba that change code, and a hash of our compiler hooks."""
    versions = [platform.python_implementation(), sys.version_info[:2], numba.__version__, llvmlite.__version__]
    settings = [getattr(config, name, None) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML")]
    names = (
        "dispatchers",
        "function_cache",
        "libraries",
        "lowering",
        "machine_code",
        "numba_patches",
        "optimizer",
        "pipeline",
        "reads",
    )
    here = Path(__file__).parent
    files = [here / "decorators.py", here / "hooks/vectors.py", *(here / f"hooks/{name}.py" for name in names)]
    ways = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return f"{versions} {np.__version__} {settings} {ways}"


@cache
def _own(function: Any) -> tuple[bytes, list[Any]]:
    """(Hash of one function without its callees, its callees: plain or compiled functions of ours or of the user)."""
    words: list[str] = []
    references: list[Any] = []
    compiler = getattr(function, "_compiler", None)
    if compiler is not None:
        # The fast-math flags of the dispatcher itself are those for CUDA.
        _describe(compiler.targetoptions, words, references)
        words.append(compiler.pipeline_class.__name__)
    source = getattr(function, "py_func", None) or getattr(function, "_defn", function)
    _describe_code(source.__code__, source.__doc__, words, references)
    for name, value in _globals(source):
        words.append(name)
        _describe(value, words, references)
    for cell in source.__closure__ or ():
        _describe(cell.cell_contents, words, references)
    _describe((source.__defaults__, source.__kwdefaults__), words, references)
    return hashlib.sha256("\n".join(words).encode()).digest(), references


def _globals(function: FunctionType) -> list[tuple[str, Any]]:
    """Names and values that a function may read from its module, and from other modules by attribute."""
    names = sorted(_names(function.__code__))
    found = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    for _, value in found:  # `found` grows while iterating: modules in modules
        if isinstance(value, ModuleType) and not _is_foreign(value.__name__):
            found += [(f"{value.__name__}.{name}", vars(value)[name]) for name in names if name in vars(value)]
    return found


def _names(code: CodeType) -> set[str]:
    """The names of globals and attributes in a piece of code and in those nested in it."""
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*nested)


def _describe_code(code: CodeType, doc: str | None, words: list[str], references: list[Any]) -> None:
    """Append the content of a code object, without file name and line numbers."""
    words.append(f"{code.co_code.hex()} {code.co_flags} {code.co_argcount} {code.co_kwonlyargcount} {code.co_names}")
    words.append(f"{code.co_varnames} {code.co_freevars} {code.co_cellvars} {code.co_exceptiontable.hex()}")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _describe_code(constant, None, words, references)
        else:
            _describe(None if constant is doc else constant, words, references)


def _describe(value: Any, words: list[str], references: list[Any]) -> None:
    """Append the text of a constant, or the name of a function, which is also appended to the references."""
    kind = type(value)
    if kind in _SCALARS:
        words.append(f"{kind.__name__} {value!r}")
    elif isinstance(value, (dict, tuple, list)):
        words.append(f"{kind.__qualname__} {len(value)} {getattr(kind, '_fields', '')}")
        for item in value.items() if isinstance(value, dict) else value:
            _describe(item, words, references)
    elif isinstance(value, (set, frozenset)):
        words.append(f"{kind.__name__} {sorted(map(repr, value))}")
    elif isinstance(value, np.ndarray):
        words.append(
            f"array {value.dtype!r} {value.shape} {value.strides} {hashlib.sha256(value.tobytes()).hexdigest()}"
        )
    elif isinstance(value, ModuleType):
        words.append(f"module {value.__name__}")
    elif isinstance(value, enum.Enum):
        words.append(f"{kind.__qualname__} {value.name} {value.value!r}")
    elif isinstance(value, type):
        members = list(value.__members__.items()) if issubclass(value, enum.Enum) else ""
        words.append(f"class {value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')} {members}")
    elif hasattr(value, "py_func") or hasattr(value, "_defn") or isinstance(value, FunctionType):
        words.append(f"function {value.__module__}.{value.__qualname__}")
        if not _is_foreign(value.__module__):
            references.append(value)
    else:  # dtypes, NumPy scalars, Numba types, built-in functions; an address in the text only causes a recompilation
        words.append(f"{kind.__qualname__} {value!r}")


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] in _FOREIGN
