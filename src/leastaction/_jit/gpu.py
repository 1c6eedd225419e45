"""The same kernels for CUDA."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from . import hooks

__all__ = ["cuda_ptx", "cuda_source", "faster_cuda"]


def faster_cuda(apart: bool = False) -> AbstractContextManager[None]:
    """Within, numba-cuda compiles faster, where it is one of the releases that were tested with this.

    Args:
        apart: whether large functions are to be called, not put into those that call them: for kernels of much code.
    """
    if hooks.why_stock():
        return nullcontext()
    return import_module(f"{__package__}.hooks.numba_patches").patched_numba_cuda(apart)


def cuda_source(function: Any) -> Callable[..., Any]:
    """The plain Python function under a decorated one, for ``numba.cuda.jit`` to make a kernel of.

    Only the kernel itself needs this: it may call our compiled functions as they are.
    """
    return getattr(function, "py_func", function)


def cuda_ptx(kernel: Any, signature: Any, *, capability: tuple[int, int] = (9, 0)) -> str:
    """PTX text of a CUDA kernel for argument types `signature`. Needs numba-cuda[cu12] or [cu13], no GPU."""
    from types import SimpleNamespace
    from unittest import mock

    cuda: Any = import_module("numba.cuda")
    # numba-cuda asks the present GPU for its compute capability whenever a kernel calls another function.
    gpu = SimpleNamespace(compute_capability=capability)
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=gpu), faster_cuda():
        ptx, _ = cuda.compile(cuda_source(kernel), signature, cc=capability, device=False, abi="numba")
    return str(ptx)
