"""Momenta as they are told: what of the impulses at a time belongs to them, and what cones hold of the forces there.

A step goes on from P = M v- + F-, with the mean velocities v- of the step before and the impulse F- that forces give at
its end. Cones bear it together with F+, that of the start of the step after: N' f = M v+ - M v- - F- - F+. With half of
that,

    P + N' f / 2 = M (v- + v+) / 2 + (F- - F+) / 2

is the momentum of the mean velocity where both impulses are the same. Where they are not, as those of servos whose
targets move or of steps that differ in length, half of the difference would be motion, also in directions that do not
move. What holds these is internal, so velocities along them are those of the joints within the two steps, and p is what
it was in all others:

    p = P + N' (f / 2 + a)    with    N M^-1 p = N (v- + v+) / 2.

At an impact p has nothing of its impulses: the mean would be of neither velocity. What was closed in the whole step
before holds F- there, with v- in place of the mean; what has just closed at its end, and stops in the step after, still
moves with all of P. The rows of N are the directions in which cones hold in the step after: normal and tangents where
contacts stick, the normal where they slide. This is the law of `Maximal` (`maximal.step.pressed`) in joint coordinates.

Velocities within a step are not those of momenta where bodies turn far in it: they are chords of arcs, of joints that
slide fast along what turns. What cones hold takes motion away; where p would have more energy so than P and
P + N' f / 2 have, it is the latter.

With dampers that are strong for the step, M is M + late, as in the velocities that p tells (see `late_dampers`).

What contacts push with next only the next step knows. Until then those that bear a load are taken to push as they did,
or, after an impact and where forces press, to hold all of them, with v-.
"""

from math import sqrt

from leastaction._jit import inline, routine
from leastaction.contact.distance import tangents
from leastaction.minimal.lanes.bounces import mass_of
from leastaction.minimal.lanes.found import gap_at
from leastaction.minimal.lanes.friction import list_impulses, solve_rows
from leastaction.minimal.lanes.islands import impulses, range_of
from leastaction.minimal.lanes.lane_records import CONTACT, DRY, LIMIT, LOOP, PLAIN, TIE
from leastaction.minimal.lanes.legendre import factor, momenta_upon, solve
from leastaction.minimal.lanes.meetings import kick_both
from leastaction.minimal.lanes.pulls import kick_loop, place_start
from leastaction.minimal.lanes.sixes import six, wrench
from leastaction.minimal.lanes.turns import torque
from leastaction.minimal.sixes import ZEROS, plus
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, matvec

IMPACT = 4.0
"""Impulses that change velocities by more than gravity does in so many steps are impacts."""

SMALL, SLIGHT = 0.3, 1e-7
"""Speed of all bodies together that forces may leave in directions that do not move, relative to what gravity adds in a
step; and its kinetic energy, relative to that of the motion. Less is not looked at."""

SPARE = 1e-3
"""Share of its kinetic energy by which what cones hold may add to that of a momentum."""

CLOSED = 1e-3
"""Gap of what counts as closed at the start of a step, relative to how far gravity moves things in it."""

SLIDES = 0.999
"""Share of the most friction from which on a contact, or a joint, slides."""

NOTHING = 1e-3
"""Directions in which a unit impulse moves things by less than this share of the slack (see `Told`) of the largest
cannot move at all."""


@inline
def pull(model):
    """Gravity [m/s^2]."""
    g = model.gravity
    return sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])


