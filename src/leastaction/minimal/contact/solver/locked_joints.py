"""Dry friction of joints outside of the contact problem: joints that it holds are locked, of others it is known.

Friction that holds a joint is the force of a lock: the joint leaves the equations, its pivot is infinite, and the force
is what its equation lacks. Friction of a joint that slides has its full size. Which joints are held is found by the
primal-dual active set method (Hintermueller, Ito and Kunisch, SIAM J. Optim. 13, 2003): one that would need more than
friction can bear slides in the next iteration, one that moves the way in which friction pushes is held. Each costs what
a joint of the tree costs; in the contact problem, which is dense, it is one more unknown. A joint that changes more
than `MOST` times goes there all the same, and so does one whose limit may act. Joints whose motion is prescribed are
held by friction without bound, and move as given (`prescribed_joints`).
"""

import math
from math import copysign

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import DRY, LIMIT, LOOP

HELD, SLIDES = 1.0, 2.0
"""States of a joint, see `LockedJoints`."""

MOST = 2
"""Changes of a joint in one attempt at a step, or in its momentum phase."""

BEYOND = 1.0 + 1e-12
"""What friction must bear, relative to the most it can, for a joint that is held to slide: more than round-off."""


@inline
def locked_joints(touch):
    """`LockedJoints`, or None where the contact problem has all dry friction."""
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
    """A residual with the friction of a joint that slides."""
    if joints is None:
        return r
    return r + (0.0 if joints.state[k] == HELD else joints.impulse[k])


@inline
def carry_by_friction(joints, k, lacks):
    """Friction that holds joint k bears what its equation lacks."""
    if joints is not None and joints.state[k] == HELD:
        joints.impulse[k] = -lacks


@inline
def is_excluded(joints, cone):
    """Whether a cone is dry friction outside of the contact problem."""
    if joints is None:
        return False
    return cone.kind == DRY and joints.state[cone.dof] != 0.0


@routine
def unlock_joints(joints):
    """All joints are free, but for what the contact problem says."""
    if joints is None:
        return
    for k in range(joints.state.shape[0]):
        joints.state[k] = joints.impulse[k] = joints.changes[k] = 0.0
    lock_prescribed(joints, joints.goals)


@routine
def lock_prescribed(joints, goals):
    """What is prescribed is locked."""
    if goals is not None:
        for i in range(goals.dofs.shape[0]):
            joints.state[goals.dofs[i]] = HELD


@routine
def guess_prescribed(data, goals):
    """First guess of what is prescribed: where it is at the end of the substep."""
    if goals is not None:
        for i in range(goals.dofs.shape[0]):
            k = goals.dofs[i]
            data.dx[k] = data.displacement[k] = goals.shift[k]


@inline
def is_prescribed(cone):
    """Whether a cone is the lock of what is prescribed."""
    return cone.kind == DRY and not cone.friction < math.inf


@routine
def guess_locked(model, data, joints, dt, allowed):
    """First guess: what did not move in the step before is held. Equations of loops may need all joints to give way."""
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
    """Joint k slides, with friction one way."""
    joints.state[k], joints.impulse[k] = copysign(SLIDES, way), copysign(bound, way)


@inline
def may_stop(cones, active, c):
    """Whether the limits of a joint, which come before its dry friction c, take part."""
    return c > 0 and cones[c - 1].kind == LIMIT and cones[c - 1].dof == cones[c].dof and active[c - 1] != 0


@routine
def exclude_locked_friction(cones, touch, joints):
    """Take dry friction that is guessed out of the contact problem."""
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
    """The state of joint k after an iteration in which it has moved so far, with friction that can bear `bound`.

    What moves by no more than `slight` the way in which friction pushes may go on.
    """
    s = joints.state[k]
    if s == HELD:
        return copysign(SLIDES, impulse) if abs(impulse) > BEYOND * bound else s
    return HELD if s * moved > SLIDES * slight else s


@routine
def change(cones, touch, joints, c, new, bound):
    """Dry friction c changes its state, or goes to the contact problem where it has done so too often."""
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
    """Look at all of them after Newton's update; how many have changed."""
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
    """Impulses of a solved step that are not of the contact problem join those that are."""
    if joints is None:
        return
    for c in range(cones.shape[0]):
        if is_excluded(joints, cones[c]):
            k = cones[c].dof
            touch.active[c], touch.lam[cones[c].row] = 1, joints.impulse[k]
            touch.kick[k] += joints.impulse[k]


@routine
def holds_any(joints):
    """Whether there is dry friction outside of the contact problem."""
    found = False
    if joints is None:
        return found
    for k in range(joints.state.shape[0]):
        found = found or joints.state[k] != 0.0 or joints.changes[k] > 0.0
    return found


# ------------------------------------------------------------------------------------------------ momentum phase


@routine
def begin_momenta(joints):
    """The states of the position phase are the first guess."""
    if joints is None:
        return
    for k in range(joints.state.shape[0]):
        joints.changes[k] = 0.0


@routine
def slide_momenta(model, data, touch, joints, dt):
    """The momenta at the end of the step, with the friction of joints that slide there."""
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
    """Friction of joints that are held, and which of them change; how many.

    Args:
        W, v: factors of the mass matrix, and velocities of the momenta, as `joint_momenta.solve` leaves them.
        tolerance: motions in a time of dt that count as none [rad or m], as in the contact problem: what creeps to
            rest slides by round-off, forth and back.
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
