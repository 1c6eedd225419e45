"""Derivatives of the second derivatives of the joint-wise discrete Lagrangian along multipliers: contracted third ones.

At a quadrature point, column a of the blocks moves a joint's child by T_a = sum S delta_a and changes its twist, in the
child's frame, by V_a = sum S rho_a + S' delta_a with S' = ad(V of the parent) S. With C and mu of subtrees

    D_ab = weight [V_b . (C V_a - coad(T_a) mu) + omega_b . (arm_a x g)],   b carries a (as in `joint_hessian`),

and all terms change along displacements lam of the control points: poses by twists eta, twists by nu. All derivatives
in the world's frame take one outward and one inward pass, so the contraction costs as much as the blocks, O(n depth),
without a third-order tensor.

Ball joints of the midpoint rule add their own terms, see `ball_rotations`. Joints with single axes may have any
rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import add_to
from leastaction.minimal.dual_numbers import SMALL, dual3
from leastaction.minimal.galerkin_joints.arrays import TreeModel
from leastaction.minimal.galerkin_joints.ball_rotations import (
    chart_change,
    chart_change_slope,
    dual_ball,
    of_ends,
    turn,
    turn_slope,
)
from leastaction.minimal.galerkin_joints.joint_residual import unit3
from leastaction.minimal.galerkin_joints.newton.tree_sparse_ldu import composites
from leastaction.minimal.galerkin_joints.quadrature_points import is_nodal
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    ad,
    add,
    add3,
    axpy,
    coad,
    cross,
    dot,
    dot3,
    load3,
    load6,
    load_inertia,
    momentum,
    scale3,
    store6,
    sub,
    sub3,
)
from leastaction.spatial import exponential as ex
from leastaction.typing import FloatArray


class ContractionData(NamedTuple):
    """Scratch of `contract`, at one quadrature point.

    Attributes:
        lam: multipliers with split free joints, shape (s + 1, nv).
        eta, nu: motions of nodes, and changes of their twists in their frames, shape (nodes, 6).
        dmu: changes of the momenta of subtrees, shape (nodes, 6).
        dC: changes of their inertias, shape (nodes, 10).
        dS, dSp: changes of the screws and of their rates, shape (nv, 6).
        rho, delta: columns of the degrees of freedom in their joint, and their changes, shape (2, nv, s + 1, 3).
        T, V: columns, and their changes, shape (2, nv, s + 1, 6).
    """

    lam: FloatArray
    eta: FloatArray
    nu: FloatArray
    dmu: FloatArray
    dC: FloatArray
    dS: FloatArray
    dSp: FloatArray
    rho: FloatArray
    delta: FloatArray
    T: FloatArray
    V: FloatArray


def contraction_data(model: TreeModel, points: int) -> ContractionData:
    """Zeroed arrays for a rule with a number of control points."""
    n, nv = len(model.nodes), len(model.dofs)
    sixes, own, twists = (n, 6), (2, nv, points, 3), (2, nv, points, 6)
    shapes = ((points, nv), sixes, sixes, sixes, (n, 10), (nv, 6), (nv, 6), own, own, twists, twists)
    return ContractionData(*(np.zeros(shape) for shape in shapes))


@inline
def _moved_inertia(M, eta):
    """Change (10) of a spatial inertia that a twist moves; its mass is zero."""
    m, h, S = M
    w, v = eta
    dh = add3(scale3(m, v), cross(w, h))
    a, b, c = cross(w, (S[0], S[1], S[2])), cross(w, (S[1], S[3], S[4])), cross(w, (S[2], S[4], S[5]))
    t = 2.0 * dot3(h, v)
    return (
        0.0,
        dh,
        (
            2.0 * (a[0] - v[0] * h[0]) + t,
            a[1] + b[0] - v[0] * h[1] - v[1] * h[0],
            a[2] + c[0] - v[0] * h[2] - v[2] * h[0],
            2.0 * (b[1] - v[1] * h[1]) + t,
            b[2] + c[1] - v[1] * h[2] - v[2] * h[1],
            2.0 * (c[2] - v[2] * h[2]) + t,
        ),
    )


@inline
def _add_inertia(a, M):
    m, h, S = M
    a[0] += m
    for k in range(3):
        a[1 + k] += h[k]
    for k in range(6):
        a[4 + k] += S[k]


@inline
def _share(rule, al, chi):
    """Pose at point al per displacement of control point chi."""
    if is_nodal(rule):
        return 1.0 if al == chi else 0.0
    return 0.5


# ---------------------------------------------------------------------- ball joints of the midpoint rule


@inline
def _at(a, chi, n):
    return (a[chi, n], a[chi, n + 1], a[chi, n + 2])


@inline
def _moved_chart(X, lam, n):
    """xi of a ball joint over the step, and its change along lam."""
    xi = _at(X, 1, n)
    k = ex.coefficients(xi)
    return xi, sub3(ex.jr_inverse(xi, k, _at(lam, 1, n)), ex.jl_inverse(xi, k, _at(lam, 0, n)))


@routine
def _ball_columns(points, work, n, idt):
    """rho and delta of a ball joint's columns, with their changes."""
    xi, dxi = _moved_chart(points.X, work.lam, n)
    ball = dual_ball(xi, dxi)
    for j in range(3):
        for chi in range(2):
            d, sigma = of_ends(chi, unit3(j))
            bent, turned = chart_change(ball, d, sigma), turn(ball, d, sigma)
            for c in range(3):
                work.rho[0, n + j, chi, c] = bent[c].real * idt
                work.rho[1, n + j, chi, c] = bent[c].imag * idt / SMALL
                work.delta[0, n + j, chi, c] = turned[c].real
                work.delta[1, n + j, chi, c] = turned[c].imag / SMALL


