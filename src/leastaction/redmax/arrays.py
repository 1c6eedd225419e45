"""What the kernels of this package read and write: model (read only), settings, data of one robot, arrays of a run.

Python hands plain tuples to entry points (see `leastaction._tuples`), which name them with `named_...`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.forces.arrays import ForceModel, ForceModes, named_forces, named_modes
from leastaction.kinematics.reduced.arrays import CoordinateData, CoordinateModel
from leastaction.typing import FloatArray

IntArray = NDArray[np.int64]

SCREW_RATE = np.dtype([("P1", "f8", 6), ("X", "f8", 6), ("Y", "f8", 6)], align=True)
"""Per degree of freedom: v_parent x S, and its partners in the Newton matrix."""


class LoopModel(NamedTuple):
    """Loops and couplings.

    Attributes:
        rows: `closure.CLOSURE_ROW` records: equations first, then soft ones.
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
        wrenches: whether anything but gravity may push on nodes; None compiles kernels without that.
        jumps: whether any force jumps where it touches, so that Newton's method says on which piece of its law it is
            (see `forces.touch`); None compiles kernels without that.
    """

    dofs: Any
    gravity: FloatArray
    coordinates: CoordinateModel
    forces: ForceModel
    loops: LoopModel | None
    wrenches: bool | None
    jumps: bool | None


class ReducedData(NamedTuple):
    """State and scratch of one robot; n nodes with nv degrees of freedom, nr reduced coordinates, m multipliers.

    Attributes:
        coordinates: where it stands in its coordinates.
        modes: pieces of the law on which one-sided forces are, and scratch of the user's forces.
        loops: multipliers and goals; None for trees.
        links, screws: `sweeps.LINK` and `sweeps.JOINT_SCREW` records of the nodes and their degrees of freedom.
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
        tolerance: relative error of positions and velocities at which a stage counts as solved.
        max_iterations: Newton iterations allowed.
        stabilization: rate at which open loops close in `LinearlyImplicitEuler` [1/s].
        finest: most substeps of a step.
    """

    method: int
    dt: float
    tolerance: float
    max_iterations: int
    stabilization: float
    finest: int


class ReducedRun(NamedTuple):
    """The rows of a run, one per time.

    Attributes:
        R, RD: reduced coordinates and rates, shape (steps + 1, nr).
        charts: of the balls, shape (steps + 1, balls).
        RA, RDA, LA: state and multipliers at the end of the first stage of SDIRK2, row k + 1 for step k; of BDF2 for
            its first step alone.
        multipliers: of loops, shape (steps + 1, m).
        iterations: shape (steps + 1,).
        divided: how steps were bisected, see `step_control.bisection`, shape (steps + 1,).
    """

    R: FloatArray
    RD: FloatArray
    charts: IntArray
    RA: FloatArray
    RDA: FloatArray
    LA: FloatArray
    multipliers: FloatArray
    iterations: IntArray
    divided: IntArray


class StageEnd(NamedTuple):
    """State and multipliers at the end of a stage."""

    r: FloatArray
    rd: FloatArray
    lam: FloatArray


class Projected(NamedTuple):
    """A projection of velocities at the positions r: from w to v, on the tangent of the loops."""

    r: FloatArray
    w: FloatArray
    v: FloatArray


@routine
def _named_loops(loops):
    if loops is None:
        return None
    return LoopModel(*loops)


@routine
def _named_loop_data(loops):
    if loops is None:
        return None
    return LoopData(*loops)


@inline
def named_model(model):
    """`ReducedModel` of plain tuples."""
    dofs, gravity, coordinates, forces, loops, wrenches, jumps = model
    named = CoordinateModel(*coordinates)
    return ReducedModel(dofs, gravity, named, named_forces(forces), _named_loops(loops), wrenches, jumps)


@inline
def named_data(data):
    """`ReducedData` of plain tuples."""
    head = (CoordinateData(*data[0]), named_modes(data[1]), _named_loop_data(data[2]))
    return ReducedData(*(head + data[3:]))
