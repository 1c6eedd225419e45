"""Kernels of a GPU are kept on disk: compiled once, found again, and compiled anew where anything has changed."""

from contextlib import ExitStack
from importlib import import_module
from types import SimpleNamespace
from unittest import mock

import pytest
from numba import float32, float64

from leastaction._jit import LISTENERS, cached_gpu_kernel, routine
from tests.jit.test_cuda_ptx import pytestmark as needs_compiler

pytestmark = needs_compiler


def kernel_of(factor):
    cuda = pytest.importorskip("numba.cuda")

    @routine
    def scaled(x):
        return factor * x

    def kernel(a):
        a[0] = scaled(a[0])

    return cached_gpu_kernel(cuda.jit(kernel), "a test")


@pytest.fixture
def no_gpu(monkeypatch, tmp_path):
    """What numba-cuda asks of a GPU, of compute capability 9.0; nothing is loaded to it."""
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path))
    gpu = SimpleNamespace(compute_capability=(9, 0), id=0)
    kernels, codegen = (import_module(f"numba.cuda.{name}") for name in ("dispatcher", "codegen"))
    instead = [
        mock.patch.object(kernels, "get_current_device", return_value=gpu),
        mock.patch.object(
            import_module("numba.cuda.cudadrv.devices"), "get_context", return_value=SimpleNamespace(device=gpu)
        ),
        mock.patch.object(kernels._Kernel, "bind", lambda self: self._codelibrary.get_cubin()),
        mock.patch.object(codegen.JITCUDACodegen, "magic_tuple", return_value=((13, 0), (9, 0))),
    ]
    said = []
    LISTENERS.append(lambda name, seconds: said.append(name) if seconds is not None else None)
    with ExitStack() as stack:
        for one in instead:
            stack.enter_context(one)
        yield said
    LISTENERS.pop()


def test_a_kernel_is_found_again(no_gpu, tmp_path):
    first = kernel_of(2.0).compile((float64[::1],))
    again = kernel_of(2.0).compile((float64[::1],))
    assert no_gpu == ["a test"]
    codes = [one._codelibrary.get_cubin().code for one in (first, again)]
    assert codes[0] == codes[1]
    assert again.argument_types == first.argument_types
    assert again.entry_name == first.entry_name
    kernel_of(3.0).compile((float64[::1],))  # another constant
    kernel_of(2.0).compile((float32[::1],))  # other arguments
    assert len(no_gpu) == 3
    for file in (tmp_path / "kernels").iterdir():
        file.write_bytes(b"damaged")
    kernel_of(2.0).compile((float64[::1],))
    assert len(no_gpu) == 4


def test_a_kernel_that_cannot_be_kept_is_used(no_gpu, tmp_path):
    (tmp_path / "kernels").write_text("no folder")
    assert kernel_of(2.0).compile((float64[::1],)).argument_types == (float64[::1],)
