"""Is a step short enough for the motion?

Judged by how far its velocities are from those that the last two lead to, and by energy from nowhere. All forces act at
the start of the step, between the velocities before and within it, so but for what joints and the turning of frames do
within a step, kinetic energies differ by the work of these impulses. Bodies move with the velocity before up to there
and with the new one from there on: what the step before gives works with the one, what this step gives with the other.
That matters where steps differ in length, as those that are divided do.

Between two steps energies are lower than within them where a motion turns fast, by a share that grows like dt^2. Steps
of one length give that back when the motion is calm again; shorter ones in between keep it. So dividing loses.
"""

import math

from leastaction._jit import inline, routine
from leastaction.maximal.contact.behaviour import is_open
from leastaction.maximal.records import BALL, FREE
from leastaction.maximal.step.goals import goal_work, split_work
from leastaction.maximal.step.guess import AGAIN, FIRST, LATER
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.maximal.step.middle_lengths import length_work
from leastaction.spatial import dot3, load3, load9, matvec

COARSE = 0.25
"""Largest speed, in the norm of the kinetic energy, by which a step may be off the straight line through the last two,
relative to the speeds of both and what forces add to them. It shrinks like dt^2. Measured on pendulums of 2 to 32 links
with dt from 2 to 100 ms, energies err by less than 2 % up to 0.2, and by 10 to 50 % from 0.3 on."""

FAR, HELD = 0.35, 4.0
"""The same where only one step, or the start of a run, is known, by how far a step is off that; there forces count HELD
times, as a motion may begin with them."""

GAIN = 0.05
"""Largest kinetic energy from nowhere, relative to those before and now and that of what forces add."""

ACCOUNT, FAIR, STRICT = 0.05, 0.003, 3.0
"""Largest kinetic energy from nowhere in all steps together, relative to the largest that there was; where there is
more, a step may gain this share only, and where it follows springs less the more there is, by this power. Dividing
steps as the motion goes is not symmetric in time, so what single steps gain and lose need not cancel."""

LOST = 0.6
"""Once a step was divided, and where nothing takes energy, the share of `ACCOUNT` by which energy may be low; where it
is lower, a step may gain `FAIR` only, beside the step before as well as beside its own start. Not after a contact:
it takes energy that has no account."""

FLIP = 1.0
"""Most that any body may turn in a step beside where the velocity before, and the last two, lead it [rad]: light ones
may whip, but near half a turn equations have solutions that no motion leads to."""

DAMPED = 0.25
"""A kinetic energy that falls below this share of that before is no gain; strong dampers do so in every step."""

STILL, WIDE, UNLIKE = 0.05, 0.1, 2.0
"""Turn [rad], or way relative to its radius, by which springs may swing a body in a step and count as still; turn from
which on they are followed, since the middle of a step conserves the energy of straight ways alone; and how many parts
of steps that follow springs are not judged beside those before, which did not."""

SEEN, ALONE = 1e-4, 1e-6
"""Kinetic energy of what bodies in flight do beside flying, relative to all of it, from which on gains are judged
beside it; and speed that something else than gravity gives them all together, relative to their speed, up to which they
are in flight."""

DEEPEST, MORE = 3.0, 0.5
"""How often these parts are halved at most; and how much more of `ACCOUNT` there may be each time."""


