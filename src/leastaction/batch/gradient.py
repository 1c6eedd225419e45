"""`leastaction.batch.gradient`: gradients of an objective of many runs, where the runs are."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.actuation import Actuation
from leastaction.batch import kernels
from leastaction.batch.general.card import THREADS, at_least_one, kernel_of
from leastaction.batch.general.compiling import in_parts
from leastaction.batch.general.reversal import (
    ReversalBatch,
    reversal_bundles,
    reversal_run,
    velocity_bundles,
    velocity_run,
)
from leastaction.batch.run import BatchRun
from leastaction.batch.simulate import controls_of_lanes
from leastaction.batch.threads import on_all_cores
from leastaction.errors import IntegratorError
from leastaction.mechanism._check import real_array, shown
from leastaction.minimal.bodywise.stepper import BodywiseStepper
from leastaction.simulate import simulate


def gradient(run: BatchRun, dq: Any, dv: Any, controls: Any = None) -> tuple[Any, Any, Any]:
    """Gradients by starts and controls, from those by all states of a batch; each robot by itself.

    Of runs on a GPU the whole way back is one kernel there, one thread per robot; of others it goes over all cores.

    Args:
        run: recorded at each step (every=1). On a GPU of `Galerkin(order=2)` in double precision, with the same
            mechanism for all robots and without divided steps.
        dq: gradient by the positions along the tangent, shape (robots, steps + 1, nv); of a run on a GPU, an array of
            NumPy or of the GPU, such as a tensor of PyTorch, its axes one after the other in memory.
        dv: gradient by the velocities, likewise.
        controls: of the run, as `leastaction.batch.simulate` takes them.

    Returns:
        Gradients by q along the tangent and by v, shape (robots, nv), and by the controls of each step, shape
        (robots, steps, nu): arrays of the GPU for runs there, which PyTorch takes without a copy.

    Raises:
        IntegratorError: sizes that do not fit, robots that failed, runs that there is no way back for.
    """
    if not isinstance(run, BatchRun):
        raise IntegratorError(f"gradient needs a BatchRun, got {shown(run)}")
    if run.every != 1 or len(run.t) == 1:
        raise IntegratorError("gradients need all states of one step or more: simulate with every=1")
    if not run.success:
        robot = next(iter(run.reasons))
        raise IntegratorError(f"robot {robot} failed, {run.reasons[robot]}: there is no gradient")
    robots, rows, m = len(run), len(run.t), run.mechanism
    for what, x in (("dq", dq), ("dv", dv)):
        if tuple(getattr(x, "shape", np.shape(x))) != (robots, rows, m.nv):
            raise IntegratorError(f"{what}: expected shape ({robots}, {rows}, {m.nv})")
    u = controls_of_lanes(m, controls, robots, rows - 1)
    if hasattr(run.device_q, "copy_to_host"):
        return _on_gpu(run, dq, dv, u)
    return _on_cores(run, dq, dv, u)


def _on_cores(run: BatchRun, dq: Any, dv: Any, u: Any) -> tuple[Any, Any, Any]:
    from leastaction.derivatives import gradient as of_one

    by_positions, by_velocities = real_array(dq), real_array(dv)
    if by_positions is None or by_velocities is None:
        raise IntegratorError("dq, dv: expected numbers")
    steps, nu, v = len(run.t) - 1, run.mechanism.nu, run.v[:, 0]

    def one(k: int) -> Any:
        robot = run.mechanisms[k] if run.mechanisms else run.mechanism
        held = np.broadcast_to(u[:, :, k if u.shape[2] > 1 else 0], (steps, nu))
        # The way back needs more of a run than a batch keeps.
        whole = simulate(robot, run.q[k, 0], v[k], dt=run.dt, steps=steps, controls=held, integrator=run.integrator)
        found = of_one(whole, by_positions[k], by_velocities[k], ["q", "v", "controls"])
        return found["q"], found["v"], found["controls"]

    by_q, by_v, by_u = zip(*on_all_cores(one, range(len(run))), strict=True)
    return np.stack(by_q), np.stack(by_v), np.stack(by_u)


def _on_gpu(run: BatchRun, dq: Any, dv: Any, u: Any) -> tuple[Any, Any, Any]:
    from leastaction.batch.stepping import turned

    m, cuda = run.mechanism, kernels.load()
    stepper = run.integrator.prepare(m, run.dt)
    if type(stepper) is not BodywiseStepper or stepper.integrator.order != 2 or stepper.model.tied:
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
    writer, kernel = kernel_of(reversal_run, [(one,) for one in reads], writes)
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
    _launch(writer, kernel, batch, robots)
    return turned(by_q), turned(by_v), turned(by_u, (steps, columns))


def device_velocities(run: BatchRun) -> Any:
    """Velocities of a run on a GPU, shape (rows, nv, robots), there."""
    cuda, m = kernels.load(), run.mechanism
    reads, writes = velocity_bundles(m)
    writer, kernel = kernel_of(velocity_run, [(one,) for one in reads], writes)
    out = cuda.device_array((len(run.t), m.nv, len(run)), np.float64)
    _launch(writer, kernel, (run.device_q, run.device_second, out), len(run))
    return out


def _launch(writer: Any, kernel: Any, batch: Any, robots: int) -> None:
    cuda = kernels.load()
    shared, numbers = map(cuda.to_device, writer.shared), map(cuda.to_device, writer.numbers())
    with in_parts():
        kernel[(robots + THREADS - 1) // THREADS, THREADS](*numbers, tuple(shared), tuple(batch))
    cuda.synchronize()


def _last(cuda: Any, values: Any) -> Any:
    """An array (robots, rows, n), wherever it is, on the GPU with the number of the robot last."""
    if not hasattr(values, "__cuda_array_interface__"):
        return cuda.to_device(np.ascontiguousarray(np.moveaxis(np.asarray(values, np.float64), 0, 2)))
    there = cuda.as_cuda_array(values)
    out = cuda.device_array((there.shape[1], there.shape[2], there.shape[0]), np.float64)
    robots = there.shape[0]
    kernels.turning()[(robots + THREADS - 1) // THREADS, THREADS](there, out)
    return out
