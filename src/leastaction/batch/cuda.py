"""The lanes of a batch as CUDA kernels made for one mechanism: its size and constants are known when they compile.

One thread runs one robot; its arrays are local ones of the thread, which the GPU interleaves so that neighbouring
threads read neighbouring words, and the mechanism lies in constant memory. The functions are those of
`minimal.lanes`, compiled anew for the GPU.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.batch.arrays import Batch
from leastaction.batch.run import BatchRun
from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.minimal import Galerkin, Grounded
from leastaction.minimal.lanes import steps as lane
from leastaction.minimal.lanes.arrays import BatchSettings, Lane, LaneModel, Touch, lane_model, lane_shapes
from leastaction.minimal.lanes.cones import cones
from leastaction.minimal.lanes.known import refuse_unknown

for _name in ("row_stack", "in1d", "trapz"):  # numba-cuda asks for them, NumPy 2.5 has them no more
    if not hasattr(np, _name):
        setattr(np, _name, None)


cuda: Any = None
"""`numba.cuda`, once `load` has been called; a name of the module, for its simulator looks for it there."""


def load() -> None:
    """Import `numba.cuda`."""
    global cuda
    require("numba_cuda", "cuda")
    cuda = import_module("numba.cuda")


@contextmanager
def literals_as(number: Any) -> Iterator[None]:
    """Let number literals in kernels be of this Numba type, so that kernels for 32 bits compute with 32 bits."""
    from numba import types

    if number == types.float64:
        yield
        return
    context: Any = import_module("numba.cuda.target").CUDATypingContext
    resolve = context.resolve_value_type

    def narrow(value: Any) -> Any:
        if type(value) is float:
            return number
        if type(value) is tuple and value:
            inner = [narrow(x) for x in value]
            return None if None in inner else types.BaseTuple.from_types(inner)
        return None

    def resolved(self: Any, value: Any) -> Any:
        return narrow(value) or resolve(self, value)

    context.resolve_value_type = resolved
    try:
        yield
    finally:
        context.resolve_value_type = resolve


def rollout(model: LaneModel, nq: int, dtype: Any) -> Any:
    """The Python function of the kernel for one mechanism: (settings, batch) of `arrays` as plain tuples."""
    load()
    from numba import from_dtype, int64

    number, shapes = from_dtype(np.dtype(dtype)), lane_shapes(model, nq)
    # Sizes must be plain numbers to the compiler.
    (nv,), (_, bodies, _), (slots, _), branches = shapes.p, shapes.R, shapes.wait, model.branches
    nodes, dofs, places, drives, gravity = (np.ascontiguousarray(x) for x in model[:5])
    run = lane.run
    touching = model.cones is not None  # a constant to the compiler, which leaves out what it rules out
    held = np.ascontiguousarray(model.cones) if touching else np.zeros(1)
    (count,), (m,) = (shapes.touch.active, shapes.touch.lam) if touching else ((1,), (1,))

    def kernel(settings, batch):
        robot = cuda.grid(1)
        settings, batch = BatchSettings(*settings), Batch(*batch)
        if robot >= batch.failed.shape[0]:
            return
        if touching:
            own_cones = cuda.const.array_like(held)
            touch = Touch(
                cuda.local.array(count, int64),
                cuda.local.array(count, number),
                cuda.local.array(count, number),
                cuda.local.array(count, number),
                cuda.local.array(m, number),
                cuda.local.array(m, number),
                cuda.local.array((m, m), number),
                cuda.local.array((m, nv), number),
                cuda.local.array((m, nv), number),
                cuda.local.array((nv, 6), number),
                cuda.local.array(nv, number),
                cuda.local.array(nv, number),
                cuda.local.array(m, number),
                cuda.local.array(1, number),
                cuda.local.array((m, m), number),
                cuda.local.array((m, 1), number),
                cuda.local.array(m, int64),
            )
        else:
            own_cones = None
            touch = None
        mechanism = LaneModel(
            cuda.const.array_like(nodes),
            cuda.const.array_like(dofs),
            cuda.const.array_like(places),
            cuda.const.array_like(drives),
            cuda.const.array_like(gravity),
            branches,
            own_cones,
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
            cuda.local.array((2, bodies, 9), number),
            cuda.local.array((2, bodies, 3), number),
            cuda.local.array((2, nv, 6), number),
            cuda.local.array((nv, 8), number),
            cuda.local.array((slots, 48), number),
            cuda.local.array(1, int64),
            touch,
        )
        run(mechanism, own, settings, batch, robot)

    return kernel


THREADS = 256
"""Of a block: as many as 255 registers a thread leave room for."""

CONSTANT = 32768
"""Bytes of constant memory that contacts may take, half of what there is."""

ATTEMPT = 12
"""Most Newton iterations before a step is divided."""


def check(mechanism: Mechanism, integrator: Any) -> None:
    """Refuse what the kernels of lanes do not know."""
    bodywise = isinstance(integrator, Galerkin) and integrator.order == 2 and integrator.interpolates == "bodies"
    if not (bodywise or isinstance(integrator, Grounded)):
        raise IntegratorError(
            f"device='cuda' runs Grounded and Galerkin(order=2, interpolation='bodies'), not {integrator}; "
            "use device='cpu'"
        )
    refuse_unknown(mechanism, "device='cuda'", "device='cpu'")


@lru_cache(maxsize=16)
def compiled(mechanism: Mechanism, single: bool, touching: bool) -> Any:
    """The kernel of a mechanism, with or without contacts, compiled when it is first launched."""
    load()
    dtype = np.float32 if single else np.float64
    found = cones(mechanism)[0] if touching else None
    if found is not None and found.nbytes > CONSTANT:
        raise IntegratorError(
            f"device='cuda': {mechanism.name!r} has {len(found)} contacts and limits, more than a GPU has quick room "
            "for; use simpler shapes, or device='cpu'"
        )
    return cuda.jit(rollout(lane_model(mechanism, dtype, found), mechanism.nq, dtype))


def run_on_gpu(
    mechanism: Mechanism,
    integrator: Any,
    q: FloatArray,
    v: FloatArray,
    u: FloatArray,
    dt: float,
    steps: int,
    every: int,
    dtype: np.dtype[Any],
) -> BatchRun:
    """See `leastaction.batch.simulate`."""
    load()
    from numba import from_dtype

    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise IntegratorError(f"dtype must be numpy.float64 or numpy.float32, got {dtype.name}")
    check(mechanism, integrator)
    if not cuda.is_available():
        raise IntegratorError("device='cuda': no GPU was found (numba.cuda.is_available() is False); use device='cpu'")
    robots, rows = len(q), steps // every + 1
    kind, number = dtype.type, from_dtype(dtype)
    p = momentum_of_velocity(mechanism, q, v)
    tolerance = max(float(integrator.tolerance), 1e3 * float(np.finfo(dtype).eps) if dtype == np.float32 else 0.0)
    floor = 1e-10 if dtype == np.float64 else 1e-5
    settings = (kind(dt), kind(tolerance), kind(floor), min(int(integrator.max_iterations), ATTEMPT), steps, every)
    try:
        shapes = ((rows, mechanism.nq, robots), (rows, mechanism.nv, robots))
        positions, momenta = (cuda.device_array(shape, dtype) for shape in shapes)
        first = [np.ascontiguousarray(x.T.astype(dtype)) for x in (q, p, v)]
        positions[0].copy_to_device(first[0])
        momenta[0].copy_to_device(first[1])
        others = [cuda.to_device(x) for x in (first[2], np.ascontiguousarray(u.astype(dtype)))]
        told = [cuda.to_device(np.full(robots, -1)) for _ in range(3)]
        batch = (positions, momenta, *others, *told)
        with literals_as(number):
            kernel = compiled(mechanism, dtype == np.float32, isinstance(integrator, Grounded))
            began = time.perf_counter()
            kernel[(robots + THREADS - 1) // THREADS, THREADS](settings, batch)
            cuda.synchronize()
            seconds = time.perf_counter() - began
        failed, iterations, _ = (x.copy_to_host() for x in told)
    except Exception as error:
        if "OUT_OF_MEMORY" in str(error).upper():
            size = sum(int(np.prod(shape)) for shape in shapes) * dtype.itemsize
            raise IntegratorError(
                f"the GPU has no room for {robots} robots with {rows} states each ({size / 2**30:.1f} GiB); "
                "record fewer states (every=) or run fewer robots at once"
            ) from None
        raise
    why = f"no step of dt / {lane.FINEST} converged"
    reasons = {int(k): f"step {failed[k]}: {why}" for k in np.flatnonzero(failed >= 0)}
    t = dt * every * np.arange(rows, dtype=float)
    return BatchRun(mechanism, integrator, dt, every, t, positions, momenta, True, failed, reasons, iterations, seconds)