@routine(allocates=False)
def is_coarse(model, data, settings, dt, smooth):
    """Whether a step without contacts is too long: its velocities turn aside (`COARSE`), or energy comes from nowhere.

    smooth: whether the two steps before it were without contacts, too; else energy alone is looked at (`GAIN`,
    `ACCOUNT`). Bodies count by their kinetic energies, so light parts may whip.
    """
    bodies, states, clock = model.bodies, data.bodies, data.clock
    if clock[0] == AGAIN:
        return False
    later = clock[0] == LATER
    ahead = 0.5 * (clock[1] + dt) if later else 0.0
    # A run starts with momenta that hold half of the impulses of that time already.
    held = 0.0 if clock[0] == FIRST else 1.0
    # At order 1 this step gives all of the impulse, also that of the half of a step before. Steps of a composition go
    # forwards and backwards, and between them energies err by more than at its end.
    own = 3.0 - 2.0 * settings.halves if settings.account < math.inf else 1.0
    other = 2.0 - own
    off = now = before = push = change = early = late = flip = swing = 0.0
    for i in range(bodies.shape[0]):
        s, m, J = states[i], bodies[i].mass, load9(bodies[i].J)
        w, x = load3(s.w), (s.x[0], s.x[1], s.x[2])
        now += dot3(w, matvec(J, w))
        before += dot3(x, matvec(J, x))
        if m > 0.0:
            d = (w[0] - x[0] - ahead * s.slope[0], w[1] - x[1] - ahead * s.slope[1], w[2] - x[2] - ahead * s.slope[2])
            turn = (w[0] - x[0], w[1] - x[1], w[2] - x[2])
            off += dot3(d, matvec(J, d))
            change += dot3(turn, matvec(J, turn))
            flip = max(flip, min(dot3(d, d), dot3(turn, turn)))
        for c in range(3):
            v, spin, fall = s.vc[c] - s.x[3 + c], s.I[c], s.I[3 + c]
            spun = held * (s.P[c] - data.minus[i, c] - data.kicks[1, i, c])
            fell = held * (s.P[3 + c] - data.minus[i, 3 + c] - data.kicks[1, i, 3 + c])
            # Springs conserve their energy whatever they push with, so that of others alone is judged.
            kick, turned = data.kicks[0, i, 3 + c], data.kicks[0, i, c]
            kick, turned = kick + held * data.kicks[1, i, 3 + c], turned + held * data.kicks[1, i, c]
            early += kick * s.x[3 + c] + turned * x[c]
            late += kick * s.vc[c] + turned * w[c]
            if m > 0.0:
                now += m * s.vc[c] ** 2
                before += m * s.x[3 + c] ** 2
                change += m * v * v
                off += m * (v - ahead * s.slope[3 + c]) ** 2
                push += (fall + fell + kick) ** 2 / m + (spin + spun + turned) ** 2 / (m * bodies[i].radius ** 2)
                swing += kick * kick / m + turned * turned / (m * bodies[i].radius ** 2)
                early += (other * fall + own * fell) * s.x[3 + c] + (other * spin + own * spun) * x[c]
                late += (own * fall + other * fell) * s.vc[c] + (own * spin + other * spun) * w[c]
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.armature > 0.0 and c.kind != BALL and c.kind != FREE:
            at = data.coordinates[k]
            rate = split_work(states, at.wa, c.a, 0.0, 1.0) + split_work(states, at.wb, c.b, 0.0, 1.0)
            was = split_work(states, at.wa, c.a, 1.0, 0.0) + split_work(states, at.wb, c.b, 1.0, 0.0)
            now, before = now + c.armature * rate * rate, before + c.armature * was * was
    late -= projected_work(model, data, own, other, settings.loops)
    late += goal_work(model, data, own, other, 0.0)
    start, end = settings.halves * dt, held * (1.0 - settings.halves) * clock[1]
    work, more = length_work(model, data, model.sprung, own, start, end)
    early, late = early + work, late + more
    gain, moving = now - before - early - late, now + before + push
    if swing > 0.0:
        gain += 2.0 * spring_defect(model.bodies, data, settings, dt)
    flying, flew, fallen = common_motion(model, data, settings, held, dt)
    moving = max(moving - flying - flew - fallen, SEEN * moving)
    largest = max(clock[4], now - flying, SEEN * now)
    if swing > 0.0:
        # Springs may push with far more than they hold, and all that moves may be in them for a moment.
        moving = min(moving, largest)
    clock[5] = gain
    most, total = settings.account * largest * (1.0 + MORE * clock[9]), clock[3] + gain
    if flip * dt * dt > FLIP * FLIP or gain > GAIN * moving:
        return True
    if total > most and gain > FAIR * moving * ((most / total) ** STRICT if clock[7] > 0.0 else 1.0):
        return True
    if clock[6] > 0.0:
        # At the start of the step velocities lie between those before and within it, in the time of the middles.
        share = clock[1] / (clock[1] + dt)
        start = clock[3] + share * (now - before) - share * (1.0 - share) * change - early
        rise = max(gain, clock[3] + gain - start)
        low = min(start, clock[3]) < -LOST * most
        if low and rise > FAIR * moving and not takes_energy(model, model.paths, model.resisting):
            return True
    if smooth:
        moved, push = math.sqrt(now) + math.sqrt(before), math.sqrt(push)
        most = COARSE * (moved + push) if later else FAR * (moved + HELD * push)
        # Springs that swing faster than steps follow turn velocities around from one to the next, at the same energy.
        swing = math.sqrt(swing)
        most += swing + max(dt / clock[1], 1.0) * clock[11] if later else swing
        clock[12] = swing
        if off > most * most and now > DAMPED * before:
            return True
    # Of steps that are taken only: one that is refused may be wild.
    clock[4] = largest
    if clock[6] == 0.0 and abs(dt) < 0.75 * abs(settings.whole) and settings.account < math.inf:
        clock[6] = 1.0
    return False


