"""What the kernels of the adjoint method write beside the data of a robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import inline
from leastaction.forces.arrays import ForceGradients, force_gradients
from leastaction.redmax.reduced_model import Reduced
from leastaction.typing import FloatArray

COTANGENT = np.dtype([("W", "f8", 6), ("alpha", "f8", 6), ("beta", "f8", 6), ("M", "f8", 10)], align=True)
"""Per node: virtual twist, sums over its subtree, and its own inertia (the Newton matrix destroys that of links)."""


class ParameterGradients(NamedTuple):
    """Gradients by the numbers that kernels read.

    Attributes:
        inertias: by each node's mass, first moment and inertia about its origin, in its frame, shape (nodes, 10).
        placements: by displacements of each node's placement, twists in its parent's frame, shape (nodes, 6).
        coordinates: by stiffness, rest, damping, armature, lower and upper limit, stiffness and damping of the limits
            of each degree of freedom, shape (nv, 8).
        forces: by the parameters of body forces.
        gravity: shape (3,).
        rows: by displacements of the placement of each row of a loop (a twist in its parent node's frame), and by
            stiffness, damping and rest of soft rows, shape (rows, 9).
        drives: by the drive inertias of balls, shape (balls, 3).
    """

    inertias: FloatArray
    placements: FloatArray
    coordinates: FloatArray
    forces: ForceGradients
    gravity: FloatArray
    rows: FloatArray
    drives: FloatArray

    @classmethod
    def zeros(cls, reduced: Reduced) -> ParameterGradients:
        """Nothing yet."""
        t = reduced.tree
        return cls(
            inertias=np.zeros((len(t.nodes), 10)),
            placements=np.zeros((len(t.nodes), 6)),
            coordinates=np.zeros((reduced.nr, 8)),
            forces=force_gradients(reduced.model.forces),
            gravity=np.zeros(3),
            rows=np.zeros((len(reduced.rows), 9)),
            drives=np.zeros((len(reduced.coordinates.model.balls), 3)),
        )


class ReverseData(NamedTuple):
    """Scratch of one robot's backward pass.

    Attributes:
        cot: `COTANGENT` records of the nodes.
        zn, an, vn: virtual velocities of the nodes, gradients by their accelerations and velocities, shape (nv,).
        z: multipliers of the equations of motion and of the loops, shape (nr + m,).
        yv, ya: gradients by rates and accelerations, shape (nr,).
        x2, v2: the state after a step in the charts of the state before it, shape (nr,).
        bx, bv: gradients by the end state of a stage, shape (nr,).
        bP, bPv: gradients by its predictors, shape (nr,).
        ba, bva: gradients by the end of the first of two stages, shape (nr,).
        w: velocity before a projection, shape (nr,).
        still: zeros, shape (nr,).
        ra, va, lama: state and multipliers at the end of a stage that is solved again, shapes (nr,) and (m,).
        dv, mu: what a projection adds to a velocity, and its multipliers, shapes (nr,) and (m,).
        zp: multipliers of the equations of a projection, shape (nr + m,).
        lamp: multipliers of loops for the slopes of a projection, shape (m,).
    """

    cot: Any
    zn: FloatArray
    an: FloatArray
    vn: FloatArray
    z: FloatArray
    yv: FloatArray
    ya: FloatArray
    x2: FloatArray
    v2: FloatArray
    bx: FloatArray
    bv: FloatArray
    bP: FloatArray
    bPv: FloatArray
    ba: FloatArray
    bva: FloatArray
    w: FloatArray
    still: FloatArray
    ra: FloatArray
    va: FloatArray
    lama: FloatArray
    dv: FloatArray
    mu: FloatArray
    zp: FloatArray
    lamp: FloatArray

    @classmethod
    def zeros(cls, reduced: Reduced, multipliers: int) -> ReverseData:
        """For one robot."""
        t, n, m = reduced.tree, reduced.nr, multipliers
        cot: Any = np.zeros(len(t.nodes), COTANGENT).view(np.recarray)
        sizes = {"zn": t.nv, "an": t.nv, "vn": t.nv, "z": n + m, "zp": n + m, "lama": m, "mu": m, "lamp": m}
        return cls(cot, *(np.zeros(sizes.get(name, n)) for name in cls._fields[1:]))


class Stage(NamedTuple):
    """One stage of a step, as the adjoint sees it.

    Attributes:
        gamma: its share of the step [s].
        u: controls, shape (nu,).
        bu: gradients by them, shape (nu,).
        wanted: whether gradients by parameters of bodies and joints are asked for.
    """

    gamma: float
    u: FloatArray
    bu: FloatArray
    wanted: bool


class RunGradients(NamedTuple):
    """Gradients along a run, one row per time or step.

    Attributes:
        BX, BV: by reduced coordinates and rates, shape (steps + 1, nr).
        U: controls, shape (steps, nu).
        BU: gradients by them, shape (steps, nu).
        wanted: whether gradients by parameters of bodies and joints are asked for.
    """

    BX: FloatArray
    BV: FloatArray
    U: FloatArray
    BU: FloatArray
    wanted: bool


@inline
def named_gradients(grads):
    """`ParameterGradients` of plain tuples, in entry points."""
    inertias, placements, coordinates, forces, gravity, rows, drives = grads
    return ParameterGradients(inertias, placements, coordinates, ForceGradients(*forces), gravity, rows, drives)
