"""Hybrid dynamics: some joints are driven by forces, others follow prescribed accelerations.

Sueda 2021, Sections 2.9, 2.12 and 2.13: Algorithm 9 (recursive hybrid dynamics), Algorithm 10 (products with the
inverse inertia), and the dual problem (2.130) that closes loops with them. All in O(n) but for the dual problem, which
is as large as the number of loop equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction._jit import entry
from leastaction.dynamics import hybrid_recursions as recursive
from leastaction.dynamics.arrays import ClosureModel, DynamicsData, DynamicsModel
from leastaction.dynamics.loops import RANK_TOLERANCE
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import MechanismError
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial, twist_of, wrench_slope
from leastaction.kinematics.loop_equations import coordinate_of, equations
from leastaction.kinematics.sweeps import joint_acceleration, positions, velocities
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import flag, number, real_array, shown
from leastaction.mechanism.arguments import FloatArray, configuration, robot, tangent
from leastaction.spatial import ZERO6, add, dot, load6, store6, sub

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

NO_BLOCKS = np.zeros((0, 21))


@dataclass(frozen=True)
class HybridSolution:
    """What hybrid dynamics finds.

    Attributes:
        a: accelerations [rad/s^2 or m/s^2], shape (nv,); the prescribed ones as they were given.
        u: generalised forces [N m or N], shape (nv,); found where accelerations were prescribed.
        multipliers: of the loop equations [N or N m], shape (equations,).
        reactions: wrench (torque, force) [N m, N] about the world's origin and in its directions that each joint
            transmits to its body, shape (bodies, 6); the wrenches of loops are not in it. Bodies that are welded to
            another share the wrench of the joint that carries both.
    """

    a: FloatArray
    u: FloatArray
    multipliers: FloatArray
    reactions: FloatArray


def hybrid_dynamics(
    mechanism: Mechanism,
    q: ArrayLike,
    v: ArrayLike | None = None,
    *,
    u: ArrayLike | None = None,
    prescribed: dict[str, float] | None = None,
    close_loops: bool = True,
) -> HybridSolution:
    """Accelerations of free joints and forces of prescribed ones (Sueda 2021, Algorithm 9; loops by 2.129 to 2.131).

    As `dynamics.forward_dynamics`, it leaves the mechanism's own springs and dampers (`dynamics.passive_forces`) to
    the caller.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        v: joint velocities [rad/s or m/s], shape (nv,); default rest.
        u: generalised forces [N m or N], shape (nv,); those of prescribed degrees of freedom are ignored.
        prescribed: acceleration [rad/s^2 or m/s^2] by name of degree of freedom (`mechanism.velocity_names`).
        close_loops: False leaves loops open.
    """
    _refuse_splines(mechanism)
    q, v, tau = configuration(mechanism, q), tangent(mechanism, v), tangent(mechanism, u, "u")
    w = Workspace(mechanism)
    t = w.tree
    given, acc = prescription(mechanism, {} if prescribed is None else prescribed)
    flag(close_loops, "close_loops")
    recursive.hybrid_dynamics(w.model, w.data, q, v, given, acc, tau)
    multipliers: Any = np.zeros(0)
    if close_loops and not mechanism.is_tree:
        G, bias = loop_acceleration(mechanism, q, v)
        # Forces of constraints move free degrees of freedom only: others are held.
        X = held_inverse_product(mechanism, q, given, G)
        multipliers = np.linalg.lstsq(G @ X.T, -(bias + G @ acc), rcond=RANK_TOLERANCE)[0]
        tau = tangent(mechanism, u, "u") + G.T @ multipliers
        recursive.hybrid_dynamics(w.model, w.data, q, v, given, acc, tau)
        tau -= G.T @ multipliers
    if not np.isfinite(acc).all():
        k = int(np.flatnonzero(~np.isfinite(acc))[0])
        raise MechanismError(f"hybrid dynamics: the mass matrix is singular at {mechanism.velocity_names[k]!r}")
    reactions = np.zeros((len(t.bodies), 6))
    carried = t.bodies.node >= 0
    reactions[carried] = w.links.f[t.bodies.node[carried]]
    return HybridSolution(acc, tau, multipliers, reactions)


def _refuse_splines(mechanism: Mechanism) -> None:
    name = robot(mechanism).special_parts.get("spline joint")
    if name is not None:
        raise MechanismError(f"joint {name!r}: recursions do not know spline joints; use leastaction.BDF")


def prescription(mechanism: Mechanism, prescribed: dict[str, float]) -> tuple[Any, FloatArray]:
    """Flags (nv,) and accelerations (nv,) of prescribed degrees of freedom; refuses unknown names and NaN."""
    given, acc = np.zeros(mechanism.nv, np.int64), np.zeros(mechanism.nv)
    if not isinstance(prescribed, Mapping):
        raise MechanismError(f"prescribed: expected accelerations by name, got {shown(prescribed)}")
    for name, value in prescribed.items():
        k = mechanism.velocity_index(name)
        given[k], acc[k] = 1, number(value, f"prescribed acceleration of {name!r}")
    return given, acc


def held_inverse_product(mechanism: Mechanism, q: FloatArray, given: Any, X: FloatArray) -> FloatArray:
    """Accelerations (count, nv) by generalised forces X (count, nv) from rest while the given joints are held."""
    w = Workspace(mechanism)
    t = w.tree
    # An infinite inertia holds a joint: 1 / D = 0 leaves it out of the elimination.
    recursive.inverse_factor(t.nodes, t.dofs, w.links, w.screws, q, np.where(given != 0, np.inf, 0.0), NO_BLOCKS)
    Y = np.zeros_like(X)
    recursive.inverse_product(t.nodes, w.links, w.screws, np.ascontiguousarray(X), Y)
    return Y


@entry
def acceleration_equations(model, closure, data, q, v, h, G, bias):
    """Loop equations h, their Jacobian G (count, nv) and bias = dG/dt v, so that G a + bias = 0 (2.105)."""
    nodes, closure, data = DynamicsModel(*model).nodes, ClosureModel(*closure), DynamicsData(*data)
    rows, coefficients, count = closure
    links, screws = data.links, data.screws
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)
    equations(nodes, rows, coefficients, count, links, screws, q, h, G)
    for i in range(nodes.shape[0]):
        a = joint_acceleration(nodes[i], screws, v)
        if nodes[i].parent >= 0:
            a = add(a, load6(links[nodes[i].parent].a))
        store6(links[i].a, a)
    for c in range(count):
        row = rows[c]
        if is_coupling(row):
            _, _, curvature = polynomial(row, coefficients, coordinate_of(nodes, q, row.leader))
            bias[c] = -curvature * v[row.leader] * v[row.leader]
            continue
        Va, Vb = twist_of(links, row.a), twist_of(links, row.b)
        rate = add(wrench_slope(row, links, True, False, Va), wrench_slope(row, links, False, True, Vb))
        _, W = evaluate(row, links)
        aa = load6(links[row.a].a) if row.a >= 0 else ZERO6
        ab = load6(links[row.b].a) if row.b >= 0 else ZERO6
        bias[c] = dot(rate, sub(Vb, Va)) + dot(W, sub(ab, aa))


def loop_acceleration(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Jacobian G (equations, nv) of loops and couplings, and the bias dG/dt v: they hold where G a + bias = 0."""
    w = Workspace(mechanism)
    count = w.tree.closure.count
    h, G, bias = np.zeros(count), np.zeros((count, mechanism.nv)), np.zeros(count)
    acceleration_equations(w.model, w.closure, w.data, q, v, h, G, bias)
    return G, bias


