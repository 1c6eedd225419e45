"""The rollout of variational steps compiles for a GPU as it is; no GPU is needed for that."""

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction._jit import cuda_ptx
from leastaction.minimal.halving import halving_data
from leastaction.minimal.jointwise import entries

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")


def have_compiler():
    """Whether the CUDA libraries of numba-cuda[cu12] or [cu13] are there: NVVM and NVRTC."""
    try:
        from numba.cuda.cuda_paths import get_cuda_paths

        return get_cuda_paths()["libdevice"].info is not None
    except Exception:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not have_compiler(), reason="install numba-cuda[cu13] for NVVM and NVRTC")
def test_rollout_compiles_to_ptx():
    """One lane of a batch. A hundred thousand lines would take minutes to compile."""
    rollout = entries._rollout_recursive

    def kernel(model, settings, data, halving, U, Q, P, iterations, divided):
        rollout(model, settings, data, halving, U, Q, P, iterations, divided)

    stepper = la.Galerkin(order=4, solver="recursive").prepare(la.robots.pendulum(2), 0.01)
    record = stepper.record(3)
    bundles = (stepper.model, stepper.settings, stepper.data, halving_data(stepper, 2), np.zeros((3, 3, 2)))
    arrays = (record["q"], record["p"], record["iterations"], record["divided"])
    ptx = cuda_ptx(kernel, tuple(numba.typeof(x) for x in (*bundles, *arrays)))
    assert ".visible .entry" in ptx
    assert len(ptx.splitlines()) < 60_000
