"""What the kernels of this package read and write: model (read only), settings, data of one robot, arrays of a run.

Python hands plain tuples to entry points, which give them their names with `named_...`: that is quicker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.forces.arrays import ForceModel, ForceModes, UserForces
from leastaction.kinematics.reduced.arrays import CoordinateData, CoordinateModel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SCREW_RATE = np.dtype([("P1", "f8", 6), ("X", "f8", 6), ("Y", "f8", 6)], align=True)
"""Per degree of freedom: v_parent x S, and its partners in the Newton matrix."""


class OneSided(NamedTuple):
    """Indices of the forces that act on one side only and have dampers, see `step.one_sided`.

    Attributes:
        penalties, paths: planes that push back, and cables.
        limits: nodes with limits.
        coords: reduced coordinates of splines with limits.
    """

    penalties: IntArray
    paths: IntArray
    limits: IntArray
    coords: IntArray


class LoopModel(NamedTuple):
    """Loops and couplings.

    Attributes:
        rows: `closure.ROW` records: equations first, then soft ones.
        count: number of equations.
    """

    rows: Any
    count: int


class LoopData(NamedTuple):
    """Loops and couplings of one robot.

    Attributes:
        kept: for each row the number of its multiplier, -1 where it follows from the others, shape (rows,).
        coefficients: polynomials of the couplings; behind them the goals of driven joints.
    """

    kept: IntArray
    coefficients: FloatArray


class ReducedModel(NamedTuple):
    """A mechanism in reduced coordinates; nothing writes it.

    Attributes:
        dofs: `tree.DOF` records of the nodes' degrees of freedom.
        gravity: [m/s^2], shape (3,).
        coordinates: how reduced coordinates move the nodes.
        forces: what acts on them.
        loops: loops and couplings; None compiles kernels without them.
        one_sided: forces that open and close during a step; None compiles kernels without them.
    """

    dofs: Any
    gravity: FloatArray
    coordinates: CoordinateModel
    forces: ForceModel
    loops: LoopModel | None
    one_sided: OneSided | None


class UserScratch(NamedTuple):
    """Scratch of the user's forces: positions, velocities and forces of the points of one (points, 3); its slopes."""

    x: FloatArray
    xd: FloatArray
    f: FloatArray
    K: FloatArray
    D: FloatArray


class ReducedData(NamedTuple):
    """State and scratch of one robot; n nodes with nv degrees of freedom, nr reduced coordinates, m multipliers.

    Attributes:
        coordinates: where it stands in its coordinates.
        modes: pieces of the law on which one-sided forces are.
        user: scratch of the user's forces.
        loops: multipliers and goals; None for trees.
        links, screws: `sweeps.LINK` and `sweeps.SCREW` records of the nodes and their degrees of freedom.
        rates: `SCREW_RATE` records.
        B: Coriolis matrices of the nodes, shape (n, 6, 6).
        q, v, a: coordinates, velocities and accelerations of the nodes.
        tau: forces missing on the nodes' degrees of freedom, shape (nv,).
        external: world wrenches on the nodes, shape (n, 6).
        T, dV: displacements and twist changes of the nodes, shape (n, 6).
        dF: changes of their wrenches, shape (n, 6).
        dx, dw, dtau: changes of the nodes' coordinates, velocities and forces, shape (nv,).
        change: of the forces on the reduced coordinates, shape (nr,).
        H, pivots: Newton matrix and its row exchanges, shapes (nr + m, nr + m) and (nr + m,).
        parts: parts of the nodes' Newton matrix, shape (3, nv, nv), where blocks need them; else empty.
        column: of a matrix of the nodes, shape (nv,).
        g: residual, shape (nr + m,).
        step: Newton update, shape (nr + m,).
        P, Pv: predictors of position and velocity of a stage, shape (nr,).
        rdd: accelerations, shape (nr,).
        old, old_lam: state and multipliers before an update, shapes (nr,) and (m,).
        x0, v0, x1, v1: the last two states in the charts of the later one, shape (nr,).
        sizes: of the Newton updates of a stage, shape (max_iterations,).
    """

    coordinates: CoordinateData
    modes: ForceModes
    user: UserScratch | None
    loops: LoopData | None
    links: Any
    screws: Any
    rates: Any
    B: FloatArray
    q: FloatArray
    v: FloatArray
    a: FloatArray
    tau: FloatArray
    external: FloatArray
    T: FloatArray
    dV: FloatArray
    dF: FloatArray
    dx: FloatArray
    dw: FloatArray
    dtau: FloatArray
    change: FloatArray
    H: FloatArray
    pivots: IntArray
    parts: FloatArray
    column: FloatArray
    g: FloatArray
    step: FloatArray
    P: FloatArray
    Pv: FloatArray
    rdd: FloatArray
    old: FloatArray
    old_lam: FloatArray
    x0: FloatArray
    v0: FloatArray
    x1: FloatArray
    v1: FloatArray
    sizes: FloatArray


class ReducedSettings(NamedTuple):
    """Numbers that the user chose.

    Attributes:
        method: code of the integrator, see `step.rollout`.
        dt: step [s].
        tolerance: relative size of the Newton update at which a stage counts as solved.
        max_iterations: Newton iterations allowed.
        stabilization: rate at which open loops close in `LinearlyImplicitEuler` [1/s].
    """

    method: int
    dt: float
    tolerance: float
    max_iterations: int
    stabilization: float


class ReducedRun(NamedTuple):
    """The rows of a run, one per time.

    Attributes:
        R, RD: reduced coordinates and rates, shape (steps + 1, nr).
        charts: of the balls, shape (steps + 1, balls).
        RA, RDA, LA: state and multipliers at the end of the first stage of SDIRK2, row k + 1 for step k; of BDF2 for
            its first step alone.
        multipliers: of loops, shape (steps + 1, m).
        iterations: shape (steps + 1,).
    """

    R: FloatArray
    RD: FloatArray
    charts: IntArray
    RA: FloatArray
    RDA: FloatArray
    LA: FloatArray
    multipliers: FloatArray
    iterations: IntArray


@routine
def _named_user(user):
    if user is None:
        return None
    return UserForces(*user)


@routine
def _named_scratch(user):
    if user is None:
        return None
    return UserScratch(*user)


@routine
def _named_loops(loops):
    if loops is None:
        return None
    return LoopModel(*loops)


@routine
def _named_one_sided(one_sided):
    if one_sided is None:
        return None
    return OneSided(*one_sided)


@routine
def _named_loop_data(loops):
    if loops is None:
        return None
    return LoopData(*loops)


@inline
def named_model(model):
    """`ReducedModel` of plain tuples."""
    dofs, gravity, coordinates, forces, loops, one_sided = model
    named_forces = ForceModel(*(forces[:-1] + (_named_user(forces[-1]),)))
    return ReducedModel(
        dofs, gravity, CoordinateModel(*coordinates), named_forces, _named_loops(loops), _named_one_sided(one_sided)
    )


@inline
def named_data(data):
    """`ReducedData` of plain tuples."""
    head = (CoordinateData(*data[0]), ForceModes(*data[1]), _named_scratch(data[2]), _named_loop_data(data[3]))
    return ReducedData(*(head + data[4:]))


def plain(value: Any) -> Any:
    """Tuples without names, for entry points."""
    return tuple(plain(x) for x in value) if isinstance(value, tuple) else value
