"""Energy that no force accounts for, in a step with contacts.

Impulses of contacts take energy. The equations of a step that is too long for what touches may have solutions that do
not: features of two bodies that turn fast are elsewhere at its end, and a huge impulse may bring them there. So a
solved step must have no more kinetic energy than the momentum at its start and the work of the forces in it,

    K <= T(q0, p) + J v,

with the mean velocity v of the step, its kinetic energy K and the impulses J of the forces that act at its start, half
of those of the step. With impulses k of contacts p + J + k is the momentum of v, so to first order

    K = T(q0, p) + (J + k) v - (J + k) M^-1 (J + k) / 2.

Reactions to loads that a contact holds are in k and J with opposite signs, whatever moved before.
"""

from leastaction._jit import inline, routine
from leastaction.minimal.bodywise.turning import turn_between
from leastaction.minimal.lanes.blocks import has_inertia
from leastaction.minimal.lanes.bounces import given, mass_of
from leastaction.minimal.lanes.legendre import velocities
from leastaction.minimal.lanes.pulls import work_of_pulls
from leastaction.minimal.lanes.sweeps import late_damping, with_thrust
from leastaction.minimal.sixes import ZEROS
from leastaction.spatial import cross, dot3, load3, load9, load_sym, mattvec, sub3, symvec

GAIN = 0.05
"""Kinetic energy from nowhere that a step may have, relative to that at its start and its own. Steps of walking and
falling robots stay below 0.006, those that went wrong had more than 0.4."""

NOISE = 1e-6
"""Motions within a step that are too small to look at [m]."""


@routine
def along_motion(lane):
    """Work of the impulses of contacts with the mean velocity of the step, times its length [J s]."""
    work = 0.0
    for k in range(lane.p.shape[0]):
        work += lane.touch.kick[k] * lane.moved[k]
    return work


@routine
def energy_within(model, lane, dt):
    """Kinetic energy of the mean motion within a solved step [J]."""
    nodes, dofs, now, energy = model.nodes, model.dofs, lane.now[0], 0.0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if has_inertia(node):
            R0 = load9(lane.R[now][i])
            y = mattvec(R0, turn_between(R0, load9(lane.R[1 - now][i])))
            d = sub3(load3(lane.x[1 - now][i]), load3(lane.x[now][i]))
            energy += node.mass * dot3(d, d) + dot3(y, symvec(load_sym(node.Ic), y))
        for c in range(node.iv, node.iv + min(node.nv, 3)):
            energy += dofs[c].armature * lane.moved[c] ** 2
        for k in range(3 if node.nv == 6 else 0):
            energy += dofs[node.iv + 3].armature * (lane.q1[node.iq + k] - lane.q0[node.iq + k]) ** 2
    return 0.5 * energy / (dt * dt)


@inline
def work_of_thrust(pushed, model, lane, i, shift, dt):
    """The same of what controls push body i with; `shift` of its centre of mass within the step."""
    if pushed is None:
        return 0.0
    F, x = with_thrust(pushed, model, lane, i, 0, dt, ZEROS), load3(lane.x[lane.now[0]][i])
    f = (F[3], F[4], F[5])
    turn = turn_between(load9(lane.R[lane.now[0]][i]), load9(lane.R[1 - lane.now[0]][i]))
    return (dot3(f, shift) + dot3(sub3((F[0], F[1], F[2]), cross(x, f)), turn)) / dt


@inline
def work_of_controls(driven, lane, node):
    """The same of controls along the axes of the joint that carries a body."""
    work = 0.0
    if driven is not None:  # else nobody has written `tau`
        for c in range(node.iv, node.iv + node.nv):
            work += 0.5 * lane.tau[c] * lane.moved[c]
    return work


@routine
def work_of_forces(model, lane, dt):
    """Work of the forces that act at the start of a step, with its mean velocity [J]."""
    nodes, dofs, now, g, work = model.nodes, model.dofs, lane.now[0], load3(model.gravity), 0.0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        shift = sub3(load3(lane.x[1 - now][i]), load3(lane.x[now][i]))
        work += 0.5 * node.mass * dot3(g, shift) + work_of_thrust(model.pushed, model, lane, i, shift, dt)
        work += work_of_controls(model.driven, lane, node)
        if node.nv == 1:
            dof, moved = dofs[node.iv], lane.moved[node.iv]
            pull = 0.5 * dof.stiffness * (lane.q0[node.iq] - dof.rest)
            held = (0.5 * dof.damping + late_damping(dof, dt, 1.0 / dt)) / dt + 0.25 * dof.servo
            work -= moved * (pull + held * moved)
    return work + work_of_pulls(lane.touch.pulls, lane.moved, dt)


@routine
def gains_energy(model, lane, dt):
    """Whether a solved step with contacts has energy from nowhere; only where impulses go with the motion at all."""
    if along_motion(lane) <= 0.0:
        return False
    after, before, p, v = energy_within(model, lane, dt), 0.0, lane.p, lane.dx
    velocities(model, lane, p, 0.0, v)
    for k in range(p.shape[0]):
        before += 0.5 * p[k] * v[k]
    left = given(model, lane.touch, dt) + mass_of(model) * (NOISE / dt) ** 2
    return not after - before - work_of_forces(model, lane, dt) <= GAIN * (before + after) + left
