"""`minimal.one_sided_forces` at the quadrature points."""

from leastaction._jit import routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.total import update_modes
from leastaction.minimal.galerkin_joints.quadrature_points import coordinate
from leastaction.minimal.one_sided_forces import update_limit_mode_at


@routine
def open_or_close(jumps, model, settings, points):
    """Update the active forces at the points by the present control points; returns the number of changes."""
    if jumps is None:
        return 0
    changed = 0
    for al in range(points.nodes.shape[0]):
        modes = modes_at(points.modes, al)
        changed += update_modes(model.forces, modes, points.nodes[al])
        for i in range(model.nodes.shape[0]):
            x = coordinate(settings.rule, points.X, al, model.nodes[i].iv)
            changed += update_limit_mode_at(model.nodes[i], model.dofs, modes, x)
    return changed
