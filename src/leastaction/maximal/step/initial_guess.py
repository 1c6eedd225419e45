"""Initial guess of a step: velocities extrapolated from the previous steps.

Without contacts velocities are smooth in time, so linear extrapolation of the last two steps has an error of O(dt^2);
since the steps of compositions differ in length, all times refer to the middle of a step. Joint impulses need no guess:
the equations are linear in them, so the first Newton update finds them from any value. They start at zero, which keeps
the impulses of redundant equations small.
"""

from leastaction._jit import inline, routine
from leastaction.maximal.step.bodies import spin_of
from leastaction.spatial import dot3, load3, load9

FIRST, SECOND, LATER, AGAIN, FOUND = range(5)
"""What is known of previous steps: nothing, one step, two steps; one step, in a run that is solved again (AGAIN); the
same, and `x` holds the velocities of the present step itself (FOUND)."""

SMOOTH = 2.0
"""Largest acceleration that is extrapolated in steps with contact, relative to gravity; impacts exceed it. With
extrapolation across impacts `stack` takes 31 iterations a step in place of 25 (corpus, seeds 0 to 9)."""

GUESSED = 0.9
"""Largest |dt w / 2| of the guess at the start of a run."""


@routine(allocates=False)
def guess(bodies, states):
    """Initial guess of a step: the velocities of the step before; where all are zero, v = P / m."""
    for i in range(bodies.shape[0]):
        s = states[i]
        if s.w[0] == 0.0 and s.w[1] == 0.0 and s.w[2] == 0.0 and s.vc[0] == 0.0 and s.vc[1] == 0.0 and s.vc[2] == 0.0:
            for c in range(3):
                if bodies[i].mass > 0.0:
                    s.vc[c] = s.P[3 + c] / bodies[i].mass


@routine(allocates=False)
def guess_spins(bodies, states, dt):
    """At the start of a run, set angular velocities w = J^-1 P of bodies that have no guess yet, for a substep of dt.

    Where |dt w / 2| exceeds GUESSED they stay zero.
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
    """Initial guess of a step of `dt` without contacts; past: a `STEP_HISTORY`."""
    for k in range(rowstates.shape[0]):
        rowstates[k].lam = 0.0
    if past.known == FIRST:
        guess(bodies, states)
        return
    accelerate(states, 0.5 * (past.dt + dt) if past.known == LATER else 0.0)


@routine(allocates=False)
def accelerate(states, time):
    """Extrapolate the velocities of the step before linearly by `time` [s]."""
    for i in range(states.shape[0]):
        accelerate_body(states[i], time)


@routine(allocates=False)
def accelerate_without_impact(bodies, states, gravity, time):
    """`accelerate` of the bodies whose acceleration shows no impact in the last two steps, see SMOOTH."""
    most = SMOOTH * gravity
    for i in range(states.shape[0]):
        s, turn, shift = states[i], 0.0, 0.0
        for c in range(3):
            turn, shift = max(turn, abs(s.slope[c])), max(shift, abs(s.slope[3 + c]))
        if turn * bodies[i].radius <= most and shift <= most:
            accelerate_body(s, time)


@inline
def accelerate_body(s, time):
    """`accelerate` of one body with state s."""
    for c in range(3):
        s.w[c] = s.x[c] + time * s.slope[c]
        s.vc[c] = s.x[3 + c] + time * s.slope[3 + c]


@routine(allocates=False)
def store_velocities(states, rowstates, past, dt):
    """Save the velocities of a step of `dt` for the next guess, and the joint forces at its start."""
    apart = 0.5 * (past.dt + dt) if past.known != FIRST else dt
    # The very first step starts with consistent momenta, so its joints apply only half of their impulse.
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
