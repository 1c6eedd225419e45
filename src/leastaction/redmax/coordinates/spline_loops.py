"""Loops of mechanisms with spline joints: how far they are open, and their Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics.loops import loop_equations
from leastaction.mechanism import Mechanism
from leastaction.redmax.coordinates.kinematics import FloatArray, State
from leastaction.redmax.coordinates.lift_derivatives import block_derivatives
from leastaction.redmax.coordinates.native import from_public
from leastaction.redmax.model import Reduced


def spline_loop_jacobian(mechanism: Mechanism, q: Any) -> tuple[FloatArray, FloatArray]:
    """As `dynamics.loop_jacobian`, through the nodes that spline joints are made of: A = A_nodes T S.

    T takes reduced rates to those of the nodes (2.87), S the mechanism's velocities to reduced rates.
    """
    state = State(mechanism, q, chart="exponential")
    red = state.reduced
    t = red.tree
    c = t.closure
    h, nodal = np.zeros(c.count), np.zeros((c.count, t.nv))
    equations = (t.nodes, c.rows, c.coefficients, c.count)
    loop_equations(*equations, state.links, state.screws, state.work[4][0], np.zeros(t.nv), h, nodal)
    A = np.zeros((c.count, red.nr))
    for ir, _, iv in red.plain:
        A[:, ir] = nodal[:, iv]
    for block in red.blocks:
        i, k = (slice(int(block[a]), int(block[a] + block[n])) for a, n in (("iv", "nv"), ("ir", "nr")))
        A[:, k] = nodal[:, i] @ block_derivatives(red, block, state.r)[0]
    return h, A @ _rates(state, q)


def spline_loop_names(mechanism: Mechanism) -> list[str]:
    """The loop or coupling that each row of `spline_loop_jacobian` belongs to."""
    return Reduced(mechanism).tree.closure.names


def _rates(state: State, q: Any) -> FloatArray:
    """S (nr, nv): reduced rates of unit velocities of the mechanism."""
    red, n = state.reduced, state.reduced.nr
    if red.identical:
        return np.eye(n)
    V, R, RD = np.eye(n), np.zeros((n, n)), np.zeros((n, n))
    Q = np.tile(np.asarray(q, float), (n, 1))
    from_public(red.balls, red.index_q, red.index_v, Q, V, np.full((n, len(red.balls)), -1), R, RD)
    return RD.T
