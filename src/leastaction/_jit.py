"""How leastaction compiles its kernels.

Three decorators, all built on Numba:

- ``inline`` for small pure functions on tuples: inlined into their caller;
- ``routine`` for larger kernels, called by entry points;
- ``entry`` for the few functions Python calls: compiled at the first call, then kept on disk.

A kernel on disk holds the code of everything it calls, so the directory that keeps it is named after a hash of
the sources it may have been made from: after an edit of one of them, nothing old is found. The formulations that
no other part calls (`LEAVES`) have directories of their own, so an edit there leaves the rest compiled.
Environment variables:

- ``LEASTACTION_CACHE_DIR``: where kernels are kept, in place of the user's cache directory;
- ``LEASTACTION_QUIET=1``: no line on stderr when an entry point is compiled;
- ``LEASTACTION_WRAPPERS=1``: Python calls ``inline`` and ``routine`` functions directly, in 1 us not 40 us,
  but kernels take twice as long to compile;
- ``NUMBA_DISABLE_JIT=1``: compiles nothing; every kernel is plain Python, open to a debugger.
"""

import contextlib
import hashlib
import importlib
import inspect
import os
import re
import secrets
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config

__all__ = ["ENTRIES", "LISTENERS", "cache_directory", "cuda_ptx", "cuda_source", "entry", "inline", "routine"]

ENTRIES: list[Any] = []
"""Every entry point defined so far, in order of definition."""

KERNEL_FREE = (
    *("__init__.py", "__main__.py", "_display", "_export.py", "_output.py", "_warmup.py", "cli", "errors.py"),
    *(
        "derivatives",
        "formats",
        "plot",
        "registry.py",
        "robots",
        "simulate.py",
        "trajectory.py",
        "trajectory_bodies.py",
    ),
    "view",
)
"""Parts of the package whose sources do not decide about kernels; none of them may define any."""

LEAVES: dict[str, tuple[str, ...]] = {
    "contact": (),
    "linear_implicit": ("contact",),
    "maximal": ("contact",),
    "raster": (),
    "redmax": ("contact",),
}
"""Parts whose kernels no other part calls, but for those that name them: each part, and the leaves it calls."""

LISTENERS: list[Callable[[str, float | None], None]] = []
"""Called with (name of an entry point, None) before it is compiled, and with the seconds it took after; while there
are any, nothing is printed."""

CORE = ""
"""The name of the part that holds all sources that belong to no leaf."""

_IMPORTED_AT = time.time()
_PACKAGE = Path(__file__).resolve().parent
_KEEP_SECONDS = 30 * 24 * 3600.0

# FMA and reordering, but NaN and infinity keep their meaning. x / 0 gives infinity, not an exception.
_MATH: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
_WRAPPERS = os.environ.get("LEASTACTION_WRAPPERS", "0") not in ("", "0")


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small pure function so that LLVM always inlines it into its caller."""
    return _inner(function, _MATH | {"forceinline": True})


def routine(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel that other kernels call. Keyword options go to ``numba.njit``."""
    if function is None:
        return lambda function: routine(function, **options)
    return _inner(function, _MATH | options)


