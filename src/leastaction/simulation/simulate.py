"""The front door: `simulate(mechanism, q=..., dt=..., duration=..., integrator=...) -> Trajectory`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction._display.progress import Progress
from leastaction._jit.interruptible import interruptible
from leastaction.actuation.controls import check_call, control_at
from leastaction.dynamics.run_velocities import RunVelocities
from leastaction.errors import IntegratorError
from leastaction.initial_state.start import Start, start_run
from leastaction.initial_state.unsupported_features import warn_of_limits
from leastaction.integration.default import announce, choose
from leastaction.integration.integrators import Integrator, Stepper
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.energy_monitor import warn_of_energy
from leastaction.simulation.error_control import accurate_run
from leastaction.simulation.long_steps import warn_of_long_steps
from leastaction.trajectory.trajectory import Trajectory
from leastaction.typing import Controller, Controls, Motions, Positions, Velocities

LONG = 0.01
"""Time of a step [s] from which on steps with a controller can be interrupted by Ctrl-C; before, they are over soon."""


def simulate(
    mechanism: Mechanism,
    q: Positions | None = None,
    v: Velocities | None = None,
    *,
    p: ArrayLike | None = None,
    dt: float | None = None,
    accuracy: float | None = None,
    duration: float | None = None,
    steps: int | None = None,
    integrator: Integrator | None = None,
    controls: Controls | None = None,
    controller: Controller | None = None,
    activation: ArrayLike | None = None,
    start: float = 0.0,
    project: bool = False,
    motions: Motions | None = None,
    progress: bool | None = None,
) -> Trajectory:
    """Simulate the motion of a mechanism.

    Contacts, joint limits and dry friction of joints act with `Maximal` (of order 1 and 2), `Minimal`
    and `StaggeredProjections`, the former two also with `ConstrainedEuler`. Other integrators leave them out, and
    a warning says what: of contacts and dry friction at the start, of limits when a joint goes beyond one.

    Args:
        mechanism: the robot.
        q: initial joint positions [rad or m], shape (nq,); default `mechanism.home()`. Or only some of them by their
            names, `{"joint1": 1.57}`, the others as there.
        v: initial joint velocities [rad/s or m/s], shape (nv,); default rest. Or by their names, the others zero.
        p: initial discrete momentum, shape (nv,), instead of v: continues a run exactly.
        dt: time step [s], default 0.01. With an accuracy the time between recorded states, and between calls of a
            controller; the steps are as short as they need to be. Default then: all steps are recorded.
        accuracy: error per second in place of a step: of angles and of velocities beyond 1 rad/s or m/s relative to
            them, of lengths beyond 1 m relative to them. `run.t` has the times of the steps that it took. Smooth
            motions take the reversible steps of Hairer and Soederlind 2005, with which energy does not drift; where
            bodies touch, steps are bisected until impacts and changes of slip fit. Errors grow on their way as the
            motion itself amplifies them.
        duration: length of the run [s], rounded to whole steps; or
        steps: number of steps.
        integrator: such as `Galerkin(order=4)`. By default what the robot needs: `Minimal()` or `Maximal()`
            where contacts, joint limits or dry friction can act (see `default_integrator`); else `Galerkin(order=4)`;
            `BDF(order=2)` for joints along splines. A line on stderr says which, once; `run.integrator` has it.
        controls: actuator controls (without actuators: one generalised force per degree of freedom), clipped to
            their limits: shape (nu,) constant; (steps, nu) held over each step; (steps, nodes, nu) at the nodes of the
            integrator, as `run.stored["u"]` and plans have them; or a function of time [s] that gives (nu,), read at
            these nodes.
        controller: called once a step with (t, q, v), gives the controls (nu,) held over that step.
        activation: at the start, of actuators that have one, shape (nu,); default zero. See `Activation`.
        start: time of the first state [s].
        project: close loops that q leaves open, and take from v what would open them, instead of refusing.
        motions: prescribed ones by name, see `MechanismBuilder.prescribe`: of a joint its position [rad or m], of a
            body its pose (a `Pose`, or position and quaternion, 7 numbers). Each is constant, or a function of time
            [s], or one value for each of the steps + 1 states. They say where and how fast these things start, too;
            what is not named stays where it is.
        progress: show a progress bar; default: only on a terminal or in a notebook, and when the run takes long.

    Returns:
        The trajectory, steps + 1 states.

    Raises:
        MechanismError: for a bad state.
        IntegratorError: for bad settings, or an integrator that cannot run this mechanism.
        ConvergenceError: when a step does not converge; its `trajectory` holds all steps before it.
    """
    if integrator is None and isinstance(mechanism, Mechanism):
        integrator, why = choose(mechanism)
        announce(mechanism, integrator, why)
    if not isinstance(progress, bool | None):
        raise IntegratorError(f"progress must be True, False or None, got {shown(progress)}")
    if controls is not None and controller is not None:
        raise IntegratorError("give either controls or a controller")
    if controller is not None:
        check_call(controller, "controller", ("t", "q", "v"))
    options: dict[str, Any] = {"duration": duration, "steps": steps, "start": start, "project": project}
    options["activation"], options["motions"] = activation, motions
    if accuracy is not None:
        options |= {"q": q, "v": v, "p": p}
        return accurate_run(mechanism, integrator, accuracy, dt, options, controls, controller, progress)
    dt = options["dt"] = 0.01 if dt is None else dt
    run = start_run(mechanism, integrator, q=q, v=v, p=p, controls=controls, **options)
    stepper, count, record = run.stepper, run.steps, run.record()
    times = run.times(0, count)
    with Progress(count, progress) as bar:
        commands, activations = run.commands, run.activations
        if controller is None:
            if controls is not None or run.controls[:1].any() or activations.any():
                record.u = run.controls
            done = _advance(stepper, record, count, run.controls, bar)
        else:
            commands, activations = np.zeros(run.controls.shape), activations.copy()
            done = _advance_with(controller, run, record, times, bar, commands, activations)
    done = _finite(record, done)
    stepper.finish(record)
    trajectory = Trajectory.of_record(mechanism, integrator, dt, times[: done + 1], record, done)
    if run.actuation.active:
        trajectory.stored["activation"] = activations[: done + 1]
    if record.u is not None and not (run.actuation.plain or np.array_equal(record.u, commands)):
        trajectory.stored["commands"] = commands[:done]
    if "limits" not in stepper.acts:
        warn_of_limits(trajectory)
    warn_of_energy(trajectory)
    warn_of_long_steps(stepper, trajectory)
    if done < count:
        error = stepper.failure(done, record)
        error.trajectory = trajectory
        error.time = float(times[done])
        raise error
    return trajectory


def _finite(record: Record, done: int) -> int:
    """The last of the rows up to `done` that, with all before it, holds finite numbers."""
    rows = slice(1, done + 1)
    fine = np.isfinite(record.q[rows]).all(axis=1) & np.isfinite(record.second[rows]).all(axis=1)
    return done if fine.all() else int(np.argmin(fine))


def _advance(stepper: Stepper, record: Record, count: int, table: FloatArray, bar: Progress) -> int:
    """Compiled loop over many steps, in pieces of about a tenth of a second so that the bar moves.

    Ctrl-C does not wait for the end of a piece: a single step that is hard to solve may take seconds.
    """
    done, piece = 0, 16
    while done < count:
        last = min(count, done + piece)
        began = time.perf_counter()
        # A copy, so that steppers always see one layout: each other one would be compiled anew.
        reached = interruptible(stepper.advance, record, done, last, table[done:last].copy())
        if reached < last:
            return reached
        spent = time.perf_counter() - began
        done = last
        bar.update(done)
        piece = max(1, min(8 * piece, int(piece * 0.1 / max(spent, 1e-6))))
    return count


def _advance_with(
    controller: Callable[[float, FloatArray, FloatArray], Any],
    run: Start,
    record: Record,
    times: FloatArray,
    bar: Progress,
    commands: FloatArray,
    activations: FloatArray,
) -> int:
    """Step by step, the controller called before each; notes what it says and how activations follow."""
    stepper, actuation = run.stepper, run.actuation
    m = stepper.mechanism
    now = np.zeros((1, len(stepper.control_nodes), m.nu))
    record.u = np.zeros((len(times) - 1, *now.shape[1:]))
    stride, velocities, long = stepper.stride(record, now), RunVelocities(stepper, record), False
    for k in range(len(times) - 1):
        q, v = record.q[k], velocities.at(k)
        u = control_at(m, controller(float(times[k]), q.copy(), v.copy()), float(times[k]))
        commands[k] = u
        if actuation.active:
            record.u[k], activations[k + 1] = actuation.step(commands[k], activations[k])
        else:
            record.u[k] = actuation.clipped(u)
        began = time.perf_counter()
        now[0] = record.u[k]
        # A thread costs more than most steps take.
        reached = interruptible(stride, k) if long else stride(k)
        if reached < k + 1:
            return k
        long = long or (k > 0 and time.perf_counter() - began > LONG)
        bar.update(k + 1)
    return len(times) - 1
