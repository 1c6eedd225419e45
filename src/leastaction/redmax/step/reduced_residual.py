"""The reduced equations of motion as a residual: g = T^T (M a + bias - forces) (Sueda 2021, Eqs. 2.19 and 2.80).

M, the quadratic velocity terms and gravity come from the recursion of inverse dynamics in O(n) instead of products of
J and its rate with the block-diagonal inertia; both are the same numbers.
"""

from leastaction._jit import routine
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.recursions import required_forces
from leastaction.forces import drives, total
from leastaction.kinematics.reduced.lift import lift, lower
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.redmax.step.reduced_ball_drives import add_drive_forces
from leastaction.redmax.step.reduced_loops import add_loop_forces, loop_values


@routine
def _add_wrenches(wrenches, model, data, u, lam):
    """Add what pushes on nodes to data.external, and the loop equations to data.g."""
    if wrenches is None:
        return
    total.unwrap_angles(model.forces, data.modes, data.q)
    total.set_pulls(model.forces, data.modes, u)
    total.wrenches(model.forces, data.modes, data.links, data.external)
    drives.wrenches(model.forces.drives, data.links, u, data.external)
    loop_values(model.loops, data, data.change.shape[0])
    add_loop_forces(model.loops, data, lam)


@routine
def _block_forces(blocks, model, data, r, rd, rdd):
    """Add to data.g the drive inertias of splines, less their springs, dampers and limits."""
    if blocks is None:
        return
    coords, modes = model.forces.coords, data.modes.coords
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            force, _ = total.axis_force(coords[k], modes[k], r[k], rd[k])
            data.g[k] += coords[k].armature * rdd[k] - force


@routine
def residual(model, data, r, rd, rdd, u, lam):
    """data.g (nr + multipliers): forces missing at the accelerations rdd, then the loop equations.

    Leaves poses, twists, accelerations and wrenches of the nodes in the data, as the Newton matrix needs them.
    """
    nodes, links, screws = data.coordinates.nodes, data.links, data.screws
    q, v, a, tau, g = data.q, data.v, data.a, data.tau, data.g
    forces = model.forces
    lift(model.coordinates, data.coordinates, r, rd, rdd, q, v, a)
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)
    total.clear(data.external, tau)
    _add_wrenches(model.wrenches, model, data, u, lam)
    total.joint_forces(forces, data.modes, q, v, tau)
    for k in range(tau.shape[0]):
        screws[k].u = tau[k]
    tree = DynamicsModel(nodes, model.dofs, model.gravity)
    required_forces(tree, DynamicsData(links, screws, data.external), v, a, tau)
    for k in range(tau.shape[0]):
        tau[k] -= screws[k].u
    lower(model.coordinates, data.coordinates, tau, g)
    drives.joint_forces(forces.drives, u, -1.0, g)
    _block_forces(model.coordinates.blocks, model, data, r, rd, rdd)
    add_drive_forces(model.coordinates.balls, model.coordinates.blocks, data.coordinates, r, rd, rdd, g)
