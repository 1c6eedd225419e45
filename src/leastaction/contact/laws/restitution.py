"""Restitution: steps end at impacts, and an impact is a sequence of passive reflections.

Positions are solved without restitution. A contact with restitution e > 0 that is open at the start of a substep takes
no part in it; where its gap would close, the substep ends at the time of impact. There the velocities jump, at fixed
positions: all closed contacts that approach are hit, again and again, until none approaches (generalised reflections:
Smith, Kaufman, Vouga, Tamstorf and Grinspun 2012, Reflections on simultaneous impact, Section 4). With the Delassus
operator W and the relative velocities u = G v of the contacts, one hit is

    plastic impulses L of those that approach: Signorini's and Coulomb's laws of u + W L, L      (one cone problem)
    v <- v + c M^-1 G' R,    R = e L_n along the normals                                          (restitution)

with the largest c <= 1 that gives back no more energy than the plastic impulses took,

    c^2 R.WR / 2 + c R.u <= -L.(u- + u) / 2 = L.WL / 2 - L.u,    u: after the plastic impulses.   (passivity)

So no impact adds energy, whatever friction does (Kane and Levinson 1985 is the counterexample to Newton's law with
friction); without friction c = 1, and a single contact obeys Newton's law exactly. The state alone decides: impacts are
those of contacts that are closed and approach, so a run goes on from its positions and momenta.

A contact that is closed at the start of a substep is solved without restitution in it: bounces that are shorter than
the rest of the step are plastic, and a ball comes to rest after finitely many of them.
"""

import math

import numpy as np

from leastaction._jit import inline, routine

ACCEPT, BEGIN, GO_ON, GIVE_UP = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
"""What becomes of a solved substep: it is accepted; it is solved again with an end at an impact, or nearer to that; or
as a whole, without restitution. NumPy's integers, since kernels are compiled anew for each literal."""

NEAREST = 1e-12
"""Gap at which a substep ends at an impact [m]: round-off of places in 64 bits."""

NARROW = 1e-12
"""Bracket of a time of impact, relative to the step, beyond which it is known."""

MOST_IMPACTS = 12
"""Times of impact per body at which one step may end a substep; after these its contacts are plastic: that is passive.
Many bodies that bounce elastically hit each other often in a step, none of them more than a few times."""

SHORTEST = 1e-3
"""Shortest substep that ends at an impact, relative to the step: below about 1e-6 s round-off of positions over the
length of a substep is no small velocity. Impacts that are closer to each other, or to the end of a step, are one."""

HITS = 8
"""Hits of one impact for each closed contact; what still approaches after these is plastic. A row of n balls takes
n - 1."""


@inline
def has_too_many_impacts(impacts, bodies):
    """Whether contacts of a step that has ended so many substeps at impacts are plastic from now on."""
    return impacts >= MOST_IMPACTS * bodies


@inline
def is_closed(gap, gravity, dt):
    """Whether a gap [m] is none in a step of dt [s]: gravity closes it within the shortest substep."""
    fall = SHORTEST * dt
    return gap <= 0.5 * gravity * fall * fall


@inline
def closes_now(gap, rate, gravity, dt):
    """Whether a contact with the gap [m] and its rate [m/s] is hit at this moment of a step of dt [s].

    It approaches faster than gravity lets it within the shortest substep, and closes within two of them.
    """
    fall = SHORTEST * dt
    return rate < -0.5 * gravity * fall and gap + 2.0 * fall * rate <= 0.0


@inline
def returned_share(square, linear, taken):
    """Largest c in [0, 1] with c^2 square + c linear <= taken, all in [J]; square >= 0, taken >= 0."""
    if square + linear <= taken:
        return 1.0
    taken = max(taken, 0.0)
    # The positive root, in the form that does not cancel.
    root = math.sqrt(linear * linear + 4.0 * square * taken)
    return min(2.0 * taken / (linear + root) if linear > 0.0 else (root - linear) / (2.0 * square), 1.0)


@inline
def time_of_impact(gap, rate, later, dt):
    """When a gap closes [s] that is `gap` > 0 now, has the rate `rate` [m/s] now, and is `later` after dt.

    The first root of the parabola through these, which is exact under constant forces; infinite where it has none.
    """
    curvature = (later - gap - rate * dt) / (dt * dt)
    under = rate * rate - 4.0 * curvature * gap
    below = math.sqrt(max(under, 0.0)) - rate
    return 2.0 * gap / below if below > 0.0 and (under >= 0.0 or later < 0.0) else math.inf


@routine(allocates=False)
def next_end(gap, before, impact, span, whole, bracket, closest):
    """Where a solved substep is to end: (what becomes of it, its end, bracket of the impact).

    The time of impact is bracketed, and each solution gives a better one: that of the parabola through the gap and its
    rate at the start and the gap at the end. Where it does not bring the gap down to a quarter, the bracket is halved:
    other contacts may hold what has come near.

    Args:
        gap: least gap of the contacts that wait, at the end of the substep [m]; before: by the solution before.
        impact: when the first of them closes, by this solution (`time_of_impact`) [s].
        span: (start, end, end of the substep that it is the beginning of, where an impact is looked for already), as
            shares of the step.
        whole: length of the step [s].
        bracket: (early, late) shares of the step; late = 0 where no impact is looked for.
        closest: gap at which a substep ends at an impact [m], such as `NEAREST`.
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
