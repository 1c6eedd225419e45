"""Simulations as functions that PyTorch can differentiate."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.derivatives.adjoint import gradient
from leastaction.derivatives.ambient import from_tangent, to_tangent
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.parameters import with_parameters
from leastaction.simulate import simulate as run_simulation

__all__ = ["simulate"]


@cache
def _function() -> Any:
    """The autograd function: forward by simulation, backward by the adjoint method."""
    torch: Any = require("torch", "torch")

    class Simulation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, mechanism: Any, integrator: Any, dt: float, names: Any, *tensors: Any):
            q, v, u, *values = tensors
            robot = with_parameters(mechanism, {n: _array(x) for n, x in zip(names, values, strict=True)})
            options = {"dt": dt, "steps": len(u), "controls": _array(u), "integrator": integrator}
            run = run_simulation(robot, _array(q), _array(v), **options)
            ctx.run, ctx.names, ctx.like = run, names, (q, v, u, *values)
            return torch.as_tensor(run.q, dtype=q.dtype), torch.as_tensor(run.v, dtype=q.dtype)

        @staticmethod
        def backward(ctx: Any, *bars: Any):
            run = ctx.run
            dq = to_tangent(run.mechanism, run.q, _array(bars[0]))
            g = gradient(run, dq, _array(bars[1]), ["q", "v", "controls", *ctx.names])
            first = from_tangent(run.mechanism, run.q[0], g["q"])
            out = [first, g["v"], g["controls"], *(g[name] for name in ctx.names)]
            tensors = [torch.as_tensor(x, dtype=t.dtype).reshape(t.shape) for x, t in zip(out, ctx.like, strict=True)]
            return None, None, None, None, *tensors

    return Simulation


def _array(x: Any) -> Any:
    return np.array(x.detach().cpu().numpy(), dtype=float)


def simulate(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    controls: Any,
    *,
    dt: float,
    integrator: Integrator,
    parameters: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Positions and velocities of a simulation as tensors through which gradients flow.

    Args:
        mechanism: the robot.
        q: initial positions, tensor of shape (nq,); quaternions of unit norm.
        v: initial velocities, tensor of shape (nv,).
        controls: tensor of shape (steps, nu).
        dt: time step [s].
        integrator: `BDF(...)` or `SDIRK2(...)`.
        parameters: tensors by the names of mechanism parameters, see `leastaction.adjoint`.

    Returns:
        q (steps + 1, nq) and v (steps + 1, nv).
    """
    extra = parameters or {}
    return _function().apply(mechanism, integrator, dt, tuple(extra), q, v, controls, *extra.values())
