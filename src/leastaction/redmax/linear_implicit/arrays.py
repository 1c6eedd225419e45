"""The arrays of the linearly implicit steps: what their kernels read, write, and the settings of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import inline
from leastaction.dynamics.workspace import Workspace
from leastaction.forces.arrays import ForceModel, ForceModes, force_model, force_modes, named_forces, named_modes
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.closure_rows import twins_of


class LinearModel(NamedTuple):
    """Read only.

    Attributes:
        forces: of the mechanism.
        gravity: [m/s^2], shape (3,).
        rows: equations of loops and couplings, then springs in loops.
        coefficients: of the couplings' polynomials.
        count: of the rows, how many are equations.
        twins: the other halves of the equations, see `closure_rows`.
    """

    forces: ForceModel
    gravity: FloatArray
    rows: Any
    coefficients: FloatArray
    count: int
    twins: Any


class LinearSettings(NamedTuple):
    """Settings of a step.

    Attributes:
        dt: time step [s].
        tolerance: relative residual of conjugate gradients.
    """

    dt: float
    tolerance: float


class LinearData(NamedTuple):
    """One robot's matrices of a step, and scratch; no step needs what the one before left here.

    Attributes:
        modes: of one-sided forces.
        links, screws, external: see `Workspace`.
        own: wrenches of body forces alone, shape (nodes, 6).
        tau, zero: generalised forces, and none, shape (nv,).
        M: mass matrix, shape (nv, nv).
        A: matrix of the step, M + dt D - dt^2 K, shape (nv, nv).
        D: damping, shape (nv, nv).
        b: right-hand side of the step, shape (nv,).
        h, G: loop equations, shape (count,), and their Jacobian, shape (count, nv).
        T, dV, slope: displacements, changes of velocity and of wrenches of one column of K or D, shape (nodes, 6).
        row: Jacobian of a spring in a loop, shape (1, nv).
    """

    modes: ForceModes
    links: Any
    screws: Any
    external: FloatArray
    own: FloatArray
    tau: FloatArray
    zero: FloatArray
    M: FloatArray
    A: FloatArray
    D: FloatArray
    b: FloatArray
    h: FloatArray
    G: FloatArray
    T: FloatArray
    dV: FloatArray
    slope: FloatArray
    row: FloatArray


class GradientData(NamedTuple):
    """The same for steps by conjugate gradients, which have no matrices.

    Attributes:
        modes, links, screws, external, own, tau, zero, b: see `LinearData`.
        f: forces, then the displacement of the step, shape (nv,).
        blocks: what springs add to the articulated inertias of the preconditioner, shape (nodes, 21).
        r, z, p, y: residual, its preconditioned form, direction and its product, shape (nv,).
    """

    modes: ForceModes
    links: Any
    screws: Any
    external: FloatArray
    own: FloatArray
    tau: FloatArray
    zero: FloatArray
    b: FloatArray
    f: FloatArray
    blocks: FloatArray
    r: FloatArray
    z: FloatArray
    p: FloatArray
    y: FloatArray


def linear_model(mechanism: Mechanism) -> LinearModel:
    """What the steps read of a mechanism."""
    tree = mechanism.tree
    closure = tree.closure
    equations = (closure.rows, closure.coefficients, closure.count, twins_of(mechanism))
    return LinearModel(force_model(tree), tree.gravity, *equations)


def linear_data(mechanism: Mechanism) -> LinearData:
    """Room for one robot."""
    w, n, m = Workspace(mechanism), mechanism.nv, mechanism.tree.closure.count
    own, T, dV, slope = np.zeros((4, len(w.links), 6))
    M, A, D = np.zeros((3, n, n))
    return LinearData(
        modes=force_modes(mechanism.tree),
        links=w.links,
        screws=w.screws,
        external=w.external,
        own=own,
        tau=np.zeros(n),
        zero=np.zeros(n),
        M=M,
        A=A,
        D=D,
        b=np.zeros(n),
        h=np.zeros(m),
        G=np.zeros((m, n)),
        T=T,
        dV=dV,
        slope=slope,
        row=np.zeros((1, n)),
    )


def gradient_data(mechanism: Mechanism) -> GradientData:
    """Room for one robot whose steps are solved by conjugate gradients."""
    w, n = Workspace(mechanism), mechanism.nv
    tau, zero, b, f, r, z, p, y = np.zeros((8, n))
    return GradientData(
        modes=force_modes(mechanism.tree),
        links=w.links,
        screws=w.screws,
        external=w.external,
        own=np.zeros((len(w.links), 6)),
        tau=tau,
        zero=zero,
        b=b,
        f=f,
        blocks=np.zeros((len(w.links), 21)),
        r=r,
        z=z,
        p=p,
        y=y,
    )


@inline
def named_model(forces, *others):
    """The model with its names, from the plain tuple that Python passes."""
    return LinearModel(named_forces(forces), *others)


@inline
def named_data(modes, *others):
    """The data with their names, from the plain tuple that Python passes."""
    return LinearData(named_modes(modes), *others)


@inline
def named_gradient_data(modes, *others):
    """The same for steps by conjugate gradients."""
    return GradientData(named_modes(modes), *others)
