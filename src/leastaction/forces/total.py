"""Sums over all forces, the only interface that formulations use.

A new force needs a module like its neighbours, records in `arrays.ForceModel`, and calls here. Body forces are world
wrenches per node, joint forces generalised forces. `links` are any records with a pose (R, p) and a twist v.

No block of the stiffness K = dF/dpose or of the damping D = dF/dtwist is stored: `wrench_slopes` computes the product
K T + D dV for displacements T and twist changes dV (Sueda 2021, 1.9); blocks result from unit twists.

Kernels are compiled without the kinds of forces that are None in the model: Numba prunes branches on such arguments.
"""

from leastaction._jit import inline, routine
from leastaction.forces import (
    drags,
    drives,
    isotropic_springs,
    joint_limits,
    joint_springs,
    penalty_contacts,
    spherical_springs,
    touch,
    user,
)
from leastaction.forces import wrenches as constant
from leastaction.forces.tendons import cable_paths, tendon_forces

# ------------------------------------------------------------------ body forces


@routine
def has_wrenches(forces):
    """Whether there is any body force other than drives."""
    return _element_count(forces.paths, forces) + _user_count(forces.user) > 0 or _any_soft(forces.balls)


@inline
def _element_count(some, forces):
    if some is None:
        return 0
    count = forces.paths.shape[0] + forces.wrenches.shape[0] + forces.penalties.shape[0]
    return count + forces.drags.shape[0] + forces.tendons.shape[0]


@inline
def _user_count(forces):
    if forces is None:
        return 0
    return forces.addresses.shape[0]


@inline
def _any_soft(balls):
    if balls is None:
        return False
    return spherical_springs.any_soft(balls)


@routine
def resists(forces):
    """Whether any body force may depend on velocity."""
    return _any_element_resists(forces.paths, forces) or _any_soft(forces.balls) or _user_count(forces.user) > 0


@inline
def _any_element_resists(some, forces):
    if some is None:
        return False
    found = forces.penalties.shape[0] + forces.drags.shape[0] > 0
    for i in range(forces.paths.shape[0]):
        found = found or forces.paths[i].damping > 0.0
    for i in range(forces.tendons.shape[0]):
        t = forces.tendons[i]
        found = found or t.damping > 0.0 or t.brake > 0.0 or t.limit_damping > 0.0 or t.held > 0.0 or t.muscle != 0
    return found


@routine
def wrenches(forces, modes, links, external):
    """Add the world wrenches of all body forces to `external`, shape (nodes, 6)."""
    _element_wrenches(forces.paths, forces, modes, links, external)
    _ball_wrenches(forces.balls, links, external)
    _user_wrenches(forces.user, modes.user, links, external)


@inline
def _element_wrenches(some, forces, modes, links, external):
    if some is None:
        return
    cable_paths.wrenches(forces.paths, forces.points, modes.paths, links, external)
    isotropic_springs.wrenches(forces.paths, forces.points, links, external)
    constant.wrenches(forces.wrenches, links, external)
    penalty_contacts.wrenches(forces.penalties, modes.penalties, links, external)
    drags.wrenches(forces.drags, links, external)
    tendon_forces.wrenches(forces.tendons, modes.items, modes.tendons, modes.pull, links, external)


@inline
def _ball_wrenches(balls, links, external):
    if balls is not None:
        spherical_springs.wrenches(balls, links, external)


@inline
def _user_wrenches(forces, scratch, links, external):
    if forces is not None:
        user.wrenches(forces, scratch, links, external)


@routine
def energy(forces, modes, links, q):
    """Potential energy of all body forces [J] at q (nq,), which determines the number of turns of tendon angles."""
    return _element_energy(forces.paths, forces, modes, links, q) + _ball_energy(forces.balls, links)


@inline
def _element_energy(some, forces, modes, links, q):
    if some is None:
        return 0.0
    tendon_forces.unwrap_angles(modes.items, q)
    total = cable_paths.energy(forces.paths, forces.points, links)
    total += isotropic_springs.energy(forces.paths, forces.points, links)
    total += tendon_forces.energy(forces.tendons, modes.items, links)
    return total + penalty_contacts.energy(forces.penalties, links)


@inline
def _ball_energy(balls, links):
    if balls is None:
        return 0.0
    return spherical_springs.energy(balls, links)


@routine
def wrench_slopes(forces, modes, links, T, dV, out):
    """Add to `out` (nodes, 6) the change of all body wrenches for displacements T and twist changes dV (nodes, 6)."""
    _element_slopes(forces.paths, forces, modes, links, T, dV, out)
    _ball_slopes(forces.balls, links, T, dV, out)
    _user_slopes(forces.user, modes.user, links, T, dV, out)


