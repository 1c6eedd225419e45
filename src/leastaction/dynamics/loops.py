"""Closed loops and couplings in joint coordinates: how far they are open, their Jacobian, and closing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastaction._jit import entry, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.arrays import ClosureModel, DynamicsData, DynamicsModel
from leastaction.dynamics.spline_loops import spline_loop_jacobian, spline_loop_names
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import ConvergenceError, MechanismError
from leastaction.kinematics.loop_equations import equations, loop_equations
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.kinematics.sweeps import positions
from leastaction.linalg.dense import multiply, solve_in_place
from leastaction.linalg.rank_revealing import solve_least_norm
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import count, positive
from leastaction.mechanism.arguments import FloatArray, configuration

RANK_TOLERANCE = 1e-9
"""Relative size of a singular value below which loop equations count as dependent."""

ROUND_OFF = 4e-15
"""What round-off leaves of a violation, relative to the largest entry of the Jacobian: the longest lever [m]."""


@entry
def violation_rows(model, closure, data, Q, h, A, out):
    """Largest violation of each row of Q."""
    nodes, closure, data = DynamicsModel(*model).nodes, ClosureModel(*closure), DynamicsData(*data)
    rows, coefficients, count = closure
    for r in range(Q.shape[0]):
        positions(nodes, data.links, data.screws, Q[r])
        equations(nodes, rows, coefficients, count, data.links, data.screws, Q[r], h, A)
        worst = 0.0
        for c in range(count):
            worst = max(worst, abs(h[c]))
        out[r] = worst


class Projection(NamedTuple):
    """Scratch of `project_momentum`, for m equations.

    Attributes:
        h, A, M: values, Jacobian and mass matrix, shapes (m,), (m, nv), (nv, nv).
        Y, full: shapes (nv, m + 1) and (m, m + 1).
        S, nu, V: a system of equations as `solve_ranked` takes it, shapes (m, m), (m, 1), (m, m).
    """

    h: FloatArray
    A: FloatArray
    M: FloatArray
    Y: FloatArray
    full: FloatArray
    S: FloatArray
    nu: FloatArray
    V: FloatArray


def projection(nv: int, m: int) -> Projection:
    """Zeroed, for so many degrees of freedom and equations."""
    shapes = ((m,), (m, nv), (nv, nv), (nv, m + 1), (m, m + 1), (m, m), (m, 1), (m, m))
    return Projection(*(np.zeros(shape) for shape in shapes))


@routine
def solve_ranked(S, b, V, redundant):
    """b <- S^-1 b, b of shape (m, 1); S is destroyed, V is scratch of its shape.

    Where the equations are known to be dependent: the least-squares solution of least norm.
    """
    if not redundant:
        solve_in_place(S, b)
        return
    solve_least_norm(S, b, V, RANK_TOLERANCE)


@routine
def project_momentum(model, closure, data, q, p, scratch, redundant):
    """Take from p what would open the loops: p + A^T nu with A M^-1 (p + A^T nu) = 0, in place.

    `scratch`: a `Projection`, whose h becomes nu.
    """
    count, h, A, M = closure.count, scratch.h, scratch.A, scratch.M
    Y, full, S, nu = scratch.Y, scratch.full, scratch.S, scratch.nu
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            M[i, j] = 0.0
    recursions.mass_matrix(model, data, q, M)
    equations(model.nodes, closure.rows, closure.coefficients, count, data.links, data.screws, q, h, A)
    for k in range(p.shape[0]):
        for c in range(count):
            Y[k, c] = A[c, k]
        Y[k, count] = p[k]
    solve_in_place(M, Y)
    multiply(A, Y, full)
    for c in range(count):
        nu[c, 0] = -full[c, count]
        for d in range(count):
            S[c, d] = full[c, d]
    solve_ranked(S, nu, scratch.V, redundant)
    for c in range(count):
        h[c] = nu[c, 0]
        for k in range(p.shape[0]):
            p[k] += A[c, k] * nu[c, 0]


@entry
def momentum_projection(model, closure, data, q, p, scratch, redundant):
    """`project_momentum` for Python."""
    model, closure, data = DynamicsModel(*model), ClosureModel(*closure), DynamicsData(*data)
    project_momentum(model, closure, data, q, p, Projection(*scratch), redundant)


def loop_jacobian(mechanism: Mechanism, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Loop and coupling equations at q: values h [m, rad or 1], shape (m,); Jacobian A, shape (m, nv): dh/dt = A v."""
    if has_splines(mechanism):
        return spline_loop_jacobian(mechanism, q)
    w = Workspace(mechanism)
    c = w.tree.closure
    h, A = np.zeros(c.count), np.zeros((c.count, mechanism.nv))
    q = configuration(mechanism, q)
    loop_equations(w.tree.nodes, *w.closure, w.links, w.screws, q, h, A)
    return h, A


def violation(mechanism: Mechanism, Q: FloatArray) -> FloatArray:
    """Largest violation of a loop or coupling at each row of Q, shape (rows,)."""
    if has_splines(mechanism):
        return np.array([np.abs(loop_jacobian(mechanism, q)[0]).max(initial=0.0) for q in Q])
    Q = np.ascontiguousarray(Q, np.float64)
    if Q.ndim != 2 or Q.shape[1] != mechanism.nq:
        raise MechanismError(f"q: expected shape (rows, {mechanism.nq}) for {mechanism.name!r}, got {Q.shape}")
    w = Workspace(mechanism)
    count = w.tree.closure.count
    out, h, A = np.zeros(len(Q)), np.zeros(count), np.zeros((count, mechanism.nv))
    violation_rows(w.model, w.closure, w.data, Q, h, A, out)
    return out


