"""Columns of the Newton matrix that come from body forces and loops.

For each reduced coordinate: how the nodes move (T) and how their twists change (dV), what that does to every world
wrench, and the generalised forces of that change. The inertial part of the matrix lets each wrench on a node move
rigidly with it; what is added here is the true change less that.
"""

from leastaction._jit import routine
from leastaction.forces import drives, total
from leastaction.kinematics.reduced.lift import lower
from leastaction.kinematics.sweeps import add_to
from leastaction.redmax.step.reduced_loops import loop_columns, loop_directions, project
from leastaction.spatial import ZERO6, ad, add, axpy, cross_force, load6, scale, store6, sub


@routine
def has_wrenches(wrenches, model, u):
    """Whether any wrench acts on a node besides gravity."""
    if wrenches is None:
        return False
    return _rows(model.loops) > 0 or total.has_wrenches(model.forces) or drives.any_wrenches(model.forces.drives, u)


@routine
def _rows(loops):
    return 0 if loops is None else loops.rows.shape[0]


@routine
def directions(model, data, c, position, rate):
    """data.dx, data.dw: changes of the nodes' coordinates and velocities, `position` and `rate` times coordinate c."""
    plain, dx, dw = model.plain, data.dx, data.dw
    for k in range(dx.shape[0]):
        dx[k] = 0.0
        dw[k] = 0.0
    for p in range(plain.shape[0]):
        if plain[p, 0] == c:
            dx[plain[p, 2]] = position
            dw[plain[p, 2]] = rate
            return
    _block_directions(model.blocks, data, c, position, rate)


@routine
def _block_directions(blocks, data, c, position, rate):
    if blocks is None:
        return
    for b in range(blocks.shape[0]):
        block, lift = blocks[b], data.coordinates.lifts[b]
        if block.ir <= c < block.ir + block.nr:
            for j in range(block.nv):
                data.dx[block.iv + j] = position * lift.map[j, c - block.ir]
                data.dw[block.iv + j] = position * lift.E[j, c - block.ir] + rate * lift.map[j, c - block.ir]


@routine
def move_nodes(data):
    """Displacements data.T and twist changes data.dV of all nodes for changes of their coordinates and velocities."""
    nodes, links, screws, rates = data.coordinates.nodes, data.links, data.screws, data.rates
    T, dV = data.T, data.dV
    for i in range(nodes.shape[0]):
        node = nodes[i]
        t, d = ZERO6, ZERO6
        if node.parent >= 0:
            t, d = load6(T[node.parent]), load6(dV[node.parent])
            # The parent's change without the part that comes from its own displacement.
            d = sub(d, ad(t, load6(links[node.parent].v)))
        for k in range(node.iv, node.iv + node.nv):
            S = load6(screws[k].S)
            t = axpy(data.dx[k], S, t)
            d = axpy(data.dx[k], load6(rates[k].P1), axpy(data.dw[k], S, d))
        store6(T[i], t)
        store6(dV[i], add(d, ad(t, load6(links[i].v))))


@routine
def wrench_changes(forces, data, u, out):
    """Add to `out` how all wrenches on nodes change for data.T and data.dV, loops apart."""
    total.wrench_slopes(forces, data.modes, data.links, data.T, data.dV, out)
    drives.slopes(forces.drives, data.links, u, data.T, out)


@routine
def force_column(model, data, u, lam, c, position, rate):
    """data.change (nr): change of the body and loop forces by coordinate c; loop equations go into data.H."""
    nodes, nr = data.coordinates.nodes, data.change.shape[0]
    directions(model.coordinates, data, c, position, rate)
    move_nodes(data)
    total.clear(data.dF, data.dtau)
    wrench_changes(model.forces, data, u, data.dF)
    loop_columns(model.loops, data, lam, c, nr)
    if position != 0.0:
        for i in range(nodes.shape[0]):
            add_to(data.dF[i], scale(-1.0, cross_force(load6(data.T[i]), load6(data.external[i]))))
    project(nodes, data.screws, data.dF, data.dtau)
    lower(model.coordinates, data.coordinates, data.dtau, data.change)


@routine
def add_force_columns(wrenches, model, data, u, lam, c1):
    """Subtract the changes of body and loop forces from data.H, and fill its rows and columns of loops."""
    if wrenches is None:
        return
    if not has_wrenches(wrenches, model, u):
        return
    nr = data.change.shape[0]
    for c in range(nr):
        force_column(model, data, u, lam, c, 1.0, c1)
        for i in range(nr):
            data.H[i, c] -= data.change[i]
    loop_directions(model.loops, model.coordinates, data, nr)
