"""The arrays of direct collocation: what its kernels read, write, and the settings of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import inline
from leastaction.dynamics.workspace import Workspace
from leastaction.forces.arrays import ForceModel, ForceModes, force_model, force_modes, named_forces, named_modes
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


class CollocationModel(NamedTuple):
    """Read only.

    Attributes:
        forces: of the mechanism.
        gravity: [m/s^2], shape (3,).
        curved: whether a force is more than springs and dampers on joints with one axis, and motors.
    """

    forces: ForceModel
    gravity: FloatArray
    curved: bool


class CollocationSettings(NamedTuple):
    """Settings of a run.

    Attributes:
        dt: time step [s].
        tolerance: of Newton's method, size of the update.
        max_iterations: of Newton's method.
    """

    dt: float
    tolerance: float
    max_iterations: int


class CollocationData(NamedTuple):
    """Scratch of one robot; no step needs what the one before left here.

    Attributes:
        modes: of one-sided forces.
        links, screws, external: see `Workspace`.
        tau: generalised forces, shape (nv,).
        rates, B: of the derivatives of inverse dynamics, see `SlopeData`.
        dq, dv: derivatives of inverse dynamics, shape (nv, nv).
        M: mass matrix, shape (nv, nv).
        up, down, d: of differences of forces, shape (nv,).
        z: the configuration at which they are taken, shape (nq,).
        y, f: states (x, v) at the points of the step and their rates, shape (points, 2, nv).
        q: configurations there, shape (points, nq).
        r: defect, shape (2, nv).
        F: slopes of the rates at the points, shape (points, 2 nv, 2 nv).
        J, A: matrices of Newton's method, shape (2 nv, 2 nv).
        update: of the state at the end of the step, shape (2 nv, 1).
        history: norms of the defect in the last step, shape (max_iterations + 1,).
    """

    modes: ForceModes
    links: Any
    screws: Any
    external: FloatArray
    tau: FloatArray
    rates: Any
    B: FloatArray
    dq: FloatArray
    dv: FloatArray
    M: FloatArray
    up: FloatArray
    down: FloatArray
    d: FloatArray
    z: FloatArray
    y: FloatArray
    f: FloatArray
    q: FloatArray
    r: FloatArray
    F: FloatArray
    J: FloatArray
    A: FloatArray
    update: FloatArray
    history: FloatArray


def collocation_model(mechanism: Mechanism) -> CollocationModel:
    """What collocation reads of a mechanism."""
    t = mechanism.tree
    many = t.nodes.nv[t.dofs.node] > 1
    forces = force_model(t)
    thrusters = (forces.drives.dof < 0).any()
    curved = len(forces.touched) or thrusters or (t.dofs.stiffness[many] != 0.0).any()
    return CollocationModel(forces, t.gravity, bool(curved))


def collocation_data(mechanism: Mechanism, points: int, max_iterations: int) -> CollocationData:
    """Room for one robot and a method with that many points in a step."""
    w, n, nq = Workspace(mechanism), mechanism.nv, mechanism.nq
    slopes = w.slopes()
    return CollocationData(
        modes=force_modes(mechanism.tree),
        links=w.links,
        screws=w.screws,
        external=w.external,
        tau=np.zeros(n),
        rates=slopes.rates,
        B=slopes.B,
        dq=slopes.dq,
        dv=slopes.dv,
        M=np.zeros((n, n)),
        up=np.zeros(n),
        down=np.zeros(n),
        d=np.zeros(n),
        z=np.zeros(nq),
        y=np.zeros((points, 2, n)),
        f=np.zeros((points, 2, n)),
        q=np.zeros((points, nq)),
        r=np.zeros((2, n)),
        F=np.zeros((points, 2 * n, 2 * n)),
        J=np.zeros((2 * n, 2 * n)),
        A=np.zeros((2 * n, 2 * n)),
        update=np.zeros((2 * n, 1)),
        history=np.zeros(max_iterations + 1),
    )


@inline
def named_model(forces, *others):
    """The model with its names, from the plain tuple that Python passes."""
    return CollocationModel(named_forces(forces), *others)


@inline
def named_data(modes, *others):
    """The data with their names, from the plain tuple that Python passes."""
    return CollocationData(named_modes(modes), *others)
