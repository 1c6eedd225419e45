"""Disk cache of kernels: one file per entry point, argument types and all other inputs of the machine code."""

import contextlib
import hashlib
import pickle
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as lir
from numba.core import caching
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from leastaction._files._output import writing

from ..fingerprint import describe_types, fingerprint, toolchain
from ..folders import cache_directory, mark_used, remove_unused
from ..messages import report_compilation, report_failure, subject
from ..prebuilt import FOLDER, prebuilt_target
from .compile_lock import CompileLock
from .machine_code import load, make_private

__all__ = ["KernelCache", "without_bitcode"]


class KernelCache(caching._Cache):
    """The cache of one entry point. Failures only cost time.

    Numba asks it for a kernel before it compiles one and passes it the new one after, so it can measure the time.
    """

    _complained = False

    def __init__(self, dispatcher: Any):
        self._dispatcher = dispatcher
        self._name = subject(dispatcher.py_func)
        self._fingerprint = ""
        self._started: dict[Any, float] = {}
        self._locks: dict[Any, CompileLock] = {}

    @property
    def cache_path(self) -> str:
        return str(cache_directory())

    def file_name(self, sig: Any, target: Any) -> str:
        """File name of a kernel for argument types `sig` and a processor (a `Codegen.magic_tuple`)."""
        if not self._fingerprint:
            self._fingerprint = fingerprint(self._dispatcher)
        arguments = describe_types(sig if isinstance(sig, tuple) else sig.args)
        key = f"{self._fingerprint} {arguments} {target} {toolchain()}"
        function = self._dispatcher.py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")
        return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.nbc"

    def _files(self, sig: Any, codegen: Any) -> Iterator[Path]:
        """Possible files of the kernel: that of this machine first."""
        yield cache_directory() / self.file_name(sig, codegen.magic_tuple())
        if (target := prebuilt_target()) is not None:
            yield FOLDER / self.file_name(sig, target)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        started = time.perf_counter()
        with contextlib.suppress(Exception):  # without a name the kernel is compiled
            files = [*self._files(sig, target_context.codegen())]
            kernel = _read_any(files, target_context)
            if kernel is None and self._take_lock(sig, files[0]):
                kernel = _read_any(files, target_context)
                if kernel is not None:
                    self.release_lock(sig)
                    report_compilation(self._name, time.perf_counter() - started, "by another process")
            if kernel is not None:
                return kernel
        self._started[sig] = time.perf_counter()
        report_compilation(self._name)
        return None

    def _take_lock(self, sig: Any, file: Path) -> bool:
        """Acquire the lock for compiling the kernel; whether another process held it until now."""
        lock = self._locks[sig] = CompileLock(file)
        if lock.take():
            return False
        report_compilation(self._name)
        lock.wait()
        return True

    def release_lock(self, sig: Any) -> None:
        """Let other processes read the kernel."""
        if (lock := self._locks.pop(sig, None)) is not None:
            lock.release()

    def report_failure(self) -> None:
        """Report a failed compilation and release its locks, so that other processes try for themselves."""
        report_failure(self._name)
        for sig in [*self._locks]:
            self.release_lock(sig)

    def save_overload(self, sig: Any, data: Any) -> None:
        seconds = time.perf_counter() - self._started.pop(sig, time.perf_counter())
        fate = "cached for next time" if self._save(sig, data) else "not cached"
        self.release_lock(sig)
        report_compilation(self._name, seconds, fate)

    def _save(self, sig: Any, data: Any) -> bool:
        if data.library.has_dynamic_globals or any(not loop.can_cache for loop in data.lifted):
            return False  # it holds addresses of this process
        try:
            file = cache_directory() / self.file_name(sig, data.codegen.magic_tuple())
            file.parent.mkdir(parents=True, exist_ok=True)
            with writing(file) as part:
                part.write_bytes(dumps(data._reduce()))
            data.library._shared_module = None  # a copy made for the file
            remove_unused(file.parent)
            return True
        except Exception as error:
            if not KernelCache._complained:
                KernelCache._complained = True
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
        pass


def _read_any(files: list[Path], target_context: Any) -> Any:
    """The kernel from the first readable file, or None."""
    kernels = (_read(file, target_context) for file in files)
    return next((kernel for kernel in kernels if kernel is not None), None)


def _read(file: Path, target_context: Any) -> Any:
    """A kernel from its file; None if it is missing, damaged or unreadable."""
    try:
        kept = pickle.loads(file.read_bytes())
        with _lazy(target_context.codegen(), kept[1]):
            kernel = CompileResult._rebuild(target_context, *kept)
    except Exception:
        return None
    if file.parent != FOLDER:
        mark_used(file)
    return kernel


class Loaded(JITCodeLibrary):
    """The code of a kernel from its file; bitcode for inlining it elsewhere is parsed only on demand.

    Parsing takes two thirds of the loading time, and only user functions that call a kernel need it. Kernels of wheels
    have no bitcode (`without_bitcode`): functions that call them find them by their symbols, in this process only.
    """

    bitcodes: tuple[bytes, ...] = ()

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and not all(self.bitcodes):
            self._shared_module = _of_this_process(self._codegen)
        if self._shared_module is None:
            self._shared_module, *others = map(llvm.parse_bitcode, self.bitcodes)
            for other in others:
                self._shared_module.link_in(other)
            make_private(self._shared_module)
        return self._shared_module


def _of_this_process(codegen: Any) -> Any:
    """A module that makes Numba treat code linked to it as not cacheable for other processes."""
    module = lir.Module()
    mark: Any = lir.GlobalVariable(module, lir.IntType(8), "numba.dynamic.globals.leastaction")
    mark.linkage, mark.initializer = "weak", lir.Constant(lir.IntType(8), 0)
    parsed = llvm.parse_assembly(str(module))
    parsed.data_layout, parsed.triple = codegen._data_layout, codegen._tm.triple
    return parsed


def without_bitcode(kernel: bytes) -> bytes:
    """The content of a kernel's file without the bitcode for inlining, which is four fifths of it."""
    (name, kind, codes), *others = pickle.loads(kernel)
    return dumps(((name, kind, tuple((part, code, b"") for part, code, _ in codes)), *others))


@contextlib.contextmanager
def _lazy(codegen: Any, function: Any) -> Iterator[None]:
    """Context manager in which Numba restores a kernel as `Loaded`; `function`: its descriptor."""

    def unserialize(kept: Any) -> Any:
        name, _, (own, *others) = kept
        library: Any = Loaded(codegen, name)
        library.bitcodes = tuple(bitcode for _, _, bitcode in (own, *others))
        for part, code, _ in others:
            load(codegen, part, code)
        library.enable_object_caching()
        library._set_compiled_object(own[1])
        library._finalize_final_module()
        # Numba would read the names of all symbols from the bitcode.
        codegen._engine._defined_symbols |= {function.llvm_func_name, function.llvm_cpython_wrapper_name}
        return library

    codegen.unserialize_library = unserialize
    try:
        yield
    finally:
        del codegen.unserialize_library
