"""One implicit stage, which every integrator here is made of.

Given the predictors P of the position and Pv of the velocity and the length gamma of the stage, find r with

    rd = (r - P) / gamma,   rdd = (rd - Pv) / gamma,   g(r, rd, rdd) = 0.

BDF1 is one stage with P = q_k, Pv = v_k, gamma = h (Sueda 2021, Eq. 3.64), SDIRK2 two (Eqs. 3.69, 3.74), BDF2 one with
gamma = 2 h / 3 (Eq. 3.81): dividing those equations by gamma^2 gives this form.

An error e of r is one of e / gamma of the velocity, which the motion carries on. So both have to be below the
tolerance, as far as round-off of r allows.
"""

from leastaction._finite import is_finite
from leastaction._jit import routine
from leastaction.forces import total
from leastaction.forces.touch import BY_DEPTH, HELD, TOUCHING
from leastaction.linalg.factor import factor, solve
from leastaction.redmax.step.matrix import newton_matrix
from leastaction.redmax.step.reduced_residual import residual

FAST = 0.05
"""The factors of an earlier iteration are used again while they shrink the update to this part."""

ROUND_OFF = 1e-9
"""Relative updates below this that no longer shrink are round-off."""

FINEST = 1e-15
"""Relative changes of positions that velocities may not resolve: a few units of round-off."""

SHORTEST = 1e-3
"""The line search halves a step down to this part of it."""

LOOSE, SETTLED = 1e-3, 1e-9
"""Relative updates below which forces may open and close; and below which errors are far smaller than `touch.LAYER`."""

PATIENCE = 20
"""After so many iterations forces change their modes one at a time, and for as many again updates are halved: neither
goes round in circles so easily."""

ALL = 1 << 30
"""As many changes of modes at a time as there are."""

SEARCH, MATRIX, STEP = range(3)
"""What the residual is for: to judge an update, for the Newton matrix alone, for the next update."""


@routine
def _has_jumps(jumps):
    return False if jumps is None else jumps


@routine
def _exchange_modes(jumps, modes, old, new):
    if jumps is None:
        return
    if jumps:
        total.exchange_modes(modes, old, new)


@routine
def _change_modes(jumps, model, data, r, rd, settled, one):
    """(how many forces changed their modes, how many touch); `one`: whether one change at most is made."""
    if jumps is None:
        return 0, 0
    most = 1 if one else ALL
    return total.change_modes(model.forces, data.modes, data.links, data.q, data.v, r, rd, settled, most)


@routine
def solve_stage(model, settings, data, gamma, u, r, rd, lam):
    """Newton's method with line search (Algorithm 12) from the guess in r; fills r, rd and the multipliers lam.

    Predictors are data.P and data.Pv. Factors of the exact matrix serve several iterations while these converge fast.
    Forces that touch and have dampers are kept on pieces of their laws meanwhile, see `forces.touch`. Returns the
    number of iterations, or -1 if it did not converge; data.sizes gets the sizes of the updates.
    """
    H, pivots, g, step, history = data.H, data.pivots, data.g, data.step, data.sizes
    P, Pv, rdd, old, old_lam = data.P, data.Pv, data.rdd, data.old, data.old_lam
    jumps = _has_jumps(model.jumps)
    tolerance, most = settings.tolerance, settings.max_iterations
    n, m = r.shape[0], lam.shape[0]
    c1 = 1.0 / gamma
    for k in range(history.shape[0]):
        history[k] = 0.0
    size, speed, ratio, before, scale = 1.0, 1.0, 1.0, 0.0, 1.0
    keep, exact, phase = False, False, SEARCH
    it, changed, touching = 0, 0, 0
    while True:
        for k in range(n):
            rd[k] = (r[k] - P[k]) * c1
            rdd[k] = (rd[k] - Pv[k]) * c1
        residual(model, data, r, rd, rdd, u, lam)
        norm = 0.0
        for k in range(n + m):
            norm += g[k] * g[k]
        if phase == SEARCH:
            judged = it > 0 and changed == 0
            shrinks = norm < before or size <= ROUND_OFF
            # Along a surface that touches, the residual rises steeply to both sides and is no measure of progress.
            if judged and not shrinks and exact and scale > SHORTEST and touching == 0:
                scale *= 0.5
                for k in range(n):
                    r[k] = old[k] - scale * step[k]
                for k in range(m):
                    lam[k] = old_lam[k] - scale * step[n + k]
                continue
            if jumps and (it == 0 or (judged and (size <= LOOSE or it > PATIENCE))):
                changed, touching = _change_modes(model.jumps, model, data, r, rd, size <= SETTLED, it > PATIENCE)
                if changed > 0 and it > 0:
                    size = 1.0
                    continue
            keep = False
            if judged:
                # In the layer, which is thin, a small error of the state is a large one of the force.
                goal = tolerance if touching == 0 else 1e-3 * tolerance
                # What is left after a fast update is a small part of it.
                left = ratio if ratio < FAST else 1.0
                if left * size <= goal and left * speed <= tolerance:
                    break
                if size <= ROUND_OFF and ratio > 0.5 and exact:
                    break
                keep = touching == 0 and shrinks and scale == 1.0
                keep = keep and (ratio < FAST or (it == 1 and norm < FAST * FAST * before))
            changed = 0
            if it == most or not is_finite(norm):
                it = -1
                break
            exact = not keep
            before = norm
            if exact and touching > 0:
                # Far from its surface the force of what touches is out of all proportion, and so is its geometry.
                _exchange_modes(model.jumps, data.modes, TOUCHING, HELD)
                phase = MATRIX
                continue
        if exact and phase != STEP:
            newton_matrix(model, data, r, rd, u, lam, c1)
            if not factor(H, pivots):
                it = -1
                break
            if phase == MATRIX:
                _exchange_modes(model.jumps, data.modes, HELD, TOUCHING)
                phase = STEP
                continue
        phase = SEARCH
        for k in range(n + m):
            step[k] = g[k]
        solve(H, pivots, step)
        last, size, speed, scale = size, 0.0, 0.0, 1.0
        if it % (2 * PATIENCE) >= PATIENCE:
            scale = 0.5  # going round in circles
        for k in range(n):
            old[k] = r[k]
            size = max(size, abs(step[k]) / (1.0 + abs(r[k])))
            if abs(step[k]) > FINEST * (1.0 + abs(r[k])):
                speed = max(speed, abs(step[k]) * c1 / (1.0 + abs(rd[k])))
            r[k] -= scale * step[k]
        for k in range(m):
            old_lam[k] = lam[k]
            lam[k] -= scale * step[n + k]
        ratio = size / last if it > 0 else 1.0
        history[it] = size
        it += 1
    _exchange_modes(model.jumps, data.modes, -1, BY_DEPTH)
    return it
