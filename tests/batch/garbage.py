"""Local arrays of kernels on the simulator of CUDA: full of what no computation survives, as on a GPU they may be."""

from importlib import import_module
from typing import Any

import numpy as np


def fill_local_arrays() -> None:
    """Let local arrays of kernels begin with NaN, or 97 where they hold integers, in this process."""
    local = import_module("numba.cuda.simulator.kernelapi").FakeCUDALocal
    empty = local.array

    def array(self: Any, shape: Any, dtype: Any) -> Any:
        out = empty(self, shape, dtype)
        out.fill(np.nan if out.dtype.kind == "f" else 97)
        return out

    local.array = array
