"""Galerkin steps with closed loops and couplings (Fan 2018, Eq. 6 and Section 3.3).

Unknowns are the control points and the multipliers at the points 0 ... s-1; equations are the DEL rows and the loop
equations at the points 1 ... s. (Those of rolling contacts are for velocities: at order 2 in the mean of both ends; no
higher order is promised for them.) With J the Jacobian of the rows, G their derivative by the multipliers and H that of
the loop equations, a Newton step solves (H J^-1 G) dlam = h + H J^-1 (-r), then dx = J^-1 (-r - G dlam): O(m n) and
O(m^3) beyond the direction without loops. J holds the curvature of the loops, so Newton converges quadratically.

The momentum of Eq. 6c lacks the impulse of the loops at its own point. It is added here (`project_momentum`): the next
step would take it back in its first multiplier, so the motion stays the same, and M^-1 p is a velocity that fits the
loops.
"""

import numpy as np

from leastaction._jit import entry, routine
from leastaction.dynamics.loops import project_momentum, solve_ranked
from leastaction.kinematics.closure import evaluate, is_coupling, is_velocity, polynomial, twist_of, wrench_slope
from leastaction.linalg.dense import multiply, solve_in_place
from leastaction.minimal import directions, hessian
from leastaction.minimal.newton import (
    ROUND_OFF,
    SHARPEST,
    finish,
    from_split,
    largest,
    to_split,
    turns_too_far,
)
from leastaction.minimal.predict import predict
from leastaction.minimal.residual import next_momentum, residual, start_point
from leastaction.spatial import ad, add, dot, load6_at, sub


@routine
def loop_rows(model, rule, work, full, count, h, G, H, H_start, dt):
    """Values h[(gamma, c)], G[(rho, k), (rho, c)] and H[(gamma, c), (gamma, k)] of the equations at all points.

    `H_start`[(gamma, c), k]: their derivative by the start of the step, which rolling contacts alone have.
    """
    pts, X = work[0], work[5]
    col, row = full[0], full[1]
    nodes, rows, coefficients = model[0], model[8], model[9]
    s, n = X.shape[0] - 1, X.shape[1]
    Q = rule[1].shape[0]
    G[:] = 0.0
    H[:] = 0.0
    H_start[:] = 0.0
    for al in range(s + 1):
        links = pts[al]
        for c in range(count):
            eq = rows[c]
            up, down = al * count + c, (al - 1) * count + c
            if is_coupling(eq):
                f, slope, _ = polynomial(eq, coefficients, X[al, eq.leader])
                if al < s:
                    G[al * n + eq.follower, up] += 1.0
                    G[al * n + eq.leader, up] -= slope
                if al > 0:
                    h[down] = X[al, eq.follower] - f
                    H[down, (al - 1) * n + eq.follower] += 1.0
                    H[down, (al - 1) * n + eq.leader] -= slope
                continue
            value, W = evaluate(eq, links)
            if is_velocity(eq):
                # Order 2: the mean of both ends, which is symmetric in time. Beyond: at the points after the first.
                if s == 1 or al > 0:
                    at = c if s == 1 else down
                    weight = 0.5 * dt if s == 1 else dt
                    before = h[at] if s == 1 and al == 1 else 0.0
                    h[at] = before + weight * dot(W, sub(twist_of(links, eq.b), twist_of(links, eq.a)))
                    _velocity_row(model, work, full, eq, W, H, H_start, at, al, Q, weight)
            elif al > 0:
                h[down] = value
            for end in range(2):
                i = eq.b if end == 0 else eq.a
                sign = 1.0 if end == 0 else -1.0
                while i >= 0:
                    for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                        if al < s:
                            G[al * n + k, up] += sign * dot(load6_at(row[k, al], 6 * (Q + al)), W)
                        if al > 0 and not is_velocity(eq):
                            H[down, (al - 1) * n + k] += sign * dot(load6_at(col[k, al], 6 * (Q + al)), W)
                    i = nodes[i].parent


@routine
def _velocity_row(model, work, full, eq, W, H, H_start, down, al, Q, weight):
    """Add the derivative of weight W . (twist of b - twist of a) at point al by all control points."""
    pts, col = work[0], full[0]
    nodes = model[0]
    links = pts[al]
    n = col.shape[0]
    va, vb = twist_of(links, eq.a), twist_of(links, eq.b)
    for end in range(2):
        i = eq.b if end == 0 else eq.a
        sign = 1.0 if end == 0 else -1.0
        own = vb if end == 0 else va
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                for chi in range(col.shape[1]):
                    T = load6_at(col[k, chi], 6 * (Q + al))
                    V = add(load6_at(col[k, chi], 6 * al), ad(T, own))
                    dW = wrench_slope(eq, links, end == 1, end == 0, T)
                    slope = weight * (sign * dot(W, V) + dot(dW, sub(vb, va)))
                    if chi == 0:
                        H_start[down, k] += slope
                    else:
                        H[down, (chi - 1) * n + k] += slope
            i = nodes[i].parent


