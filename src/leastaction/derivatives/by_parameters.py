"""Derivatives of one step by parameters of the mechanism."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from leastaction.derivatives.linearize import _controls, _stepper
from leastaction.derivatives.parameters import parameter, with_parameters
from leastaction.errors import IntegratorError, MechanismError
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray, configuration, tangent

CENTRAL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Offsets and weights of a central difference of order 4."""

ONE_SIDED = ((0.0, -25.0 / 12.0), (1.0, 4.0), (2.0, -3.0), (3.0, 4.0 / 3.0), (4.0, -0.25))
"""The same where a parameter must not become smaller, such as a stiffness of zero."""

LENGTHS = ("position", "rotation", "com", "point")
"""Kinds whose value does not tell how far it may go: they move by a share of a decimetre or a tenth of a radian."""


def parameter_jacobian(
    mechanism: Mechanism,
    integrator: Integrator,
    q: Any,
    p: Any,
    u: Any = None,
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
        integrator: `Maximal(...)`.
        q: joint positions [rad or m], shape (nq,).
        p: discrete momenta, shape (nv,).
        u: controls held over the step, shape (nu,); default zero.
        dt: time step [s].
        parameters: names as for `adjoint`; "friction:JOINT" (dry friction), "lower:JOINT", "upper:JOINT" (nv of it);
            "friction:POINT", "restitution:POINT", "radius:POINT", "point:POINT" (3,) of a contact point;
            "friction:BODY/SHAPE", "restitution:BODY/SHAPE", "radius:BODY/SHAPE", "length:BODY/SHAPE",
            "size:BODY/SHAPE" (3,), "position:BODY/SHAPE" (3,), "rotation:BODY/SHAPE" (3,) of a shape by its name or
            number, "world/..." of the ground; masses do not follow. Where two surfaces say a coefficient of friction or
            restitution the larger counts, so the derivative by the smaller one is zero.

    Returns:
        For each parameter an array of shape (2 nv,) or, for a vector, (2 nv, size); rows as those of A of `linearize`.

    Raises:
        MechanismError: for a name that the mechanism does not have.
    """
    if isinstance(parameters, str):
        raise IntegratorError(f"parameters: expected names in a list, got {parameters!r}")
    stepper: Any = _stepper(mechanism, integrator, dt, "parameter_jacobian")
    values = {name: parameter(mechanism, name) for name in parameters}
    stencils = [stencil for name, value in values.items() for stencil in _stencils(mechanism, name, value)]
    q, p = configuration(mechanism, q), tangent(mechanism, p, "p")
    columns = stepper.parameter_jacobian(q, p, _controls(mechanism, u), stencils)
    out, first = {}, 0
    for name, value in values.items():
        out[name] = columns[:, first : first + value.size].reshape(-1, *value.shape)
        first += value.size
    return out


def _stencils(mechanism: Mechanism, name: str, value: FloatArray) -> list[list[tuple[float, Mechanism]]]:
    """For each entry of a parameter, weights and mechanisms whose weighted sum is the derivative by it."""
    kind = name.partition(":")[0]
    if not np.isfinite(value).all():
        raise MechanismError(f"parameter {name!r} is infinite, so nothing can be differentiated by it")
    with warnings.catch_warnings():
        # Inertias at the edge of what real bodies have, such as those of thin rods, may cross it here.
        warnings.simplefilter("ignore")
        loose = mechanism.replace(strict=False)
        out = []
        for k in range(value.size):
            size = 0.1 if kind in LENGTHS else abs(float(value.flat[k])) or float(np.abs(value).max()) or 1.0

            def at(offset: float, k: int = k, h: float = 1e-4 * size) -> Mechanism:
                other = value.copy()
                other.flat[k] += offset * h
                return with_parameters(loose, {name: other})

            try:
                out.append([(weight / (1e-4 * size), at(offset)) for offset, weight in CENTRAL])
            except MechanismError:
                out.append([(weight / (1e-4 * size), at(offset)) for offset, weight in ONE_SIDED])
    return out