@inline
def _paired(screws, changes, n, F, dF):
    """Components of a wrench along three screws, dual."""
    S, T, U = load6(screws[0, n]), load6(screws[0, n + 1]), load6(screws[0, n + 2])
    a = (dot(S, F), dot(T, F), dot(U, F))
    b = (
        dot(load6(changes[n]), F) + dot(S, dF),
        dot(load6(changes[n + 1]), F) + dot(T, dF),
        dot(load6(changes[n + 2]), F) + dot(U, dF),
    )
    return dual3(a, b)


@routine
def _own_ball(model, settings, points, work, i, out):
    """Change of the derivatives of ball joint i by itself: curvature of its chart, and rotation of its own velocity."""
    scr, dt, n = points.screws, settings.dt, model.nodes[i].iv
    pt, g = points.nodes[0, i], load3(model.gravity)
    mu, dmu = load6(pt.mu), load6(work.dmu[i])
    C, dC = load_inertia(pt.C), load_inertia(work.dC[i])
    G, dG = (cross(C[1], g), scale3(C[0], g)), (cross(dC[1], g), ZERO3)
    mom = _paired(scr.S, work.dS, n, mu, dmu)
    push = add3(_paired(scr.Sp, work.dSp, n, mu, dmu), _paired(scr.S, work.dS, n, G, dG))
    xi, dxi = _moved_chart(points.X, work.lam, n)
    ball = dual_ball(xi, dxi)
    for m in range(3):
        for other in range(2):
            d, sigma = of_ends(other, unit3(m))
            h = chart_change(ball, d, sigma)
            for j in range(3):
                for chi in range(2):
                    d, sigma = of_ends(chi, unit3(j))
                    x = dot3(mom, chart_change_slope(ball, d, sigma, h)) - dot3(mom, cross(h, turn(ball, d, sigma)))
                    x = x + dt * dot3(push, turn_slope(ball, d, h))
                    out[chi, n + j, other, n + m] += x.imag / SMALL


# ---------------------------------------------------------------------- the tree


@routine
def _sweep_out(model, settings, points, work, al):
    """Changes of nodes, twists, screws, momenta and inertias along the multipliers."""
    nodes, rule, lam = model.nodes, settings.rule, work.lam
    pts, scr, idt = points.nodes, points.screws, 1.0 / settings.dt
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n = node.iv
        eta, nu, Vp, dVp = ZERO6, ZERO6, ZERO6, ZERO6
        if node.parent >= 0:
            eta, nu, Vp = load6(work.eta[node.parent]), load6(work.nu[node.parent]), load6(pts[al, node.parent].v)
            dVp = add(nu, ad(eta, Vp))
        if node.nv == 3:
            _ball_columns(points, work, n, idt)
        for k in range(n, n + node.nv):
            turn, rate = 0.0, 0.0
            if node.nv == 1:
                for chi in range(lam.shape[0]):
                    work.rho[0, k, chi, 0] = rule.b[al, chi] * idt
                    work.delta[0, k, chi, 0] = _share(rule, al, chi)
                    turn += work.delta[0, k, chi, 0] * lam[chi, k]
                    rate += work.rho[0, k, chi, 0] * lam[chi, k]
            else:
                for j in range(3):
                    for chi in range(2):
                        turn += work.delta[0, n + j, chi, k - n] * lam[chi, n + j]
                        rate += work.rho[0, n + j, chi, k - n] * lam[chi, n + j]
            S = load6(scr[al, k].S)
            eta, nu = axpy(turn, S, eta), axpy(rate, S, axpy(turn, load6(scr[al, k].Sp), nu))
        store6(work.eta[i], eta)
        store6(work.nu[i], nu)
        for k in range(n, n + node.nv):
            S = load6(scr[al, k].S)
            dS = ad(eta, S)
            store6(work.dS[k], dS)
            store6(work.dSp[k], add(ad(dVp, S), ad(Vp, dS)))
        M, V = load_inertia(pts[al, i].M), load6(pts[al, i].v)
        dM = _moved_inertia(M, eta)
        for k in range(10):
            work.dC[i, k] = 0.0
        _add_inertia(work.dC[i], dM)
        store6(work.dmu[i], add(momentum(dM, V), momentum(M, add(nu, ad(eta, V)))))
    for i in range(nodes.shape[0] - 1, 0, -1):
        j = nodes[i].parent
        if j >= 0:
            add_to(work.dmu[j], load6(work.dmu[i]))
            for k in range(10):
                work.dC[j, k] += work.dC[i, k]


