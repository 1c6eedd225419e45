"""What the kernels of inverse kinematics read and write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leastaction._jit import inline
from leastaction.kinematics.box_qp import BoundedData, bounded_data
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism

if TYPE_CHECKING:
    from leastaction.kinematics.tasks import Task

PLACE, POSTURE, MASS = range(3)
"""Kinds of tasks: of a frame, of all joints, of the centre of mass."""

IK_TASK = np.dtype(
    [
        ("kind", "i8"),
        ("first", "i8"),  # of its errors among those of all tasks
        ("count", "i8"),
        ("required", "i8"),
        ("weight", "f8"),
        ("node", "i8"),  # that carries the frame, -1: the world; of a posture its row in `IKModel.postures`
        ("Rf", "f8", 9),  # frame in its node: rotation, row major
        ("pf", "f8", 3),  # ... and origin [m]
        ("turned", "i8"),  # whether the rotation counts
        ("asked", "i8", 3),  # which entries of the position count
        ("R", "f8", 9),  # where it is to be: world from frame
        ("p", "f8", 3),
    ],
    align=True,
)
"""One record per task."""


class IKModel(NamedTuple):
    """A robot and what is asked of it.

    Attributes:
        nodes, rows, coefficients, count: of the robot's tree and of its loops and couplings.
        tasks: `IK_TASK` records.
        postures: joint positions, one row for each posture, shape (n, nq).
        lower, upper: limits of coordinates of their own, infinite for those of balls, shape (nv,).
        mass: first moment of the bodies that are fixed to the world [kg m], and mass of all [kg], shape (4,).
    """

    nodes: Any
    rows: Any
    coefficients: Any
    count: int
    tasks: Any
    postures: Any
    lower: Any
    upper: Any
    mass: Any


class IKState(NamedTuple):
    """A configuration with its errors.

    Attributes:
        q: joint positions, shape (nq,).
        errors: of all tasks [m or rad], shape (n,).
        e, J: the same with weights, and the transpose of their Jacobian, shapes (n,), (nv, n).
        h, A: values of loops and couplings and their Jacobian, shapes (m,), (m, nv).
    """

    q: Any
    errors: Any
    e: Any
    J: Any
    h: Any
    A: Any


class IKData(NamedTuple):
    """What is worked with.

    Attributes:
        links, screws: `LINK` and `JOINT_SCREW` records.
        masses, moments: of each node with all that it carries, shapes (nodes,), (nodes, 3).
        H, g: quadratic problem of a step d, shapes (nv, nv), (nv,).
        low, high: its bounds, shape (nv,).
        d: the step, shape (nv,).
        state, trial: where the search is, and where it may go.
        bounded: scratch.
    """

    links: Any
    screws: Any
    masses: Any
    moments: Any
    H: Any
    g: Any
    low: Any
    high: Any
    d: Any
    state: IKState
    trial: IKState
    bounded: BoundedData


@inline
def named_ik_data(data):
    """The plain tuple of `IKData` by name again."""
    return IKData(*(data[:-3] + (IKState(*data[-3]), IKState(*data[-2]), BoundedData(*data[-1]))))


def ik_model(m: Mechanism, tasks: Sequence[Task], limits: bool) -> IKModel:
    """Of tasks that were checked."""
    tree, first = m.tree, 0
    records, postures = np.zeros(len(tasks), IK_TASK), []
    # Weights decide between tasks; their common size means nothing.
    largest = max(task.weight for task in tasks)
    for k, task in enumerate(tasks):
        record = records[k]
        count = task.write(m, record, postures)
        record["first"], record["count"] = first, count
        record["required"], record["weight"] = task.required, task.weight / largest
        first += count
    bounds = np.full((2, m.nv), np.inf)
    bounds[0] = -np.inf
    if limits:
        single = np.array([group.iv for group in m.coordinate_groups if group.nv == 1], np.int64)
        for bound, end in zip(bounds, ("lower", "upper"), strict=True):
            bound[single] = np.array([x for joint in m.joints for x in getattr(joint, end)])[single]
    mass = np.zeros(4)
    for body in m.bodies:
        node, X = tree.frames[body.name]
        mass[3] += body.inertia.mass
        if node < 0:
            mass[:3] += body.inertia.mass * np.array(X.apply(body.inertia.com))
    c = tree.closure
    own = np.array(postures).reshape(len(postures), m.nq)
    return IKModel(
        tree.nodes, c.rows, c.coefficients, c.count, records.view(np.recarray), own, bounds[0], bounds[1], mass
    )


def ik_data(model: IKModel, nq: int) -> IKData:
    """For such a model, of a robot with so many coordinates."""
    nodes, nv, m = len(model.nodes), len(model.lower), model.count
    n = int(model.tasks["count"].sum())
    links, screws = np.zeros(nodes, LINK).view(np.recarray), np.zeros(nv, JOINT_SCREW).view(np.recarray)
    shapes = (nq,), (n,), (n,), (nv, n), (m,), (m, nv)
    state, trial = (IKState(*(np.zeros(shape) for shape in shapes)) for _ in range(2))
    masses, moments, H = np.zeros(nodes), np.zeros((nodes, 3)), np.zeros((nv, nv))
    g, low, high, d = (np.zeros(nv) for _ in range(4))
    return IKData(links, screws, masses, moments, H, g, low, high, d, state, trial, bounded_data(nv, m))
