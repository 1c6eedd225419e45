"""How far the states of a step and of its two halves are apart: what errors are estimated from."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._jit import entry
from leastaction._jit.bound import Bound
from leastaction.kinematics.manifold import displacement
from leastaction.kinematics.sweeps import FREE
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.step_density import turning
from leastaction.spatial import quat_rotate

WHOLE, BEGIN, MIDDLE, END = range(4)
"""Rows of states: after the whole step; before, between and after its halves."""

PLACES, RATES, FIRST_CHANGE, SECOND_CHANGE, BEND = range(5)
"""What comes out: distance of positions and of velocities after whole and halves; largest change of a velocity over
each half; largest difference of these changes, of velocities of free bodies along the world's axes: in a body's own
they turn with it, whatever acts."""


@entry
def compare(nodes, turns, q, v, x, out):
    """Distances of states of rows as above.

    Angles in rad, lengths beyond 1 m relative to them, and velocities beyond 1 rad/s or m/s relative to the fastest of
    their kind.

    Args:
        nodes: joints of the tree.
        turns: which degrees of freedom turn, shape (nv,).
        q, v: states, shapes (4, nq) and (4, nv).
        x: scratch, shape (4, nv).
        out: what comes out, shape (5,).
    """
    displacement(nodes, q[END], q[WHOLE], x[0], 0)
    far = 1.0
    for k in range(q.shape[1]):
        far = max(far, abs(q[END, k]))
    fast, slide = 1.0, 1.0
    for k in range(v.shape[1]):
        if turns[k]:
            fast = max(fast, abs(v[END, k]))
        else:
            slide = max(slide, abs(v[END, k]))
    for k in range(5):
        out[k] = 0.0
    for k in range(v.shape[1]):
        out[PLACES] = max(out[PLACES], abs(x[0, k]) / (1.0 if turns[k] else far))
        out[RATES] = max(out[RATES], abs(v[END, k] - v[WHOLE, k]) / (fast if turns[k] else slide))
        out[FIRST_CHANGE] = max(out[FIRST_CHANGE], abs(v[MIDDLE, k] - v[BEGIN, k]))
        out[SECOND_CHANGE] = max(out[SECOND_CHANGE], abs(v[END, k] - v[MIDDLE, k]))
    for s in range(BEGIN, END + 1):
        for k in range(v.shape[1]):
            x[s, k] = v[s, k]
        for i in range(nodes.shape[0]):
            if nodes[i].kind == FREE:
                n, k = nodes[i].iq + 3, nodes[i].iv
                turn = q[s, n], q[s, n + 1], q[s, n + 2], q[s, n + 3]
                x[s, k], x[s, k + 1], x[s, k + 2] = quat_rotate(turn, (v[s, k], v[s, k + 1], v[s, k + 2]))
                x[s, k + 3], x[s, k + 4], x[s, k + 5] = quat_rotate(turn, (v[s, k + 3], v[s, k + 4], v[s, k + 5]))
    for k in range(v.shape[1]):
        out[BEND] = max(out[BEND], abs(x[END, k] - 2.0 * x[MIDDLE, k] + x[BEGIN, k]))


class Differences:
    """Of the states of a step and its halves, for one robot; not for two threads at once.

    Attributes:
        found: as `PLACES`, `RATES`, ... say, of the last states, shape (5,).
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self._q, self._v = np.zeros((4, mechanism.nq)), np.zeros((4, mechanism.nv))
        self.found = np.zeros(5)
        turns, x = turning(mechanism) == 1.0, np.zeros((4, mechanism.nv))
        self._compare = Bound(compare, mechanism.tree.nodes, turns, self._q, self._v, x, self.found)

    def of(self, whole: Any, begin: Any, middle: Any, end: Any) -> FloatArray:
        """`found` of a step from `begin`: of states with positions q (nq,) and velocities v (nv,)."""
        q, v = self._q, self._v
        q[0], q[1], q[2], q[3] = whole.q, begin.q, middle.q, end.q
        v[0], v[1], v[2], v[3] = whole.v, begin.v, middle.v, end.v
        self._compare()
        return self.found
