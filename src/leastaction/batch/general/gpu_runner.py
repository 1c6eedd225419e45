"""A batch on a GPU with the kernels of its integrator: one launch for all steps of all robots."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import from_dtype

from leastaction._jit import cached_gpu_kernel, faster_cuda
from leastaction._jit.hooks import why_stock
from leastaction.actuation.actuation import Actuation
from leastaction.batch import batch_kernels
from leastaction.batch.batch_plan import Plan
from leastaction.batch.general.arrays import GeneralBatch
from leastaction.batch.general.gpu_integrators import Problem, problem_of, refuse_without_kernel
from leastaction.batch.general.kernel_codegen import Writer
from leastaction.batch.run import BatchRun
from leastaction.errors import IntegratorError

THREADS = 64
"""Of a block."""

DOUBLE = np.dtype(np.float64)

_KERNELS: dict[Any, Any] = {}
"""Compiled kernels by their text, and by what it refers to."""


def written(
    job: Any, reads: Sequence[Any], writes: Sequence[Any], number: np.dtype[Any] = DOUBLE
) -> tuple[Writer, Any, Any]:
    """The writer of a kernel, its Python function, and what distinguishes it from other kernels; see `Problem`."""
    writer = Writer(number)
    bundles = [writer.read(robots) for robots in reads] + [writer.write(own) for own in writes]
    function, text = writer.kernel(job, bundles)
    known = (text, job, tuple(sorted((name, str(kind)) for name, kind in writer.names.items())))
    return writer, function, known


def kernel_of(
    name: str, job: Any, reads: Sequence[Any], writes: Sequence[Any], number: np.dtype[Any] = DOUBLE
) -> tuple[Writer, Any]:
    """The writer of a kernel, and the kernel, which compiles when it is first launched; see `Problem`."""
    writer, function, known = written(job, reads, writes, number)
    if known not in _KERNELS:
        _KERNELS[known] = cached_gpu_kernel(
            batch_kernels.load().jit(function), f"the kernel of {name} for a GPU", number
        )
    return writer, _KERNELS[known]


def launch(writer: Writer, kernel: Any, robots: int, batch: Sequence[Any]) -> None:
    """Let every robot do the job of a kernel, and wait for it."""
    cuda = batch_kernels.load()
    shared, numbers = tuple(map(cuda.to_device, writer.shared)), tuple(map(cuda.to_device, writer.numbers()))
    with faster_cuda(apart=True), batch_kernels.literals_as(from_dtype(writer.number)):
        batch_kernels.launch(kernel, robots, THREADS, *numbers, shared, tuple(batch))
    cuda.synchronize()


def at_least_one(values: Any, number: np.dtype[Any] = DOUBLE) -> Any:
    """An array of numbers, or where it is empty one that is not."""
    return np.ascontiguousarray(values if values.size else np.zeros(tuple(max(1, n) for n in values.shape)), number)


def arrays_of(plan: Plan, problem: Problem) -> GeneralBatch:
    """What the kernel reads and writes, on this side."""
    robots, rows, m = len(problem.q), plan.steps // plan.every + 1, plan.mechanism
    actuation, number = Actuation(m, plan.dt, (0.0,)), plan.dtype

    def table(first: Any) -> Any:
        out = np.zeros((rows, max(1, first.shape[1]), robots), number)
        out[0, : first.shape[1]] = first.T
        return out

    return GeneralBatch(
        failed=np.full(robots, -1),
        why=np.zeros(robots, np.int64),
        iterations=np.zeros(robots, np.int64),
        q=table(problem.q),
        second=table(problem.second),
        third=table(problem.third),
        u=at_least_one(plan.u, number),
        limits=at_least_one(np.stack([actuation.lower, actuation.upper]), number),
        policy=plan.policy_parameters.astype(number),
        dt=np.array([plan.dt], number),
        start=at_least_one(problem.extra.T, number),
        plan=np.array([plan.steps, plan.every, int(problem.ahead)]),
    )


def run_generally(plan: Plan) -> BatchRun:
    """See `leastaction.batch.simulate`: with the integrator's own kernels."""
    cuda = batch_kernels.load()
    _check(plan)
    if not cuda.is_available():
        raise IntegratorError("device='cuda': no GPU was found (numba.cuda.is_available() is False); use device='cpu'")
    if (why := why_stock()) and not batch_kernels.is_simulated():
        raise IntegratorError(
            f"device='cuda': {type(plan.integrator).__name__} with {plan.mechanism.name!r} needs a tested release of "
            f"Numba, or its kernel would compile for an hour ({why}); use Galerkin(order=2) or Minimal() with what "
            "they know, or device='cpu'"
        )
    problem, m = problem_of(plan), plan.mechanism
    name = f"{type(plan.integrator).__name__} with {m.name!r}"
    writer, kernel = kernel_of(name, problem.job, problem.reads, problem.writes, plan.dtype)
    batch = arrays_of(plan, problem)
    robots = len(problem.q)
    try:
        there = GeneralBatch(*map(cuda.to_device, batch))
        began = time.perf_counter()
        launch(writer, kernel, robots, there)
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error).upper():
            raise
        size = sum(x.nbytes for x in batch) / 2**30
        raise IntegratorError(
            f"the GPU has no room for {robots} robots ({size:.1f} GiB of states, {writer.memory} bytes of work space "
            "for each thread that it can run); record fewer states (every=) or run fewer robots at once"
        ) from None
    seconds = time.perf_counter() - began
    failed, why, iterations = (x.copy_to_host() for x in there[:3])
    reasons = {int(k): f"step {failed[k]}: {problem.reasons[int(why[k])]}" for k in np.flatnonzero(failed >= 0)}
    states: Any = (there.q, there.second)
    if problem.publish is not None:
        states = problem.publish(*(x.copy_to_host() for x in there[3:6]))
    momentum = plan.integrator.prepare(m, plan.dt).momentum
    results = (momentum, failed, reasons, iterations, seconds, plan.mechanisms)
    return BatchRun(m, plan.integrator, plan.dt, plan.every, plan.t, states[0], states[1], *results)


def _check(plan: Plan) -> None:
    """Refuse what the kernels of a GPU do not know, whatever the integrator."""
    if plan.dtype not in (DOUBLE, np.dtype(np.float32)):
        raise IntegratorError(f"dtype must be numpy.float64 or numpy.float32, got {plan.dtype.name}")
    refuse_without_kernel(plan)
    for actuator in plan.mechanism.actuators:
        if actuator.activation is not None:
            raise IntegratorError(f"actuator {actuator.name!r} has an activation, which needs device='cpu'")
