"""Simulations as functions that PyTorch can differentiate."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from leastaction._extras import require
from leastaction.derivatives.bridge import DifferentiableSimulation
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown

__all__ = ["simulate"]

Tensor: TypeAlias = Any
"""A `torch.Tensor`, or what becomes one; PyTorch is an extra."""


@cache
def _once() -> Any:
    """The autograd function that hands gradients on and refuses to be differentiated.

    Gradients of a simulation are functions of its arguments, too, also where those of its results are constant: without
    this, PyTorch would take second derivatives for zero.
    """
    torch: Any = require("torch", "torch")

    class Once(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(count: int, *tensors: Any):
            return tuple(x.clone() for x in tensors[:count])

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any):
            pass

        backward = staticmethod(_no_second_derivatives)

    return Once


def _no_second_derivatives(ctx: Any, *bars: Any) -> Any:
    """In place of derivatives of gradients."""
    raise IntegratorError("simulations have first derivatives in PyTorch, no second ones")


def _no_forward_mode(ctx: Any, *tangents: Any) -> Any:
    """In place of derivatives along a direction, beside the simulation."""
    raise IntegratorError("simulations have no derivatives in forward mode; use vjp, grad or jacrev for jvp and jacfwd")


class _Runs:
    """A simulation and its runs, from the forward to the backward pass."""

    def __init__(self, simulation: DifferentiableSimulation) -> None:
        self.simulation = simulation
        self.runs: Any = None
        self.arrays: list[Any] = []
        self.shape: tuple[int, ...] = ()  # of the positions


@cache
def _function() -> Any:
    """The autograd function: forward by simulation, backward by the adjoint method.

    Both have rules for `torch.func.vmap`, by which further axes are axes of robots; so `torch.func.grad`, `vjp` and
    `jacrev` work, too.
    """
    torch: Any = require("torch", "torch")

    def with_axis_first(info: Any, dims: Any, tensors: Any) -> list[Any]:
        pairs = zip(tensors, dims, strict=True)
        return [x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0) for x, d in pairs]

    class Back(torch.autograd.Function):
        @staticmethod
        def forward(kept: _Runs, *bars: Any):
            found = kept.simulation.pull_back_all(kept.runs, kept.arrays, [_array(bar) for bar in bars])
            like = {"dtype": bars[0].dtype, "device": bars[0].device}
            return tuple(torch.as_tensor(x, **like).reshape(a.shape) for x, a in zip(found, kept.arrays, strict=True))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any):
            pass

        backward = staticmethod(_no_second_derivatives)

        @staticmethod
        def vmap(info: Any, dims: Any, kept: _Runs, *bars: Any):
            rows = with_axis_first(info, dims[1:], bars)
            if tuple(rows[0].shape) == kept.shape:  # the runs have this axis, too
                found = Back.apply(kept, *rows)
            else:
                found = tuple(
                    map(torch.stack, zip(*(Back.apply(kept, *bar) for bar in zip(*rows, strict=True)), strict=True))
                )
            return found, (0,) * len(found)

    class Simulation(torch.autograd.Function):
        @staticmethod
        def forward(kept: _Runs, *tensors: Any):
            kept.arrays = [_array(x) for x in tensors]
            kept.runs, q, v = kept.simulation.run_all(kept.arrays)
            kept.shape, like = q.shape, {"dtype": tensors[0].dtype, "device": tensors[0].device}
            return torch.as_tensor(q, **like), torch.as_tensor(v, **like)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any):
            ctx.kept, *tensors = inputs
            ctx.save_for_backward(*tensors)

        @staticmethod
        def backward(ctx: Any, *bars: Any):
            given = ctx.saved_tensors
            found = _once().apply(len(given), *Back.apply(ctx.kept, *bars), *given)
            return None, *(x.to(like.dtype) for x, like in zip(found, given, strict=True))

        jvp = staticmethod(_no_forward_mode)

        @staticmethod
        def vmap(info: Any, dims: Any, kept: _Runs, *tensors: Any):
            return Simulation.apply(kept, *with_axis_first(info, dims[1:], tensors)), (0, 0)

    return Simulation


@cache
def _function_on_gpu() -> Any:
    """The same where tensors are on a GPU: states and gradients stay there."""
    from leastaction.batch import simulate as simulate_batch
    from leastaction.batch.batch_adjoint import device_velocities
    from leastaction.derivatives.batch_gradient import batch_gradient

    torch: Any = require("torch", "torch")

    class SimulationOnGpu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, simulation: DifferentiableSimulation, q: Any, v: Any, u: Any):
            axes, like = q.shape[:-1], {"dtype": q.dtype, "device": q.device}
            flat = [_array(x).reshape(-1, *x.shape[len(axes) :]) for x in (q, v, u)]
            options: dict[str, Any] = {"dt": simulation.dt, "steps": u.shape[-2], "integrator": simulation.integrator}
            run = simulate_batch(simulation.mechanism, flat[0], flat[1], controls=flat[2], device="cuda", **options)
            if not run.success:
                robot = next(iter(run.reasons))
                raise ConvergenceError(f"robot {robot}: {run.reasons[robot]}", step=int(run.failed[robot]))
            ctx.run, ctx.u, ctx.axes = run, flat[2], axes
            ctx.save_for_backward(q, v, u)
            states = (torch.as_tensor(x, device=q.device) for x in (run.device_q, device_velocities(run)))
            return tuple(x.permute(2, 0, 1).to(**like).reshape(*axes, *x.shape[:2]) for x in states)

        @staticmethod
        def backward(ctx: Any, *bars: Any):
            flat = [bar.reshape(-1, *bar.shape[-2:]).to(torch.float64).contiguous() for bar in bars]
            found = batch_gradient(ctx.run, flat[0], flat[1], ctx.u)
            given = ctx.saved_tensors
            pairs = zip(found, given, strict=True)
            found = (torch.as_tensor(x, device=t.device).to(t.dtype).reshape(t.shape) for x, t in pairs)
            return None, *_once().apply(len(given), *found, *given)

        jvp = staticmethod(_no_forward_mode)

    return SimulationOnGpu


def _stays_on_gpu(simulation: DifferentiableSimulation, tensors: list[Any]) -> bool:
    """Whether there are kernels of a GPU for all that is to be done."""
    m, integrator = simulation.mechanism, simulation.integrator
    if (
        simulation.names
        or not all(x.is_cuda for x in tensors)
        or m.nq != m.nv
        or m.nu == 0
        or tensors[2].shape[-2] == 0
    ):
        return False
    from leastaction.batch.batch_adjoint import has_adjoint

    return has_adjoint(m, integrator)


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
    q: Tensor,
    v: Tensor,
    controls: Tensor | None = None,
    *,
    dt: float,
    integrator: Integrator,
    steps: int | None = None,
    parameters: Mapping[str, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Positions and velocities of a simulation, or of many, as tensors through which gradients flow.

    Any of q, v, controls and parameters may have axes of robots before its own; they are broadcast against each other,
    and the robots are simulated, and gone back through, on all cores. Where all tensors are on a GPU, there are no
    parameters, and the integrator is `Galerkin(order=2)` of a tree without ball and free joints and without forces on
    bodies, both happen there, and states and gradients stay there.

    Args:
        mechanism: the robot.
        q: initial positions, tensor of shape (..., nq); quaternions of unit norm.
        v: initial velocities, tensor of shape (..., nv).
        controls: tensor of shape (..., steps, nu); None for zero controls over `steps` steps.
        dt: time step [s].
        integrator: any with an adjoint, such as `Galerkin(...)`, `Maximal(...)` or `BDF(...)`; with contact,
            `Maximal(smoothing=...)` makes the motion a smooth function.
        steps: how many, where controls do not say.
        parameters: tensors by the names of mechanism parameters, see `leastaction.adjoint`.

    Returns:
        q (..., steps + 1, nq) and v (..., steps + 1, nv).
    """
    torch: Any = require("torch", "torch")
    if not isinstance(parameters, Mapping | None):
        raise IntegratorError(f"parameters: expected tensors by name, got {shown(parameters)}")
    extra = {name: _tensor(torch, value, str(name)) for name, value in (parameters or {}).items()}
    q, v = _tensor(torch, q, "q"), _tensor(torch, v, "v")
    controls = None if controls is None else _tensor(torch, controls, "controls")
    simulation = DifferentiableSimulation(mechanism, integrator, dt, tuple(extra))
    simulation.check(list(extra.values()), robots=True)
    u = simulation.controls(controls, steps, q.dtype, partial(torch.zeros, device=q.device), robots=True)
    tensors = _broadcast(torch, simulation, [q, v, u, *extra.values()])
    if _stays_on_gpu(simulation, tensors):
        return _function_on_gpu().apply(simulation, *tensors)
    return _function().apply(_Runs(simulation), *tensors)


def _broadcast(torch: Any, simulation: DifferentiableSimulation, tensors: list[Any]) -> list[Any]:
    """The tensors with the same axes of robots."""
    own = [1, 1, 2, *(simulation.value(name).ndim for name in simulation.names)]
    axes = [tuple(x.shape[: x.ndim - n]) for x, n in zip(tensors, own, strict=True)]
    try:
        robots = torch.broadcast_shapes(*axes)
    except RuntimeError:
        sizes = ", ".join(
            f"{what} {a}" for what, a in zip(("q", "v", "controls", *simulation.names), axes, strict=True)
        )
        raise IntegratorError(f"axes of robots do not fit together: {sizes}") from None
    return [x.expand((*robots, *x.shape[x.ndim - n :])) for x, n in zip(tensors, own, strict=True)]
