"""Parameters of a mechanism by name: their values, mechanisms with other values, and derivatives of steps by them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from leastaction.derivatives.linearize import _controls, _stepper
from leastaction.dynamics.workspace import FloatArray, configuration, tangent
from leastaction.errors import IntegratorError, MechanismError
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.mechanism import Body
from leastaction.mechanism.pose import Pose

AXES = {"x": 0, "y": 1, "z": 2}
MOMENTS = {"xx": 0, "xy": 1, "xz": 2, "yy": 3, "yz": 4, "zz": 5}

CENTRAL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Offsets and weights of a central difference of order 4."""

ONE_SIDED = ((0.0, -25.0 / 12.0), (1.0, 4.0), (2.0, -3.0), (3.0, 4.0 / 3.0), (4.0, -0.25))
"""The same where a parameter must not become smaller, such as a stiffness of zero."""


def parameter(mechanism: Mechanism, name: str) -> float:
    """Value of a parameter, see `parameter_jacobian`; 0 for turns (rx, ry, rz), which start where the frame stands."""
    seen: list[float] = []
    _walk(mechanism, _split(name), lambda x: seen.append(x) or x, name)
    return seen[0]


def changed(mechanism: Mechanism, name: str, change: float) -> Mechanism:
    """The same mechanism with one parameter changed by `change`, see `parameter_jacobian`.

    Inertias that no real body has are kept: they serve derivatives at its edge, such as those of thin rods.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _walk(replace(mechanism, strict=False), _split(name), lambda x: x + change, name, change)


def parameter_jacobian(
    mechanism: Mechanism,
    integrator: Integrator,
    q: Any,
    p: Any,
    u: Any = None,
    dt: float = 0.01,
    *,
    parameters: Sequence[str],
) -> FloatArray:
    """Derivatives of the step (q, p, u) -> (q', p') by parameters of the mechanism, at fixed q, p and u.

    By the implicit function theorem: the partial derivatives of the step's equations by a parameter are central
    differences of fourth order of these equations at fixed unknowns, and one solve with the factorised Newton matrix
    gives the change of the solution. No step is solved again, so what is found belongs to the same contacts. With
    contact, `Maximal(smoothing=...)` makes the step a smooth function of its parameters.

    A parameter's name says where it stands in the mechanism, with dots in between:

    ============================================  ======================================================
    name                                          parameter
    ============================================  ======================================================
    gravity.z                                     [m/s^2]
    bodies.NAME.mass                              [kg]; moments of inertia stay
    bodies.NAME.com.x                             centre of mass [m]
    bodies.NAME.inertia.xy                        about the centre of mass [kg m^2]
    bodies.NAME.shapes.0.friction                 of a shape by number or name; radius, length, size.x, pose.x
    ground.0.friction                             of a shape of the world
    contacts.NAME.friction                        of a contact point; radius, point.x
    joints.NAME.placement.x                       origin of the joint in its parent [m]
    joints.NAME.placement.rx                      turn of its frame about its own x axis [rad]
    joints.NAME.child_placement.x                 the same on the child's side
    joints.NAME.stiffness                         also damping, friction, armature, rest, lower, upper; of
                                                  several freedoms .0, .1, ...
    springs.NAME.stiffness                        also rest_length, damping, start.point.x, end.point.x
    cables.NAME.stiffness                         also rest_length, damping, via.0.point.x
    couplings.NAME.coefficients.1
    actuators.NAME.gear
    wrenches.NAME.wrench.3                        also point.x
    ============================================  ======================================================

    Of two shapes that touch the larger coefficient of friction counts; the smaller one's derivative is zero.

    Args:
        mechanism: the robot.
        integrator: `Maximal(...)`.
        q: joint positions [rad or m], shape (nq,).
        p: discrete momenta, shape (nv,).
        u: controls held over the step, shape (nu,); default zero.
        dt: time step [s].
        parameters: names.

    Returns:
        Shape (2 nv, len(parameters)), rows as those of A of `linearize`.

    Raises:
        MechanismError: for a name that the mechanism does not have.
    """
    if isinstance(parameters, str):
        raise IntegratorError(f"parameters: expected a list of names, got {parameters!r}")
    stepper: Any = _stepper(mechanism, integrator, dt, "parameter_jacobian")
    stencils = [_stencil(mechanism, name) for name in parameters]
    q, p = configuration(mechanism, q), tangent(mechanism, p, "p")
    return stepper.parameter_jacobian(q, p, _controls(mechanism, u), stencils)


def _stencil(mechanism: Mechanism, name: str) -> list[tuple[float, Mechanism]]:
    """Weights and mechanisms whose weighted sum is the derivative by a parameter."""
    value = parameter(mechanism, name)
    tokens = _split(name)
    size = abs(value) or 1.0
    if tokens[-1] in AXES or (tokens[-1][:1] == "r" and tokens[-1][1:] in AXES):
        size = 0.1  # a length or turn, whose size does not tell how far it may go
    if tokens[-1] in MOMENTS:
        kind, rest = tokens[0], _element(mechanism.bodies, tokens[1:], name)
        size = sum(rest[0].inertia.moments[k] for k in (0, 3, 5)) if kind == "bodies" else size
    h = 1e-4 * (size or 1.0)
    try:
        return [(weight / h, changed(mechanism, name, offset * h)) for offset, weight in CENTRAL]
    except MechanismError:
        return [(weight / h, changed(mechanism, name, offset * h)) for offset, weight in ONE_SIDED]


def _split(name: str) -> list[str]:
    if not isinstance(name, str) or not name:
        raise MechanismError(f"parameter: expected a name such as 'bodies.rod.mass', got {name!r}")
    return name.split(".")


def _element(items: Sequence[Any], tokens: list[str], name: str) -> tuple[Any, int, list[str]]:
    """The element that the first tokens name or number, its place, and the tokens left. Names may have dots."""
    for count in range(len(tokens), 0, -1):
        wanted = ".".join(tokens[:count])
        for k, item in enumerate(items):
            if getattr(item, "name", None) == wanted:
                return item, k, tokens[count:]
    if tokens and tokens[0].isdigit() and int(tokens[0]) < len(items):
        return items[int(tokens[0])], int(tokens[0]), tokens[1:]
    raise MechanismError(f"parameter {name!r}: there is no {'.'.join(tokens) or 'part'!r}")


def _walk(thing: Any, tokens: list[str], f: Any, name: str, turn: float = 0.0) -> Any:
    """`thing` with f applied to the number that the tokens lead to."""
    if isinstance(thing, tuple):
        if len(thing) == 1 and not tokens:
            tokens = ["0"]
        letters = AXES if len(thing) == 3 else MOMENTS if len(thing) == 6 else {}
        if tokens and tokens[0] in letters:
            k, rest = letters[tokens[0]], tokens[1:]
        else:
            _, k, rest = _element(thing, tokens, name)
        return (*thing[:k], _walk(thing[k], rest, f, name, turn), *thing[k + 1 :])
    if not tokens:
        if not isinstance(thing, float | int | np.floating):
            raise MechanismError(f"parameter {name!r}: is {thing!r}, not a number")
        return f(float(thing))
    head, rest = tokens[0], tokens[1:]
    if isinstance(thing, Pose) and head in AXES:
        return Pose(_walk(thing.position, tokens, f, name), thing.quaternion)
    if isinstance(thing, Pose) and head in ("rx", "ry", "rz") and not rest:
        f(0.0)
        return thing * Pose.from_axis_angle(head[1], turn)
    if isinstance(thing, Body) and head in ("mass", "com"):
        return replace(thing, inertia=_walk(thing.inertia, tokens, f, name))
    if isinstance(thing, Inertia) and head in MOMENTS:
        return replace(thing, moments=_walk(thing.moments, tokens, f, name))
    if isinstance(thing, Mechanism) and head == "joints" and thing.loops:
        wanted = ".".join(rest)
        if any(wanted.startswith(f"{joint.name}.") for joint in thing.loops):
            head = "loops"
    if not is_dataclass(thing) or head not in {field.name for field in fields(thing)}:
        raise MechanismError(f"parameter {name!r}: there is no {head!r}")
    return replace(thing, **{head: _walk(getattr(thing, head), rest, f, name, turn)})  # type: ignore[type-var]
