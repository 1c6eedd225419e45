"""The front door: `simulate(mechanism, q=..., dt=..., duration=..., integrator=...) -> Trajectory`."""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from leastaction._display.progress import Progress
from leastaction.dynamics.legendre import momentum_of_velocity, velocity_of_momentum
from leastaction.dynamics.loops import close_loops
from leastaction.errors import IntegratorError, LeastActionWarning, MechanismError
from leastaction.integrators import Integrator, Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.arguments import FloatArray, configuration, tangent
from leastaction.mechanism.graph import WORLD
from leastaction.record import Record
from leastaction.trajectory import Trajectory


def simulate(
    mechanism: Mechanism,
    q: Any = None,
    v: Any = None,
    *,
    p: Any = None,
    dt: float = 0.01,
    duration: float | None = None,
    steps: int | None = None,
    integrator: Integrator | None = None,
    controls: Any = None,
    controller: Callable[[float, FloatArray, FloatArray], Any] | None = None,
    start: float = 0.0,
    project: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """Simulate the motion of a mechanism.

    Contacts, joint limits and dry friction of joints act with `Maximal` (of order 1 and 2) and `StaggeredProjections`,
    the former two with `ConstrainedEuler`. Other integrators leave them out, and a warning says what: of
    contacts and dry friction at the start, of limits when a joint goes beyond one.

    Args:
        mechanism: the robot.
        q: initial joint positions [rad or m], shape (nq,); default the neutral configuration. Or only some of them by
            their names, `{"joint1": 1.57}`, the others neutral.
        v: initial joint velocities [rad/s or m/s], shape (nv,); default rest. Or by their names, the others zero.
        p: initial discrete momentum, shape (nv,), instead of v: continues a run exactly.
        dt: time step [s].
        duration: length of the run [s], rounded to whole steps; or
        steps: number of steps.
        integrator: such as `Galerkin(order=4)`; default `Galerkin(order=2)`.
        controls: actuator controls (without actuators: one generalised force per degree of freedom), not clipped to
            their limits: shape (nu,) constant; (steps, nu) held over each step; or a function of
            time [s] that gives (nu,), read at the nodes of the integrator.
        controller: called once a step with (t, q, v), gives the controls (nu,) held over that step.
        start: time of the first state [s].
        project: close loops that q leaves open, and take from v what would open them, instead of refusing.
        progress: show a progress bar; default: only on a terminal or in a notebook, and when the run takes long.

    Returns:
        The trajectory, steps + 1 states.

    Raises:
        MechanismError: for a bad state.
        IntegratorError: for bad settings, or an integrator that cannot run this mechanism.
        ConvergenceError: when a step does not converge; its `trajectory` holds all steps before it.
    """
    if integrator is None:
        from leastaction.minimal import Galerkin

        integrator = Galerkin(order=2)
    if not isinstance(integrator, Integrator):
        hint = f"; write {integrator.__name__}()" if isinstance(integrator, type) else ""
        raise IntegratorError(f"integrator must be one such as leastaction.Galerkin(order=4), got {integrator!r}{hint}")
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"simulate needs a Mechanism, such as leastaction.robots.pendulum(), got {mechanism!r}")
    stepper = integrator.prepare(mechanism, dt)
    _warn_of_ignored(stepper)
    count = _steps(dt, duration, steps)
    if not _is_finite(start):
        raise IntegratorError(f"start must be a finite time [s], got {start!r}")
    stepper.start_time = float(start)
    if controls is not None and controller is not None:
        raise IntegratorError("give either controls or a controller")
    if controller is not None:
        _check_call(controller, "controller", ("t", "q", "v"))
    if isinstance(q, Mapping):
        q = _by_name(q, mechanism.coordinate_names, mechanism.neutral(), "q")
    if isinstance(v, Mapping):
        v = _by_name(v, mechanism.velocity_names, np.zeros(mechanism.nv), "v")
    q0 = mechanism.neutral() if q is None else configuration(mechanism, q)
    if project and not mechanism.is_tree:
        q0 = close_loops(mechanism, q0)
    q0 = stepper.prepare_start(q0)
    record = stepper.record(count)
    record["q"][0] = q0
    _set_velocity(stepper, record, q0, v, p)
    if stepper.momentum:
        record["p"][0] = stepper.prepare_momentum(q0, record["p"][0], project)
    times: FloatArray = np.asarray(start + dt * np.arange(count + 1), dtype=float)
    with Progress(count, progress) as bar:
        if controller is None:
            table = _control_table(mechanism, stepper, controls, times)
            if controls is not None:
                record["u"] = table
            done = _advance(stepper, record, count, table, bar)
        else:
            done = _advance_with(controller, stepper, record, times, bar)
    stepper.finish(record)
    run = Trajectory.of_record(mechanism, integrator, dt, times[: done + 1], record, done)
    if "limits" not in stepper.acts:
        _warn_of_limits(run)
    if done < count:
        error = stepper.failure(done, record)
        error.trajectory = run
        error.time = float(times[done])
        raise error
    return run


