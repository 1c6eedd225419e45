"""The work space of one call of the classical recursions."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.dynamics import entries
from leastaction.dynamics.arrays import SlopeData
from leastaction.dynamics.derivatives import RATES
from leastaction.dynamics.origin_shift import free_trees, near_origin
from leastaction.errors import MechanismError
from leastaction.forces.arrays import ForceModel, ForceModes, force_model, force_modes
from leastaction.kinematics.sweeps import FREE, JOINT_SCREW, LINK, SPHERICAL
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FLOAT, FloatArray, configuration, robot, tangent


class Workspace:
    """Scratch records of the classical recursions for one mechanism; not for two threads at once."""

    def __init__(self, mechanism: Mechanism) -> None:
        tree = robot(mechanism).tree
        n = len(tree.nodes)
        self.tree = tree
        self.links: Any = np.zeros(n, LINK).view(np.recarray)
        self.screws: Any = np.zeros(tree.nv, JOINT_SCREW).view(np.recarray)
        self.external = np.zeros((n, 6))
        self.tau = np.zeros(tree.nv)

    @cached_property
    def forces(self) -> ForceModel:
        """What the kernels of forces read."""
        return force_model(self.tree)

    @cached_property
    def modes(self) -> ForceModes:
        """What they write."""
        return force_modes(self.forces)

    @property
    def model(self) -> tuple[Any, ...]:
        """`DynamicsModel` as entry points take it."""
        return self.tree.nodes, self.tree.dofs, self.tree.gravity

    @property
    def weightless(self) -> tuple[Any, ...]:
        """The same without gravity."""
        return self.tree.nodes, self.tree.dofs, np.zeros(3)

    @property
    def closure(self) -> tuple[Any, ...]:
        """`ClosureModel` as entry points take it."""
        return self.tree.closure.rows, self.tree.closure.coefficients, self.tree.closure.count

    @property
    def data(self) -> tuple[Any, ...]:
        """`DynamicsData` as entry points take it."""
        return self.links, self.screws, self.external

    def slopes(self) -> SlopeData:
        """Zeroed arrays of the derivatives."""
        n = self.tree.nv
        rates: Any = np.zeros(n, RATES).view(np.recarray)
        return SlopeData(rates, np.zeros((len(self.links), 6, 6)), np.zeros((n, n)), np.zeros((n, n)))


class Calls:
    """Entry points of the classical dynamics of one mechanism with all their arguments bound, for one thread.

    Python hands a state over by copying it into arrays that stay, so that no call looks at the types of arguments;
    the kernels check what they read. Whatever is unusual goes through the checks of Python, which name it.

    Args:
        mechanism: the robot, without spline joints.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        w = self.work = Workspace(mechanism)
        n = mechanism.nv
        self._shape_q, self._shape_v = (mechanism.nq,), (n,)
        self.q, self.v, self.a, self.tau = np.zeros(mechanism.nq), np.zeros(n), np.zeros(n), np.zeros(n)
        self.matrix, self.poses = np.zeros((n, n)), np.zeros((len(mechanism.bodies), 4, 4))
        kinds, iq = w.tree.nodes.kind, w.tree.nodes.iq
        balls = np.concatenate([iq[kinds == SPHERICAL], iq[kinds == FREE] + 3]).astype(np.int64)
        self._checked = np.zeros(1, np.bool_)
        state = self._state = (balls, free_trees(w.tree), self._checked, self.q, self.v, self.a)
        self.inverse_dynamics = Bound(entries.checked_inverse_dynamics, w.model, w.data, state, self.tau)
        self.forward_dynamics = Bound(entries.checked_forward_dynamics, w.model, w.data, state, self.tau)
        self.mass_matrix = Bound(entries.checked_mass_matrix, w.model, w.data, state, self.matrix)
        frames = w.tree.bodies
        self.body_poses = Bound(entries.checked_body_poses, w.tree.nodes, frames, w.links, w.screws, state, self.poses)
        self.point, self.jacobian = np.zeros(3), np.zeros((6, n))
        self.point_jacobian = Bound(entries.point_jacobian, w.tree.nodes, w.screws, self.poses, self.point)

    @cached_property
    def passive_forces(self) -> Bound:
        """What the mechanism itself exerts, in `tau`."""
        w = self.work
        return Bound(entries.checked_passive_forces, plain(w.forces), plain(w.modes), w.data, self._state, self.tau)

    def take(self, q: Any, v: Any = None, a: Any = None) -> bool:
        """Copy a state into `q`, `v`, `a` (nv,), zero where None; False if one is no plain array of its size."""
        if q is None or not _fits(q, self._shape_q) or not _fits(v, self._shape_v) or not _fits(a, self._shape_v):
            return False
        self.q[:] = q
        self.v[:] = 0.0 if v is None else v
        self.a[:] = 0.0 if a is None else a
        return True

    def at_any(self, kernel: Bound, q: Any, v: Any = None, a: Any = None, what: str = "a") -> None:
        """Run a kernel at a state that is anything that states are made of, or say what is wrong with it."""
        mechanism = self.work.tree.mechanism
        q, v, a = configuration(mechanism, q), tangent(mechanism, v), tangent(mechanism, a, what)
        far = kernel is not self.body_poses and kernel is not self.passive_forces  # these depend on the place
        self.q[:] = near_origin(free_trees(self.work.tree), q) if far else q
        self.v[:], self.a[:], self._checked[0] = v, a, True
        try:
            kernel()
        finally:
            self._checked[0] = False


def _fits(value: Any, shape: tuple[int, ...]) -> bool:
    return value is None or (type(value) is np.ndarray and value.shape == shape and value.dtype is FLOAT)


def calls(mechanism: Mechanism) -> Calls:
    """The bound entry points of a mechanism, made at the first call of each thread."""
    own = robot(mechanism).__dict__.get("_dynamics_calls")
    if own is None:  # beside the other values that a mechanism keeps once they were worked out
        own = mechanism.__dict__.setdefault("_dynamics_calls", threading.local())
    found = getattr(own, "calls", None)
    if found is None:
        found = own.calls = Calls(mechanism)
    return found


def given(values: FloatArray, out: FloatArray | None) -> FloatArray:
    """A copy of an array that the next call writes again, in `out` where that is there."""
    if out is None:
        return values.copy()
    if type(out) is not np.ndarray or out.shape != values.shape or out.dtype is not FLOAT:
        raise MechanismError(f"out: expected an array of floats of shape {values.shape}, got {shown(out)}")
    if not out.flags.writeable:
        raise MechanismError("out: this array is read only")
    out[:] = values
    return out
