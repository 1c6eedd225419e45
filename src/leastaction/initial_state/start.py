"""The start of a run: what every run checks, reads and prepares before its first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.actuation.actuation import Actuation
from leastaction.actuation.controls import control_table
from leastaction.dynamics.legendre import momentum_of_velocity, velocity_of_momentum
from leastaction.dynamics.loops import close_loops
from leastaction.dynamics.run_velocities import closing_velocity
from leastaction.errors import IntegratorError, MechanismError
from leastaction.initial_state.initial_motions import motion_table, resting_freedoms
from leastaction.initial_state.start_limits import loops_within_limits, tendons_within_limits, within_limits
from leastaction.initial_state.start_loops import closed_start
from leastaction.initial_state.unsupported_features import warn_of_ignored
from leastaction.integration.integrators import Integrator, Stepper
from leastaction.integration.record import Record
from leastaction.integration.settings import MOST, is_number
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import number, shown, suggestion
from leastaction.mechanism.arguments import FloatArray, configuration, tangent
from leastaction.warn import warn

WHOLE = 1e-9
"""Share of a duration by which it may differ from whole steps: round-off of the quotient."""

INTEGRATORS = {
    "euler": "SemiImplicitEuler()",
    "rk": "RungeKutta(order=4)",
    "rk2": "RungeKutta(order=2)",
    "rk4": "RungeKutta(order=4)",
    "rk45": "DOP853()",
}
"""What other libraries call integrators, and what is nearest to it here."""


@dataclass(frozen=True, eq=False)
class Start:
    """A run that is about to begin.

    Attributes:
        stepper: prepared for the first state.
        steps: number of steps.
        first: record of the first state alone.
        controls: that act at the control nodes of each step, shape (steps, nodes, nu).
        commands: the controls as the user gave them, before limits and activations.
        actuation: what makes controls of commands.
        activations: of the actuators, shape (steps + 1, nu); without columns where there are none.
    """

    stepper: Stepper
    steps: int
    first: Record
    controls: FloatArray
    commands: FloatArray
    actuation: Actuation
    activations: FloatArray

    def times(self, first: int, last: int) -> FloatArray:
        """Times [s] of the states `first` ... `last`, shape (last - first + 1,)."""
        return np.asarray(self.stepper.start_time + self.stepper.dt * np.arange(first, last + 1), dtype=float)

    def record(self) -> Record:
        """Record of the whole run, with its first state."""
        try:
            record = self.stepper.record(self.steps)
        except (MemoryError, ValueError):
            raise IntegratorError(f"a run of {self.steps} steps does not fit into memory; take fewer steps") from None
        for name, rows in self.first.states().items():
            record[name][:1] = rows
        return record


def start_run(
    mechanism: Mechanism,
    integrator: Integrator | None,
    *,
    q: Any = None,
    v: Any = None,
    p: Any = None,
    dt: float = 0.01,
    duration: float | None = None,
    steps: int | None = None,
    controls: Any = None,
    activation: Any = None,
    start: float = 0.0,
    project: bool = False,
    motions: Any = None,
) -> Start:
    """Prepare a run; arguments and errors are those of `leastaction.simulate`."""
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(
            f"simulate needs a Mechanism, such as leastaction.robots.pendulum(), got {shown(mechanism)}"
        )
    stepper = checked_integrator(integrator).prepare(mechanism, dt)
    warn_of_ignored(stepper)
    count = number_of_steps(dt, duration, steps)
    stepper.start_time = start_time(start)
    own = (mechanism, motions, initial_positions(mechanism, q))
    stepper.motions = motion_table(*own, stepper.start_time, float(dt), count)
    first = first_state(stepper, q, v, p, project)
    commands, actuation = control_table(stepper, controls, count), Actuation(mechanism, dt, stepper.control_nodes)
    acting, activations = actuation.run(commands, actuation.start(activation))
    return Start(stepper, count, first, acting, commands, actuation, activations)


def checked_integrator(integrator: Any) -> Integrator:
    """`integrator`, or `IntegratorError`."""
    if not isinstance(integrator, Integrator):
        hint = f"; write {integrator.__name__}()" if isinstance(integrator, type) else ""
        if isinstance(integrator, str):
            hint = _by_text(integrator)
        raise IntegratorError(f"integrator must be one such as leastaction.Galerkin(order=4), got {integrator!r}{hint}")
    return integrator


def _by_text(text: str) -> str:
    """What somebody who names an integrator by text is to write."""
    from leastaction.integration import registry

    if text.lower() in INTEGRATORS:
        return f"; write leastaction.{INTEGRATORS[text.lower()]}"
    try:
        return f"; write leastaction.{registry.title(registry.parse(text))}"
    except IntegratorError as error:
        return f"; {error}"


def start_time(start: Any) -> float:
    """The time of the first state [s], or `IntegratorError`."""
    if not is_number(start):
        raise IntegratorError(f"start must be a finite time [s], got {shown(start)}")
    return float(start)


def first_state(stepper: Stepper, q: Any, v: Any, p: Any, project: bool) -> Record:
    """Record of the first state alone, from what `leastaction.simulate` takes; the stepper is ready for it."""
    if not isinstance(project, bool | np.bool_):
        raise IntegratorError(f"project must be True or False, got {shown(project)}")
    mechanism = stepper.mechanism
    q0 = initial_positions(mechanism, q)
    if stepper.motions is not None:
        v0 = initial_velocities(mechanism, v)
        q0, v0 = stepper.motions.begin(mechanism, q0, v0)
        v = v0 if p is None else v
    q0 = _resting_at(stepper, q0, within_limits(stepper, q0))
    if project and not mechanism.is_tree:
        q0 = close_loops(mechanism, q0)
    elif (mechanism.prescribed or q is None) and not mechanism.is_tree:
        q0 = closed_start(mechanism, q0)
    if not mechanism.is_tree:
        q0 = loops_within_limits(stepper, q0)
    q0 = _resting_at(stepper, q0, tendons_within_limits(stepper, q0))
    if stepper.motions is not None and p is None and not mechanism.is_tree:
        v = closing_velocity(mechanism, q0, initial_velocities(mechanism, v))
    q0 = stepper.prepare_start(clear_start(stepper, q0))
    first = stepper.record(0)
    first.q[0] = q0
    first.second[0] = _second(stepper, q0, v, p)
    if stepper.momentum:
        first.second[0] = stepper.prepare_momentum(q0, first.second[0], project)
    return first


def clear_start(stepper: Stepper, q: FloatArray) -> FloatArray:
    """`Stepper.clear_start`; prescribed bodies that rest where the start has them do so where they are moved to."""
    return _resting_at(stepper, q, stepper.clear_start(q, resting_freedoms(stepper.mechanism, stepper.motions)))


def _resting_at(stepper: Stepper, q: FloatArray, moved: FloatArray) -> FloatArray:
    """`moved`, where what rests at q has been moved to: it rests there."""
    if stepper.motions is not None and moved is not q:
        stepper.motions = stepper.motions.resting_at(stepper.mechanism, moved)
    return moved


def initial_positions(mechanism: Mechanism, q: Any) -> FloatArray:
    """Joint positions, shape (nq,), from what `leastaction.simulate` takes."""
    if isinstance(q, Mapping):
        q = _by_name(q, mechanism.coordinate_names, mechanism.home(), "q")
    return mechanism.home() if q is None else configuration(mechanism, q)


def initial_velocities(mechanism: Mechanism, v: Any) -> FloatArray:
    """Joint velocities, shape (nv,), from what `leastaction.simulate` takes."""
    if isinstance(v, Mapping):
        v = _by_name(v, mechanism.velocity_names, np.zeros(mechanism.nv), "v")
    return tangent(mechanism, v)


def number_of_steps(dt: float, duration: float | None, steps: int | None) -> int:
    """Number of steps of a run, from what `leastaction.simulate` takes."""
    if (duration is None) == (steps is None):
        raise IntegratorError("give either duration [s] or steps")
    if duration is not None:
        if not is_number(duration) or duration < 0.0:
            raise IntegratorError(f"duration must be a finite time [s] that is not negative, got {shown(duration)}")
        count = duration / dt
        if not count <= MOST:
            raise IntegratorError(f"duration of {duration:g} s is more than {MOST} steps of {dt:g} s")
        if duration > 0.0 and round(count) == 0:
            raise IntegratorError(f"duration of {duration:g} s is no more than half a step of dt = {dt:g} s")
        whole = round(count)
        if abs(count - whole) > WHOLE * max(count, 1.0):
            warn(
                f"duration of {duration:g} s is not a whole number of steps of dt = {dt:g} s: the run ends at "
                f"{whole * dt:g} s, after {whole} steps"
            )
        return whole
    if steps is None or not is_number(steps) or int(steps) != steps or steps < 0:
        raise IntegratorError(f"steps must be a whole number that is not negative, got {shown(steps)}")
    if steps > MOST:
        raise IntegratorError(f"steps must not be more than {MOST}, got {shown(steps)}")
    return int(steps)


def _by_name(given: Mapping[str, Any], names: Sequence[str], default: FloatArray, what: str) -> FloatArray:
    """`default` with the entries of these names replaced."""
    values: FloatArray = np.array(default, dtype=float)
    for name, value in given.items():
        if name not in names:
            raise MechanismError(f"{what}: there is no {name!r}{suggestion(str(name), names)}")
        values[names.index(name)] = number(value, f"{what}: {name!r}", infinite=True)
    return values


def _second(stepper: Stepper, q: FloatArray, v: Any, p: Any) -> FloatArray:
    """The momentum or velocity that the stepper solves for, shape (nv,)."""
    m = stepper.mechanism
    if v is not None and p is not None:
        raise IntegratorError("give either v or p")
    if p is not None:
        p = tangent(m, p, "p")
        return p if stepper.momentum else velocity_of_momentum(m, q[None], p[None])[0]
    v = initial_velocities(m, v)
    # At rest there is nothing to multiply, and no kernel to load or compile for it.
    return momentum_of_velocity(m, q[None], v[None])[0] if stepper.momentum and v.any() else v