@routine
def resistance_slopes(forces, modes, links, T, dV, out):
    """`wrench_slopes` of the forces of `arrays.resisting`, without tendons, which have blocks of another kind."""
    isotropic_springs.slopes(forces.paths, forces.points, links, T, dV, out)
    penalty_contacts.slopes(forces.penalties, modes.penalties, links, T, dV, out)
    drags.slopes(forces.drags, links, T, dV, out)


@inline
def _element_slopes(some, forces, modes, links, T, dV, out):
    if some is None:
        return
    cable_paths.slopes(forces.paths, forces.points, modes.paths, links, T, dV, out)
    isotropic_springs.slopes(forces.paths, forces.points, links, T, dV, out)
    constant.slopes(forces.wrenches, links, T, out)
    penalty_contacts.slopes(forces.penalties, modes.penalties, links, T, dV, out)
    drags.slopes(forces.drags, links, T, dV, out)
    tendon_forces.slopes(forces.tendons, modes.items, modes.tendons, modes.pull, links, T, dV, out)


@inline
def _ball_slopes(balls, links, T, dV, out):
    if balls is not None:
        spherical_springs.slopes(balls, links, T, dV, out)


@inline
def _user_slopes(forces, scratch, links, T, dV, out):
    if forces is not None:
        user.slopes(forces, scratch, links, T, dV, out)


@routine
def wrench_cotangents(forces, modes, links, cot, GT, GV, grads):
    """Reverse mode of `wrenches`: add to GT, GV (nodes, 6) and, for parameters, to `grads`; see `forces.points`."""
    _element_cotangents(forces.paths, forces, modes, links, cot, GT, GV, grads)
    _ball_cotangents(forces.balls, links, cot, GT, GV, grads.balls)
    _user_cotangents(forces.user, modes.user, links, cot, GT, GV, grads.user)


@inline
def _element_cotangents(some, forces, modes, links, cot, GT, GV, grads):
    if some is None:
        return
    cable_paths.cotangents(forces.paths, forces.points, modes.paths, links, cot, GT, GV, grads.paths, grads.points)
    isotropic_springs.cotangents(forces.paths, forces.points, links, cot, GT, GV, grads.paths, grads.points)
    constant.cotangents(forces.wrenches, links, cot, GT, grads.wrenches)
    out, at = grads.penalties, grads.penalty_points
    penalty_contacts.cotangents(forces.penalties, modes.penalties, links, cot, GT, GV, out, at)
    drags.cotangents(forces.drags, links, cot, GT, GV, grads.drags)
    tendon_forces.cotangents(forces.tendons, modes.items, modes.tendons, modes.pull, links, cot, GT, GV, grads.tendons)


@inline
def _ball_cotangents(balls, links, cot, GT, GV, out):
    if balls is not None:
        spherical_springs.cotangents(balls, links, cot, GT, GV, out)


@inline
def _user_cotangents(forces, scratch, links, cot, GT, GV, out):
    if forces is not None:
        user.cotangents(forces, scratch, links, cot, GT, GV, out)


# ------------------------------------------------------------------ forces in joints


@routine
def joint_forces(forces, modes, q, v, tau):
    """Add the generalised forces of joint springs, dampers and limits to tau (nv,); returns their energy [J]."""
    energy = joint_springs.joint_forces(forces.nodes, forces.dofs, forces.rest, q, v, tau)
    return energy + joint_limits.joint_forces(forces.nodes, forces.dofs, modes.limits, q, v, tau)


@inline
def axis_force(dof, mode, x, rate):
    """(force, energy) of one degree of freedom that is a joint of its own, or a reduced coordinate."""
    f, e = joint_springs.spring_force(dof, dof.rest, x, rate)
    limit, stored = joint_limits.limit_force(dof, mode, x, rate)
    return f + limit, e + stored


@inline
def axis_slopes(dof, mode, x, rate):
    """Negated derivatives of `axis_force` by position and velocity: stiffness and damping."""
    stiffness, damping = joint_limits.limit_slopes(dof, mode, x, rate)
    return dof.stiffness + stiffness, dof.damping + damping


@inline
def axis_cotangents(dof, mode, z, x, rate, out):
    """Add to out (8,) the gradients of z . force by stiffness, rest, damping, limits, their stiffness and damping.

    Entry 3 is reserved for the armature, which is no force.
    """
    joint_springs.spring_cotangents(dof, dof.rest, z, x, rate, out)
    joint_limits.limit_cotangents(dof, mode, z, x, rate, out)


# ------------------------------------------------------------------ controls


