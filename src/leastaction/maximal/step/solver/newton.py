"""Newton's method for a step without contacts (Bruedigam 2020, Section 4; 2023, Algorithm 5 without inequalities).

The Jacobian changes little within a step, and from a good guess two or three updates suffice. So a factorisation is
reused while updates shrink fast; such an update costs a third of a full iteration.
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import routine
from leastaction.linalg.graph.graph_factorization import factorize, solve
from leastaction.maximal.step.assembly import assemble
from leastaction.maximal.step.bodies import FURTHEST

DEPENDENT = 1e-11
"""An equation counts as redundant where elimination of the ones before leaves less than this fraction of it."""

FAST = 0.03
"""The factorisation is reused while each update is at most this fraction of the last."""

PATIENCE = 10
"""From this iteration on, an update larger than the first one counts as divergence."""

ROUND_OFF = 1e-12
"""Residuals below this fraction of their terms are round-off."""


@routine(allocates=False)
def apply(model, data, t, dt):
    """Take a fraction t of the step dx; its size as a velocity [m/s]. Keeps rotations in dt below half a turn."""
    bodies, states, rows, rowstates = model.bodies, data.bodies, model.rows, data.rows
    first, dx = model.graph.first, data.dx
    size = 0.0
    furthest = (FURTHEST / (0.5 * dt)) ** 2 if dt != 0.0 else math.inf
    for i in range(bodies.shape[0]):
        s, o = states[i], first[i]
        for c in range(3):
            s.w[c] += t * dx[o + c]
            s.vc[c] += t * dx[o + 3 + c]
            size = max(size, abs(dx[o + c]) * bodies[i].radius, abs(dx[o + 3 + c]))
        turn = s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2
        if turn > furthest:
            k = math.sqrt(furthest / turn)
            for c in range(3):
                s.w[c] *= k
    n = bodies.shape[0]
    for k in range(rows.shape[0]):
        rowstates[k].lam += t * dx[first[n + rows[k].node] + rows[k].local]
    return size


@routine(allocates=False)
def at_round_off(bodies, states, rowstates):
    """Whether all residuals are at the round-off of their terms, so that no update improves them.

    Near singular configurations of loops velocities are ill-conditioned, and updates stay above any tolerance.
    """
    momentum = far = 0.0
    for i in range(bodies.shape[0]):
        s = states[i]
        for c in range(3):
            far = max(far, abs(s.p1[c]), bodies[i].radius)
            for j in (c, 3 + c):
                momentum = max(momentum, abs(s.P[j]), abs(s.P[j] + s.I[j]))
    violated = 0.0
    for k in range(rowstates.shape[0]):
        momentum = max(momentum, abs(rowstates[k].lam))
        violated = max(violated, abs(rowstates[k].g))
    worst = 0.0
    for i in range(bodies.shape[0]):
        for c in range(6):
            worst = max(worst, abs(states[i].r[c]))
    return worst <= ROUND_OFF * momentum and violated <= ROUND_OFF * far


@routine(allocates=False)
def newton_step(model, settings, data, dt):
    """Velocities and joint impulses of a step from the guess in `data`; returns as `solve_step`."""
    fixed, dx, history = data.fixed, data.dx, data.history
    tolerance, most = settings.tolerance, settings.max_iterations
    for i in range(history.shape[0]):
        history[i] = 0.0
    fresh = most > 0  # not a literal True: it would compile another specialisation
    last = 0.0
    for iteration in range(most):
        assemble(model, settings, data, dt, fresh)
        if fresh:
            singular, _ = factorize(model.graph, data.factors, DEPENDENT)
            if singular >= 0:
                history[iteration] = math.nan
                return -1 - iteration
        for i in range(fixed.shape[0]):
            dx[i] = fixed[i]
        solve(model.graph, data.factors, dx)
        rounded = fresh and iteration > 1 and at_round_off(model.bodies, data.bodies, data.rows)
        size = apply(model, data, 1.0, dt)
        history[iteration] = size
        if not is_finite(size) or (iteration >= PATIENCE and size > history[0]):
            return -1 - iteration
        # The ratio of this update to the last estimates how large the next would be.
        shrinks = size / last if iteration > 0 else 1.0
        if rounded or size <= tolerance or (shrinks < 0.1 and shrinks * size <= 0.1 * tolerance):
            # End poses and residuals at the last update. Not a literal False: it would compile another specialisation.
            fresh = size < 0.0
            assemble(model, settings, data, dt, fresh)
            return iteration + 1
        fresh = iteration > 0 and shrinks > FAST
        last = size
    return -1 - most
