"""`Simulator`: a run that goes on step by step, for controllers, learning and real time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.actuation.actuation import Actuation, hold_controls
from leastaction.actuation.controls import control_at
from leastaction.dynamics.legendre import Energies, momentum_of_velocity
from leastaction.dynamics.run_velocities import RunVelocities
from leastaction.errors import IntegratorError, MechanismError
from leastaction.initial_state.initial_motions import checked_names, motion_at
from leastaction.initial_state.start import checked_integrator, first_state, start_time
from leastaction.initial_state.unsupported_features import warn_of_ignored
from leastaction.integration.default import announce, choose
from leastaction.integration.integrators import Integrator
from leastaction.integration.linearizer import Linearizer
from leastaction.integration.record import Record
from leastaction.integration.settings import is_number
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FLOAT, FloatArray
from leastaction.sensing import SensorReader
from leastaction.sensing.reading import NO_CONTACTS
from leastaction.simulation.energy_monitor import EnergyMonitor, WarnOnce
from leastaction.simulation.external_forces import Pushes, prepared_stepper
from leastaction.simulation.simulator_recording import Recording
from leastaction.simulation.simulator_state import ReadOnlyMethod, SimulatorState, check_state, not_set
from leastaction.trajectory.contact_log import contact_table
from leastaction.trajectory.trajectory import Trajectory
from leastaction.typing import Motions, Positions, Velocities

ROOM = 256
"""Steps for which there is room before the last two states move to the front again."""


class Simulator:
    """A robot that is advanced one step at a time.

    Its positions are those of `simulate`, to the last bit (to round-off where motors or springs press on contacts), and
    so are momenta and velocities where nothing touches: in contact those of a run hold half of the impulses of the step
    to come, which a simulator can only guess. An `EnergyWarning` reports spurious energy some hundred steps later at
    the latest, or at the next reset. Copied or pickled, it goes on from its `state`, without pushes for the next step
    and without what was recorded.

    Example:
        >>> sim = la.Simulator(la.robots.cart_pole(), la.Galerkin(order=4), dt=0.01)
        >>> sim.reset({"pivot": 0.1})
        >>> for _ in range(100):
        ...     sim.step([-20.0 * sim.q[1]])

    Args:
        mechanism: the robot.
        integrator: such as `Galerkin(order=4)`; default what the robot needs, see `simulate`.
        dt: time step [s].
        pushable: bodies that `push` may push, by name, or True for all; None: none. Each costs six controls inside.
        recording: keep all states, controls and contacts since the last reset, for `trajectory`.
        once: simulators with the same `energy_monitor.WarnOnce` warn of spurious energy once for all.

    Raises:
        IntegratorError: for bad settings, or an integrator that cannot run this mechanism.
    """

    # Of the run; its start sets them.
    _record: Any
    _stride: Any
    _velocities: RunVelocities
    _recording: Recording | None
    _kept: FloatArray | None  # contacts of the last step of a state that was brought back
    _activation: FloatArray
    _start: float
    _steps: int
    _row: int
    _seen: int

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Integrator | None = None,
        dt: float = 0.01,
        *,
        pushable: Iterable[str] | str | bool | None = None,
        recording: bool = False,
        once: WarnOnce | None = None,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise MechanismError(
                f"Simulator needs a Mechanism, such as leastaction.robots.pendulum(), got {mechanism!r}"
            )
        if not isinstance(once, WarnOnce | None):
            raise IntegratorError(f"once must be a leastaction.simulation.energy_monitor.WarnOnce, got {shown(once)}")
        if not isinstance(recording, bool):
            raise IntegratorError(f"recording must be True or False, got {shown(recording)}")
        if integrator is None:
            integrator, why = choose(mechanism)
            announce(mechanism, integrator, why)
        self._own, self._pushes = mechanism, None if pushable is None else Pushes(mechanism, pushable)
        whole = mechanism if self._pushes is None else self._pushes.whole
        self._stepper = prepared_stepper(checked_integrator(integrator), mechanism, whole, dt)
        warn_of_ignored(self._stepper)
        self._fresh = self._stepper.memory()
        self._whole_u = np.zeros((1, len(self._stepper.control_nodes), whole.nu))
        self._u = self._whole_u[:, :, : mechanism.nu]  # those behind them are pushes
        self._shape, self._none = (mechanism.nu,), np.zeros(mechanism.nu)
        self._actuation = Actuation(mechanism, dt, self._stepper.control_nodes)
        self._energies: Energies | None = None
        self._sensors: SensorReader | None = None
        self._watch = EnergyMonitor(mechanism, self.integrator, self.dt, self._stepper.momentum, once=once)
        self._controls = np.zeros((ROOM, *self._u.shape[1:]))
        self._known_v: dict[int, FloatArray] = {}  # velocities after the last two steps, where they were asked for
        self._records = recording
        self._linearizer: Linearizer | None = None

    def __getattr__(self, name: str) -> Any:
        """A simulator that has no start does so at home, once anything of its run is asked for."""
        if name not in type(self).__annotations__ or "_records" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        self.reset()
        return self.__dict__[name]

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
        q: Positions | None = None,
        v: Velocities | None = None,
        *,
        p: ArrayLike | None = None,
        t: float = 0.0,
        project: bool = False,
        activation: ArrayLike | None = None,
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
        stepper.restore_memory(self._fresh)
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
        self._known_v.clear()
        rows, own = record.states(), self._record.states() if "_record" in self.__dict__ else {}
        if [(name, x.shape) for name, x in rows.items()] != [(name, x.shape) for name, x in own.items()]:
            self._record, self._stride = record, self._stepper.stride(record, self._whole_u)
            self._velocities = RunVelocities(self._stepper, record, self.mechanism)
            return
        for name, x in rows.items():
            own[name][:2] = x[:2]

    def push(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
    ) -> None:
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

    def step(self, u: ArrayLike | None = None, motions: Motions | None = None) -> None:
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
        stepper.clear_contacts()
        if self._stride(row) == row:
            self._look_at_energy()
            error = stepper.failure(row, self._record)
            error.step, error.time = self._steps, self.t
            raise error
        self._row, self._steps, self._activation, self._kept = row + 1, self._steps + 1, activation, None
        if self._recording is not None:
            self._recording.note(self._noted(), activation)
        if pushes is not None:
            pushes.controls[:] = 0.0

    def _move_to_front(self) -> None:
        """Make room for more steps: they need the last two states."""
        self._look_at_energy()
        if self._recording is not None:
            self._recording.keep(1)
        self._seen = 1
        for rows in self._record.states().values():
            if len(rows) == ROOM + 1:
                rows[:2] = rows[-2:]
        self._row = 1
        self._stepper.start_time = self._start + self.dt * (self._steps - 1)

    def trajectory(self) -> Trajectory:
        """What was done since the last `reset` or `set_state`, to save, plot and view; needs `recording=True`.

        Momenta in contact are those of the simulator (see there); pushes are not among the controls.
        """
        if self._recording is None:
            raise IntegratorError("this simulator keeps no record of its steps; make it with recording=True")
        return self._recording.trajectory(self.mechanism, self._stepper, self._start)

    def _watch_from_here(self) -> None:
        """Record from the present state on, and compare energies with its own; pushes are forces from outside."""
        start = self._record, self._controls, self._steps, self._row, self._activation
        self._recording = Recording(*start) if self._records else None
        self._seen = self._row
        if self._pushes is None:
            self._watch.begin(self._record.q[self._row], self._record.second[self._row])
            work = self._record.get("work")
            self._first_work = 0.0 if work is None else float(work[self._row])

    def _look_at_energy(self) -> None:
        """Warn of spurious energy gains in the steps that were not looked at yet."""
        if "_record" not in self.__dict__ or self._pushes is not None or self._row == self._seen:
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
        return self._velocity(0).copy()

    def _velocity(self, back: int) -> FloatArray:
        """Velocities so many steps before the present, one at most."""
        steps = self._steps - back
        if steps not in self._known_v:
            if len(self._known_v) > 1:
                self._known_v = {k: v for k, v in self._known_v.items() if k >= self._steps - 1}
            self._known_v[steps] = self._velocities.at(self._row - back).copy()
        return self._known_v[steps]

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

    def linearize(
        self, u: ArrayLike | None = None, *, out: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the step that begins here, (q, p, u) -> (q', p'), as of `leastaction.linearize`.

        It moves nothing.

        Args:
            u: controls held over the step, shape (nu,); default zero.
            out: arrays for A and B, which are filled and returned.

        Returns:
            A, shape (2 nv, 2 nv), of (q, p), and B, shape (2 nv, nu), of u.
        """
        if self._linearizer is None:
            stepper = self.integrator.prepare(self.mechanism, self.dt)
            if "linearize" not in stepper.can:
                stepper.refuse("linearize")
            self._linearizer = Linearizer(self.mechanism, stepper)
        record = self._record
        return self._linearizer.at(record.q[self._row], record.second[self._row], u, out)

    @property
    def activation(self) -> FloatArray:
        """Activations of the actuators, shape (nu,); zero for those without, see `Activation`."""
        return self._activation.copy()

    @property
    def iterations(self) -> int:
        """Newton iterations of the last step; 0 for explicit methods."""
        iterations = self._record.get("iterations")
        return 0 if iterations is None else int(iterations[self._row])

    @property
    def contacts(self) -> FloatArray:
        """Contacts of the last step, shape (n, 9): two bodies (-1: world), point [m], force on the second [N], gap [m].

        The gap is column 8. Runs have a column with the step in front, `run.stored["contacts"]`, and their gap is
        column 9. No rows for integrators without contacts. `contact_table` has names for the columns.
        """
        return self._noted()[:, 1:]

    @property
    def contact_table(self) -> np.recarray:
        """The same by names: a record array with `first`, `second`, `point`, `force` and `gap`, see `run.contacts`."""
        return contact_table(self.mechanism, self._noted())

    def _noted(self) -> FloatArray:
        return self._stepper.logged_contacts() if self._kept is None else self._kept.copy()

    @property
    def sensors(self) -> dict[str, FloatArray]:
        """Readings of the mechanism's sensors by their names; see `Trajectory.sensors`.

        With the controls and contact forces of the last step; before the first one without any.
        """
        if self._sensors is None:
            self._sensors = SensorReader(self._stepper.mechanism)
        reader, row, q, v, known = self._sensors, self._row, self._record.q[self._row], self._velocity(0), None
        if not self._steps:
            return reader.read(q, v, np.zeros(reader.mechanism.nu))
        if "limits" in self._stepper.acts and row > 0 and reader.may_hold(q):
            known = (v - self._velocity(1)) / self.dt
        touching = np.ascontiguousarray(self.contacts) if reader.feels_contacts else NO_CONTACTS
        return reader.read(q, v, self._whole_u[0, -1], touching, known)

    @property
    def energy(self) -> float:
        """Kinetic and potential energy [J]; that of contacts that give way from the first step on."""
        if self._energies is None:
            self._energies = Energies(self.mechanism)
        elastic = float(self._record["elastic"][self._row]) if "elastic" in self._record else 0.0
        return self._energies.at(self._record.q[self._row], self.v) + elastic

    @property
    def now(self) -> Trajectory:
        """The state as a `Trajectory` of no steps: poses and twists of bodies, energies, momentum, ..."""
        second = {"p" if self._stepper.momentum else "v": self._record.second[self._row][None].copy()}
        stored = second | {"v": self.v[None]}
        return Trajectory(self.mechanism, self.integrator, self.dt, np.array([self.t]), self.q[None], stored)

    @ReadOnlyMethod
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
            steps = f"{shown(state.dt)} s, those of this simulator {self.dt:g} s"
            raise IntegratorError(f"set_state: the time steps of this state are {steps}; reset(q, v, t=t) starts anew")
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
        self._stepper.restore_memory(state.memory)
        self._kept = np.zeros((0, 10)) if state.contacts is None else state.contacts.copy()
        self._whole_u[:] = 0.0
        if state.u is not None:
            width = min(state.u.shape[1], self._whole_u.shape[2])
            self._whole_u[0, :, :width] = state.u[:, :width]
        self._stepper.start_time = state.start + self.dt * (state.steps - self._row)

    def __reduce__(self) -> Any:
        settings = {"pushable": self.pushable or None, "recording": self._records}
        return type(self)._restored, (self.mechanism, self.integrator, self.dt, settings, self.state())

    @classmethod
    def _restored(cls, mechanism: Mechanism, integrator: Integrator, dt: float, settings: Any, state: Any) -> Simulator:
        sim = cls(mechanism, integrator, dt, **settings)
        sim.set_state(state)
        return sim

    def __repr__(self) -> str:
        return f"<Simulator of {self.mechanism.name!r} with {self.integrator} at {self.t:g} s>"
