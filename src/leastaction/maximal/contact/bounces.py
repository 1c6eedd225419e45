"""Restitution that adds no energy.

Newton's law, a normal velocity of -e times that before the impact, adds none by itself: the normal impulse then does
the work f (1 - e) v_n / 2 <= 0. With Coulomb's friction it may: impulses that turn the sliding around let friction,
which opposes the sliding after the impact, push along that before it (Kane and Levinson 1985; Stronge 1990: Rigid body
collisions with friction; Glocker 2013: Energetic consistency conditions for standard impacts). So the work of all
impulses of a step, with the mean of the velocities before and after, is looked at:

    W = sum of f . (u- + u+) / 2

These are the velocities at the impact, of momenta, not those within the steps before and after it.

Where it is above zero, all contacts that bounce in this step keep one and the same share of their restitution, the
largest with W = 0. Without restitution W is below zero, so there is one.
"""

from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.maximal.contact.detection import BOUNCING, approach, falling
from leastaction.maximal.step.bodies import momenta, spin_of
from leastaction.maximal.step.interior import solve_step
from leastaction.spatial import add3, dot3, load3, load9, matvec

LEFT = 1e-7
"""Work of the impulses, relative to the kinetic energy before, that counts as none: rigid contacts are solved to some
1e-9 of their velocities."""

EXACT, RIGID = 1e-13, 1e-9
"""How well the work is brought to its bound, relative to the kinetic energy before, with smoothed and rigid contact."""

TRIES = 40
"""Most shares that are tried."""

GIVE = 1e-8
"""How much deeper than else contacts may be at the end of a part that has no solution otherwise [m]: of those that no
joint moves along their normal, gaps change by what the motion bends."""

NARROW, JUMP = 1e-6, 1e-3
"""Where the work, relative to the kinetic energy before, differs by more than JUMP between shares that differ by less
than NARROW, it jumps."""


@routine(allocates=False)
def work_of_cones(bodies, data, contact, dt):
    """Work of the impulses of all cones with the mean of the velocities before and after them [J].

    These are the velocities of the momenta at the start of the step. Those within the steps at both sides differ where
    a body spins fast, and with them friction could bring energy into a bounce that nobody would see.
    """
    states, both, work = data.bodies, data.dV, 0.0
    for i in range(bodies.shape[0]):
        s, J = states[i], load9(bodies[i].J)
        x, w = (s.x[0], s.x[1], s.x[2]), load3(s.w)
        _, before = momenta(J, x, data.clock[1])
        after, _ = momenta(J, w, dt)
        spin, det = spin_of(J, add3(before, after))
        spin = spin if det > 0.0 else add3(x, w)
        for c in range(3):
            both[i, c], both[i, 3 + c] = spin[c], s.x[3 + c] + s.vc[c]
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        for j in range(3):
            f = c.gam if j == 0 else c.beta[j - 1]
            if f != 0.0 and not (c.kind >= ip.DRY and j == 0):
                work += f * c.drift[j - 1] if j > 0 else 0.0  # beside what moving surfaces give
                for i in range(6):
                    if c.a >= 0:
                        work += 0.5 * f * c.da[6 * j + i] * both[c.a, i]
                    if c.b >= 0:
                        work += 0.5 * f * c.db[6 * j + i] * both[c.b, i]
                work += 0.5 * f * c.fall[3] * falling(c, j) if is_bouncing(c) else 0.0
    return work


@routine(allocates=False)
def energy_before(bodies, states):
    """Kinetic energy of the step before [J]."""
    energy = 0.0
    for i in range(bodies.shape[0]):
        x, w = states[i].x, (states[i].x[0], states[i].x[1], states[i].x[2])
        energy += 0.5 * bodies[i].mass * (x[3] ** 2 + x[4] ** 2 + x[5] ** 2)
        energy += 0.5 * dot3(w, matvec(load9(bodies[i].J), w))
    return energy


@inline
def is_bouncing(c):
    """Whether restitution acts at a cone."""
    return c.source >= 0 and c.side == BOUNCING


@routine(allocates=False)
def share_now(contact):
    """Share of the restitution that acts now; -1 where none does."""
    share = -1.0
    for k in range(contact.now[0].count):
        if is_bouncing(contact.cones[k]):
            share = max(share, contact.cones[k].bounce)
    return share


@routine(allocates=False)
def keep_share(states, settings, contact, share, dt):
    """Let all contacts that bounce keep a share of their restitution, and put all cones back on the central path."""
    now = contact.now[0]
    for k in range(now.count):
        c = contact.cones[k]
        if is_bouncing(c):
            e = contact.contacts[c.source].restitution
            c.rest += (c.bounce - share) * e * dt * approach(c, states)
            c.bounce = share
        c.share = c.own
        ip.begin(c, max(c.s, settings.gravity * dt), c.y[0], c.y[1], now.energy)


@routine(allocates=False)
def bound_bounces(model, settings, data, contact, dt, spent):
    """Lower the restitution of a solved step until its impulses do no work; (result as of `solve_step`, iterations).

    Regula falsi (Illinois) for the share: the work is a continuous function of it, with corners where contacts stick,
    but for jumps where the equations of a step have several solutions. There the share is the one below the jump.
    """
    states, tried = data.bodies, 0
    high = share_now(contact)
    if high <= 0.0:
        return spent, tried
    energy = energy_before(model.bodies, states)
    deepest, total = 0.0, 0.0
    for k in range(contact.now[0].count):
        deepest = max(deepest, -contact.cones[k].rest)
    for i in range(model.bodies.shape[0]):
        total += model.bodies[i].mass
    # Smoothed contacts push at a distance, and things that overlap get out of each other.
    allowed = LEFT * energy + contact.now[0].count * settings.smoothing + 2.0 * total * settings.gravity * deepest
    within = (EXACT if settings.smoothing > 0.0 else RIGID) * energy
    above = work_of_cones(model.bodies, data, contact, dt) - allowed
    if above <= 0.0:
        return spent, tried
    low, below, share, side = 0.0, 0.0, 0.0, 0
    up, down, last = above, 0.0, high < 0.0  # False, but no literal
    for k in range(TRIES):
        keep_share(states, settings, contact, share, dt)
        spent = solve_step(model, settings, data, contact, dt)
        tried += abs(spent)
        if spent < 0:
            break
        work = work_of_cones(model.bodies, data, contact, dt) - allowed
        if k == 0:
            below = down = work
            if work >= 0.0:  # it is not restitution that adds energy
                break
        elif last or abs(work) <= within:
            break
        elif work > 0.0:
            high, above, up = share, work, work
            below *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, below, down = share, work, work
            above *= 0.5 if side < 0 else 1.0
            side = -1
        jump = high - low < NARROW and up - down > JUMP * energy
        last = jump or high - low < 1e-14 or k + 2 == TRIES
        if last and share == low:
            break
        share = low if last else (low * above - high * below) / (above - below)
    return spent, tried


@routine(allocates=False)
def let_slip(states, contact, dt, bounce):
    """Take friction from all contacts; unless they may bounce, restitution as well, and they may give a little."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if is_bouncing(c) and not bounce:
            c.rest += c.bounce * contact.contacts[c.source].restitution * dt * approach(c, states)
            c.bounce = 0.0
        if c.source >= 0 and not bounce:
            c.rest -= GIVE
        if c.kind == ip.EXACT or c.kind == ip.LINEAR:
            c.kind, c.beta[0], c.beta[1] = ip.LIMIT, 0.0, 0.0
        if c.kind == ip.TURN:
            for i in range(6, 18):
                c.da[i] = c.db[i] = 0.0
