"""Staggered projections in maximal coordinates (Sueda 2021, Algorithm 7), to compare BISP with.

Contacts of all bearings and of the ground are solved for together, in the maximal coordinates of the bodies: the
contact problem (2.120), then the friction problem (2.121), and so on until the contact forces rest. Bearings are
bilateral here too: their impulses are free in sign and, by the same regularisation as in (2.125), the smallest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from leastaction.contact.qp import LARGE, QuadraticProgram
from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.forces import drives
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.contact.anderson import Anderson
from leastaction.redmax.linear_implicit.contact.contact_rows import ContactRows, cross_rows
from leastaction.redmax.linear_implicit.contact.staggered_stepper import PATIENCE, StaggeredMemory, StaggeredStepper
from leastaction.redmax.linear_implicit.stepper import StepEquations


class MaximalStaggeredStepper(StaggeredStepper):
    """Algorithm 7; the new velocity is taken back to reduced coordinates, where the joints hold exactly."""

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        nodes, dofs = mechanism.tree.nodes, mechanism.tree.dofs
        bare = set(range(len(nodes))) - set(self.bearings.nodes.tolist())
        if not mechanism.is_tree or integrator.constraints or len(self.limited):
            raise IntegratorError("method='sp' runs trees without loops, couplings, limits and constraints; use 'bisp'")
        if bare and any(nodes[i].nv < 6 for i in bare):
            name = mechanism.velocity_names[nodes[next(i for i in bare if nodes[i].nv < 6)].iv]
            raise IntegratorError(f"method='sp' needs a bearing on every joint, {name!r} has none; use 'bisp'")
        if (nodes.mass <= 0.0).any() or dofs.armature.any() or dofs.stiffness.any() or dofs.friction.any():
            raise IntegratorError(
                "method='sp' runs bodies with mass on joints of one primitive motion, without springs, armature and "
                "dry friction in them; use 'bisp'"
            )
        self.drives = drives.compiled(mechanism, mechanism.tree.frames)
        counts = [len(points) for points, _, _ in self.bearings.contacts]
        self.owner = np.repeat(self.bearings.nodes, counts)
        self.mu = np.repeat(self.bearings.friction, counts)
        self.points, self.normals, self.slips = (
            np.concatenate([c[k] for c in self.bearings.contacts]) if counts else np.zeros((0, 3)) for k in range(3)
        )

    def new_memory(self) -> StaggeredMemory:
        """See `ConstrainedStepper.new_memory`; its joint rows are the contacts of all bearings."""
        qp, joint_qp = (QuadraticProgram(self.integrator.qp, regularization=1e-6) for _ in range(2))
        return replace(super().new_memory(), qp=qp, joint_qp=joint_qp, joints=np.zeros(len(self.owner)))

    def velocities(self, e: StepEquations, record: Record, k: int) -> FloatArray:
        """See `ConstrainedStepper.velocities`."""
        touch, method, memory, dt = e.contacts, self.integrator, self.carried, self.dt
        inverse, unconstrained, spread = self._maximal(e.v, e.u)
        N, T = self._rows(touch)
        joints, contacts = len(self.owner), len(touch.N)
        NM, TM = N @ inverse, T @ inverse
        HN, HT, cross = (NM @ N.T), (TM @ T.T), (TM @ N.T)
        if len(self.owner) + contacts <= LARGE:
            HN, HT, cross = HN.toarray(), HT.toarray(), cross.toarray()
        bias = np.concatenate([np.zeros(joints), e.floor])
        lower = np.concatenate([np.full(joints, -np.inf), np.zeros(contacts)])
        beta = np.concatenate([memory.joints, memory.of_contacts(touch)])
        force, bounds = np.zeros(len(bias)), np.zeros(0)
        history: list[float] = []
        anderson = Anderson()
        for iteration in range(method.max_iterations):
            old, before = force, bounds
            if iteration < PATIENCE:
                force = memory.qp.solve(HN, N @ unconstrained - bias + cross.T @ beta, lower)
            else:
                goal = np.concatenate([N @ unconstrained - bias, T @ unconstrained])
                force, beta = self.together(_blocks(HN, cross, HT), goal, lower, bounds)
            change = N.T @ (force - old)
            whole = N.T @ force
            history.append(float(np.sqrt(change @ (inverse @ change) / max(whole @ (inverse @ whole), 1e-24))))
            if iteration and history[-1] <= method.tolerance:
                break
            bounds = np.concatenate([self.mu * np.abs(force[:joints]), np.repeat(touch.friction * force[joints:], 2)])
            if iteration < PATIENCE:
                beta = memory.friction_qp.solve(HT, T @ unconstrained + cross @ force, -bounds, bounds)
            else:
                bounds = np.maximum(anderson.next(before, bounds), 0.0)
        else:
            raise ConvergenceError("staggered projections did not converge; take method='bisp'", residuals=history)
        memory.keep(beta[:joints], touch, beta[joints:])
        record["iterations"][k + 1] = iteration + 1
        # J'N' of bearings is zero: only friction and the ground push along the reduced coordinates.
        friction = spread.T @ (T[:joints].T @ beta[:joints])
        push = touch.N.T @ force[joints:] + touch.T.T @ beta[joints:]
        record["joint_friction"][k + 1] = friction / dt
        self.note(e, record, k, friction + push, force[joints:], beta[joints:])
        return e.projection.v + e.projection.response((friction + push)[None])[:, 0]

    def _maximal(self, v: FloatArray, u: FloatArray) -> tuple[Any, FloatArray, Any]:
        """Inverse inertia (6n, 6n), unconstrained velocity (6n,) and J_mr (6n, nv), twists in the world's frame."""
        w, tree, moves = self.data, self.mechanism.tree, self.ground.moves
        n = len(tree.nodes)
        S, Sd = w.screws.S, w.screws.Sd
        inertia = np.zeros((n, 6, 6))
        links, mass = w.links, tree.nodes.mass
        R, p = links.R.reshape(n, 3, 3), links.p
        com = np.einsum("nij,nj->ni", R, tree.nodes.com) + p
        I = np.zeros((n, 3, 3))
        I[:, [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]] = tree.nodes.Ic[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]]
        C = np.zeros((n, 3, 3))
        C[:, 2, 1], C[:, 0, 2], C[:, 1, 0] = com.T
        C -= C.transpose(0, 2, 1)
        inertia[:, :3, :3] = R @ I @ R.transpose(0, 2, 1) - mass[:, None, None] * C @ C
        inertia[:, :3, 3:] = mass[:, None, None] * C
        inertia[:, 3:, :3] = -inertia[:, :3, 3:]
        inertia[:, 3:, 3:] = mass[:, None, None] * np.eye(3)
        V = moves @ (S * v[:, None])
        h = np.einsum("nij,nj->ni", inertia, V)
        g = tree.gravity
        F = w.external.copy()
        F[:, :3] += cross_rows(com, mass[:, None] * g) - cross_rows(V[:, :3], h[:, :3]) - cross_rows(V[:, 3:], h[:, 3:])
        F[:, 3:] += mass[:, None] * g - cross_rows(V[:, :3], h[:, 3:])
        # What moves the frames of the joints: with it the reduced and the maximal step are the same.
        F -= np.einsum("nij,nj->ni", inertia, moves @ (Sd * v[:, None]))
        self._joint_forces(F, v, u)
        blocks = np.linalg.inv(inertia)
        inverse = sparse.block_diag(list(blocks), format="csr")
        spread = sparse.csr_array((moves[:, None, :] * S.T[None]).reshape(6 * n, -1))
        return inverse, (V + self.dt * np.einsum("nij,nj->ni", blocks, F)).ravel(), spread

    def _joint_forces(self, F: FloatArray, v: FloatArray, u: FloatArray) -> None:
        """Add to F the pairs of wrenches of drives and dampers in the joints."""
        tree, S = self.mechanism.tree, self.data.screws.S
        tau = -tree.dofs.damping * v
        for drive, control in zip(self.drives, u, strict=True):
            if drive.dof >= 0:
                tau[drive.dof] += drive.gear * control
        for k in np.flatnonzero(tau):
            i = int(tree.dofs[k].node)
            # A torque about the axis, or a force along it through the joint.
            axis, p = (S[k, :3], None) if S[k, :3].any() else (S[k, 3:], self.data.links[i].p)
            W = np.concatenate([axis, np.zeros(3)]) if p is None else np.concatenate([np.cross(p, axis), axis])
            F[i] += tau[k] * W
            if tree.nodes[i].parent >= 0:
                F[tree.nodes[i].parent] -= tau[k] * W

    def _rows(self, touch: ContactRows) -> tuple[Any, Any]:
        """Normal rows and tangential rows, of bearings first, then of the ground; sparse (rows, 6 nodes)."""
        links, nodes = self.data.links, self.mechanism.tree.nodes
        R, p = links.R[self.owner].reshape(-1, 3, 3), links.p[self.owner]
        x = np.einsum("cij,cj->ci", R, self.points) + p
        out = []
        for directions, own, each in (
            (self.normals, touch.normal, 1),
            (self.slips, touch.tangent, 2),
        ):
            d = np.einsum("cij,cj->ci", R, directions)
            W = np.concatenate([np.concatenate([cross_rows(x, d), d], axis=1), own])
            child = np.concatenate([self.owner, np.repeat(touch.node, each)])
            parent = np.concatenate([nodes.parent[self.owner], np.repeat(touch.other, each)])
            rows = np.arange(len(W))
            has = np.flatnonzero(parent >= 0)
            r = np.repeat(np.concatenate([rows, has]), 6)
            c = (6 * np.concatenate([child, parent[has]])[:, None] + np.arange(6)).ravel()
            values = np.concatenate([W, -W[has]]).ravel()
            out.append(sparse.csr_array((values, (r, c)), shape=(len(W), 6 * len(nodes))))
        return out[0], out[1]


def _blocks(A: Any, B: Any, C: Any) -> Any:
    """The symmetric matrix [[A, B'], [B, C]], sparse if they are."""
    return sparse.block_array([[A, B.T], [B, C]]) if sparse.issparse(A) else np.block([[A, B.T], [B, C]])