@routine(allocates=False)
def spring_defect(bodies, data, settings, dt):
    """Kinetic energy that springs give in a step at order 2 beyond what they lose [J].

    Their impulses, the same at both ends of the step, work with velocities whose spins count by the cosine of half of
    the turn (`path_springs`); their energies change by their forces times how far these move.
    """
    if settings.halves == 1.0:
        return 0.0
    work = 0.0
    for i in range(bodies.shape[0]):
        s, kick, turn = data.bodies[i], data.kicks[0, i], 0.0
        for c in range(3):
            turn += (0.5 * dt * s.w[c]) ** 2
        cos = math.sqrt(max(1.0 - turn, 0.0))
        for c in range(3):
            work += kick[3 + c] * s.vc[c] + kick[c] * cos * s.w[c]
    return (dt * work - data.stretched[0]) / (settings.halves * dt)


@routine(allocates=False)
def common_motion(model, data, settings, held, dt):
    """Twice the kinetic energies, now, before and of what gravity adds, of bodies in flight as if they moved as one.

    None of bodies that are not. Energy from nowhere is the same in every frame that moves evenly, and so is to be what
    it is judged beside: how fast a robot falls is no matter of what its springs and limbs do.
    """
    time = settings.halves * dt + held * (1.0 - settings.halves) * data.clock[1]
    now = before = push = off = 0.0
    for c in range(3):
        mass = is_now = was = 0.0
        for i in range(model.bodies.shape[0]):
            m, s = model.bodies[i].mass, data.bodies[i]
            mass, is_now, was = mass + m, is_now + m * s.vc[c], was + m * s.x[3 + c]
        if mass == 0.0:
            return 0.0, 0.0, 0.0
        fall = mass * time * model.gravity[c]
        now, before, push = now + is_now * is_now / mass, before + was * was / mass, push + fall * fall / mass
        off += (is_now - was - fall) ** 2 / mass
    if off > ALONE * ALONE * (now + before):
        return 0.0, 0.0, 0.0
    return now, before, push


@routine(allocates=False)
def takes_energy(model, paths, resisting):
    """Whether there are dampers or the like, or drive inertias, whose kinetic energy is not that of bodies.

    paths, resisting: those of the model; where they are None nothing is compiled for them.
    """
    if resisting is not None or has_dampers(paths):
        return True
    for k in range(model.coordinates.shape[0]):
        c = model.coordinates[k]
        if c.armature > 0.0:
            return True
        if c.kind == BALL or c.kind == FREE:
            for j in range(6):
                if c.damping[j] > 0.0:
                    return True
        elif c.damping[0] > 0.0 or (c.iv >= 0 and model.forces.dofs[c.iv].limit_damping > 0.0):
            return True
    return False


@routine(allocates=False)
def projected_work(model, data, own, other, loops):
    """Work of what the momenta hold since they were projected on closed loops: joints did it, no force."""
    work = 0.0
    if loops is None:
        return work
    for k in range(model.rows.shape[0]):
        row, s = model.rows[k], data.rows[k]
        if row.goal >= 0:
            continue  # these do bring energy in
        power = split_work(data.bodies, s.wa, row.a, own, other) + split_work(data.bodies, s.wb, row.b, own, other)
        if is_coupling(row):
            leader = model.coordinates[row.leader]
            power += split_work(data.bodies, s.wa2, leader.a, own, other)
            power += split_work(data.bodies, s.wb2, leader.b, own, other)
        work += s.mu * power
    return work


