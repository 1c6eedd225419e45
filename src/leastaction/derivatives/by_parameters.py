"""Derivatives of one step by parameters of the mechanism."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from leastaction.derivatives.linearize import controls_of, stepper_that
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray, configuration, tangent
from leastaction.parameters.parameter_differences import stencils
from leastaction.parameters.parameters import parameter, parameter_names


def parameter_jacobian(
    mechanism: Mechanism,
    integrator: Integrator,
    q: ArrayLike,
    p: ArrayLike,
    u: ArrayLike | None = None,
    dt: float = 0.01,
    *,
    parameters: Iterable[str],
) -> dict[str, FloatArray]:
    """Derivatives of the step (q, p, u) -> (q', p') by parameters of the mechanism, at fixed q, p and u.

    By the implicit function theorem: the partial derivatives of the step's equations by a parameter are differences of
    fourth order of these equations at fixed unknowns (error about 1e-10 of the largest), and one solve with the
    factorised Newton matrix gives the change of the solution. No step is solved again, so the contacts are those of the
    step itself; `Maximal(smoothing=...)` makes it a smooth function of its parameters.

    Args:
        mechanism: the robot.
        integrator: `Maximal(...)`, `Minimal()`, `Galerkin(...)` or `Midpoint()`.
        q: joint positions [rad or m], shape (nq,).
        p: discrete momenta, shape (nv,).
        u: controls held over the step, shape (nu,); default zero.
        dt: time step [s].
        parameters: names as for `adjoint`; "friction:JOINT" (dry friction), "lower:JOINT", "upper:JOINT" (nv of it);
            "friction:POINT", "restitution:POINT", "radius:POINT", "point:POINT" (3,) of a contact point;
            "friction:BODY/SHAPE", "restitution:BODY/SHAPE", "radius:BODY/SHAPE", "length:BODY/SHAPE",
            "size:BODY/SHAPE" (3,), "position:BODY/SHAPE" (3,), "rotation:BODY/SHAPE" (3,) of a shape by its name or
            number, "world/..." of the ground; masses do not follow, but contact points in a shape keep their place in
            it, and radii and coefficients of theirs that are the shape's follow. Where two surfaces say a coefficient
            of friction or restitution the larger counts, so the derivative by the smaller one is zero.

    Returns:
        For each parameter an array of shape (2 nv,) or, for a vector, (2 nv, size); rows as those of A of `linearize`.

    Raises:
        MechanismError: for a name that the mechanism does not have.
    """
    if isinstance(parameters, str):
        raise IntegratorError(f"parameters: expected names in a list, got {parameters!r}")
    stepper = stepper_that("parameters", mechanism, integrator, dt)
    values = {name: parameter(mechanism, name) for name in parameter_names(parameters)}
    columns = [stencil for name in values for stencil in stencils(mechanism, name)]
    q, p = configuration(mechanism, q), tangent(mechanism, p, "p")
    found = stepper.parameter_jacobian(q, p, controls_of(mechanism, u)[0], columns)
    out, first = {}, 0
    for name, value in values.items():
        out[name] = found[:, first : first + value.size].reshape(-1, *value.shape)
        first += value.size
    return out
