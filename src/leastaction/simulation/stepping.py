"""`step`: one step of a run as a pure function of its state."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from numpy.typing import ArrayLike

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray, robot
from leastaction.simulation.simulator import Simulator
from leastaction.simulation.simulator_state import SimulatorState
from leastaction.typing import Positions, Velocities

__all__ = ["State", "step"]


@dataclass(frozen=True, eq=False)
class State:
    """Where a robot is after a `step`, and all that the next step needs; nothing changes it.

    Attributes:
        t: time [s].
        q: joint positions [rad or m], shape (nq,).
        v: joint velocities [rad/s or m/s], shape (nv,).
        memory: what the integrator goes on from.
    """

    t: float
    q: FloatArray
    v: FloatArray
    memory: SimulatorState = field(repr=False)


_kept = threading.local()
"""For each thread the simulators of its mechanisms, by integrator and time step."""


def step(
    mechanism: Mechanism,
    state: State | tuple[Positions | None, Velocities | None] | None = None,
    u: ArrayLike | None = None,
    *,
    dt: float = 0.01,
    integrator: Integrator | None = None,
) -> State:
    """The state one step after another one; for those who write their loops with functions, as in JAX.

    The same state and controls give the same result to the last bit, in any order and in any thread. `Simulator` does
    the same in place, and takes less time.

    Example:
        >>> state = la.step(robot, ({"pivot": 0.1}, None))
        >>> for _ in range(100):
        ...     state = la.step(robot, state, [-20.0 * state.q[1]])

    Args:
        mechanism: the robot.
        state: a `State` that this function gave; or (q, v), a start as `Simulator.reset` takes it; None: home, at rest.
        u: controls held over the step, shape (nu,); default zero.
        dt: time step [s].
        integrator: such as `Galerkin(order=4)`; default what the robot needs, see `simulate`.

    Raises:
        MechanismError: for a bad start.
        IntegratorError: for a state of another robot, integrator or time step, or bad controls.
        ConvergenceError: the step has no solution.
    """
    sim = _simulator(mechanism, integrator, dt)
    if isinstance(state, State):
        sim.set_state(state.memory)
    elif state is None:
        sim.reset()
    elif isinstance(state, tuple) and len(state) == 2:
        sim.reset(*state)
    else:
        raise IntegratorError(f"step needs a State that it gave, a start (q, v) or None, got {shown(state)}")
    sim.step(u)
    q, v = sim.q, sim.v
    q.flags.writeable = v.flags.writeable = False
    return State(sim.t, q, v, sim.state())


def _simulator(mechanism: Mechanism, integrator: Integrator | None, dt: float) -> Simulator:
    """The simulator of this thread that steps are made with."""
    if not hasattr(_kept, "simulators"):
        _kept.simulators = WeakKeyDictionary()
    own = _kept.simulators.setdefault(robot(mechanism), {})
    key = repr(integrator), repr(dt)
    if key not in own:
        own[key] = Simulator(mechanism, integrator, dt)
    return own[key]
