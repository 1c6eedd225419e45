"""Disk cache of GPU kernels, next to those of the CPU: machine code for one compute capability."""

import contextlib
import hashlib
import pickle
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from leastaction._files._output import writing

from .fingerprint import describe_types, fingerprint, toolchain
from .folders import cache_directory, mark_used, remove_unused
from .messages import report_compilation

__all__ = ["GpuKernelCache", "cached_gpu_kernel"]


def cached_gpu_kernel(dispatcher: Any, name: str, *ways: Any) -> Any:
    """Let a kernel of `numba.cuda.jit` be cached on disk; returns the kernel.

    Args:
        dispatcher: of the kernel; on the CUDA simulator, where nothing is compiled, it is returned unchanged.
        name: of the kernel in messages.
        ways: further text that determines its machine code.
    """
    if hasattr(dispatcher, "_cache"):
        dispatcher._cache = GpuKernelCache(dispatcher, name, " ".join(map(str, ways)))
    return dispatcher


class GpuKernelCache:
    """The cache of one kernel, with the interface that numba-cuda expects. Failures only cost time."""

    def __init__(self, dispatcher: Any, name: str, ways: str) -> None:
        self._dispatcher, self._name, self._ways = dispatcher, name, ways
        self._fingerprint = ""
        self._started: dict[Any, float] = {}

    @property
    def cache_path(self) -> str:
        return str(cache_directory())

    def file(self, sig: Any, target: Any) -> Path:
        """File of the kernel for argument types `sig` and a GPU (a `Codegen.magic_tuple`)."""
        if not self._fingerprint:
            self._fingerprint = fingerprint(self._dispatcher)
        versions = import_module("numba_cuda").__version__
        key = f"{self._fingerprint} {describe_types(sig)} {target} {versions} {toolchain()} {self._ways}"
        words = "".join(c if c.isalnum() else "_" for c in self._name)
        return cache_directory() / f"gpu.{words}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        with contextlib.suppress(Exception):  # missing, of another version, or damaged
            file = self.file(sig, target_context.codegen().magic_tuple())
            kernel = _rebuilt(pickle.loads(file.read_bytes()), sig)
            kernel.bind()
            mark_used(file)
            return kernel
        self._started[sig] = time.perf_counter()
        report_compilation(self._name)
        return None

    def save_overload(self, sig: Any, kernel: Any) -> None:
        seconds = time.perf_counter() - self._started.pop(sig, time.perf_counter())
        try:
            file = self.file(sig, kernel.codegen.magic_tuple())
            file.parent.mkdir(parents=True, exist_ok=True)
            with writing(file) as part:
                part.write_bytes(pickle.dumps(_reduced(kernel)))
            remove_unused(file.parent)
            fate = "cached for next time"
        except Exception as error:  # such as a directory that is not writable
            fate = f"not cached: {error}"
        report_compilation(self._name, seconds, fate)

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        pass


def _reduced(kernel: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(Kernel state without types, which the lookup determines, and without texts, which are never read again)."""
    states = kernel._reduce_states() | {"call_helper": None, "signature": None}
    library = states.pop("codelibrary")._reduce_states()
    return states, library | {"llvm_strs": [], "ptx_cache": {}, "linkerinfo_cache": {}}


def _rebuilt(reduced: tuple[dict[str, Any], dict[str, Any]], sig: Any) -> Any:
    states, library = reduced
    dispatcher, codegen, typing, types = (
        import_module(f"numba.cuda.{name}") for name in ("dispatcher", "codegen", "typing", "types")
    )
    code = codegen.CUDACodeLibrary._rebuild(**library)
    signature = typing.signature(types.none, *sig)
    return dispatcher._Kernel._rebuild(**(states | {"codelibrary": code, "signature": signature}))
