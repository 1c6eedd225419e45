"""What the kernels of batches read and write, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError

FloatArray = NDArray[np.floating]


class Batch(NamedTuple):
    """States of all robots, the number of the robot last, so that threads side by side read numbers side by side.

    Attributes:
        q: joint positions, shape (rows, nq, robots); row 0 is the start.
        p: momenta, shape (rows, nv, robots).
        v: velocities at the start, and of runs that go on at the end, shape (nv, robots).
        u: controls, shape (steps or 1, nu, robots or 1).
        policy: numbers that belong to the policies of the robots, shape (k, robots or 1).
        memory: what runs go on from, shape (`contact.arrays.memory_size`, robots).
        failed: step that had no solution, or -1, shape (robots,).
        why: how it ended, one of `contact.batches.REASONS`, shape (robots,).
        iterations: of all steps, shape (robots,).
        parts: of all steps: their number, and more where some were divided, shape (robots,).
    """

    q: FloatArray
    p: FloatArray
    v: FloatArray
    u: FloatArray
    policy: FloatArray
    memory: FloatArray
    failed: NDArray[np.int64]
    why: NDArray[np.int64]
    iterations: NDArray[np.int64]
    parts: NDArray[np.int64]


def is_there(values: Any) -> bool:
    """Whether an array is one of the GPU, or of its simulator; one that wants gradients is refused."""
    if getattr(values, "requires_grad", False) is True:
        raise IntegratorError(
            "a tensor that wants gradients: batch.Simulator keeps none, so pass x.detach(); for gradients through "
            "runs take leastaction.derivatives.torch.simulate"
        )
    return hasattr(values, "__cuda_array_interface__") or hasattr(values, "copy_to_host")
