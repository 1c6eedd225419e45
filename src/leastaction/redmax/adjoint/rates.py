"""Gradients of z . g by rates, accelerations and parameters, for the multipliers z of the equations of motion g."""

from leastaction._jit import routine
from leastaction.forces import total
from leastaction.kinematics.reduced.lift import lower, raise_direction
from leastaction.redmax.adjoint.inverse_dynamics_cotangents import (
    add_inertia_gradients,
    add_joint_dampers,
    add_placement_gradients,
    cotangents,
)
from leastaction.redmax.adjoint.parameter_cotangents import add_gravity_gradient, add_joint_gradients, wrench_cotangents
from leastaction.redmax.step.reduced_ball_drives import add_drive_gradients, add_drive_rates


@routine
def rate_gradients(model, data, back, grads, end, u):
    """(back.yv, back.ya): gradients of z . g by rd and rdd; back.z (nr + m) holds the multipliers' part behind.

    Those by the parameters of forces and by placements through forces come with them, into `grads`.
    """
    raise_direction(model.coordinates, data.coordinates, back.z, back.zn)
    cotangents(model, data, back)
    add_joint_dampers(model, data, back)
    wrench_cotangents(model.wrenches, model, data, back, grads, u, end.lam)
    lower(model.coordinates, data.coordinates, back.an, back.ya)
    lower(model.coordinates, data.coordinates, back.vn, back.yv)
    _block_rates(model.coordinates.blocks, model.forces.coords, data, back, end)
    balls, blocks = model.coordinates.balls, model.coordinates.blocks
    add_drive_rates(balls, blocks, data.coordinates, end, data.rdd, back.z, back.yv, back.ya)


@routine
def _block_rates(blocks, coords, data, back, end):
    """Add what splines and balls in exponential coordinates have of their own."""
    if blocks is None:
        return
    z, yv, ya = back.z, back.yv, back.ya
    for b in range(blocks.shape[0]):
        block, G = blocks[b], data.coordinates.lifts[b].G
        for c in range(block.nr):
            k = block.ir + c
            for j in range(block.nv):
                yv[k] += G[j, c] * back.an[block.iv + j]
            ya[k] += coords[k].armature * z[k]
            yv[k] += total.axis_slopes(coords[k], data.modes.coords[k], end.r[k], end.rd[k])[1] * z[k]


@routine
def parameter_gradients(model, data, back, grads, end):
    """Subtract those by parameters of bodies and joints from `grads`, after `rate_gradients`."""
    add_placement_gradients(model.gravity, data, back.cot, -1.0, grads.placements)
    add_inertia_gradients(data.links, back.cot, -1.0, grads.inertias)
    add_joint_gradients(model, data, end.r, end.rd, back.z, grads.coordinates)
    add_gravity_gradient(data.coordinates.nodes, back.cot, grads.gravity)
    balls, blocks = model.coordinates.balls, model.coordinates.blocks
    add_drive_gradients(balls, blocks, data.coordinates, end, data.rdd, back.z, grads.drives)
