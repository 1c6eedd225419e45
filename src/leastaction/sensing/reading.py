"""Sensors of a state, and of all states of a run."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.dynamics import entries
from leastaction.dynamics.api import bias_forces, mass_matrix
from leastaction.dynamics.loops import loop_jacobian
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.sensing.arrays import OF_CONTACTS, OF_FORCES, sensed_forces, sensor_data, sensor_model
from leastaction.sensing.kernels import forces_on_sensors, is_beyond, read_sensors

STOPPED = 1e-6
"""Distance from a limit at which a joint may rest on it [rad or m]."""

STEP = 1e-5
"""Time [s] over which the Jacobian of loops is differentiated along the motion."""

NO_CONTACTS = np.zeros((0, 9))


class SensorReader:
    """The sensors of one mechanism, for who reads them again and again; not for two threads at once.

    Args:
        mechanism: the robot.

    Attributes:
        feels_contacts: whether any of the sensors depends on contact forces.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = m = mechanism
        kinds = {sensor.kind for sensor in m.sensors}
        self._check(kinds)
        self.feels_contacts = not kinds.isdisjoint(OF_CONTACTS)
        self._feels_wrenches = not kinds.isdisjoint(("force", "torque"))
        self._feels_forces = not kinds.isdisjoint(OF_FORCES)
        self._of_tree = m.is_tree
        w = self._work = Workspace(m)
        self._q, self._v, self._u = np.zeros(m.nq), np.zeros(m.nv), np.zeros(m.nu)
        model = sensor_model(m)
        self._data, self._bodies = sensor_data(w), model.bodies
        self._out = np.zeros(sum(sensor.size for sensor in m.sensors))
        self._read = Bound(read_sensors, plain(model), plain(self._data), self._q, self._v, self._u)
        self._move = Bound(entries.kinematics, w.tree.nodes, w.links, w.screws, self._q, self._v)
        self._parts = [
            (sensor.name, slice(int(own.first), int(own.first + own.count)))
            for sensor, own in zip(m.sensors, model.sensors, strict=True)
        ]

    @cached_property
    def _forces(self) -> tuple[Bound, Any]:
        """What works out the forces that act, and its scratch."""
        w = self._work
        scratch = sensed_forces(w, w.forces, self._data)
        first = plain(w.forces), w.tree.gravity, plain(scratch), self._bodies, (self._q, self._v, self._u)
        return Bound(forces_on_sensors, *first), scratch

    def _check(self, kinds: set[str]) -> None:
        m = self.mechanism
        wrenches = [sensor for sensor in m.sensors if sensor.kind in ("force", "torque")]
        if wrenches and (m.loops or m.couplings or m.rollings):
            part = (*m.loops, *m.couplings, *m.rollings)[0].name
            raise MechanismError(f"forces in joints are known of trees alone, and {part!r} closes a loop")
        for sensor in wrenches:
            body = m.frame(sensor.target).body
            k = m.body_index(body)
            if k < 0 or m.tree.frames[body][0] < 0:
                raise MechanismError(f"nothing carries {body!r}, which is fixed to the world; a force needs a joint")

    @cached_property
    def _limits(self) -> tuple[bool, Bound]:
        """Whether any joint may always be held, and what shows whether one is at a rigid limit."""
        m = self.mechanism
        loose = any(any(joint.friction) or joint.has_rigid_limits for joint in m.loops)
        at: list[int] = []
        bounds: list[tuple[float, float]] = []
        iq = 0
        for joint in m.joints:
            loose = loose or any(joint.friction)
            if joint.nq == joint.nv and not any(joint.limit_stiffness):
                at += range(iq, iq + joint.nq)
                bounds += zip(joint.lower, joint.upper, strict=True)
            iq += joint.nq
        lower, upper = np.array(bounds, float).reshape(-1, 2).T
        kept = np.isfinite(lower) | np.isfinite(upper)
        inner = np.array(at, np.int64)[kept], lower[kept] + STOPPED, upper[kept] - STOPPED
        return loose, Bound(is_beyond, self._q, *inner)

    def may_hold(self, q: FloatArray) -> bool:
        """Whether dry friction or a rigid limit may hold a joint at q; of limits of loops q does not show."""
        self._q[:] = q
        always, beyond = self._limits
        return always or beyond()

    def read(
        self,
        q: FloatArray,
        v: FloatArray,
        u: FloatArray,
        contacts: FloatArray = NO_CONTACTS,
        acceleration: FloatArray | None = None,
    ) -> dict[str, FloatArray]:
        """Readings of all sensors at one state, by their names.

        Args:
            q, v: the state, shapes (nq,) and (nv,).
            u: controls that act, shape (nu,).
            contacts: rows (two bodies, point, force on the second, gap), shape (n, 9).
            acceleration: of the joints, shape (nv,), where it is known; else it is that of the forces.
        """
        self._q[:], self._v[:], self._u[:] = q, v, u
        if self._feels_forces:
            self._feel(contacts, acceleration)
        else:
            self._move()
        unknown = self._read(contacts, self._out)
        if unknown >= 0:
            body = self.mechanism.frame(self.mechanism.sensors[unknown].target).body
            raise MechanismError(f"springs and forces on bodies that are welded to {body!r} hide its share")
        values = self._out.copy()
        return {name: values[part] for name, part in self._parts}

    def _feel(self, contacts: FloatArray, acceleration: FloatArray | None) -> None:
        """Forces and accelerations."""
        kernel, scratch = self._forces
        if acceleration is not None:
            scratch.acc[:] = acceleration
        known = acceleration is not None or not self._of_tree
        if kernel(contacts, known, self._feels_wrenches) and (self._of_tree or acceleration is not None):
            return
        scratch.acc[:] = self._constrained_accelerations(scratch)
        kernel(contacts, True, True)

    def _constrained_accelerations(self, scratch: Any) -> FloatArray:
        """Of the joints under the forces in `scratch`, with loops closed; the least where masses do not decide."""
        m, q, v = self.mechanism, self._q, self._v
        tau = scratch.tau - bias_forces(m, q, v)
        entries.project_wrenches(self._work.tree.nodes, scratch.screws, scratch.external.copy(), tau)
        M, (_, A) = mass_matrix(m, q), loop_jacobian(m, q)
        ahead, back = (loop_jacobian(m, m.integrate(q, s * STEP * v))[1] for s in (1.0, -1.0))
        gamma = -(ahead - back) @ v / (2.0 * STEP)
        zero = np.zeros((len(A), len(A)))
        both = np.linalg.lstsq(np.block([[M, A.T], [A, zero]]), np.concatenate([tau, gamma]), rcond=1e-12)[0]
        return np.asarray(both[: m.nv], float)


