"""Restitution: substeps end at the times of impact, and an impact is a sequence of passive reflections.

Positions are solved without restitution. A contact with restitution e > 0 that is open at the start of a substep is
left out of it; if its gap would close, the substep ends at the time of impact. There the velocities jump at fixed
positions: all closed contacts that approach are reflected, repeatedly, until none approaches (generalised reflections:
Smith, Kaufman, Vouga, Tamstorf and Grinspun 2012, Reflections on simultaneous impact, Section 4). With the Delassus
operator W and the relative velocities u = G v of the contacts, one reflection is

    plastic impulses L of those that approach: Signorini's and Coulomb's laws of u + W L, L      (one cone problem)
    v <- v + c M^-1 G' R,    R = e L_n along the normals                                          (restitution)

with the largest c <= 1 that returns no more energy than the plastic impulses dissipated,

    c^2 R.WR / 2 + c R.u <= -L.(u- + u) / 2 = L.WL / 2 - L.u,    u: after the plastic impulses.   (passivity)

So no impact adds energy, with any friction (Kane and Levinson 1985 is the counterexample to Newton's law with
friction); without friction c = 1, and a single contact obeys Newton's law exactly. Impacts depend on the state alone
(contacts that are closed and approach), so a run can be restarted from positions and momenta.

A contact that is closed at the start of a substep is solved without restitution in it: bounces that are shorter than
the rest of the step are plastic, and a ball comes to rest after finitely many bounces.
"""

import math

import numpy as np

from leastaction._jit import inline, routine

ACCEPT, BEGIN, GO_ON, GIVE_UP = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
"""Decision on a solved substep: accept it; solve it again with its end at an impact (BEGIN) or at a better estimate of
it (GO_ON); or solve all of it without restitution. NumPy's integers: kernels are compiled anew for each literal."""

NEAREST = 1e-12
"""Gap that counts as closed at an impact [m]: round-off of positions in double precision."""

NARROW = 1e-12
"""Width of the bracket of a time of impact at which the search ends, relative to the step."""

MOST_IMPACTS = 12
"""Most times of impact per body within one step; later impacts in it are plastic, which dissipates energy. In a step
with many elastic bodies there are many impacts, but only a few for each body."""

SHORTEST = 1e-3
"""Shortest substep that ends at an impact, relative to the step: below about 1e-6 s, round-off of positions over the
length of the substep is a noticeable velocity. Impacts closer to each other, or to the end of a step, are merged."""

HITS = 8
"""Most reflections of one impact per closed contact; contacts that still approach then are plastic. A row of n balls
takes n - 1."""


@inline
def has_too_many_impacts(impacts, bodies):
    """Whether a step has had so many impacts that its contacts are plastic from now on."""
    return impacts >= MOST_IMPACTS * bodies


@inline
def is_closed(gap, gravity, dt):
    """Whether a gap [m] counts as closed in a step of dt [s]: gravity closes it within the shortest substep."""
    fall = SHORTEST * dt
    return gap <= 0.5 * gravity * fall * fall


@inline
def closes_now(gap, rate, gravity, dt):
    """Whether a contact with this gap [m] and gap rate [m/s] has its impact now, in a step of dt [s].

    It approaches faster than gravity accelerates it within the shortest substep, and closes within two of these.
    """
    fall = SHORTEST * dt
    return rate < -0.5 * gravity * fall and gap + 2.0 * fall * rate <= 0.0


@inline
def returned_share(square, linear, taken):
    """Largest c in [0, 1] with c^2 square + c linear <= taken, all in J; square >= 0, taken >= 0."""
    if square + linear <= taken:
        return 1.0
    taken = max(taken, 0.0)
    # Positive root, in the form without cancellation.
    root = math.sqrt(linear * linear + 4.0 * square * taken)
    return min(2.0 * taken / (linear + root) if linear > 0.0 else (root - linear) / (2.0 * square), 1.0)


@inline
def time_of_impact(gap, rate, later, dt):
    """Time [s] at which a gap closes that is `gap` > 0 [m] with rate `rate` [m/s] now, and `later` [m] after dt [s].

    First root of the parabola through these values, which is exact under constant forces; infinite if there is none.
    """
    curvature = (later - gap - rate * dt) / (dt * dt)
    under = rate * rate - 4.0 * curvature * gap
    below = math.sqrt(max(under, 0.0)) - rate
    return 2.0 * gap / below if below > 0.0 and (under >= 0.0 or later < 0.0) else math.inf


@routine(allocates=False)
def next_end(gap, before, impact, span, whole, bracket, closest):
    """Decide where a solved substep should end: returns (`ACCEPT` ... `GIVE_UP`, end, bracket of the impact (2)).

    The time of impact is bracketed, and each solution improves it by the parabola through the gap and its rate at the
    start and the gap at the end. If this does not reduce the gap to a quarter, the bracket is halved: other contacts
    may stop the approach.

    Args:
        gap: least gap of the contacts left out, at the end of the substep [m]; before: that of the previous solution.
        impact: time at which the first of them closes in this solution (`time_of_impact`) [s].
        span: (start, end, end of the substep before it was shortened to an impact), as shares of the step.
        whole: length of the step [s].
        bracket: (early, late) as shares of the step; late = 0 while no impact has been found.
        closest: gap that counts as closed at an impact [m], such as `NEAREST`.
    """
    start, end, after = span
    early, late = bracket
    overlaps = gap < -closest
    if late == 0.0:
        if not overlaps:
            return ACCEPT, end, early, late
        target = min(start + impact / whole, end - SHORTEST)
        if target < start + SHORTEST:
            return GIVE_UP, end, early, late
        return BEGIN, target, start, end
    if abs(gap) <= closest or (not overlaps and (end >= after - SHORTEST or impact == math.inf)):
        return ACCEPT, end, early, late
    if overlaps:
        late = end
    else:
        early = end
    target = start + impact / whole
    if abs(gap) > 0.25 * abs(before) or not early < target < late:
        target = 0.5 * (early + late)
    if late - early < NARROW or not early < target < late:
        return GIVE_UP if overlaps else ACCEPT, end, early, late
    target = min(target, after - SHORTEST)
    return GIVE_UP if target < start + SHORTEST else GO_ON, target, early, late
