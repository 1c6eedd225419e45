"""The reduced equations of motion as a residual: g = T^T (M a + bias - forces) (Sueda 2021, Eqs. 2.19 and 2.80).

M, the quadratic velocity terms and gravity come from the recursion of inverse dynamics in O(n) instead of products of
J and its rate with the block-diagonal inertia; both are the same numbers.
"""

from leastaction._jit import routine
from leastaction.dynamics.recursions import required_forces
from leastaction.forces.balls import is_soft, torque, twist_pair
from leastaction.forces.passive import body_forces, clear, joint_forces, limit_force, penalty_forces
from leastaction.kinematics.reduced.lift import lift, lower
from leastaction.kinematics.sweeps import add_to, positions, velocities
from leastaction.redmax.step.loops import add_loop_forces, loop_values
from leastaction.redmax.step.user_forces import add_user_forces
from leastaction.spatial import add3, cross, load3, load6, load9, matvec, neg, scale3


@routine
def drive_wrench(drive, u, links):
    """World wrench of a drive that pushes on a node, for the control u."""
    R, p = load9(links[drive.node].R), load3(links[drive.node].p)
    F = load6(drive.wrench)
    force = scale3(u, matvec(R, F[1]))
    return (add3(scale3(u, matvec(R, F[0])), cross(p, force)), force)


@routine
def add_wrenches(forces, data, u, external):
    """Add all world wrenches on nodes to `external`."""
    links, balls, drives = data.links, forces.balls, forces.drives
    body_forces(forces.paths, forces.points, forces.wrenches, links, external)
    penalty_forces(forces.penalties, links, external)
    for k in range(balls.shape[0]):
        if is_soft(balls[k]):
            t, _ = torque(balls[k], links)
            twist_pair(external, balls[k].child, balls[k].other, t)
    add_user_forces(forces.user, data.user, links, external)
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.coordinate < 0 and drive.node >= 0 and u[k] != 0.0:
            W = drive_wrench(drive, u[k], links)
            add_to(external[drive.node], W)
            if drive.other >= 0:
                add_to(external[drive.other], neg(W))


@routine
def _block_forces(blocks, coords, r, rd, rdd, g):
    """Add the drive inertias of splines, less their dampers, springs and limits."""
    if blocks is None:
        return
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            c = coords[k]
            limit, _ = limit_force(c, r[k], rd[k])
            g[k] += c.armature * rdd[k] + c.damping * rd[k] + c.stiffness * (r[k] - c.rest) - limit


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
    clear(data.external, tau)
    add_wrenches(forces, data, u, data.external)
    loop_values(model.loops, data, r.shape[0])
    add_loop_forces(model.loops, data, lam)
    joint_forces(nodes, model.dofs, forces.rest, q, v, tau)
    for k in range(tau.shape[0]):
        screws[k].u = tau[k]
    required_forces(nodes, model.dofs, model.gravity, links, screws, v, a, data.external, tau)
    for k in range(tau.shape[0]):
        tau[k] -= screws[k].u
    lower(model.coordinates, data.coordinates, tau, g)
    drives = forces.drives
    for k in range(drives.shape[0]):
        if drives[k].coordinate >= 0:
            g[drives[k].coordinate] -= drives[k].gear * u[k]
    _block_forces(model.coordinates.blocks, forces.coords, r, rd, rdd, g)