def read_run(
    mechanism: Mechanism,
    lengths: FloatArray,
    Q: FloatArray,
    V: FloatArray,
    U: FloatArray | None,
    contacts: FloatArray | None,
    rigid: bool,
) -> dict[str, FloatArray]:
    """Readings of all sensors at all states of a run, by their names, arrays of shape (states, numbers).

    Args:
        mechanism: the robot.
        lengths: of the steps [s], shape (states - 1,).
        Q, V: states, shapes (states, nq) and (states, nv).
        U: controls that act, shape (steps, nodes, nu), or None.
        contacts: rows (step, two bodies, point, force on the second, gap), shape (n, 10), or None.
        rigid: whether limits and dry friction of joints act, whose forces no record holds.
    """
    reader, rows = SensorReader(mechanism), []
    if contacts is not None:
        contacts = contacts[np.argsort(contacts[:, 0], kind="stable")]
        ends = np.searchsorted(contacts[:, 0], np.arange(len(Q) + 1))
    for k in range(len(Q)):
        u = np.zeros(mechanism.nu) if U is None or not len(U) else (U[k, 0] if k < len(U) else U[-1, -1])
        step = max(k - 1, 0)
        touching = NO_CONTACTS if contacts is None else contacts[ends[step] : ends[step + 1], 1:].copy()
        known = None
        if rigid and len(Q) > 1 and reader.may_hold(Q[k]):
            at = max(k, 1)
            known = (V[at] - V[at - 1]) / lengths[at - 1]
        rows.append(reader.read(Q[k], V[k], u, touching, known))
    return {sensor.name: np.array([row[sensor.name] for row in rows]) for sensor in mechanism.sensors}
