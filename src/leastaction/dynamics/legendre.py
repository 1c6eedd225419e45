"""Between velocities and momenta, and quantities along whole trajectories."""

from __future__ import annotations

import numpy as np

from leastaction._jit import entry
from leastaction.dynamics import recursions
from leastaction.dynamics.spline_quantities import spline_momenta, spline_quantities, spline_velocities
from leastaction.dynamics.workspace import Workspace
from leastaction.forces import passive
from leastaction.kinematics.closure import soft_energy
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.spatial import ZERO6, add, dot3, kinetic, load3, load6, load_inertia
from leastaction.spatial import momentum as spatial_momentum


@entry
def solve_rows(nodes, dofs, gravity, links, screws, external, Q, P, V, zero):
    """V = M(Q)^-1 P row by row: forward dynamics without gravity and motion."""
    for r in range(Q.shape[0]):
        recursions.forward_dynamics(nodes, dofs, gravity, links, screws, Q[r], zero, P[r], external, V[r])


@entry
def multiply_rows(nodes, dofs, gravity, links, screws, external, Q, V, P, zero):
    """P = M(Q) V row by row: inverse dynamics without gravity and motion."""
    for r in range(Q.shape[0]):
        recursions.inverse_dynamics(nodes, dofs, gravity, links, screws, Q[r], zero, V[r], external, P[r])


@entry
def quantities_rows(
    nodes, dofs, gravity, rest, paths, points, penalties, rows, count, links, screws, Q, V, tau, T, U, H
):
    """Kinetic and potential energies (T, U) and spatial momenta about the world's origin (H) row by row."""
    g = load3(gravity)
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        velocities(nodes, links, screws, V[r])
        t = 0.0
        u = passive.joint_forces(nodes, dofs, rest, Q[r], V[r], tau) + passive.path_energy(paths, points, links)
        u += passive.penalty_energy(penalties, links) + soft_energy(rows, count, links)
        h = ZERO6
        for i in range(nodes.shape[0]):
            M = load_inertia(links[i].M)
            W = load6(links[i].v)
            t += kinetic(M, W)
            u -= dot3(g, M[1])
            h = add(h, spatial_momentum(M, W))
        for k in range(dofs.shape[0]):
            t += 0.5 * dofs[k].armature * V[r, k] * V[r, k]
        T[r] = t
        U[r] = u
        H[r, 0], H[r, 1], H[r, 2] = h[0]
        H[r, 3], H[r, 4], H[r, 5] = h[1]


def momentum_of_velocity(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> FloatArray:
    """p = M(q) v for each row, shape (rows, nv): the Legendre transform."""
    if has_splines(mechanism):
        return spline_momenta(mechanism, Q, V)
    w = Workspace(mechanism)
    t = w.tree
    P, zero = np.zeros_like(V), np.zeros(mechanism.nv)
    multiply_rows(t.nodes, t.dofs, np.zeros(3), w.links, w.screws, w.external, Q, V, P, zero)
    return P


def velocity_of_momentum(mechanism: Mechanism, Q: FloatArray, P: FloatArray) -> FloatArray:
    """v = M(q)^-1 p for each row, shape (rows, nv): the inverse Legendre transform."""
    if has_splines(mechanism):
        return spline_velocities(mechanism, Q, P)
    w = Workspace(mechanism)
    t = w.tree
    V, zero = np.zeros_like(P), np.zeros(mechanism.nv)
    solve_rows(t.nodes, t.dofs, np.zeros(3), w.links, w.screws, w.external, Q, P, V, zero)
    return V


def quantities(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(kinetic energy [J], potential energy [J], spatial momentum about the origin (rows, 6)) for each row."""
    if has_splines(mechanism):
        return spline_quantities(mechanism, Q, V)
    w = Workspace(mechanism)
    t = w.tree
    T, U, H = np.zeros(len(Q)), np.zeros(len(Q)), np.zeros((len(Q), 6))
    scratch = np.zeros(mechanism.nv)
    forces = (t.rest, t.paths, t.points, t.penalties, t.closure.rows, t.closure.count)
    quantities_rows(t.nodes, t.dofs, t.gravity, *forces, w.links, w.screws, Q, V, scratch, T, U, H)
    return T, U, H
