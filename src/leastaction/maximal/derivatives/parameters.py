"""Derivatives of a step by parameters of the mechanism: what changes in its equations at fixed unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.contact.shapes import collect
from leastaction.errors import IntegratorError
from leastaction.integrators import FloatArray
from leastaction.maximal.compiler import compile_model
from leastaction.maximal.contact.features import find_again
from leastaction.maximal.coordinates.placement import place
from leastaction.maximal.derivatives.sensitivity import Solved, StepMap
from leastaction.maximal.derivatives.sparse_blocks import rotations
from leastaction.maximal.model import Model


@dataclass
class Direct:
    """Changes of all that a step computes by a parameter, each at fixed inputs; see `linearize.OneStep.forward`.

    Attributes:
        dz: poses at the start, at fixed q; shape (6 bodies, 1).
        first: p at the start, at fixed poses and momenta.
        velocities: equations of the velocities there; see `PoseMap.velocities`.
        steps, after: outputs of each part, and of the step after.
        projection: see `PoseMap.project`.
        dq, dp: at the end, at fixed poses and momenta.
    """

    dz: Any = 0.0
    first: Any = 0.0
    velocities: Any = None
    steps: Any = ()
    after: Any = 0.0
    projection: Any = None
    dq: Any = 0.0
    dp: Any = 0.0


def by_parameter(step: Any, stencil: list[tuple[float, Any]]) -> tuple[FloatArray, FloatArray]:
    """(dq', dp') of a `OneStep` by one parameter; stencil: weights and mechanisms."""
    direct = Direct(steps=[0.0] * len(step.maps), projection=[0.0, 0.0] if step.carried.projection else None)
    for weight, mechanism in stencil:
        add(direct, weight, step, mechanism)
    n, m = step.n, step.parts.stepper.mechanism
    du = np.zeros((len(step.parts.stepper.control_nodes), m.nu, 1))
    dq, dp = step.forward(np.zeros((n, 1)), np.zeros((n, 1)), du, direct)
    return dq[:, 0], dp[:, 0]


def add(direct: Direct, weight: float, step: Any, mechanism: Any) -> None:
    """Add what one mechanism of the stencil gives."""
    stepper = step.parts.stepper
    model = alike(compile_model(mechanism), stepper.model)
    arrays, column = model.arrays(stepper.ldu.plan), (-1, 1)
    start = step.maps[0].solved.start
    Z, _, _ = place(model, start.q, np.zeros(step.n))
    direct.dz = direct.dz + weight * pose_difference(start.Z, Z).reshape(column)
    step.first.read(step.first.P, arrays=arrays)
    direct.first = direct.first + weight * step.first.p.reshape(column)
    if step.maps[0].bounces:
        _, out = projected(step.first, arrays)
        direct.velocities = (0.0 if direct.velocities is None else direct.velocities) + weight * out
    for j, part in enumerate(step.maps):
        direct.steps[j] = direct.steps[j] + weight * outputs(part, mechanism, model)
    if step.after is not None:
        direct.after = direct.after + weight * outputs(step.after, mechanism, model)
    last = step.last
    if direct.projection is not None:
        pushed, out = projected(step.carried, arrays)
        direct.projection[0] = direct.projection[0] + weight * out
        direct.projection[1] = direct.projection[1] - weight * pushed[last.body_rows]
    last.read(last.P, arrays=arrays)
    direct.dq = direct.dq + weight * stepper.mechanism.difference(step.q, last.q).reshape(column)
    direct.dp = direct.dp + weight * last.p.reshape(column)


def outputs(step: StepMap, mechanism: Any, model: Model) -> FloatArray:
    """All that a solved step computes at its unknowns, (outputs, 1), with another mechanism's numbers."""
    contacts = renewed(step.solved, mechanism, model)
    nothing = step.neighbours.none()
    arrays = model.arrays(step.solved.model.graph)
    result, _ = step.solved.outputs(nothing, np.zeros((0, 12)), arrays, contacts)
    return result.out.reshape(-1, 1)


def projected(pose: Any, arrays: Any) -> tuple[FloatArray, FloatArray]:
    """-G' mu, and with it M T and G T, of a `PoseMap` at its T and mu with the arrays of a model; each (rows, 1)."""
    size = int(pose.projection.rows[-1])
    pushed, _ = pose.read(pose.P, mu=pose.mu, arrays=arrays)
    moved, _ = pose.read(pose.P, pose.T, arrays=arrays)
    return pushed[:size, None], (pushed + moved)[:size, None]


def alike(model: Model, other: Model) -> Model:
    """Give a model the edges of another one's graph; refuses one with other bodies or joints."""
    if len(model.bodies) != len(other.bodies) or len(model.rows) != len(other.rows):
        raise IntegratorError("Maximal: a change of this parameter makes another mechanism, with other joints")
    model.coordinates.edge = other.coordinates.edge
    for name in ("ea", "eb", "ea2", "eb2", "eab"):
        model.rows[name] = other.rows[name]
    model.augment[:] = other.augment
    model.bodies.radius = other.bodies.radius  # only a scale
    return model


def pose_difference(Z: FloatArray, other: FloatArray) -> FloatArray:
    """Small displacement (n, 6) from poses Z to others: turns in the body's directions, shifts in the world's."""
    D = rotations(Z).transpose(0, 2, 1) @ rotations(other)
    turn = 0.5 * np.stack([D[:, 2, 1] - D[:, 1, 2], D[:, 0, 2] - D[:, 2, 0], D[:, 1, 0] - D[:, 0, 1]], axis=1)
    return np.hstack([np.arcsin(np.clip(turn, -1.0, 1.0)), other[:, :3] - Z[:, :3]])


def renewed(solved: Solved, mechanism: Any, model: Model) -> Any:
    """The contacts of a solved step with the shapes and coefficients of another mechanism."""
    if not len(solved.contacts):
        return solved.contacts
    s = solved.stepper
    table = collect(mechanism, model.frames, bodies=s.integrator.self_collision)
    pairs = table.ground
    if len(table.movers) > 1:
        pairs = np.concatenate([table.ground, table.body_pairs()]).view(np.recarray)
    pairs = pairs[np.isin(pairs.key >> 32, np.unique(solved.contacts.key >> 32))]
    missing, out = {int(key): k for k, key in enumerate(solved.contacts.key)}, solved.contacts.copy()
    for Z in (solved.start.Z, solved.end.Z):  # those that a step had missed were found at its end
        find_again(solved, table, pairs, Z, missing, out)
        if not missing:
            return out
    raise IntegratorError("Maximal: a contact of this step vanishes when the parameter changes; it has no derivative")
