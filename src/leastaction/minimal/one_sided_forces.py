"""Active set of one-sided forces with dampers: at each point of a step, such a force is active or not.

Such a force is discontinuous at touch-down (see `forces.touch`), and Newton's method fails across discontinuities. So
the active set is fixed by the first guess; where the solution contradicts it, it is changed and Newton continues.
`jumps` is None where there is no such force.
"""

from leastaction._jit import inline, routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.joint_limits import update_limit_mode
from leastaction.forces.total import exchange_modes
from leastaction.forces.touch import BY_DEPTH


@routine
def reset_modes(jumps, modes):
    """Set the active forces by their gaps at the start of a step; modes have one row for each point."""
    if jumps is None:
        return
    for al in range(modes.limits.shape[0]):
        exchange_modes(modes_at(modes, al), -1, BY_DEPTH)


@inline
def update_limit_mode_at(node, dofs, modes, x):
    """Activate or deactivate the limit of a single-axis joint at x; returns 1 if that is a change."""
    return update_limit_mode(dofs[node.iv], modes.limits, node.iv, x) if node.nv == 1 else 0
