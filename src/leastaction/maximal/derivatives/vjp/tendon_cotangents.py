"""VJPs of tendons and soft limits of joints (`forces.tendon_springs`).

At each end of the step they apply the mean tension T along the gradients of the length there, for straight segments
along the direction c over the step; minus the known tension K of the length l at that end. With motions E paired with
these impulses over the times s, and the rates of the length along them, r with these directions and o without, this is

    S = -sum over both ends of s (T r - K o),

where T depends on the lengths at both ends. The gradients of the length change along E: those of joints and of paths
around obstacles by `tendon_lengths.turned`, since second derivatives are symmetric; c as in `path_cotangents`.
"""

import math

from leastaction._jit import inline, routine
from leastaction.forces.tendons.cable_paths import direction, size
from leastaction.forces.tendons.tendon_forces import elastic, mean_tension
from leastaction.forces.tendons.tendon_lengths import measure, turned
from leastaction.forces.tendons.tendon_records import SEGMENT
from leastaction.maximal.derivatives.constraint_hessians import add_to, motion_of, poses_at
from leastaction.maximal.step.bodies import END, START, exchange_ends
from leastaction.maximal.step.forces.tendon_springs import LENGTH, MEAN, other_end
from leastaction.spatial import ZERO6, add3, axpy3, cross, dot, dot3, load3, matvec, neg3, scale3, sub, sub3


@routine(allocates=False)
def length_cotangents(sprung, model, settings, data, back, dt):
    """As `cotangents.rate_cotangents`, of the impulses of tendons and soft limits.

    E0, E1, G0 and G1 are those of `BackData`.

    Args:
        sprung: that of the model; None compiles no code.
    """
    if sprung is None:
        return
    early, late = settings.halves * dt, (1.0 - settings.halves) * dt
    for i in range(sprung.shape[0]):
        law, start = sprung[i], data.lengths[i, LENGTH]
        own = model.sprung_bodies[law.begin : law.begin + law.bodies]
        turn_over(data.bodies, own)
        end = other_end(law, data.strings, data.stretches, data.bodies)
        with_end, own_end = rates_of(law, data, back.E1)
        turn_over(data.bodies, own)
        with_start, own_start = rates_of(law, data, back.E0)
        pull, by_first, by_last = mean_tension(law, start, end)
        known, known_end = elastic(law, start)[0], elastic(law, end)[0]
        _, slope, more = mean_tension(law, start, start)
        _, slope_end, more_end = mean_tension(law, end, end)
        by_pull = -early * with_start - late * with_end
        by_start = early * (slope + more) * own_start + by_pull * by_first
        by_end = late * (slope_end + more_end) * own_end + by_pull * by_last
        add_pieces(law, data, back, early * pull, late * pull)
        add_own(law, data, back.E0, back.G0, early * (pull - known), early * known, by_start)
        turn_over(data.bodies, own)
        add_own(law, data, back.E1, back.G1, late * (pull - known_end), late * known_end, by_end)
        turn_over(data.bodies, own)


@inline
def turn_over(states, own):
    """Swap the ends of the step for some bodies."""
    for j in range(own.shape[0]):
        exchange_ends(states[own[j]])


@inline
def _moving_piece(item, states, when, E):
    """A straight segment at an end of the step: its vector, its change with E, arms and rotations of its ends."""
    Ra, xa, Rb, xb = poses_at(states, item.other, item.node, when)
    arm, arm_b = matvec(Ra, load3(item.pa)), matvec(Rb, load3(item.pb))
    turn, shift = motion_of(E, item.other)
    turn_b, shift_b = motion_of(E, item.node)
    change = sub3(add3(shift_b, cross(turn_b, arm_b)), add3(shift, cross(turn, arm)))
    return sub3(add3(xb, arm_b), add3(xa, arm)), change, (arm, turn), (arm_b, turn_b)


@inline
def _twist(states, E, body):
    """World twist about the origin of a body with the motion E, zero for the world."""
    if body < 0:
        return ZERO6
    turn, shift = motion_of(E, body)
    return (turn, add3(shift, cross(load3(states[body].p), turn)))


