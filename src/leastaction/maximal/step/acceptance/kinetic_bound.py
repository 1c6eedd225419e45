"""Kinetic energy of momenta before their projection on the joints, without a factorisation where motion is smooth.

Momenta P of bodies with joint constraints G have the kinetic energy T = |P + G' mu|^2 / 2, in the norm of M^-1, with
the mu that minimises it. Any other mu overestimates T; and with any admissible velocities v, G v = 0, by at most

    |M^-1 (P + G' mu) - v|^2 / 2    in the norm of M

(the hypercircle of Prager and Synge 1947). Here mu and v are joint impulses and velocities extrapolated from the last
substeps to the node; where the bound is small, the estimate is used. An armature a on a coordinate x with the rate
r = grad x . v adds a r^2 / 2, and subtracts a r grad x from the momenta of the bodies.
"""

import math

from leastaction._jit import routine
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.block_parts import add_six
from leastaction.maximal.step.bodies import spin_of
from leastaction.maximal.step.initial_guess import LATER
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.spatial import dot3, load9, matvec


@routine(allocates=False)
def extrapolated_energy(model, data, dt):
    """(Kinetic energy, bound of its error) [J] of the momenta at the end of a substep; `data` is at the next start.
    The bound is infinite where nothing can be extrapolated or a body has no inertia."""
    bodies, states, moved = model.bodies, data.bodies, data.dV
    if data.past[0].known != LATER or data.start.past[0].dt != dt or data.start.past[0].known != LATER:
        return 0.0, math.inf
    energy, gap = 0.0, 0.0
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(6):
            moved[i, c], data.T[i, c] = s.P[c], s.x[c] + 0.5 * dt * s.slope[c]
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if c.armature > 0.0:
            if c.kind == BALL or c.kind == FREE:
                return 0.0, math.inf
            rate = product(data.T, s.wa, c.a) + product(data.T, s.wb, c.b)
            energy += 0.5 * c.armature * rate * rate
            add(moved, c.a, s.wa, -c.armature * rate)
            add(moved, c.b, s.wb, -c.armature * rate)
    for k in range(model.rows.shape[0]):
        row, s = model.rows[k], data.rows[k]
        mu = 0.5 * dt * (2.0 * s.force - data.start.rows[k].force)
        add(moved, row.a, s.wa, mu)
        add(moved, row.b, s.wb, mu)
        if is_coupling(row):
            leader = model.coordinates[row.leader]
            add(moved, leader.a, s.wa2, mu)
            add(moved, leader.b, s.wb2, mu)
    for i in range(states.shape[0]):
        P, J, m = moved[i], load9(bodies[i].J), bodies[i].mass
        w, det = spin_of(J, (P[0], P[1], P[2]))
        if m <= 0.0 or det <= 0.0:
            return 0.0, math.inf
        v = (P[3] / m, P[4] / m, P[5] / m)
        energy += 0.5 * (P[0] * w[0] + P[1] * w[1] + P[2] * w[2] + m * dot3(v, v))
        turn = (w[0] - data.T[i, 0], w[1] - data.T[i, 1], w[2] - data.T[i, 2])
        off = (v[0] - data.T[i, 3], v[1] - data.T[i, 4], v[2] - data.T[i, 5])
        gap += 0.5 * (dot3(turn, matvec(J, turn)) + m * dot3(off, off))
    return energy, gap


@routine(allocates=False)
def product(rows, w, body):
    """w . rows[body], 0 for the world."""
    out = 0.0
    if body >= 0:
        for c in range(6):
            out += w[c] * rows[body, c]
    return out


@routine(allocates=False)
def add(rows, body, w, k):
    """Add k w to rows[body]; nothing for the world."""
    if body >= 0:
        add_six(rows[body], 0, w, k)
