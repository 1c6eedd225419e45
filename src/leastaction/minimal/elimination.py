"""Newton updates of steps with closed loops, by elimination of multipliers, and projection of the new momentum.

With J the Jacobian of the rows of a step, G their derivative by the multipliers and H that of the loop equations, a
Newton step solves (H J^-1 G) dlam = h + H J^-1 (-r), then dx = J^-1 (-r - G dlam): O(m n) and O(m^3) beyond the
direction without loops.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.loops import Projection, project_momentum, projection, solve_ranked
from leastaction.kinematics.sweeps import REVOLUTE
from leastaction.linalg.dense import multiply, solve_in_place
from leastaction.typing import FloatArray

CAPS = (0.5, 0.1, 2.0)
"""Bounds of the Newton updates [rad or m], tried in turn."""


class LoopSystem(NamedTuple):
    """The loop equations of a step, m at each control point, and scratch of their elimination.

    Attributes:
        redundant: whether the equations depend on each other, shape (1,).
        h: values of the equations at the control points, shape (s m,).
        G: derivative of the rows of the action by the multipliers, shape (s nv, s m).
        H: derivative of the equations by the control points after the first, shape (s m, s nv).
        H_start: and by the start of the step, shape (s m, nv).
        Y, HY, S, dlam, V: scratch, shapes (s nv, s m + 1), (s m, s m + 1), (s m, s m), (s m, 1), (s m, s m).
        end: scratch at one state.
    """

    redundant: NDArray[np.bool_]
    h: FloatArray
    G: FloatArray
    H: FloatArray
    H_start: FloatArray
    Y: FloatArray
    HY: FloatArray
    S: FloatArray
    dlam: FloatArray
    V: FloatArray
    end: Projection


def loop_system(s: int, nv: int, count: int) -> LoopSystem:
    """Zeroed arrays for `count` equations at each of s control points."""
    m = s * count
    shapes = ((m,), (s * nv, m), (m, s * nv), (m, nv), (s * nv, m + 1), (m, m + 1), (m, m), (m, 1), (m, m))
    return LoopSystem(np.zeros(1, np.bool_), *(np.zeros(shape) for shape in shapes), end=projection(nv, count))


@routine
def eliminate(system, J, r, dx):
    """Set the Newton update dx of the control points and `dlam` of the multipliers; J is overwritten."""
    Y, HY, S, dlam, G = system.Y, system.HY, system.S, system.dlam, system.G
    s, n = r.shape
    m = G.shape[1]
    for a in range(s):
        for i in range(n):
            Y[a * n + i, m] = -r[a, i]
            for c in range(m):
                Y[a * n + i, c] = G[a * n + i, c]
    solve_in_place(J, Y)
    multiply(system.H, Y, HY)
    for c in range(m):
        dlam[c, 0] = HY[c, m] + system.h[c]
        for d in range(m):
            S[c, d] = HY[c, d]
    solve_ranked(S, dlam, system.V, system.redundant[0])
    for a in range(s):
        for i in range(n):
            x = Y[a * n + i, m]
            for c in range(m):
                x -= Y[a * n + i, c] * dlam[c, 0]
            dx[a, i] = x


@routine
def hinges_turn_too_far(nodes, start, end, split):
    """Whether a hinge rotates by more than half a turn in a step, so that loops may open between its points.

    `start`, `end`: coordinates, with free joints `split` into six or not.
    """
    for i in range(nodes.shape[0]):
        k = nodes[i].iv if split else nodes[i].iq
        if nodes[i].kind == REVOLUTE and abs(end[k] - start[k]) > math.pi:
            return True
    return False


@routine
def fit_momentum(native, guess, system, q, p):
    """Project p such that M^-1 p keeps loops closed at q, by loop impulses, which are stored in `end.h`.

    The momentum of Fan 2018, Eq. 6c, lacks the impulse of the loops at its own point. The first multiplier of the next
    step compensates for the added impulse, so the motion stays the same.
    """
    tree = DynamicsModel(native.nodes, native.dofs, native.gravity)
    work = DynamicsData(guess.links, guess.screws, guess.external)
    project_momentum(tree, native.closure, work, q, p, system.end, system.redundant[0])


@routine
def loop_forces(system, lam, dt, w, multipliers, row, first):
    """Write loop forces at the end of a substep of dt to a row of multipliers; for the `first` one also at its start.

    After `fit_momentum`. `lam`: impulses at the points, shape (points, equations); w: weights of these in the rule.
    """
    last = w.shape[0] - 1
    for c in range(multipliers.shape[1]):
        if first:
            multipliers[row - 1, c] = lam[0, c] / (w[0] * dt)
        multipliers[row, c] = system.end.h[c] / (w[last] * dt)  # loop impulses after `fit_momentum`
