"""`Workspace`: the arrays of one Galerkin step on one mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism import Mechanism
from leastaction.minimal.points import BALL, POINT, SCREW
from leastaction.minimal.rules import Rule
from leastaction.minimal.sparse import tables


def records(shape: Any, dtype: np.dtype) -> Any:
    """Zeroed record array."""
    return np.zeros(shape, dtype).view(np.recarray)


class Workspace:
    """Scratch arrays; kernels get them in tuples. Not for two threads at once.

    Attributes:
        model: what kernels read of the mechanism.
        work: state of the quadrature points, see `residual`.
        var: variations of the joints, see `variations`.
        sparse: tree-sparse factors, see `sparse`; None until asked for.
        recursion: arrays of the O(n) recursion; None until asked for.
    """

    def __init__(self, mechanism: Mechanism, rule: Rule) -> None:
        t = mechanism.split_tree
        self.tree, self.rule = t, rule
        c = t.closure
        forces = (t.paths, t.points, t.wrenches, t.drives)
        self.model = (t.nodes, t.dofs, t.gravity, t.rest, *forces, c.rows, c.coefficients)
        s, Q = len(rule[0]) - 1, len(rule[1])
        n, nv = len(t.nodes), t.nv
        balls = int((t.nodes.ball >= 0).sum())
        nodal = s + 1 == Q
        self.mz = 6 * (2 * s + 1) if nodal else 12
        self.mf = 12 * s if nodal else 12
        pts, scr = records((Q, n), POINT), records((Q, nv), SCREW)
        self.X, self.g, self.r = np.zeros((s + 1, nv)), np.zeros((s + 1, nv)), np.zeros((s, nv))
        self.work = (
            pts,
            scr,
            records((Q, balls), BALL),
            np.zeros((Q, balls, s + 1, 9)),
            np.zeros((Q, balls, s + 1, 9)),
            self.X,
            np.zeros((Q, nv)),
            np.zeros((Q, nv)),
            np.zeros((n, 6)),
            self.g,
            self.r,
            np.zeros((Q, len(c.rows))),
        )
        self.var = (
            np.zeros((nv, s, self.mz)),
            np.zeros((nv, s, self.mf)),
            np.zeros((nv, s, 6)),
            np.zeros((nv, s, 3, s)),
        )
        self.dx = np.zeros((s, nv))
        self.s, self.Q, self.n, self.nv = s, Q, n, nv

    def sparse_arrays(self) -> tuple[Any, ...]:
        """(depth, LU, D, path columns, path rows, up, down, line) and the ancestors of scalar nodes."""
        s, nv = self.s, self.nv
        depth, anc, reach = tables(self.tree, s)
        width = 6 * self.Q + 6
        arrays = (
            depth,
            np.zeros((2, s * nv, s * reach)),
            np.zeros(s * nv),
            np.zeros((s, self.mz, reach)),
            np.zeros((s, self.mf, reach)),
            np.zeros((s, width)),
            np.zeros((s, width)),
            np.zeros(reach),
        )
        return arrays, anc

    def recursion_arrays(self) -> tuple[Any, ...]:
        """(A, l, z, X, H, Lam) of the O(n) recursion."""
        m = 3 * self.s
        return (
            np.zeros((self.n, self.mz, self.mf)),
            np.zeros((self.n, self.mf)),
            np.zeros((self.n, self.mz)),
            np.zeros((self.nv, self.s, self.mz)),
            np.zeros((m, self.mf)),
            np.zeros((m, m + 1)),
        )

    def simplified_arrays(self, wanted: bool) -> tuple[Any, ...]:
        """(A, U, D, f, inverse of K, update, last control points and updates) of `simplified`; empty if not wanted."""
        n, nv = (self.n, self.nv) if wanted else (0, 0)
        s, (_, w, b) = self.s, self.rule
        K = np.einsum("a,ar,ac->rc", w, b[:, :-1], b[:, 1:])
        return (
            np.zeros((n, 21)),
            np.zeros((nv, 6)),
            np.zeros(nv),
            np.zeros((n, 6)),
            np.linalg.inv(K),
            np.zeros((s, nv)),
            np.zeros((2, s, nv)),
            np.zeros((2, s, nv)),
        )

    def hessian_arrays(self) -> tuple[Any, ...]:
        """(col, row, up, down) of `hessian` and the blocks D."""
        s, nv, width = self.s, self.nv, 12 * self.Q
        vectors = (
            np.zeros((nv, s + 1, width)),
            np.zeros((nv, s + 1, width)),
            np.zeros((s + 1, width)),
            np.zeros((s + 1, width)),
        )
        return vectors, np.zeros((s + 1, nv, s + 1, nv))