def _by_name(given: Mapping[str, Any], names: Sequence[str], default: FloatArray, what: str) -> FloatArray:
    """`default` with the entries of these names replaced."""
    values: FloatArray = np.array(default, dtype=float)
    for name, value in given.items():
        if name not in names:
            raise MechanismError(f"{what}: there is no {name!r}{suggestion(str(name), names)}")
        values[names.index(name)] = value
    return values


def _warn_of_ignored(stepper: Stepper) -> None:
    """Say what of the mechanism this integrator leaves out."""
    m, own, better = stepper.mechanism, type(stepper.integrator).__name__, "leastaction.Maximal"
    if own == "Maximal" and not stepper.acts:
        own, better = f"{own} of order {stepper.integrator.order}", "order 2"
    shapes = any(shape.collision for body in m.bodies for shape in body.shapes)
    if m.ground and (m.contacts or shapes) and "contacts" not in stepper.acts:
        text = f"contacts do not act with {own}: {m.name!r} falls through the ground; {better} has them"
        warnings.warn(text, LeastActionWarning, stacklevel=3)
    if any(shape.collision for shape in m.ground) and not (m.contacts or m.penalties or shapes):
        text = f"nothing of {m.name!r} can touch the ground: no body has a contact point or a shape for collision"
        warnings.warn(f"{text} (were its meshes found?)", LeastActionWarning, stacklevel=3)
    falls = any(m.gravity) and any(joint.kind == "free" and joint.parent == WORLD for joint in m.joints)
    if falls and m.contacts and not m.ground and "contacts" in stepper.acts:
        text = (
            f"{m.name!r} has contact points, but there is no ground: add_shape('world', Plane()) of a builder makes one"
        )
        warnings.warn(text, LeastActionWarning, stacklevel=3)
    rough = next((joint.name for joint in m.joints if any(joint.friction)), None)
    if rough is not None and "dry friction" not in stepper.acts:
        text = f"dry friction, such as that of joint {rough!r}, does not act with {own}; {better} has it"
        warnings.warn(text, LeastActionWarning, stacklevel=3)


def _warn_of_limits(run: Trajectory) -> None:
    """Say which joint has gone beyond a rigid limit that does not act."""
    m = run.mechanism
    at = 0
    for joint in m.joints:
        if joint.nq == joint.nv and not any(joint.limit_stiffness):
            q = run.q[:, at : at + joint.nq]
            beyond = np.flatnonzero(np.any((q < np.array(joint.lower)) | (q > np.array(joint.upper)), axis=1))
            # One that starts beyond its limits is meant to.
            if len(beyond) and beyond[0] > 0:
                own, t = type(run.integrator).__name__, run.t[beyond[0]]
                text = f"joint {joint.name!r} goes beyond its limits at t = {t:g} s: they do not act with {own}"
                warnings.warn(f"{text}; leastaction.Maximal keeps them", LeastActionWarning, stacklevel=3)
                return
        at += joint.nq


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and math.isfinite(value)


def _steps(dt: float, duration: float | None, steps: int | None) -> int:
    if (duration is None) == (steps is None):
        raise IntegratorError("give either duration [s] or steps")
    if duration is not None:
        if not _is_finite(duration) or duration < 0.0:
            raise IntegratorError(f"duration must be a finite time [s] that is not negative, got {duration!r}")
        return round(duration / dt)
    if steps is None or not _is_finite(steps) or int(steps) != steps or steps < 0:
        raise IntegratorError(f"steps must be a whole number that is not negative, got {steps!r}")
    return int(steps)


