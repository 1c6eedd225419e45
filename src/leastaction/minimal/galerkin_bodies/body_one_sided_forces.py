"""`minimal.one_sided_forces` at the nodes."""

from leastaction._jit import routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.total import update_modes
from leastaction.minimal.one_sided_forces import update_limit_mode_at


@routine
def open_or_close(jumps, model, data):
    """Update the active forces at the nodes by the present positions; returns the number of changes."""
    if jumps is None:
        return 0
    changed = 0
    for j in range(data.Q.shape[0]):
        modes = modes_at(data.modes, j)
        changed += update_modes(model.forces, modes, data.bodies[j])
        for i in range(model.nodes.shape[0]):
            changed += update_limit_mode_at(model.nodes[i], model.dofs, modes, data.Q[j, model.nodes[i].iq])
    return changed
