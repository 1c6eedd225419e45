"""Equations of loops, feet and contacts at many configurations in one call."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry, routine
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial, wrench_slope
from leastaction.kinematics.loop_equations import coordinate_of, equations
from leastaction.kinematics.sweeps import positions
from leastaction.spatial import ad, dot, load6


class ReactionModel(NamedTuple):
    """Equations of a mechanism.

    Attributes:
        nodes: `tree.NODE` records.
        rows: records of the equations, see `kinematics.closure`.
        coefficients: of the polynomials of couplings.
    """

    nodes: Any
    rows: Any
    coefficients: NDArray[np.float64]


class ReactionData(NamedTuple):
    """Scratch: links and screws of the mechanism, and which degrees of freedom move one equation, shape (nv,)."""

    links: Any
    screws: Any
    moved: NDArray[np.int64]


@entry
def reaction_rows(model, data, Q, h, A, dA):
    """Values h (points, m) of equations, Jacobians A (points, m, nv) and, unless empty, dA/dq (points, m, nv, nv).

    dA[r, c, k, j]: how A[r, c, k] changes when degree of freedom j moves along its own tangent.
    """
    nodes, rows, coefficients = model.nodes, model.rows, model.coefficients
    links, screws, moved = data.links, data.screws, data.moved
    count = rows.shape[0]
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        equations(nodes, rows, coefficients, count, links, screws, Q[r], h[r], A[r])
        if dA.shape[0] > 0:
            for c in range(count):
                if is_coupling(rows[c]):
                    x = coordinate_of(nodes, Q[r], rows[c].leader)
                    _, _, curvature = polynomial(rows[c], coefficients, x)
                    dA[r, c, rows[c].leader, rows[c].leader] = -curvature
                else:
                    _slopes(nodes, rows[c], links, screws, moved, dA[r, c])


@routine
def _slopes(nodes, row, links, screws, moved, out):
    """Derivative of one row of a Jacobian, out (nv, nv): screws move with the joints before them, so do wrenches."""
    n = out.shape[0]
    for k in range(n):
        moved[k] = 0
        for j in range(n):
            out[k, j] = 0.0
    _, W = evaluate(row, links)
    for end in range(2):
        i = row.b if end == 0 else row.a
        sign = 1.0 if end == 0 else -1.0
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                moved[k] += 1 if end == 0 else 2
                above = i
                while above >= 0:
                    for j in range(nodes[above].iv, nodes[above].iv + nodes[above].nv):
                        out[k, j] += sign * dot(ad(load6(screws[j].S), load6(screws[k].S)), W)
                    above = nodes[above].parent
            i = nodes[i].parent
    for j in range(n):
        if moved[j] > 0:
            dW = wrench_slope(row, links, moved[j] >= 2, moved[j] != 2, load6(screws[j].S))
            for k in range(n):
                if moved[k] == 1 or moved[k] == 2:
                    sign = 1.0 if moved[k] == 1 else -1.0
                    out[k, j] += sign * dot(load6(screws[k].S), dW)
