"""Redundant joint equations of loops: found once without contacts, and kept for all iterations with them.

Next to a contact that is 1e10 times as stiff as a body is heavy, the pivots of independent equations are so small that
they resemble the round-off of redundant ones. Which equations are redundant depends on the joints alone.
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.linalg.graph.graph_factorization import factorize
from leastaction.maximal.step.assembly import assemble
from leastaction.maximal.step.solver.newton import DEPENDENT


@routine(allocates=False)
def mark_redundant(model, data):
    """left_out <- 1 for the unknowns that the factorisation has skipped, 0 for all others; dx is scratch.

    The matrix G M^-1 G' that they were skipped from is symmetric, so the equations of the same indices are omitted too.
    """
    nodes, values, pivots = model.graph.nodes, data.factors.values, data.factors.pivots
    left_out, place = data.left_out, data.dx
    for i in range(left_out.shape[0]):
        left_out[i] = 0.0
    for k in range(nodes.shape[0]):
        if nodes[k].ranked:
            n, row, d = np.int64(nodes[k].width), np.int64(nodes[k].row), np.int64(nodes[k].block)
            for j in range(n):
                place[row + j] = row + j
            for j in range(n):
                i = row + np.int64(pivots[row + j, 1])
                place[row + j], place[i] = place[i], place[row + j]
                if values[d + j * n + j] == 0.0:
                    left_out[np.int64(place[row + j])] = 1.0


@routine(allocates=False)
def find_redundant(model, settings, data, now, dt, loops):
    """Mark the redundant joint equations of this step, and set their multipliers to zero.

    Args:
        now: `CONTACT_STATE` record. Where no equation is redundant at the start poses, none is at the end either.
        loops: see `MaximalSettings`.
    """
    if loops is None or not loops:
        return
    if now.independent == 1:
        for i in range(data.left_out.shape[0]):
            data.left_out[i] = 0.0
        return
    fresh = dt > 0.0  # not a literal: it would compile another specialisation
    assemble(model, settings, data, dt, fresh)
    factorize(model.graph, data.factors, DEPENDENT)
    mark_redundant(model, data)
    for k in range(model.rows.shape[0]):
        row = model.rows[k]
        if data.left_out[model.graph.first[model.bodies.shape[0] + row.node] + row.local] > 0.0:
            data.rows[k].lam = 0.0


@inline
def clear_row(values, offsets, edge, m, local):
    """Zero the blocks that `block_parts.place_row` has written."""
    if edge >= 0:
        for c in range(6):
            values[offsets[edge, 0] + local + m * c] = 0.0
            values[offsets[edge, 1] + 6 * local + c] = 0.0


@routine(allocates=False)
def leave_out_rows(model, data, loops):
    """Replace the marked equations by "this multiplier does not change"; loops: see `MaximalSettings`."""
    if loops is None or not loops:
        return
    rows, sizes, n = model.rows, model.sizes, model.bodies.shape[0]
    diagonal, offsets, first = model.graph.diagonal, model.graph.offsets, model.graph.first
    values, fixed, left_out = data.factors.values, data.fixed, data.left_out
    for k in range(rows.shape[0]):
        row = rows[k]
        m = sizes[row.node]
        at = first[n + row.node] + row.local
        if left_out[at] > 0.0:
            clear_row(values, offsets, row.ea, m, row.local)
            clear_row(values, offsets, row.eb, m, row.local)
            clear_row(values, offsets, row.ea2, m, row.local)
            clear_row(values, offsets, row.eb2, m, row.local)
            values[diagonal[n + row.node] + row.local * (m + 1)] = 1.0
            fixed[at] = 0.0


@routine(allocates=False)
def leave_out_residuals(data, loops):
    """Zero the right-hand side of the marked equations, for reused factors."""
    if loops is None or not loops:
        return
    for i in range(data.fixed.shape[0]):
        if data.left_out[i] > 0.0:
            data.fixed[i] = 0.0
