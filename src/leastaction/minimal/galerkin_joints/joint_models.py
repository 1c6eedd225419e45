"""Constructors of the models and data in `arrays` for a mechanism and a rule."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction.forces.arrays import compact, force_model, force_modes, has_jumps
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.minimal.arrays import closure_model, inherited_slots, native_model, records
from leastaction.minimal.elimination import loop_system
from leastaction.minimal.galerkin_joints.arrays import (
    POINT_BALL,
    POINT_NODE,
    POINT_SCREW,
    DenseData,
    GalerkinModel,
    GalerkinSettings,
    HessianData,
    LinearData,
    LoopData,
    PointData,
    QuasiData,
    RecursionData,
    SimplifiedData,
    SparseData,
    TreeModel,
    Variations,
)
from leastaction.minimal.galerkin_joints.newton.tree_sparse_ldu import tables
from leastaction.minimal.quadrature_rules import Rule, lobatto

LANES = 8
"""SIMD width: rows of the products in the recursion are padded with zeros to multiples of it."""


def galerkin_model(mechanism: Mechanism) -> GalerkinModel:
    """The `GalerkinModel` of a mechanism."""
    split = mechanism.split_tree
    forces = compact(force_model(split))
    # One kernel for all robots with body forces, discontinuous or not.
    jumps = True if has_jumps(forces) or forces.paths is not None else None
    tree = TreeModel(split.nodes, split.dofs, split.gravity, split.free, forces, closure_model(split), jumps)
    return GalerkinModel(tree, native_model(mechanism.tree))


class Sizes(NamedTuple):
    """Sizes of the arrays of a step.

    Attributes:
        n, nv: nodes and degrees of freedom of the split tree.
        s: control points after the first.
        Q: quadrature points.
        mz, mf: entries of the stacked variations z and f, see `variations`.
    """

    n: int
    nv: int
    s: int
    Q: int
    mz: int
    mf: int


def sizes(model: TreeModel, rule: Rule) -> Sizes:
    """Sizes of the arrays for a mechanism and a rule."""
    s, Q = len(rule.c) - 1, len(rule.w)
    nodal = s + 1 == Q
    return Sizes(len(model.nodes), len(model.dofs), s, Q, 6 * (2 * s + 1) if nodal else 12, 12 * s if nodal else 12)


def point_data(model: TreeModel, rule: Rule) -> PointData:
    """Arrays of the mechanism at the quadrature points."""
    n, nv, s, Q, _, _ = sizes(model, rule)
    balls = int((model.nodes.ball >= 0).sum())
    return PointData(
        nodes=records((Q, n), POINT_NODE),
        screws=records((Q, nv), POINT_SCREW),
        balls=records((Q, balls), POINT_BALL),
        Om=np.zeros((Q, balls, s + 1, 9)),
        P=np.zeros((Q, balls, s + 1, 9)),
        X=np.zeros((s + 1, nv)),
        rate=np.zeros((Q, nv)),
        force=np.zeros((Q, nv)),
        external=np.zeros((n, 6)),
        g=np.zeros((s + 1, nv)),
        r=np.zeros((s, nv)),
        lam=np.zeros((Q, len(model.closure.rows) if model.closure else 0)),
        modes=force_modes(model.forces, rows=Q),
    )


def _variations(size: Sizes, wide: int) -> Variations:
    nv, s = size.nv, size.s
    shapes = ((nv, s, size.mz), (nv, s, wide), (nv, s, 6), (nv, s, 3, s))
    return Variations(*(np.zeros(shape) for shape in shapes))


def recursion_data(model: TreeModel, size: Sizes) -> RecursionData:
    """Arrays for `newton_directions.recursive`."""
    n, nv, s, _, _, mf = size
    wide = -(-mf // LANES) * LANES
    slots = inherited_slots(model.nodes.parent)
    blocks = (int(slots.max(initial=-1)) + 1, mf, wide)
    shapes = (blocks, (n, mf), (n, mf), (nv, s, mf), (nv, s, wide), (3 * s, 6 * s), (nv, s, 3 * s), (3 * s,))
    return RecursionData(_variations(size, wide), slots, np.zeros(n, np.bool_), *(np.zeros(shape) for shape in shapes))


def sparse_data(model: TreeModel, size: Sizes) -> SparseData:
    """Arrays for `newton_directions.tree_sparse`."""
    _, nv, s, Q, mz, mf = size
    depth, ancestors, reach = tables(model.nodes, nv, s)
    return SparseData(
        var=_variations(size, mf),
        depth=depth,
        ancestors=ancestors,
        LU=np.zeros((2, s * nv, s * reach)),
        D=np.zeros(s * nv),
        cols=np.zeros((s, mz, reach)),
        rows=np.zeros((s, mf, reach)),
        up=np.zeros((s, 6 * Q + 6)),
        down=np.zeros((s, 6 * Q + 6)),
        line=np.zeros(reach),
        x=np.zeros(s * nv),
    )


def hessian_data(size: Sizes) -> HessianData:
    """Arrays for `joint_hessian`."""
    S, nv, width = size.s + 1, size.nv, 12 * size.Q
    nodes = (size.n, 6)
    shapes = ((nv, S, width), (nv, S, width), (S, width), (S, width), (S, nv, S, nv), nodes, nodes, nodes)
    return HessianData(*(np.zeros(shape) for shape in shapes))


def dense_data(size: Sizes) -> DenseData:
    """Arrays for `newton_directions.dense`."""
    m = size.s * size.nv
    return DenseData(hessian_data(size), np.zeros((m, m)), np.zeros((m, 1)))


def quasi_data(size: Sizes) -> QuasiData:
    """Arrays for `lee2016`."""
    n, nv = size.n, size.nv
    return QuasiData(records(n, LINK), records(nv, JOINT_SCREW), np.zeros((n, 6)), np.zeros(3), np.zeros(nv))


def simplified_data(size: Sizes, rule: Rule) -> SimplifiedData:
    """Arrays for `simplified_newton`."""
    n, nv, s = size.n, size.nv, size.s
    K = np.einsum("a,ar,ac->rc", rule.w, rule.b[:, :-1], rule.b[:, 1:])
    return SimplifiedData(
        A=np.zeros((n, 21)),
        U=np.zeros((nv, 6)),
        D=np.zeros(nv),
        f=np.zeros((n, 6)),
        inverse=np.linalg.inv(K),
        F=np.zeros((s, nv)),
        oldX=np.zeros((2, s, nv)),
        oldF=np.zeros((2, s, nv)),
    )


def solver_data(name: str, model: TreeModel, rule: Rule) -> Any:
    """Arrays for the solver of the Newton direction with this name."""
    size = sizes(model, rule)
    if name == "recursive":
        return recursion_data(model, size)
    if name == "sparse":
        return sparse_data(model, size)
    return quasi_data(size) if name == "quasi" else dense_data(size)


def linear_data(model: TreeModel, rule: Rule, nu: int) -> LinearData:
    """Arrays for `joint_linearization` of a mechanism with nu controls."""
    size = sizes(model, rule)
    n, m = size.nv, size.s * size.nv
    shapes = ((size.s + 1, n, nu), (m, m), (m, 2 * n + nu), (2 * n, 2 * n + nu), (m, 1), (2, 2 * n))
    return LinearData(hessian_data(size), *(np.zeros(shape) for shape in shapes))


def loop_data(model: TreeModel, settings: GalerkinSettings, points: PointData, hessian: HessianData) -> LoopData:
    """Arrays for `joint_loops`, with the points and second derivatives of the step."""
    assert model.closure is not None
    s, nv, count = len(settings.rule.c) - 1, len(model.dofs), model.closure.count
    ends = settings._replace(rule=lobatto(s))
    if len(settings.rule.w) != s + 1:
        hessian = hessian_data(sizes(model, ends.rule))
        points = point_data(model, ends.rule)._replace(X=points.X)
    return LoopData(ends, points, hessian, np.zeros(nv), loop_system(s, nv, count))
