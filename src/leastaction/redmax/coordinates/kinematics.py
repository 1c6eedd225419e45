"""Kinematics and energies through the reduced coordinates: also for mechanisms with splines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.forces.balls import is_soft, torque
from leastaction.forces.passive import joint_forces, limit_force, path_energy, penalty_energy
from leastaction.kinematics.closure import soft_energy
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import configuration, tangent
from leastaction.redmax.coordinates.charts import XYZ
from leastaction.redmax.coordinates.first_charts import best_start
from leastaction.redmax.coordinates.lift import lift
from leastaction.redmax.coordinates.native import from_public, to_public
from leastaction.redmax.model import Reduced
from leastaction.spatial import ZERO6, add, dot3, kinetic, load3, load6, load_inertia
from leastaction.spatial import momentum as spatial_momentum

FloatArray = NDArray[np.float64]


@entry
def reduced_kinematics(model, work, r, rd, rdd):
    """Poses, screws and twists of the nodes at a reduced state; blocks get their derivatives."""
    nodes, _, _, lifting, _ = model
    plain, blocks, table, polynomials = lifting
    links, screws, _, _, nodal, _ = work
    lift(nodes, plain, blocks, table, polynomials, r, rd, rdd, nodal[0], nodal[1], nodal[2])
    positions(nodes, links, screws, nodal[0])
    velocities(nodes, links, screws, nodal[1])


@entry
def quantities_rows(model, rows, count, work, R, RD, zero, T, U, H):
    """Kinetic and potential energies and momenta about the world's origin, row by row."""
    nodes, dofs, gravity, lifting, forces = model
    plain, blocks, table, polynomials = lifting
    links, screws, _, _, nodal, _ = work
    q, v, a, tau = nodal
    rest, paths, points, _, penalties, balls, _, coords, _ = forces
    g = load3(gravity)
    for row in range(R.shape[0]):
        r, rd = R[row], RD[row]
        lift(nodes, plain, blocks, table, polynomials, r, rd, zero, q, v, a)
        positions(nodes, links, screws, q)
        velocities(nodes, links, screws, v)
        t = 0.0
        u = joint_forces(nodes, dofs, rest, q, v, tau) + path_energy(paths, points, links)
        u += penalty_energy(penalties, links) + soft_energy(rows, count, links)
        for b in range(balls.shape[0]):
            if is_soft(balls[b]):
                u += torque(balls[b], links)[1]
        h = ZERO6
        for i in range(nodes.shape[0]):
            M, V = load_inertia(links[i].M), load6(links[i].v)
            t += kinetic(M, V)
            u -= dot3(g, M[1])
            h = add(h, spatial_momentum(M, V))
        for k in range(dofs.shape[0]):
            t += 0.5 * dofs[k].armature * v[k] * v[k]
        for b in range(blocks.shape[0]):
            for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
                c = coords[k]
                _, energy = limit_force(c, r[k], rd[k])
                t += 0.5 * c.armature * rd[k] * rd[k]
                u += energy + 0.5 * c.stiffness * (r[k] - c.rest) * (r[k] - c.rest)
        T[row], U[row] = t, u
        for c in range(3):
            H[row, c], H[row, 3 + c] = h[0][c], h[1][c]