@routine
def newton(model, rule, work, solver, kkt, count, p, u, dt, tolerance, limit, cap, redundant, history):
    """Solve for control points and multipliers. Gives back (iterations, converged)."""
    full, D, J = solver[0], solver[1], solver[2]
    h, G, H, H_start, dx = kkt
    X, r, lam = work[5], work[10], work[11]
    s, n = r.shape
    m = s * count
    lam[:] = 0.0
    for it in range(history.shape[0]):
        history[it] = 0.0
    history[0] = residual(model, rule, work, p, u, dt)
    last = 1e300
    Y, full_S = np.zeros((s * n, m + 1)), np.zeros((m, m + 1))
    S, dlam = np.zeros((m, m)), np.zeros((m, 1))
    for it in range(1, limit + 1):
        directions.clear4(D)
        hessian.assemble(model, rule, work, full, D, dt)
        loop_rows(model, rule, work, full, count, h, G, H, H_start, dt)
        directions.jacobian(D, J)
        for a in range(s):
            for i in range(n):
                Y[a * n + i, m] = -r[a, i]
                for c in range(m):
                    Y[a * n + i, c] = G[a * n + i, c]
        solve_in_place(J, Y)
        multiply(H, Y, full_S)
        for c in range(m):
            dlam[c, 0] = full_S[c, m] + h[c]
            for d in range(m):
                S[c, d] = full_S[c, d]
        solve_ranked(S, dlam, redundant)
        for a in range(s):
            for i in range(n):
                x = Y[a * n + i, m]
                for c in range(m):
                    x -= Y[a * n + i, c] * dlam[c, 0]
                dx[a, i] = x
        size = largest(dx)
        if not size < 1e12:
            return it, False
        shorten = min(1.0, cap / size)
        for a in range(s):
            for i in range(n):
                X[a + 1, i] += shorten * dx[a, i]
            for c in range(count):
                lam[a, c] += shorten * dlam[a * count + c, 0]
        history[it] = residual(model, rule, work, p, u, dt)
        floor = size <= ROUND_OFF and size > 0.25 * last and tolerance >= SHARPEST
        if shorten == 1.0 and (size <= tolerance or floor):
            return it, not turns_too_far(model[0], X)
        last = size
    return limit, False


@entry
def rollout(
    model,
    native,
    free,
    rule,
    work,
    solver,
    kkt,
    classical,
    loops,
    U,
    dt,
    settings,
    split,
    history,
    Q,
    P,
    its,
    forces_of_loops,
):
    """Steps from row 0 of Q and P with loops; gives back the steps done.

    `native`: arrays of the mechanism with native free joints; `loops`: (rows, coefficients, count, h, A, M, redundant)
    of the same; `forces_of_loops`: multipliers as forces [N or N m], one row per state.
    """
    tolerance, limit = settings
    rows, coefficients, count, h, A, M, redundant = loops
    X, lam = work[5], work[11]
    s = X.shape[0] - 1
    w = rule[1]
    for k in range(U.shape[0]):
        converged = False
        for attempt in range(3):
            cap = 0.5 if attempt == 0 else (0.1 if attempt == 1 else 2.0)
            predict(native, rule, classical, X, Q[k], P[k], U[k, 0], dt, 2)
            start_point(model, rule, work, Q[k])
            to_split(free, Q[k], P[k], split)
            iterations, converged = newton(
                model, rule, work, solver, kkt, count, split, U[k], dt, tolerance, limit, cap, redundant, history
            )
            its[k + 1] += iterations
            if converged:
                break
        if not converged:
            return k
        finish(model[0], Q[k], X, Q[k + 1])
        for c in range(count):
            forces_of_loops[k, c] = lam[0, c] / (w[0] * dt)
        next_momentum(model, rule, free, work, split, dt)
        from_split(free, Q[k + 1], split, P[k + 1])
        nu = project_momentum(
            native[0],
            native[1],
            rows,
            coefficients,
            count,
            classical[0],
            classical[1],
            Q[k + 1],
            P[k + 1],
            h,
            A,
            M,
            redundant,
        )
        for c in range(count):
            forces_of_loops[k + 1, c] = nu[c, 0] / (w[s] * dt)
    return U.shape[0]
