"""`Simulator`: a run that goes on step by step, for controllers, learning and real time."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.actuation import Actuation, hold_controls
from leastaction.contact_log import contact_table
from leastaction.controls import control_at
from leastaction.damping_quadrature import RunVelocities
from leastaction.default import announce, choose
from leastaction.dynamics.legendre import Energies, momentum_of_velocity
from leastaction.energy_monitor import EnergyMonitor, WarnOnce
from leastaction.errors import IntegratorError, MechanismError
from leastaction.external_forces import Pushes
from leastaction.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.motions import checked_names, motion_at
from leastaction.record import Record
from leastaction.settings import is_number
from leastaction.simulator_state import SimulatorState, Told, check_state, not_set
from leastaction.start import checked_integrator, first_state, start_time
from leastaction.trajectory import Trajectory
from leastaction.unsupported_features import warn_of_ignored

FLOAT = np.dtype(np.float64)

ROOM = 256
"""Steps for which there is room before the last two states move to the front again."""


class Simulator:
    """A robot that is advanced one step at a time.

    Its positions are those of `simulate`, to the last bit (to round-off where motors or springs press on contacts), and
    so are momenta and velocities where nothing touches: in contact those of a run hold half of the impulses of the step
    to come, which a simulator can only guess. Energy from
    nowhere is said in an `EnergyWarning`, some hundred steps later at the latest, or at the next reset. It can be
    copied and pickled, and goes on from its `state` then; a push for the next step is not kept.

    Example:
        >>> sim = la.Simulator(la.robots.cart_pole(), la.Galerkin(order=4), dt=0.01)
        >>> sim.reset({"pivot": 0.1})
        >>> for _ in range(100):
        ...     sim.step([-20.0 * sim.q[1]])

    Args:
        mechanism: the robot.
        integrator: such as `Galerkin(order=4)`; default what the robot needs, see `simulate`.
        dt: time step [s].
        pushable: names of bodies that `push` may push, or True for all; None: none. Each costs six controls inside.
        once: simulators with the same `leastaction.energy_monitor.WarnOnce` warn of spurious energy once for all.

    Raises:
        IntegratorError: for bad settings, or an integrator that cannot run this mechanism.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Integrator | None = None,
        dt: float = 0.01,
        *,
        pushable: Any = None,
        once: WarnOnce | None = None,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise MechanismError(
                f"Simulator needs a Mechanism, such as leastaction.robots.pendulum(), got {mechanism!r}"
            )
        if not isinstance(once, WarnOnce | None):
            raise IntegratorError(f"once must be a leastaction.energy_monitor.WarnOnce, got {shown(once)}")
        if integrator is None:
            integrator, why = choose(mechanism)
            announce(mechanism, integrator, why)
        self._own, self._pushes = mechanism, None if pushable is None else Pushes(mechanism, pushable)
        whole = mechanism if self._pushes is None else self._pushes.whole
        self._stepper = _prepared(checked_integrator(integrator), mechanism, whole, dt)
        warn_of_ignored(self._stepper)
        self._fresh = self._stepper.memory()
        self._whole_u = np.zeros((1, len(self._stepper.control_nodes), whole.nu))
        self._u = self._whole_u[:, :, : mechanism.nu]  # those behind them are pushes
        self._shape, self._none = (mechanism.nu,), np.zeros(mechanism.nu)
        self._actuation = Actuation(mechanism, dt, self._stepper.control_nodes)
        self._energies: Energies | None = None
        self._watch = EnergyMonitor(mechanism, self.integrator, self.dt, self._stepper.momentum, once=once)
        self._controls = np.zeros((ROOM, *self._u.shape[1:]))
        self._record: Any = None
        self._kept: FloatArray | None = None  # contacts of the last step of a state that was brought back
        self.reset()

    # ------------------------------------------------------------------ settings

    @property
    def mechanism(self) -> Mechanism:
        """The robot."""
        return self._own

    @property
    def integrator(self) -> Integrator:
        """Its integrator."""
        return self._stepper.integrator

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self._stepper.dt

    @property
    def pushable(self) -> tuple[str, ...]:
        """Names of the bodies that `push` may push."""
        return () if self._pushes is None else self._pushes.bodies

    # ------------------------------------------------------------------ the run

    def reset(
        self,
        q: Any = None,
        v: Any = None,
        *,
        p: Any = None,
        t: float = 0.0,
        project: bool = False,
        activation: Any = None,
    ) -> None:
        """Start anew; arguments as of `simulate`, with t the time of the start [s].

        Prescribed joints and bodies start where q has them, as fast as v says: `reset({"turn": 0.5}, {"turn": 2.0})`.

        Raises:
            MechanismError: for a bad state; the simulator is then where it was.
        """
        start, activation = start_time(t), self._actuation.start(activation)
        self._start_at(first_state(self._stepper, q, v, p, project), start, activation)

    def _start_at(self, first: Record, start: float, activation: FloatArray) -> None:
        """Start anew at a state that `first_state` has found good."""
        stepper = self._stepper
        self._look_at_energy()
        stepper.remember(self._fresh)
        stepper.start_time = start
        self._begin(stepper.record(ROOM))
        for name, rows in first.states().items():
            self._record[name][:1] = rows
        self._start, self._steps, self._row = start, 0, 0
        self._activation, self._kept = activation, None
        self._watch_from_here()
        if self._pushes is not None:
            self._pushes.controls[:] = 0.0

    def _begin(self, record: Record) -> None:
        """Take a new record, or its first rows into the one at hand, for which all is prepared."""
        rows, own = record.states(), self._record.states() if self._record is not None else {}
        if [(name, x.shape) for name, x in rows.items()] != [(name, x.shape) for name, x in own.items()]:
            self._record, self._stride = record, self._stepper.stride(record, self._whole_u)
            self._velocities = RunVelocities(self._stepper, record, self.mechanism)
            return
        for name, x in rows.items():
            own[name][:2] = x[:2]

    def push(self, body: str, force: Any = (0.0, 0.0, 0.0), torque: Any = (0.0, 0.0, 0.0), point: Any = None) -> None:
        """Push a body over the next step; pushes add up.

        Over the step it keeps its directions in the body, and the point at which it acts.

        Args:
            body: name of one of the `pushable` bodies.
            force: in directions of the world [N], 3 numbers.
            torque: in directions of the world [N m], 3 numbers.
            point: where the force acts, in the body's frame [m], 3 numbers; default its centre of mass.

        Raises:
            IntegratorError: this body cannot be pushed.
        """
        pushes = self._pushes or Pushes(self.mechanism, ())
        pushes.add(self._record.q[self._row], body, force, torque, point)

    def step(self, u: Any = None, motions: Any = None) -> None:
        """Advance by dt.

        Args:
            u: controls held over the step, shape (nu,), one per actuator (or degree of freedom, where there are no
                actuators); default zero. Clipped to their limits. One row or column of them counts as well.
            motions: where prescribed ones are at the end of the step, by name (see `simulate`); others stay.

        Raises:
            IntegratorError: for controls that are not nu finite numbers.
            ConvergenceError: the step has no solution; the simulator stays where it was before the step.
        """
        activation, actuation = self._activation, self._actuation
        # What is odd is looked at closely. NumPy's own functions would take several times as long.
        plain = type(u) is np.ndarray and u.shape == self._shape and u.dtype is FLOAT and u.flags.carray
        if self._row == ROOM:
            self._move_to_front()
        row, stepper = self._row, self._stepper
        if not plain or not hold_controls(u, actuation.lower, actuation.upper, self._whole_u, self._controls, row):
            u = self._none if u is None else control_at(self.mechanism, u, self.t)
            hold_controls(u, actuation.lower, actuation.upper, self._whole_u, self._controls, row)
        if actuation.active:
            self._u[0], activation = actuation.step(self._u[0], activation)
            self._controls[row] = self._u[0]
        if motions is not None:
            given = checked_names(self.mechanism, motions)
            stepper.aim = {x: motion_at(self.mechanism, x, value, self.t) for x, value in given.items()}
        pushes = self._pushes
        if pushes is not None:
            self._whole_u[:, :, self._own.nu :] = pushes.controls
        stepper.forget_contacts()
        if self._stride(row) == row:
            self._look_at_energy()
            error = stepper.failure(self._steps, self._record)
            error.time = self.t
            raise error
        self._row, self._steps, self._activation, self._kept = row + 1, self._steps + 1, activation, None
        if pushes is not None:
            pushes.controls[:] = 0.0

    def _move_to_front(self) -> None:
        """Make room for more steps: they need the last two states."""
        self._look_at_energy()
        self._seen = 1
        for rows in self._record.states().values():
            if len(rows) == ROOM + 1:
                rows[:2] = rows[-2:]
        self._row = 1
        self._stepper.start_time = self._start + self.dt * (self._steps - 1)

    def _watch_from_here(self) -> None:
        """Energies are compared with that of the present state from now on; pushes are forces from outside."""
        self._seen = self._row
        if self._pushes is None:
            self._watch.begin(self._record.q[self._row], self._record.second[self._row])
            work = self._record.get("work")
            self._first_work = 0.0 if work is None else float(work[self._row])

    def _look_at_energy(self) -> None:
        """Warn of energy from nowhere in the steps that were not looked at yet."""
        if self._record is None or self._pushes is not None or self._row == self._seen:
            return
        rows, work = slice(self._seen, self._row + 1), self._record.get("work")
        t = self.t - self.dt * np.arange(self._row - self._seen, -1, -1)
        u = self._controls[self._seen : self._row]
        motions = None if work is None else work[rows] - self._first_work
        self._watch.look(t, self._record.q[rows], self._record.second[rows], u, motions)
        self._seen = self._row

    # ------------------------------------------------------------------ the state

    @property
    def t(self) -> float:
        """Time [s]."""
        return self._start + self.dt * self._steps

    @property
    def steps(self) -> int:
        """Steps done since the reset."""
        return self._steps

    @property
    def q(self) -> FloatArray:
        """Joint positions [rad or m], shape (nq,): a copy, writing into it moves nothing."""
        return self._record.q[self._row].copy()

    @q.setter
    def q(self, value: Any) -> None:
        raise not_set("q", keeps=True)

    @property
    def v(self) -> FloatArray:
        """Joint velocities [rad/s or m/s], shape (nv,); a copy."""
        return self._velocities.at(self._row, self._steps > 0).copy()

    @v.setter
    def v(self, value: Any) -> None:
        raise not_set("v", keeps=True)

    @property
    def p(self) -> FloatArray:
        """Momenta dual to v, shape (nv,); a copy."""
        second = self._record.second[self._row]
        if self._stepper.momentum:
            return second.copy()
        return momentum_of_velocity(self.mechanism, self._record.q[self._row][None], second[None])[0]

    @p.setter
    def p(self, value: Any) -> None:
        raise not_set("p", keeps=True)

    @property
    def activation(self) -> FloatArray:
        """Activations of the actuators, shape (nu,); zero for those without, see `Activation`."""
        return self._activation.copy()

    @property
    def iterations(self) -> int:
        """Newton iterations of the last step; 0 for explicit methods."""
        told = self._record.get("iterations")
        return 0 if told is None else int(told[self._row])

    @property
    def contacts(self) -> FloatArray:
        """Contacts of the last step, shape (n, 9): two bodies (-1: world), point [m], force on the second [N], gap [m].

        The gap is column 8. Runs have a column with the step in front, `run.stored["contacts"]`, and their gap is
        column 9. No rows for integrators without contacts. `contact_table` has names for the columns.
        """
        return self._noted()[:, 1:]

    @property
    def contact_table(self) -> Any:
        """The same by names: a record array with `first`, `second`, `point`, `force` and `gap`, see `run.contacts`."""
        return contact_table(self.mechanism, self._noted())

    def _noted(self) -> FloatArray:
        return self._stepper.noted_contacts() if self._kept is None else self._kept.copy()

    @property
    def sensors(self) -> dict[str, FloatArray]:
        """What the sensors of the mechanism tell, by their names; see `Trajectory.sensors`.

        With the controls and contact forces of the last step; before the first one without any.
        """
        from leastaction.sensing.reading import holds, read_state

        m, row, q, v = self._stepper.mechanism, self._row, self.q, self.v
        u = self._whole_u[0, -1].copy() if self._steps else np.zeros(m.nu)
        known = None
        if "limits" in self._stepper.acts and row > 0 and holds(m, q):
            known = (v - self._velocities.at(row - 1, self._steps > 1)) / self.dt
        touching = self.contacts if self._steps else np.zeros((0, 9))
        return read_state(m, q, v, u, touching, known)

    @property
    def energy(self) -> float:
        """Kinetic and potential energy [J]."""
        if self._energies is None:
            self._energies = Energies(self.mechanism)
        return self._energies.at(self._record.q[self._row], self.v)

    @property
    def now(self) -> Trajectory:
        """The state as a `Trajectory` of no steps: poses and twists of bodies, energies, momentum, ..."""
        name = "p" if self._stepper.momentum else "v"
        stored = {name: self._record.second[self._row][None].copy(), "v": self.v[None]}
        return Trajectory(self.mechanism, self.integrator, self.dt, np.array([self.t]), self.q[None], stored)

    @Told
    def state(self) -> SimulatorState:
        """All that the run goes on from; `set_state` brings it back, in this simulator or another of the same kind."""
        first = max(0, self._row - 1)
        states = self._record.states()
        rows = {name: (x[first : self._row + 1] if len(x) == ROOM + 1 else x).copy() for name, x in states.items()}
        memory, u = self._stepper.memory(), self._whole_u[0].copy() if self._steps else None
        return SimulatorState(self._steps, self._start, rows, memory, self.activation, self.dt, u, self._noted())

    def set_state(self, state: SimulatorState) -> None:
        """Go on from a `state`, to the last bit as it went on then.

        Raises:
            IntegratorError: it is of another robot, integrator or time step.
        """
        if not isinstance(state, SimulatorState):
            raise IntegratorError(f"set_state needs what state() gave, got {state!r}")
        if state.dt is not None and (not is_number(state.dt) or state.dt != self.dt):
            told = f"{shown(state.dt)} s, those of this simulator {self.dt:g} s"
            raise IntegratorError(f"set_state: the time steps of this state are {told}; reset(q, v, t=t) starts anew")
        self._look_at_energy()
        record = self._stepper.record(ROOM)
        check_state(state, record, ROOM, *self._u.shape[1:])
        own = state.activation if self._actuation.active else None
        activation = self._actuation.start(own)
        for name, rows in state.rows.items():
            record[name][: len(rows)] = rows
        self._begin(record)
        self._steps, self._start = state.steps, state.start
        self._row, self._activation = min(1, state.steps), activation
        self._watch_from_here()
        self._stepper.remember(state.memory)
        self._kept = np.zeros((0, 10)) if state.contacts is None else state.contacts.copy()
        self._whole_u[:] = 0.0
        if state.u is not None:
            width = min(state.u.shape[1], self._whole_u.shape[2])
            self._whole_u[0, :, :width] = state.u[:, :width]
        self._stepper.start_time = state.start + self.dt * (state.steps - self._row)

    def __reduce__(self) -> Any:
        return _restored, (self.mechanism, self.integrator, self.dt, self.pushable or None, self.state())

    def __repr__(self) -> str:
        return f"<Simulator of {self.mechanism.name!r} with {self.integrator} at {self.t:g} s>"


def _prepared(integrator: Integrator, mechanism: Mechanism, whole: Mechanism, dt: float) -> Any:
    """The stepper of the whole, a mechanism with pushes; tells where it is these that the integrator does not know."""
    try:
        return integrator.prepare(whole, dt)
    except IntegratorError as error:
        if whole is not mechanism:
            integrator.prepare(mechanism, dt)  # what is wrong without pushes comes first
            name = type(integrator).__name__
            raise IntegratorError(f"pushable: bodies cannot be pushed in {name}; use leastaction.Maximal") from error
        raise


def _restored(
    mechanism: Mechanism, integrator: Integrator, dt: float, pushable: Any, state: SimulatorState
) -> Simulator:
    """A simulator that was pickled."""
    sim = Simulator(mechanism, integrator, dt, pushable=pushable)
    sim.set_state(state)
    return sim
