"""All forces of a mechanism and of its controls at one state, and the accelerations they cause."""

from leastaction._jit import routine
from leastaction.dynamics import recursions
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.forces import total
from leastaction.kinematics.sweeps import positions, velocities


@routine
def mechanism_forces(forces, data, q, v):
    """Poses and twists at (q, v), and what acts there without controls.

    Args:
        forces: a `ForceModel`.
        data: anything with `modes`, which are read, and `links`, `screws`, `external` (nodes, 6; world wrenches)
            and `tau` (nv; generalised forces), which are written.
        q: joint positions [rad or m], shape (nq,).
        v: joint velocities [rad/s or m/s], shape (nv,).
    """
    positions(forces.nodes, data.links, data.screws, q)
    placed_forces(forces, data, q, v)


@routine
def placed_forces(forces, data, q, v):
    """`mechanism_forces` once poses at q are there."""
    velocities(forces.nodes, data.links, data.screws, v)
    total.clear(data.external, data.tau)
    total.unwrap_angles(forces, data.modes, q)
    total.wrenches(forces, data.modes, data.links, data.external)
    total.joint_forces(forces, data.modes, q, v, data.tau)


@routine
def applied_forces(forces, data, q, v, u):
    """The same with the controls u (nu,)."""
    total.set_pulls(forces, data.modes, u)
    mechanism_forces(forces, data, q, v)
    total.drive_forces(forces, data.links, u, data.external, data.tau)


@routine
def forced_accelerations(model, data, q, v, u, acc):
    """Accelerations (nv,) of a tree under `applied_forces` and gravity; model: anything with `forces` and `gravity`."""
    forces = model.forces
    applied_forces(forces, data, q, v, u)
    tree = DynamicsModel(forces.nodes, forces.dofs, model.gravity)
    recursions.accelerations(tree, DynamicsData(data.links, data.screws, data.external), v, data.tau, acc)


@routine
def start_accelerations(model, data, q, v, u, acc):
    """`forced_accelerations` where `recursions.articulate` was called at the same q; links: as `recursions.respond`.

    Accelerations of links are those of v alone (a) and those of acc (f).
    """
    forces, tau, bias = model.forces, data.tau, data.x
    tree = DynamicsModel(forces.nodes, forces.dofs, model.gravity)
    work = DynamicsData(data.links, data.screws, data.external)
    total.set_pulls(forces, data.modes, u)
    placed_forces(forces, data, q, v)
    total.drive_forces(forces, data.links, u, data.external, tau)
    recursions.required_forces(tree, work, v, data.zero, bias)
    for k in range(tau.shape[0]):
        tau[k] -= bias[k]
    recursions.respond(forces.nodes, data.links, data.screws, tau, acc)
