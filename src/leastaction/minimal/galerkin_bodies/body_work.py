"""Work of forces over a solved step, for its energy balance."""

import math

from leastaction._jit import routine
from leastaction.kinematics.closure_kernels import evaluate, soft_force, twist_of
from leastaction.minimal.galerkin_bodies.body_residual import forces_at
from leastaction.minimal.galerkin_bodies.joint_velocities import joint_velocities, turn_joints
from leastaction.minimal.galerkin_bodies.node_twists import body_twists
from leastaction.spatial import dot, dot3, load3, load6, sub, sub3
from leastaction.step_control import energy_balance


@routine
def work_of_soft_loops(closure, model, settings, data):
    """Work of springs and dampers of loop joints, by the quadrature of the step; loop constraints do none."""
    work = 0.0
    if closure is None:
        return work
    for j in range(model.rule.w.shape[0]):
        if closure.rows.shape[0] > closure.count:
            body_twists(model, settings, data, j)
        bodies = data.bodies[j]
        for c in range(closure.count, closure.rows.shape[0]):
            row = closure.rows[c]
            h, W = evaluate(row, bodies)
            rate = dot(W, sub(twist_of(bodies, row.b), twist_of(bodies, row.a)))
            work += settings.dt * model.rule.w[j] * soft_force(row, bodies, h, W) * rate
    return work


@routine
def _any_control_on_joints(held):
    """Whether any control acts on a joint."""
    for j in range(held.shape[0]):
        for k in range(held.shape[1]):
            if held[j, k] != 0.0:
                return True
    return False


@routine
def is_off_balance(model, settings, data, u, before, after, p, p_next):
    """Whether the solved step from momentum p to p_next, of kinetic energies `before` and `after` [J], is off balance.

    The work of gravity is the change of its potential, that of other forces follows the quadrature of the step.
    """
    nodes, bodies, w = model.nodes, data.bodies, model.rule.w
    gravity, last = load3(model.gravity), model.rule.c.shape[0] - 1
    work = impulses = 0.0
    for k in range(p.shape[0]):
        impulses += abs(p[k]) + abs(p_next[k])
    strength = math.sqrt(dot3(gravity, gravity))
    for i in range(nodes.shape[0]):
        work += nodes[i].mass * dot3(gravity, sub3(load3(bodies[last, i].x), load3(bodies[0, i].x)))
        impulses += settings.dt * nodes[i].mass * strength
    if model.sprung or model.pushed or _any_control_on_joints(data.held):
        turn_joints(model, settings, data)
        for j in range(w.shape[0]):
            weight = settings.dt * w[j]
            joint_velocities(model, settings, data, j)
            forces_at(model, settings, data, j, u[j])
            for k in range(p.shape[0]):
                work += weight * data.tau[k] * data.V[j, k]
                impulses += weight * abs(data.tau[k])
            if model.pushed:
                body_twists(model, settings, data, j)
                for i in range(nodes.shape[0]):
                    work += weight * dot(load6(data.external[i]), load6(bodies[j, i].v))
                    for c in range(6):
                        impulses += weight * abs(data.external[i, c])
    work += work_of_soft_loops(model.native.closure, model, settings, data)
    floating = model.native.floating
    return energy_balance.is_off_balance(floating, data.held, (before, after, work), (p, p_next), impulses, settings)
