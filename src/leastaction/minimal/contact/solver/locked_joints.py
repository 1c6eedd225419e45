"""Dry friction of joints outside of the contact problem, by a primal-dual active set: sticking joints are locked.

A joint that sticks has no equation of motion: its pivot is infinite, and the friction is minus the residual of its
equation. A joint that slides has a constant friction. The sticking set is found by the primal-dual active set method
(Hintermueller, Ito and Kunisch, SIAM J. Optim. 13, 2003): a joint whose friction exceeds its bound slides in the next
iteration, one that moves in the direction of its friction sticks. Both cost O(1) per joint, as a joint of the tree
does; in the dense contact problem each joint is another unknown. Joints that change state more than `MOST` times go to
the contact problem, and so do those whose limit may become active. Joints with prescribed motion stick with unbounded
friction to that motion (`prescribed_joints`).
"""

import math
from math import copysign

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import DRY, LIMIT, LOOP

HELD, SLIDES = 1.0, 2.0
"""States of a joint: sticking and sliding, see `LockedJoints`."""

MOST = 2
"""Most changes of a joint's state in one attempt at a substep, or in its momentum phase."""

BEYOND = 1.0 + 1e-12
"""Ratio of required friction to its bound above which a sticking joint slides: more than round-off."""


@inline
def locked_joints(touch):
    """`LockedJoints`, or None where the contact problem includes all dry friction."""
    if touch is None:
        return None
    return touch.joints


@inline
def is_locked(joints, k):
    """Whether degree of freedom k is locked."""
    if joints is None:
        return False
    return joints.state[k] == HELD


@inline
def with_friction(joints, k, r):
    """Residual r of joint k including its friction where it slides."""
    if joints is None:
        return r
    return r + (0.0 if joints.state[k] == HELD else joints.impulse[k])


@inline
def carry_by_friction(joints, k, lacks):
    """Set the friction of a sticking joint k to minus the residual of its equation."""
    if joints is not None and joints.state[k] == HELD:
        joints.impulse[k] = -lacks


@inline
def is_excluded(joints, cone):
    """Whether a constraint is dry friction outside of the contact problem."""
    if joints is None:
        return False
    return cone.kind == DRY and joints.state[cone.dof] != 0.0


@routine
def unlock_joints(joints):
    """Unlock all joints but those with prescribed motion; their dry friction is in the contact problem."""
    if joints is None:
        return
    for k in range(joints.state.shape[0]):
        joints.state[k] = joints.impulse[k] = joints.changes[k] = 0.0
    lock_prescribed(joints, joints.goals)


@routine
def lock_prescribed(joints, goals):
    """Lock the degrees of freedom with prescribed motion."""
    if goals is not None:
        for i in range(goals.dofs.shape[0]):
            joints.state[goals.dofs[i]] = HELD


@routine
def guess_prescribed(data, goals):
    """First guess of prescribed degrees of freedom: their displacement in the substep."""
    if goals is not None:
        for i in range(goals.dofs.shape[0]):
            k = goals.dofs[i]
            data.dx[k] = data.displacement[k] = goals.shift[k]


@inline
def is_prescribed(cone):
    """Whether a constraint is the lock of a prescribed degree of freedom."""
    return cone.kind == DRY and not cone.friction < math.inf


@routine
def guess_locked(model, data, joints, dt, allowed):
    """First guess: joints at rest in the last substep stick; none where there are loops, which may need all joints."""
    if joints is None:
        return
    unlock_joints(joints)
    guess_prescribed(data, joints.goals)
    cones = model.cones
    if not allowed or cones.shape[0] == 0 or cones[cones.shape[0] - 1].kind == LOOP:
        return
    for c in range(cones.shape[0]):
        if cones[c].kind == DRY and not is_prescribed(cones[c]):
            k = cones[c].dof
            if data.v_last[k] == 0.0:
                joints.state[k] = HELD
                data.dx[k] = data.displacement[k] = 0.0
            else:
                slide(joints, k, -data.v_last[k], 0.5 * dt * cones[c].friction)


@inline
def slide(joints, k, way, bound):
    """Let joint k slide, with friction of magnitude `bound` in the direction `way`."""
    joints.state[k], joints.impulse[k] = copysign(SLIDES, way), copysign(bound, way)


@inline
def may_stop(cones, active, c):
    """Whether the limit of a joint, which precedes its dry friction c, is active."""
    return c > 0 and cones[c - 1].kind == LIMIT and cones[c - 1].dof == cones[c].dof and active[c - 1] != 0