def to_reduced(reduced: Reduced, Q: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Reduced coordinates and rates of rows of states, each ball in the chart of the first row."""
    if reduced.identical:
        return Q, V
    R, RD = np.zeros((len(Q), reduced.nr)), np.zeros((len(Q), reduced.nr))
    charts = np.broadcast_to(best_start(reduced, Q[0]), (len(Q), len(reduced.balls))).copy()
    from_public(reduced.balls, reduced.index_q, reduced.index_v, Q, V, charts, R, RD)
    return R, RD


def reduced_coordinates(
    mechanism: Mechanism, q: Any, v: Any = None, *, chart: str = "euler"
) -> tuple[FloatArray, FloatArray]:
    """(r, rd), each (nv,): the coordinates of `BDF` and their rates; they differ from q and v in ball and free joints.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        v: joint velocities [rad/s or m/s], shape (nv,); default rest.
        chart: "euler": of a ball the angles of R_x R_y R_z, of a free joint (x, y, z) in its parent's frame and these
            angles; near the singularity of this chart another one is taken. "exponential": rotation vectors.
    """
    red = Reduced(mechanism, exponential=chart == "exponential")
    r, rd = to_reduced(red, configuration(mechanism, q)[None].copy(), tangent(mechanism, v)[None].copy())
    return r[0], rd[0]


def from_reduced_coordinates(
    mechanism: Mechanism, r: Any, rd: Any = None, *, chart: str = "euler"
) -> tuple[FloatArray, FloatArray]:
    """(q, v) of reduced coordinates and rates: the way back of `reduced_coordinates`, from the chart R_x R_y R_z.

    Args:
        mechanism: the robot.
        r, rd: coordinates and rates, shape (nv,), one joint after the other; rates default to rest.
        chart: "euler" or "exponential".
    """
    red = Reduced(mechanism, exponential=chart == "exponential")
    R, RD = tangent(mechanism, r, "r")[None].copy(), tangent(mechanism, rd, "rd")[None].copy()
    if red.identical:
        return R[0], RD[0]
    Q, V = np.zeros((1, mechanism.nq)), np.zeros((1, mechanism.nv))
    charts = np.full((1, len(red.balls)), -1 if red.exponential else XYZ)
    to_public(red.balls, red.index_q, red.index_v, R, RD, charts, Q, V)
    return Q[0], V[0]


def spline_quantities(mechanism: Mechanism, Q: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(kinetic energy [J], potential energy [J], momentum about the origin (rows, 6)) of mechanisms with splines."""
    # Exponential coordinates have no singular orientation here.
    red = Reduced(mechanism, exponential=True)
    R, RD = to_reduced(red, np.ascontiguousarray(Q), np.ascontiguousarray(V))
    T, U, H = np.zeros(len(Q)), np.zeros(len(Q)), np.zeros((len(Q), 6))
    c = red.tree.closure
    quantities_rows(red.model(), c.rows, c.count, red.workspace(), R, RD, np.zeros(red.nr), T, U, H)
    return T, U, H


class State:
    """The nodes of a mechanism at one state: poses, twists, screws, and the blocks of splines.

    Attributes:
        reduced: the compiled arrays.
        r, rd: reduced coordinates and rates, shape (nv,).
        links, screws: records of the nodes and of their degrees of freedom.
    """

    def __init__(self, mechanism: Mechanism, q: Any, v: Any = None, *, chart: str = "euler") -> None:
        self.reduced = red = Reduced(mechanism, exponential=chart == "exponential")
        Q, V = configuration(mechanism, q)[None], tangent(mechanism, v)[None]
        r, rd = to_reduced(red, Q, V)
        self.r, self.rd = r[0].copy(), rd[0].copy()
        if not red.identical and not red.exponential:
            self._use_charts(best_start(red, Q[0]))
        self.work = red.workspace()
        self.links, self.screws = self.work[0], self.work[1]
        self.update()

    def update(self) -> None:
        """Recompute the nodes after a change of r or rd."""
        reduced_kinematics(self.reduced.model(), self.work, self.r, self.rd, np.zeros(self.reduced.nr))

    def _use_charts(self, charts: Any) -> None:
        from leastaction.redmax.coordinates.first_charts import place_charts

        if (charts != XYZ).any():
            place_charts(self.reduced.tree.nodes, self.reduced.balls, charts)

    def body_poses(self) -> FloatArray:
        """World from body, shape (bodies, 4, 4)."""
        frames = self.reduced.tree.bodies
        out = np.tile(np.eye(4), (len(frames), 1, 1))
        for X, frame in zip(out, frames, strict=True):
            X[:3, :3], X[:3, 3] = frame.R.reshape(3, 3), frame.p
            if frame.node >= 0:
                link = self.links[frame.node]
                R = link.R.reshape(3, 3)
                X[:3, 3] = R @ frame.p + link.p
                X[:3, :3] = R @ X[:3, :3]
        return out


def body_poses(mechanism: Mechanism, q: Any) -> FloatArray:
    """Poses of all bodies, world from body, shape (bodies, 4, 4); also of mechanisms with splines."""
    return State(mechanism, q, chart="exponential").body_poses()
