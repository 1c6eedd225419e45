"""Laws of scalar impulses: joint limits, dry friction in joints, springs between bodies, kinematic loops.

A joint with both a limit and dry friction obeys one set-valued law for the sum T of the two impulses, as a function of
its displacement. Away from the limit it sticks with |T| <= F or slides with T = F against the motion; at the limit, T
may have any value beyond that. Two separate laws would impose two position constraints on a joint that rests on
its limit, and the round-off between these would decide how they share the load. With the sum there is one constraint:
friction bears as much as its bound allows, and the limit bears the rest.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import DRY, LIMIT, LOOP, TIE
from leastaction.contact.solver.cone_response import add

STILL = 1e-11
"""Least displacement out of a limit that determines the direction of friction [rad or m]; less is round-off."""

BY_LIMIT, BY_FRICTION = 1, 2
"""Which constraint determines the final position of a joint with a limit and dry friction; 0: neither, friction is at
its bound."""


@inline
def stop(cone, side, W, w, lam, dt):
    """Return the impulse of a limit, dry friction, spring or loop from its own law, all other impulses fixed."""
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
    """Whether cone c is a limit and the next cone is the dry friction of the same joint, both active."""
    d = c + 1
    if cones[c].kind != LIMIT or d >= active.shape[0]:
        return False
    return active[d] != 0 and cones[d].kind == DRY and cones[d].dof == cones[c].dof


@inline
def has_limit_beside(cones, active, c):
    """Whether cone c is dry friction and the cone before it is the limit of the same joint, both active."""
    return c > 0 and cones[c].kind == DRY and active[c - 1] != 0 and has_friction_beside(cones, active, c - 1)


@inline
def stop_of_joint(limit, friction, side, W, w, lam, dt):
    """Return the impulses of a limit and of the dry friction of its joint, all other impulses fixed, and which of the
    two determines the final position (`BY_LIMIT`, `BY_FRICTION` or 0)."""
    o, f, bound = limit.row, friction.row, dt * friction.friction
    moved, room = side * w[f], side * w[f] - w[o]  # displacement away from the limit; room: its lower bound
    rest, force, k = max(room, 0.0), lam[o] + side * lam[f], W[f, f]
    back = -bound if room > STILL else bound  # friction while the joint moves to its limit, or is pushed out of it
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
    """Gauss-Seidel update of a limit c and the dry friction of its joint; returns the change of the displacement."""
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
    """Return the residual of the law of a joint with a limit c and dry friction [m or rad]."""
    W, lam, o, f = touch.W, touch.lam, cones[c].row, cones[c + 1].row
    push, rub, _ = stop_of_joint(cones[c], cones[c + 1], touch.side[c], W, touch.w, lam, dt)
    return W[f, f] * (abs(lam[o] - push) + abs(lam[f] - rub))
