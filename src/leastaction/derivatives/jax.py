"""Simulations as functions that JAX can differentiate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from leastaction._extras import require
from leastaction.derivatives.bridge import DifferentiableSimulation
from leastaction.errors import IntegratorError, MechanismError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown

__all__ = ["simulation"]

Array: TypeAlias = Any
"""A `jax.Array`; JAX is an extra."""


def simulation(
    mechanism: Mechanism,
    integrator: Integrator,
    *,
    dt: float,
    steps: int | None = None,
    parameters: Iterable[str] = (),
) -> Callable[..., tuple[Array, Array]]:
    """A function f(q, v, controls, parameters) -> (positions, velocities) that JAX can differentiate.

    Shapes: q (nq,), v (nv,), controls (steps, nu), zero where they are omitted or None; positions (steps + 1, nq),
    velocities (steps + 1, nv). It works under `jax.jit`, `jax.grad` and `jax.vmap`, which uses all cores; turn on
    `jax_enable_x64` for gradients in double precision. What has no gradient is refused here, before the first call.

    Example:
        >>> f = leastaction.derivatives.jax.simulation(
        ...     robot, la.Galerkin(order=4), dt=0.01, steps=100, parameters=["mass:link1"]
        ... )
        >>> def loss(mass):
        ...     return (f(q, v, None, {"mass:link1": mass})[0][-1] ** 2).sum()
        >>> jax.grad(loss)(1.0)

    Args:
        mechanism: the robot.
        integrator: any with an adjoint, such as `Galerkin(...)`, `Maximal(...)` or `BDF(...)`; with contact,
            `Maximal(smoothing=...)` makes the motion a smooth function.
        dt: time step [s].
        steps: number of steps; needed where controls are omitted.
        parameters: names of mechanism parameters, see `leastaction.adjoint`; f takes a dictionary of their values,
            and those that it leaves out are the mechanism's own.
    """
    jax: Any = require("jax", "jax")
    jnp = jax.numpy
    if isinstance(parameters, str):
        raise IntegratorError(f"parameters: expected names in a list, got {parameters!r}")
    problem = DifferentiableSimulation(mechanism, integrator, dt, tuple(parameters))

    def forward(*arrays: Any) -> Any:
        _, q, v = problem.run_all([np.asarray(x, float) for x in arrays])
        kind = np.asarray(arrays[0]).dtype
        return q.astype(kind), v.astype(kind)

    def backward(*arrays: Any) -> Any:
        *given, bar_q, bar_v = (np.asarray(x, float) for x in arrays)
        found = problem.pull_back_all(problem.run_all(given)[0], given, (bar_q, bar_v))
        return tuple(np.asarray(x, np.asarray(like).dtype) for x, like in zip(found, arrays[: len(found)], strict=True))

    @jax.custom_vjp
    def call(*arrays: Any) -> Any:
        rows, kind = arrays[2].shape[0] + 1, arrays[0].dtype
        shapes = tuple(jax.ShapeDtypeStruct((rows, n), kind) for n in (mechanism.nq, mechanism.nv))
        return jax.pure_callback(forward, shapes, *arrays, vmap_method="broadcast_all")

    def call_forward(*arrays: Any) -> Any:
        return call(*arrays), arrays

    def call_backward(saved: Any, bars: Any) -> Any:
        shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in saved)
        return jax.pure_callback(backward, shapes, *saved, *bars, vmap_method="broadcast_all")

    call.defvjp(call_forward, call_backward)

    def numbers(value: Any, what: str) -> Any:
        try:
            return jnp.asarray(value, float)
        except (TypeError, ValueError):
            raise MechanismError(f"{what}: expected an array of numbers, got {shown(value)}") from None

    def simulate(q: Any, v: Any, controls: Any = None, parameters: Any = None) -> Any:
        given = {} if parameters is None else parameters
        if not isinstance(given, Mapping):
            raise IntegratorError(f"parameters: expected values by names, got {shown(given)}")
        for name in given:
            if name not in problem.names:
                raise IntegratorError(f"{name!r} is not one of the parameters that the simulation was made with")
        q, v = numbers(q, "q"), numbers(v, "v")
        # Within the run JAX would wrap the error in one of its own.
        for name, x, size in (("q", q, mechanism.nq), ("v", v, mechanism.nv)):
            if x.shape != (size,):
                raise MechanismError(f"{name}: expected shape ({size},), got {x.shape}; see `jax.vmap` for many robots")
        controls = None if controls is None else numbers(controls, "controls")
        u = problem.controls(controls, steps, q.dtype, jnp.zeros)
        values = [numbers(given.get(name, problem.value(name)), name) for name in problem.names]
        problem.check(values)
        return call(q, v, u, *values)

    return simulate