@routine
def exclude_locked_friction(cones, touch, joints):
    """Remove the dry friction of locked and sliding joints from the contact problem."""
    if joints is None:
        return
    for c in range(cones.shape[0]):
        if is_excluded(joints, cones[c]):
            if may_stop(cones, touch.active, c):
                joints.state[cones[c].dof] = joints.impulse[cones[c].dof] = 0.0
            else:
                touch.active[c] = 0


@inline
def next_state(joints, k, impulse, bound, moved, slight):
    """Next state of joint k after an iteration, from its friction impulse, the bound of that and its displacement.

    A sliding joint that moves by no more than `slight` along its friction keeps sliding.
    """
    s = joints.state[k]
    if s == HELD:
        return copysign(SLIDES, impulse) if abs(impulse) > BEYOND * bound else s
    return HELD if s * moved > SLIDES * slight else s


@routine
def change(cones, touch, joints, c, new, bound):
    """Change the state of dry friction c, or move it to the contact problem after more than `MOST` changes."""
    k = cones[c].dof
    joints.changes[k] += 1.0
    if joints.changes[k] > MOST or (new == HELD and may_stop(cones, touch.active, c)):
        joints.state[k] = joints.impulse[k] = 0.0
        touch.active[c] = 1
    elif new == HELD:
        joints.state[k], joints.impulse[k] = HELD, 0.0
    else:
        slide(joints, k, new, bound)


@routine
def update_locked(model, data, touch, joints, dt):
    """Update the states of all joints after a Newton update; returns the number of changes."""
    changed = 0
    if joints is None:
        return changed
    cones = model.cones
    for c in range(cones.shape[0]):
        if not is_excluded(joints, cones[c]):
            continue
        k, iq, bound = cones[c].dof, cones[c].iq, 0.5 * dt * cones[c].friction
        new = next_state(joints, k, joints.impulse[k], bound, data.q1[iq] - data.q0[iq], 0.0)
        if new != joints.state[k]:
            changed += 1
            change(cones, touch, joints, c, new, bound)
            if joints.state[k] == HELD:
                data.q1[iq], data.displacement[k] = data.q0[iq], 0.0
    return changed


@routine
def add_locked_impulses(cones, touch, joints):
    """Add the friction impulses outside of the contact problem to those of the solved step."""
    if joints is None:
        return
    for c in range(cones.shape[0]):
        if is_excluded(joints, cones[c]):
            k = cones[c].dof
            touch.active[c], touch.lam[cones[c].row] = 1, joints.impulse[k]
            touch.kick[k] += joints.impulse[k]


@routine
def holds_any(joints):
    """Whether there is dry friction outside of the contact problem, or was in this attempt."""
    found = False
    if joints is None:
        return found
    for k in range(joints.state.shape[0]):
        found = found or joints.state[k] != 0.0 or joints.changes[k] > 0.0
    return found


# ------------------------------------------------------------------------------------------------ momentum phase


@routine
def begin_momenta(joints):
    """Start the momentum phase with the joint states of the position phase."""
    if joints is None:
        return
    for k in range(joints.state.shape[0]):
        joints.changes[k] = 0.0


@routine
def slide_momenta(model, data, touch, joints, dt):
    """Set the end momenta, with the friction of sliding joints."""
    if joints is None:
        return
    for k in range(data.p.shape[0]):
        data.p[k] = data.end[k]
    for c in range(model.cones.shape[0]):
        cone = model.cones[c]
        if is_excluded(joints, cone) and joints.state[cone.dof] != HELD:
            joints.impulse[cone.dof] = copysign(dt * cone.friction, joints.state[cone.dof])
            data.p[cone.dof] += joints.impulse[cone.dof] - touch.lam[cone.row]


@routine
def hold_momenta(model, data, touch, joints, dt, W, v, tolerance):
    """Set the friction of sticking joints and update all states; returns the number of changes.

    Args:
        W, v: factors of the mass matrix, and velocities of the momenta, as `joint_momenta.solve` leaves them.
        tolerance: displacements in a time of dt that count as zero [rad or m], as in the contact problem: joints that
            come to rest move forth and back by round-off.
    """
    changed = 0
    if joints is None:
        return changed
    cones, total = model.cones, touch.phase.total
    for c in range(cones.shape[0]):
        cone = cones[c]
        if not is_excluded(joints, cone):
            continue
        k, bound = cone.dof, dt * cone.friction
        if joints.state[k] == HELD:
            joints.impulse[k] = touch.lam[cone.row] - W[k, 7]
            data.p[k] -= W[k, 7]
        total[cone.row] = joints.impulse[k]
        new = next_state(joints, k, joints.impulse[k], bound, v[k] * dt, tolerance)
        if new != joints.state[k]:
            changed += 1
            change(cones, touch, joints, c, new, bound)
    return changed