class InverseInertia:
    """Products y = (M(q) + P)^-1 x in O(n) (Sueda 2021, Algorithm 10).

    P holds the implicit terms of a linearly implicit step: a diagonal of the joints and symmetric 6 x 6 blocks of the
    bodies. Terms that couple bodies break the tree; they are left to an iterative solver that is preconditioned by
    this product (`operator`).

    Args:
        mechanism: the robot; loops are not closed.
        q: joint positions [rad or m], shape (nq,).
        diagonal: added to the diagonal of the mass matrix, shape (nv,), such as dt * damping + dt^2 * stiffness.
        blocks: symmetric matrices added to the bodies' inertias, about the world's origin and in its directions,
            shape (bodies, 6, 6).
    """

    def __init__(
        self, mechanism: Mechanism, q: ArrayLike, *, diagonal: ArrayLike | None = None, blocks: ArrayLike | None = None
    ) -> None:
        _refuse_splines(mechanism)
        self.mechanism = mechanism
        self._work = w = Workspace(mechanism)
        q, extra = configuration(mechanism, q), tangent(mechanism, diagonal, "diagonal")
        self._nodes = w.tree.nodes
        packed = NO_BLOCKS if blocks is None else _packed(mechanism, blocks)
        recursive.inverse_factor(self._nodes, w.tree.dofs, w.links, w.screws, q, extra, packed)
        sound = (w.screws.h > 0.0) & (w.screws.h < np.inf)
        if not sound.all():
            k = int(np.flatnonzero(~sound)[0])
            raise MechanismError(
                f"inverse inertia of {mechanism.name!r}: the mass matrix is not positive definite at "
                f"{mechanism.velocity_names[k]!r}"
            )

    def __matmul__(self, x: Any) -> FloatArray:
        """y = (M + P)^-1 x for x of shape (nv,) or (nv, count)."""
        given, n = real_array(x), self.mechanism.nv
        if given is None or given.ndim not in (1, 2) or given.shape[0] != n or not np.isfinite(given).all():
            got = shown(x) if given is None or given.shape[:1] == (n,) else given.shape
            raise MechanismError(f"x: expected finite numbers of shape ({n},) or ({n}, count), got {got}")
        x = given
        rows = np.ascontiguousarray(x.reshape(n, -1).T)
        out = np.empty_like(rows)
        recursive.inverse_product(self._nodes, self._work.links, self._work.screws, rows, out)
        return out.T.reshape(x.shape)

    def dense(self) -> FloatArray:
        """(M + P)^-1 as a matrix, shape (nv, nv), in O(n^2)."""
        return self @ np.eye(self.mechanism.nv)

    @property
    def operator(self) -> LinearOperator:
        """The product as a `scipy.sparse.linalg.LinearOperator`: a preconditioner for its `cg`."""
        from scipy.sparse.linalg import LinearOperator

        n = self.mechanism.nv
        return LinearOperator((n, n), matvec=lambda x: self @ np.ravel(x), matmat=lambda X: self @ X, dtype=float)  # type: ignore[call-arg]


