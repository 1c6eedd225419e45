"""The same kernels for CUDA."""

import importlib
from collections.abc import Callable
from typing import Any

from .haste import cuda_in_haste

__all__ = ["cuda_ptx", "cuda_source"]


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
    with mock.patch("numba.cuda.dispatcher.get_current_device", return_value=gpu), cuda_in_haste():
        ptx, _ = cuda.compile(cuda_source(kernel), signature, cc=capability, device=False, abi="numba")
    return str(ptx)
