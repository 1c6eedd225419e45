"""Derivatives of the second derivatives of the body-wise discrete Lagrangian along multipliers: contracted third ones.

`body_hessian` sums blocks of bodies over subtrees and multiplies them by screws. Along displacements lam of the joints
at all nodes each body moves by a twist eta, so dS_a = ad(eta) S_a, and only the blocks of single bodies remain. Their
derivatives use the code of `wrench_blocks` with dual poses (complex-step differentiation, see `dual_numbers`).
The cost is that of another `body_hessian`; no third-order tensor is formed.

For trees without body forces, whose ball and free joints have neither springs nor armatures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.minimal.dual_numbers import SMALL, dual3, dual_coefficients, slope3
from leastaction.minimal.galerkin_bodies.arrays import BodyMotion, GalerkinBodiesModel
from leastaction.minimal.galerkin_bodies.rotational_energy import turning_gradient
from leastaction.minimal.galerkin_bodies.wrench_blocks import all_blocks, start_torque, whole_block
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    ad,
    add,
    add3,
    axpy,
    axpy3,
    cross,
    dot,
    load3,
    load6,
    load_sym,
    store3,
    store6,
    sub3,
)
from leastaction.spatial import exponential as ex

DUAL_BODY = np.dtype([("x", "c16", 3), ("f", "c16", 3)], align=True)
"""The fields of `arrays.BODY_AT_NODE` that `wrench_blocks` reads, as dual numbers."""

DUAL_TURN = np.dtype([("y", "c16", 3), ("g", "c16", 3), ("k", "c16", 8)], align=True)
"""`arrays.TURN` as dual numbers."""


class ContractionData(NamedTuple):
    """Scratch of `contract`.

    Attributes:
        eta: twists of the bodies along the multipliers, shape (s + 1, bodies, 6).
        dS: changes of the screws, shape (s + 1, nv, 6).
        dA: changes of the blocks, then of those of subtrees, shape (bodies, 6 (s + 1), 6 (s + 1)).
        dF: changes of the wrenches, then of those on subtrees, shape (s + 1, bodies, 6).
        A: the blocks themselves, shape as dA.
        bodies, turns, dual, G: of one body, complex; shapes (s + 1, 1), (s + 1, 1), (1, 6 (s + 1), 6 (s + 1)) and
            (s + 1, s + 1, 9).
        down, change: products of one screw with blocks, and their changes, shape (s + 1, s + 1, 6).
    """

    eta: NDArray[np.float64]
    dS: NDArray[np.float64]
    dA: NDArray[np.float64]
    dF: NDArray[np.float64]
    A: NDArray[np.float64]
    bodies: Any
    turns: Any
    dual: NDArray[np.complex128]
    G: NDArray[np.complex128]
    down: NDArray[np.float64]
    change: NDArray[np.float64]


def contraction_data(model: GalerkinBodiesModel) -> ContractionData:
    """Zeroed arrays for one robot."""
    nodes, n, nv = len(model.rule.c), len(model.nodes), len(model.dofs)
    z, m = np.zeros, 6 * len(model.rule.c)
    return ContractionData(
        eta=z((nodes, n, 6)),
        dS=z((nodes, nv, 6)),
        dA=z((n, m, m)),
        dF=z((nodes, n, 6)),
        A=z((n, m, m)),
        bodies=z((nodes, 1), DUAL_BODY).view(np.recarray),
        turns=z((nodes, 1), DUAL_TURN).view(np.recarray),
        dual=z((1, m, m), complex),
        G=z((nodes, nodes, 9), complex),
        down=z((nodes, nodes, 6)),
        change=z((nodes, nodes, 6)),
    )


@routine
def _move(model, data, work, lam):
    """Twists of all bodies and changes of all screws along lam (s + 1, nv)."""
    nodes, S = model.nodes, data.S
    for j in range(lam.shape[0]):
        for i in range(nodes.shape[0]):
            node = nodes[i]
            eta = load6(work.eta[j, node.parent]) if node.parent >= 0 else ZERO6
            for a in range(node.iv, node.iv + node.nv):
                eta = axpy(lam[j, a], load6(S[j, a]), eta)
            store6(work.eta[j, i], eta)
            for a in range(node.iv, node.iv + node.nv):
                store6(work.dS[j, a], ad(eta, load6(S[j, a])))


@inline
def _set_turn(turn, y, dy):
    """Set the rotation vector y with the coefficients of `spatial.exponential` there, and their changes along dy."""
    k = dual_coefficients(y, dy)
    store3(turn.y, dual3(y, dy))
    turn.k[0], turn.k[1], turn.k[2], turn.k[3] = k[0], k[1], k[2], k[3]
    turn.k[4], turn.k[5], turn.k[6], turn.k[7] = k[4], k[5], k[6], k[7]


@inline
def _turned_inertia(Ic, w):
    """Ic (6) with its change [w] I - I [w], dual."""
    # Columns of [w] I; the change is this plus its transpose.
    a = cross(w, (Ic[0], Ic[1], Ic[2]))
    b = cross(w, (Ic[1], Ic[3], Ic[4]))
    c = cross(w, (Ic[2], Ic[4], Ic[5]))
    return (
        complex(Ic[0], 2.0 * SMALL * a[0]),
        complex(Ic[1], SMALL * (a[1] + b[0])),
        complex(Ic[2], SMALL * (a[2] + c[0])),
        complex(Ic[3], 2.0 * SMALL * b[1]),
        complex(Ic[4], SMALL * (b[2] + c[1])),
        complex(Ic[5], 2.0 * SMALL * c[2]),
    )


@routine
def _change_body(model, settings, data, work, i):
    """dA[i] and dF[:, i] of body i alone."""
    rule, mass, dt = model.rule, model.nodes[i].mass, settings.dt
    bodies, turns, A = work.bodies, work.turns, work.dual
    last = rule.m.shape[0]
    start = load6(work.eta[0, i])[0]
    for j in range(last):
        eta, x = load6(work.eta[j, i]), load3(data.bodies[j, i].x)
        store3(bodies[j, 0].x, dual3(x, add3(eta[1], cross(eta[0], x))))
        if j > 0:
            y = load3(data.turns[j, i].y)
            k = ex.coefficients(y)
            _set_turn(turns[j, 0], y, sub3(ex.jl_inverse(y, k, eta[0]), ex.jr_inverse(y, k, start)))
    for j in range(last):
        df = ZERO3
        for k in range(last):
            df = axpy3(mass / dt * rule.m[j, k], slope3(load3(bodies[k, 0].x)), df)
        store3(bodies[j, 0].f, dual3(load3(data.bodies[j, i].f), df))
    Ic = _turned_inertia(load_sym(data.inertias[i]), start)
    turning_gradient(rule.w, rule.b, turns, 0, Ic, dt)
    whole_block(model, settings, BodyMotion(bodies, turns, work.G), 0, mass, Ic, A)
    for j in range(last):
        f = load3(bodies[j, 0].f)
        torque = add3(start_torque(turns, j, 0), cross(load3(bodies[j, 0].x), f))
        store6(work.dF[j, i], (slope3(torque), slope3(f)))
    for a in range(A.shape[1]):
        for b in range(A.shape[2]):
            work.dA[i, a, b] = A[0, a, b].imag / SMALL


@routine
def contract(model, settings, data, work, lam, out):
    """out (s + 1, nv, s + 1, nv): the change of H of `body_hessian` along lam (s + 1, nv).

    Needs `body_residual` at the same Q, and `end_momentum`: F are the wrenches on subtrees.
    """
    nodes, A, dA = model.nodes, work.A, work.dA
    _move(model, data, work, lam)
    all_blocks(model, settings, data, A)
    for i in range(nodes.shape[0]):
        _change_body(model, settings, data, work, i)
    for j in range(out.shape[0]):
        for a in range(out.shape[1]):
            for k in range(out.shape[2]):
                for b in range(out.shape[3]):
                    out[j, a, k, b] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        _rows_of(model, data, work, i, out)
        parent = nodes[i].parent
        if parent >= 0:
            for a in range(A.shape[1]):
                for b in range(A.shape[2]):
                    A[parent, a, b] += A[i, a, b]
                    dA[parent, a, b] += dA[i, a, b]
            for j in range(work.dF.shape[0]):
                for c in range(6):
                    work.dF[j, parent, c] += work.dF[j, i, c]


@routine
def _rows_of(model, data, work, i, out):
    """Rows of joint i with itself and all joints that carry it, and their transposes, because displacements commute."""
    nodes, S, dS, A, dA = model.nodes, data.S, work.dS, work.A, work.dA
    down, change = work.down, work.change
    last = S.shape[0]
    for a in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
        for j in range(last):
            for k in range(last):
                for c in range(6):
                    u, du = 0.0, 0.0
                    for d in range(6):
                        x = A[i, 6 * j + d, 6 * k + c]
                        u -= S[j, a, d] * x
                        du -= dS[j, a, d] * x + S[j, a, d] * dA[i, 6 * j + d, 6 * k + c]
                    down[j, k, c], change[j, k, c] = u, du
        other = i
        while other >= 0:
            for b in range(nodes[other].iv, nodes[other].iv + nodes[other].nv):
                for j in range(last):
                    for k in range(last):
                        t = 0.0
                        for c in range(6):
                            t += change[j, k, c] * S[k, b, c] + down[j, k, c] * dS[k, b, c]
                        if j == k:
                            t += _turned_row(data, work, i, j, a, b)
                        out[j, a, k, b] = t
                        if other != i:
                            out[k, b, j, a] = t
            other = nodes[other].parent


@inline
def _turned_row(data, work, i, j, a, b):
    """Change of ad(S_b) S_a . F: the row of a rotates with each joint b that carries it."""
    Sa, Sb = load6(data.S[j, a]), load6(data.S[j, b])
    moved = add(ad(load6(work.dS[j, b]), Sa), ad(Sb, load6(work.dS[j, a])))
    return dot(moved, load6(data.bodies[j, i].F)) + dot(ad(Sb, Sa), load6(work.dF[j, i]))
