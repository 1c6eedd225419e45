"""Equations of a step without contacts: those of the body-wise rule of order 2, with the forces of `spring_forces`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.mechanism import Mechanism
from leastaction.minimal.arrays import guess_data
from leastaction.minimal.contact.arrays import RobotModel, robot_arrays
from leastaction.minimal.contact.derivatives.spring_map import pulled_rows
from leastaction.minimal.galerkin_bodies.arrays import (
    GalerkinBodiesModel,
    GalerkinBodiesSettings,
    galerkin_bodies_data,
    galerkin_bodies_model,
)
from leastaction.minimal.galerkin_bodies.derivatives import body_horizon
from leastaction.typing import FloatArray


class Placed(NamedTuple):
    """Bodies at the start (0) and the end (1) of a step, and the rows of its equations.

    Attributes:
        rows: of the discrete Lagrangian with its forces, shape (2, nv): row 0 vanishes with the momentum at the start
            and contact impulses, row 1 is the momentum at the end, (M + k) v with `Smooth.end_damping` k.
        H: derivatives of the rows by displacements at both ends, shape (2, nv, 2, nv); empty where not requested.
        C: by the controls, shape (2, nv, nu); likewise.
        S: world twists of unit joint velocities, shape (2, nv, 6).
        R, x: rotations and centres of mass of the bodies, shapes (2, bodies, 3, 3) and (2, bodies, 3).
        y: their rotation vectors in the step, in world axes, shape (bodies, 3).
        e: coefficient of y x (y x .) in the inverse Jacobians of y, shape (bodies,).
    """

    rows: FloatArray
    H: FloatArray
    C: FloatArray
    S: FloatArray
    R: FloatArray
    x: FloatArray
    y: FloatArray
    e: FloatArray

    def poses(self, end: int) -> FloatArray:
        """Poses of the bodies at one end as contact kernels take them, shape (bodies, 12)."""
        return np.concatenate([self.R[end].reshape(-1, 9), self.x[end]], axis=1)


class Smooth:
    """The smooth equations of one mechanism.

    Args:
        mechanism: the robot.
        robots: its `RobotModel`.

    Attributes:
        carried: whether a degree of freedom moves a body, shape (bodies, nv).
        owner: the body that each degree of freedom belongs to, shape (nv,); parents: of the bodies, -1 for the world.
    """

    def __init__(self, mechanism: Mechanism, model: RobotModel) -> None:
        self.mechanism = mechanism
        single = [node for node in mechanism.tree.nodes if node.nv == 1]
        self.single = np.array([node.iv for node in single], np.int64)
        self.single_q = np.array([node.iq for node in single], np.int64)
        dofs = model.dofs[self.single]
        self.damping, self.servo, self.holds = (np.array(dofs[name], float) for name in ("damping", "servo", "holds"))
        self.model = without_pulls(galerkin_bodies_model(mechanism, 1))
        self.data = galerkin_bodies_data(self.model, guess_data(mechanism), 1, True)._replace(pushes=None)
        self._blocks = Bound(body_horizon.blocks, self.model, self.data)
        self._rows = Bound(body_horizon.rows, self.model, self.data._replace(dense=None))
        self._pulled = None
        if model.forces is not None and len(model.forces.nodes):
            *data, touch = robot_arrays(model, mechanism.nq, whole=True)
            self._pulled = Bound(pulled_rows, *plain((model, tuple(data), touch)), np.zeros((2, mechanism.nv)))
        nodes, owner = self.model.nodes, np.asarray(self.model.dofs.node)
        self.carried = np.zeros((len(nodes), len(owner)), bool)
        for i, node in enumerate(nodes):
            if node.parent >= 0:
                self.carried[i] = self.carried[node.parent]
            self.carried[i, node.iv : node.iv + node.nv] = True
        self.owner, self.parents = np.array(owner, np.int64), np.array(nodes.parent, np.int64)

    def at(self, q0: FloatArray, q1: FloatArray, u: FloatArray, h: float, slopes: bool) -> Placed:
        """Equations of a step of length h [s] from q0 to q1 with constant controls u (nu,); `slopes`: with H, C."""
        placed = self._rule(q0, q1, u, h, slopes)
        if self._pulled is not None:
            self._pulled(np.stack([q0, q1]), np.asarray(u, float), h, slopes, (placed.rows, placed.H, placed.C))
        return placed

    def _rule(self, q0: FloatArray, q1: FloatArray, u: FloatArray, h: float, slopes: bool) -> Placed:
        """`at` without the forces of `spring_forces`."""
        n, nu = self.mechanism.nv, self.mechanism.nu
        settings, Q, U = GalerkinBodiesSettings(h, 0.0, 1, 0.0, 1), np.stack([q0, q1]), np.array([[u, u]], float)
        rows = np.zeros((1, 2, n))
        H, C = np.zeros((1, 2, n, 2, n)), np.zeros((1, 2, n, 2, nu))
        if slopes:
            self._blocks(settings, Q, U, True, rows, H, C)
        else:
            self._rows(settings, Q, U, True, rows)
        self._add_end_damping(q0, q1, h, rows[0], H[0])
        bodies, turns = self.data.bodies, self.data.turns
        count = len(self.model.nodes)
        return Placed(
            rows[0],
            H[0],
            C[0].sum(axis=2),
            self.data.S.copy(),
            np.array(bodies.R).reshape(2, count, 3, 3),
            np.array(bodies.x),
            np.array(turns.y[1]),
            np.array(turns.k[1, :, 6]),
        )

    def loop_hessians(self, q: FloatArray) -> FloatArray:
        """Hessians of loop constraints by the joints at q, shape (equations, nv, nv)."""
        count, n, lam = self.data.lam.shape[1], self.mechanism.nv, self.data.lam
        out, u = np.zeros((count, n, n)), np.zeros(self.mechanism.nu)
        if count:
            bare = self._rule(q, q, u, 1.0, True).H[0, :, 0]
            for k in range(count):
                lam[0, k] = 1.0
                out[k] = self._rule(q, q, u, 1.0, True).H[0, :, 0] - bare
                lam[0, k] = 0.0
        return out

    def end_damping(self, h: float) -> FloatArray:
        """k of `joint_momenta.end_damping_of` for a step of length h, shape (nv,)."""
        out = np.zeros(self.mechanism.nv)
        out[self.single] = np.maximum(0.5 * h * (self.damping - 0.5 * h * self.servo) - self.holds, 0.0)
        return out

    def _add_end_damping(self, q0: FloatArray, q1: FloatArray, h: float, rows: FloatArray, H: FloatArray) -> None:
        """Add `end_damping` k times the mean rate to the momentum at the end."""
        k, rate = self.single, self.end_damping(h)[self.single] / h
        if rate.any():
            rows[1, k] += rate * (q1 - q0)[self.single_q]
            H[1, k, 0, k] -= rate
            H[1, k, 1, k] += rate


def without_pulls(model: GalerkinBodiesModel) -> GalerkinBodiesModel:
    """The body-wise rule without the forces of `spring_forces`, and with midpoint springs of single axes."""
    single = np.repeat(model.nodes.nv == 1, model.nodes.nv)
    dofs, forces = model.dofs.copy(), model.forces
    dofs.servo = np.where(single, dofs.stiffness, 0.0)
    for name in ("stiffness", "damping", "armature"):
        dofs[name][~single] = 0.0
    dofs.limit_stiffness = dofs.limit_damping = 0.0
    none: dict[str, Any] = {"dofs": dofs}
    if forces.paths is not None:
        pulling = ("stiffness", "damping", "limit_stiffness", "limit_damping", "driven", "held", "brake", "muscle")
        laws = {"paths": ("stiffness", "damping"), "drags": ("linear", "quadratic"), "tendons": pulling}
        for name, fields in laws.items():
            none[name] = getattr(forces, name).copy()
            for field in fields:
                none[name][field] = 0
    return model._replace(dofs=dofs, forces=forces._replace(**none))
