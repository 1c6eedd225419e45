"""Compliant joint limits with a spring and a damper."""

from leastaction._jit import inline, routine
from leastaction.forces.touch import change, touch, update_mode


@inline
def limit_gap(dof, x):
    """(direction away from the nearer limit, distance to it, negative beyond it)."""
    low, high = x - dof.lower, dof.upper - x
    if low < high:
        return 1.0, low
    return -1.0, high


@inline
def limit_force(dof, mode, x, rate):
    """(force, energy) of the limits of one degree of freedom."""
    if dof.limit_stiffness == 0.0:
        return 0.0, 0.0
    side, d = limit_gap(dof, x)
    acts, share, _ = touch(mode, d)
    if not acts:
        return 0.0, 0.0
    force = -side * dof.limit_stiffness * d - share * dof.limit_damping * rate
    return force, 0.5 * dof.limit_stiffness * d * d


@inline
def limit_slopes(dof, mode, x, rate):
    """Negated derivatives of `limit_force` by position and velocity: stiffness and damping."""
    if dof.limit_stiffness == 0.0:
        return 0.0, 0.0
    side, d = limit_gap(dof, x)
    acts, share, slope = touch(mode, d)
    if not acts:
        return 0.0, 0.0
    return dof.limit_stiffness + dof.limit_damping * side * rate * slope, share * dof.limit_damping


@inline
def limit_cotangents(dof, mode, z, x, rate, out):
    """Add to out[4:8] the gradients of z . force by lower and upper limit, their stiffness and damping."""
    side, d = limit_gap(dof, x)
    acts, share, _ = touch(mode, d)
    if acts:
        out[4 if side > 0.0 else 5] += z * limit_slopes(dof, mode, x, rate)[0]
        out[6] -= z * side * d
        out[7] -= z * share * rate


@routine
def joint_forces(nodes, dofs, modes, q, v, tau):
    """Add the generalised forces to tau; returns the energy [J]."""
    energy = 0.0
    for i in range(nodes.shape[0]):
        n = nodes[i].iv
        if nodes[i].nv == 1 and dofs[n].limit_stiffness > 0.0:
            f, e = limit_force(dofs[n], modes[n], q[nodes[i].iq], v[n])
            tau[n] += f
            energy += e
    return energy


@inline
def change_mode(dof, modes, k, x, rate, settled, may):
    """Update the mode of one limit by its gap; see `touch.change`."""
    side, gap = limit_gap(dof, x)
    return change(modes, k, gap, side * rate, settled, may)


@inline
def update_limit_mode(dof, modes, k, x):
    """Open or close one limit by its gap; see `touch.update_mode`."""
    if dof.limit_damping == 0.0:
        return 0
    _, gap = limit_gap(dof, x)
    return update_mode(modes, k, gap)


@routine
def change_modes(nodes, dofs, modes, q, v, settled, most):
    """Update the modes of the nodes' limits by the state, at most `most` of them."""
    changed, touching = 0, 0
    for i in range(nodes.shape[0]):
        k = nodes[i].iv
        if nodes[i].nv == 1 and dofs[k].limit_damping > 0.0:
            c, t = change_mode(dofs[k], modes, k, q[nodes[i].iq], v[k], settled, changed < most)
            changed, touching = changed + c, touching + t
    return changed, touching
