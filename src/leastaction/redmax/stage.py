"""One implicit stage, which every integrator here is made of.

Given the predictors P of the position and Pv of the velocity and the length gamma of the stage, find r with

    rd = (r - P) / gamma,   rdd = (rd - Pv) / gamma,   g(r, rd, rdd) = 0.

BDF1 is one stage with P = q_k, Pv = v_k, gamma = h (Sueda 2021, Eq. 3.64), SDIRK2 two (Eqs. 3.69, 3.74), BDF2 one with
gamma = 2 h / 3 (Eq. 3.81): dividing those equations by gamma^2 gives this form.
"""

from leastaction._finite import is_finite
from leastaction._jit import routine
from leastaction.redmax.linear import factor, solve
from leastaction.redmax.matrix import newton_matrix
from leastaction.redmax.residual import residual

FAST = 0.05
"""The factors of an earlier iteration are used again while they shrink the update to this part."""

ROUND_OFF = 1e-9
"""Relative updates below this that no longer shrink are round-off."""

SHORTEST = 1e-3
"""The line search halves a step down to this part of it."""


@routine
def solve_stage(model, loops, work, scratch, P, Pv, gamma, u, r, rd, lam, settings, history):
    """Newton's method with line search (Algorithm 12) from the guess in r; fills r, rd and the multipliers lam.

    Factors of the exact matrix serve several iterations while these converge fast. Gives back the number of iterations,
    or -1 if it did not converge. `history` gets the sizes of the updates.
    """
    H, pivots, g, step = scratch[0], scratch[1], scratch[2], scratch[3]
    rdd, old, old_lam = scratch[7], scratch[8], scratch[9]
    tolerance, most = settings
    n, m = r.shape[0], lam.shape[0]
    c1 = 1.0 / gamma
    for k in range(history.shape[0]):
        history[k] = 0.0
    size, ratio, before, scale = 1.0, 1.0, 0.0, 1.0
    keep, exact = False, False
    it = 0
    while True:
        for k in range(n):
            rd[k] = (r[k] - P[k]) * c1
            rdd[k] = (rd[k] - Pv[k]) * c1
        residual(model, loops, work, r, rd, rdd, u, lam, g)
        norm = 0.0
        for k in range(n + m):
            norm += g[k] * g[k]
        if it > 0:
            shrinks = norm < before or size <= ROUND_OFF
            if not shrinks and exact and scale > SHORTEST:
                scale *= 0.5
                for k in range(n):
                    r[k] = old[k] - scale * step[k]
                for k in range(m):
                    lam[k] = old_lam[k] - scale * step[n + k]
                continue
            if size <= tolerance or (ratio < FAST and ratio * size <= tolerance):
                return it
            if size <= ROUND_OFF and ratio > 0.5 and exact:
                return it
            keep = shrinks and scale == 1.0 and (ratio < FAST or (it == 1 and norm < FAST * FAST * before))
        if it == most or not is_finite(norm):
            return -1
        exact = not keep
        if exact:
            newton_matrix(model, loops, work, scratch, r, u, lam, c1, c1 * c1, H)
            if not factor(H, pivots):
                return -1
        for k in range(n + m):
            step[k] = g[k]
        solve(H, pivots, step)
        last, size, scale, before = size, 0.0, 1.0, norm
        for k in range(n):
            old[k] = r[k]
            size = max(size, abs(step[k]) / (1.0 + abs(r[k])))
            r[k] -= step[k]
        for k in range(m):
            old_lam[k] = lam[k]
            lam[k] -= step[n + k]
        ratio = size / last if it > 0 else 1.0
        history[it] = size
        it += 1
