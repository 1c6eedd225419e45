"""The nodes of a mechanism at one state, through its reduced coordinates: also for mechanisms with splines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastaction._jit import entry
from leastaction.kinematics.reduced.charts import XYZ, use_charts
from leastaction.kinematics.reduced.compiled import ReducedCoordinates, coordinates_in
from leastaction.kinematics.reduced.lift import lift
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK, positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import configuration, tangent
from leastaction.typing import FloatArray


class NodeMotion(NamedTuple):
    """How the nodes of one robot move.

    Attributes:
        links: `sweeps.LINK` records of the nodes.
        screws: `sweeps.JOINT_SCREW` records of their degrees of freedom.
        q, v, a: their coordinates, velocities and accelerations, shapes (nodes' nq,), (nodes' nv,), (nodes' nv,).
        rest: zeros, shape (nr,).
    """

    links: Any
    screws: Any
    q: FloatArray
    v: FloatArray
    a: FloatArray
    rest: FloatArray

    @classmethod
    def of(cls, coordinates: ReducedCoordinates) -> NodeMotion:
        """For one robot."""
        t = coordinates.tree
        links: Any = np.zeros(len(t.nodes), LINK).view(np.recarray)
        screws: Any = np.zeros(t.nv, JOINT_SCREW).view(np.recarray)
        return cls(links, screws, np.zeros(t.nq), np.zeros(t.nv), np.zeros(t.nv), np.zeros(coordinates.nr))


@entry
def move_to(model, data, motion, charts, r, rd):
    """Poses, screws and twists of the nodes at a reduced state in given charts; blocks get their derivatives."""
    use_charts(model.balls, data, charts)
    lift(model, data, r, rd, motion.rest, motion.q, motion.v, motion.a)
    positions(data.nodes, motion.links, motion.screws, motion.q)
    velocities(data.nodes, motion.links, motion.screws, motion.v)


class State:
    """The nodes of a mechanism at one state: poses, twists, screws, and the blocks of splines.

    Attributes:
        coordinates: the compiled coordinates.
        data: where the robot stands in them.
        motion: poses, twists and screws of the nodes.
        q: positions of the mechanism, shape (nq,).
        r, rd: reduced coordinates and rates, shape (nv,).
        charts: of the balls.
    """

    def __init__(self, mechanism: Mechanism, q: Any, v: Any = None, *, chart: str = "euler") -> None:
        self.coordinates = c = coordinates_in(chart, mechanism)
        self.data, self.motion = c.data(), NodeMotion.of(c)
        self.set(configuration(mechanism, q), tangent(mechanism, v))

    def set(self, q: FloatArray, v: FloatArray) -> None:
        """Go to another state of the mechanism."""
        c = self.coordinates
        self.charts = np.zeros(0, np.int64) if c.identical else c.first_charts(q)
        self.q = q.copy()
        r, rd = c.to_reduced(q[None], v[None], self.charts[None])
        self.r, self.rd = r[0].copy(), rd[0].copy()
        self.update()

    def update(self) -> None:
        """Recompute the nodes after a change of r or rd."""
        move_to(self.coordinates.model, self.data, self.motion, self.charts, self.r, self.rd)

    def body_poses(self) -> FloatArray:
        """World from body, shape (bodies, 4, 4)."""
        frames, links = self.coordinates.tree.bodies, self.motion.links
        out = np.tile(np.eye(4), (len(frames), 1, 1))
        out[:, :3, :3], out[:, :3, 3] = frames.R.reshape(-1, 3, 3), frames.p
        carried = frames.node >= 0
        node = np.tile(np.eye(4), (int(carried.sum()), 1, 1))
        own = links[frames.node[carried]]
        node[:, :3, :3], node[:, :3, 3] = own.R.reshape(-1, 3, 3), own.p
        out[carried] = node @ out[carried]
        return out

    def velocity_map(self) -> FloatArray:
        """Velocities of the nodes per velocity of the mechanism, shape (nodes' nv, nv): T S.

        T takes reduced rates to those of the nodes (Sueda 2021, Eq. 2.87), S the mechanism's velocities to reduced
        rates.
        """
        c = self.coordinates
        T = np.zeros((c.tree.nv, c.nr))
        for ir, _, iv in c.model.plain:
            T[iv, ir] = 1.0
        for block, lift_ in zip(c.model.blocks, self.data.lifts, strict=True):
            i, k = (slice(int(block[a]), int(block[a] + block[n])) for a, n in (("iv", "nv"), ("ir", "nr")))
            T[i, k] = lift_.map[: int(block.nv), : int(block.nr)]
        Q, charts = np.tile(self.q, (c.nr, 1)), np.tile(self.charts, (c.nr, 1))
        return T @ c.to_reduced(Q, np.eye(c.nr), charts)[1].T

    def body_twists(self) -> FloatArray:
        """Twists (angular, linear) of all bodies, each in its own frame [rad/s, m/s], shape (bodies, 6)."""
        X, frames = self.body_poses(), self.coordinates.tree.bodies
        V = np.zeros((len(frames), 6))
        V[frames.node >= 0] = self.motion.links.v[frames.node[frames.node >= 0]]
        linear = V[:, 3:] + np.cross(V[:, :3], X[:, :3, 3])
        return np.concatenate([np.einsum("bji,bj->bi", X[:, :3, :3], x) for x in (V[:, :3], linear)], axis=1)


def reduced_coordinates(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, chart: str = "euler"
) -> tuple[FloatArray, FloatArray]:
    """(r, rd), each (nv,): the coordinates of `BDF` and their rates; they differ from q and v in ball and free joints.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        v: joint velocities [rad/s or m/s], shape (nv,); default rest.
        chart: "euler": of a ball the angles of R_x R_y R_z, of a free joint (x, y, z) in its parent's frame and these
            angles; near the singularity of this chart another one is taken. "exponential": rotation vectors.
    """
    c = coordinates_in(chart, mechanism)
    r, rd = c.to_reduced(configuration(mechanism, q)[None].copy(), tangent(mechanism, v)[None].copy())
    return r[0], rd[0]


def from_reduced_coordinates(
    mechanism: Mechanism, r: ArrayLike, rd: ArrayLike | None = None, *, chart: str = "euler"
) -> tuple[FloatArray, FloatArray]:
    """(q, v) of reduced coordinates and rates: the inverse of `reduced_coordinates`, from the chart R_x R_y R_z.

    Args:
        mechanism: the robot.
        r, rd: coordinates and rates, shape (nv,), one joint after the other; rates default to rest.
        chart: "euler" or "exponential".
    """
    c = coordinates_in(chart, mechanism)
    R, RD = tangent(mechanism, r, "r")[None].copy(), tangent(mechanism, rd, "rd")[None].copy()
    charts = np.full((1, len(c.model.balls)), -1 if c.exponential else XYZ)
    q, v = c.to_mechanism(R, RD, charts)
    return q[0], v[0]


def body_poses(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Poses of all bodies, world from body, shape (bodies, 4, 4); also of mechanisms with splines."""
    return State(mechanism, q, chart="exponential").body_poses()
