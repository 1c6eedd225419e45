"""`leastaction.batch.simulate`: its arguments, checked, and the way to the cores or the GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from leastaction.actuation.controls import check_call, refuse_names
from leastaction.batch.batch_plan import Plan
from leastaction.batch.run import BatchRun
from leastaction.batch.threads import run_on_cores
from leastaction.errors import IntegratorError, MechanismError
from leastaction.initial_state.initial_motions import checked_names
from leastaction.initial_state.start import checked_integrator, number_of_steps
from leastaction.initial_state.unsupported_features import warn_of_ignored
from leastaction.integration.default import announce, choose
from leastaction.integration.integrators import Integrator
from leastaction.integration.settings import is_count
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, real_array, shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters.parameters import with_parameters
from leastaction.typing import DeviceArrayLike, Motions, Parameters, Positions, Velocities

DEVICES = ("cpu", "cuda")


def simulate(
    mechanism: Mechanism,
    q: Positions | DeviceArrayLike | None = None,
    v: Velocities | DeviceArrayLike | None = None,
    *,
    dt: float = 0.01,
    duration: float | None = None,
    steps: int | None = None,
    integrator: Integrator | None = None,
    controls: ArrayLike | DeviceArrayLike | None = None,
    policy: Callable[..., None] | None = None,
    policy_parameters: ArrayLike | None = None,
    parameters: Parameters | None = None,
    every: int = 1,
    device: str = "cpu",
    dtype: DTypeLike = np.float64,
    workers: int | None = None,
    motions: Motions | None = None,
    contacts: int | None = None,
) -> BatchRun:
    """Simulate many robots of one kind.

    Each is a run of its own: what one does, or fails to do, changes nothing for the others. On the CPU they are those
    of `leastaction.simulate`, bit for bit, spread over the cores. On a GPU the whole batch runs in one kernel, one
    thread per robot: made for the mechanism (`leastaction.minimal.contact`) for `Minimal` and `Galerkin(order=2)`, else
    from the kernels of the integrator (`leastaction.batch.general`).

    Args:
        mechanism: the robot.
        q: initial joint positions [rad or m], shape (robots, nq), or (nq,) for all; default its home.
        v: initial joint velocities [rad/s or m/s], shape (robots, nv), or (nv,) for all; default rest.
        dt: time step [s].
        duration: length of the runs [s], rounded to whole steps; or
        steps: number of steps.
        integrator: default what `leastaction.simulate` takes; on a GPU its counterpart with a kernel made for the
            mechanism, `Galerkin(order=2)` for `Galerkin(order=4)` and `Minimal` for `Maximal`, where there is one. On a
            GPU: `Minimal`, `Galerkin`, `Midpoint` of trees, `Maximal`, `BDF` and `SDIRK2`.
        controls: shape (robots, steps, nu), with 1 for robots where they are those of all, and 1 for steps where they
            are held throughout; or (nu,) for all throughout, (steps, nu) for all, (robots, nu) throughout. Where there
            are as many robots as steps, the last two look alike and are refused: write (1, steps, nu) or
            (robots, 1, nu).
        policy: function policy(t, q, v, own, u) that writes the controls of a step into u, shape (nu,), from the time
            t [s] and the state at its start; in place of `controls`. On a GPU it is compiled into the kernel, so it
            must be code that Numba compiles, such as loops over numbers.
        policy_parameters: numbers that the policy gets as `own`, shape (k,) for all or (robots, k).
        parameters: values by name (see `leastaction.adjoint`), the number of the robot first: shape (robots,) for
            masses, (robots, 3) for vectors, ...
        every: record each so many steps.
        device: "cpu" or "cuda".
        dtype: numpy.float64, or on a GPU numpy.float32, but for `Maximal` with contacts, limits or dry friction.
        workers: threads on the CPU; default all cores.
        motions: prescribed ones by name, the same for all robots, as in `leastaction.simulate`; on the CPU.
        contacts: how many at once each robot on a GPU has room for between bodies, and with ground that is no plane;
            default by its shapes. A robot that has more is marked as failed, and the others go on.

    Raises:
        MechanismError: a state is wrong; names the robot.
        IntegratorError: sizes that do not fit, an integrator or part of the robot that the device cannot run, no GPU.
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"batch.simulate needs a Mechanism, got {mechanism!r}")
    if integrator is None:
        integrator, why = default_on(mechanism, device)
        announce(mechanism, integrator, why)
    integrator = checked_integrator(integrator)
    choice(device, DEVICES, "device", IntegratorError)
    count = number_of_steps(dt, duration, steps)
    if not is_count(every):
        raise IntegratorError(f"every must be a whole number of at least 1, got {shown(every)}")
    names = checked_parameters(parameters)
    counted = names | _counted(policy_parameters) | _counted_controls(controls, count)
    robots, (q, v) = checked_states(mechanism, q, v, counted)
    u = device_controls(mechanism, controls, robots, count)
    own = _policy_parameters(policy, policy_parameters, controls, robots)
    warn_of_ignored(integrator.prepare(mechanism, dt))
    mechanisms, number = mechanisms_of(mechanism, names, robots), number_type(dtype)
    if motions is not None:
        checked_names(mechanism, motions)
    if contacts is not None and not is_count(contacts):
        raise IntegratorError(f"contacts must be a whole number of at least 1, got {shown(contacts)}")
    devices = number, workers, motions, contacts
    plan = Plan(mechanism, mechanisms, integrator, q, v, u, policy, own, dt, count, every, *devices)
    if device == "cuda":
        from leastaction.batch.cuda import run_on_gpu

        return run_on_gpu(plan)
    if number != np.float64:
        raise IntegratorError(f"dtype {number.name} needs device='cuda'; the CPU computes with float64")
    return run_on_cores(plan)


