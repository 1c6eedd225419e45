"""The robots of a batch as CUDA kernels made for one mechanism: its size and constants are known when they compile.

One thread runs one robot; its arrays are local ones of the thread, which the GPU interleaves so that neighbouring
threads read neighbouring words. Numbers of the mechanism are arguments, in one row for all robots or a row for each, so
that a kernel serves all mechanisms of the same tree, whatever their masses are. The functions are those of
`minimal.contact`, compiled anew for the GPU.

A GPU sets local memory aside for all threads that it could run at once, many more than these kernels leave registers
for. Where that is too much, the matrices of contacts lie in room of its own for as many threads as do run, and each of
these takes one robot after the other (`ContactScratch`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from leastaction._extras import require
from leastaction._jit import cached_gpu_kernel, routine
from leastaction.batch.arrays import Batch
from leastaction.minimal.contact import batches
from leastaction.minimal.contact.arrays import (
    BatchSettings,
    RobotData,
    RobotModel,
    Touch,
    bounces,
    robot_array_shapes,
)
from leastaction.minimal.contact.batches import CONTROLS, STATE
from leastaction.minimal.contact.robot_records import BALANCE, IMPACT_STATE, narrowed
from leastaction.minimal.contact.scratch_arrays import Impacts, MomentumPhase
from leastaction.step_control.substeps import RECORDED

for _name in ("row_stack", "in1d", "trapz"):  # numba-cuda asks for them, NumPy 2.5 has them no more
    if not hasattr(np, _name):
        setattr(np, _name, None)


cuda: Any = None
"""`numba.cuda`, once `load` has been called; a name of the module, for its simulator looks for it there."""

UNIT = 1e-3
"""How far the square of the norm of a quaternion on the GPU, which may have 32 bits, may be from 1."""

THREADS, WARP = 128, 32
"""Most threads of a block, and those that run in step, the least."""

RESIDENT = 256
"""Threads that a multiprocessor runs at once, each with as many registers as a thread can have."""

LOCAL_SHARE = 0.4
"""Share of the free memory of a GPU that local arrays may set aside."""

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


def launch(kernel: Any, robots: int, threads: int, *arguments: Any, stream: Any = 0) -> None:
    """Start a kernel with a thread for each robot, in blocks of `threads`."""
    if _compiling_only:
        kernel.compile(tuple(kernel.typeof_pyval(value) for value in arguments))
        return
    kernel[(robots + threads - 1) // threads, threads, stream](*arguments)


def bound(kernel: Any, robots: int, threads: int, arguments: tuple[Any, ...]) -> Callable[[Any], None]:
    """`launch` again and again with the same arguments, as a function of the stream.

    Numba finds out the types of all arguments at each call, which takes longer than a short step; here once.
    """
    known = getattr(kernel, "overloads", {})
    own = known.get(tuple(map(kernel.typeof_pyval, arguments))) if known else None

    def again(stream: Any) -> None:
        configured = kernel[(robots + threads - 1) // threads, threads, stream]
        if own is None:
            configured(*arguments)
        else:
            own.launch(arguments, configured.griddim, configured.blockdim, configured.stream, configured.sharedmem)

    return again


def threads_of(robots: int) -> int:
    """Threads of a block, such that few robots, too, are spread over all multiprocessors."""
    each = robots // (WARP * multiprocessors())
    return WARP * min(max(1, each), THREADS // WARP)


def multiprocessors() -> int:
    """Of the GPU."""
    return int(getattr(load().get_current_device(), "MULTIPROCESSOR_COUNT", 1))


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


RUN = batches.run_with(batches.given_forces)
"""What a kernel does with a robot, (model, data, settings, batch, robot): here, the steps of a batch."""


class Sizes(NamedTuple):
    """What the compiler knows of a mechanism, beside the types of numbers.

    Attributes:
        nq, nv, nu, bodies, slots, drives: how many; nu of numbers of controls that there is room for.
        cones, impulses: of contacts, limits and dry friction; 0 where they do not act.
        bouncing: whether any contact has restitution.
        separate: whether each robot has numbers of its own.
        branches, soft, limited, driven, branched, turning: as in `RobotModel`.
    """

    nq: int
    nv: int
    nu: int
    bodies: int
    slots: int
    drives: int
    cones: int
    impulses: int
    bouncing: bool
    separate: bool
    branches: int
    soft: bool | None
    limited: bool | None
    driven: bool | None
    branched: bool | None
    turning: bool | None


def sizes_of(model: RobotModel, nq: int, separate: bool = False) -> Sizes:
    """Those of the kernel of a mechanism."""
    shapes, touching = robot_array_shapes(model, nq), model.cones is not None
    return Sizes(
        nq=nq,
        nv=len(model.dofs),
        nu=shapes.u[0],
        bodies=len(model.nodes),
        slots=shapes.branch_sums[0],
        drives=len(model.drives),
        cones=len(model.cones) if touching else 0,
        impulses=shapes.touch.lam[0] if touching else 0,
        bouncing=touching and (separate or bounces(model)),
        separate=separate,
        branches=model.branches,
        soft=model.soft,
        limited=model.limited,
        driven=model.driven,
        branched=model.branched,
        turning=model.turning,
    )


class ContactScratch(NamedTuple):
    """Matrices of contacts for each thread that runs, the number of the thread last.

    Attributes:
        square: W and M of `Touch`, shape (2, m, m, threads).
        flat: columns, rows, N and Y of `Touch` and `MomentumPhase`, shape (4, m, nv, threads).
    """

    square: Any
    flat: Any


def contact_scratch_shapes(
    sizes: Sizes, dtype: np.dtype[Any], robots: int
) -> tuple[int, tuple[tuple[int, ...], ...] | None]:
    """How many threads run at once, and shapes of `ContactScratch`; None where local memory serves for all robots."""
    device, m, nv = load().get_current_device(), sizes.impulses, sizes.nv
    most = getattr(device, "MAX_THREADS_PER_MULTI_PROCESSOR", 0) * multiprocessors()
    local = dtype.itemsize * (2 * m * m + 4 * m * nv + 30 * (m + nv))
    if m == 0 or is_simulated() or most * local <= LOCAL_SHARE * load().current_context().get_memory_info().free:
        return robots, None
    threads = min(robots, RESIDENT * multiprocessors())
    return threads, ((2, m, m, threads), (4, m, nv, threads))


def kernel_of(job: Any, sizes: Sizes, dtype: Any, roomy: bool = False) -> Any:
    """The Python function of the kernel for mechanisms of the same sizes: (settings, batch, own, room), plain tuples.

    `own` are the arrays of `robot_model` up to gravity, and cones, in a row for each robot, or one for all.

    Args:
        job: what to do, such as `RUN`.
        sizes: of the mechanisms.
        dtype: of all numbers.
        roomy: whether matrices of contacts lie in `ContactScratch`.
    """
    load()
    from numba import from_dtype, int64

    number = from_dtype(np.dtype(dtype))
    single = np.dtype(dtype) != np.float64
    balance, impact = (from_dtype(narrowed(x) if single else x) for x in (BALANCE, IMPACT_STATE))
    # Sizes must be plain numbers to the compiler.
    nq, nv, nu, bodies, slots, drives, count, m, bouncing, separate, branches, soft, limited, driven = sizes[:-2]
    branched, turning = sizes[-2:]
    touching = count > 0  # a constant to the compiler, which leaves out what it rules out

    def kernel(settings, batch, own, room):
        first, threads = cuda.grid(1), cuda.gridsize(1)
        settings, batch = BatchSettings(*settings), Batch(*batch)
        if touching:
            if roomy:
                threads = room[0].shape[3]
                if first >= threads:
                    return
                W, M = room[0][0, :, :, first], room[0][1, :, :, first]
                columns, rows = room[1][0, :, :, first], room[1][1, :, :, first]
                N, Y = room[1][2, :, :, first], room[1][3, :, :, first]
            else:
                W, M = cuda.local.array((m, m), number), cuda.local.array((m, m), number)
                columns, rows = cuda.local.array((m, nv), number), cuda.local.array((m, nv), number)
                N, Y = cuda.local.array((m, nv), number), cuda.local.array((m, nv), number)
            if bouncing:
                impacts = Impacts(
                    cuda.local.array(1, impact),
                    cuda.local.array(count, int64),
                    cuda.local.array(count, int64),
                    cuda.local.array(RECORDED, number),
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
                cuda.local.array(count, number),
                cuda.local.array(count, number),
                cuda.local.array(count, number),
                cuda.local.array(m, number),
                cuda.local.array(m, number),
                W,
                columns,
                rows,
                cuda.local.array((nv, 6), number),
                cuda.local.array(nv, number),
                cuda.local.array(m, number),
                M,
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
                    N,
                    Y,
                    cuda.local.array(nv, number),
                    cuda.local.array(nv, number),
                    cuda.local.array((nv, 8), number),
                    cuda.local.array(1, int64),
                ),
                None,
                None,
            )
        else:
            touch = None
        data = RobotData(
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
        for robot in range(first, batch.failed.shape[0], threads):
            row = robot if separate else 0
            cones = own[5][row] if touching else None
            mechanism = RobotModel(
                own[0][row],
                own[1][row],
                own[2][row],
                own[3][row][:drives],
                own[4][row],
                branches,
                cones,
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
            job(mechanism, data, settings, batch, robot)

    return kernel


def model_rows(models: Sequence[RobotModel], separate: bool) -> tuple[Any, ...]:
    """The arrays that `kernel_of` reads of mechanisms, on this side: a row for each of them, or one for all."""
    rows = []
    for arrays in zip(*((*model[:5], model.cones) for model in (models if separate else models[:1])), strict=True):
        given = [np.zeros(1, np.float64) if x is None else x if len(x) else np.zeros(1, x.dtype) for x in arrays]
        stacked = np.ascontiguousarray(np.stack(given))
        rows.append(stacked.view(np.recarray) if stacked.dtype.names else stacked)
    return tuple(rows)


@lru_cache(maxsize=64)
def job_of(policy: Callable[..., None] | None) -> Any:
    """Steps of a batch with the controls of a policy; None: given ones."""
    if policy is None:
        return RUN
    return batches.run_with(batches.policy_forces(routine(getattr(policy, "py_func", policy))))


@lru_cache(maxsize=64)
def compiled(name: str, job: Any, sizes: Sizes, single: bool, roomy: bool = False) -> Any:
    """The kernel of mechanisms of these sizes for a job, compiled when first launched; `name` of one, for people."""
    load()
    options = {}  # all registers that there are: spilling numbers of 64 bits costs more than waiting for them
    if single and not sizes.cones and sizes.bodies > FEW_BODIES and not is_simulated():
        options["max_registers"] = 128
    kernel = cuda.jit(kernel_of(job, sizes, np.float32 if single else np.float64, roomy), **options)
    return cached_gpu_kernel(kernel, f"the kernel of {name!r} for a GPU", sorted(options.items()))


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
def copies() -> tuple[Any, Any, Any]:
    """Kernels that bring states and controls, the number of the robot first, to where kernels read them.

    `place` those of robots by number, `place_where` those of all for which a mask holds, and `control` controls. A
    state or controls with a number that is not finite, or a quaternion that is no unit, let that robot fail.
    """
    load()

    @cuda.jit(device=True)
    def end(cause, robot, own):
        positions, momenta, velocities, failed, why = own
        failed[robot], why[robot] = 0, cause
        for row in range(positions.shape[0]):
            for k in range(positions.shape[1]):
                positions[row, k, robot] = math.nan
            for k in range(momenta.shape[1]):
                momenta[row, k, robot] = math.nan
        for k in range(velocities.shape[0]):
            velocities[k, robot] = math.nan

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
    def place_where(mask, q, v, places, memory, own):
        robot, positions, velocities = cuda.grid(1), own[0], own[2]
        if robot >= mask.shape[0] or not mask[robot]:
            return
        row, other, good = min(robot, q.shape[0] - 1), min(robot, v.shape[0] - 1), True
        for k in range(q.shape[1]):
            good = good and math.isfinite(q[row, k])
            positions[0, k, robot] = q[row, k]
        for k in range(v.shape[1]):
            good = good and math.isfinite(v[other, k])
            velocities[k, robot] = v[other, k]
        for k in range(places.shape[0] if places[0] >= 0 else 0):
            square = 0.0
            for c in range(places[k], places[k] + 4):
                square += q[row, c] * q[row, c]
            good = good and abs(square - 1.0) < UNIT
            for c in range(places[k], places[k] + 4):
                positions[0, c, robot] = q[row, c] / math.sqrt(square) if good else math.nan
        memory[0, robot] = -1.0
        if not good:
            end(STATE, robot, own)
            memory[0, robot] = 0.0

    @cuda.jit
    def control(u, controls, own):
        robot = cuda.grid(1)
        if robot < u.shape[0]:
            good = True
            for k in range(u.shape[1]):
                good = good and math.isfinite(u[robot, k])
                controls[0, k, robot] = u[robot, k]
            if not good and own[3][robot] < 0:
                end(CONTROLS, robot, own)

    return place, place_where, control


@cache
def checks() -> tuple[Any, Any]:
    """Kernels that write the number of the first row with a number that is not finite, or a quaternion that is no unit.

    Rows differ by the robot; `bad` holds the least of them, for each of the two, shape (2,). Places of
    quaternions are -1 where there are none.
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
            for k in range(places.shape[0] if places[0] >= 0 else 0):
                square = 0.0
                for c in range(places[k], places[k] + 4):
                    square += q[robot, c] * q[robot, c]
                if not abs(square - 1.0) < UNIT:
                    cuda.atomic.min(bad, 1, robot)

    return numbers, units
