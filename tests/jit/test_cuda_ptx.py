"""The functions that run on the CPU compile for a GPU as they are; no GPU is needed for that."""

import math
from importlib import import_module

import pytest
from numba import float32, float64

from leastaction import spatial
from leastaction._jit import cuda_ptx, entry, inline, routine

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
cuda = pytest.importorskip("numba.cuda")


def _have_compiler():
    """Whether the CUDA libraries of numba-cuda[cu12] or [cu13] are there: NVVM and NVRTC."""
    try:
        from numba.cuda.cuda_paths import get_cuda_paths

        return get_cuda_paths()["libdevice"].info is not None
    except Exception:
        return False


pytestmark = pytest.mark.skipif(not _have_compiler(), reason="install numba-cuda[cu13] for NVVM and NVRTC")


@routine
def _power(X, V, M):
    """Power of gravity and of the momentum's rate on a body at X that moves with V."""
    P = spatial.momentum(M, V)
    F = spatial.add(spatial.cross_force(V, P), spatial.gravity_wrench(M, (0.0, 0.0, -9.81)))
    return spatial.dot(spatial.coAd(X, F), spatial.Ad(X, V))


@entry
def _on_both(poses, twists, out, i):
    """One lane of a batch: exponential, logarithm, Jacobians, quaternions, inertia."""
    V = spatial.load6(twists[i])
    X = spatial.se3_exp(V)
    q = spatial.quat_normalize(spatial.quat_mul(spatial.load4(poses[i]), spatial.quat_from_rotation(X[0])))
    Y = spatial.compose((spatial.quat_to_rotation(q), V[1]), spatial.inverse(X))
    W = spatial.block_apply(spatial.se3_right_jacobian_inv(V), spatial.se3_log(Y))
    w = spatial.right_jacobian_dot(V[0], W[0], spatial.quat_log(q))
    M = spatial.inertia_transform(Y, spatial.inertia_from_com(2.0, w, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)))
    spatial.store6(out[i], spatial.scale(_power(X, W, M) + spatial.kinetic(M, W), W))


def test_spatial_functions_compile_to_ptx(monkeypatch):
    nvvm = import_module("numba.cuda.cudadrv.nvvm")
    compile_ir, given = nvvm.compile_ir, []
    monkeypatch.setattr(nvvm, "compile_ir", lambda code, **options: given.extend(code) or compile_ir(code, **options))

    def kernel(poses, twists, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            _on_both(poses, twists, out, i)

    array = float64[:, ::1]
    ptx = cuda_ptx(kernel, (array, array, array))
    assert ".visible .entry" in ptx
    assert "fma.rn.f64" in ptx
    assert "div.approx" not in ptx
    assert "rsqrt.approx.ftz" not in ptx
    assert len(given) == len(set(given)) > 10  # the code of each function once


def test_single_precision_is_not_approximated():
    """The GPU's fast sine is good to a few digits only; our fast-math flags must not bring it in."""

    @inline
    def sine(x):
        return math.sin(x)

    def kernel(a):
        a[0] = sine(a[0])

    assert "sin.approx" not in cuda_ptx(kernel, (float32[::1],))
