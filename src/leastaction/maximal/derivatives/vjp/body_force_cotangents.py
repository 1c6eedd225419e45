"""VJPs of forces on bodies: tendons, wrenches, penalties, drags, and drives that act on them.

`forces.total` gives their gradients by poses and twists of bodies as world twists about the origin; here they become
gradients by rotations and translations of the bodies (`constraint_hessians`). Forces that depend on velocities act with
the mean twists of a step (`forces.body_damping`). Where a robot has none of these, the argument for them is None, and
no code is compiled.
"""

from leastaction._jit import inline, routine
from leastaction.forces import drives, total
from leastaction.maximal.derivatives.constraint_hessians import add_to, motion_of
from leastaction.maximal.step.bodies import exchange_ends
from leastaction.spatial import (
    ZERO6,
    add3,
    cross,
    load3,
    load6,
    load9,
    mattvec,
    matvec,
    scale3,
    store6,
    sub3,
)


@routine(allocates=False)
def swap_ends(states):
    """Swap the poses at the start and the end of the step."""
    for i in range(states.shape[0]):
        exchange_ends(states[i])


@inline
def twist_of(s):
    """World twist of a body about the origin, from its velocities within the step."""
    omega = matvec(load9(s.R), load3(s.w))
    return (omega, add3(load3(s.vc), cross(load3(s.p), omega)))


@routine(allocates=False)
def clear_forces(states, data, back, E, scale):
    """Set gradients to zero; virtual twists of the bodies from the motions E times `scale`."""
    for i in range(states.shape[0]):
        turn, shift = motion_of(E, i)
        store6(back.cot[i].W, (scale3(scale, turn), scale3(scale, add3(shift, cross(load3(states[i].p), turn)))))
        store6(data.external[i], ZERO6)
        store6(back.GT[i], ZERO6)
        store6(back.GV[i], ZERO6)


@routine(allocates=False)
def add_force_cotangents(states, data, back, E, scale, G):
    """Add to G the gradients by world twists, and those of impulses that rotate with their bodies.

    Impulses of a wrench (t, f) are (R' (t - p x f), f), paired with motions E that are fixed to the bodies.
    """
    for i in range(states.shape[0]):
        turn, _ = motion_of(E, i)
        p, F, T = load3(states[i].p), load6(data.external[i]), load6(back.GT[i])
        add_to(G, i, cross(turn, sub3(F[0], cross(p, F[1]))), cross(turn, F[1]), scale)
        add_to(G, i, sub3(T[0], cross(p, T[1])), T[1], 1.0)


@routine(allocates=False)
def known_cotangents(cot, model, data, back, scale, u, E, G, bu):
    """VJP of the forces at zero velocity, at the start poses in the records: see `impulses.add_impulses`.

    Adds to G, by the poses, and to bu (nu,), by controls that act on bodies or tendons.

    Args:
        cot: that of `BackData`, None where there are none of these forces.
    """
    if cot is None or cot.shape[0] == 0:
        return
    forces, states = model.forces, data.bodies
    clear_forces(states, data, back, E, scale)
    total.wrenches(forces, data.modes, states, data.external)
    drives.wrenches(forces.drives, states, u, data.external)
    total.wrench_cotangents(forces, data.modes, states, back.cot, back.GT, back.GV, back.grads)
    drives.cotangents(forces.drives, states, u, back.cot, back.GT)
    total.control_cotangents(forces, data.modes, states, back.cot, bu)
    drives.control_cotangents(forces.drives, states, back.cot, data.still, bu)
    add_force_cotangents(states, data, back, E, scale, G)


@routine(allocates=False)
def resisting_cotangents(resisting, data, back, scale, time, E, G, by_velocity, bu):
    """VJP of the forces that depend on velocities, minus those at zero velocity, at the start poses in the records.

    Args:
        resisting: `MaximalModel.resisting`.
        time: from these poses to the middle of the step [s].
        by_velocity: gradient by the velocities of the bodies, to which is added, shape (bodies, 6).
    """
    if resisting is None or resisting.touched.shape[0] == 0:
        return
    states, modes = data.bodies, data.modes
    for i in range(modes.pull.shape[0]):
        modes.pull[i, 1] = time
    clear_forces(states, data, back, E, -scale)
    total.wrenches(resisting, modes, states, data.external)
    total.wrench_cotangents(resisting, modes, states, back.cot, back.GT, back.GV, back.grads)
    total.control_cotangents(resisting, modes, states, back.cot, bu)
    add_force_cotangents(states, data, back, E, -scale, G)
    clear_forces(states, data, back, E, scale)
    for i in range(states.shape[0]):
        store6(states[i].v, twist_of(states[i]))
    total.wrenches(resisting, modes, states, data.external)
    total.wrench_cotangents(resisting, modes, states, back.cot, back.GT, back.GV, back.grads)
    total.control_cotangents(resisting, modes, states, back.cot, bu)
    add_force_cotangents(states, data, back, E, scale, G)
    for i in range(states.shape[0]):
        s, V = states[i], load6(back.GV[i])
        # The twist (R w, v + p x R w) depends on the pose.
        omega, by_spin = load6(s.v)[0], add3(V[0], cross(V[1], load3(s.p)))
        add_to(G, i, cross(omega, by_spin), cross(omega, V[1]), 1.0)
        local = mattvec(load9(s.R), by_spin)
        for c in range(3):
            by_velocity[i, c] += local[c]
            by_velocity[i, 3 + c] += V[1][c]
        store6(s.v, ZERO6)
    for i in range(modes.pull.shape[0]):
        modes.pull[i, 1] = 0.0
