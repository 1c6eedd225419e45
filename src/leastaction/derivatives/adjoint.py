"""Gradients of objectives of whole simulations by the adjoint method (Sueda 2021, 3.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.derivatives.linearize import a_run, stepper_that
from leastaction.derivatives.objective_value import Objective, evaluated, state_gradient
from leastaction.derivatives.velocity_reversal import STATES, VelocityReversal
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters.parameters import parameter, parameter_names
from leastaction.simulation.simulate import simulate
from leastaction.trajectory.run_checks import checked_record
from leastaction.trajectory.trajectory import Trajectory


def adjoint(
    mechanism: Mechanism,
    integrator: Integrator,
    objective: Objective,
    parameters: Iterable[str] = ("controls",),
    *,
    checkpoints: int | bool | None = None,
    smoothing: float = 0.0,
    **options: Any,
) -> tuple[float, dict[str, FloatArray]]:
    """An objective of a simulation and its gradient, at about the cost of two simulations for any number of parameters.

    Args:
        mechanism: the robot.
        integrator: any with an adjoint: `Galerkin(...)`, `Midpoint()`, `Maximal(...)`, `Minimal()`, `BDF(...)`,
            `SDIRK2(...)`; with contact, `Maximal(smoothing=...)` makes the motion a smooth function.
        objective: takes the `Trajectory` and gives its value and its gradients by all positions (along the tangent of
            `Mechanism.integrate`) and velocities, each of shape (steps + 1, nv), or None for zero. Where it depends on
            parameters directly, a function from a parameter's name to that part of the gradient comes fourth. Or it
            gives an `ObjectiveValue`, as those of `reach` do; these can be added and scaled.
        parameters: what to differentiate by:
            "q", "v": the initial state, shape (nv,), or "q", "p" for runs that start from a momentum; "controls":
            shape (steps, nu), held over each step. Where a start was moved, because things overlapped, limits were
            exceeded or loops were open there, "q" is by `run.q[0]`, where the run starts, not by the q that was asked
            for: how the start moves with that has no part in the gradient;
            "gravity": shape (3,);
            "mass:BODY", "com:BODY" (3,), "inertia:BODY" (6: xx, xy, xz, yy, yz, zz about the COM);
            "position:JOINT" (3,): origin of a joint in its parent's frame, so the length of the link before it;
            "rotation:JOINT" (3,): turning the joint's frame about axes of its parent's frame;
            "stiffness:NAME", "damping:NAME", "rest:NAME" of a joint (nv of it; rest: nq, of quaternions the part that
            keeps their norm), a spring or a cable, without rest of a tendon; "armature:JOINT";
            "lower:JOINT", "upper:JOINT", "limit_stiffness:JOINT", "limit_damping:JOINT": limits that push back;
            "points:NAME" (count, 3): where a spring, cable or penalty contact acts, in the frames of its bodies;
            "stiffness:NAME", "damping:NAME", "friction:NAME", "stiction:NAME", "origin:NAME" (3,) of a penalty contact;
            "linear:NAME", "quadratic:NAME", "point:NAME" (3,) of a drag;
            "kp:NAME", "kv:NAME": gains of a servo; "peak:NAME": peak force of a muscle;
            "wrench:NAME" (6,): a constant external wrench; with `Maximal` and `Minimal` those of contacts, limits and
            dry friction that `leastaction.derivatives.parameter_jacobian` names.
            Masses, lengths and the like change at fixed initial velocities (momenta, where the run is given `p`).
            Where a changed placement opens a loop, the initial positions follow by the least change, as with
            `simulate(project=True)`.
        checkpoints: keep the state at so many times only and run the steps between them again, for long runs: memory
            for one piece of the run and the states at its ends, one more simulation, the same gradients. True takes the
            square root of the number of steps. A plain objective still gets all positions and velocities; one made by
            `leastaction.derivatives.piecewise` only ever sees a piece.
        smoothing: of `Maximal` with rigid contact: the run stays rigid, and the backward pass takes contacts as
            smoothed with this central-path parameter [J] at the same states. Contacts that are open or stick then have
            gradients, too, which an optimiser can follow; they are not those of the run. 0: exact gradients.
        **options: as for `simulate`: q, v, dt, duration or steps, controls (an array of shape (steps, nu) or (nu,)).

    Returns:
        The value, and the gradient by each parameter.
    """
    parameters = parameter_names(parameters)
    for name in parameters:
        if name not in STATES:
            parameter(mechanism, name)  # refuses unknown ones before the long run
    if not (isinstance(smoothing, int | float | np.number) and 0.0 <= float(smoothing) < np.inf):
        raise IntegratorError(f"smoothing must be a number [J] of at least 0, got {smoothing!r}")
    if smoothing > 0.0 and checkpoints is not None and checkpoints is not False:
        raise IntegratorError("a smoothed backward pass keeps the whole run: leave out checkpoints")
    if checkpoints is not None and checkpoints is not False:
        from leastaction.derivatives.checkpoints import checkpointed_gradient

        return checkpointed_gradient(mechanism, integrator, objective, parameters, checkpoints, options)
    run = simulate(mechanism, integrator=integrator, **options)
    return total_gradient(run, objective, parameters, options.get("p") is not None, smoothing)


def total_gradient(
    run: Trajectory,
    objective: Objective,
    parameters: Iterable[str],
    from_momentum: bool = False,
    smoothing: float = 0.0,
) -> tuple[float, dict[str, Any]]:
    """Value of an objective of a run, and its gradient through the states and directly."""
    names = list(parameters)
    said = evaluated(objective, run, names)
    out = _gradient(run, said.dq, said.dv, names, from_momentum, smoothing)
    return float(said.value), {name: out[name] + said.directly(name) for name in names}


def gradient(
    run: Trajectory, dq: ArrayLike, dv: ArrayLike, parameters: Iterable[str] = ("controls",)
) -> dict[str, FloatArray]:
    """Gradients by parameters of an objective with given gradients by the states of a run; see `adjoint`.

    Args:
        run: of an integrator with an adjoint, see `adjoint`.
        dq: gradient by the positions along the tangent, shape (steps + 1, nv); None is zero.
        dv: gradient by the velocities, shape (steps + 1, nv); None is zero.
        parameters: names, as for `adjoint`; "q" and "v" are `run.q[0]` and `run.v[0]`, also where the start was moved.
    """
    names = parameter_names(parameters)
    for name in names:
        if name not in STATES:
            parameter(a_run(run).mechanism, name)
    return _gradient(a_run(run), dq, dv, names, False)


def _gradient(
    run: Trajectory, dq: Any, dv: Any, names: list[str], from_momentum: bool, smoothing: float = 0.0
) -> dict[str, FloatArray]:
    m = run.mechanism
    if not isinstance(run.integrator, Integrator):
        raise IntegratorError("the run does not say which integrator made it")
    stepper = stepper_that("reverse", m, run.integrator, run.dt)
    if smoothing > 0.0:
        stepper.smooth_response(smoothing)
    if stepper.carries and "cuts" in run.stored:
        name = type(run.integrator).__name__
        raise IntegratorError(f"the run is a part of one or joined of parts: steps of {name} need those before them")
    bars = [state_gradient(run, x, what) for x, what in ((dq, "dq"), (dv, "dv"))]
    stepper.prepare_start(run.q[0])  # says which loop equations have multipliers
    record = checked_record(stepper, run)
    u = run.stored.get("u", np.broadcast_to(np.zeros(m.nu), (run.steps, len(stepper.control_nodes), m.nu)))
    reversal = VelocityReversal(stepper, names, from_momentum)
    reversal.piece(record, 0, 0, u, bars[0], bars[1])
    activations = run.stored.get("commands"), run.stored.get("activation")
    return reversal.finish(run.q[0], run.stored["p" if stepper.momentum else "v"][0], *activations)
