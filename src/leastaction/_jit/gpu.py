"""Compilation of the same kernels for CUDA."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from . import hooks

__all__ = ["cuda_ptx", "cuda_source", "faster_cuda"]


def faster_cuda(apart: bool = False) -> AbstractContextManager[None]:
    """Context manager within which numba-cuda compiles faster, for its releases tested with this.

    Args:
        apart: whether large functions are called in place of inlined: for kernels with much code.
    """
    if hooks.why_stock():
        return nullcontext()
    return import_module(f"{__package__}.hooks.numba_patches").patched_numba_cuda(apart)


def cuda_source(function: Any) -> Callable[..., Any]:
    """The plain Python function of a decorated one, for ``numba.cuda.jit`` to make a kernel of.

    Only the kernel itself needs this: it may call our compiled functions directly.
    """
    return getattr(function, "py_func", function)


def cuda_ptx(kernel: Any, signature: Any, *, capability: tuple[int, int] = (9, 0)) -> str:
    """PTX text of a CUDA kernel for argument types `signature`. Needs numba-cuda[cu12] or [cu13], no GPU."""
    from types import SimpleNamespace
    from unittest import mock

    cuda: Any = import_module("numba.cuda")
    # numba-cuda queries the present GPU's compute capability whenever a kernel calls another function.
    gpu = SimpleNamespace(compute_capability=capability)
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=gpu), faster_cuda():
        ptx, _ = cuda.compile(cuda_source(kernel), signature, cc=capability, device=False, abi="numba")
    return str(ptx)
