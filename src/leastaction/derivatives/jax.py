"""Simulations as functions that JAX can differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.derivatives.adjoint import gradient
from leastaction.derivatives.ambient import from_tangent, to_tangent
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.simulate import simulate as run_simulation

__all__ = ["simulation"]


def simulation(mechanism: Mechanism, integrator: Integrator, *, dt: float) -> Any:
    """A function f(q, v, controls) -> (positions, velocities) with a vector-Jacobian product by the adjoint method.

    Shapes: q (nq,), v (nv,), controls (steps, nu); positions (steps + 1, nq), velocities (steps + 1, nv). It works
    under `jax.jit` and `jax.grad`; turn on `jax_enable_x64` for gradients in double precision.

    Args:
        mechanism: the robot.
        integrator: `BDF(...)` or `SDIRK2(...)`.
        dt: time step [s].
    """
    jax: Any = require("jax", "jax")
    jnp = jax.numpy

    def run(q: Any, v: Any, controls: Any) -> Any:
        u = np.asarray(controls, float)
        return run_simulation(
            mechanism,
            np.asarray(q, float),
            np.asarray(v, float),
            dt=dt,
            steps=len(u),
            controls=u,
            integrator=integrator,
        )

    def forward(q: Any, v: Any, controls: Any) -> Any:
        result = run(q, v, controls)
        return result.q.astype(q.dtype), result.v.astype(q.dtype)

    def backward(q: Any, v: Any, controls: Any, bar_q: Any, bar_v: Any) -> Any:
        result = run(q, v, controls)
        dq = to_tangent(mechanism, result.q, np.asarray(bar_q, float))
        g = gradient(result, dq, np.asarray(bar_v, float), ["q", "v", "controls"])
        first = from_tangent(mechanism, result.q[0], g["q"])
        return tuple(x.astype(q.dtype) for x in (first, g["v"], g["controls"]))

    @jax.custom_vjp
    def simulate(q: Any, v: Any, controls: Any) -> Any:
        rows, kind = controls.shape[0] + 1, jnp.result_type(q)
        shapes = (
            jax.ShapeDtypeStruct((rows, mechanism.nq), kind),
            jax.ShapeDtypeStruct((rows, mechanism.nv), kind),
        )
        return jax.pure_callback(forward, shapes, q, v, controls)

    def simulate_forward(q: Any, v: Any, controls: Any) -> Any:
        return simulate(q, v, controls), (q, v, controls)

    def simulate_backward(saved: Any, bars: Any) -> Any:
        q = saved[0]
        shapes = tuple(jax.ShapeDtypeStruct(x.shape, jnp.result_type(q)) for x in saved)
        return jax.pure_callback(backward, shapes, *saved, *bars)

    simulate.defvjp(simulate_forward, simulate_backward)
    return simulate
