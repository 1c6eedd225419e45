"""What the kernels of derivatives read and write, by name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline
from leastaction.forces.arrays import ForceGradients

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SolvedStep(NamedTuple):
    """The state that a step was solved at.

    Attributes:
        poses, momenta: at its start, shapes (bodies, 7) and (bodies, 6).
        velocities: within it, shape (bodies, 6).
        near: coordinates of the model, which count full turns.
        q: joint positions, shape (nq,); read off the poses.
        u: controls at both ends, shape (2, nu).
    """

    poses: Floats
    momenta: Floats
    velocities: Floats
    near: Floats
    q: Floats
    u: Floats


class PoseInputs(NamedTuple):
    """Where `pose_outputs` looks.

    Attributes:
        poses, momenta: of the bodies.
        near: coordinates of the model, which count full turns.
        q: joint positions, read off the poses.
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
    """States of bodies and joints, a row for each time: see `MaximalRecord`."""

    poses: Floats
    momenta: Floats
    velocities: Floats
    q: Floats


class ParameterTape(NamedTuple):
    """What the backward pass leaves for gradients by parameters, a slot for each part of a step, the last one first.

    Attributes:
        y: minus the gradient by the equations, in the order of the graph; no slots where none are wanted.
        ended: gradient by the momenta at the end; zeta: by what the cones push with, shape (slots, bodies, 6).
        poses, momenta, velocities, before, q, impulses: the state it was solved at, and its unknowns.
        goals: prescribed motions at both ends of it, shape (slots, 2, numbers).
        count, cones, contacts: as it was solved with.
        twists, by_projection, by_held: velocities at its end and impulses of the joints there, gradient by their
            equations and by the momenta before these; zero where nothing holds them.
        end_poses, end_q, end_count, end_cones: there; no cones where none is closed.
        step: the step whose q and p are read at its start, -1 for none; read_momenta: what they are read off.
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
        ("step", "i8"),  # that it is in
        ("key", "i8"),  # of the contact whose gap decides when it is
        ("by_gap", "f8"),  # gradient by that gap [per m]
        ("dt", "f8"),  # length of the substep that starts or ends there [s]
    ],
    align=True,
)
"""An impact, for gradients by parameters."""


class ImpactTape(NamedTuple):
    """Impacts in the backward pass, for gradients by parameters.

    Attributes:
        count: how many, shape (1,).
        impacts: `IMPACT` records; none where none are wanted.
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
        goals: the same of prescribed motions.
        u: controls at the nodes of each step, shape (steps, nodes, nu).
        begins: first part of each step, and the number of all parts, shape (steps + 1,): steps are composed, or were
            divided; one that was divided too finely to be recorded has none.
        lengths, before, nodes, shares, plastic: of the parts, see `substep_schedule.PartedSteps`.
        fresh: whether a run starts with the first row: what is read off that row is left to others.
        ends: whether the bars are still to be read off the last row, where the run ends.
        start: gradients by q and p with which the run starts, out, shape (2 nv,).
        none: zeros, shape (nv,).
        bq, bp: gradients by joint positions and momenta, shape (steps + 1, nv).
        bars: gradients by poses, momenta and velocities of the state reached, shape (3, bodies, 6); in and out.
        controls: gradients by the controls at the nodes of each step, out, shape (steps, nodes, nu).
        part_poses, part_momenta, part_velocities, part_q: the same rows of the parts of one step, scratch.
        E0, E1, G0, G1, push, moved, read, twists, by_velocity: scratch, shape (bodies, 6).
        at: joint positions, scratch, shape (nq,).
        original, residual, y: Newton matrix before it was factorised, and right-hand sides, scratch.
        qa, qb: motions of both bodies of a cone along its three directions, scratch, shape (18,).
        by_points: gradients by the second features of contacts, in their bodies' directions, shape (contacts, 3); zero
            between parts of steps.
        A, B: gradients of all of q and p after the first step by those before it and by held controls, out, shapes
            (2 nv, 2 nv) and (2 nv, nu); without rows none are wanted, and `bars` are brought back.
        reached: bars before the present step, scratch, shape (3, bodies, 6); summed: bars of its later solutions.
        holds: what holds the momenta at the end of the present part, see `resolve_substep.second_phase`, in how many
            iterations its first phase was solved, and how many contacts it has.
        kept, kept_points: bars and `by_points` of all of these, scratch, shapes (2 nv, 3, bodies, 6) and
            (2 nv, contacts, 3).
        lifts: what of a joint's relative motion is each degree of freedom, scratch, shape (nv, 6).
        gram, right: scratch, shape (6, 6).
        cot: `VIRTUAL_TWIST` records of the bodies, scratch, without rows where no force acts on bodies; None: see
            `kernel_variants`.
        balls: whether ball or free joints have springs or dampers; None likewise.
        GT, GV: gradients by world twists of bodies, scratch, shape (bodies, 6).
        newest: the step that the first of `slots` are of, shape (1,).
        grads: by parameters of body forces, not used.
        hit: states and gradients of an impact, scratch, shape (4, bodies, 7).
        rest: gradient by the length of the next part whose end is given, and how many hits the step after the present
            one begins with, shape (2,); rests: the former of all rows of A.
        impacts: the same of impacts.
        slots: for gradients by parameters.
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
    """The plain tuple of a `BackData` by name again."""
    return BackData(*(back[:-3] + (ForceGradients(*back[-3]), ImpactTape(*back[-2]), ParameterTape(*back[-1]))))
