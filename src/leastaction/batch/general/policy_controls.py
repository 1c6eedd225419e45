"""Controls of a step in a thread of a GPU: those of the batch, or those that a policy asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction.dynamics.legendre import solve_rows
from leastaction.dynamics.workspace import Workspace
from leastaction.kinematics.reduced.native import to_public
from leastaction.mechanism import Mechanism
from leastaction.typing import FloatArray


class PolicyScratch(NamedTuple):
    """Scratch of a policy: one state, and what it takes to find its velocity.

    Attributes:
        space: of the classical recursions, where states have momenta; else None.
        q, second: the state as the integrator has it, shapes (1, nq or nr) and (1, nv or nr).
        charts: of the balls of reduced coordinates, shape (1, balls).
        place, v: positions and velocities of the mechanism, shapes (1, nq) and (1, nv).
        zero: shape (nv,).
        u: the controls, shape (nu,).
    """

    space: Any
    q: FloatArray
    second: FloatArray
    charts: NDArray[np.int64]
    place: FloatArray
    v: FloatArray
    zero: FloatArray
    u: FloatArray


def momentum_policy_scratch(mechanism: Mechanism) -> tuple[Any, PolicyScratch]:
    """What a policy of an integrator with momenta reads, and its scratch."""
    space, nq, nv = Workspace(mechanism), mechanism.nq, mechanism.nv
    rows = (np.zeros((1, nq)), np.zeros((1, nv)), np.zeros((1, 0), np.int64), np.zeros((1, nq)), np.zeros((1, nv)))
    return tuple(space.weightless), PolicyScratch(
        tuple(space.data), *rows, np.zeros(nv), np.zeros(max(1, mechanism.nu))
    )


def reduced_policy_scratch(mechanism: Mechanism, coordinates: Any) -> tuple[Any, PolicyScratch]:
    """What a policy of an integrator in reduced coordinates reads, and its scratch."""
    nr, nq, nv, model = coordinates.nr, mechanism.nq, mechanism.nv, coordinates.model
    rows = (np.zeros((1, nr)), np.zeros((1, nr)), np.zeros((1, len(model.balls)), np.int64), np.zeros((1, nq)))
    scratch = PolicyScratch(None, *rows, np.zeros((1, nv)), np.zeros(nv), np.zeros(max(1, mechanism.nu)))
    return (model.balls, model.index_q, model.index_v), scratch


@routine
def spread(batch, asked, out):
    """Controls at all nodes of a step, within their limits."""
    limits = batch.limits
    for node in range(out.shape[1]):
        for c in range(out.shape[2]):
            out[0, node, c] = min(max(asked[c], limits[0, c]), limits[1, c])


@routine
def given(reads, asking, batch, step, robot, q, second, charts, out):
    """Controls of a step that the batch has."""
    u, limits = batch.u, batch.limits
    k, r = min(step, u.shape[0] - 1), min(robot, u.shape[2] - 1)
    for node in range(out.shape[1]):
        for c in range(out.shape[2]):
            out[0, node, c] = min(max(u[k, c, r], limits[0, c]), limits[1, c])


@routine
def velocity_of_momenta(reads, asking, charts):
    """Positions and velocities of the mechanism from positions and momenta."""
    for k in range(asking.q.shape[1]):
        asking.place[0, k] = asking.q[0, k]
    solve_rows(reads, asking.space, asking.q, asking.second, asking.v, asking.zero)


@routine
def velocity_of_rates(reads, asking, charts):
    """Positions and velocities of the mechanism from reduced coordinates and their rates."""
    balls, index_q, index_v = reads
    for k in range(asking.charts.shape[1]):
        asking.charts[0, k] = charts[k]
    to_public(balls, index_q, index_v, asking.q, asking.second, asking.charts, asking.place, asking.v)


@lru_cache(maxsize=64)
def controls_of(policy: Callable[..., None] | None, velocity: Any = velocity_of_momenta) -> Any:
    """The routine that finds the controls of a step: (reads, `PolicyScratch`, batch, step, robot, state, out).

    `velocity` finds positions and velocities of the mechanism from the state of the integrator.
    """
    if policy is None:
        return given
    decide = routine(getattr(policy, "py_func", policy))

    @routine
    def asked(reads, asking, batch, step, robot, q, second, charts, out):
        for k in range(q.shape[0]):
            asking.q[0, k] = q[k]
        for k in range(second.shape[0]):
            asking.second[0, k] = second[k]
        velocity(reads, asking, charts)
        own = batch.policy[:, min(robot, batch.policy.shape[1] - 1)]
        decide(step * batch.dt[0], asking.place[0], asking.v[0], own, asking.u)
        spread(batch, asking.u, out)

    return asked
