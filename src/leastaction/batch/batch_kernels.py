"""The lanes of a batch as CUDA kernels made for one mechanism: its size and constants are known when they compile.

One thread runs one robot; its arrays are local ones of the thread, which the GPU interleaves so that neighbouring
threads read neighbouring words, and the mechanism lies in constant memory, or in a row for each robot where parameters
differ. The functions are those of `minimal.contact`, compiled anew for the GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction._jit import kept, routine
from leastaction.batch.arrays import Batch
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.minimal.contact import batches
from leastaction.minimal.contact.arrays import (
    BatchSettings,
    RobotData,
    RobotModel,
    Touch,
    bounces,
    lane_model,
    lane_shapes,
    pruned,
)
from leastaction.minimal.contact.detection.constraints import cones
from leastaction.minimal.contact.robot_records import BALANCE, IMPACT_STATE, narrowed
from leastaction.minimal.contact.scratch_arrays import Impacts, MomentumPhase
from leastaction.step_control.substeps import TOLD

for _name in ("row_stack", "in1d", "trapz"):  # numba-cuda asks for them, NumPy 2.5 has them no more
    if not hasattr(np, _name):
        setattr(np, _name, None)


cuda: Any = None
"""`numba.cuda`, once `load` has been called; a name of the module, for its simulator looks for it there."""

CONSTANT = 32768
"""Bytes of constant memory that contacts may take, half of what there is."""


UNIT = 1e-3
"""How far the square of the norm of a quaternion on the GPU, which may have 32 bits, may be from 1."""

FEW_BODIES = 12
"""Up to so many, a kernel of 32 bits is quickest with all registers that it asks for, else with 128 of them."""


def load() -> Any:
    """Import `numba.cuda`, and give it back."""
    global cuda
    require("numba_cuda", "cuda")
    cuda = import_module("numba.cuda")
    return cuda


_compiling_only = False


@contextmanager
def compiling_only() -> Iterator[None]:
    """Within, kernels are compiled, and kept on disk, where they would be launched; what they write is not there."""
    global _compiling_only
    before, _compiling_only = _compiling_only, True
    try:
        yield
    finally:
        _compiling_only = before


def launch(kernel: Any, robots: int, threads: int, *arguments: Any) -> None:
    """Start a kernel with a thread for each robot, in blocks of `threads`."""
    if _compiling_only:
        kernel.compile(tuple(kernel.typeof_pyval(value) for value in arguments))
    else:
        kernel[(robots + threads - 1) // threads, threads](*arguments)


def is_simulated() -> bool:
    """Whether kernels run on the simulator of CUDA, in Python."""
    from numba import config

    return bool(getattr(config, "ENABLE_CUDASIM", False))  # Numba sets its settings at run time


@contextmanager
def literals_as(number: Any) -> Iterator[None]:
    """Let number literals in kernels be of this Numba type, so that kernels for 32 bits compute with 32 bits."""
    from numba import types

    if number == types.float64 or is_simulated():  # the simulator computes as NumPy does
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


RUN = batches.run_with(batches.given)
"""What a kernel does with a lane, (model, lane, settings, batch, robot): here, the steps of a batch."""


def kernel_of(job: Any, model: RobotModel, nq: int, dtype: Any, separate: bool = False) -> Any:
    """The Python function of the kernel for one mechanism: (settings, batch, own), plain tuples of `arrays`.

    Args:
        job: what to do, such as `RUN`.
        model: the mechanism.
        nq: number of its coordinates.
        dtype: of all numbers.
        separate: whether each robot has a mechanism of its own, in row `robot` of `own`: nodes, dofs, cones.
    """
    load()
    from numba import from_dtype, int64

    number, shapes = from_dtype(np.dtype(dtype)), lane_shapes(model, nq)
    single = np.dtype(dtype) != np.float64
    balance, impact = (from_dtype(narrowed(x) if single else x) for x in (BALANCE, IMPACT_STATE))
    # Sizes must be plain numbers to the compiler.
    (nv,), (nu,), (_, bodies, _), (slots, _), branches = shapes.p, shapes.u, shapes.R, shapes.wait, model.branches
    soft, limited, driven = model.soft, model.limited, model.driven
    branched, turning = model.branched, model.turning
    nodes, dofs, places, drives, gravity = (np.ascontiguousarray(x) for x in model[:5])
    touching = model.cones is not None  # a constant to the compiler, which leaves out what it rules out
    held = np.ascontiguousarray(model.cones) if touching else np.zeros(1)
    bouncing = touching and (separate or bounces(model))
    (count,), (m,) = (shapes.touch.active, shapes.touch.lam) if touching else ((1,), (1,))

    def kernel(settings, batch, own):
        robot = cuda.grid(1)
        settings, batch = BatchSettings(*settings), Batch(*batch)
        if robot >= batch.failed.shape[0]:
            return
        if separate:
            own_nodes, own_dofs = own[0][robot], own[1][robot]
        else:
            own_nodes, own_dofs = cuda.const.array_like(nodes), cuda.const.array_like(dofs)
        if touching:
            own_cones = own[2][robot] if separate else cuda.const.array_like(held)
            if bouncing:
                impacts = Impacts(
                    cuda.local.array(1, impact),
                    cuda.local.array(count, int64),
                    cuda.local.array(count, int64),
                    cuda.local.array(TOLD, number),
                    cuda.local.array(m, number),
                    cuda.local.array(nv, number),
                    cuda.local.array(nv, number),
                )
                impacts[0][0]["forced"] = 0
            else:
                impacts = None
            touch = Touch(
                cuda.local.array(count, int64),
                cuda.local.array(count, number),
                cuda.local.array(count, number),
                cuda.local.array(1, number),
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
                cuda.local.array(m, number),
                cuda.local.array(1, number),
                cuda.local.array((m, m), number),
                cuda.local.array((m, 1), number),
                cuda.local.array(m, number),
                cuda.local.array(m, int64),
                cuda.local.array(m, number),
                cuda.local.array(m, int64),
                cuda.local.array(1, balance),
                cuda.local.array(nq, number),
                cuda.local.array(nv, number),
                cuda.local.array(nv, number),
                None,
                None,
                impacts,
                MomentumPhase(
                    cuda.local.array(m, number),
                    cuda.local.array(count, int64),
                    cuda.local.array(count, number),
                    cuda.local.array(count, number),
                    cuda.local.array(m, number),
                    cuda.local.array(m, number),
                    cuda.local.array((m, nv), number),
                    cuda.local.array((m, nv), number),
                    cuda.local.array(nv, number),
                    cuda.local.array(nv, number),
                    cuda.local.array((nv, 8), number),
                    cuda.local.array(1, int64),
                ),
                None,
                None,
            )
        else:
            own_cones = None
            touch = None
        mechanism = RobotModel(
            own_nodes,
            own_dofs,
            cuda.const.array_like(places),
            cuda.const.array_like(drives),
            cuda.const.array_like(gravity),
            branches,
            own_cones,
            soft,
            limited,
            driven,
            branched,
            turning,
            None,
            None,
            None,
            None,
        )
        lane = RobotData(
            cuda.local.array(nq, number),
            cuda.local.array(nq, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nv, number),
            cuda.local.array(nu, number),
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
            cuda.local.array(3, number),
            touch,
        )
        job(mechanism, lane, settings, batch, robot)

    return kernel


@lru_cache(maxsize=64)
def job_of(policy: Callable[..., None] | None) -> Any:
    """Steps of a batch with the controls of a policy; None: given ones."""
    if policy is None:
        return RUN
    return batches.run_with(batches.asked(routine(getattr(policy, "py_func", policy))))


@lru_cache(maxsize=32)
def compiled(
    mechanism: Mechanism, job: Any, single: bool, touching: bool, separate: bool = False, driven: bool = True
) -> Any:
    """The kernel of a mechanism for a job, with or without contacts and controls, compiled when first launched."""
    load()
    dtype = np.float32 if single else np.float64
    found = cones(mechanism)[0] if touching else None
    if found is not None and found.nbytes > CONSTANT:
        raise IntegratorError(
            f"device='cuda': {mechanism.name!r} has {len(found)} contacts and limits, more than a GPU has quick room "
            "for; use simpler shapes, or device='cpu'"
        )
    model = lane_model(mechanism, dtype, found)
    if not separate:
        model = pruned(model, driven)
    options = {}  # all registers that there are: spilling numbers of 64 bits costs more than waiting for them
    if single and not touching and len(model.nodes) > FEW_BODIES and not is_simulated():
        options["max_registers"] = 128
    kernel = cuda.jit(kernel_of(job, model, mechanism.nq, dtype, separate), **options)
    return kept(kernel, f"the kernel of {mechanism.name!r} for a GPU", sorted(options.items()))


@cache
def turning() -> Any:
    """A kernel that copies an array (robots, rows, n) to one with the number of the robot last."""
    load()

    @cuda.jit
    def turn(given, out):
        robot = cuda.grid(1)
        if robot < given.shape[0]:
            for row in range(given.shape[1]):
                for k in range(given.shape[2]):
                    out[row, k, robot] = given[robot, row, k]

    return turn


@cache
def copies() -> tuple[Any, Any]:
    """Kernels that bring states and controls, the number of the robot first, to where the lanes read them."""
    load()

    @cuda.jit
    def place(which, q, v, positions, velocities, memory):
        i = cuda.grid(1)
        if i < which.shape[0]:
            robot = which[i]
            for k in range(q.shape[1]):
                positions[0, k, robot] = q[i, k]
            for k in range(v.shape[1]):
                velocities[k, robot] = v[i, k]
            memory[0, robot] = -1.0

    @cuda.jit
    def control(u, controls):
        robot = cuda.grid(1)
        if robot < u.shape[0]:
            for k in range(u.shape[1]):
                controls[0, k, robot] = u[robot, k]

    return place, control


@cache
def checks() -> tuple[Any, Any]:
    """Kernels that write the number of the first row with a number that is not finite, or a quaternion that is no unit.

    Rows are told apart by the robot; `bad` holds the least of them, for each of the two, shape (2,).
    """
    load()

    @cuda.jit
    def numbers(values, bad):
        robot = cuda.grid(1)
        if robot < values.shape[0]:
            for k in range(values.shape[1]):
                if not math.isfinite(values[robot, k]):
                    cuda.atomic.min(bad, 0, robot)

    @cuda.jit
    def units(q, places, bad):
        robot = cuda.grid(1)
        if robot < q.shape[0]:
            for k in range(places.shape[0]):
                square = 0.0
                for c in range(places[k], places[k] + 4):
                    square += q[robot, c] * q[robot, c]
                if not abs(square - 1.0) < UNIT:
                    cuda.atomic.min(bad, 1, robot)

    return numbers, units