def close_loops(
    mechanism: Mechanism, q: ArrayLike, *, tolerance: float = 1e-12, max_iterations: int = 100
) -> FloatArray:
    """The configuration nearest to q (in the sense of Gauss-Newton steps) that closes all loops, shape (nq,).

    What is prescribed (`Mechanism.prescribed`) stays where it is.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        tolerance: largest violation that counts as closed [m or rad]; no less than round-off of lengths leaves.
        max_iterations: of Gauss-Newton with halved steps.
    """
    q = configuration(mechanism, q)
    tolerance, max_iterations = positive(tolerance, "tolerance"), count(max_iterations, "max_iterations")
    return closed_but_for(mechanism, q, prescribed_freedoms(mechanism), tolerance, max_iterations)


def closed_but_for(
    mechanism: Mechanism, q: FloatArray, given: Sequence[int], tolerance: float, max_iterations: int
) -> FloatArray:
    """`close_loops` with the degrees of freedom `given` where they are."""
    h, A = loop_jacobian(mechanism, q)
    history = [float(np.abs(h).max(initial=0.0))]
    for _ in range(max_iterations):
        if history[-1] <= max(tolerance, ROUND_OFF * np.abs(A).max(initial=0.0)):
            return q
        A[:, list(given)] = 0.0
        step = -np.linalg.lstsq(A, h, rcond=RANK_TOLERANCE)[0]
        size = 1.0
        while True:
            trial = mechanism.integrate(q, size * step)
            h, A = loop_jacobian(mechanism, trial)
            if np.abs(h).max() < history[-1] or size < 1e-3:
                break
            size *= 0.5
        q = trial
        history.append(float(np.abs(h).max()))
    if history[-1] <= max(tolerance, ROUND_OFF * np.abs(A).max(initial=0.0)):
        return q
    widest = int(np.argmax(np.abs(h)))
    raise ConvergenceError(
        f"the loops of {mechanism.name!r} cannot be closed from this configuration "
        f"(violation {history[-1]:.3g} after {max_iterations} iterations, of {_names(mechanism)[widest]!r})",
        residuals=history,
    )


def prescribed_freedoms(mechanism: Mechanism) -> list[int]:
    """Degrees of freedom that are prescribed."""
    m = mechanism
    given = []
    for name in m.prescribed:
        own = (name,) if name in m.velocity_names else m.joints[m.body_index(name)].velocity_names()
        given += [m.velocity_index(x) for x in own]
    return given


def open_loops(mechanism: Mechanism, q: FloatArray, tolerance: float = 1e-8) -> dict[str, float]:
    """Names of the loops and couplings that are open at q, and by how much [m or rad]; the widest first."""
    h, _ = loop_jacobian(mechanism, q)
    found: dict[str, float] = {}
    for name, gap in zip(_names(mechanism), np.abs(h), strict=True):
        if gap > tolerance:
            found[name] = max(found.get(name, 0.0), float(gap))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _names(mechanism: Mechanism) -> list[str]:
    """The loop or coupling that each equation belongs to."""
    if has_splines(mechanism):
        return spline_loop_names(mechanism)
    return mechanism.tree.closure.names


def check_closed(mechanism: Mechanism, q: FloatArray, tolerance: float = 1e-8) -> None:
    """Refuse a configuration whose loops are open, naming the loop."""
    h, A = loop_jacobian(mechanism, q)
    worst = int(np.argmax(np.abs(h))) if len(h) else 0
    if len(h) and abs(h[worst]) > max(tolerance, ROUND_OFF * np.abs(A).max(initial=0.0)):
        name = _names(mechanism)[worst]
        raise MechanismError(
            f"q: the loop {name!r} is open by {abs(h[worst]):.3g}; pass project=True to close it, or start from "
            "dynamics.close_loops(robot, q)"
        )


def fitting_momentum(p: FloatArray, closed: FloatArray, project: bool) -> FloatArray:
    """A start's momentum p (nv,), or `closed`, the nearest whose velocity keeps loops closed; refused if neither fits.

    Args:
        p: as it was given.
        closed: its projection.
        project: whether the projection may be taken for it.
    """
    change, scale = np.abs(closed - p).max(initial=0.0), max(1.0, np.abs(p).max(initial=0.0))
    if change <= 1e-10 * scale:
        return p  # it fits already: a restarted run must go on with the very same numbers
    if not project and change > 1e-6 * scale:
        raise MechanismError(
            "the initial velocity opens the loops (v, or that of p); pass project=True to simulate, to take the "
            "nearest one that does not"
        )
    return closed


def is_redundant(mechanism: Mechanism, q: FloatArray) -> bool:
    """Whether loop equations depend on each other at q or at configurations near it."""
    _, A = loop_jacobian(mechanism, q)
    if len(A) == 0:
        return False
    s = np.linalg.svd(A, compute_uv=False)
    return len(A) > mechanism.nv or bool(s[-1] <= 1e-7 * s[0])
