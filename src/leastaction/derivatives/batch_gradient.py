"""`leastaction.derivatives.batch_gradient`: gradients of an objective of many runs, where the runs are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.batch.batch_simulate import device_controls
from leastaction.batch.run import BatchRun
from leastaction.batch.threads import on_all_cores
from leastaction.derivatives.adjoint import gradient
from leastaction.errors import IntegratorError
from leastaction.mechanism._check import real_array, shown
from leastaction.simulation.simulate import simulate


def batch_gradient(
    run: BatchRun, dq: ArrayLike, dv: ArrayLike, controls: ArrayLike | None = None
) -> tuple[Any, Any, Any]:
    """Gradients by starts and controls, from those by all states of a batch; each robot by itself.

    Of runs on a GPU the whole backward pass is one kernel there, one thread per robot; of others it goes over all
    cores.

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
        IntegratorError: sizes that do not fit, robots that failed, runs that have no backward pass.
    """
    if not isinstance(run, BatchRun):
        raise IntegratorError(f"batch_gradient needs a BatchRun, got {shown(run)}")
    if run.every != 1 or len(run.t) == 1:
        raise IntegratorError("gradients need all states of one step or more: simulate with every=1")
    if not run.success:
        robot = next(iter(run.reasons))
        raise IntegratorError(f"robot {robot} failed, {run.reasons[robot]}: there is no gradient")
    robots, rows, m = len(run), len(run.t), run.mechanism
    for what, x in (("dq", dq), ("dv", dv)):
        numbers: Any = x if hasattr(x, "__cuda_array_interface__") else real_array(x)
        if numbers is None or tuple(numbers.shape) != (robots, rows, m.nv):
            raise IntegratorError(f"{what}: expected numbers of shape ({robots}, {rows}, {m.nv})")
    u = device_controls(m, controls, robots, rows - 1)
    if hasattr(run.device_q, "copy_to_host"):
        from leastaction.batch.batch_adjoint import gradient_on_gpu

        return gradient_on_gpu(run, dq, dv, u)
    return _on_cores(run, dq, dv, u)


def _on_cores(run: BatchRun, dq: Any, dv: Any, u: Any) -> tuple[Any, Any, Any]:
    by_positions, by_velocities = np.asarray(dq, float), np.asarray(dv, float)
    steps, nu, v = len(run.t) - 1, run.mechanism.nu, run.v[:, 0]

    def one(k: int) -> Any:
        robot = run.mechanisms[k] if run.mechanisms else run.mechanism
        held = np.broadcast_to(u[:, :, k if u.shape[2] > 1 else 0], (steps, nu))
        # The backward pass needs more of a run than a batch keeps.
        whole = simulate(robot, run.q[k, 0], v[k], dt=run.dt, steps=steps, controls=held, integrator=run.integrator)
        found = gradient(whole, by_positions[k], by_velocities[k], ["q", "v", "controls"])
        return found["q"], found["v"], found["controls"]

    by_q, by_v, by_u = zip(*on_all_cores(one, range(len(run))), strict=True)
    return np.stack(by_q), np.stack(by_v), np.stack(by_u)