def entry(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel that Python calls, and keep it on disk. Keyword options go to ``numba.njit``."""
    if function is None:
        return lambda function: entry(function, **options)
    compiled: Any = numba.njit(**(_MATH | options))(function)
    if compiled is not function:  # else NUMBA_DISABLE_JIT is set
        _exact_on_gpu(compiled)
        compiled._cache = _KernelCache(function)
    ENTRIES.append(compiled)
    return compiled


def _inner(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function for other kernels to call.

    Numba's wrapper for calls from Python doubles the time to compile, so it is left out. A call from Python
    goes to a twin of the function that has one; without, it would crash the process.
    """
    bare: dict[str, Any] = {"no_cpython_wrapper": not _WRAPPERS, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(**(options | bare))(function)
    if compiled is function:  # NUMBA_DISABLE_JIT is set
        return compiled
    _exact_on_gpu(compiled)
    if not _WRAPPERS:
        njit: Any = numba.njit(**options)
        twin = cache(lambda: njit(function))
        compiled._insert = lambda *args, **kwargs: None  # what Python may call directly: nothing
        compiled._compile_for_args = lambda *args, **kwargs: twin()._compile_for_args(*args, **kwargs)
    return compiled


def _exact_on_gpu(compiled: Any) -> None:
    """Keep CUDA kernels that call this function from approximating.

    They compile it anew with the options they find on it, and take any set of fast-math flags for leave to
    use the GPU's rough single-precision sine and its like. The CPU compiler holds the true options already.
    """
    compiled.targetoptions = compiled.targetoptions | {"fastmath": False}


def cache_directory(part: str = CORE) -> Path:
    """The directory that holds the compiled kernels of a part, made from these very sources; it may not exist."""
    return _cache_root() / f"kernels-{_source_hash(part)}"


def _cache_root() -> Path:
    """The directory that holds one sub-directory for each version of the sources."""
    if chosen := os.environ.get("LEASTACTION_CACHE_DIR"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "leastaction"


def _part(path: Path) -> str:
    """The part of the package that a source file belongs to."""
    first = path.relative_to(_PACKAGE).parts[0] if path.is_relative_to(_PACKAGE) else CORE
    return first if first in LEAVES or first in KERNEL_FREE else CORE


@cache
def _sources() -> dict[str, list[Path]]:
    """The package's source files, by part."""
    parts: dict[str, list[Path]] = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        parts.setdefault(_part(path), []).append(path)
    return parts


def _kernel_sources(part: str) -> list[Path]:
    """The source files that decide about the kernels of a part: its own, the core's and those of leaves it calls."""
    wanted = (CORE,) if part == CORE else (CORE, part, *LEAVES[part])
    return [path for name in wanted for path in _sources().get(name, ())]


@cache
def _source_hash(part: str) -> str:
    """Hash of a part's sources (names and contents) and of the Numba settings that change their code."""
    settings = [getattr(config, name, None) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")]
    digest = hashlib.sha256(f"{part} {settings}".encode())
    for path in _kernel_sources(part):
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(_PACKAGE).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:20]


def _sources_changed(part: str) -> bool:
    """Whether a source file changed after the import: then its hash is not that of the code in memory."""
    return any(path.stat().st_mtime > _IMPORTED_AT for path in _kernel_sources(part))


class _Locator(caching._CacheLocator):
    """Tells Numba where the kernels of a function are kept, and what they were made from."""

    def __init__(self, function: Callable[..., Any]):
        self._py_file = inspect.getfile(function)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_directory(_part(Path(self._py_file).resolve())))

    def get_source_stamp(self) -> str:
        # The directory's name covers the package; an entry point of another package brings its own file.
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Serializer(caching.CompileResultCacheImpl):
    """Numba's serializer of kernels, with our locator and files named after the full module path."""

    def __init__(self, function: Callable[..., Any]):
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function)
        name = f"{function.__module__}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _Files(caching.IndexDataCacheFile):
    """Numba's files of one function, with random names: processes at work at once never share a data file."""

    def _data_name(self, number: int) -> str:
        return self._data_name_pattern.format(number=secrets.randbits(64))


class _DiskCache(caching.FunctionCache):
    """Numba's cache of one function, with our serializer and files."""

    _impl_class: Any = _Serializer

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)


