"""Simulations as functions that PyTorch can differentiate."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.derivatives.bridge import DifferentiableSimulation
from leastaction.errors import IntegratorError
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown

__all__ = ["simulate"]


@cache
def _function() -> Any:
    """The autograd function: forward by simulation, backward by the adjoint method."""
    torch: Any = require("torch", "torch")

    class Simulation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, simulation: DifferentiableSimulation, *tensors: Any):
            q, v, u, *values = (_array(x) for x in tensors)
            run = simulation.run(q, v, u, values)
            ctx.run, ctx.simulation, ctx.values, ctx.like = run, simulation, values, tensors
            like = {"dtype": tensors[0].dtype, "device": tensors[0].device}
            return torch.as_tensor(run.q, **like), torch.as_tensor(run.v, **like)

        @staticmethod
        def backward(ctx: Any, *bars: Any):
            found = ctx.simulation.pull_back(ctx.run, ctx.values, _array(bars[0]), _array(bars[1]))
            pairs = zip(found, ctx.like, strict=True)
            return None, *(torch.as_tensor(x, dtype=t.dtype, device=t.device).reshape(t.shape) for x, t in pairs)

    return Simulation


def _array(x: Any) -> Any:
    return np.array(x.detach().cpu().numpy(), dtype=float)


def _tensor(torch: Any, value: Any, what: str) -> Any:
    """`value` as a tensor of real numbers."""
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise IntegratorError(f"{what}: expected a tensor, got {shown(value)}") from None
    if not tensor.dtype.is_floating_point:
        if tensor.dtype.is_complex or tensor.dtype == torch.bool:
            raise IntegratorError(f"{what}: expected a tensor of real numbers, got {tensor.dtype}")
        tensor = tensor.to(torch.get_default_dtype())
    return tensor


def simulate(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    controls: Any = None,
    *,
    dt: float,
    integrator: Integrator,
    steps: int | None = None,
    parameters: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Positions and velocities of a simulation as tensors through which gradients flow.

    Args:
        mechanism: the robot.
        q: initial positions, tensor of shape (nq,); quaternions of unit norm.
        v: initial velocities, tensor of shape (nv,).
        controls: tensor of shape (steps, nu); None for zero controls over `steps` steps.
        dt: time step [s].
        integrator: any with an adjoint, such as `Galerkin(...)`, `Maximal(...)` or `BDF(...)`; with contact,
            `Maximal(smoothing=...)` makes the motion a smooth function.
        steps: how many, where controls do not tell.
        parameters: tensors by the names of mechanism parameters, see `leastaction.adjoint`.

    Returns:
        q (steps + 1, nq) and v (steps + 1, nv).
    """
    torch: Any = require("torch", "torch")
    if not isinstance(parameters, Mapping | None):
        raise IntegratorError(f"parameters: expected tensors by name, got {shown(parameters)}")
    extra = {name: _tensor(torch, value, str(name)) for name, value in (parameters or {}).items()}
    q, v = _tensor(torch, q, "q"), _tensor(torch, v, "v")
    controls = None if controls is None else _tensor(torch, controls, "controls")
    simulation = DifferentiableSimulation(mechanism, integrator, dt, tuple(extra))
    simulation.check(list(extra.values()))
    u = simulation.controls(controls, steps, q.dtype, torch.zeros)
    return _function().apply(simulation, q, v, u, *extra.values())
