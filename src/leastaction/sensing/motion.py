"""How bodies move at one state, accelerations and forces in joints included."""

from __future__ import annotations

import numpy as np

from leastaction._tuples import plain
from leastaction.dynamics import entries
from leastaction.dynamics.api import bias_forces, mass_matrix, passive_forces
from leastaction.dynamics.loops import loop_jacobian
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import MechanismError
from leastaction.forces.tendon_forces import force_of_drives
from leastaction.forces.tendon_records import acting, laws
from leastaction.mechanism import Mechanism, Muscle, Servo, Tendon
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.controls import tendon_forces, tendon_length

STEP = 1e-5
"""Time [s] over which the Jacobian of loops is differentiated along the motion."""


def _tendon(m: Mechanism, a: Servo | Muscle) -> Tendon:
    """What an actuator drives, as a tendon."""
    return next((t for t in m.tendons if t.name == a.coordinate), Tendon(a.name, ((a.coordinate, 1.0),)))


class Motion:
    """A mechanism at one state.

    Args:
        mechanism: the robot.
        q, v: its state, shapes (nq,) and (nv,).
        u: controls that act, shape (nu,).
        contacts: rows (two bodies, point, force on the second), shape (n, 8) or more.
        acceleration: of the joints, shape (nv,), where it is known; else it is that of the forces.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q: FloatArray,
        v: FloatArray,
        u: FloatArray,
        contacts: FloatArray,
        acceleration: FloatArray | None = None,
    ) -> None:
        self.mechanism, self.q, self.v, self.u, self.contacts = mechanism, q, v, u, contacts
        self.known = acceleration
        self.w = Workspace(mechanism)
        entries.kinematics(self.w.tree.nodes, self.w.links, self.w.screws, q, v)
        self._solved = False

    def _solve(self) -> None:
        """Accelerations and wrenches of all nodes."""
        if self._solved:
            return
        m, w = self.mechanism, self.w
        a = self._accelerations() if self.known is None else self.known
        external = np.zeros_like(w.external)
        tau = np.zeros(m.nv)
        entries.passive_forces(plain(w.forces), plain(w.modes), w.links, w.screws, self.q, self.v, external, tau)
        self.springs = external.copy()
        self._add_contacts(external)
        entries.inverse_dynamics(w.model, (w.links, w.screws, external), self.q, self.v, a, tau)
        self._solved = True

    def _add_contacts(self, external: FloatArray) -> None:
        for row in self.contacts:
            f, x = row[5:8], row[2:5]
            wrench = np.concatenate([np.cross(x, f), f])
            for body, sign in ((int(row[0]), -1.0), (int(row[1]), 1.0)):
                node = int(self.w.tree.bodies[body].node) if body >= 0 else -1
                if node >= 0:
                    external[node] += sign * wrench

    def _accelerations(self) -> FloatArray:
        """Of the joints, under all forces, with loops closed."""
        m, w = self.mechanism, self.w
        tau = m.generalized_forces(self.u, self.q) + passive_forces(m, self.q, self.v) - bias_forces(m, self.q, self.v)
        tau += self.along_tendons(more=True)
        external = np.zeros_like(w.external)
        self._add_contacts(external)
        entries.project_wrenches(w.tree.nodes, w.screws, external, tau)
        M = mass_matrix(m, self.q)
        _, A = loop_jacobian(m, self.q)
        if not len(A):
            a = np.linalg.lstsq(M, tau, rcond=1e-12)[0] if _singular(M) else np.linalg.solve(M, tau)
            return np.asarray(a, float)
        ahead, back = (loop_jacobian(m, m.integrate(self.q, s * STEP * self.v))[1] for s in (1.0, -1.0))
        gamma = -(ahead - back) @ self.v / (2.0 * STEP)
        zero = np.zeros((len(A), len(A)))
        both = np.linalg.lstsq(np.block([[M, A.T], [A, zero]]), np.concatenate([tau, gamma]), rcond=1e-12)[0]
        return np.asarray(both[: m.nv], float)

    def along_tendons(self, *, more: bool = False) -> FloatArray:
        """Generalised forces of what drives tendons, of servos with force ranges and of muscles, shape (nv,).

        more: only what ranges and muscles make them beyond the controls and the feedback, each taken by itself.
        """
        m, tau = self.mechanism, np.zeros(self.mechanism.nv)
        for part in acting(m):
            own = laws([part])
            limited = np.isfinite([own[0].weakest, own[0].strongest]).any()
            if not part.controls or (more and not (limited or own[0].muscle)):
                continue
            tendon = part.of if isinstance(part.of, Tendon) else _tendon(m, part.of)
            arms = np.zeros(m.nv)
            tendon_forces(m, self.q, tendon, 1.0, arms)
            x, rate = tendon_length(m, self.q, tendon), float(arms @ self.v)
            pull = sum(push * float(self.u[k]) for k, push in part.controls.items())
            force = force_of_drives(own, pull, x, rate)
            if more:
                force -= force_of_drives(own, 0.0, x, rate) + (0.0 if own[0].muscle else pull)
            tau += force * arms
        return tau

    # ------------------------------------------------------------------ frames

    def pose(self, name: str) -> FloatArray:
        """World from a frame or body, shape (4, 4)."""
        frame = self.mechanism.frame(name)
        return self.pose_of_body(frame.body) @ frame.pose.matrix

    def pose_of_body(self, name: str) -> FloatArray:
        """World from a body, whatever frame has the same name, shape (4, 4)."""
        node, X = self.w.tree.frames[name]
        out = np.eye(4)
        if node >= 0:
            out[:3, :3], out[:3, 3] = self.w.links[node].R.reshape(3, 3), self.w.links[node].p
        return out @ X.matrix

    def twist(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Angular velocity, and velocity of the origin, of a frame or body, in the world."""
        node, _ = self.w.tree.frames[self.mechanism.frame(name).body]
        if node < 0:
            return np.zeros(3), np.zeros(3)
        V = self.w.links[node].v
        return V[:3].copy(), V[3:] + np.cross(V[:3], self.pose(name)[:3, 3])

    def felt_acceleration(self, name: str) -> FloatArray:
        """Acceleration of the origin of a frame less that of gravity, in the world [m/s^2]."""
        self._solve()
        node, _ = self.w.tree.frames[self.mechanism.frame(name).body]
        if node < 0:
            return -np.array(self.mechanism.gravity)
        link, x = self.w.links[node], self.pose(name)[:3, 3]
        return link.a[3:] + np.cross(link.a[:3], x) + np.cross(link.v[:3], link.v[3:] + np.cross(link.v[:3], x))

    def carried_wrench(self, name: str) -> FloatArray:
        """Wrench (torque about the origin of a frame, force), in the world, that holds its body and all it carries."""
        m, tree = self.mechanism, self.w.tree
        if m.loops or m.couplings or m.rollings:
            part = (*m.loops, *m.couplings, *m.rollings)[0].name
            raise MechanismError(f"forces in joints are known of trees alone, and {part!r} closes a loop")
        self._solve()
        body = m.frame(name).body
        node, _ = tree.frames[body]
        k = m.body_index(body)
        parent = m.parents[k] if k >= 0 else -1
        if k < 0 or node < 0:
            raise MechanismError(f"nothing carries {body!r}, which is fixed to the world; a force needs a joint")
        if parent < 0 or int(tree.bodies[parent].node) != node:
            F = self.w.links[node].f.copy()
        else:
            F = self._welded_wrench(k, node)
        F[:3] -= np.cross(self.pose(name)[:3, 3], F[3:])
        return F

    def _welded_wrench(self, k: int, node: int) -> FloatArray:
        """Of a body that is welded to its parent: its own, and those of all that it carries."""
        m, tree, links = self.mechanism, self.w.tree, self.w.links
        if np.any(self.springs[node]):
            raise MechanismError(f"springs and forces on bodies that are welded to {m.body_names[k]!r} hide its share")
        F = np.zeros(6)
        own = range(k, k + m.subtree_sizes[k])
        for i in own:
            frame, inertia = tree.bodies[i], m.bodies[i].inertia
            if int(frame.node) != node:
                top = m.parents[i]
                if int(tree.bodies[top].node) == node:  # a joint begins here, and its node has the rest
                    F += links[int(frame.node)].f
                continue
            link, X = links[node], self.pose_of_body(m.body_names[i])
            c, I = X[:3, :3] @ np.array(inertia.com) + X[:3, 3], X[:3, :3] @ inertia.matrix @ X[:3, :3].T
            w, alpha = link.v[:3], link.a[:3]
            f = inertia.mass * (link.a[3:] + np.cross(alpha, c) + np.cross(w, link.v[3:] + np.cross(w, c)))
            F += np.concatenate([I @ alpha + np.cross(w, I @ w) + np.cross(c, f), f])
        for row in self.contacts:
            f, x = row[5:8], row[2:5]
            for body, sign in ((int(row[0]), -1.0), (int(row[1]), 1.0)):
                if body in own and int(tree.bodies[body].node) == node:
                    F -= sign * np.concatenate([np.cross(x, f), f])
        return F


def _singular(M: FloatArray) -> bool:
    return bool(np.linalg.cond(M) > 1e12)
