"""Impulses of known forces on the bodies: gravity, springs, cables, wrenches, actuators, joint springs.

Every force comes from `forces.passive`, as everywhere; here it only changes from world wrenches and generalised forces
to impulses on bodies, in their own directions.
"""

from leastaction._jit import routine
from leastaction.forces import passive
from leastaction.maximal.records import BALL, FREE
from leastaction.maximal.step.assembly import ball_axis
from leastaction.spatial import cross, load3, load9, mattvec, sub3


@routine
def add_impulses(bodies, coordinates, states, cstates, forces, q, u, scale, end):
    """Add scale times the forces at the start poses to I (end = 0) or P (end = 1) of every body.

    Args:
        cstates: with gradients of the coordinates.
        forces: (tree nodes, dofs, rest, paths, points, wrenches, drives, gravity, external, tau, zero).
        q: joint positions, shape (nq,).
        u: controls, shape (nu,).
    """
    nodes, dofs, rest, paths, points, wrenches, drives, gravity, external, tau, zero = forces
    passive.clear(external, tau)
    passive.joint_forces(nodes, dofs, rest, q, zero, tau)
    passive.body_forces(paths, points, wrenches, states, external)
    passive.drive_forces(drives, states, u, external, tau)
    for i in range(bodies.shape[0]):
        s, m = states[i], bodies[i].mass
        F = external[i]
        f = (F[3], F[4], F[5])
        t = mattvec(load9(s.R), sub3((F[0], F[1], F[2]), cross(load3(s.p), f)))
        out = s.P if end == 1 else s.I
        for c in range(3):
            out[c] += scale * t[c]
            out[3 + c] += scale * (f[c] + m * gravity[c])
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.kind == BALL or c.kind == FREE:
            if c.iv >= 0:
                for j in range(6 if c.kind == FREE else 3):
                    if tau[c.iv + j] != 0.0:
                        wa, wb = ball_axis(c, j, states, False)
                        give(states, c.a, wa, scale * tau[c.iv + j], end)
                        give(states, c.b, wb, scale * tau[c.iv + j], end)
            continue
        force = tau[c.iv] if c.iv >= 0 else c.stiffness * (c.rest - cstates[k].value)
        if force != 0.0:
            give(states, c.a, cstates[k].wa, scale * force, end)
            give(states, c.b, cstates[k].wb, scale * force, end)


@routine
def give(states, body, w, k, end):
    """Add the impulse k w to I (end = 0) or P (end = 1) of a body."""
    if body >= 0:
        out = states[body].P if end == 1 else states[body].I
        for c in range(6):
            out[c] += k * w[c]


@routine
def add_rates(coordinates, states, cstates, dt, halves):
    """Momentum that dampers and drive inertias leave at the end of the step, which has become the start of the next."""
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.kind == BALL or c.kind == FREE:
            for j in range(6 if c.kind == FREE else 3):
                if c.damping[j] > 0.0 and halves < 1.0:
                    wa, wb = ball_axis(c, j, states, False)
                    rate = 0.0
                    for body, w in ((c.a, wa), (c.b, wb)):
                        if body >= 0:
                            for i in range(3):
                                rate += w[i] * states[body].w[i] + w[3 + i] * states[body].vc[i]
                    give(states, c.a, wa, -(1.0 - halves) * dt * c.damping[j] * rate, 1)
                    give(states, c.b, wb, -(1.0 - halves) * dt * c.damping[j] * rate, 1)
            continue
        gain = c.armature - (1.0 - halves) * dt * c.damping[0]
        if gain != 0.0:
            give(states, c.a, s.wa, gain * s.rate, 1)
            give(states, c.b, s.wb, gain * s.rate, 1)
