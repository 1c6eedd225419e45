"""One-sided forces with dampers at the points of a step: while Newton iterates, each acts at a point or does not.

Such a force jumps where it touches (see `forces.touch`), and Newton's method does not find its way across jumps. So the
first guess says at which points it acts; where the solution says otherwise, that is changed and Newton goes on. `jumps`
is None where no such force acts.
"""

from leastaction._jit import inline, routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.joint_limits import update_limit_mode
from leastaction.forces.total import exchange_modes
from leastaction.forces.touch import BY_DEPTH


@routine
def reset_modes(jumps, modes):
    """At the start of a step: forces act as their gaps say; modes have one row for each point."""
    if jumps is None:
        return
    for al in range(modes.limits.shape[0]):
        exchange_modes(modes_at(modes, al), -1, BY_DEPTH)


@inline
def update_limit_mode_at(node, dofs, modes, x):
    """Open or close the limit of a joint with one axis at x; returns 1 if that is a change."""
    return update_limit_mode(dofs[node.iv], modes.limits, node.iv, x) if node.nv == 1 else 0
