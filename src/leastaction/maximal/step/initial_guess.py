"""First guess of a step: velocities from the steps before.

They vary smoothly over time without contacts, so a straight line through the last two steps is off by O(dt^2) only;
steps of compositions differ in length, so all is taken at the middle of a step. Impulses of joints need no guess: they
stand linearly in the equations, so the first Newton update finds them from anywhere. Starting them at zero keeps those
of redundant equations small.
"""

from leastaction._jit import routine
from leastaction.maximal.step.bodies import spin_of
from leastaction.spatial import dot3, load3, load9

FIRST, SECOND, LATER, AGAIN, FOUND = range(5)
"""How much is known: nothing, one step, two steps; one step, of a run that is solved again, and in it the velocities of
the present step itself, in `x`."""

GUESSED = 0.9
"""Largest |dt w / 2| that a run starts with as a guess."""


@routine(allocates=False)
def guess(bodies, states):
    """First guess of a step: the velocities of the step before; at rest, those of the momenta."""
    for i in range(bodies.shape[0]):
        s = states[i]
        if s.w[0] == 0.0 and s.w[1] == 0.0 and s.w[2] == 0.0 and s.vc[0] == 0.0 and s.vc[1] == 0.0 and s.vc[2] == 0.0:
            for c in range(3):
                if bodies[i].mass > 0.0:
                    s.vc[c] = s.P[3 + c] / bodies[i].mass


@routine(allocates=False)
def guess_spins(bodies, states, dt):
    """At the start of a run, angular velocities that were not guessed for a whole step may be for a part of it of dt.

    They follow from the momenta; beyond the chart of a step they stay zero.
    """
    for i in range(bodies.shape[0]):
        s, J, P = states[i], load9(bodies[i].J), load3(states[i].P)
        if s.x[0] != 0.0 or s.x[1] != 0.0 or s.x[2] != 0.0 or dot3(P, P) == 0.0:
            continue
        w, det = spin_of(J, P)
        if det <= 0.0:
            continue
        if dot3(w, w) * (0.5 * dt) ** 2 < GUESSED * GUESSED:
            for c in range(3):
                s.w[c] = s.x[c] = w[c]


@routine(allocates=False)
def extrapolate(bodies, states, rowstates, past, dt):
    """Guess of a step of `dt` without contacts; past: a `STEP_HISTORY`."""
    for k in range(rowstates.shape[0]):
        rowstates[k].lam = 0.0
    if past.known == FIRST:
        guess(bodies, states)
        return
    accelerate(states, 0.5 * (past.dt + dt) if past.known == LATER else 0.0)


@routine(allocates=False)
def accelerate(states, time):
    """Guess velocities some time after those of the step before, by the accelerations up to there."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            s.w[c] = s.x[c] + time * s.slope[c]
            s.vc[c] = s.x[3 + c] + time * s.slope[3 + c]


@routine(allocates=False)
def store_velocities(states, rowstates, past, dt):
    """Keep the velocities of a step of `dt` for the guess of the next, and the forces of the joints at its start."""
    apart = 0.5 * (past.dt + dt) if past.known != FIRST else dt
    # The very first step starts with consistent momenta, so its joints gave only half of their impulse.
    whole = 2.0 if past.known == FIRST else 1.0
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            s.slope[c] = (s.w[c] - s.x[c]) / apart
            s.slope[3 + c] = (s.vc[c] - s.x[3 + c]) / apart
            s.x[c], s.x[3 + c] = s.w[c], s.vc[c]
    for k in range(rowstates.shape[0]):
        s = rowstates[k]
        s.force = whole * (s.lam + s.mu) / dt
        s.mu = 0.0
    past.known = SECOND if past.known == FIRST else LATER
    past.dt = dt
