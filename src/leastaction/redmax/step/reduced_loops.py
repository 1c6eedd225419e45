"""Loops and couplings in a step: their equations, the forces of their multipliers, and how both change."""

from leastaction._jit import inline, routine
from leastaction.forces.total import clear
from leastaction.kinematics.closure_kernels import (
    evaluate,
    is_coupling,
    is_velocity,
    polynomial,
    push,
    soft_force,
    twist_of,
)
from leastaction.kinematics.closure_kernels import wrench_slope as closure_slope
from leastaction.kinematics.loop_equations import coordinate_of
from leastaction.kinematics.reduced.lift import lower
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import ZERO6, add, dot, load6, sub


@routine
def loop_values(loops, data, first):
    """data.g[first:]: values of the loop equations that are kept; of rolling contacts the slip velocity."""
    if loops is None:
        return
    nodes, links, q, g, own = data.coordinates.nodes, data.links, data.q, data.g, data.loops
    for c in range(loops.count):
        if own.kept[c] < 0:
            continue
        row = loops.rows[c]
        if is_coupling(row):
            f, _, _ = polynomial(row, own.coefficients, coordinate_of(nodes, q, row.leader))
            g[first + own.kept[c]] = coordinate_of(nodes, q, row.follower) - f
            continue
        value, W = evaluate(row, links)
        if is_velocity(row):
            value = dot(W, sub(twist_of(links, row.b), twist_of(links, row.a)))
        g[first + own.kept[c]] = value


@routine
def add_loop_forces(loops, data, lam):
    """Add the forces of the multipliers lam and of the soft rows of loops and couplings to data.external, data.tau."""
    if loops is None:
        return
    links, tau, own = data.links, data.tau, data.loops
    for c in range(loops.rows.shape[0]):
        row = loops.rows[c]
        if row.soft == 0 and own.kept[c] < 0:
            continue
        if is_coupling(row):
            x = coordinate_of(data.coordinates.nodes, data.q, row.leader)
            _, slope, _ = polynomial(row, own.coefficients, x)
            tau[row.follower] += lam[own.kept[c]]
            tau[row.leader] -= slope * lam[own.kept[c]]
            continue
        h, W = evaluate(row, links)
        push(row, data.external, W, soft_force(row, links, h, W) if row.soft != 0 else lam[own.kept[c]])


@inline
def _node(A, i):
    return ZERO6 if i < 0 else load6(A[i])


@routine
def loop_columns(loops, data, lam, c, nr):
    """Changes of loop forces (data.dF, data.dtau) and of the loop equations: column c of H below row nr."""
    if loops is None:
        return
    links, T, dV, dx, out, H, own = data.links, data.T, data.dV, data.dx, data.dF, data.H, data.loops
    for k in range(loops.rows.shape[0]):
        row = loops.rows[k]
        if row.soft == 0 and own.kept[k] < 0:
            continue
        if is_coupling(row):
            x = coordinate_of(data.coordinates.nodes, data.q, row.leader)
            _, slope, curvature = polynomial(row, own.coefficients, x)
            data.dtau[row.leader] -= curvature * lam[own.kept[k]] * dx[row.leader]
            H[nr + own.kept[k], c] = dx[row.follower] - slope * dx[row.leader]
            continue
        h, W = evaluate(row, links)
        Ta, Tb = _node(T, row.a), _node(T, row.b)
        dW = add(closure_slope(row, links, True, False, Ta), closure_slope(row, links, False, True, Tb))
        moved, changed = dot(W, sub(Tb, Ta)), dot(W, sub(_node(dV, row.b), _node(dV, row.a)))
        changed += dot(dW, sub(twist_of(links, row.b), twist_of(links, row.a)))
        if row.soft != 0:
            push(row, out, dW, soft_force(row, links, h, W))
            push(row, out, W, -row.stiffness * moved - row.damping * changed)
            continue
        push(row, out, dW, lam[own.kept[k]])
        H[nr + own.kept[k], c] = changed if is_velocity(row) else moved


@routine
def project(nodes, screws, out, tau):
    """Add to tau the generalised forces of the wrenches `out` (nodes, 6); destroys them."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = load6(out[i])
        for k in range(node.iv, node.iv + node.nv):
            tau[k] += dot(load6(screws[k].S), f)
        if node.parent >= 0:
            add_to(out[node.parent], f)


@routine
def loop_directions(loops, coordinates, data, nr):
    """Columns of H of the multipliers: minus the generalised force of each."""
    if loops is None:
        return
    nodes, own, tau, out = data.coordinates.nodes, data.loops, data.dtau, data.dF
    for k in range(loops.count):
        if own.kept[k] < 0:
            continue
        clear(out, tau)
        row = loops.rows[k]
        if is_coupling(row):
            _, slope, _ = polynomial(row, own.coefficients, coordinate_of(nodes, data.q, row.leader))
            tau[row.follower] += 1.0
            tau[row.leader] -= slope
        else:
            _, W = evaluate(row, data.links)
            push(row, out, W, 1.0)
            project(nodes, data.screws, out, tau)
        lower(coordinates, data.coordinates, tau, data.change)
        for i in range(nr):
            data.H[i, nr + own.kept[k]] = -data.change[i]
