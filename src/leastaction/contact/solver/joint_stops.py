"""Laws of single impulses: limits and dry friction of joints, ties, equations of loops.

A joint with a limit and dry friction has one law, of the sum T of both impulses over how far it goes. Away from the
limit friction holds it, |T| <= F, or opposes its way with F; at the limit, where it may go no further, T may be any
that is larger. Two laws, one for each impulse, would say twice of a joint that rests on its limit where it is: by how
little these two places differ, a round-off, decides which of them bears what. The sum says once where it is, and
friction bears what it can: the limit has what is left.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import DRY, LIMIT, LOOP, TIE
from leastaction.contact.solver.cone_response import add

STILL = 1e-11
"""Least way out of a limit that gives friction a direction [rad or m]: less is round-off of a solved step."""

BY_LIMIT, BY_FRICTION = 1, 2
"""What determines where a joint with a limit and dry friction ends; 0 where friction has its full size alone."""


@inline
def stop(cone, side, W, w, lam, dt):
    """Impulse of a limit, of dry friction, or of a tie while all others hold."""
    o, bound = cone.row, dt * cone.friction
    if cone.kind == TIE:
        return side * (W[o, o] * lam[o] - w[o]) / (1.0 + side * W[o, o])
    new = lam[o] - w[o] / W[o, o]
    if cone.kind == LOOP:
        return new
    if bound > 0.0:
        return min(bound, max(-bound, new))
    return max(0.0, new)


@inline
def has_friction_beside(cones, active, c):
    """Whether cone c is a limit that takes part together with the dry friction of its joint, the next cone."""
    d = c + 1
    if cones[c].kind != LIMIT or d >= active.shape[0]:
        return False
    return active[d] != 0 and cones[d].kind == DRY and cones[d].dof == cones[c].dof


@inline
def has_limit_beside(cones, active, c):
    """Whether cone c is dry friction that takes part together with the limit of its joint, the cone before."""
    return c > 0 and cones[c].kind == DRY and active[c - 1] != 0 and has_friction_beside(cones, active, c - 1)


@inline
def stop_of_joint(limit, friction, side, W, w, lam, dt):
    """Impulses of a limit and of the dry friction beside it while all others hold, and what determines where the joint
    ends, see `BY_LIMIT`."""
    o, f, bound = limit.row, friction.row, dt * friction.friction
    moved, room = side * w[f], side * w[f] - w[o]  # away from the limit; room: how far it must go at least
    rest, force, k = max(room, 0.0), lam[o] + side * lam[f], W[f, f]
    back = -bound if room > STILL else bound  # friction of a joint that goes to its limit, or must leave it
    holds = force + (rest - moved) / k
    push, rub, ends = 0.0, -bound, 0
    if holds >= -bound:
        rub, ends = holds, BY_FRICTION
        if holds > back:
            stops = force + (room - moved) / k
            rub, ends = back, 0
            if stops >= back:
                push, ends = stops - back, BY_LIMIT
    return push, side * rub, ends


@routine
def sweep_joint(cones, touch, n, c, dt):
    """`ncp_solver.sweep` of a limit c and the dry friction beside it; returns the change of its motion."""
    W, lam, o, f = touch.W, touch.lam, cones[c].row, cones[c + 1].row
    push, rub, _ = stop_of_joint(cones[c], cones[c + 1], touch.side[c], W, touch.w, lam, dt)
    e, g = push - lam[o], rub - lam[f]
    lam[o], lam[f] = push, rub
    if e != 0.0:
        add(touch, n, o, e)
    if g != 0.0:
        add(touch, n, f, g)
    return W[f, f] * abs(touch.side[c] * e + g)


@inline
def violation_of_joint(cones, touch, c, dt):
    """By how much the law of a joint with a limit c and dry friction is missed [m or rad]."""
    W, lam, o, f = touch.W, touch.lam, cones[c].row, cones[c + 1].row
    push, rub, _ = stop_of_joint(cones[c], cones[c + 1], touch.side[c], W, touch.w, lam, dt)
    return W[f, f] * (abs(lam[o] - push) + abs(lam[f] - rub))
