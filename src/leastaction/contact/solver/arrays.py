"""Arrays of the contact problem that `ncp_solver` solves: cones, impulses, displacements, Delassus matrix."""

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
        ("row", "i8"),  # index of its first impulse
        ("width", "i8"),  # number of impulses: `PLAIN` or `TURNING` for a contact, 1 for all others
        ("node", "i8"),  # bodies, -1 for the world
        ("other", "i8"),
        ("cone", "i8"),  # index of the engine's own cone
        ("dof", "i8"),  # distinct for each cone, so that limits and dry friction are not merged, see `joint_stops`
        ("friction", "f8"),  # coefficient, or bound of dry friction [N s or N m s]
        ("spin", "f8"),  # torsional and rolling friction: torque per normal force [m]
        ("roll", "f8"),
    ],
    align=True,
)
"""A cone of the contact problem."""


class ConeSet(NamedTuple):
    """The cones of a contact problem.

    Attributes:
        cones: `PROBLEM_CONE` records.
        islands: groups of cones that are coupled through the Delassus matrix.
    """

    cones: Any
    islands: Islands


class ConeProblem(NamedTuple):
    """A contact problem with m impulses: w = w0 + W lam (velocities), and the laws of its cones.

    Attributes:
        active: whether a cone is part of the problem, shape (cones,).
        side, soft, compliance, impulse_compliance: zero, shape (cones,); deepest: zero, shape (1,): here W and w0
            already contain the compliance of the cones.
        lam: impulses [N s or N m s], shape (m,).
        w: velocities after the impulses [m/s or rad/s], shape (m,); W: Delassus matrix, row k: dw / dlam_k, (m, m).
        columns, rows: unit impulses and gradients of velocities in the order of the graph's rows, after the forward
            substitution (`sparse_columns`), so that W = rows columns^T, shape (m, N).
        which: indices of the active impulses, shape (m,).
        M, b, d, unknown, best: scratch, shapes (m, m), (m, 1), (m,), (m,) and (m,).
        places, path: scratch of `sparse_columns`, shape (N,) each.
        rolls: whether contacts may have torsional or rolling friction; None compiles the kernels without it.
        found: the cones and their islands.
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
    """Allocate a problem of `cones` cones and m impulses, on bodies of these trees, with `size` unknowns."""
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
    """Restore the named tuples of a `ConeProblem` from a plain tuple."""
    cones, islands = problem[-1]
    return ConeProblem(*(problem[:-1] + (ConeSet(cones, Islands(*islands)),)))
