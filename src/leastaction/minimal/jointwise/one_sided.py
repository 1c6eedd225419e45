"""One-sided forces with dampers at the points of a step: while Newton iterates, each acts at a point or does not.

Such a force jumps where it touches (see `forces.touch`), and Newton's method does not find its way across jumps. So the
first guess says at which points it acts; where the solution says otherwise, that is changed and Newton goes on.
"""

from leastaction._jit import routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.joint_limits import settle_mode
from leastaction.forces.total import exchange_modes, settle_modes
from leastaction.forces.touch import BY_DEPTH
from leastaction.minimal.jointwise.points import coordinate


@routine
def forget(jumps, points):
    """At the start of a step: forces act as their gaps say; `jumps`: None where no such force acts."""
    if jumps is None:
        return
    for al in range(points.nodes.shape[0]):
        exchange_modes(modes_at(points.modes, al), -1, BY_DEPTH)


@routine
def open_or_close(jumps, model, settings, points):
    """Let forces act at the points by the present control points; gives back how often that is a change."""
    if jumps is None:
        return 0
    changed = 0
    for al in range(points.nodes.shape[0]):
        modes = modes_at(points.modes, al)
        changed += settle_modes(model.forces, modes, points.nodes[al])
        for i in range(model.nodes.shape[0]):
            n = model.nodes[i].iv
            if model.nodes[i].nv == 1:
                changed += settle_mode(model.dofs[n], modes.limits, n, coordinate(settings.rule, points.X, al, n))
    return changed