@inline
def _mean(data, k):
    """Direction of a straight segment over the step."""
    row = data.stretches[k]
    return (row[MEAN], row[MEAN + 1], row[MEAN + 2])


@inline
def _direction_change(n, r, change, k):
    """k times the change of the direction n of a vector of length r."""
    return scale3(k / r if r > 0.0 else 0.0, axpy3(-dot3(n, change), n, change))


@routine(allocates=False)
def rates_of(law, data, E):
    """Rates of the length along E at the start poses in the records: with mean directions of segments, and without."""
    states, mean, own = data.bodies, 0.0, 0.0
    for k in range(law.first, law.first + law.count):
        item = data.strings[k]
        if item.kind == SEGMENT:
            d, change, _, _ = _moving_piece(item, states, START, E)
            mean += item.weight * dot3(_mean(data, k), change)
            own += item.weight * dot3(direction(d, size(d)), change)
        else:
            _, W = measure(item, states)
            rate = item.weight * dot(W, sub(_twist(states, E, item.node), _twist(states, E, item.other)))
            mean, own = mean + rate, own + rate
    return mean, own


@inline
def _push_piece(G, item, a, b, f, impulse):
    """Add to G a gradient f by the vector of a straight segment, and that by ends that move with bodies.

    Args:
        a, b: arms and rotations of its ends.
        impulse: paired with the motion of these ends.
    """
    add_to(G, item.node, add3(cross(b[0], f), cross(cross(b[1], b[0]), impulse)), f, 1.0)
    add_to(G, item.other, add3(cross(a[0], f), cross(cross(a[1], a[0]), impulse)), f, -1.0)


@routine(allocates=False)
def add_pieces(law, data, back, early, late):
    """Add the gradients of straight segments by their directions at both ends of the step.

    Args:
        early, late: impulses along these at both ends.
    """
    states = data.bodies
    for k in range(law.first, law.first + law.count):
        item = data.strings[k]
        if item.kind != SEGMENT:
            continue
        c = _mean(data, k)
        d0, first, a0, b0 = _moving_piece(item, states, START, back.E0)
        d1, last, a1, b1 = _moving_piece(item, states, END, back.E1)
        r0, r1 = size(d0), size(d1)
        w = direction(axpy3(early * item.weight, first, scale3(late * item.weight, last)), r0 + r1)
        g0 = axpy3(dot3(w, c), direction(d0, r0), neg3(w))
        g1 = axpy3(dot3(w, c), direction(d1, r1), neg3(w))
        _push_piece(back.G0, item, a0, b0, g0, scale3(-early * item.weight, c))
        _push_piece(back.G1, item, a1, b1, g1, scale3(-late * item.weight, c))


@routine(allocates=False)
def add_own(law, data, E, G, impulse, known, by_own):
    """Add the gradients by the start poses in the records of the length and its gradients there.

    Args:
        impulse: of joint coordinates and of paths around obstacles.
        known: impulse of the known tension along straight segments at that end.
        by_own: gradient by the length there.
    """
    states = data.bodies
    for k in range(law.first, law.first + law.count):
        item = data.strings[k]
        if item.kind == SEGMENT:
            d, change, a, b = _moving_piece(item, states, START, E)
            r = math.sqrt(dot3(d, d))
            if r > 0.0:
                n = scale3(1.0 / r, d)
                f = scale3(item.weight, add3(scale3(by_own, n), _direction_change(n, r, change, known)))
                _push_piece(G, item, a, b, f, scale3(known * item.weight, n))
            continue
        _, W = measure(item, states)
        Ta, Tb, Tc = _twist(states, E, item.other), _twist(states, E, item.node), _twist(states, E, item.third)
        dW = turned(item, states, Ta, Tb, Tc)
        slope, force = item.weight * by_own, -item.weight * impulse
        for body, sign in ((item.other, -1.0), (item.node, 1.0)):
            if body >= 0:
                p, (_, shift) = load3(states[body].p), motion_of(E, body)
                add_to(G, body, sub3(W[0], cross(p, W[1])), W[1], sign * slope)
                t = sub3(sub3(dW[0], cross(p, dW[1])), cross(shift, W[1]))
                add_to(G, body, t, dW[1], sign * force)
