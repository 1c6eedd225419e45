"""The lanes of a batch as CUDA kernels made for one mechanism: its size and constants are known when they compile.

One thread runs one robot; its arrays are local ones of the thread, which the GPU interleaves so that neighbouring
threads read neighbouring words, and the mechanism lies in constant memory. The functions are those of `lane`, compiled
anew for the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.batch import lane
from leastaction.batch.arrays import Batch, BatchSettings, Lane, LaneModel, lane_shapes

for _name in ("row_stack", "in1d", "trapz"):  # numba-cuda asks for them, NumPy 2.5 has them no more
    if not hasattr(np, _name):
        setattr(np, _name, None)


@contextmanager
def literals_as(number: Any) -> Iterator[None]:
    """Let number literals in kernels be of this Numba type, so that kernels for 32 bits compute with 32 bits."""
    from numba import types
    from numba.cuda.target import CUDATypingContext

    resolve = CUDATypingContext.resolve_value_type

    def narrow(value: Any) -> Any:
        if type(value) is float:
            return number
        if type(value) is tuple and value:
            inner = [narrow(x) for x in value]
            return None if None in inner else types.BaseTuple.from_types(inner)
        return None

    def resolved(self: Any, value: Any) -> Any:
        return narrow(value) or resolve(self, value)

    if number == types.float64:
        yield
        return
    CUDATypingContext.resolve_value_type = resolved
    try:
        yield
    finally:
        CUDATypingContext.resolve_value_type = resolve


def rollout(model: LaneModel, nq: int, dtype: Any) -> Any:
    """The Python function of the kernel for one mechanism: (settings, batch) of `arrays` as plain tuples."""
    require("numba_cuda", "cuda")
    from numba import cuda, from_dtype

    number, shapes = from_dtype(np.dtype(dtype)), lane_shapes(model, nq)
    # Sizes must be plain numbers to the compiler.
    (nv,), (bodies, _), (slots, _), branches = shapes.p, shapes.R0, shapes.wait, model.branches
    nodes, dofs, places, drives, gravity = (np.ascontiguousarray(x) for x in model[:5])
    run = lane.run

    def kernel(settings, batch):
        robot = cuda.grid(1)
        settings, batch = BatchSettings(*settings), Batch(*batch)
        if robot >= batch.failed.shape[0]:
            return
        mechanism = LaneModel(
            cuda.const.array_like(nodes),
            cuda.const.array_like(dofs),
            cuda.const.array_like(places),
            cuda.const.array_like(drives),
            cuda.const.array_like(gravity),
            branches,
        )
        own = Lane(
            cuda.local.array(nq, number),
            cuda.local.array(nq, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array((bodies, 9), number),
            cuda.local.array((bodies, 9), number),
            cuda.local.array((bodies, 3), number),
            cuda.local.array((bodies, 3), number),
            cuda.local.array((nv, 6), number),
            cuda.local.array((nv, 6), number),
            cuda.local.array((nv, 8), number),
            cuda.local.array((slots, 48), number),
        )
        run(mechanism, own, settings, batch, robot)

    return kernel
