"""Named tuples of the arrays of the body-wise kernels: model, data and settings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.arrays import ClosureModel
from leastaction.forces.arrays import (
    ForceModel,
    ForceModes,
    compact,
    force_model,
    force_modes,
    has_jumps,
    slows_bodies,
    ties_bodies,
)
from leastaction.mechanism import Mechanism
from leastaction.minimal.arrays import GuessData, NativeModel, block_slots, closure_model, floating_trees
from leastaction.minimal.convergence import round_off
from leastaction.minimal.elimination import LoopSystem
from leastaction.minimal.floating_origin import shiftable_trees
from leastaction.minimal.galerkin_bodies.feature_flags import KernelFeatures
from leastaction.minimal.galerkin_bodies.newton.simd_blocks import packs_of
from leastaction.minimal.galerkin_bodies.spherical_joints import BALL
from leastaction.minimal.quadrature_rules import lobatto
from leastaction.minimal.substep_rollout import SubstepData
from leastaction.spatial.exponential import UNTURNED
from leastaction.typing import FloatArray

BODY_AT_NODE = np.dtype(
    [
        ("R", "f8", 9),  # world from tree node: rotation, row major
        ("p", "f8", 3),  # origin of the tree node [m]
        ("v", "f8", 6),  # twist in the world, about its origin; only where forces depend on it
        ("x", "f8", 3),  # centre of mass [m]
        ("f", "f8", 3),  # force of kinetic energy and gravity
        ("F", "f8", 6),  # wrench of the discrete Lagrangian about the world's origin; then of the whole subtree
        ("e", "f8", 3),  # f predicted after the next Newton update; only at inner nodes
        ("E", "f8", 6),  # predicted wrench of the whole subtree
    ],
    align=True,
)
"""One body at one node of the step; tree nodes are called bodies here, "node" means a time."""


TURN = np.dtype(
    [
        (
            "y",
            "f8",
            3,
        ),  # rotation vector since the start of the step, of bodies in world axes, of joints in the child's [rad]
        ("g", "f8", 3),  # derivative of the rotational energy by y
        ("k", "f8", 8),  # coefficients of `spatial.exponential`; at order 2 only the last two
    ],
    align=True,
)
"""Rotation of one body at one node."""


class GalerkinBodiesRule(NamedTuple):
    """Lobatto nodes and the coefficients of interpolation.

    Attributes:
        c: nodes in [0, 1], shape (s + 1,).
        w: weights, shape (s + 1,).
        b: dx/dt at node alpha is sum_j b[alpha, j] x_j / dt, shape (s + 1, s + 1).
        m: kinetic energy of a point: m / (2 dt) sum_jk m[j, k] x_j . x_k, shape (s + 1, s + 1).
        z: stabilisation of stiff servos, see `quadrature_rules.stiff_correction`; shape (s + 1,).
    """

    c: FloatArray
    w: FloatArray
    b: FloatArray
    m: FloatArray
    z: FloatArray


class GalerkinBodiesModel(NamedTuple):
    """Constant data of a mechanism and an order for kernels.

    Attributes:
        native: mechanism for first guesses.
        nodes: `tree.NODE` records, called bodies here.
        dofs: `tree.DOF` records.
        gravity: [m/s^2], shape (3,).
        rule: of the order.
        forces: of the mechanism.
        closure: loops, couplings and rolling contacts; None for trees.
        jumps: True where one-sided forces may be discontinuous, else None; see `body_one_sided_forces`.
        sprung: whether joints have springs, dampers or compliant limits.
        damped: whether some of them depend on joint velocities.
        geared: whether drives have armatures.
        balled: whether there are ball joints, about which bodies may rotate with little inertia.
        noise: Newton updates [rad or m] that are round-off, see `convergence.round_off`.
        pushed: whether some force acts on bodies.
        tied: whether some of these may couple two bodies, which the recursion does not support.
        slowed: whether some of these depend on velocities.
        slots: index of the articulated block of each body, shape (bodies,), see `minimal.arrays.block_slots`.
        ways: all features, or those of `feature_flags.needed_features`.
    """

    native: NativeModel
    nodes: Any
    dofs: Any
    gravity: FloatArray
    rule: GalerkinBodiesRule
    forces: ForceModel
    closure: ClosureModel | None
    jumps: bool | None
    sprung: bool
    damped: bool
    geared: bool
    balled: bool
    noise: float
    pushed: bool
    tied: bool
    slowed: bool
    slots: NDArray[np.int64]
    ways: KernelFeatures


class BodyHessianData(NamedTuple):
    """Dense derivatives of the equations of one robot, and scratch for them; see `body_hessian`.

    Attributes:
        H: by displacements, shape (s + 1, nv, s + 1, nv).
        C: by controls, shape (s + 1, nv, nu).
        A: blocks of bodies at all nodes, shape (bodies, 6 (s + 1), 6 (s + 1)).
        up, down: products of blocks with one screw, shape (s + 1, s + 1, 6).
        T, dV, out: displacements, twist changes and wrench changes of bodies, shape (bodies, 6).
        moves: mask of the bodies that a joint moves, shape (bodies,).
        unit: a unit control, shape (nu,).
        J: matrix of the equations of a step, shape (s nv, s nv).
        rhs: its right-hand sides, shape (s nv, 2 nv + nu).
        row: shape (nv,).
        g: gradients of a tendon's length at the nodes, shape (s + 1, nv).
    """

    H: FloatArray
    C: FloatArray
    A: FloatArray
    up: FloatArray
    down: FloatArray
    T: FloatArray
    dV: FloatArray
    out: FloatArray
    moves: NDArray[np.bool_]
    unit: FloatArray
    J: FloatArray
    rhs: FloatArray
    row: FloatArray
    g: FloatArray


class BodyForceBlocks(NamedTuple):
    """Body forces of one robot in the recursion, and scratch for them; see `body_force_blocks`.

    Attributes:
        on: whether some force acts on a body, shape (bodies,).
        K, D: changes of its wrench at a node by displacements and by twists there, shape (s, bodies, 6, 6).
        F: impulses of these wrenches, shape (s, bodies, 6).
        T, dV, out: displacements, twist changes and wrench changes of bodies, shape (bodies, 6).
    """

    on: NDArray[np.bool_]
    K: FloatArray
    D: FloatArray
    F: FloatArray
    T: FloatArray
    dV: FloatArray
    out: FloatArray


class GalerkinBodiesData(NamedTuple):
    """State and scratch of one robot.

    Attributes:
        bodies: `BODY_AT_NODE` records, shape (s + 1, bodies).
        S: world twists of unit joint velocities, shape (s + 1, nv, 6).
        Q: joint positions at the nodes, shape (s + 1, nq).
        V: joint velocities at the nodes, shape (s + 1, nv); only where forces depend on them.
        turns: `TURN` records of the bodies, shape (s + 1, bodies); zero at the first node.
        joint_turns: the same of ball and free joints, by their bodies, relative to the joint's first orientation.
        G: second derivatives of the rotational energy of one body by y, shape (s + 1, s + 1, 9).
        held: generalised forces of the controls at the nodes, shape (s + 1, nv).
        tau: all generalised forces at one node, shape (nv,).
        external: wrenches of body forces at one node, shape (bodies, 6).
        inertias: of the bodies about their centres of mass at the first node, in world axes, shape (bodies, 6).
        lam: impulses of the loop equations at the nodes, shape (s + 1, equations).
        r: residuals, shape (s, nv).
        dx: Newton update, shape (s, nv).
        A: articulated blocks: rows at nodes 0 ... s - 1, columns at 1 ... s, shape (slots, 6 s, 6 s).
        ball: scratch for one ball joint at order 4, see `spherical_joints.BALL`.
        packs: eight bodies each at order 4, see `simd_blocks.PACK`; none at other orders.
        begun: whether a body's block has been written, shape (bodies,).
        beta: articulated wrenches, and twists of the update, shape (2, bodies, 6 s).
        U: A S, one row for each degree of freedom and node, shape (nv, s, 6 s).
        W: D^-1 S B of the recursion: reduction of an update per twist of the parent, shape (nv, s, 6 s).
        X: D^-1 times slopes of impulses in a joint by its degrees of freedom and nodes, shape (nv, s, 6 s).
        K: slopes of rows by the preceding degrees of freedom of the joint, shape (nv, s, 6 s).
        inverse: D^-1 of each degree of freedom, shape (nv, s, s).
        D: block of one degree of freedom, and its inverse, shape (2, s, s).
        t: updates for a fixed parent, shape (nv, s); rest: those of one degree of freedom before D^-1, shape (s,).
        old_S: S at the last elimination; not of ball joints at order 4, which need none.
        local: slopes of the impulses in one joint, shape (6 (s + 1), 6 (s + 1)), see `joint_velocities`.
        guess: scratch of first guesses.
        dense: dense derivatives; None until requested.
        pushes: body forces in the recursion; None where there are none.
        modes: of one-sided forces, one row for each node.
        history: residual norms of the iterations.
        substep: the current substep; None until there are steps.
        loops: scratch of loop equations; None without.
    """

    bodies: Any
    S: FloatArray
    Q: FloatArray
    V: FloatArray
    turns: Any
    joint_turns: Any
    G: FloatArray
    held: FloatArray
    tau: FloatArray
    external: FloatArray
    inertias: FloatArray
    lam: FloatArray
    r: FloatArray
    dx: FloatArray
    A: FloatArray
    ball: Any
    packs: Any
    begun: NDArray[np.bool_]
    beta: FloatArray
    U: FloatArray
    W: FloatArray
    X: FloatArray
    K: FloatArray
    inverse: FloatArray
    D: FloatArray
    t: FloatArray
    rest: FloatArray
    old_S: FloatArray
    local: FloatArray
    guess: GuessData
    dense: BodyHessianData | None
    pushes: BodyForceBlocks | None
    modes: ForceModes
    history: FloatArray
    substep: SubstepData | None = None
    loops: LoopSystem | None = None


class BodyMotion(NamedTuple):
    """Motion of bodies over a step, as in `GalerkinBodiesData`; or dual numbers, with its changes."""

    bodies: Any
    turns: Any
    G: FloatArray


class GalerkinBodiesSettings(NamedTuple):
    """Settings of the integrator.

    Attributes:
        dt: time step [s].
        tolerance: of the Newton updates [rad or m].
        max_iterations: from each first guess.
        energy: relative tolerance of the energy balance of a step, see `energy_balance`.
        finest: most substeps of a step.
    """

    dt: float
    tolerance: float
    max_iterations: int
    energy: float
    finest: int


def galerkin_bodies_rule(s: int) -> GalerkinBodiesRule:
    """The rule of order 2 s."""
    c, w, b, z = lobatto(s)
    m = np.einsum("a,aj,ak->jk", w, b, b)
    # Rows must sum to exactly zero, or each step would add the same error to the momentum. So entries are rounded to
    # multiples of a number so large that their sums are exact.
    grain = 2.0 ** (np.ceil(np.log2(np.abs(m).max())) - 48)
    m = grain * np.round(0.5 * (m + m.T) / grain)
    np.fill_diagonal(m, 0.0)
    np.fill_diagonal(m, -m.sum(axis=1))
    return GalerkinBodiesRule(c, w, b, np.ascontiguousarray(m), z)


def galerkin_bodies_model(mechanism: Mechanism, s: int) -> GalerkinBodiesModel:
    """The `GalerkinBodiesModel` of a mechanism for order 2 s."""
    t = mechanism.tree
    d = t.dofs
    damped = bool(d.damping.any() or d.limit_damping.any())
    forces = compact(force_model(t))
    pushed = forces.paths is not None or bool(((forces.drives.dof < 0) & (forces.drives.node >= 0)).any())
    closure = closure_model(t)
    if pushed or closure:
        forces = force_model(t)._replace(touched=forces.touched)  # one kernel for all forces
    jumps = True if has_jumps(forces) or forces.paths is not None else None
    return GalerkinBodiesModel(
        native=NativeModel(t.nodes, d, t.gravity, forces, closure, floating_trees(t), shiftable_trees(t)),
        nodes=t.nodes,
        dofs=d,
        gravity=t.gravity,
        rule=galerkin_bodies_rule(s),
        forces=forces,
        closure=closure,
        jumps=jumps,
        sprung=damped or bool(d.stiffness.any() or d.limit_stiffness.any()),
        damped=damped,
        geared=bool(d.armature.any()),
        balled=bool((t.nodes.nv == 3).any()),
        noise=round_off(t.nodes),
        pushed=pushed,
        tied=ties_bodies(forces),
        slowed=slows_bodies(forces),
        slots=block_slots(t.nodes.parent),
        ways=KernelFeatures(True, True, True, True, True),
    )


def _turns(s: int, bodies: int) -> Any:
    turns = np.zeros((s + 1, bodies), TURN).view(np.recarray)
    turns.k = UNTURNED
    return turns


def galerkin_bodies_data(
    model: GalerkinBodiesModel, guess: GuessData, max_iterations: int, dense: bool
) -> GalerkinBodiesData:
    """Zeroed arrays for one robot, with or without those of `BodyHessianData`."""
    s, n, nv = len(model.rule.c) - 1, len(model.nodes), len(model.dofs)
    nq, m = len(model.forces.rest), 6 * s
    z = np.zeros
    return GalerkinBodiesData(
        bodies=z((s + 1, n), BODY_AT_NODE).view(np.recarray),
        S=z((s + 1, nv, 6)),
        Q=z((s + 1, nq)),
        V=z((s + 1, nv)),
        turns=_turns(s, n),
        joint_turns=_turns(s, n),
        G=z((s + 1, s + 1, 9)),
        held=z((s + 1, nv)),
        tau=z(nv),
        external=z((n, 6)),
        inertias=z((n, 6)),
        lam=z((s + 1, model.closure.count if model.closure else 0)),
        r=z((s, nv)),
        dx=z((s, nv)),
        A=z((model.slots.max(initial=-1) + 1, m, m)),
        ball=z(1, BALL).view(np.recarray),
        packs=packs_of(n if s == 2 else 0),
        begun=z(n, np.bool_),
        beta=z((2, n, m)),
        U=z((nv, s, m)),
        W=z((nv, s, m)),
        X=z((nv, s, m)),
        K=z((nv, s, m)),
        inverse=z((nv, s, s)),
        D=z((2, s, s)),
        t=z((nv, s)),
        rest=z(s),
        old_S=z((s + 1, nv, 6)),
        local=z((m + 6, m + 6)),
        guess=guess,
        dense=body_hessian_data(model) if dense else None,
        pushes=body_force_blocks(model) if model.pushed and not model.tied else None,
        modes=force_modes(model.forces, rows=s + 1),
        history=z(max_iterations + 1),
    )


def body_force_blocks(model: GalerkinBodiesModel) -> BodyForceBlocks:
    """Zeroed arrays for the body forces of one robot."""
    s, n = len(model.rule.c) - 1, len(model.nodes)
    on = np.zeros(n, np.bool_)
    drives = model.forces.drives
    on[model.forces.touched] = True
    on[drives.node[(drives.dof < 0) & (drives.node >= 0)]] = True
    shapes = ((s, n, 6, 6), (s, n, 6, 6), (s, n, 6), (n, 6), (n, 6), (n, 6))
    return BodyForceBlocks(on, *(np.zeros(shape) for shape in shapes))


def body_hessian_data(model: GalerkinBodiesModel) -> BodyHessianData:
    """Zeroed arrays for the dense derivatives of one robot."""
    nodes, n, nv, nu = len(model.rule.c), len(model.nodes), len(model.dofs), len(model.forces.drives)
    z = np.zeros
    return BodyHessianData(
        H=z((nodes, nv, nodes, nv)),
        C=z((nodes, nv, nu)),
        A=z((n, 6 * nodes, 6 * nodes)),
        up=z((nodes, nodes, 6)),
        down=z((nodes, nodes, 6)),
        T=z((n, 6)),
        dV=z((n, 6)),
        out=z((n, 6)),
        moves=z(n, np.bool_),
        unit=z(nu),
        J=z(((nodes - 1) * nv, (nodes - 1) * nv)),
        rhs=z(((nodes - 1) * nv, 2 * nv + nu)),
        row=z(nv),
        g=z((nodes, nv)),
    )
