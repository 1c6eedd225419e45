"""Running the adjoint method over a recorded run, and sorting its gradients by the parts of the mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Mechanism
from leastaction.redmax.chart_slopes import pull_public, push_public
from leastaction.redmax.cotangents import COTANGENT
from leastaction.redmax.reduced import Reduced, records
from leastaction.redmax.reverse import reverse

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of an objective; all but the first three only where parameters were asked for.

    Attributes:
        q: by the first positions along the tangent, shape (nv,).
        v: by the first velocities, shape (nv,).
        controls: shape (steps, nu).
        inertias: by each node's mass, first moment and inertia about its origin, in its frame, shape (nodes, 10).
        placements: by displacements of each node's placement, twists in its parent's frame, shape (nodes, 6).
        coordinates: by stiffness, rest, damping and armature of each degree of freedom, shape (nv, 4).
        paths: by stiffness, rest length and damping of springs, then cables, shape (count, 3).
        wrenches: of constant wrenches, shape (count, 6).
        gravity: shape (3,).
        reduced: the arrays that nodes are numbered by.
    """

    q: FloatArray
    v: FloatArray
    controls: FloatArray
    inertias: FloatArray
    placements: FloatArray
    coordinates: FloatArray
    paths: FloatArray
    wrenches: FloatArray
    gravity: FloatArray
    reduced: Reduced


def reverse_run(
    stepper: Any, record: dict[str, Any], u: FloatArray, dq: FloatArray, dv: FloatArray, wanted: int
) -> Gradients:
    """Turn gradients by all states, dq (along the tangent) and dv of shape (steps + 1, nv), into `Gradients`.

    `wanted`: 0 for states and controls alone, 1 with parameters, 2 with placements too.
    """
    red, m = stepper.reduced, stepper.mechanism
    t, n = red.tree, red.nr
    arrays = stepper.arrays(record)
    R, RD, charts = arrays[:3]
    dq, dv = np.array(dq, order="C"), np.array(dv, order="C")
    last = len(R) - 1
    BX, BV = np.zeros((last + 1, n)), np.zeros((last + 1, n))
    pull_public(red.balls, red.index_v, R, RD, charts, dq, dv, BX, BV)
    size = n + stepper.multipliers
    nodal = tuple(np.zeros(t.nv) for _ in range(3))
    extra = np.zeros((size, n if stepper.multipliers else 0))
    back = (records(len(t.nodes), COTANGENT), nodal, np.zeros(size), np.zeros(n), np.zeros(n), extra)
    vectors = tuple(np.zeros(n) for _ in range(12))
    grads = (
        np.zeros((len(t.nodes), 10)),
        np.zeros((len(t.nodes), 6)),
        np.zeros((n, 4)),
        np.zeros((len(t.paths), 3)),
        np.zeros((len(t.wrenches), 6)),
        np.zeros(3),
    )
    BU = np.zeros((last, m.nu))
    U = np.array(u, order="C")
    run = (stepper.method, stepper.problem, back, stepper.dt, last, U)
    failed = reverse(*run, *arrays, BX, BV, BU, vectors, wanted, grads)
    if failed >= 0:
        raise IntegratorError(f"the adjoint of step {failed} has no solution: its Newton matrix is singular")
    bq, bv = np.zeros(m.nv), np.zeros(m.nv)
    push_public(red.balls, red.index_v, R[0], RD[0], charts[0], BX[0], BV[0], bq, bv)
    return Gradients(bq, bv, BU, *grads, red)


def parameter_gradient(g: Gradients, mechanism: Mechanism, name: str) -> FloatArray:
    """The gradient by one parameter of the mechanism, such as "mass:link1"; see `leastaction.adjoint`."""
    kind, _, part = name.partition(":")
    if kind == "gravity":
        return g.gravity.copy()
    if kind in ("mass", "com", "inertia"):
        return _inertial(g, mechanism, kind, part)
    if kind in ("position", "rotation"):
        return _placement(g, mechanism, kind, part)
    if kind == "wrench":
        return _wrench(g, mechanism, part)
    if kind in ("stiffness", "damping", "rest", "armature"):
        return _elastic(g, mechanism, kind, part)
    raise MechanismError(f"there is no parameter {name!r}; see the documentation of leastaction.adjoint")