@routine
def tell_start(model, lane, told, dt):
    """The momentum at the start of a solved part of a step, into `told.p`; `near` and `far` are of it and before it."""
    if told is None:
        return
    if not told.wanted[0]:
        return
    p, kick, near, far, v, before = lane.p, lane.touch.kick, lane.near, lane.far, told.v, lane.touch.before[0]
    told.mean[0], told.pressed[0], pushes = 0.5, 0, False
    for k in range(p.shape[0]):
        told.p[k] = p[k]
        pushes = pushes or kick[k] != 0.0
        v[k] = near[k] - far[k]
    if not pushes:
        return
    if is_impact(model, lane, told, dt) and stops_motion(model, lane, told, before):
        told.mean[0] = 0.0
    mean = told.mean[0]
    for k in range(p.shape[0]):
        told.p[k] += mean * kick[k]
        v[k] = (1.0 - mean) * far[k] + mean * near[k]
    # While something else hits, what rests is not taken to fall with what gravity gives in half of the step before.
    if presses(model, lane, told, told.p, 0.0 * dt, max(before, dt)):
        allowed = max(energy_of(model, lane, told, p), energy_of(model, lane, told, told.p))
        hold(model, lane, told, told.p, mean == 0.0, dt)
        if energy_of(model, lane, told, told.p) > (1.0 + SPARE) * allowed:
            for k in range(p.shape[0]):
                told.p[k] = p[k] + mean * kick[k]
            return
        told.pressed[0] = 1
        for k in range(told.holds.shape[0]):
            told.held[k] = told.holds[k]


@routine
def tell_end(model, lane, told):
    """The momentum at the end of a whole step, placed there, as far as it knows, into `told.end`."""
    if told is None:
        return
    touch, p, near, far, v, dt = lane.touch, lane.p, lane.near, lane.far, told.v, lane.touch.before[0]
    pushes = False
    for k in range(p.shape[0]):
        told.end[k] = p[k]
        pushes = pushes or touch.kick[k] != 0.0
        v[k] = near[k] - far[k]
    if not pushes:
        return
    hit = is_impact(model, lane, told, dt)
    for k in range(p.shape[0]):
        v[k] = near[k]
    if presses(model, lane, told, told.end, 0.5 * dt, dt) or hit:
        allowed = energy_of(model, lane, told, p)
        hold(model, lane, told, told.end, dt < 0.0, dt)  # False, but no literal
        if energy_of(model, lane, told, told.end) <= (1.0 + SPARE) * allowed:
            return
    for k in range(p.shape[0]):
        told.end[k] = p[k] if hit else p[k] + 0.5 * touch.first[k]


@routine
def energy_of(model, lane, told, p):
    """Kinetic energy of the momentum p [J], with the factors in `told.W`."""
    energy = 0.0
    solve(model, lane, told.W, p, told.y)
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * told.y[k]
    return energy


@routine
def factor_once(model, lane, told):
    """Factors of M + late into `told.W`, unless the end of the step before has left them there."""
    before = lane.touch.before[0]
    if told.known[0] == 0.0 or told.known[0] != before:
        factor(model, lane, told.W, before)
        told.known[0] = before


@routine
def forget_factors(told):
    """Bodies are about to move: what `factor_once` has left is of no use there."""
    if told is not None:
        told.known[0] = 0.0


@routine
def is_impact(model, lane, told, dt):
    """Whether velocities have jumped by `told.v`, more than gravity makes them in a few steps."""
    nodes, x_, S_, twists = model.nodes, lane.x[lane.now[0]], lane.S[lane.now[0]], told.twists
    most, jumps = IMPACT * pull(model) * dt, False
    for i in range(nodes.shape[0]):
        node = nodes[i]
        V = ZEROS if node.parent < 0 else six(twists[node.parent])
        for c in range(node.iv, node.iv + node.nv):
            V = plus(told.v[c], six(S_[c]), V)
        t = twists[i]
        t[0], t[1], t[2], t[3], t[4], t[5] = V
        if node.mass > 0.0:
            w = (V[0], V[1], V[2])
            d = add3((V[3], V[4], V[5]), cross(w, load3(x_[i])))
            inertia = (node.Ic[0] + node.Ic[3] + node.Ic[5]) / (3.0 * node.mass)  # radius of gyration, squared
            jumps = jumps or dot3(d, d) > most * most or inertia * dot3(w, w) > most * most
    return jumps


