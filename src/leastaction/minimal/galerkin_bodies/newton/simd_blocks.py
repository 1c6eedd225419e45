"""Rotations of bodies at order 4, eight bodies at a time: computations without dependence between bodies.

Numbers of eight bodies are contiguous, at fixed offsets, for SIMD instructions.
Results that other kernels read are copied to the bodies' own records.
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_bodies.rotational_energy import (
    gradients_at_order_4,
    hessian_at_order_4,
    order_4,
    plus9,
    polynomial,
    polynomial_slope,
    turn_between,
)
from leastaction.spatial import dot3, load9, matmul, store3, transpose
from leastaction.spatial import exponential as ex
from leastaction.spatial._series import SMALL

LANES = 8
"""Bodies in a pack (SIMD lanes)."""

PACK = np.dtype(
    [
        ("y", "f8", (3, LANES)),  # rotation vectors at the middle of the step, see `arrays.TURN`
        ("z", "f8", (3, LANES)),  # and at its end
        ("g", "f8", (3, LANES)),  # derivatives of the rotational energy by y
        ("h", "f8", (3, LANES)),  # and by z
        ("k", "f8", (8, LANES)),  # coefficients of `spatial.exponential` at y
        ("l", "f8", (8, LANES)),  # and at z
        ("I", "f8", (6, LANES)),  # inertias in world axes at the start
        ("M", "f8", (36, LANES)),  # contribution of rotations to the blocks: four matrices (9), row by row
    ],
    align=True,
)
"""Eight bodies; lanes beyond the last body are zero."""


def packs_of(bodies: int) -> np.ndarray:
    """Zeroed packs for a number of bodies."""
    return np.zeros(-(-bodies // LANES), PACK).view(np.recarray)


@inline
def _three(a, n):
    return (a[0, n], a[1, n], a[2, n])


@inline
def _eight(a, n):
    return (a[0, n], a[1, n], a[2, n], a[3, n], a[4, n], a[5, n], a[6, n], a[7, n])


@inline
def _put3(a, n, x):
    a[0, n], a[1, n], a[2, n] = x


@inline
def _put8(a, n, x):
    a[0, n], a[1, n], a[2, n], a[3, n], a[4, n], a[5, n], a[6, n], a[7, n] = x


@inline
def _put9(a, k, n, M):
    a[k, n], a[k + 1, n], a[k + 2, n], a[k + 3, n], a[k + 4, n] = M[0], M[1], M[2], M[3], M[4]
    a[k + 5, n], a[k + 6, n], a[k + 7, n], a[k + 8, n] = M[5], M[6], M[7], M[8]


@inline
def _inertia(pack, n):
    return (pack.I[0, n], pack.I[1, n], pack.I[2, n], pack.I[3, n], pack.I[4, n], pack.I[5, n])


@routine
def turn_packs(model, settings, data):
    """`body_residual.turn_bodies` at order 4."""
    packs, turns, bodies, inertias = data.packs, data.turns, data.bodies, data.inertias
    count, dt, rule = model.nodes.shape[0], settings.dt, order_4(model.rule.w, model.rule.b)
    for b in range(packs.shape[0]):
        pack, first = packs[b], b * LANES
        filled = min(LANES, count - first)
        large = False
        for n in range(filled):
            i = first + n
            R = load9(bodies[0, i].R)
            y, z = turn_between(R, load9(bodies[1, i].R)), turn_between(R, load9(bodies[2, i].R))
            large = large or dot3(y, y) >= SMALL or dot3(z, z) >= SMALL
            _put3(pack.y, n, y)
            _put3(pack.z, n, z)
            for c in range(6):
                pack.I[c, n] = inertias[i, c]
        for n in range(LANES):
            _put8(pack.k, n, ex.small_coefficients(_three(pack.y, n)))
            _put8(pack.l, n, ex.small_coefficients(_three(pack.z, n)))
        if large:
            for n in range(filled):
                _put8(pack.k, n, ex.coefficients(_three(pack.y, n)))
                _put8(pack.l, n, ex.coefficients(_three(pack.z, n)))
        for n in range(LANES):
            y, z, k, l = _three(pack.y, n), _three(pack.z, n), _eight(pack.k, n), _eight(pack.l, n)
            g, h = gradients_at_order_4(rule, y, z, k, l, _inertia(pack, n), dt)
            _put3(pack.g, n, g)
            _put3(pack.h, n, h)
        for n in range(filled):
            _write_record(turns[1, first + n], pack.y, pack.g, pack.k, n)
            _write_record(turns[2, first + n], pack.z, pack.h, pack.l, n)


@inline
def _write_record(turn, y, g, k, n):
    """The record of one body at one node."""
    store3(turn.y, _three(y, n))
    store3(turn.g, _three(g, n))
    for c in range(8):
        turn.k[c] = k[c, n]


@routine
def torque_packs(model, settings, data):
    """M of all packs: minus the derivatives of the torques at nodes 0 and 1 by rotations of the bodies at 1 and 2."""
    packs, dt, rule = data.packs, settings.dt, order_4(model.rule.w, model.rule.b)
    for b in range(packs.shape[0]):
        pack = packs[b]
        for n in range(LANES):
            y, z, k, l = _three(pack.y, n), _three(pack.z, n), _eight(pack.k, n), _eight(pack.l, n)
            A, B, C = hessian_at_order_4(rule, y, z, k, l, _inertia(pack, n), dt)
            left, right = polynomial(y, 0.5, k[6]), polynomial(y, -0.5, k[6])
            slope = polynomial_slope(y, _three(pack.g, n), 0.5, 0.0, k[6], k[7])
            P = matmul(plus9(matmul(left, A), slope), right)
            last = polynomial(z, -0.5, l[6])
            Q = matmul(matmul(left, B), last)
            left = polynomial(z, 0.5, l[6])
            slope = polynomial_slope(z, _three(pack.h, n), 0.5, 0.0, l[6], l[7])
            S = matmul(matmul(left, transpose(B)), right)
            T = matmul(plus9(matmul(left, C), slope), last)
            _put9(pack.M, 0, n, plus9(P, S))
            _put9(pack.M, 9, n, plus9(Q, T))
            _put9(pack.M, 18, n, _minus(P))
            _put9(pack.M, 27, n, _minus(Q))


@inline
def _minus(M):
    return (-M[0], -M[1], -M[2], -M[3], -M[4], -M[5], -M[6], -M[7], -M[8])


@inline
def torque_slopes(packs, i, k):
    """Matrix (9) number k of M of body i."""
    M, n, a = packs[i // LANES].M, i % LANES, 9 * k
    upper = (M[a, n], M[a + 1, n], M[a + 2, n], M[a + 3, n], M[a + 4, n])
    return upper + (M[a + 5, n], M[a + 6, n], M[a + 7, n], M[a + 8, n])