def _inertial(g: Gradients, mechanism: Mechanism, kind: str, body: str) -> FloatArray:
    i = mechanism.body_index(body)
    if i < 0:
        raise MechanismError("the world has no inertia")
    frame = g.reduced.tree.bodies[i]
    if frame.node < 0:
        return np.zeros({"mass": (), "com": 3, "inertia": 6}[kind])
    row, inertia = g.inertias[int(frame.node)], mechanism.bodies[i].inertia
    R = frame.R.reshape(3, 3)
    c = R @ np.array(inertia.com) + frame.p
    J = np.array([[row[4], row[5] / 2, row[6] / 2], [row[5] / 2, row[7], row[8] / 2], [row[6] / 2, row[8] / 2, row[9]]])
    if kind == "mass":
        return np.array(row[0] + row[1:4] @ c + np.trace(J) * (c @ c) - c @ J @ c)
    if kind == "com":
        return inertia.mass * (R.T @ (row[1:4] + 2.0 * np.trace(J) * c - 2.0 * J @ c))
    B = R.T @ J @ R
    return np.array([B[0, 0], 2 * B[0, 1], 2 * B[0, 2], B[1, 1], 2 * B[1, 2], B[2, 2]])


def _placement(g: Gradients, mechanism: Mechanism, kind: str, name: str) -> FloatArray:
    t = g.reduced.tree
    span = next((s for s in t.spans if s.joint.name == name), None)
    if span is None:
        mechanism.joint(name)
        raise MechanismError(f"{kind}:{name}: only joints of the tree that move have gradients by their placement")
    if any(p.nv == 0 or p.motion.name.startswith("SPLINE") for p in span.joint.primitives):
        raise MechanismError(f"{kind}:{name}: spline joints have no gradients by their placement")
    row = g.placements[span.first]
    R = np.eye(3)
    if span.joint.parent != "world":
        R = t.bodies[mechanism.body_index(span.joint.parent)].R.reshape(3, 3)
    if kind == "position":
        return R.T @ row[3:]
    return R.T @ (row[:3] + np.cross(row[3:], t.nodes[span.first].pt))


def _wrench(g: Gradients, mechanism: Mechanism, name: str) -> FloatArray:
    names = [w.name for w in mechanism.wrenches]
    if name not in names:
        raise MechanismError(f"unknown external wrench {name!r}")
    k = names.index(name)
    w, out = mechanism.wrenches[k], g.wrenches[k].copy()
    if w.frame == "body":
        R = g.reduced.tree.bodies[mechanism.body_index(w.body)].R.reshape(3, 3)
        out = np.concatenate([R.T @ out[:3], R.T @ out[3:]])
    return out


def _elastic(g: Gradients, mechanism: Mechanism, kind: str, name: str) -> FloatArray:
    paths = [s.name for s in mechanism.springs] + [c.name for c in mechanism.cables]
    if name in paths:
        column = {"stiffness": 0, "rest": 1, "damping": 2}
        if kind not in column:
            raise MechanismError(f"{kind}:{name}: a spring has stiffness, rest and damping")
        return np.array(g.paths[paths.index(name), column[kind]])
    spans = [s for s in g.reduced.tree.spans if s.joint.name == name]
    if not spans:
        mechanism.joint(name)
        raise MechanismError(f"{kind}:{name}: there is no spring, cable or moving joint of that name")
    if any(s.primitive.nq != s.primitive.nv for s in spans):
        raise MechanismError(f"{kind}:{name}: springs and dampers of ball and free joints have no gradients yet")
    column = {"stiffness": 0, "rest": 1, "damping": 2, "armature": 3}[kind]
    rows = [s.iv + j for s in spans for j in range(s.primitive.nv)]
    return g.coordinates[rows, column].copy()
