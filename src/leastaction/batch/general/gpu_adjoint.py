"""Going back over the runs of a batch on a GPU: gradients by starts and controls, one thread per robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import routine
from leastaction.dynamics.legendre import multiply_rows, slope_rows, solve_rows
from leastaction.dynamics.workspace import Workspace
from leastaction.integration.integrators import FloatArray
from leastaction.mechanism import Mechanism
from leastaction.minimal.galerkin_bodies.derivatives.body_horizon import blocks
from leastaction.minimal.galerkin_bodies.derivatives.body_linearization import pull_back


class ReversalBatch(NamedTuple):
    """What the backward pass reads and writes of all robots, the number of the robot last.

    Attributes:
        q, p: states of the run, shapes (steps + 1, nq, robots) and (steps + 1, nv, robots).
        dq, dv: gradients by positions along the tangent and by velocities, shape (steps + 1, nv, robots).
        u: controls, shape (steps or 1, nu, robots or 1).
        limits: of the controls, shape (2, nu).
        by_q, by_v: gradients by the start, shape (nv, robots).
        by_u: by the controls of each step, shape (steps, nu, robots).
    """

    q: Any
    p: Any
    dq: Any
    dv: Any
    u: Any
    limits: Any
    by_q: Any
    by_v: Any
    by_u: Any


class ReversalRows(NamedTuple):
    """Scratch of one robot: a step, with its derivatives, and a state."""

    nodes: FloatArray
    u: FloatArray
    rows: FloatArray
    D: FloatArray
    C: FloatArray
    bar: FloatArray
    by_u: FloatArray
    q: FloatArray
    p: FloatArray
    v: FloatArray
    given: FloatArray
    w: FloatArray
    slope: FloatArray
    zero: FloatArray
    twists: FloatArray
    momenta: FloatArray


def reversal_rows(mechanism: Mechanism) -> ReversalRows:
    """Arrays of one robot for steps of order 2."""
    nq, n, nu, nodes = mechanism.nq, mechanism.nv, mechanism.nu, len(mechanism.tree.nodes)
    shapes = [(2, nq), (1, 2, nu), (1, 2, n), (1, 2, n, 2, n), (1, 2, n, 2, nu), (2 * n,), (2, nu), (1, nq)]
    shapes += [(1, n)] * 5 + [(n,), (2, nodes, 6), (2, nodes, 6)]
    return ReversalRows(*map(np.zeros, shapes))


@routine
def add_objective(dynamics, scratch, rows, batch, k, robot):
    """Add what the objective is by the state at time k: its velocity is M(q)^-1 p."""
    q, p, v, given, w, slope, bar = rows.q, rows.p, rows.v, rows.given, rows.w, rows.slope, rows.bar
    n = p.shape[1]
    for c in range(q.shape[1]):
        q[0, c] = batch.q[k, c, robot]
    for c in range(n):
        p[0, c], given[0, c] = batch.p[k, c, robot], batch.dv[k, c, robot]
    solve_rows(dynamics, scratch, q, p, v, rows.zero)
    solve_rows(dynamics, scratch, q, given, w, rows.zero)
    slope_rows(dynamics, scratch, q, v, w, rows.twists, rows.momenta, slope)
    for c in range(n):
        bar[c] += batch.dq[k, c, robot] - slope[0, c]
        bar[n + c] += w[0, c]


@routine
def reversal_run(model, settings, dynamics, data, scratch, rows, batch, robot):
    """Gradients of one robot, from those by all its positions and velocities."""
    batch = ReversalBatch(*batch)
    nodes, u, bar, by_u, limits = rows.nodes, rows.u, rows.bar, rows.by_u, batch.limits
    steps, n, last = batch.q.shape[0] - 1, rows.p.shape[1], batch.u.shape[2] - 1
    add_objective(dynamics, scratch, rows, batch, steps, robot)
    for k in range(steps - 1, -1, -1):
        for c in range(nodes.shape[1]):
            nodes[0, c], nodes[1, c] = batch.q[k, c, robot], batch.q[k + 1, c, robot]
        for c in range(u.shape[2]):
            asked = batch.u[min(k, batch.u.shape[0] - 1), c, min(robot, last)]
            u[0, 0, c] = u[0, 1, c] = min(max(asked, limits[0, c]), limits[1, c])
        blocks(model, data, settings, nodes, u, True, rows.rows, rows.D, rows.C)
        pull_back(data.dense, bar, by_u)
        for c in range(u.shape[2]):
            asked = batch.u[min(k, batch.u.shape[0] - 1), c, min(robot, last)]
            acts = limits[0, c] <= asked <= limits[1, c]  # beyond its limits a control changes nothing
            batch.by_u[k, c, robot] = by_u[0, c] + by_u[1, c] if acts else 0.0
        add_objective(dynamics, scratch, rows, batch, k, robot)
    # The momentum at the start is M(q) v.
    for c in range(n):
        rows.w[0, c] = bar[n + c]
    slope_rows(dynamics, scratch, rows.q, rows.v, rows.w, rows.twists, rows.momenta, rows.slope)
    multiply_rows(dynamics, scratch, rows.q, rows.w, rows.given, rows.zero)
    for c in range(n):
        batch.by_q[c, robot] = bar[c] + rows.slope[0, c]
        batch.by_v[c, robot] = rows.given[0, c]


class StateRows(NamedTuple):
    """Scratch of one robot: a state."""

    q: FloatArray
    p: FloatArray
    v: FloatArray
    zero: FloatArray


@routine
def velocity_run(dynamics, scratch, rows, batch, robot):
    """Velocities of one robot at all times: batch is (q, p, v), each with the number of the robot last."""
    Q, P, V = batch
    q, p, v = rows.q, rows.p, rows.v
    for k in range(Q.shape[0]):
        for c in range(q.shape[1]):
            q[0, c] = Q[k, c, robot]
        for c in range(p.shape[1]):
            p[0, c] = P[k, c, robot]
        solve_rows(dynamics, scratch, q, p, v, rows.zero)
        for c in range(p.shape[1]):
            V[k, c, robot] = v[0, c]


def velocity_bundles(mechanism: Mechanism) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What `velocity_run` reads, and what it writes."""
    space, nq, n = Workspace(mechanism), mechanism.nq, mechanism.nv
    rows = StateRows(*map(np.zeros, ((1, nq), (1, n), (1, n), n)))
    return (tuple(space.weightless),), (tuple(space.data), rows)


def reversal_bundles(stepper: Any, mechanism: Mechanism) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What `reversal_run` reads, and what it writes."""
    stepper._be_dense()
    space = Workspace(mechanism)
    reads = (stepper.model, stepper.settings, tuple(space.weightless))
    return reads, (stepper.data._replace(pushes=None), tuple(space.data), reversal_rows(mechanism))