@routine(allocates=False)
def has_dampers(paths):
    """Whether springs or cables among those that the matrix knows have dampers."""
    if paths is None:
        return False
    most = 0.0
    for i in range(paths.shape[0]):
        most = max(most, paths[i].damping)
    return most > 0.0


@routine(allocates=False)
def is_wrong(model, data, settings, dt, divisible, smooth):
    """Whether a step without contacts is to be divided; what the finest parts gain has its place in the account, too.

    Springs conserve their energy but for what joints hold of their impulses, which differs from the start of a step to
    its end where bodies turn. As long as springs on joints are still nobody sees it. Where they swing widely, parts of
    several lengths, each as long as the motion allows, would pump energy into them, as a child on a swing does. So once
    energy comes from nowhere, or they swing widely, steps are divided into equal parts that follow all springs, until
    these are still again. Where energy comes from nowhere even so all parts from there on are halved, not just one of
    them.
    """
    clock = data.clock
    plain = settings.fine > 1 and clock[7] == 0.0 and clock[0] != AGAIN
    if plain and divisible and is_wide(model.bodies, data.bodies, dt):
        begin_following(clock)
        return True
    coarse = is_coarse(model, data, settings, dt, smooth and (settings.fine == 1 or clock[7] > 0.0))
    if settings.fine > 1 and (clock[8] > 0.0 or clock[0] == FIRST):
        # The middle of a step that does not follow a spring has less energy than its ends: nothing to compare with.
        clock[5], clock[8] = 0.0, max(clock[8] - 1.0, 0.0)
        return False
    if coarse and divisible and settings.fine > 1:
        if clock[7] == 0.0:
            begin_following(clock)
        elif clock[9] < DEEPEST:
            clock[9] += 1.0
    return coarse and divisible


@inline
def begin_following(clock):
    """From now on steps are divided into equal parts that follow stiff springs."""
    clock[7], clock[8], clock[10] = 1.0, UNLIKE, clock[10] + 1.0


@routine(allocates=False)
def follow_unhit(bodies, data, settings, contact):
    """The same where a step is to be divided for how far bodies turn in it, and no cone pushes: then springs do it.

    Limits that are only within reach are cones, too. Parts of several lengths, each as long as the turning allows,
    would be short where springs pull most, and pump energy into them.
    """
    clock = data.clock
    if settings.fine == 1 or clock[7] > 0.0 or clock[0] == AGAIN:
        return
    for k in range(contact.now[0].count):
        if not is_open(bodies, contact.cones[k]):
            return
    begin_following(clock)


@inline
def parts_of_swings(settings, clock):
    """How many parts steps have that follow stiff springs."""
    return settings.fine << int(clock[9])


@routine(allocates=False)
def follow_swings(bodies, data, dt):
    """Note how far bodies are from where they were with the velocities at the start of a step that follows springs."""
    if data.clock[7] == 0.0:
        return
    for i in range(bodies.shape[0]):
        s, turn, shift = data.bodies[i], 0.0, 0.0
        for c in range(3):
            turn += (s.x[c] - data.start_guess[i, c]) ** 2
            shift += (s.x[3 + c] - data.start_guess[i, 3 + c]) ** 2
        if bodies[i].radius > 0.0:
            turn = max(turn, shift / bodies[i].radius ** 2)
        data.clock[7] = max(data.clock[7], 1.0 + dt * math.sqrt(turn))


@routine(allocates=False)
def is_wide(bodies, states, dt):
    """Whether the velocity of a body with mass has changed so much that it turns by more than `WIDE` in dt for it."""
    most = 0.0
    for i in range(states.shape[0]):
        s, turn = states[i], 0.0
        if bodies[i].mass > 0.0:
            for c in range(3):
                turn += (s.w[c] - s.x[c]) ** 2
        most = max(most, turn)
    return most * dt * dt > WIDE * WIDE


@routine(allocates=False)
def calm_down(clock):
    """After a step: springs that hardly move bodies any more need not be followed.

    Where energy has come from nowhere that is less each time: most of it is in these swings, small as they are.
    """
    if clock[7] > 1.0 + STILL * 0.25 ** clock[10]:
        clock[7] = 1.0
    elif clock[7] > 0.0:
        clock[7], clock[8], clock[9] = 0.0, 1.0, 0.0