@routine
def stops_motion(model, lane, told, before):
    """Whether velocities jump by more, `told.v`, than the forces in P would make them, beside gravity.

    Where they do not, cones bear forces rather than stop a motion.
    """
    v, y, off, far, jumped, pressed = told.v, told.y, told.off, lane.far, 0.0, 0.0
    momenta_upon(model, lane, ZEROS, v, before, told.twists, off)
    for k in range(v.shape[0]):
        jumped += v[k] * off[k]
    momenta_upon(model, lane, ZEROS, far, before, told.twists, off)
    for k in range(v.shape[0]):
        off[k] = lane.p[k] - off[k]
    factor_once(model, lane, told)
    solve(model, lane, told.W, off, y)
    for k in range(v.shape[0]):
        pressed += off[k] * y[k]
    return jumped > pressed - mass_of(model) * (0.5 * pull(model) * before) ** 2


@routine
def presses(model, lane, told, p, falling, dt):
    """Whether p is not the momentum of the velocities `told.v` and what gravity gives in the time `falling`.

    Leaves the factors of M, for `hold`.
    """
    g, off, speed, moving = model.gravity, told.off, 0.0, 0.0
    ground = (0.0, 0.0, 0.0, falling * g[0], falling * g[1], falling * g[2])
    momenta_upon(model, lane, ground, told.v, lane.touch.before[0], told.twists, off)
    for k in range(p.shape[0]):
        moving += off[k] * told.v[k]
        off[k] = p[k] - off[k]
    factor_once(model, lane, told)
    solve(model, lane, told.W, off, told.y)
    for k in range(p.shape[0]):
        speed += off[k] * told.y[k]
    return speed > max(mass_of(model) * (SMALL * pull(model) * dt) ** 2, SLIGHT * moving)


@routine
def hold(model, lane, told, p, closed, dt):
    """Bring the momentum p to the velocities `told.v` along the directions that hold; see the top of the file.

    Args:
        closed: whether those alone hold that were closed in the step before, too.
    """
    touch, found, N, Y, holds = lane.touch, lane.touch.found, told.N, told.Y, told.holds
    n, count, nv = list_impulses(model.cones, touch, found), 0, p.shape[0]
    which, unknown, d, M = touch.which, touch.unknown, touch.d, touch.M
    for k in range(holds.shape[0]):
        holds[k] = 0
    place_start(model, lane, touch.pulls)
    for c in range(model.cones.shape[0]):
        if touch.active[c]:
            find_directions(model, lane, told, model.cones[c], c, closed, dt)
    find_others(model, lane, told, found, closed, dt)
    solve(model, lane, told.W, p, told.y)
    softest = give_way(model, lane, told, n)
    for i in range(n):
        row, d[i], soft = N[which[i]], 0.0, 0.0
        if holds[which[i]]:
            for k in range(nv):
                d[i] += row[k] * (told.v[k] - told.y[k])
                soft += row[k] * Y[which[i], k]
        if soft > NOTHING * told.slack[0] * softest:
            unknown[count] = i
            count += 1
        else:
            holds[which[i]], d[i] = 0, 0.0
    for a in range(count):
        i = unknown[a]
        row = N[which[i]]
        low, high = range_of(found, which[i], n)
        for j in range(low, high):
            M[i, j] = 0.0
            if holds[which[j]]:
                for k in range(nv):
                    M[i, j] += row[k] * Y[which[j], k]
        M[i, i] *= 1.0 + told.slack[0]
    if solve_rows(touch, n, count):
        for a in range(count):
            i = unknown[a]
            for k in range(nv):
                p[k] += d[i] * N[which[i], k]


@routine
def give_way(model, lane, told, n):
    """Velocities of unit impulses along the directions that hold; gives back the largest along themselves."""
    which, softest = lane.touch.which, 0.0
    for i in range(n):
        row, out, soft = told.N[which[i]], told.Y[which[i]], 0.0
        if told.holds[which[i]]:
            solve(model, lane, told.W, row, out)
            for k in range(row.shape[0]):
                soft += row[k] * out[k]
            softest = max(softest, soft)
    return softest


