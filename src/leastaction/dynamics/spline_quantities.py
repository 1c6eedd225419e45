"""Energies and momenta of mechanisms with spline joints, through the nodes that these are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._jit import entry, routine
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.recursions import inverse_dynamics
from leastaction.forces import total
from leastaction.forces.arrays import force_modes
from leastaction.forces.reduced_forces import reduced_forces
from leastaction.kinematics.closure_kernels import soft_energy
from leastaction.kinematics.reduced.compiled import compiled_coordinates
from leastaction.kinematics.reduced.lift import lift, lower
from leastaction.kinematics.reduced.state import NodeMotion
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.spatial import ZERO6, add, dot3, kinetic, load3, load6, load_inertia, mattvec, quat_to_rotation
from leastaction.spatial import momentum as spatial_momentum


@routine
def _potential(model, forces, modes, motion, r, rd):
    """Energy of all springs [J]; uses up the accelerations."""
    u = total.joint_forces(forces, modes, motion.q, motion.v, motion.a)
    u += total.energy(forces, modes, motion.links, motion.q)
    for b in range(model.blocks.shape[0]):
        for k in range(model.blocks[b].ir, model.blocks[b].ir + model.blocks[b].nr):
            u += total.axis_force(forces.coords[k], modes.coords[k], r[k], rd[k])[1]
    return u


@entry
def quantities_of_rows(model, data, motion, forces, modes, world, R, RD, out):
    """Rows of out (rows, 8): kinetic and potential energy [J], momentum about the world's origin.

    world: (gravity, rows of loops, number of their equations).
    """
    nodes, links, screws, q, v = data.nodes, motion.links, motion.screws, motion.q, motion.v
    gravity, rows, count = world
    g = load3(gravity)
    for row in range(R.shape[0]):
        r, rd = R[row], RD[row]
        lift(model, data, r, rd, motion.rest, q, v, motion.a)
        positions(nodes, links, screws, q)
        velocities(nodes, links, screws, v)
        t = 0.0
        u = _potential(model, forces, modes, motion, r, rd) + soft_energy(rows, count, links)
        h = ZERO6
        for i in range(nodes.shape[0]):
            M, V = load_inertia(links[i].M), load6(links[i].v)
            t += kinetic(M, V)
            u -= dot3(g, M[1])
            h = add(h, spatial_momentum(M, V))
        for k in range(v.shape[0]):
            t += 0.5 * forces.dofs[k].armature * v[k] * v[k]
        for k in range(rd.shape[0]):
            t += 0.5 * forces.coords[k].armature * rd[k] * rd[k]
        out[row, 0], out[row, 1] = t, u
        for c in range(3):
            out[row, 2 + c], out[row, 5 + c] = h[0][c], h[1][c]


@entry
def momenta_of_rows(model, data, motion, forces, scratch, R, RD, P):
    """P = M(q) v row by row, in the mechanism's own coordinates; balls are nodes (exponential coordinates)."""
    nodes, q, v = data.nodes, motion.q, motion.v
    still, tau, g, external = scratch
    tree = DynamicsModel(nodes, forces.dofs, still[:3])
    work = DynamicsData(motion.links, motion.screws, external)
    for row in range(R.shape[0]):
        lift(model, data, R[row], RD[row], motion.rest, q, v, motion.a)
        inverse_dynamics(tree, work, q, still, v, tau)
        lower(model, data, tau, g)
        for k in range(g.shape[0]):
            if model.index_v[k] >= 0:
                P[row, model.index_v[k]] = g[k] + forces.coords[k].armature * RD[row, k]
        for b in range(model.balls.shape[0]):
            ball = model.balls[b]
            node, m, j = nodes[ball.node], ball.iv, ball.shift
            for c in range(3):
                P[row, m + c] = tau[node.iv + c]
            if j >= 0:
                turn = quat_to_rotation((q[node.iq], q[node.iq + 1], q[node.iq + 2], q[node.iq + 3]))
                P[row, m + 3], P[row, m + 4], P[row, m + 5] = mattvec(turn, (g[j], g[j + 1], g[j + 2]))


class _Rows:
    """States of a mechanism with splines in exponential coordinates, which have no singular orientation here."""

    def __init__(self, mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> None:
        self.coordinates = c = compiled_coordinates(mechanism, True)
        self.forces = reduced_forces(c)
        self.R, self.RD = c.to_reduced(np.ascontiguousarray(Q), np.ascontiguousarray(V))
        self.arrays: tuple[Any, ...] = (c.model, c.data(), NodeMotion.of(c), self.forces)


def spline_quantities(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(kinetic energy [J], potential energy [J], momentum about the origin (rows, 6)) of mechanisms with splines."""
    rows, out = _Rows(mechanism, Q, V), np.zeros((len(Q), 8))
    t = rows.coordinates.tree
    world = t.gravity, t.closure.rows, t.closure.count
    quantities_of_rows(*rows.arrays, force_modes(rows.forces), world, rows.R, rows.RD, out)
    return out[:, 0].copy(), out[:, 1].copy(), out[:, 2:].copy()


def spline_momenta(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> FloatArray:
    """p = M(q) v for each row, shape (rows, nv), of mechanisms with splines."""
    rows, P = _Rows(mechanism, Q, V), np.zeros((len(Q), mechanism.nv))
    t = rows.coordinates.tree
    still = np.zeros(max(t.nv, 3))
    scratch = (still, np.zeros(t.nv), np.zeros(mechanism.nv), np.zeros((len(t.nodes), 6)))
    momenta_of_rows(*rows.arrays, scratch, rows.R, rows.RD, P)
    return P


def spline_velocities(mechanism: Mechanism, Q: FloatArray, P: FloatArray) -> FloatArray:
    """v = M(q)^-1 p for each row, shape (rows, nv), of mechanisms with splines."""
    n = mechanism.nv
    masses = [spline_momenta(mechanism, np.tile(q, (n, 1)), np.eye(n)) for q in Q]
    return np.array([np.linalg.solve(M.T, p) for M, p in zip(masses, P, strict=True)]).reshape(-1, n)
