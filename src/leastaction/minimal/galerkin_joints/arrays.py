"""Named tuples of the arrays of variational integrators in joint coordinates.

Kernels are f(model, settings, data, ...): models are constant data of the mechanism, settings are those of the
integrator, data is the state and scratch of one robot (copy it for the next robot of a batch).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.arrays import ClosureModel
from leastaction.forces.arrays import ForceModel, ForceModes
from leastaction.minimal.arrays import GuessData, NativeModel
from leastaction.minimal.elimination import LoopSystem
from leastaction.minimal.quadrature_rules import FloatArray, Rule
from leastaction.minimal.substep_rollout import SubstepData

POINT_NODE = np.dtype(
    [
        ("R", "f8", 9),
        ("p", "f8", 3),
        ("v", "f8", 6),  # twist
        ("M", "f8", 10),  # inertia of the node
        ("mu", "f8", 6),  # momentum of its subtree (Definition 1)
        ("G", "f8", 6),  # impulse on its subtree (Definition 2)
        ("C", "f8", 10),  # inertia of its subtree
    ],
    align=True,
)
"""One node at one quadrature point."""

POINT_SCREW = np.dtype([("S", "f8", 6), ("Sp", "f8", 6)], align=True)
"""One degree of freedom at one quadrature point: its screw, and ad(twist of the parent) S."""

POINT_BALL = np.dtype(
    [
        ("start", "f8", 9),  # rotation of the joint at the start of the step
        ("xi", "f8", 3),  # exponential coordinates at this point
        ("rate", "f8", 3),  # their rate
        ("k", "f8", 8),  # see spatial.exponential
        ("phi", "f8", 3),  # rotation vector from the rest of the joint's spring
    ],
    align=True,
)
"""One ball joint at one quadrature point."""


class TreeModel(NamedTuple):
    """A mechanism for kernels at the points of a step, with free joints split into three sliders and a ball joint.

    Attributes:
        nodes, dofs: records of its nodes and degrees of freedom.
        gravity: [m/s^2], shape (3,).
        free: indices of the free joints, see `Tree.free`.
        forces: all forces but gravity.
        closure: loops; None for trees, which excludes them from compilation.
        jumps: True where one-sided forces with dampers act, see `joint_one_sided_forces`; None excludes them from
            compilation.
    """

    nodes: Any
    dofs: Any
    gravity: FloatArray
    free: Any
    forces: ForceModel
    closure: ClosureModel | None
    jumps: bool | None


class GalerkinModel(NamedTuple):
    """A mechanism, for the equations of a step and for its first guesses."""

    tree: TreeModel
    native: NativeModel


class GalerkinSettings(NamedTuple):
    """Settings of the integrator.

    Attributes:
        rule: interpolation and quadrature.
        dt: time step [s].
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        energy: relative tolerance of the energy balance of a step, see `energy_balance`.
        finest: most substeps of a step.
    """

    rule: Rule
    dt: float
    tolerance: float
    max_iterations: int
    energy: float
    finest: int


class PointData(NamedTuple):
    """The mechanism at the Q quadrature points of a step with s + 1 control points, and the equations of the step.

    Attributes:
        nodes: `POINT_NODE` records (Q, nodes).
        screws: `POINT_SCREW` records (Q, nv).
        balls: `POINT_BALL` records (Q, balls).
        Om, P: matrices of ball joints, see `joint_residual`; shapes (Q, balls, s + 1, 9).
        X: control points, shape (s + 1, nv).
        rate: joint velocities, shape (Q, nv).
        force: generalised forces [N m or N], shape (Q, nv).
        external: world wrenches on the nodes, scratch of one point, shape (nodes, 6).
        g: derivative of the discrete action along the control points, shape (s + 1, nv).
        r: residual, shape (s, nv).
        lam: impulses of the loop equations, shape (Q, rows).
        modes: active pieces of one-sided force laws, one row per point.
    """

    nodes: Any
    screws: Any
    balls: Any
    Om: FloatArray
    P: FloatArray
    X: FloatArray
    rate: FloatArray
    force: FloatArray
    external: FloatArray
    g: FloatArray
    r: FloatArray
    lam: FloatArray
    modes: ForceModes


class Variations(NamedTuple):
    """First variations of the equations joint by joint, see `variations`.

    Attributes:
        col: change of z by a control point of a coordinate, shape (nv, s, mz).
        row: weights of momenta and impulses in a row, shape (nv, s, mf); in the recursion (nv, s, wide).
        e: additional weights of the twist, shape (nv, s, 6).
        own: derivatives of a joint's rows by its own coordinates, shape (nv, s, 3, s).
    """

    col: FloatArray
    row: FloatArray
    e: FloatArray
    own: FloatArray


class RecursionData(NamedTuple):
    """Scratch of the O(n) recursion, see `joint_recursion`; `wide` is mf, rounded up to a multiple of `LANES`.

    Attributes:
        var: first variations.
        slots: index of the block A of each node, shape (nodes,), see `minimal.arrays.inherited_slots`.
        begun: whether a node's block contains responses of children, shape (nodes,).
        A, l: response f = A^T z + l of the subtrees, shapes (slots, mf, wide) and (nodes, mf).
        z: variations of the nodes without those of the last pose, shape (nodes, mf).
        X: coordinates per variation of the parent, shape (nv, s, mf).
        H: shape (nv, s, wide).
        Lam: equations of one joint, shape (3 s, 6 s).
        inverse: of those of each joint, shape (nv, s, 3 s).
        y: right-hand side of one joint, shape (3 s,).
    """

    var: Variations
    slots: NDArray[np.int64]
    begun: NDArray[np.bool_]
    A: FloatArray
    l: FloatArray
    z: FloatArray
    X: FloatArray
    H: FloatArray
    Lam: FloatArray
    inverse: FloatArray
    y: FloatArray


class SparseData(NamedTuple):
    """Scratch of the tree-sparse factorisation over scalar nodes (coordinate, control point), see `tree_sparse_ldu`.

    Attributes:
        var: first variations.
        depth: number of coordinates above each coordinate, shape (nv,).
        ancestors: scalar nodes above each scalar node, root first, shape (s nv, s reach).
        LU: rows of U and columns of L over the ancestors, shape (2, s nv, s reach).
        D: diagonal, shape (s nv,).
        cols, rows: variations along the path to the root, shapes (s, mz, reach) and (s, mf, reach).
        up, down: weights of one coordinate's rows and columns, shape (s, 6 Q + 6).
        line: products along a path, shape (reach,).
        x: right-hand side, shape (s nv,).
    """

    var: Variations
    depth: Any
    ancestors: Any
    LU: FloatArray
    D: FloatArray
    cols: FloatArray
    rows: FloatArray
    up: FloatArray
    down: FloatArray
    line: FloatArray
    x: FloatArray


class HessianData(NamedTuple):
    """All second derivatives of the discrete action, see `joint_hessian`.

    Attributes:
        col, row: columns and rows of all coordinates and control points, shape (nv, s + 1, 12 Q).
        up, down: weights of one coordinate's rows and columns, shape (s + 1, 12 Q).
        D: the blocks, shape (s + 1, nv, s + 1, nv).
        T, dV, dF: displacements, twist changes and changes of the wrenches of the nodes, shape (nodes, 6).
    """

    col: FloatArray
    row: FloatArray
    up: FloatArray
    down: FloatArray
    D: FloatArray
    T: FloatArray
    dV: FloatArray
    dF: FloatArray


class QuasiData(NamedTuple):
    """Records of the classical recursions, at zero velocity, see `lee2016`."""

    links: Any
    screws: Any
    external: FloatArray
    zero3: FloatArray
    zero: FloatArray


class DenseData(NamedTuple):
    """Scratch of Gaussian elimination of the whole Jacobian J (s nv, s nv), with the right-hand side b (s nv, 1)."""

    hessian: HessianData
    J: FloatArray
    b: FloatArray


class SimplifiedData(NamedTuple):
    """Scratch of `simplified_newton`.

    Attributes:
        A: articulated inertias, shape (nodes, 21).
        U, D: factors of the degrees of freedom, shapes (nv, 6) and (nv,).
        f: wrenches, then accelerations, shape (nodes, 6).
        inverse: of the matrix K of the rule, shape (s, s).
        F: update, shape (s, nv).
        oldX, oldF: the last two control points and updates, shape (2, s, nv).
    """

    A: FloatArray
    U: FloatArray
    D: FloatArray
    f: FloatArray
    inverse: FloatArray
    F: FloatArray
    oldX: FloatArray
    oldF: FloatArray


class StepData(NamedTuple):
    """State and scratch of one robot.

    Attributes:
        points: the mechanism at the quadrature points.
        guess: first guesses.
        solver: scratch of the solver for the Newton direction.
        sweeps: scratch of `simplified_newton`; None if unused.
        p: momentum with split free joints, shape (nv,).
        dx: Newton update, shape (s, nv).
        history: residual norms of the last attempt, shape (max_iterations + 1,).
        substep: the current substep; None until there are steps.
        loops: scratch of loop equations; None without.
    """

    points: PointData
    guess: GuessData
    solver: Any
    sweeps: SimplifiedData | None
    p: FloatArray
    dx: FloatArray
    history: FloatArray
    substep: SubstepData | None = None
    loops: LoopData | None = None


class LinearData(NamedTuple):
    """Scratch of `joint_linearization`.

    Attributes:
        hessian: the blocks D.
        C: derivative of the rows by the controls, shape (s + 1, nv, nu).
        J: derivative of the residual by the control points after the first, shape (s nv, s nv).
        Y: derivatives of these control points, shape (s nv, 2 nv + nu).
        W: derivatives of the end of the step, shape (2 nv, 2 nv + nu).
        y, bar: the same transposed, for one gradient: shapes (s nv, 1) and (2, 2 nv).
    """

    hessian: HessianData
    C: FloatArray
    J: FloatArray
    Y: FloatArray
    W: FloatArray
    y: FloatArray
    bar: FloatArray


class LoopData(NamedTuple):
    """Scratch of steps with m loop equations, see `joint_loops`.

    Attributes:
        settings: those of the step, with the Lobatto rule through its control points.
        points: the mechanism at the control points; for Galerkin the points of the step itself.
        hessian: rows and columns there.
        p: momentum at the start plus the impulse of the loops there, for rules without a point at the start.
        system: the equations, see `elimination`.
    """

    settings: GalerkinSettings
    points: PointData
    hessian: HessianData
    p: FloatArray
    system: LoopSystem


class ForceRows(NamedTuple):
    """Arrays for the derivatives of one wrench at one quadrature point; see `body_force_hessian`.

    Attributes:
        nodes: records of the tree.
        links: `POINT_NODE` records of the point.
        row, D: of `HessianData`.
        at: offset of the point's pose variations in `row`.
        weight: [s] of forces, 1 of impulses.
    """

    nodes: Any
    links: Any
    row: FloatArray
    D: FloatArray
    at: int
    weight: float


class ForceColumn(NamedTuple):
    """Column of control point `other` of degree of freedom k, which changes the node's pose by T and its twist by V."""

    node: int
    k: int
    other: int
    T: Any
    V: Any