@routine
def drive_forces(forces, links, u, external, tau):
    """Add the generalised forces (tau) and world wrenches (external) of the controls u, shape (nu,)."""
    drives.joint_forces(forces.drives, u, 1.0, tau)
    drives.wrenches(forces.drives, links, u, external)


@routine
def set_pulls(forces, modes, u):
    """Set the forces of the controls u (nu,) on tendons."""
    _set_pulls(forces.tendons, forces, modes, u)


@inline
def _set_pulls(some, forces, modes, u):
    if some is not None:
        tendon_forces.set_pulls(some, forces.drives, modes.pull, u)


@routine
def unwrap_angles(forces, modes, q):
    """Update the number of turns of tendon angles by the joint positions q (nq,)."""
    _unwrap_angles(forces.tendons, modes, q)


@inline
def _unwrap_angles(some, modes, q):
    if some is not None:
        tendon_forces.unwrap_angles(modes.items, q)


@routine
def control_wrenches(forces, modes, links, u, out):
    """Add to `out` (nodes, 6) the change of the tendons' wrenches for a change u (nu,) of the controls."""
    _control_wrenches(forces.tendons, forces, modes, links, u, out)


@inline
def _control_wrenches(some, forces, modes, links, u, out):
    if some is not None:
        tendon_forces.control_wrenches(some, modes.items, forces.drives, modes.tendons, modes.pull, links, u, out)


@routine
def control_cotangents(forces, modes, links, cot, bu):
    """Add to bu (nu,) the gradients by the controls on tendons; `cot` as in `wrench_cotangents`."""
    _control_cotangents(forces.tendons, forces, modes, links, cot, bu)


@inline
def _control_cotangents(some, forces, modes, links, cot, bu):
    if some is not None:
        tendon_forces.control_cotangents(some, modes.items, forces.drives, modes.tendons, modes.pull, links, cot, bu)


# ------------------------------------------------------------------ one-sided forces


@routine
def exchange_modes(modes, old, new):
    """Replace all modes `old` (any mode if negative) by `new`."""
    touch.exchange(modes.penalties, old, new)
    touch.exchange(modes.paths, old, new)
    touch.exchange(modes.limits, old, new)
    touch.exchange(modes.coords, old, new)
    touch.exchange(modes.tendons, old, new)


@routine
def change_modes(forces, modes, links, q, v, r, rd, settled, most):
    """Update all modes by the poses in `links`, joint positions q and velocities v, at most `most` of them.

    r, rd: positions and rates of the reduced coordinates. settled: whether modes TOUCHING may change. Returns the
    number of changes, and the number of modes TOUCHING.
    """
    changed, touching = _change_elements(forces.paths, forces, modes, links, settled, most)
    c, t = joint_limits.change_modes(forces.nodes, forces.dofs, modes.limits, q, v, settled, most - changed)
    changed, touching = changed + c, touching + t
    c, t = _change_coordinates(forces.coords, modes.coords, r, rd, settled, most - changed)
    return changed + c, touching + t


@inline
def _change_elements(some, forces, modes, links, settled, most):
    if some is None:
        return 0, 0
    changed, touching = penalty_contacts.change_modes(forces.penalties, modes.penalties, links, settled, most)
    c, t = cable_paths.change_modes(forces.paths, forces.points, modes.paths, links, settled, most - changed)
    changed, touching = changed + c, touching + t
    c, t = tendon_forces.change_modes(forces.tendons, modes.items, modes.tendons, links, settled, most - changed)
    return changed + c, touching + t


@inline
def _change_coordinates(coords, modes, r, rd, settled, most):
    if coords is None:
        return 0, 0
    changed, touching = 0, 0
    for k in range(coords.shape[0]):
        if coords[k].limit_damping > 0.0:
            c, t = joint_limits.change_mode(coords[k], modes, k, r[k], rd[k], settled, changed < most)
            changed, touching = changed + c, touching + t
    return changed, touching


@routine
def update_modes(forces, modes, links):
    """Open or close discontinuous body forces by the poses in `links`, see `touch.update_mode`; number of changes."""
    return _update_element_modes(forces.paths, forces, modes, links)


@inline
def _update_element_modes(some, forces, modes, links):
    if some is None:
        return 0
    changed = penalty_contacts.update_modes(forces.penalties, modes.penalties, links)
    changed += cable_paths.update_modes(forces.paths, forces.points, modes.paths, links)
    return changed + tendon_forces.update_modes(forces.tendons, modes.items, modes.tendons, links)


@routine
def clear(external, tau):
    """Set wrenches and generalised forces to zero."""
    for i in range(external.shape[0]):
        for c in range(6):
            external[i, c] = 0.0
    for k in range(tau.shape[0]):
        tau[k] = 0.0