def _set_velocity(stepper: Stepper, record: Record, q: FloatArray, v: Any, p: Any) -> None:
    m = stepper.mechanism
    if v is not None and p is not None:
        raise IntegratorError("give either v or p")
    if stepper.momentum:
        if p is None:
            velocity = tangent(m, v)
            # At rest there is nothing to multiply, and no kernel to load or compile for it.
            record["p"][0] = momentum_of_velocity(m, q[None], velocity[None])[0] if velocity.any() else 0.0
        else:
            record["p"][0] = tangent(m, p, "p")
    elif p is None:
        record["v"][0] = tangent(m, v)
    else:
        record["v"][0] = velocity_of_momentum(m, q[None], tangent(m, p, "p")[None])[0]


def _control_table(mechanism: Mechanism, stepper: Stepper, controls: Any, times: FloatArray) -> FloatArray:
    """Controls at the nodes of all steps, shape (steps, nodes, nu); a view of one row if constant."""
    steps, nodes, nu = len(times) - 1, stepper.control_nodes, mechanism.nu
    shape = (steps, len(nodes), nu)
    if controls is None:
        return np.broadcast_to(np.zeros(nu), shape)
    if callable(controls):
        _check_call(controls, "controls", ("t",))
        fractions = np.array(nodes) * stepper.dt
        table = np.array([[_control(mechanism, controls(t + f), t + f) for f in fractions] for t in times[:-1]])
        return table.reshape(shape)
    values = _numbers(controls)
    if values is None:
        raise IntegratorError("controls must be finite numbers, or a function of time [s]")
    if values.shape == (nu,) or (values.ndim == 0 and nu == 1):
        return np.broadcast_to(values, shape)
    if values.shape == (steps, nu):
        return np.broadcast_to(values[:, None, :], shape)
    raise IntegratorError(f"controls: expected shape ({nu},) or ({steps}, {nu}), got {values.shape}")


def _check_call(function: Any, what: str, arguments: tuple[str, ...]) -> None:
    """Refuse what cannot be called with these arguments."""
    call = f"{what}({', '.join(arguments)})"
    if not callable(function):
        raise IntegratorError(f"{what} must be a function that can be called as {call}, got {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise IntegratorError(f"{what} must be a function that can be called as {call}: {error}") from None


def _control(mechanism: Mechanism, value: Any, t: float) -> FloatArray:
    u = _numbers(value)
    u = None if u is None else u.reshape(-1)
    if u is None or u.shape != (mechanism.nu,):
        raise IntegratorError(f"controls at t = {t:g} s: expected {mechanism.nu} finite numbers, got {value!r}")
    return u


def _numbers(value: Any) -> FloatArray | None:
    """`value` as an array of finite floats, or None if it is anything else."""
    try:
        a = np.array(value, dtype=float)
    except (TypeError, ValueError):
        return None
    return a if np.isfinite(a).all() else None


def _advance(stepper: Stepper, record: Record, count: int, table: FloatArray, bar: Progress) -> int:
    """Compiled loop over many steps, in pieces of about a tenth of a second so that the bar moves."""
    done, piece = 0, 16
    while done < count:
        last = min(count, done + piece)
        began = time.perf_counter()
        # A copy, so that steppers always see one layout: each other one would be compiled anew.
        reached = stepper.advance(record, done, last, table[done:last].copy())
        if reached < last:
            return reached
        spent = time.perf_counter() - began
        done = last
        bar.update(done)
        piece = max(1, min(8 * piece, int(piece * 0.1 / max(spent, 1e-6))))
    return count


def _advance_with(
    controller: Callable[[float, FloatArray, FloatArray], Any],
    stepper: Stepper,
    record: Record,
    times: FloatArray,
    bar: Progress,
) -> int:
    """Step by step, the controller called before each."""
    m = stepper.mechanism
    shape = (1, len(stepper.control_nodes), m.nu)
    record["u"] = np.zeros((len(times) - 1, *shape[1:]))
    for k in range(len(times) - 1):
        q = record["q"][k]
        v = velocity_of_momentum(m, q[None], record["p"][k][None])[0] if stepper.momentum else record["v"][k]
        u = _control(m, controller(float(times[k]), q.copy(), v.copy()), float(times[k]))
        record["u"][k] = u
        if stepper.advance(record, k, k + 1, np.broadcast_to(u, shape).copy()) < k + 1:
            return k
        bar.update(k + 1)
    return len(times) - 1
