"""Simplified Newton sweeps with an approximate Jacobian, before Newton: for high orders and small steps.

With the mass matrix M of one quadrature point in place of all, and without the derivatives of forces and of M, the
Jacobian of the DEL equations is a Kronecker product,

    J ~ K (x) M / dt,   K[rho, gamma] = sum_alpha w[alpha] b[alpha, rho] b[alpha, gamma],

which generalises the quasi-Newton method of Lee et al. 2016 (K = -1 at order 2) to any order. K is inverted once per
rule, M factorised once per step (Featherstone, Table 7.1), and each sweep is O(s n + s^2 n) where Newton's is O(s^3 n).
Sweeps converge linearly, with a ratio that decreases with dt. Anderson acceleration (Anderson 1965) compensates for
the slow convergence of a chain's stiffest modes. Where sweeps would take too long, Newton follows.
"""

import math

from leastaction._jit import routine
from leastaction.dynamics.recursions import (
    apply,
    from_rigid,
    load_articulated,
    minus_outer,
    store_articulated,
    sum_articulated,
)
from leastaction.kinematics.sweeps import add_to
from leastaction.minimal.galerkin_joints.joint_residual import residual
from leastaction.spatial import ZERO6, axpy, dot, load6, load_inertia, store6

PER_ORDER = 5
"""Largest number of sweeps, per s: about as many as cost two Newton iterations."""

TOO_FAR = 0.5
"""Updates [rad or m] from which on the step is solved by Newton."""


@routine
def factor(model, points, data, al):
    """Articulated inertias of the tree at quadrature point al: U[k] = A S, and D[k] = 1 / (S . U + armature)."""
    nodes, dofs, pts, scr = model.nodes, model.dofs, points.nodes, points.screws
    A, U, D = data.A, data.U, data.D
    for i in range(nodes.shape[0]):
        store_articulated(A[i], from_rigid(load_inertia(pts[al, i].M)))
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        X = load_articulated(A[i])
        for k in range(node.iv + node.nv - 1, node.iv - 1, -1):
            S = load6(scr[al, k].S)
            V = apply(X, S)
            D[k] = 1.0 / (dot(S, V) + dofs[k].armature)
            store6(U[k], V)
            X = minus_outer(X, V, D[k])
        if node.parent >= 0:
            sum_articulated(A[node.parent], X)


@routine
def respond(nodes, scr, data, y, al):
    """y[rho] becomes M^-1 y[rho], for all rho."""
    U, D, f = data.U, data.D, data.f
    for m in range(y.shape[0]):
        for i in range(nodes.shape[0]):
            store6(f[i], ZERO6)
        for i in range(nodes.shape[0] - 1, -1, -1):
            node = nodes[i]
            F = load6(f[i])
            for k in range(node.iv + node.nv - 1, node.iv - 1, -1):
                y[m, k] -= dot(load6(scr[al, k].S), F)
                F = axpy(D[k] * y[m, k], load6(U[k]), F)
            if node.parent >= 0:
                add_to(f[node.parent], F)
        for i in range(nodes.shape[0]):
            node = nodes[i]
            a = ZERO6
            if node.parent >= 0:
                a = load6(f[node.parent])
            for k in range(node.iv, node.iv + node.nv):
                y[m, k] = D[k] * (y[m, k] - dot(load6(U[k]), a))
                a = axpy(y[m, k], load6(scr[al, k].S), a)
            store6(f[i], a)


@routine
def mix(X, data, it):
    """Anderson acceleration of depth 2: control points X += F minus its prediction by the last two updates.

    `it`: sweep, counted from 1.
    """
    F, oldX, oldF = data.F, data.oldX, data.oldF
    s, n = F.shape
    new, old = it % 2, (it + 1) % 2
    # Least squares: F - g0 (F - F_old) - g1 (F - F_older).
    a00, a01, a11, b0, b1 = 0.0, 0.0, 0.0, 0.0, 0.0
    if it > 1:
        for a in range(s):
            for k in range(n):
                d0 = F[a, k] - oldF[old, a, k]
                a00 += d0 * d0
                b0 += d0 * F[a, k]
                if it > 2:
                    d1 = F[a, k] - oldF[new, a, k]
                    a01 += d0 * d1
                    a11 += d1 * d1
                    b1 += d1 * F[a, k]
    g0, g1 = 0.0, 0.0
    det = a00 * a11 - a01 * a01
    if it > 2 and det > 1e-8 * a00 * a11:
        g0 = (b0 * a11 - b1 * a01) / det
        g1 = (a00 * b1 - a01 * b0) / det
    elif a00 > 0.0:
        g0 = b0 / a00
    for a in range(s):
        for k in range(n):
            x, y = X[a + 1, k], F[a, k]
            z = x + y
            if it > 1:
                z -= g0 * (x - oldX[old, a, k] + y - oldF[old, a, k])
            if it > 2:
                z -= g1 * (x - oldX[new, a, k] + y - oldF[new, a, k])
            oldX[new, a, k], oldF[new, a, k] = x, y
            X[a + 1, k] = z


@routine
def relax(model, settings, points, data, p, u, limit):
    """At most `limit` sweeps from the control points in X; returns (sweeps, converged, whether updates decrease).

    Converged: the last update is below `tolerance` [rad or m], or the sum of the following ones is, estimated by the
    worse of the last two ratios of residuals.
    """
    F, r, tolerance = data.F, points.r, settings.tolerance
    s, n = F.shape
    al = settings.rule.w.shape[0] // 2
    norm = residual(model, settings, points, p, u)
    if norm == 0.0:
        return 0, True, True
    factor(model, points, data, al)
    first, last = 0.0, 1.0
    for it in range(1, limit + 1):
        size = 0.0
        for a in range(s):
            for k in range(n):
                y = 0.0
                for rho in range(s):
                    y += data.inverse[a, rho] * r[rho, k]
                F[a, k] = -settings.dt * y
        respond(model.nodes, points.screws, data, F, al)
        for a in range(s):
            for k in range(n):
                # Propagate NaN, which fails every later comparison.
                if not abs(F[a, k]) <= size:
                    size = abs(F[a, k])
        if not size < TOO_FAR:
            return it, False, False
        if it == 1:
            first = size
        mix(points.X, data, it)
        new = residual(model, settings, points, p, u)
        rate = new / norm
        norm = new
        worse = max(rate, last)
        if size <= tolerance or (worse < 0.5 and size * worse <= (1.0 - worse) * tolerance):
            return it, True, True
        last = rate
        if it >= 3:
            # Remaining sweeps at the mean rate so far.
            mean = math.log(size / first) / (it - 1)
            if not mean < 0.0 or it + math.log(tolerance / size) / mean > limit:
                return it, False, size < first
    return limit, False, True
