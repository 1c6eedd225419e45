"""Energy that no force accounts for, said in a warning: of runs of every integrator, after the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.dynamics.legendre import quantities, velocity_of_momentum
from leastaction.dynamics.run_velocities import velocities_of_run
from leastaction.errors import EnergyWarning
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.drives.actuators import JointActuator
from leastaction.mechanism.elements import Drag
from leastaction.warn import warn

if TYPE_CHECKING:
    from leastaction.batch.run import BatchRun
    from leastaction.trajectory.trajectory import Trajectory

GAIN = 0.2
"""Energy above that of the start and twice the work of controls, relative to the largest kinetic energy, that is
implausible: integrators that keep the energy stay far below, and those that damp do not gain."""

FAST = 10.0
"""Runs in which nothing moves faster [rad/s or m/s] are not looked at: a spurious gain of energy shows in speeds."""

FASTEST = 16
"""How many robots of a batch are looked at."""

ROWS = 64
"""How many rows of a run are looked at, besides the first."""


def warn_of_energy(run: Trajectory) -> None:
    """Say that a run has gained energy spuriously, and when.

    Runs whose energy others may change are not looked at: external wrenches, forces of the user's own, servos,
    thrusters, prescribed motions.
    """
    if run.steps > 0:
        second = run.stored.get("p", run.stored.get("v"))
        assert second is not None
        watch = EnergyMonitor(run.mechanism, run.integrator, run.dt, "p" in run.stored)
        watch.begin(run.q[0], second[0])
        watch.look(run.t, run.q, second, run.stored.get("u"), run.stored.get("work"))


class WarnOnce:
    """What is said once; many watches may share it."""

    said = False


class EnergyMonitor:
    """Looks at a run piece by piece, and warns once of a spurious energy gain.

    Args:
        mechanism: the robot.
        integrator: of the run.
        dt: time step [s].
        momentum: whether states are (q, p), else (q, v).
        once: shared with the watches of others of which one warning is enough.
        who: the robot's name in the warning; default that of the mechanism.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Any,
        dt: float,
        momentum: bool,
        *,
        once: WarnOnce | None = None,
        who: str | None = None,
    ) -> None:
        self.mechanism, self.integrator, self.dt, self.momentum = mechanism, integrator, dt, momentum
        self.once, self.shared, self.who = once or WarnOnce(), once is not None, who or repr(mechanism.name)
        self.looks = _keeps_account(mechanism, integrator)

    def begin(self, q: FloatArray, second: FloatArray) -> None:
        """Start at a state (q, p or v)."""
        self._first = q.copy(), second.copy()
        self._work, self._largest = 0.0, 0.0
        if not self.shared:
            self.once.said = False

    def look(self, t: Any, q: FloatArray, second: FloatArray, u: FloatArray | None = None, motions: Any = None) -> None:
        """At the rows of a piece of the run, the first of which is the last of the piece before.

        Args:
            t: times [s], shape (rows,).
            q, second: positions and momenta, or velocities.
            u: controls of the steps, shape (rows - 1, nodes, nu); None: none.
            motions: work put in by prescribed motions since the start [J], shape (rows,); None: none.
        """
        if not self.looks or self.once.said:
            return
        m, u = self.mechanism, None if u is None or not np.any(u) else u
        fast = float(np.abs(np.diff(q, axis=0)).max(initial=0.0)) > FAST * self.dt
        if not fast and u is None:
            return
        with np.errstate(all="ignore"):
            v = second
            if self.momentum:
                v = velocities_of_run(m, np.asarray(t), q, second)
            work = self._work + (np.zeros(len(q)) if u is None else _work(m, u, v, self.dt))
            self._work = float(work[-1])
            if fast:
                # Prescribed motions: what the last step puts in is known by half.
                put_in = 2.0 * (work + np.maximum(0.0 if motions is None else motions, 0.0))
                self._compare(t, q, v, put_in)

    def _compare(self, t: Any, q: FloatArray, v: FloatArray, put_in: FloatArray) -> None:
        m, (q0, second0) = self.mechanism, self._first
        v0 = velocity_of_momentum(m, q0[None], second0[None]) if self.momentum else second0[None]
        rows = np.unique(np.linspace(0, len(q) - 1, ROWS + 1).astype(int))
        T, U, _ = quantities(m, np.vstack([q0[None], q[rows]]), np.vstack([v0, v[rows]]))
        E0, T, U = T[0] + U[0], T[1:], U[1:]
        self._largest = max(self._largest, float(T[np.isfinite(T)].max(initial=0.0)))
        wrong = ~(T + U - E0 - put_in[rows] <= GAIN * self._largest)
        if wrong.any():
            self.once.said = True
            k = int(np.argmax(wrong))
            own, energies = type(self.integrator).__name__, f"from {E0:.3g} to {T[k] + U[k]:.3g} J"
            text = f"{self.who} gains energy spuriously by t = {t[rows[k]]:g} s, {energies} with {own}"
            warn(f"{text}; take a smaller dt, and look for bodies with hardly any inertia", EnergyWarning)


def warn_of_energies(run: BatchRun, u: FloatArray) -> None:
    """`warn_of_energy` of the fastest robots of a batch, until one has gained energy.

    Args:
        run: the batch.
        u: controls, shape (steps or 1, nu, robots or 1).
    """
    if run.every > 1 and u.any():  # speeds between recorded rows, which give the work, are not known
        return
    speeds = np.nan_to_num(np.abs(np.diff(run.q, axis=1)), nan=0.0).max(axis=(1, 2), initial=0.0)
    once = WarnOnce()
    for k in np.argsort(-speeds)[:FASTEST].tolist():
        own = run[k]
        watch = EnergyMonitor(
            own.mechanism, run.integrator, own.dt, run.momentum, once=once, who=f"robot {k} of {own.mechanism.name!r}"
        )
        second = own.stored["p" if run.momentum else "v"]
        watch.begin(own.q[0], second[0])
        controls = np.broadcast_to(u[: own.steps, None, :, k if u.shape[2] > 1 else 0], (own.steps, 1, u.shape[1]))
        watch.look(own.t, own.q, second, controls)
        if once.said:
            return


def _keeps_account(mechanism: Mechanism, integrator: Any) -> bool:
    """Whether all that can bring energy in is known: springs and gravity are, and controls of joints."""
    if mechanism.wrenches or not {"moving surface", "soft contact"}.isdisjoint(mechanism.special_parts):
        return False
    if any(not isinstance(force, Drag) for force in mechanism.forces):
        return False
    plain = (type(a) is JointActuator and a.coordinate in mechanism.velocity_names for a in mechanism.actuators)
    if not all(plain) or any(a.activation for a in mechanism.actuators):
        return False
    return not any(getattr(integrator, name, None) for name in ("forces", "constraints"))


def _work(mechanism: Mechanism, u: FloatArray, V: FloatArray, dt: float) -> FloatArray:
    """Work of the controls up to each row, all of it counted as given to the robot [J]: shape (steps + 1,)."""
    m = mechanism
    force = np.abs(u).max(axis=1)
    speed = np.maximum(np.abs(V[:-1]), np.abs(V[1:]))
    motors = [a for a in m.actuators if isinstance(a, JointActuator)]
    if motors:
        speed = speed[:, [m.velocity_index(a.coordinate) for a in motors]] * np.abs([a.gear for a in motors])
    return np.concatenate([[0.0], np.cumsum(dt * (force * speed).sum(axis=1))])
