"""Energy that no force accounts for, said in a warning: of runs of every integrator, after the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.dynamics.legendre import quantities
from leastaction.errors import EnergyWarning
from leastaction.mechanism import Mechanism
from leastaction.mechanism.actuators import JointActuator
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.elements import Drag
from leastaction.warn import warn

if TYPE_CHECKING:
    from leastaction.trajectory import Trajectory

GAIN = 0.2
"""Energy above that of the start and twice the work of controls, relative to the largest kinetic energy, that is
implausible: integrators that keep the energy stay far below, and those that damp do not gain."""

FAST = 10.0
"""Runs in which nothing moves faster [rad/s or m/s] are not looked at: energy from nowhere shows in speeds."""

ROWS = 64
"""How many rows of a run are looked at, besides the first."""


def warn_of_energy(run: Trajectory) -> None:
    """Say that a run has gained energy from nowhere, and when.

    Runs whose energy others may change are not looked at: external wrenches, forces of the user's own, servos,
    thrusters, prescribed motions.
    """
    m = run.mechanism
    if run.steps == 0 or not _keeps_account(m, run.integrator):
        return
    if not float(np.abs(np.diff(run.q, axis=0)).max(initial=0.0)) > FAST * run.dt:
        return
    rows = np.unique(np.linspace(0, run.steps, ROWS + 1).astype(int))
    with np.errstate(all="ignore"):
        V, u = run.v, run.stored.get("u")
        work = np.zeros(len(run)) if u is None or not np.any(u) else _work(m, u, V, run.dt)
        T, U, _ = quantities(m, run.q[rows], V[rows])
        # Prescribed motions: what the last step puts in is known by half.
        work = work + np.maximum(run.stored.get("work", np.zeros(len(run))), 0.0)
        gain = T + U - (T[0] + U[0]) - 2.0 * work[rows]
        wrong = ~(gain <= GAIN * T[np.isfinite(T)].max(initial=0.0))
    if wrong.any():
        k = int(np.argmax(wrong))
        own, energies = type(run.integrator).__name__, f"from {T[0] + U[0]:.3g} to {T[k] + U[k]:.3g} J"
        text = f"{m.name!r} has energy from nowhere by t = {run.t[rows[k]]:g} s, {energies} with {own}"
        warn(f"{text}; take a smaller dt, and look for bodies with hardly any inertia", EnergyWarning)


def _keeps_account(mechanism: Mechanism, integrator: Any) -> bool:
    """Whether all that can bring energy in is known: springs and gravity are, and controls of joints."""
    if mechanism.wrenches or "moving surface" in mechanism.special_parts:
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