@routine
def find_others(model, lane, told, found, closed, dt):
    """`find_directions` of contacts that were looked for."""
    if found is None:
        return
    for c in range(model.cones.shape[0], model.cones.shape[0] + found.now[0].count):
        if lane.touch.active[c]:
            find_directions(model, lane, told, found.cones[c], c, closed, dt)


@inline
def place_of(cone, lane, found):
    """Gap, normal and point of a contact where bodies are placed."""
    if found is None:
        return place_of_ball(cone, lane)
    if cone.found < 0:
        return place_of_ball(cone, lane)
    return gap_at(lane, found.contacts[cone.found], cone.found * 0)


@inline
def place_of_ball(cone, lane):
    """`place_of` of a ball over a plane."""
    i, n = cone.node, load3(cone.normal)
    x = add3(load3(lane.x[lane.now[0]][i]), matvec(load9(lane.R[lane.now[0]][i]), load3(cone.arm)))
    return dot3(n, x) - cone.offset, n, axpy3(-cone.radius, n, x)


@routine
def hold_turn(model, lane, told, rolls, cone, frame):
    """`find_directions` of friction against spinning and rolling, about normal and tangents."""
    if rolls is None:
        return
    if cone.width == PLAIN:
        return
    lam, at = lane.touch.lam, cone.row
    n, t, s = frame
    kick_both(model, lane, cone.node, torque(n), cone.other, told.N[at + 3])
    kick_both(model, lane, cone.node, torque(t), cone.other, told.N[at + 4])
    kick_both(model, lane, cone.node, torque(s), cone.other, told.N[at + 5])
    if abs(lam[at + 3]) >= SLIDES * cone.spin * lam[at]:
        told.holds[at + 3] = 0
    if lam[at + 4] ** 2 + lam[at + 5] ** 2 >= (SLIDES * cone.roll * lam[at]) ** 2:
        told.holds[at + 4] = told.holds[at + 5] = 0


@routine
def find_directions(model, lane, told, cone, c, closed, dt):
    """Which directions of a cone hold, and what unit impulses along them do along the joints."""
    touch, N, at = lane.touch, told.N, cone.row
    lam, g, before, gap, most = touch.lam, pull(model), touch.before[0], 0.0, 0.0
    if cone.kind == DRY:
        most = SLIDES * 0.5 * (before + dt) * cone.friction
    if cone.kind == LOOP:
        told.holds[at] = 1
        for j in range(N.shape[1]):
            N[at, j] = 0.0
        kick_loop(model, lane, touch.pulls, cone, 1.0, N[at])
        return
    if cone.kind == TIE or ((abs(lam[at]) >= most) if cone.kind == DRY else (lam[at] <= 0.0)):
        return
    for k in range(at, at + impulses(cone)):
        told.holds[k] = 1
        for j in range(N.shape[1]):
            N[k, j] = 0.0
    if cone.kind == CONTACT:
        gap, n, x = place_of(cone, lane, touch.found)
        t, s = tangents(n)
        kick_both(model, lane, cone.node, wrench(n, x), cone.other, N[at])
        kick_both(model, lane, cone.node, wrench(t, x), cone.other, N[at + 1])
        kick_both(model, lane, cone.node, wrench(s, x), cone.other, N[at + 2])
        f1, f2, most = lam[at + 1], lam[at + 2], SLIDES * cone.friction * lam[at]
        if f1 * f1 + f2 * f2 >= most * most:
            told.holds[at + 1] = told.holds[at + 2] = 0
        hold_turn(model, lane, told, touch.rolls, cone, (n, t, s))
    elif cone.kind == LIMIT:
        q = lane.q0[cone.iq]
        gap = q - cone.lower if touch.side[c] > 0.0 else cone.upper - q
        N[at, cone.dof] = touch.side[c]
    else:
        N[at, cone.dof] = 1.0
        return
    if closed:
        slight, rate = CLOSED * g * dt * dt, 0.0
        for k in range(N.shape[1]):
            rate += N[at, k] * told.v[k]
        if gap >= slight or gap - before * rate >= IMPACT * g * before * before + slight:
            for k in range(at, at + impulses(cone)):
                told.holds[k] = 0
