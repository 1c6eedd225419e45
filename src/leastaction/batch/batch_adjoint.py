"""The backward pass over the runs of a batch on a GPU, where they are; see `leastaction.derivatives.batch_gradient`."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.actuation.actuation import Actuation
from leastaction.batch import batch_kernels
from leastaction.batch.cuda import has_special_kernel
from leastaction.batch.general.gpu_adjoint import (
    ReversalBatch,
    reversal_bundles,
    reversal_run,
    velocity_bundles,
    velocity_run,
)
from leastaction.batch.general.gpu_runner import THREADS, at_least_one, kernel_of, launch
from leastaction.batch.gpu_stepping import turned
from leastaction.batch.run import BatchRun
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.minimal import Minimal
from leastaction.minimal.galerkin_bodies.stepper import GalerkinBodiesStepper


def has_adjoint(mechanism: Mechanism, integrator: Any) -> bool:
    """Whether there are kernels of a GPU for runs and for the backward pass over them."""
    return has_special_kernel(mechanism, integrator) and not isinstance(integrator, Minimal)


def gradient_on_gpu(run: BatchRun, dq: Any, dv: Any, u: Any) -> tuple[Any, Any, Any]:
    """Gradients by q, v, controls, arrays of the GPU; u as kernels read them, shape (steps or 1, nu, robots or 1)."""
    m, cuda = run.mechanism, batch_kernels.load()
    stepper = run.integrator.prepare(m, run.dt)
    if type(stepper) is not GalerkinBodiesStepper or stepper.integrator.order != 2 or stepper.model.tied:
        raise IntegratorError(f"gradients on a GPU are of Galerkin(order=2) of trees, not of {run.integrator}")
    if run.mechanisms or run.device_q.dtype != np.float64:
        raise IntegratorError("gradients on a GPU are of runs in numpy.float64 with the same parameters for all robots")
    if run.parts is None:
        raise IntegratorError("gradients on a GPU are of robots without springs and other forces on bodies")
    if (run.parts != len(run.t) - 1).any():
        robot = int(np.flatnonzero(run.parts != len(run.t) - 1)[0])
        raise IntegratorError(f"robot {robot} has divided steps, which gradients on a GPU do not go back over")
    robots, steps = len(run), len(run.t) - 1
    reads, writes = reversal_bundles(stepper, m)
    writer, kernel = kernel_of(f"the backward pass of {m.name!r}", reversal_run, [(one,) for one in reads], writes)
    actuation = Actuation(m, run.dt, (0.0,))
    limits = np.stack([actuation.lower, actuation.upper])
    given = [_last(cuda, x) for x in (dq, dv)]
    columns = max(1, m.nu)
    shapes = (m.nv, robots), (m.nv, robots), (steps * columns, robots)
    by_q, by_v, by_u = (cuda.to_device(np.zeros(shape)) for shape in shapes)
    batch = ReversalBatch(
        q=run.device_q,
        p=run.device_second,
        dq=given[0],
        dv=given[1],
        u=cuda.to_device(at_least_one(u)),
        limits=cuda.to_device(at_least_one(limits)),
        by_q=by_q,
        by_v=by_v,
        by_u=by_u.reshape(steps, columns, robots),
    )
    launch(writer, kernel, robots, batch)
    return turned(by_q), turned(by_v), turned(by_u, (steps, columns))


def device_velocities(run: BatchRun) -> Any:
    """Velocities of a run on a GPU, shape (rows, nv, robots), there."""
    cuda, m = batch_kernels.load(), run.mechanism
    reads, writes = velocity_bundles(m)
    writer, kernel = kernel_of(f"velocities of {m.name!r}", velocity_run, [(one,) for one in reads], writes)
    out = cuda.device_array((len(run.t), m.nv, len(run)), np.float64)
    launch(writer, kernel, len(run), (run.device_q, run.device_second, out))
    return out


def _last(cuda: Any, values: Any) -> Any:
    """An array (robots, rows, n), wherever it is, on the GPU with the number of the robot last."""
    if not hasattr(values, "__cuda_array_interface__"):
        return cuda.to_device(np.ascontiguousarray(np.moveaxis(np.asarray(values, np.float64), 0, 2)))
    there = cuda.as_cuda_array(values)
    out = cuda.device_array((there.shape[1], there.shape[2], there.shape[0]), np.float64)
    batch_kernels.launch(batch_kernels.turning(), there.shape[0], THREADS, there, out)
    return out
