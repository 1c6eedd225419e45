"""Arrays of the derivative kernels, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline
from leastaction.forces.arrays import ForceGradients

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SolvedStep(NamedTuple):
    """State and unknowns of a solved step.

    Attributes:
        poses, momenta: at its start, shapes (bodies, 7) and (bodies, 6).
        velocities: within it, shape (bodies, 6).
        near: coordinates of the model, including full turns of angles.
        q: joint positions of these poses, shape (nq,).
        u: controls at both ends, shape (2, nu).
    """

    poses: Floats
    momenta: Floats
    velocities: Floats
    near: Floats
    q: Floats
    u: Floats


class PoseInputs(NamedTuple):
    """Arguments of `pose_outputs`.

    Attributes:
        poses, momenta: of the bodies.
        near: coordinates of the model, including full turns of angles.
        q: joint positions of these poses.
        twists: of the bodies, fixed, shape (bodies, 6).
        mu: impulses of the rows, fixed.
    """

    poses: Floats
    momenta: Floats
    near: Floats
    q: Floats
    twists: Floats
    mu: Floats


VIRTUAL_TWIST = np.dtype([("W", "f8", 6)], align=True)
"""Virtual twist of a body, see `forces.points`."""


class Rows(NamedTuple):
    """States of bodies and joints, one row per time: see `MaximalRecord`."""

    poses: Floats
    momenta: Floats
    velocities: Floats
    q: Floats


class ParameterTape(NamedTuple):
    """Data of the backward pass for gradients by parameters: one slot per substep, the last step first.

    Attributes:
        y: minus the gradient by the residuals, in the order of the graph; no slots where none are wanted.
        ended: gradient by the momenta at the end; zeta: by the impulses of the cones, shape (slots, bodies, 6).
        poses, momenta, velocities, before, q, impulses: the state at which it was solved, and its unknowns.
        goals: prescribed motions at both ends, shape (slots, 2, numbers).
        count, cones, contacts: those of its solution.
        twists, by_projection, by_held: velocities at its end and joint impulses there, gradient by their equations, and
            gradient by the momenta before these; zero without a projection.
        end_poses, end_q, end_count, end_cones: the same at its end; no cones where none is closed.
        step: the step whose q and p belong to its start, -1 for none; read_momenta: the momenta of which p is computed.
    """

    y: Floats
    ended: Floats
    zeta: Floats
    poses: Floats
    momenta: Floats
    velocities: Floats
    before: Floats
    q: Floats
    impulses: Floats
    goals: Floats
    count: Integers
    cones: Any
    contacts: Any
    twists: Floats
    by_projection: Floats
    by_held: Floats
    end_poses: Floats
    end_q: Floats
    end_count: Integers
    end_cones: Any
    step: Integers
    read_momenta: Floats


IMPACT = np.dtype(
    [
        ("step", "i8"),  # step of the impact
        ("key", "i8"),  # key of the contact whose gap determines its time
        ("by_gap", "f8"),  # gradient by that gap [per m]
        ("dt", "f8"),  # length of the substep that starts or ends at it [s]
    ],
    align=True,
)
"""An impact, for gradients by parameters."""


class ImpactTape(NamedTuple):
    """Impacts in the backward pass, for gradients by parameters.

    Attributes:
        count: number of impacts, shape (1,).
        impacts: `IMPACT` records; without records none are stored.
        poses, momenta, velocities, q, goals: the state before it.
        bars: gradient by the momenta after it, shape (impacts, bodies, 6); zero where only the gap counts.
    """

    count: Integers
    impacts: Any
    poses: Floats
    momenta: Floats
    velocities: Floats
    q: Floats
    goals: Floats
    bars: Floats


class BackData(NamedTuple):
    """A run, the gradients by its states, and scratch for the backward pass over it (`adjoint_kernels.adjoint_sweep`).

    Attributes:
        poses, momenta, velocities, q: rows of the run, see `MaximalRecord`; velocities of the first row are those
            before it.
        goals: prescribed motions of these rows.
        u: controls at the nodes of each step, shape (steps, nodes, nu).
        begins: index of the first substep of each step, and the number of all substeps, shape (steps + 1,); a step with
            more substeps than the record holds has none.
        lengths, before, nodes, shares, plastic: of the substeps, see `substep_schedule.PartedSteps`.
        fresh: whether a run starts with the first row; gradients by q and p there are then added by others.
        ends: whether the run ends with the last row, so that the bars follow from the gradients by q and p there.
        start: gradients by the initial q and p of the run, output, shape (2 nv,).
        none: zeros, shape (nv,).
        bq, bp: gradients by joint positions and momenta, shape (steps + 1, nv).
        bars: gradients by poses, momenta and velocities of the present state, shape (3, bodies, 6); in and out.
        controls: gradients by the controls at the nodes of each step, output, shape (steps, nodes, nu).
        part_poses, part_momenta, part_velocities, part_q: rows of the substeps of one step, scratch.
        E0, E1, G0, G1, push, moved, read, twists, by_velocity: scratch, shape (bodies, 6).
        at: joint positions, scratch, shape (nq,).
        original, residual, y: Newton matrix before its factorisation, and right-hand sides, scratch.
        qa, qb: motions of both bodies of a cone along its three directions, scratch, shape (18,).
        by_points: gradients by the second features of contacts, in their bodies' frames, shape (contacts, 3); zero
            between substeps.
        A, B: Jacobians of q and p after the first step by those before it and by constant controls, output, shapes
            (2 nv, 2 nv) and (2 nv, nu); without rows only `bars` are propagated.
        reached: bars before the present step, scratch, shape (3, bodies, 6); summed: bars of its later solutions.
        holds: second phase of the present substep (`resolve_substep.second_phase`), iterations of its first phase, and
            number of its contacts.
        kept, kept_points: `bars` and `by_points` of all rows of A, scratch, shapes (2 nv, 3, bodies, 6) and
            (2 nv, contacts, 3).
        lifts: rows that map a joint's relative motion to its velocities, scratch, shape (nv, 6).
        gram, right: scratch, shape (6, 6).
        cot: `VIRTUAL_TWIST` records of the bodies, scratch, without rows where no force acts on bodies; None: see
            `kernel_variants`.
        balls: whether ball or free joints have springs or dampers; None: see `kernel_variants`.
        GT, GV: gradients by world twists of bodies, scratch, shape (bodies, 6).
        newest: the step of the first of `slots`, shape (1,).
        grads: gradients by parameters of body forces, not used.
        hit: states and gradients of an impact, scratch, shape (4, bodies, 7).
        rest: gradient by the length of the next substep whose end is fixed, and number of impacts at the start of the
            next step, shape (2,); rests: the former for all rows of A.
        impacts: `ImpactTape`, for gradients by parameters.
        slots: `ParameterTape`, for gradients by parameters.
    """

    poses: Floats
    momenta: Floats
    velocities: Floats
    q: Floats
    goals: Floats
    u: Floats
    begins: Integers
    lengths: Floats
    before: Floats
    nodes: Integers
    shares: Floats
    plastic: Integers
    hit: Floats
    rest: Floats
    rests: Floats
    fresh: bool
    ends: bool
    start: Floats
    none: Floats
    bq: Floats
    bp: Floats
    bars: Floats
    controls: Floats
    E0: Floats
    E1: Floats
    G0: Floats
    G1: Floats
    push: Floats
    moved: Floats
    read: Floats
    twists: Floats
    by_velocity: Floats
    part_poses: Floats
    part_momenta: Floats
    part_velocities: Floats
    part_q: Floats
    at: Floats
    original: Floats
    residual: Floats
    y: Floats
    qa: Floats
    qb: Floats
    by_points: Floats
    A: Floats
    B: Floats
    reached: Floats
    summed: Floats
    holds: Integers
    kept: Floats
    kept_points: Floats
    lifts: Floats
    gram: Floats
    right: Floats
    cot: Any
    balls: Any
    GT: Floats
    GV: Floats
    newest: Integers
    grads: ForceGradients
    impacts: ImpactTape
    slots: ParameterTape


@inline
def named_back(back):
    """`BackData` from its plain tuple."""
    return BackData(*(back[:-3] + (ForceGradients(*back[-3]), ImpactTape(*back[-2]), ParameterTape(*back[-1]))))