@routine
def _columns(model, points, work, al):
    """T and V of all columns, and their changes."""
    scr = points.screws
    for i in range(model.nodes.shape[0]):
        n, nv = model.nodes[i].iv, model.nodes[i].nv
        for k in range(n, n + nv):
            for chi in range(work.T.shape[2]):
                T, V, dT, dV = ZERO6, ZERO6, ZERO6, ZERO6
                for c in range(nv):
                    S, Sp = load6(scr[al, n + c].S), load6(scr[al, n + c].Sp)
                    dS, dSp = load6(work.dS[n + c]), load6(work.dSp[n + c])
                    r, x = work.rho[0, k, chi, c], work.delta[0, k, chi, c]
                    T, V = axpy(x, S, T), axpy(r, S, axpy(x, Sp, V))
                    dT, dV = axpy(x, dS, dT), axpy(r, dS, axpy(x, dSp, dV))
                    if nv == 3:
                        r, x = work.rho[1, k, chi, c], work.delta[1, k, chi, c]
                        dT, dV = axpy(x, S, dT), axpy(r, S, axpy(x, Sp, dV))
                store6(work.T[0, k, chi], T)
                store6(work.V[0, k, chi], V)
                store6(work.T[1, k, chi], dT)
                store6(work.V[1, k, chi], dV)


@routine
def _pairs(model, points, work, al, weight, i, out):
    """Add the changes of the rows of joint i with itself and with all joints that carry it, which commute with it."""
    nodes, pt, g = model.nodes, points.nodes[al, i], load3(model.gravity)
    C, mu, dC, dmu = load_inertia(pt.C), load6(pt.mu), load_inertia(work.dC[i]), load6(work.dmu[i])
    for a in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
        for chi in range(work.T.shape[2]):
            T, V = load6(work.T[0, a, chi]), load6(work.V[0, a, chi])
            dT, dV = load6(work.T[1, a, chi]), load6(work.V[1, a, chi])
            X = sub(momentum(C, V), coad(T, mu))
            dX = add(momentum(dC, V), momentum(C, dV))
            dX = sub(dX, add(coad(dT, mu), coad(T, dmu)))
            Y = cross(momentum(C, T)[1], g)
            dY = cross(add3(momentum(dC, T)[1], momentum(C, dT)[1]), g)
            other = i
            while other >= 0:
                for b in range(nodes[other].iv, nodes[other].iv + nodes[other].nv):
                    for end in range(work.T.shape[2]):
                        x = dot(load6(work.V[1, b, end]), X) + dot(load6(work.V[0, b, end]), dX)
                        x += dot3(load6(work.T[1, b, end])[0], Y) + dot3(load6(work.T[0, b, end])[0], dY)
                        out[chi, a, end, b] += weight * x
                        if other != i:
                            out[end, b, chi, a] += weight * x
                other = nodes[other].parent


@routine
def contract(model, settings, points, work, out):
    """out (s + 1, nv, s + 1, nv): the change of D along work.lam, for split free joints and rotations of ball joints.

    Needs `joint_residual` at the same control points.
    """
    w = settings.rule.w
    for chi in range(out.shape[0]):
        for a in range(out.shape[1]):
            for end in range(out.shape[2]):
                for b in range(out.shape[3]):
                    out[chi, a, end, b] = 0.0
    for al in range(w.shape[0]):
        composites(model.nodes, points.nodes, al)
        _sweep_out(model, settings, points, work, al)
        _columns(model, points, work, al)
        for i in range(model.nodes.shape[0]):
            _pairs(model, points, work, al, w[al] * settings.dt, i, out)
            if model.nodes[i].nv == 3:
                _own_ball(model, settings, points, work, i, out)
