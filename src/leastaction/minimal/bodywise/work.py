"""The work of forces over a solved step, and what it tells of the solution."""

from leastaction._jit import routine
from leastaction.minimal.bodywise.joints import joint_velocities, turn_joints
from leastaction.minimal.bodywise.residual import body_twists, forces_at
from leastaction.minimal.judgement import is_implausible, travel_energy
from leastaction.spatial import dot, dot3, load3, load6, sub3


@routine
def is_astray(model, settings, data, u, before, after, p, p_next):
    """Whether the solved step from momentum p to p_next, of kinetic energies `before` and `after` [J], is implausible.

    Gravity does the work of its potential, other forces that of the quadrature of the step.
    """
    nodes, bodies, w = model.nodes, data.bodies, model.rule.w
    gravity, last = load3(model.gravity), model.rule.c.shape[0] - 1
    work = impulses = 0.0
    for k in range(p.shape[0]):
        impulses += abs(p[k]) + abs(p_next[k])
    for i in range(nodes.shape[0]):
        pull = nodes[i].mass * dot3(gravity, gravity) ** 0.5
        work += nodes[i].mass * dot3(gravity, sub3(load3(bodies[last, i].x), load3(bodies[0, i].x)))
        impulses += settings.dt * pull
    if model.sprung or model.pushed or u.shape[1] > 0:
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
    floating = model.native.floating
    fall, fall_next = travel_energy(floating, data.held, p), travel_energy(floating, data.held, p_next)
    before, after, work = before - fall, after - fall_next, work - (fall_next - fall)
    return is_implausible(before, after, work, impulses, settings)