def default_on(mechanism: Mechanism, device: Any) -> tuple[Integrator, str]:
    """The integrator that a batch takes when none is named, and why in a few words."""
    integrator, why = choose(mechanism)
    if device != "cuda":
        return integrator, why
    from leastaction.batch.cuda import with_special_kernel

    return with_special_kernel(mechanism, integrator), f"{why}; on a GPU"


def checked_parameters(parameters: Any) -> dict[str, FloatArray]:
    """Values of parameters by name, the number of the robot first."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise IntegratorError(f"parameters must be values by name, got {shown(parameters)}")
    return {name: _values(name, values) for name, values in (parameters or {}).items()}


def mechanisms_of(mechanism: Mechanism, names: Mapping[str, FloatArray], robots: int) -> tuple[Mechanism, ...]:
    """The robots one by one, where parameters differ; else none."""
    each = [{name: values[k] for name, values in names.items()} for k in range(robots if names else 0)]
    own: list[Mechanism] = []
    for k, values in enumerate(each):
        try:
            own.append(with_parameters(mechanism, values))
        except MechanismError as error:
            raise MechanismError(f"parameters of robot {k}: {error}") from None
    return tuple(own)


def checked_states(
    mechanism: Mechanism, q: Any, v: Any, counted: Mapping[str, Any]
) -> tuple[int, tuple[FloatArray, FloatArray]]:
    """Number of robots and their states, shapes (robots, nq) and (robots, nv); `counted` has a row for each robot."""
    given = []
    counts: dict[str, int] = {}
    for what, value, size, default in (
        ("q", q, mechanism.nq, mechanism.home()),
        ("v", v, mechanism.nv, np.zeros(mechanism.nv)),
    ):
        if isinstance(value, Mapping):
            order = "coordinate_names" if what == "q" else "velocity_names"
            expected = f"arrays of shape (robots, {size}) or ({size},) in the order of mechanism.{order}"
            raise MechanismError(f"{what}: a batch takes no names, but {expected}; got {shown(value)}")
        a = real_array(default if value is None else value)
        if a is None:
            raise MechanismError(f"{what}: expected numbers, got {shown(value)}")
        if a.ndim not in (1, 2) or a.shape[-1] != size:
            raise MechanismError(f"{what}: expected shape (robots, {size}) or ({size},), got {a.shape}")
        if a.ndim == 2:
            counts[what] = len(a)
        given.append(a)
    counts |= {name: len(values) for name, values in counted.items()}
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise IntegratorError(f"numbers of robots do not fit together: {words}")
    robots = next(iter(counts.values()), 1)
    if robots == 0:
        raise IntegratorError("a batch needs at least one robot")
    states = [np.broadcast_to(a, (robots, a.shape[-1])).copy() for a in given]
    for what, a in zip("qv", states, strict=True):
        wrong = np.flatnonzero(~np.isfinite(a).all(axis=1))
        if len(wrong):
            raise MechanismError(f"{what}: robot {wrong[0]} has a number that is not finite")
    try:
        unit = mechanism.normalize(states[0])
    except MechanismError as error:
        raise MechanismError(f"{error}, of some robot") from None
    wrong = np.flatnonzero((np.abs(unit - states[0]) > 1e-6).any(axis=1))
    if len(wrong):
        raise MechanismError(f"q: the quaternions of robot {wrong[0]} must have unit norm")
    return robots, (unit, states[1])


def number_type(dtype: Any) -> np.dtype[Any]:
    """`dtype` as NumPy has it."""
    try:
        return np.dtype(dtype)
    except TypeError:
        raise IntegratorError(f"dtype must be numpy.float64 or numpy.float32, got {shown(dtype)}") from None


def _values(name: Any, values: Any) -> FloatArray:
    """Values of a parameter, the number of the robot first."""
    a = real_array(values)
    if a is None or a.ndim == 0:
        raise IntegratorError(f"parameters: {name!r} must be numbers, one robot after another, got {shown(values)}")
    return a


def device_controls(mechanism: Mechanism, controls: Any, robots: int, steps: int) -> FloatArray:
    """Controls as kernels read them, shape (steps or 1, nu, robots or 1)."""
    nu = mechanism.nu
    if controls is None:
        return np.zeros((1, nu, 1))
    refuse_names(mechanism, controls)
    u = real_array(controls)
    if u is None:
        raise IntegratorError(f"controls must be numbers, got {shown(controls)}")
    if not np.isfinite(u).all():
        where = np.argwhere(~np.isfinite(u))[0]
        raise IntegratorError(f"controls: the number at {tuple(int(k) for k in where)} is not finite")
    if u.shape == (nu,):
        return u[None, :, None].copy()
    if u.shape == (steps, nu) == (robots, nu) and steps > 1 and nu:
        each, held = f"controls[None], of shape (1, {steps}, {nu})", f"controls[:, None], of shape ({robots}, 1, {nu})"
        raise IntegratorError(
            f"controls of shape {u.shape} may be those of {steps} steps or of {robots} robots: give {each}, where a "
            f"row is that of a step, for all robots, or {held}, where it is that of a robot, throughout"
        )
    if u.shape == (steps, nu):
        return u[:, :, None].copy()
    if u.shape == (robots, nu):
        return u.T[None].copy()
    if u.ndim == 3 and len(u) in (1, robots) and u.shape[1] in (1, steps) and u.shape[2] == nu:
        return np.ascontiguousarray(np.moveaxis(u, 0, 2))
    wanted = f"({nu},), ({robots}, {nu}), ({steps}, {nu}) or ({robots} or 1, {steps} or 1, {nu})"
    raise IntegratorError(f"controls: expected shape {wanted}, got {u.shape}")


def _counted_controls(controls: Any, steps: int) -> dict[str, FloatArray]:
    """Controls that differ from robot to robot."""
    u = None if controls is None else real_array(controls)
    several = u is not None and ((u.ndim == 3 and len(u) != 1) or (u.ndim == 2 and len(u) != steps))
    return {"controls": u} if u is not None and several else {}


def _counted(policy_parameters: Any) -> dict[str, FloatArray]:
    """Policy parameters that differ from robot to robot."""
    own = real_array(policy_parameters)
    return {} if own is None or own.ndim != 2 else {"policy_parameters": own}


def _policy_parameters(policy: Any, given: Any, controls: Any, robots: int) -> FloatArray:
    """Numbers of the policies as kernels read them, shape (k, robots or 1)."""
    if policy is None:
        if given is not None:
            raise IntegratorError("policy_parameters are given, but no policy")
        return np.zeros((1, 1))
    check_call(getattr(policy, "py_func", policy), "policy", ("t", "q", "v", "own", "u"))
    if controls is not None:
        raise IntegratorError("give controls or a policy, not both")
    if given is None:
        return np.zeros((1, 1))
    own = real_array(given)
    if own is None or own.ndim not in (1, 2) or own.size == 0 or not np.isfinite(own).all():
        raise IntegratorError(
            f"policy_parameters: expected finite numbers of shape (k,) or ({robots}, k), got {shown(given)}"
        )
    return np.ascontiguousarray(own[:, None] if own.ndim == 1 else own.T)