class _KernelCache(caching._Cache):
    """The cache of one entry point, opened at its first compilation. If it fails, that only costs time.

    Numba asks it for a kernel before it compiles one and hands it the new one after, so it can tell the time.
    """

    _complained = False

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._part = _part(Path(inspect.getfile(function)).resolve())
        self._disk: _DiskCache | None = None
        self._started: dict[Any, float] = {}

    def _open(self) -> _DiskCache | None:
        if self._disk is None:
            self._disk = _DiskCache(self._function)
        return None if _sources_changed(self._part) else self._disk

    @property
    def cache_path(self) -> str | None:
        return None if self._disk is None else self._disk.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            if (disk := self._open()) is not None:
                kernel = disk.load_overload(sig, target_context)
                if kernel is not None:
                    _mark_used(Path(disk.cache_path))
                    return kernel
        except Exception:  # a damaged or unreadable file is as good as none
            pass
        self._started[sig] = time.perf_counter()
        _tell(self._function.__name__)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        seconds = time.perf_counter() - self._started.pop(sig, time.perf_counter())
        fate = "cached for next time" if self._save(sig, data) else "not cached"
        _tell(self._function.__name__, seconds, fate)

    def _save(self, sig: Any, data: Any) -> bool:
        try:
            if (disk := self._open()) is None or not disk._impl.check_cachable(data):
                return False
            try:
                disk.save_overload(sig, data)
            except OSError:
                raise
            except Exception:  # a damaged index: begin a new one
                disk.flush()
                disk.save_overload(sig, data)
            _mark_used(Path(disk.cache_path))
            _remove_unused(_cache_root())
            return True
        except Exception as error:
            if not _KernelCache._complained:
                _KernelCache._complained = True
                warnings.warn(
                    f"leastaction cannot keep compiled kernels ({error}), so every process compiles its own; "
                    "set LEASTACTION_CACHE_DIR to a writable directory",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return False

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        if (disk := self._open()) is not None:
            disk.flush()


def _tell(name: str, seconds: float | None = None, fate: str = "") -> None:
    """Say that an entry point is being compiled (without `seconds`) or was compiled: to listeners, else on stderr."""
    for listener in LISTENERS:
        listener(name, seconds)
    quiet = os.environ.get("LEASTACTION_QUIET", "0") not in ("", "0")
    if LISTENERS or quiet or sys.stderr is None:
        return
    terminal = sys.stderr.isatty()
    if seconds is not None:
        again = "\r\033[K" if terminal else ""  # in place of the line that announced it
        print(f"{again}leastaction: compiled {name} in {seconds:.1f} s ({fate})", file=sys.stderr, flush=True)
    elif terminal:
        print(f"leastaction: compiling {name}, once ...", end="", file=sys.stderr, flush=True)


@cache
def _mark_used(directory: Path) -> None:
    """Set the directory's time to now, once a process: the age that `_remove_unused` looks at."""
    with contextlib.suppress(OSError):  # a read-only cache still serves
        os.utime(directory)


@cache
def _remove_unused(root: Path) -> None:
    """Remove the kernels of other sources that no process has used for 30 days; looks once a process."""
    in_use = [cache_directory(part) for part in (CORE, *LEAVES)]
    for directory in root.iterdir():
        ours = re.fullmatch(r"kernels-[0-9a-f]{20}", directory.name) and directory not in in_use
        if ours and time.time() - directory.stat().st_mtime > _KEEP_SECONDS:
            shutil.rmtree(directory, ignore_errors=True)


def cuda_source(function: Any) -> Callable[..., Any]:
    """The plain Python function under a decorated one, for ``numba.cuda.jit`` to make a kernel of.

    Only the kernel itself needs this: it may call our compiled functions as they are.
    """
    return getattr(function, "py_func", function)


def cuda_ptx(kernel: Any, signature: Any, *, capability: tuple[int, int] = (9, 0)) -> str:
    """PTX text of a CUDA kernel for argument types `signature`. Needs numba-cuda[cu12] or [cu13], no GPU."""
    from types import SimpleNamespace
    from unittest import mock

    cuda: Any = importlib.import_module("numba.cuda")
    # numba-cuda asks the present GPU for its compute capability whenever a kernel calls another function.
    gpu = SimpleNamespace(compute_capability=capability)
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=gpu):
        ptx, _ = cuda.compile(cuda_source(kernel), signature, cc=capability, device=False, abi="numba")
    return str(ptx)
