"""Impulses of known forces on the bodies: gravity, springs, cables, wrenches, actuators, joint springs.

All forces come from `forces.total`; this module converts world wrenches and generalised forces to impulses on the
bodies, in their own frames.
"""

from leastaction._jit import routine
from leastaction.forces import total
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.assembly import axis_damping, end_damping
from leastaction.maximal.step.bodies import END
from leastaction.maximal.step.forces.ball_drives import leave_drive
from leastaction.maximal.step.forces.ball_springs import ball_axis
from leastaction.spatial import cross, load3, load9, mattvec, sub3


@routine(allocates=False)
def add_impulses(model, data, q, u, scale, when):
    """Add scale times the forces at the start poses to I (START) or P (END) of every body.

    The coordinates in `data` must have their gradients.

    Args:
        q: joint positions, shape (nq,).
        u: controls, shape (nu,).
    """
    bodies, coordinates, forces, gravity = model.bodies, model.coordinates, model.forces, model.gravity
    states, cstates, external, tau = data.bodies, data.coordinates, data.external, data.tau
    total.clear(external, tau)
    total.joint_forces(forces, data.modes, q, data.still, tau)
    total.unwrap_angles(forces, data.modes, q)
    total.set_pulls(forces, data.modes, u)
    total.wrenches(forces, data.modes, states, external)
    total.drive_forces(forces, states, u, external, tau)
    for i in range(bodies.shape[0]):
        s, m = states[i], bodies[i].mass
        F = external[i]
        f = (F[3], F[4], F[5])
        t = mattvec(load9(s.R), sub3((F[0], F[1], F[2]), cross(load3(s.p), f)))
        out = s.P if when == END else s.I
        for c in range(3):
            out[c] += scale * t[c]
            out[3 + c] += scale * (f[c] + m * gravity[c])
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.kind == BALL or c.kind == FREE:
            if c.iv >= 0:
                for j in range(6 if c.kind == FREE else 3):
                    if tau[c.iv + j] != 0.0:
                        wa, wb = ball_axis(c, j, states)
                        add_impulse(states, c.a, wa, scale * tau[c.iv + j], when)
                        add_impulse(states, c.b, wb, scale * tau[c.iv + j], when)
            continue
        force = tau[c.iv] if c.iv >= 0 else 0.0
        if force != 0.0:
            add_impulse(states, c.a, cstates[k].wa, scale * force, when)
            add_impulse(states, c.b, cstates[k].wb, scale * force, when)


@routine(allocates=False)
def add_impulse(states, body, w, k, when):
    """Add the impulse k w to I (START) or P (END) of a body."""
    if body >= 0:
        out = states[body].P if when == END else states[body].I
        for c in range(6):
            out[c] += k * w[c]


@routine(allocates=False)
def add_rates(model, settings, data, dt):
    """Add the impulses of dampers and the momenta of armature at the end of the step; `data` is at the next start.

    The implicit part of strong dampers is omitted until the velocities there are known, see `assembly.end_damping`.
    """
    coordinates, states, cstates, halves = model.coordinates, data.bodies, data.coordinates, settings.halves
    for i in range(states.shape[0]):
        for j in range(6):
            data.kicks[1, i, j] = 0.0
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.kind == BALL or c.kind == FREE:
            for j in range(6 if c.kind == FREE else 3):
                if c.damping[j] > 0.0 and halves < 1.0:
                    wa, wb = ball_axis(c, j, states)
                    rate = 0.0
                    for body, w in ((c.a, wa), (c.b, wb)):
                        if body >= 0:
                            for i in range(3):
                                rate += w[i] * states[body].w[i] + w[3 + i] * states[body].vc[i]
                    add_impulse(states, c.a, wa, -(1.0 - halves) * dt * c.damping[j] * rate, END)
                    add_impulse(states, c.b, wb, -(1.0 - halves) * dt * c.damping[j] * rate, END)
            leave_drive(c, model.forces.dofs, states, dt)
            continue
        damping = axis_damping(c, s.value, model.forces, data.modes)
        s.end_damping = end_damping(c, damping, halves, dt)
        gain = c.armature - (1.0 - halves) * dt * damping + s.end_damping
        if gain != 0.0:
            add_impulse(states, c.a, s.wa, gain * s.rate, END)
            add_impulse(states, c.b, s.wb, gain * s.rate, END)
