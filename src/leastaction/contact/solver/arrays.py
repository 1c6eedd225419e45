"""The contact problem of an engine as the solver reads it (`ncp_solver`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline
from leastaction.contact.records import records
from leastaction.contact.solver.island_arrays import Islands, islands_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PROBLEM_CONE = np.dtype(
    [
        ("kind", "i8"),  # `CONTACT`, `LIMIT` or `DRY`
        ("row", "i8"),  # of its first impulse
        ("width", "i8"),  # how many it has: a contact `PLAIN` or `TURNING`, others one
        ("node", "i8"),  # bodies, -1 for the world
        ("other", "i8"),
        ("cone", "i8"),  # which of the engine's own cones it is
        ("dof", "i8"),  # another number for each: limits and dry friction have laws of their own, see `joint_stops`
        ("friction", "f8"),  # coefficient, or bound of dry friction [N s or N m s]
        ("spin", "f8"),  # friction against spinning and rolling: torque per normal force [m]
        ("roll", "f8"),
    ],
    align=True,
)
"""A cone of the contact problem."""


class ConeSet(NamedTuple):
    """The cones of a contact problem.

    Attributes:
        cones: `PROBLEM_CONE` records.
        islands: which of them move each other.
    """

    cones: Any
    islands: Islands


class ConeProblem(NamedTuple):
    """A contact problem with m impulses: motions w = w0 + W lam, and the laws of its cones.

    Attributes:
        active: whether a cone takes part, shape (cones,).
        side, soft, compliance, impulse_compliance: zero, shape (cones,); deepest: zero, shape (1,): the compliance of
            cones is in W and w0.
        lam: impulses [N s or N m s], shape (m,).
        w: motions after them [m/s or rad/s], shape (m,); W: their derivatives, a row for each impulse, shape (m, m).
        columns, rows: of unit impulses and of motions, in the order of the graph, reduced by half, shape (m, N).
        which: impulses that take part, one after another, shape (m,).
        M, b, d, unknown, best: scratch, shapes (m, m), (m, 1), (m,), (m,) and (m,).
        places, path: scratch of `sparse_columns`, shape (N,) each.
        rolls: whether contacts may resist spinning or rolling; None where not, so that nothing about it is compiled.
        found: its cones.
    """

    active: Integers
    side: Floats
    soft: Floats
    compliance: Floats
    impulse_compliance: Floats
    deepest: Floats
    lam: Floats
    w: Floats
    W: Floats
    columns: Floats
    rows: Floats
    which: Integers
    M: Floats
    b: Floats
    d: Floats
    unknown: Integers
    best: Floats
    places: Integers
    path: Integers
    rolls: bool | None
    found: ConeSet


def cone_problem(trees: Integers, cones: int, m: int, size: int, rolls: bool | None) -> ConeProblem:
    """Arrays for so many cones with m impulses in all, on bodies of these trees, with `size` unknowns."""
    numbers = np.unique(trees, return_inverse=True)[1].astype(np.int64)
    count = int(numbers.max(initial=-1)) + 1
    side, soft, compliance, impulse = np.zeros((4, cones))
    lam, w, d, best = np.zeros((4, m))
    which, unknown = np.zeros((2, m), np.int64)
    places, path = np.zeros((2, size), np.int64)
    W, M = np.zeros((2, m, m))
    columns, rows = np.zeros((2, m, size))
    return ConeProblem(
        active=np.zeros(cones, np.int64),
        side=side,
        soft=soft,
        compliance=compliance,
        impulse_compliance=impulse,
        deepest=np.zeros(1),
        lam=lam,
        w=w,
        W=W,
        columns=columns,
        rows=rows,
        which=which,
        M=M,
        b=np.zeros((m, 1)),
        d=d,
        unknown=unknown,
        best=best,
        places=places,
        path=path,
        rolls=rolls,
        found=ConeSet(
            records(cones, PROBLEM_CONE), islands_of(numbers, np.zeros((count, 2), np.int64), cones, m, size)
        ),
    )


@inline
def named_problem(problem):
    """The plain tuple of a `ConeProblem` by name again."""
    cones, islands = problem[-1]
    return ConeProblem(*(problem[:-1] + (ConeSet(cones, Islands(*islands)),)))
