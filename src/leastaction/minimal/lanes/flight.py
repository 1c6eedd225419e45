"""Steps in which nothing touches: is their solution the one that the motion leads to? Its energy tells.

The equations of a step in which links turn far have several solutions, or one that is far from the motion; see
`step_control.energy_balance`, whose law this is. So have those of springs that are stiff for the step. Steps without
springs in which no body turns far have one solution near the motion, and are not looked at.

Where forces between bodies act, what a whole step may gain its parts may gain together, each for its length: those of
a spring that swings fast are many, step after step, and would add up. Their errors shrink faster than they do.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces import total
from leastaction.forces.arrays import modes_at
from leastaction.forces.joint_limits import limit_force
from leastaction.forces.joint_springs import turning_springs
from leastaction.forces.touch import BY_DEPTH
from leastaction.minimal.lanes.energy import turns_far, work_of_thrust
from leastaction.minimal.lanes.legendre import velocities
from leastaction.spatial import dot3, load3, sub3
from leastaction.step_control.energy_balance import MANY, NOISE, PER_BODY
from leastaction.step_control.energy_balance import SHARE as PLAUSIBLE

LEAST = 1.0 / 64.0
"""Share of what a whole step may gain that parts may, however small: where a force bends, errors shrink slowly."""


@inline
def kinetic(model, lane, p, before):
    """Kinetic energy [J] of momenta p with bodies placed at the start; see `legendre.velocities` for `before`."""
    energy, v = 0.0, lane.dx
    velocities(model, lane, p, before, v)
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * v[k]
    return energy


@routine
def may_stray(model, lane):
    """Whether a body turns so far in the solved step, or a spring acts, that there may be other solutions."""
    far = turns_far(model, lane)
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        # Feedback of servos is stable for any stiffness.
        far = far or (node.nv == 1 and model.dofs[node.iv].stiffness > model.dofs[node.iv].servo)
    return far


@routine
def travel(model, p):
    """Kinetic energy [J] of the travel of trees on free joints, which who falls with them does not see."""
    nodes, energy = model.nodes, 0.0
    for i in range(nodes.shape[0]):
        if nodes[i].parent < 0 and nodes[i].nv == 6:
            n = nodes[i].iv
            mass = nodes[i].mass + model.dofs[n + 3].armature
            j = i + 1
            while j < nodes.shape[0] and nodes[j].parent >= 0:  # depth first: what follows is of the same tree
                mass += nodes[j].mass
                j += 1
            energy += 0.5 * (p[n + 3] ** 2 + p[n + 4] ** 2 + p[n + 5] ** 2) / mass
    return energy


@inline
def held(driven, lane, k):
    """Work of what controls push degree of freedom k with [J], and its impulse per second."""
    if driven is None:  # then nobody has written `tau`
        return 0.0, 0.0
    return lane.tau[k] * lane.moved[k], abs(lane.tau[k])


@routine
def stored(model, pulls, q, end):
    """Energy [J] that the forces of `pulls` hold at one end of the step, where the joints are at q."""
    forces, energy = model.forces, 0.0
    energy += total.energy(forces, modes_at(pulls.modes, end), pulls.links[end], q)
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        if node.nv == 1:
            energy += limit_force(model.dofs[node.iv], BY_DEPTH, q[node.iq], 0.0)[1]
        elif node.nv > 1:
            energy += turning_springs(node, model.dofs, forces.rest, q, pulls.tau)
    return energy


@inline
def work_along(pulls, model, lane, dt):
    """Work [J] of the forces of `pulls` in the step, and the size of their impulses.

    That is what they held before and hold no more; dampers are left out. Of drives of tendons the mean of both ends
    tells.
    """
    work, size, driven = 0.0, 0.0, False
    if pulls is None:
        return work, size
    for k in range(model.forces.tendons.shape[0]):
        driven = driven or model.forces.tendons[k].driven != 0
    for k in range(lane.p.shape[0]):
        work += (pulls.start[k] + pulls.end[k]) * lane.moved[k] / dt
        size += abs(pulls.start[k]) + abs(pulls.end[k])
    if not driven:
        work = stored(model, pulls, lane.q0, 0) - stored(model, pulls, lane.q1, 1)
    return work, size


@inline
def may_slow_down(pulls, forces):
    """Whether one of these forces takes energy."""
    if pulls is None:
        return False
    damped = total.resists(forces)
    for k in range(forces.dofs.shape[0]):
        damped = damped or forces.dofs[k].damping > 0.0 or forces.dofs[k].limit_damping > 0.0
    return damped


@inline
def share_of_part(pulls, part):
    """Share of what a whole step may gain that a part of it may, which is `part` as long."""
    if pulls is None:
        return 1.0
    return max(part, LEAST)


@routine
def goes_astray(model, lane, settings, dt):
    """Whether a solved step in which nothing touches has energy from nowhere, or has lost some without dampers."""
    nodes, dofs, touch, now, g = model.nodes, model.dofs, lane.touch, lane.now[0], load3(model.gravity)
    for k in range(lane.p.shape[0]):
        if touch.kick[k] != 0.0:
            return False
    if touch.pulls is None and not may_stray(model, lane):
        return False
    work, impulses = work_along(touch.pulls, model, lane, dt)
    damped, weight = may_slow_down(touch.pulls, model.forces), math.sqrt(dot3(g, g))
    for i in range(nodes.shape[0]):
        node = nodes[i]
        shift = sub3(load3(lane.x[1 - now][i]), load3(lane.x[now][i]))
        work += node.mass * dot3(g, shift) + 2.0 * work_of_thrust(model.pushed, model, lane, i, shift, dt)
        impulses += dt * node.mass * weight
        for k in range(node.iv, node.iv + node.nv):
            done, force = held(model.driven, lane, k)
            work += done
            impulses += abs(lane.p[k]) + abs(lane.end[k]) + dt * force
        if node.nv == 1:
            dof = dofs[node.iv]
            damped = damped or dof.damping > 0.0
            middle = 0.5 * (lane.q0[node.iq] + lane.q1[node.iq]) - dof.rest
            work -= dof.stiffness * middle * lane.moved[node.iv]
    before = kinetic(model, lane, lane.p, touch.before[0])
    lane.now[0] = 1 - now
    after = kinetic(model, lane, lane.end, dt)
    lane.now[0] = now
    gain, fall, fall_next = after - before - work, travel(model, lane.p), travel(model, lane.end)
    many = float(nodes.shape[0])
    share = min(PLAUSIBLE, PER_BODY / many * min(1.0, MANY / many)) * share_of_part(touch.pulls, dt / settings.whole)
    allowed = share * (before - fall + after - fall_next + abs(work - (fall_next - fall)))
    allowed += NOISE * settings.tolerance / dt * impulses
    return not gain <= allowed or not (damped or -gain <= allowed)
