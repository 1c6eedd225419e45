"""The mass matrix in reduced coordinates, and velocities that keep loops closed."""

from leastaction._jit import routine
from leastaction.dynamics.recursions import composite_inertias
from leastaction.linalg.factor import factor, solve
from leastaction.redmax.step.matrix import store_column
from leastaction.redmax.step.reduced_ball_drives import add_drive_masses
from leastaction.redmax.step.reduced_loops import loop_directions
from leastaction.spatial import dot, load6, load_inertia, momentum


@routine
def mass_matrix(model, data):
    """data.H[:nr, :nr] = T^T (mass matrix of the nodes) T. Uses up inertias."""
    nodes, dofs = data.coordinates.nodes, model.dofs
    links, screws, plain, A = data.links, data.screws, model.coordinates.plain, data.parts[0]
    composite_inertias(nodes, links)
    n = dofs.shape[0]
    for i in range(n):
        for j in range(n):
            A[i, j] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        C = load_inertia(links[i].M)
        for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            f = momentum(C, load6(screws[k].S))
            j = i
            while j >= 0:
                for m in range(nodes[j].iv, nodes[j].iv + nodes[j].nv):
                    A[k, m] = dot(load6(screws[m].S), f)
                    A[m, k] = A[k, m]
                j = nodes[j].parent
            A[k, k] += dofs[k].armature
    for p in range(plain.shape[0]):
        for i in range(n):
            data.column[i] = A[i, plain[p, 2]]
        store_column(model.coordinates, data, plain[p, 0])
    _block_masses(model.coordinates.blocks, model, data)
    add_drive_masses(model.coordinates.balls, model.coordinates.blocks, data.coordinates, data.q, data.H)


@routine
def _block_masses(blocks, model, data):
    """Columns of the mass matrix of splines and of balls in exponential coordinates."""
    if blocks is None:
        return
    A, column = data.parts[0], data.column
    for b in range(blocks.shape[0]):
        block, T = blocks[b], data.coordinates.lifts[b].map
        for c in range(block.nr):
            for i in range(column.shape[0]):
                column[i] = 0.0
                for j in range(block.nv):
                    column[i] += A[i, block.iv + j] * T[j, c]
            store_column(model.coordinates, data, block.ir + c)
            data.H[block.ir + c, block.ir + c] += model.forces.coords[block.ir + c].armature


@routine
def projection_matrix(loops, model, data, n):
    """data.H = (M, -A^T; A, 0), where `residual` ran last. Uses up inertias."""
    H = data.H
    mass_matrix(model, data)
    loop_directions(loops, model.coordinates, data, n)
    for k in range(n, H.shape[0]):
        for i in range(n):
            H[k, i] = -H[i, k]
        for j in range(n, H.shape[0]):
            H[k, j] = 0.0


@routine
def project_velocity(loops, model, data, v):
    """Take from v what would open the loops, where `residual` ran last; returns whether there was a solution.

    The nearest velocity in the metric of the masses: M (v' - v) = A^T mu with A v' = 0. Runge-Kutta methods that only
    keep the positions on the loops lose an order, since the velocities at the ends of their stages leave the tangent by
    O(dt) and turn the forces of the loops (Hairer, Lubich and Roche 1989: index 3).
    """
    if loops is None:
        return True
    H, step, n = data.H, data.step, v.shape[0]
    if H.shape[0] == n:
        return True
    projection_matrix(loops, model, data, n)
    for i in range(H.shape[0]):
        step[i] = 0.0
        for j in range(n):
            step[i] += H[i, j] * v[j] if i < n else 0.0
    if not factor(H, data.pivots):
        return False
    solve(H, data.pivots, step)
    for i in range(n):
        v[i] = step[i]
    return True
