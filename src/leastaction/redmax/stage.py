"""One implicit stage, which every integrator here is made of.

Given the predictors P of the position and Pv of the velocity and the length gamma of the stage, find r with

    rd = (r - P) / gamma,   rdd = (rd - Pv) / gamma,   g(r, rd, rdd) = 0.

BDF1 is one stage with P = q_k, Pv = v_k, gamma = h (Sueda 2021, Eq. 3.64), SDIRK2 two (Eqs. 3.69, 3.74), BDF2 one with
gamma = 2 h / 3 (Eq. 3.81): dividing those equations by gamma^2 gives this form.
"""

from leastaction._finite import is_finite
from leastaction._jit import routine
from leastaction.redmax.columns import add_force_columns, has_wrenches
from leastaction.redmax.linear import factor, solve
from leastaction.redmax.matrix import inertial_matrix, joint_matrix, limit_matrix, prepare_matrix, reduced_matrix
from leastaction.redmax.residual import residual

FAST = 0.05
"""The factors of an earlier iteration are used again while they shrink the update to this part."""

ROUND_OFF = 1e-9
"""Relative updates below this that no longer shrink are round-off."""

HALVINGS = 10


@routine
def newton_matrix(model, loops, work, scratch, r, u, lam, c1, c2, H):
    """The exact matrix H (nr + m, nr + m) at the state where `residual` ran last."""
    matrices, column, vectors = scratch[4], scratch[5], scratch[6]
    nr = r.shape[0]
    if nr < H.shape[0]:
        for i in range(nr, H.shape[0]):
            for j in range(H.shape[1]):
                H[i, j] = 0.0
                H[j, i] = 0.0
    if model[3][1].shape[0] > 0:
        reduced_matrix(model, work, (matrices, column), c1, c2, H)
        limit_matrix(model, r, c1, H)
    else:
        prepare_matrix(model, work)
        inertial_matrix(model, work, c1, c2, H)
        joint_matrix(model, work, c1, H)
    if has_wrenches(model, loops, u):
        add_force_columns(model, loops, work, u, lam, c1, vectors, H, nr)


@routine
def evaluate(model, loops, work, P, Pv, gamma, r, rd, rdd, u, lam, g):
    """Rates and residual at r; gives back the squared norm of the residual."""
    for k in range(r.shape[0]):
        rd[k] = (r[k] - P[k]) / gamma
        rdd[k] = (rd[k] - Pv[k]) / gamma
    residual(model, loops, work, r, rd, rdd, u, lam, g)
    total = 0.0
    for k in range(g.shape[0]):
        total += g[k] * g[k]
    return total


@routine
def solve_stage(model, loops, work, scratch, P, Pv, gamma, u, r, rd, lam, settings, history):
    """Newton's method with line search (Algorithm 12) from the guess in r; fills r, rd and the multipliers lam.

    Gives back the number of iterations, or -1 if it did not converge. `history` gets the sizes of the updates.
    """
    H, pivots, g, step = scratch[0], scratch[1], scratch[2], scratch[3]
    rdd, old, old_lam = scratch[7], scratch[8], scratch[9]
    tolerance, most = settings
    n, m = r.shape[0], lam.shape[0]
    c1, c2 = 1.0 / gamma, 1.0 / (gamma * gamma)
    for k in range(history.shape[0]):
        history[k] = 0.0
    size, fresh, exact = 1e300, False, False
    norm = evaluate(model, loops, work, P, Pv, gamma, r, rd, rdd, u, lam, g)
    for it in range(most):
        if not is_finite(norm):
            return -1
        if not fresh:
            newton_matrix(model, loops, work, scratch, r, u, lam, c1, c2, H)
            if not factor(H, pivots):
                return -1
            exact = True
        for k in range(n + m):
            step[k] = g[k]
        solve(H, pivots, step)
        last, size = size, 0.0
        for k in range(n):
            size = max(size, abs(step[k]) / (1.0 + abs(r[k])))
            old[k] = r[k]
        for k in range(m):
            old_lam[k] = lam[k]
        history[it] = size
        scale = 1.0
        before = norm
        for _ in range(HALVINGS):
            for k in range(n):
                r[k] = old[k] - scale * step[k]
            for k in range(m):
                lam[k] = old_lam[k] - scale * step[n + k]
            norm = evaluate(model, loops, work, P, Pv, gamma, r, rd, rdd, u, lam, g)
            if norm < before or size <= ROUND_OFF:
                break
            scale *= 0.5
            if not exact:
                break
        ratio = size / last if it > 0 else 1.0
        if size <= tolerance or (ratio < FAST and ratio * size <= tolerance):
            return it + 1
        if size <= ROUND_OFF and ratio > 0.5 and exact:
            return it + 1
        fresh = ratio < FAST or (it == 0 and scale == 1.0 and norm < FAST * FAST * before)
        exact = False
    return -1