def _packed(mechanism: Mechanism, given: Any) -> FloatArray:
    """Blocks of bodies (bodies, 6, 6) as 21 numbers per node."""
    n, blocks = len(mechanism.bodies), real_array(given)
    if blocks is None or blocks.shape != (n, 6, 6) or not np.isfinite(blocks).all():
        got = shown(given) if blocks is None or blocks.shape == (n, 6, 6) else blocks.shape
        raise MechanismError(f"blocks: expected finite numbers of shape ({n}, 6, 6), got {got}")
    if not np.allclose(blocks, blocks.transpose(0, 2, 1), rtol=1e-9, atol=1e-12):
        raise MechanismError("blocks: the 6 x 6 blocks must be symmetric")
    packed = np.zeros((len(mechanism.tree.nodes), 21))
    i, j = np.triu_indices(3)
    for block, node in zip(blocks, mechanism.tree.bodies.node, strict=True):
        if node >= 0:
            packed[node, :6] += block[:3, :3][i, j]
            packed[node, 6:15] += block[:3, 3:].ravel()
            packed[node, 15:] += block[3:, 3:][i, j]
    return packed


def inverse_inertia_product(mechanism: Mechanism, q: ArrayLike, x: ArrayLike) -> FloatArray:
    """M(q)^-1 x in O(n), for x of shape (nv,) or (nv, count) (Sueda 2021, Algorithm 10)."""
    return InverseInertia(mechanism, q) @ x
