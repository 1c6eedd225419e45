"""Entry points of the classical dynamics: what Python calls."""

from leastaction._jit import entry
from leastaction.dynamics import derivatives, recursions
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel, SlopeData
from leastaction.forces import total
from leastaction.forces.arrays import named_forces, named_modes
from leastaction.kinematics.sweeps import positions, velocities


@entry
def kinematics(nodes, links, screws, q, v):
    """Poses, screws and twists."""
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)


@entry
def inverse_dynamics(model, data, q, v, a, tau):
    """Inverse dynamics (RNEA)."""
    recursions.inverse_dynamics(DynamicsModel(*model), DynamicsData(*data), q, v, a, tau)


@entry
def mass_matrix(model, data, q, H):
    """Mass matrix (CRBA)."""
    recursions.mass_matrix(DynamicsModel(*model), DynamicsData(*data), q, H)


@entry
def forward_dynamics(model, data, q, v, tau, acc):
    """Forward dynamics (ABA)."""
    recursions.forward_dynamics(DynamicsModel(*model), DynamicsData(*data), q, v, tau, acc)


@entry
def inverse_dynamics_derivatives(model, data, slopes, q, v, a, tau):
    """Inverse dynamics and its derivatives."""
    model, data = DynamicsModel(*model), DynamicsData(*data)
    derivatives.inverse_dynamics_derivatives(model, data, SlopeData(*slopes), q, v, a, tau)


@entry
def passive_forces(forces, modes, links, screws, q, v, external, tau):
    """Wrenches per node (external) and generalised forces (tau) that the mechanism itself exerts; both zeroed."""
    forces, modes = named_forces(forces), named_modes(modes)
    positions(forces.nodes, links, screws, q)
    velocities(forces.nodes, links, screws, v)
    total.look_near(forces, modes, q)
    total.wrenches(forces, modes, links, external)
    total.joint_forces(forces, modes, q, v, tau)


@entry
def project_wrenches(nodes, screws, external, tau):
    """Add to tau the generalised forces of world wrenches per node; screws must be there. Destroys `external`."""
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        f = external[i]
        for k in range(node.iv, node.iv + node.nv):
            S = screws[k].S
            for c in range(6):
                tau[k] += S[c] * f[c]
        if node.parent >= 0:
            for c in range(6):
                external[node.parent, c] += f[c]
